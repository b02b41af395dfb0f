// See thread_pool.h. A task of a group is queued twice: in the group, from which the waiting thread takes it,
// and as a ticket in the pool that means "take one task of this group". A ticket that finds no task left does
// nothing.
#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

#include "base/floating_point.h"
#include "base/interruption.h"
#include "base/process.h"
#include "base/start_thread.h"

namespace colonnade {

ThreadPool::ThreadPool(unsigned threads) {
  threads_.reserve(std::max(threads, 1u));
  try {
    for (unsigned i = 0; i < std::max(threads, 1u); ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::exception&) {  // fewer suffice; without any, submit() says so
  }
  size_ = std::max(static_cast<unsigned>(threads_.size()), 1u);
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

ThreadPool& ThreadPool::shared() {
  static PerProcess<ThreadPool> pool;
  return pool.get([] { return std::make_unique<ThreadPool>(std::max(processors(), 2u) - 1); });
}

unsigned ThreadPool::processors() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::max(std::thread::hardware_concurrency(), 1u);
  return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

void ThreadPool::submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (threads_.empty()) threads_.push_back(start_thread([this] { work(); }));
    tasks_.push_back(std::move(task));
  }
  wakes_.notify_one();
}

void ThreadPool::work() {
  const StandardFloatingPoint state;
  std::unique_lock lock(mutex_);
  while (true) {
    wakes_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

// Tasks of a thread that is interrupted are, too.
struct TaskGroup::State {
  std::mutex mutex;
  std::condition_variable done;
  std::deque<std::pair<std::size_t, std::function<void()>>> waiting;
  std::size_t added = 0;
  std::size_t unfinished = 0;
  std::size_t failed_at = static_cast<std::size_t>(-1);
  std::exception_ptr failure;
  std::atomic<bool> unwanted = false;

  // Runs one task if one is waiting. `lock` is held before and after.
  bool do_one(std::unique_lock<std::mutex>& lock) {
    if (waiting.empty()) return false;
    auto [number, task] = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    std::exception_ptr thrown;
    try {
      const Interruption interruption([this] { return unwanted.load(); });
      task();
    } catch (...) {
      thrown = std::current_exception();
    }
    task = nullptr;
    lock.lock();
    if (thrown && number < failed_at) {
      failed_at = number;
      failure = thrown;
    }
    if (--unfinished == 0) done.notify_all();
    return true;
  }
};

TaskGroup::TaskGroup(ThreadPool& pool) : pool_(&pool), state_(std::make_shared<State>()) {}

TaskGroup::~TaskGroup() {
  try {
    wait();
  } catch (...) {  // no caller is left to report it to
  }
}

void TaskGroup::run(std::function<void()> task) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.emplace_back(state_->added++, std::move(task));
    ++state_->unfinished;
  }
  try {
    pool_->submit([state = state_] {
      std::unique_lock lock(state->mutex);
      state->do_one(lock);
    });
  } catch (const std::exception&) {  // wait() runs it
  }
}

void TaskGroup::wait() {
  std::unique_lock lock(state_->mutex);
  while (state_->do_one(lock)) {
  }
  const auto is_done = [this] { return state_->unfinished == 0; };
  try {
    Interruption::wait(state_->done, lock, is_done);
  } catch (const Interrupted&) {
    state_->unwanted = true;
    state_->done.wait(lock, is_done);
    state_->failure = std::current_exception();
    state_->unwanted = false;
  }
  state_->failed_at = static_cast<std::size_t>(-1);
  if (const std::exception_ptr failure = std::exchange(state_->failure, nullptr))
    std::rethrow_exception(failure);
}

}  // namespace colonnade
