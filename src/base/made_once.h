// MadeOnce: an object that is made on first use, where a child may be forked at any moment.
#ifndef COLONNADE_BASE_MADE_ONCE_H
#define COLONNADE_BASE_MADE_ONCE_H

#include <atomic>
#include <memory>

namespace colonnade {

// One T for all processes, made on first use. Unlike a static variable it has no lock, which a child would
// find locked forever if another thread of its parent was making the object. Never destroyed.
template <class T>
class MadeOnce {
 public:
  // `make` returns a T. Concurrent first callers may each make one; all get the same.
  template <class Make>
  const T& get(Make&& make) {
    const T* known = made_.load(std::memory_order_acquire);
    if (known == nullptr) {
      std::unique_ptr<const T> fresh(new T(make()));
      if (made_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel))
        known = fresh.release();
    }
    return *known;
  }

 private:
  std::atomic<const T*> made_ = nullptr;
};

}  // namespace colonnade

#endif
