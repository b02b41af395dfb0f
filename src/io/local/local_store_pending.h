// The changes that sync() of a local object store must flush to the device. Thread-safe.
#ifndef COLONNADE_IO_LOCAL_LOCAL_STORE_PENDING_H
#define COLONNADE_IO_LOCAL_LOCAL_STORE_PENDING_H

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "base/process.h"
#include "io/object_store.h"

namespace colonnade::io {

class PendingValues {
 public:
  // Up to this number, values are flushed one by one; beyond, the whole file system is.
  static constexpr std::size_t most = 256;

  struct Taken {
    std::vector<ValueAddress> addresses;
    bool root = false;  // folders of objects were removed
    bool too_many = false;
    bool created = false;  // the store itself
  };

  explicit PendingValues(bool created) { taken_.created = created; }

  void add(const ValueAddress& address) {
    change([&] {
      if (taken_.addresses.size() >= most)
        taken_.too_many = true;
      else
        taken_.addresses.push_back(address);
    });
  }
  void add_root() {
    change([&] { taken_.root = true; });
  }

  // Held while changes are flushed. A sync() that finds none must not return before another one has flushed
  // those that it took. A child flushes everything, and may not wait for a thread of its parent.
  std::unique_lock<std::mutex> turn() {
    return is_child() ? std::unique_lock<std::mutex>() : std::unique_lock(flushing_);
  }

  Taken take() {
    Taken result;
    if (is_child()) {
      result.too_many = true;
      return result;
    }
    const std::lock_guard lock(mutex_);
    return std::exchange(taken_, {});
  }

  // Returns what could not be flushed.
  void give_back(Taken taken) {
    change([&] {
      taken_.root |= taken.root;
      taken_.created |= taken.created;
      taken_.too_many |= taken.too_many || taken_.addresses.size() + taken.addresses.size() > most;
      if (!taken_.too_many)
        taken_.addresses.insert(taken_.addresses.end(), taken.addresses.begin(), taken.addresses.end());
    });
  }

 private:
  // After a fork a thread that the child does not have may hold the lock: the child flushes everything.
  bool is_child() const noexcept { return !process_.is_current(); }
  template <class Change>
  void change(Change&& change) {
    if (is_child()) return;
    const std::lock_guard lock(mutex_);
    change();
  }

  const Process process_;
  std::mutex flushing_;
  std::mutex mutex_;
  Taken taken_;
};

}  // namespace colonnade::io

#endif
