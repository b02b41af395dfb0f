// See thread_queue.h.
#include "io/thread_queue.h"

#include <deque>
#include <exception>
#include <thread>
#include <utility>

namespace colonnade::io {
namespace {

// Queue is ReadQueue or ObjectQueue, Work the function called for a request.
template <class Queue, class Work>
class ThreadedQueue : public Queue {
 public:
  explicit ThreadedQueue(unsigned depth) : Queue(depth), depth_(depth) {}
  ThreadedQueue(const ThreadedQueue&) = delete;
  ThreadedQueue& operator=(const ThreadedQueue&) = delete;

  // Drops requests that have not begun and waits for the others. In a forked child the parent's threads do
  // not exist.
  ~ThreadedQueue() override {
    if (!Queue::is_of_this_process()) return;
    {
      const auto lock = Queue::locked();
      stopping_ = true;
      waiting_.clear();
    }
    wakes_->notify_all();
    for (std::thread& thread : *threads_) thread.join();
  }

 protected:
  struct Request {
    std::uint64_t id = 0;
    Work work;
  };

  bool works_in_submit() const noexcept { return depth_ <= 1; }

  void submit_work(Request request) {
    if (works_in_submit()) {
      Queue::begin();
      std::exception_ptr failure = failure_of(request);
      return Queue::finish(request.id, std::move(failure));
    }
    Queue::check_process();
    auto lock = Queue::locked();
    Queue::begin(lock);
    try {
      waiting_.push_back(std::move(request));
    } catch (...) {
      lock.unlock();
      Queue::withdraw();
      throw;
    }
    if (threads_->size() < depth_ && threads_->size() < waiting_.size() + working_ && !start_thread()) {
      run_next(lock);  // without any thread, this one runs it
      return;
    }
    lock.unlock();
    wakes_->notify_one();
  }

 private:
  static std::exception_ptr failure_of(const Request& request) noexcept {
    try {
      request.work();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  // Better than waiting for a thread that may not even have a processor.
  void progress(bool block) override {
    if (!block) return;
    auto lock = Queue::locked();
    if (waiting_.empty()) return Queue::sleep(lock);
    run_next(lock);
  }

  // Returns false if there cannot be even one thread; fewer than requested suffice.
  bool start_thread() {
    try {
      threads_->emplace_back([this] { serve(); });
    } catch (const std::exception&) {
      return !threads_->empty();
    }
    return true;
  }

  void serve() {
    auto lock = Queue::locked();
    while (true) {
      wakes_->wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      run_next(lock);
    }
  }

  void run_next(std::unique_lock<std::mutex>& lock) {
    const Request request = std::move(waiting_.front());
    waiting_.pop_front();
    ++working_;
    lock.unlock();
    std::exception_ptr failure = failure_of(request);
    lock.lock();
    --working_;
    Queue::finish(lock, request.id, std::move(failure));
  }

  const unsigned depth_;
  // The queue's lock guards the members below.
  LeftByChildren<std::condition_variable> wakes_;
  std::deque<Request> waiting_;
  std::size_t working_ = 0;  // requests in progress
  bool stopping_ = false;
  LeftByChildren<std::vector<std::thread>> threads_;
};

struct BlockingRead {
  const RandomAccessFile* file;
  std::uint64_t offset;
  MutableByteSpan into;
  void operator()() const { file->read(offset, into); }
};

class ThreadedReads final : public ThreadedQueue<ReadQueue, BlockingRead> {
 public:
  ThreadedReads(const RandomAccessFile& file, unsigned depth) : ThreadedQueue(depth), file_(&file) {}

  void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
    submit_work({id, {file_, offset, into}});
  }
  bool reads_in_submit() const noexcept override { return works_in_submit(); }

 private:
  const RandomAccessFile* file_;
};

class ThreadedOperations final : public ThreadedQueue<ObjectQueue, std::function<void()>> {
 public:
  ThreadedOperations(ObjectStore& store, unsigned depth) : ThreadedQueue(depth), store_(&store) {}

  void submit_fetch(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                    std::span<const FetchItem> items) override {
    submit_work({id, [store = store_, object, dkey, kept = std::vector(items.begin(), items.end())] {
                   store->fetch(object, dkey, kept);
                 }});
  }
  void submit_update(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                     std::span<const UpdateItem> items) override {
    submit_work({id, [store = store_, object, dkey, kept = std::vector(items.begin(), items.end())] {
                   store->update(object, dkey, kept);
                 }});
  }

 private:
  ObjectStore* store_;
};

}  // namespace

std::unique_ptr<ReadQueue> make_thread_queue(const RandomAccessFile& file, unsigned depth) {
  return std::make_unique<ThreadedReads>(file, depth);
}

std::unique_ptr<ObjectQueue> make_thread_queue(ObjectStore& store, unsigned depth) {
  return std::make_unique<ThreadedOperations>(store, depth);
}

}  // namespace colonnade::io
