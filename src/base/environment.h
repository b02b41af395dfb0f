// Environment: what the commit protocols learn from outside - the time, who this process is, whether another
// one still runs, random numbers - and what they do as time goes by. The one of the system is used unless a
// test puts another in its place, in which time passes as it says and processes live and die.
//
//   class Simulated final : public Environment { ... };
//   Simulated simulated;
//   const ReplacedEnvironment replaced(simulated);   // as long as this lives
//
// Any number of threads may call an environment at once.
#ifndef COLONNADE_BASE_ENVIRONMENT_H
#define COLONNADE_BASE_ENVIRONMENT_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace colonnade {

// For messages: nothing is concluded from it.
struct ProcessIdentity {
  std::uint64_t process = 0;
  std::string host;
};

// Whether somebody still shows a sign of life (Environment::show_life).
enum class Life {
  running,
  ended,
  unknown  // it was never shown on this machine, since that was started
};

class Environment {
 public:
  using Clock = std::chrono::steady_clock;
  // Ends what was begun when it is destroyed; waits for a call that is under way.
  class Handle {
   public:
    virtual ~Handle() = default;
  };

  virtual ~Environment() = default;
  // Never goes back, and says nothing to another machine.
  virtual Clock::time_point now() const = 0;
  virtual std::int64_t unix_time() const = 0;  // seconds; for messages: nothing is concluded from it
  virtual void sleep_for(std::chrono::nanoseconds time) = 0;
  virtual ProcessIdentity process() const = 0;
  virtual std::uint64_t random_number() = 0;

  // While the handle lives, life_of(id) says `running` in all processes of this machine, and `ended` as soon
  // as it or the process is gone. `id` is drawn at random and used once. Null: it cannot be shown here.
  virtual std::unique_ptr<Handle> show_life(std::uint64_t id) = 0;
  // A copy of a machine, or another one of the same name, gives `unknown`, never `ended`.
  virtual Life life_of(std::uint64_t id) const = 0;
  // Somebody takes over from `id`, which has ended: nobody will ask again.
  virtual void forget_life(std::uint64_t id) = 0;

  // Calls `work` again and again, `period` after it returned, until the handle is gone; by another thread.
  // `work` throws nothing.
  virtual std::unique_ptr<Handle> repeat(std::chrono::nanoseconds period, std::function<void()> work) = 0;
};

// The one in use.
Environment& environment() noexcept;

// Puts an environment in the place of the one in use, for tests. What began with another one ends first.
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
