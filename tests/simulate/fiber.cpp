// Fibers start with makecontext() and switch with setjmp() and longjmp(), which make no system calls.
#include "fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace colonnade::simulate {
namespace {

constexpr std::size_t stack_size = std::size_t{512} << 10;

// Stacks are reused; those of all fibers at once take a few megabytes.
std::vector<void*>& idle_stacks() {
  static std::vector<void*> stacks;
  return stacks;
}

void* take_stack() {
  std::vector<void*>& idle = idle_stacks();
  if (!idle.empty()) {
    void* const stack = idle.back();
    idle.pop_back();
    return stack;
  }
  void* const stack =
      ::mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) std::abort();
  // A guard page: overflowing the stack is a fault.
  ::mprotect(stack, 4096, PROT_NONE);
  return stack;
}

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), stack_(take_stack()) {}

Fiber::~Fiber() {
  // The stack of an unfinished fiber holds objects that are never destroyed: it is not reused.
  if (!begun_ || ended_) idle_stacks().push_back(stack_);
}

void Fiber::swap_state_of_thread() noexcept {
  std::swap(*reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()), exceptions_);
  std::swap(InterruptionState::of_this_thread(), interruptions_);
}

void Fiber::enter(unsigned int low, unsigned int high) {
  auto* const fiber = reinterpret_cast<Fiber*>(std::uintptr_t{low} | static_cast<std::uintptr_t>(high) << 32);
  fiber->run();
}

void Fiber::run() noexcept {
  body_();
  body_ = nullptr;
  ended_ = true;
  _longjmp(outside_, 1);
}

void Fiber::resume() {
  swap_state_of_thread();
  if (_setjmp(outside_) == 0) {
    if (begun_) _longjmp(inside_, 1);
    begun_ = true;
    ucontext_t context{};
    if (::getcontext(&context) != 0) std::abort();
    context.uc_stack.ss_sp = stack_;
    context.uc_stack.ss_size = stack_size;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&context, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
                  static_cast<unsigned int>(address & 0xffffffffU), static_cast<unsigned int>(address >> 32));
    ::setcontext(&context);
  }
  swap_state_of_thread();
}

void Fiber::suspend() {
  if (_setjmp(inside_) == 0) _longjmp(outside_, 1);
}

}  // namespace colonnade::simulate
