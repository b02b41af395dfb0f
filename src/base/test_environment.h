// For tests: an environment in which time passes when a process sleeps, and processes run on several hosts
// and end when they are told to.
#ifndef COLONNADE_BASE_TEST_ENVIRONMENT_H
#define COLONNADE_BASE_TEST_ENVIRONMENT_H

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/environment.h"

namespace colonnade {

// Of one thread. In use as long as it lives.
class TestEnvironment final : public Environment {
 public:
  // What is done from now on is done by this process.
  void become(std::uint64_t process, std::string host) { identity_ = {process, std::move(host)}; }
  // Its signs of life end, and it does nothing more by itself.
  void end_process(std::uint64_t process) {
    for (auto& [id, sign] : signs_)
      if (sign.identity.process == process) sign.ended = true;
    repetitions_.remove_if([&](const Repetition& each) { return each.identity.process == process; });
  }
  // Processes that are stopped do nothing by themselves until they go on.
  void stop_process(std::uint64_t process, bool stopped = true) { stopped_[process] = stopped; }
  // Of running and of ended processes.
  std::size_t signs_of_life() const { return signs_.size(); }
  // Called whenever a process sleeps, with the new time.
  void while_asleep(std::function<void()> work) { while_asleep_ = std::move(work); }

  Clock::time_point now() const override { return now_; }
  std::int64_t unix_time() const override {
    return 1'600'000'000 + now_.time_since_epoch() / std::chrono::seconds(1);
  }
  void sleep_for(std::chrono::nanoseconds time) override {
    const Clock::time_point end = now_ + time;
    for (;;) {
      const auto next =
          std::min_element(repetitions_.begin(), repetitions_.end(),
                           [](const Repetition& a, const Repetition& b) { return a.due < b.due; });
      if (next == repetitions_.end() || next->due > end) break;
      now_ = std::max(now_, next->due);
      next->due = now_ + next->period;
      if (stopped_[next->identity.process]) continue;
      const ProcessIdentity sleeper = std::exchange(identity_, next->identity);
      next->work();
      identity_ = sleeper;
    }
    now_ = end;
    if (while_asleep_) while_asleep_();
  }
  ProcessIdentity process() const override { return identity_; }
  std::uint64_t random_number() override { return ++random_ * 0x9e3779b97f4a7c15u; }

  std::unique_ptr<Handle> show_life(std::uint64_t id) override {
    signs_[id] = {identity_, false};
    return std::make_unique<End>([this, id] {
      if (const auto sign = signs_.find(id); sign != signs_.end()) sign->second.ended = true;
    });
  }
  Life life_of(std::uint64_t id) const override {
    const auto sign = signs_.find(id);
    if (sign == signs_.end() || sign->second.identity.host != identity_.host) return Life::unknown;
    return sign->second.ended ? Life::ended : Life::running;
  }
  void forget_life(std::uint64_t id) override { signs_.erase(id); }
  std::unique_ptr<Handle> repeat(std::chrono::nanoseconds period, std::function<void()> work) override {
    const std::uint64_t id = next_repetition_++;
    repetitions_.push_back({id, identity_, now_ + period, period, std::move(work)});
    return std::make_unique<End>(
        [this, id] { repetitions_.remove_if([&](const Repetition& each) { return each.id == id; }); });
  }

 private:
  class End final : public Handle {
   public:
    explicit End(std::function<void()> work) : work_(std::move(work)) {}
    ~End() override { work_(); }
    End(const End&) = delete;
    End& operator=(const End&) = delete;

   private:
    std::function<void()> work_;
  };
  struct Sign {
    ProcessIdentity identity;
    bool ended = false;
  };
  struct Repetition {
    std::uint64_t id = 0;
    ProcessIdentity identity;
    Clock::time_point due;
    std::chrono::nanoseconds period{0};
    std::function<void()> work;
  };

  ProcessIdentity identity_{1, "host"};
  Clock::time_point now_{std::chrono::hours(1)};
  std::uint64_t random_ = 0;
  std::uint64_t next_repetition_ = 0;
  std::map<std::uint64_t, Sign> signs_;
  std::map<std::uint64_t, bool> stopped_;
  std::list<Repetition> repetitions_;
  std::function<void()> while_asleep_;
  const ReplacedEnvironment replaced_{*this};  // last: the others are there
};

}  // namespace colonnade

#endif
