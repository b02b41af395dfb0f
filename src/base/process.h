// Forks. A child gets a copy of its parent's memory, but none of its threads: a lock that one of them held
// stays locked forever, and their results never arrive. Every object with threads, locks or connections
// therefore knows the process that made it, and checks that before it uses them.
#ifndef COLONNADE_BASE_PROCESS_H
#define COLONNADE_BASE_PROCESS_H

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

namespace colonnade {

// Identifies the process that made this object.
class Process {
 public:
  bool is_current() const noexcept { return id_ == ::getpid(); }

 private:
  pid_t id_ = ::getpid();
};

// For destructors in a forked child: leaks an object that threads of the parent were using. Its destructor
// would wait for those threads; even destroying a condition variable waits for its waiters.
template <class Pointer>
void leave_to_parent(Pointer& owner) {
  [[maybe_unused]] const auto* left = new Pointer(std::move(owner));
}

// Owns state that threads of this process may be using during a fork; children leak their copy.
template <class T>
class LeftByChildren {
 public:
  LeftByChildren() : value_(std::make_unique<T>()) {}
  LeftByChildren(const LeftByChildren&) = delete;
  LeftByChildren& operator=(const LeftByChildren&) = delete;
  ~LeftByChildren() {
    if (!process_.is_current()) leave_to_parent(value_);
  }
  T& operator*() const noexcept { return *value_; }
  T* operator->() const noexcept { return value_.get(); }

 private:
  Process process_;
  std::unique_ptr<T> value_;
};

// One T per process, made on first use. A child makes its own and leaves its parent's untouched. They are
// never destroyed: threads may use them while the process ends.
template <class T>
class PerProcess {
 public:
  // `make` returns a std::unique_ptr<T>. Concurrent first callers may each make one; all get the same.
  template <class Make>
  T& get(Make&& make) {
    Made* known = made_.load(std::memory_order_acquire);
    while (known == nullptr || !known->process.is_current()) {
      auto fresh = std::make_unique<Made>(Made{{}, make()});
      if (made_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel))
        known = fresh.release();
    }
    return *known->value;
  }
  T& get() {
    return get([] { return std::make_unique<T>(); });
  }

 private:
  struct Made {
    Process process;
    std::unique_ptr<T> value;
  };
  std::atomic<Made*> made_ = nullptr;
};

}  // namespace colonnade

#endif
