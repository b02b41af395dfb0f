// The floating-point state of a thread: how results are rounded, whether subnormal numbers become zero, and
// whether exceptions are trapped. A host program may have changed it, and libraries that were linked with
// -ffast-math do so as they are loaded; threads inherit it from those that start them. Stored values and
// results must not depend on it.
#ifndef COLONNADE_BASE_FLOATING_POINT_H
#define COLONNADE_BASE_FLOATING_POINT_H

#include <cfenv>
#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace colonnade {

// While it lives, this thread rounds to nearest, keeps subnormal numbers and traps nothing. Afterwards the
// state is as before, with its flags. It costs a few nanoseconds where the state is this one already.
class StandardFloatingPoint {
 public:
  StandardFloatingPoint() noexcept : before_(state()) {
    if (is_changed()) set(standard);
  }
  ~StandardFloatingPoint() {
    if (is_changed()) set(before_);
  }
  StandardFloatingPoint(const StandardFloatingPoint&) = delete;
  StandardFloatingPoint& operator=(const StandardFloatingPoint&) = delete;

 private:
  // The barriers keep loads and stores of values, and so what is computed in between, on their side.
#if defined(__SSE2__)
  // The control word is that of the x87 unit, which the C library asks how to round while it reads and prints
  // numbers.
  struct State {
    std::uint32_t sse;
    std::uint16_t control_word;
  };
  static constexpr State standard = {0x1f80, 0x37f};
  static constexpr std::uint32_t flags = 0x3f;
  static State state() noexcept {
    State state{_mm_getcsr(), 0};
    asm volatile("fnstcw %0" : "=m"(state.control_word));
    return state;
  }
  static void set(const State& state) noexcept {
    asm volatile("fldcw %0" ::"m"(state.control_word) : "memory");
    _mm_setcsr(state.sse);
    asm volatile("" ::: "memory");
  }
  bool is_changed() const noexcept {
    return (before_.sse & ~flags) != standard.sse || before_.control_word != standard.control_word;
  }
#elif defined(__aarch64__)
  using State = std::uint64_t;
  static constexpr State standard = 0;
  static State state() noexcept {
    State state = 0;
    asm volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void set(State state) noexcept { asm volatile("msr fpcr, %0" ::"r"(state) : "memory"); }
  bool is_changed() const noexcept { return before_ != standard; }
#else
  struct State {
    std::fenv_t all{};
  };
  inline static const State standard{};
  static State state() noexcept {
    State state;
    std::fegetenv(&state.all);
    return state;
  }
  static void set(const State& state) noexcept {
    std::fesetenv(&state == &standard ? FE_DFL_ENV : &state.all);
  }
  bool is_changed() const noexcept { return true; }
#endif

  const State before_;
};

}  // namespace colonnade

#endif
