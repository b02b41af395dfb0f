// ThreadPool: the process's workers for short tasks (sealing, decompression). Tasks must not wait for other
// tasks, except through TaskGroup::wait(), in which the waiting thread does tasks of its group itself; so no
// number of threads, one included, can come to a standstill.
//
// The shared pool starts at its first use and starts afresh in a forked child, whose copies of
// the parent's threads do not exist.
#ifndef COLONNADE_BASE_THREAD_POOL_H
#define COLONNADE_BASE_THREAD_POOL_H

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace colonnade {

class ThreadPool {
 public:
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();  // finishes what was submitted
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // As many threads as this process may use processors (its affinity), less the caller's own, but at least
  // one.
  static ThreadPool& shared();
  // Processors that this process may use.
  static unsigned processors() noexcept;

  unsigned size() const noexcept { return static_cast<unsigned>(threads_.size()); }
  // From any thread. A task must not throw.
  void submit(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Tasks that are waited for together. One thread adds and waits; tasks run on the pool and in wait().
class TaskGroup {
 public:
  explicit TaskGroup(ThreadPool& pool = ThreadPool::shared());
  ~TaskGroup();  // waits; an exception that nobody took with wait() is dropped
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void run(std::function<void()> task);
  // Returns when every task is done; throws the exception of the earliest-added task that failed.
  void wait();
  std::size_t unfinished() const;

 private:
  struct State;
  ThreadPool* pool_;
  std::shared_ptr<State> state_;
};

}  // namespace colonnade

#endif
