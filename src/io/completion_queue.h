// The meeting point of asynchronous operations and their owner. The queues of all transports derive from it:
// a back end starts operations, some thread reports their completion, and the owner takes completions.
//
//   owner's thread                          any thread
//   begin(): waits while `depth` run
//   (starts the operation)        ---->     finish(id, failure), or
//                                           post(work); the owner runs `work`, which finishes them
//   wait(completions)
//
// Back ends differ in how completions are noticed:
//   - Threads of their own or of a library (HTTP, S3, XRootD, RADOS, blocking stores) call finish() or
//   post().
//   - Otherwise the owner's thread looks, in progress(): io_uring, DAOS, and queues over another queue
//   (drain()).
//
// One thread at a time uses a queue, in the process that made it: in a forked child every call throws
// ErrorKind::usage, and the destructor of a back end must not wait (is_of_this_process()).
#ifndef COLONNADE_IO_COMPLETION_QUEUE_H
#define COLONNADE_IO_COMPLETION_QUEUE_H

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "base/process.h"

namespace colonnade::io {

// The outcome of an operation.
struct Completion {
  std::uint64_t id = 0;
  std::exception_ptr failure;                       // null: done
  std::chrono::steady_clock::time_point when = {};  // it was done, as far as the back end knows
};

class CompletionQueue {
 public:
  using Completion = io::Completion;
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t any_depth = std::numeric_limits<std::size_t>::max();

  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;
  virtual ~CompletionQueue() = default;

  // Takes completions in any order. With `block`, waits until there is at least one; returns 0 if nothing is
  // in flight.
  std::size_t wait(std::span<Completion> completions, bool block = true);
  // Wait for at least one operation, or for all; they throw the error of the first one that failed.
  void wait_for_some();
  void wait_for_all();
  std::size_t in_flight() const noexcept { return in_flight_; }  // begun and not taken
  // For the owner: the clock of Completion::when. Simulations have one of their own.
  virtual Time now() const noexcept { return std::chrono::steady_clock::now(); }

 protected:
  explicit CompletionQueue(std::size_t depth = any_depth) : depth_(depth == 0 ? 1 : depth) {}

  // For the owner: to be called before it starts operations; blocks while `depth` operations
  // run.
  void begin(std::size_t count = 1);
  // Called instead of finish(): the operation could not be started.
  void withdraw() noexcept;
  // Adds an operation whose outcome is known without starting it.
  void add_done(std::uint64_t id, std::exception_ptr failure = nullptr);
  bool is_of_this_process() const noexcept { return process_.is_current(); }
  void check_process() const {
    if (!process_.is_current()) fail_in_child();
  }
  // Makes progress on running operations. With `block`, returns when something more was finished or posted.
  // The default sleeps until another thread does that.
  virtual void progress(bool block);
  // Throws the error for use in a forked child.
  [[noreturn]] virtual void fail_in_child() const;
  // progress() for a queue over another one: passes completions of `inner` to `take`. With `block`, waits for
  // the first.
  template <class Take>
  static void drain(CompletionQueue& inner, bool block, Take&& take) {
    std::array<Completion, 32> some;
    std::size_t count = 0;
    do {
      count = inner.wait(some, block);
      for (Completion& completion : std::span(some).first(count)) take(completion);
      block = false;
    } while (count == some.size());
  }

  // ---- Of any thread. begin() has made room, so that they do not fail.
  // `when`: where that was not just now.
  void finish(std::uint64_t id, std::exception_ptr failure = nullptr, Time when = {}) noexcept;
  // At most once for each operation that runs. `work` is run by the owner, in wait() or begin(), and does not
  // throw.
  void post(std::function<void()> work) noexcept;

  // For back ends with state of their own: one lock guards theirs and the queue's.
  std::unique_lock<std::mutex> locked() { return std::unique_lock(mutex_); }
  void begin(std::unique_lock<std::mutex>& lock, std::size_t count = 1);
  void finish(const std::unique_lock<std::mutex>& lock, std::uint64_t id,
              std::exception_ptr failure = nullptr, Time when = {}) noexcept;
  // As the default progress(true).
  void sleep(std::unique_lock<std::mutex>& lock);

 private:
  void run_posted(std::unique_lock<std::mutex>& lock);
  void tell_owner() noexcept;

  const std::size_t depth_;
  const Process process_;
  std::size_t in_flight_ = 0;  // of the owner only
  std::uint64_t seen_ = 0;     // last value of told_; of the owner only
  std::mutex mutex_;
  std::condition_variable arrives_;
  bool owner_sleeps_ = false;
  std::uint64_t told_ = 0;  // number of calls of finish() and post()
  std::size_t running_ = 0;
  std::vector<Completion> done_;
  std::vector<std::function<void()>> posted_;
};

}  // namespace colonnade::io

#endif
