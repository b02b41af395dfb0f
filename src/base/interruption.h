// Interruption: how a thread that waits for a server, or works for long, learns that its result is not wanted
// any more, because the user pressed Ctrl-C or the thread that it works for gave up.
//
//   const Interruption interruption([&] { return is_over; });
//   file.read(offset, into);  // throws Interrupted soon after is_over
#ifndef COLONNADE_BASE_INTERRUPTION_H
#define COLONNADE_BASE_INTERRUPTION_H

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

namespace colonnade {

// Not an Error, which would be reported, or tried again.
class Interrupted final : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

// What a thread has of the following. Simulated threads share a thread of the system, and swap it.
struct InterruptionState {
  const class Interruption* innermost = nullptr;
  bool waits_are_interruptible = false;

  static InterruptionState& of_this_thread() noexcept;
};

// While it exists, waits of its thread ask whether to give up. Interruptions of a thread may be nested; all
// are asked.
class Interruption {
 public:
  static constexpr std::chrono::milliseconds interval{100};

  // The waiting thread holds no lock of its queue when it calls `asks`. Once `asks` has returned true, it
  // must always return true.
  explicit Interruption(std::function<bool()> asks);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Waits until `done`, or throws Interrupted. What the other thread writes to must be taken from it first.
  template <class Done>
  static void wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Done&& done) {
    if (!is_possible()) return changed.wait(lock, std::forward<Done>(done));
    while (!changed.wait_for(lock, interval, done)) {
      lock.unlock();
      const bool ends = is_wanted();
      lock.lock();
      if (ends && !done()) throw Interrupted();
    }
  }
  // Throws Interrupted if this thread is to give up.
  static void check() {
    if (is_wanted()) throw Interrupted();
  }
  // The same, at most once in `interval`: for long work that does not wait.
  static void check_now_and_then();

 private:
  static bool is_possible() noexcept;
  static bool is_wanted();

  const std::function<bool()> asks_;
  const Interruption* const outer_;
};

// While it exists, waits of its thread go on to their end: a commit is made or not, and what failed cleans
// up.
class Uninterruptible {
 public:
  Uninterruptible() noexcept;
  ~Uninterruptible();
  Uninterruptible(const Uninterruptible&) = delete;
  Uninterruptible& operator=(const Uninterruptible&) = delete;

 private:
  const Interruption* const outer_;
};

// Waits that may be interrupted: queues are also waited for by destructors, which must not throw.
class InterruptibleWaits {
 public:
  InterruptibleWaits() noexcept;
  ~InterruptibleWaits();
  InterruptibleWaits(const InterruptibleWaits&) = delete;
  InterruptibleWaits& operator=(const InterruptibleWaits&) = delete;

  static bool are_here() noexcept;

 private:
  const bool before_;
};

}  // namespace colonnade

#endif
