// Threads that do blocking requests, so that several are in flight: what the queues of files and stores that
// have none of their own consist of. Each request in flight has a thread, and who waits for one does
// meanwhile what no thread has begun. Belongs, as all queues, to one thread at a time.
#ifndef COLONNADE_IO_REQUEST_THREADS_H
#define COLONNADE_IO_REQUEST_THREADS_H

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "io/completion_queue.h"

namespace colonnade::io {

// Request has a member `id`, Completion is {id, failure}.
template <class Request, class Completion>
class RequestThreads {
 public:
  using Work = std::function<void(const Request&)>;

  // With `depth` 1 or less there is no thread: submit() does the work.
  RequestThreads(unsigned depth, Work work) : depth_(depth), work_(std::move(work)) {}
  RequestThreads(const RequestThreads&) = delete;
  RequestThreads& operator=(const RequestThreads&) = delete;

  // Drops what nobody has begun and waits for the rest.
  ~RequestThreads() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      waiting_.clear();
    }
    wakes_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void submit(Request request) {
    if (depth_ <= 1) {
      done_.push_back(do_one(request));
      ++in_flight_;
      return;
    }
    std::unique_lock lock(mutex_);
    completed_.wait(lock, [this] { return waiting_.size() + working_ < depth_; });
    waiting_.push_back(std::move(request));
    ++in_flight_;
    if (threads_.size() < depth_ && threads_.size() < waiting_.size() + working_ && !start_thread()) {
      do_next(lock);  // no thread at all to do it: then this one
      return;
    }
    lock.unlock();
    wakes_.notify_one();
  }

  std::size_t wait(std::span<Completion> completions, bool block) {
    if (in_flight_ == 0 || completions.empty()) return 0;
    std::unique_lock lock(mutex_);
    while (block && done_.empty()) {
      // Better than to wait for a thread that may not even have a processor.
      if (!waiting_.empty())
        do_next(lock);
      else
        completed_.wait(lock, [this] { return !done_.empty() || !waiting_.empty(); });
    }
    const std::size_t count = move_out(done_, completions);
    in_flight_ -= count;
    return count;
  }

  std::size_t in_flight() const noexcept { return in_flight_; }
  bool works_in_submit() const noexcept { return depth_ <= 1; }

 private:
  Completion do_one(const Request& request) const noexcept {
    try {
      work_(request);
      return {request.id, nullptr};
    } catch (...) {
      return {request.id, std::current_exception()};
    }
  }

  // False if the system gives no thread and there is none yet; fewer than asked for will do.
  bool start_thread() {
    try {
      threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      return !threads_.empty();
    }
    return true;
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      wakes_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      do_next(lock);
      completed_.notify_all();
    }
  }

  void do_next(std::unique_lock<std::mutex>& lock) {
    const Request request = std::move(waiting_.front());
    waiting_.pop_front();
    ++working_;
    lock.unlock();
    Completion completion = do_one(request);
    lock.lock();
    --working_;
    done_.push_back(std::move(completion));
  }

  const unsigned depth_;
  const Work work_;
  std::size_t in_flight_ = 0;  // of the owner alone
  std::mutex mutex_;
  std::condition_variable wakes_;      // the threads
  std::condition_variable completed_;  // the owner
  std::deque<Request> waiting_;
  std::deque<Completion> done_;
  std::size_t working_ = 0;  // requests that are being done
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace colonnade::io

#endif
