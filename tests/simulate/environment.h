// base/environment.h for the world: processes live and die, hosts restart, clocks
// jump.
#ifndef COLONNADE_SIMULATE_ENVIRONMENT_H
#define COLONNADE_SIMULATE_ENVIRONMENT_H

#include <map>
#include <memory>

#include "base/environment.h"
#include "world.h"

namespace colonnade::simulate {

class SimulatedEnvironment final : public Environment {
 public:
  explicit SimulatedEnvironment(World& world) : world_(world) {}

  Clock::time_point now() const override;
  std::int64_t unix_time() const override;
  void sleep_for(std::chrono::nanoseconds time) override;
  ProcessIdentity process() const override;
  std::uint64_t random_number() override;
  std::unique_ptr<Handle> show_life(std::uint64_t id) override;
  Life life_of(std::uint64_t id) const override;
  void forget_life(std::uint64_t id) override;
  std::unique_ptr<Handle> repeat(std::chrono::nanoseconds period, std::function<void()> work) override;

 private:
  struct Sign {
    const Process* process = nullptr;
    std::string boot;  // at the time of the sign
    bool shown = true;
  };
  class ShownSign;
  class Repetition;

  World& world_;
  std::map<std::uint64_t, std::shared_ptr<Sign>> signs_;
};

}  // namespace colonnade::simulate

#endif
