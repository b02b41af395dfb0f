// WriterPreferringMutex: a shared mutex in which a waiting exclusive lock keeps later shared locks out, so
// that a steady stream of them cannot starve it. (glibc's std::shared_mutex prefers shared locks.)
//
//   WriterPreferringMutex mutex;
//   const std::shared_lock reading(mutex);   // any number at the same time
//   const std::unique_lock writing(mutex);   // one, and no shared lock
//
// Thread-safe. A thread must not lock it twice.
#ifndef COLONNADE_BASE_WRITER_PREFERRING_MUTEX_H
#define COLONNADE_BASE_WRITER_PREFERRING_MUTEX_H

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace colonnade {

class WriterPreferringMutex {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_exclusive_; });
    is_exclusive_ = true;
    changed_.wait(lock, [this] { return shared_ == 0; });
  }

  void unlock() {
    const std::lock_guard lock(mutex_);
    is_exclusive_ = false;
    changed_.notify_all();
  }

  void lock_shared() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_exclusive_; });
    ++shared_;
  }

  // False if the lock is, or will next be, exclusive.
  bool try_lock_shared() {
    const std::lock_guard lock(mutex_);
    if (is_exclusive_) return false;
    ++shared_;
    return true;
  }

  void unlock_shared() {
    const std::lock_guard lock(mutex_);
    if (--shared_ == 0) changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t shared_ = 0;     // locks held
  bool is_exclusive_ = false;  // held, or waited for by the thread that gets it next
};

}  // namespace colonnade

#endif  // COLONNADE_BASE_WRITER_PREFERRING_MUTEX_H
