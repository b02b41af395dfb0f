// The one place where asynchronous operations meet their owner: back ends begin operations and say when they
// are done, from any thread; the owner takes what is done. All queues of the transports hold one.
//
//   owner's thread                     any thread
//   begin(): waits while `depth` run
//   (starts the operation)  ---->      finish(completion): leaves it, wakes the owner only if it waits
//   wait(completions)
//
// It belongs to one thread at a time and to the process that made it: a lock that was held at a fork opens
// nevermore, so that every call looks before it locks.
#ifndef COLONNADE_IO_COMPLETION_QUEUE_H
#define COLONNADE_IO_COMPLETION_QUEUE_H

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "colonnade/error.h"

namespace colonnade::io {

// Takes from a list of what is done as much as there is room for, first come first; gives how many.
template <class List, class Completion>
std::size_t move_out(List& done, std::span<Completion> into) {
  const std::size_t count = std::min(into.size(), done.size());
  const auto end = done.begin() + static_cast<std::ptrdiff_t>(count);
  std::move(done.begin(), end, into.begin());
  done.erase(done.begin(), end);
  return count;
}

template <class Completion>
class CompletionQueue {
 public:
  // `what` is said where the queue is used in a fork ("a queue of S3 requests").
  CompletionQueue(const char* what, std::size_t depth)
      : what_(what), depth_(std::max<std::size_t>(depth, 1)) {}
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  bool is_of_this_process() const noexcept { return process_ == ::getpid(); }
  std::size_t in_flight() const noexcept { return in_flight_; }  // begun and not taken

  // Before an operation is started; blocks while as many run as the queue is for.
  void begin() {
    check_process();
    {
      std::unique_lock lock(mutex_);
      wait_until(lock, [this] { return running_ < depth_; });
      ++running_;
    }
    ++in_flight_;
  }
  // In place of finish(), by the owner: it could not be started.
  void withdraw() noexcept {
    --in_flight_;
    const std::lock_guard lock(mutex_);
    --running_;
  }
  void finish(Completion&& completion) {
    const std::lock_guard lock(mutex_);
    --running_;
    done_.push_back(std::move(completion));
    if (owner_waits_) arrives_.notify_one();
  }
  // An operation of which the outcome is known without starting it.
  void add_done(Completion&& completion) {
    check_process();
    ++in_flight_;
    const std::lock_guard lock(mutex_);
    done_.push_back(std::move(completion));
  }

  // With `block` it waits until there is at least one; nothing in flight gives 0.
  std::size_t wait(std::span<Completion> completions, bool block) {
    if (in_flight_ == 0 || completions.empty()) return 0;
    check_process();
    std::unique_lock lock(mutex_);
    if (block) wait_until(lock, [this] { return !done_.empty(); });
    const std::size_t count = move_out(done_, completions);
    in_flight_ -= count;
    return count;
  }

 private:
  void check_process() const {
    if (!is_of_this_process())
      throw Error(ErrorKind::usage, std::string(what_) + " cannot be used in a fork of its process",
                  "open it in the child");
  }

  template <class Condition>
  void wait_until(std::unique_lock<std::mutex>& lock, Condition condition) {
    owner_waits_ = true;
    arrives_.wait(lock, condition);
    owner_waits_ = false;
  }

  const char* const what_;
  const std::size_t depth_;
  const pid_t process_ = ::getpid();
  std::size_t in_flight_ = 0;  // of the owner alone
  std::mutex mutex_;
  std::condition_variable arrives_;
  bool owner_waits_ = false;
  std::size_t running_ = 0;
  std::vector<Completion> done_;
};

}  // namespace colonnade::io

#endif
