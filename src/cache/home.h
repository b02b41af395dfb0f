// Home: the object store that a cache lives in, as something that may be slow, full or gone at any time
// without anybody noticing.
//
// Everything that may take time is done by threads of its own, and whoever needs the answer waits for it no
// longer than the timeout. What fails or is late makes the home count as lost for a while: then nothing is
// asked of it. There is one Home per store and process, any thread may use it. Its threads are never waited
// for, since a dead server may hold them: they and what they use outlive everything, and end when they have
// had nothing to do for a while, or with the process. A forked child begins with homes of its own.
#ifndef COLONNADE_CACHE_HOME_H
#define COLONNADE_CACHE_HOME_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/process.h"
#include "cache/settings.h"
#include "io/object_store.h"

namespace colonnade::cache {

class Budget;
class Claims;
class Filler;
class WaitPolicy;

class Home : public std::enable_shared_from_this<Home> {
 public:
  using Clock = std::chrono::steady_clock;

  // Opens the store, or begins to: one that takes longer than the timeout is lost until it is there.
  static std::shared_ptr<Home> of(const Settings& settings);
  explicit Home(Settings settings);
  ~Home();
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  const Settings& settings() const noexcept { return settings_; }
  const std::string& uri() const noexcept { return settings_.store; }
  // Null while the home is lost.
  std::shared_ptr<io::ObjectStore> store();
  bool is_lost() { return store() == nullptr; }
  // False in a forked child, which must not call anything else.
  bool is_here() const noexcept;
  // Why it is or was lost; empty if it never was.
  std::string problem() const;
  // Whether fetching is copying, best done by who uses the bytes. A folder of a network file system is far.
  bool is_near() const noexcept { return is_near_; }

  // What `use` makes of the store; nothing if that failed or took too long.
  template <class Use>
  auto ask(Use use) -> std::optional<std::invoke_result_t<Use, io::ObjectStore&>> {
    struct Answer {
      std::mutex mutex;
      std::condition_variable given;
      bool is_given = false;
      std::optional<std::invoke_result_t<Use, io::ObjectStore&>> result;
      std::string failure;
    };
    const std::shared_ptr<io::ObjectStore> store = this->store();
    if (store == nullptr) return std::nullopt;
    const auto answer = std::make_shared<Answer>();
    run([store, answer, use = std::move(use)]() mutable {
      std::optional<std::invoke_result_t<Use, io::ObjectStore&>> result;
      std::string failure;
      try {
        result = use(*store);
      } catch (const std::exception& error) {
        failure = error.what();
      }
      const std::lock_guard lock(answer->mutex);
      answer->result = std::move(result);
      answer->failure = std::move(failure);
      answer->is_given = true;
      answer->given.notify_all();
    });
    std::unique_lock lock(answer->mutex);
    if (!answer->given.wait_for(lock, settings_.timeout, [&] { return answer->is_given; })) {
      lock.unlock();
      note_late();
      return std::nullopt;
    }
    if (!answer->result) note_failure(answer->failure);
    return std::move(answer->result);
  }

  // Has a thread of the home do it. `task` throws nothing.
  void run(std::function<void()> task);
  // The same by a thread for it alone: one that yields to all others, or that may wait for long.
  void run_apart(std::function<void()> task, int niceness);
  void note_failure(const std::string& what) noexcept;
  void note_late() noexcept;

  Filler& filler() noexcept { return *filler_; }
  Budget& budget() noexcept { return *budget_; }
  Claims& claims() noexcept { return *claims_; }
  WaitPolicy& wait_policy() noexcept { return *wait_policy_; }

 private:
  void open();
  void work();

  const Settings settings_;
  const Process process_;
  bool is_near_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<io::ObjectStore> store_;
  bool is_opening_ = false;
  Clock::time_point lost_until_;
  std::string problem_;
  bool has_warned_ = false;
  std::condition_variable wakes_;
  std::deque<std::function<void()>> tasks_;
  unsigned threads_ = 0;
  unsigned idle_ = 0;
  std::unique_ptr<Filler> filler_;
  std::unique_ptr<Budget> budget_;
  std::unique_ptr<Claims> claims_;
  std::unique_ptr<WaitPolicy> wait_policy_;
};

// As if this process had just begun: for simulations, in which one plays many.
void forget_homes();

// Waits until what was given to the homes of this process has been written, as long as there is progress; at
// most so long in all. False: something is left.
bool flush(std::chrono::milliseconds at_most);

}  // namespace colonnade::cache

#endif
