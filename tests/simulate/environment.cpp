// See environment.h.
#include "environment.h"

#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>

namespace colonnade::simulate {

class SimulatedEnvironment::ShownSign final : public Environment::Handle {
 public:
  explicit ShownSign(std::shared_ptr<Sign> sign) : sign_(std::move(sign)) {}
  ~ShownSign() override { sign_->shown = false; }

 private:
  std::shared_ptr<Sign> sign_;
};

// A thread of the world instead of a system thread.
class SimulatedEnvironment::Repetition final : public Environment::Handle {
 public:
  Repetition(std::chrono::nanoseconds period, std::function<void()> work)
      : thread_([this, period, work = std::move(work)] {
          std::unique_lock lock(mutex_);
          while (!changed_.wait_for(lock, period, [&] { return ends_ || is_dead(); })) {
            lock.unlock();
            work();
            lock.lock();
          }
        }) {}
  ~Repetition() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  static bool is_dead() { return World::current()->process().dead; }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

Environment::Clock::time_point SimulatedEnvironment::now() const {
  return Clock::time_point(std::chrono::nanoseconds(world_.now() - world_.process().host->booted + second));
}

std::int64_t SimulatedEnvironment::unix_time() const {
  return ::time(nullptr);
}

void SimulatedEnvironment::sleep_for(std::chrono::nanoseconds time) {
  world_.sleep_until(world_.now() + time.count());
}

ProcessIdentity SimulatedEnvironment::process() const {
  return {world_.process().pid, world_.process().host->name};
}

std::uint64_t SimulatedEnvironment::random_number() {
  return world_.breaks(Rule::random_numbers) ? 42 : world_.random().next();
}

std::unique_ptr<Environment::Handle> SimulatedEnvironment::show_life(std::uint64_t id) {
  const auto sign = std::make_shared<Sign>(Sign{&world_.process(), world_.process().host->boot});
  if (!signs_.emplace(id, sign).second) return nullptr;
  return std::make_unique<ShownSign>(sign);
}

Life SimulatedEnvironment::life_of(std::uint64_t id) const {
  const auto found = signs_.find(id);
  if (found == signs_.end()) return Life::unknown;
  const Sign& sign = *found->second;
  const Host& own = *world_.process().host;
  // Signs are in the memory of one machine, and are lost when it restarts.
  if (sign.process->host->machine != own.machine || sign.boot != own.boot) return Life::unknown;
  if (world_.breaks(Rule::signs_of_life)) return Life::ended;
  return sign.shown && !sign.process->dead ? Life::running : Life::ended;
}

void SimulatedEnvironment::forget_life(std::uint64_t id) {
  signs_.erase(id);
}

std::unique_ptr<Environment::Handle> SimulatedEnvironment::repeat(std::chrono::nanoseconds period,
                                                                  std::function<void()> work) {
  return std::make_unique<Repetition>(period, std::move(work));
}

}  // namespace colonnade::simulate
