// See thread_queue.h.
#include "io/thread_queue.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace colonnade::io {
namespace {

class ThreadQueue final : public ReadQueue {
 public:
  ThreadQueue(const RandomAccessFile& file, unsigned depth) : file_(&file), depth_(depth) {}

  ~ThreadQueue() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      waiting_.clear();
    }
    wakes_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
    ++in_flight_;
    if (depth_ <= 1) {
      done_.push_back(read({id, offset, into}));
      return;
    }
    std::unique_lock lock(mutex_);
    completed_.wait(lock, [this] { return waiting_.size() + working_ < depth_; });
    waiting_.push_back({id, offset, into});
    if (threads_.size() < depth_ && threads_.size() < waiting_.size() + working_ && !start_thread()) {
      // No thread at all to do it: then this one.
      waiting_.pop_back();
      lock.unlock();
      Completion completion = read({id, offset, into});
      lock.lock();
      done_.push_back(std::move(completion));
      return;
    }
    lock.unlock();
    wakes_.notify_one();
  }

  std::size_t wait(std::span<Completion> completions, bool block) override {
    if (in_flight_ == 0 || completions.empty()) return 0;
    std::unique_lock lock(mutex_);
    while (block && done_.empty()) {
      // Better than to wait for a thread that may not even have a processor.
      if (!waiting_.empty())
        read_next(lock);
      else
        completed_.wait(lock, [this] { return !done_.empty() || !waiting_.empty(); });
    }
    const std::size_t count = std::min(completions.size(), done_.size());
    std::move(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count), completions.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
    in_flight_ -= count;
    return count;
  }

  std::size_t in_flight() const noexcept override { return in_flight_; }
  bool reads_in_submit() const noexcept override { return depth_ <= 1; }

 private:
  struct Request {
    std::uint64_t id = 0;
    std::uint64_t offset = 0;
    MutableByteSpan into;
  };

  Completion read(const Request& request) const noexcept {
    try {
      file_->read(request.offset, request.into);
      return {request.id, nullptr};
    } catch (...) {
      return {request.id, std::current_exception()};
    }
  }

  // False if the system gives no thread and there is none yet; fewer than asked for will do.
  bool start_thread() {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      return !threads_.empty();
    }
    return true;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wakes_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      read_next(lock);
      completed_.notify_all();
    }
  }

  void read_next(std::unique_lock<std::mutex>& lock) {
    const Request request = waiting_.front();
    waiting_.pop_front();
    ++working_;
    lock.unlock();
    Completion completion = read(request);
    lock.lock();
    --working_;
    done_.push_back(std::move(completion));
  }

  const RandomAccessFile* file_;
  const unsigned depth_;
  std::size_t in_flight_ = 0;  // of the owner alone
  std::mutex mutex_;
  std::condition_variable wakes_;      // the threads
  std::condition_variable completed_;  // the owner
  std::deque<Request> waiting_;
  std::deque<Completion> done_;
  std::size_t working_ = 0;  // requests that are being read
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<ReadQueue> make_thread_queue(const RandomAccessFile& file, unsigned depth) {
  return std::make_unique<ThreadQueue>(file, depth);
}

}  // namespace colonnade::io
