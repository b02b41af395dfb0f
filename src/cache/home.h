// Home: the object store that holds a cache. It may be slow, full or gone at any time, and readers do not
// notice.
//
// Everything that may take time is done by threads of the home, and callers wait for the answer no
// longer than the timeout. A failed or late request makes the home count as lost for a while, during which it
// is not used. There is one Home per store and process, and any thread may use it. Its threads are never
// waited for, since a dead server may block them: they and what they use outlive everything, and end when
// they have been idle for a while, or with the process. A forked child starts with homes of its own.
#ifndef COLONNADE_CACHE_HOME_H
#define COLONNADE_CACHE_HOME_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
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

  // Opens the store, or starts to: if that takes longer than the timeout, it is lost until it is open.
  static std::shared_ptr<Home> of(const Settings& settings);
  explicit Home(Settings settings);
  ~Home();
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  const Settings& settings() const noexcept { return settings_; }
  const std::string& uri() const noexcept { return settings_.store; }
  // Null while the home is lost. A folder that was removed is made again.
  std::shared_ptr<io::ObjectStore> store();
  // How often the store was opened: what was known of it before may be wrong.
  std::uint64_t openings() const noexcept { return openings_; }
  bool is_lost() { return store() == nullptr; }
  // False in a forked child, which must not call any other function.
  bool is_here() const noexcept;
  // The next store() opens it again if it still is this one, whose place was removed.
  void forget(const io::ObjectStore& gone) noexcept;
  // Why it is or was lost; empty if it never was.
  std::string problem() const;
  // Whether fetching only copies memory: best done by the user of the bytes. Network file systems are far.
  bool is_near() const noexcept { return is_near_; }

  // What `use` returns for the store; empty if that failed or took too long.
  template <class Use>
  auto ask(Use use) -> std::optional<std::invoke_result_t<Use, io::ObjectStore&>> {
    struct AwaitedResult {
      std::mutex mutex;
      std::condition_variable given;
      bool is_given = false;
      std::optional<std::invoke_result_t<Use, io::ObjectStore&>> result;
      std::exception_ptr failure;
    };
    const std::shared_ptr<io::ObjectStore> store = this->store();
    if (store == nullptr) return std::nullopt;
    const auto answer = std::make_shared<AwaitedResult>();
    run([store, answer, use = std::move(use)]() mutable {
      std::optional<std::invoke_result_t<Use, io::ObjectStore&>> result;
      std::exception_ptr failure;
      try {
        result = use(*store);
      } catch (...) {
        failure = std::current_exception();
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

  // Runs a task on a thread of the home. `task` does not throw.
  void run(std::function<void()> task);
  // The same; flush() waits for it.
  void run_awaited(std::function<void()> task);
  // Whether what run_awaited() was given has been done by then.
  bool wait(Clock::time_point end);
  // As run() on a thread of its own, which has low priority or may wait for long.
  void run_apart(std::function<void()> task, int niceness);
  void note_failure(const std::exception_ptr& failure) noexcept;
  void note_late() noexcept;

  Filler& filler() noexcept { return *filler_; }
  Budget& budget() noexcept { return *budget_; }
  Claims& claims() noexcept { return *claims_; }
  WaitPolicy& wait_policy() noexcept { return *wait_policy_; }

 private:
  void open() noexcept;
  void work();
  void lose(const char* problem) noexcept;

  const Settings settings_;
  const Process process_;
  bool is_near_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<io::ObjectStore> store_;
  bool is_opening_ = false;
  std::atomic<std::uint64_t> openings_ = 0;
  Clock::time_point lost_until_;
  std::string problem_;
  bool has_warned_ = false;
  std::condition_variable wakes_;
  std::deque<std::function<void()>> tasks_;
  unsigned threads_ = 0;
  unsigned idle_ = 0;
  unsigned awaited_ = 0;  // tasks that flush() waits for
  std::unique_ptr<Filler> filler_;
  std::unique_ptr<Budget> budget_;
  std::unique_ptr<Claims> claims_;
  std::unique_ptr<WaitPolicy> wait_policy_;
};

// Resets the state to that of a new process: for simulations, in which one process plays many.
void forget_homes();

// Waits until what was given to the homes of this process has been written, as long as there is progress; at
// most for this time. Returns false if something is left.
bool flush(std::chrono::milliseconds at_most);

}  // namespace colonnade::cache

#endif
