// Keeps files of recently read values open: opening and closing one costs more than reading a page from it.
// Thread-safe.
#ifndef COLONNADE_IO_LOCAL_OPEN_VALUES_H
#define COLONNADE_IO_LOCAL_OPEN_VALUES_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "base/process.h"
#include "io/local/local_system.h"
#include "io/object_store.h"

namespace colonnade::io {

struct OpenValue {
  FileDescriptor file;
  std::uint64_t size = 0;  // files of values do not change, they are replaced
  std::chrono::steady_clock::time_point opened = std::chrono::steady_clock::now();
};

class OpenValues {
 public:
  explicit OpenValues(std::size_t most) : most_(most) {}

  // Null if the file is not open, or was replaced.
  std::shared_ptr<const OpenValue> find(const ValueAddress& address);
  void keep(const ValueAddress& address, std::shared_ptr<const OpenValue> value);
  void forget(const ValueAddress& address);
  void forget_all();

 private:
  struct CachedValue {
    std::shared_ptr<const OpenValue> value;
    std::list<ValueAddress>::iterator place;  // in used_
  };
  void drop(std::map<ValueAddress, CachedValue>::iterator entry);
  // After a fork a thread that the child does not have may hold the lock.
  bool is_child() const noexcept;

  const std::size_t most_;
  const Process process_;
  std::mutex mutex_;
  std::map<ValueAddress, CachedValue> entries_;
  std::list<ValueAddress> used_;  // most recently used first
};

}  // namespace colonnade::io

#endif
