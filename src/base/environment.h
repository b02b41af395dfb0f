// Environment: what the commit protocols take from outside - the time, the identity of this process, whether
// another process still runs, random numbers, and periodic work. The system's environment is used unless a
// test replaces it by one in which the test moves time and starts and ends processes.
//
//   class Simulated final : public Environment { ... };
//   Simulated simulated;
//   const ReplacedEnvironment replaced(simulated); // while this object
//   lives
// Any number of threads may call an environment at once.
#ifndef COLONNADE_BASE_ENVIRONMENT_H
#define COLONNADE_BASE_ENVIRONMENT_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace colonnade {

// For messages only: no decision depends on it.
struct ProcessIdentity {
  std::uint64_t process = 0;
  std::string host;
};

// Whether the process that called Environment::show_life() still runs.
enum class Life {
  running,
  ended,
  unknown  // never shown on this machine since it started
};

class Environment {
 public:
  using Clock = std::chrono::steady_clock;
  // Destruction ends the activity, and waits for a call in progress.
  class Handle {
   public:
    virtual ~Handle() = default;
  };

  virtual ~Environment() = default;
  // Monotonic; not comparable between machines.
  virtual Clock::time_point now() const = 0;
  virtual std::int64_t unix_time() const = 0;  // seconds; for messages only: no decision depends on it
  virtual void sleep_for(std::chrono::nanoseconds time) = 0;
  virtual ProcessIdentity process() const = 0;
  virtual std::uint64_t random_number() = 0;

  // While the handle lives, life_of(id) returns `running` in all processes of this machine, and `ended` as
  // soon as the handle or the process is gone. `id` is random and used once. Null if signs of life do not
  // work here. Records of what ended more than a week after it was shown are removed.
  virtual std::unique_ptr<Handle> show_life(std::uint64_t id) = 0;
  // A copy of the machine, or another one of the same name, returns `unknown`, never `ended`.
  virtual Life life_of(std::uint64_t id) const = 0;
  // Removes the record of `id`, which has ended and whose work another process has taken over.
  virtual void forget_life(std::uint64_t id) = 0;

  // Calls `work` repeatedly in another thread, `period` after it returned, until the handle is destroyed.
  // `work` must not throw.
  virtual std::unique_ptr<Handle> repeat(std::chrono::nanoseconds period, std::function<void()> work) = 0;
};

// The environment in use.
Environment& environment() noexcept;

// Replaces the environment in use, for tests. Activities of the other one must end first.
class ReplacedEnvironment {
 public:
  explicit ReplacedEnvironment(Environment& other) noexcept;
  ~ReplacedEnvironment();
  ReplacedEnvironment(const ReplacedEnvironment&) = delete;
  ReplacedEnvironment& operator=(const ReplacedEnvironment&) = delete;

 private:
  Environment* before_;
};

}  // namespace colonnade

#endif
