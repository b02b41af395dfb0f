// Fibers: functions with a stack of their own that run in turns in one thread of the system. What the C++
// runtime keeps for each thread about exceptions in flight belongs to the fiber, and so do its interruptions.
#ifndef COLONNADE_SIMULATE_FIBER_H
#define COLONNADE_SIMULATE_FIBER_H

#include <csetjmp>
#include <functional>
#include <memory>

#include "base/interruption.h"

namespace colonnade::simulate {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  ~Fiber();  // a fiber that has begun must have ended
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Continues the fiber until it calls suspend() or ends. Not from within a fiber.
  void resume();
  // Returns to the caller of resume(). From within the fiber only.
  void suspend();
  bool ended() const noexcept { return ended_; }

 private:
  struct Exceptions {  // __cxa_eh_globals of the Itanium ABI
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static void enter(unsigned int low, unsigned int high);
  void swap_state_of_thread() noexcept;
  void run() noexcept;

  std::function<void()> body_;
  void* stack_;
  bool begun_ = false;
  bool ended_ = false;
  std::jmp_buf inside_{};
  std::jmp_buf outside_{};
  Exceptions exceptions_;
  InterruptionState interruptions_;
};

}  // namespace colonnade::simulate

#endif
