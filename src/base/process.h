// Forks. A child has a copy of all that its parent had in memory, but none of its threads: a lock that one of
// them held stays locked for ever, and what they were to bring never comes. Whatever has threads, locks or
// connections therefore knows the process that made it, and looks before it touches them.
#ifndef COLONNADE_BASE_PROCESS_H
#define COLONNADE_BASE_PROCESS_H

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <memory>

namespace colonnade {

// The process that made this object.
class Process {
 public:
  bool is_current() const noexcept { return id_ == ::getpid(); }

 private:
  pid_t id_ = ::getpid();
};

// For destructors in a forked child of what threads of the parent were using: it is never destroyed. It would
// wait for those threads; destroying a condition variable alone waits for who waits for it.
template <class Pointer>
void leave_to_parent(Pointer& owner) {
  [[maybe_unused]] const auto* left = new Pointer(std::move(owner));
}

// What threads of this process may be using when it is forked; children leave it alone.
template <class T>
class LeftByChildren {
 public:
  LeftByChildren() : value_(std::make_unique<T>()) {}
  LeftByChildren(const LeftByChildren&) = delete;
  LeftByChildren& operator=(const LeftByChildren&) = delete;
  ~LeftByChildren() {
    if (!process_.is_current()) leave_to_parent(value_);
  }
  T& operator*() const noexcept { return *value_; }
  T* operator->() const noexcept { return value_.get(); }

 private:
  Process process_;
  std::unique_ptr<T> value_;
};

// One T in each process, made when it is first asked for. A child gets its own, and leaves that of its parent
// as it is. None is ever destroyed: threads may use it while the process ends.
template <class T>
class PerProcess {
 public:
  // `make` gives a std::unique_ptr<T>. Threads that ask at once may each make one; all get the same.
  template <class Make>
  T& get(Make&& make) {
    Made* known = made_.load(std::memory_order_acquire);
    while (known == nullptr || !known->process.is_current()) {
      auto fresh = std::make_unique<Made>(Made{{}, make()});
      if (made_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel))
        known = fresh.release();
    }
    return *known->value;
  }
  T& get() {
    return get([] { return std::make_unique<T>(); });
  }

 private:
  struct Made {
    Process process;
    std::unique_ptr<T> value;
  };
  std::atomic<Made*> made_ = nullptr;
};

}  // namespace colonnade

#endif
