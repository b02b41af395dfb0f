// ThreadPool: the process's workers for short tasks (sealing, decompression). Tasks must not wait for other
// tasks, except through TaskGroup::wait(), in which the waiting thread runs tasks of its own group; so the
// pool cannot deadlock, even with a single thread.
//
// The shared pool starts on first use. A forked child starts its own, as the parent's threads do not exist
// there.
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
  ~ThreadPool();  // finishes submitted tasks
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // One thread per processor that this process may use (its affinity), less one for the caller, but at least
  // one.
  static ThreadPool& shared();
  // The number of processors that this process may use.
  static unsigned processors() noexcept;

  unsigned size() const noexcept { return size_; }
  // Callable from any thread. A task must not throw. Throws ErrorKind::resource if there is no thread, and
  // none can be started.
  void submit(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
  unsigned size_ = 1;
};

// A group of tasks to wait for. One thread adds and waits; tasks run on the pool and in wait().
class TaskGroup {
 public:
  explicit TaskGroup(ThreadPool& pool = ThreadPool::shared());
  ~TaskGroup();  // waits; drops an exception that no wait() reported
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void run(std::function<void()> task);
  // Returns when every task is done; throws the exception of the failed task that was added first.
  void wait();

 private:
  struct State;
  ThreadPool* pool_;
  std::shared_ptr<State> state_;
};

}  // namespace colonnade

#endif
