// A wrapper that injects faults into another object store, for tests of its users. StoreFaults controls the
// faults, at any time, even during operations; with wrap_memory_store() they affect every process that opens
// "memory+obj:name".
//
//   const auto faults = std::make_shared<StoreFaults>();
//   wrap_memory_store("name", [&](auto store) { return with_faults(std::move(store), faults); });
//   faults->fail(StoreOperation::update, 3);  // the fourth update from now on
#ifndef COLONNADE_IO_MEMORY_FAULT_STORE_H
#define COLONNADE_IO_MEMORY_FAULT_STORE_H

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/object_store.h"

namespace colonnade::io {

enum class StoreOperation { fetch, update, size, get, put_if, list, remove, sync };

class StoreFaults {
 public:
  static constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();

  // Makes operations of this kind fail before they reach the store: `count` of them, from the n-th on that
  // begins after this call (0: the next one).
  void fail(StoreOperation kind, std::uint64_t n = 0, std::uint64_t count = 1,
            ErrorKind error = ErrorKind::io);
  // Like fail(), but the operation is performed before it reports the failure: its answer is lost.
  void lose_answer(StoreOperation kind, std::uint64_t n = 0, std::uint64_t count = 1);
  // After `operations` more of any kind all fail, as if the server were down; until restore().
  void lose_server(std::uint64_t operations = 0);
  void restore();  // undoes fail(), lose_answer(), lose_server(), come_late() and before()
  // The n-th put_if() from now on fails, and is performed by arrive(): after its caller has given up, and
  // others have acted. The store must not be destroyed meanwhile.
  void come_late(std::uint64_t n = 0);
  void arrive();
  // Runs `work` right before the n-th operation of this kind from now on.
  void before(StoreOperation kind, std::uint64_t n, std::function<void()> work);

  // From now on byte `offset` of the value is returned with a wrong value.
  void corrupt(const ValueAddress& address, std::uint64_t offset);
  // Updates and puts may write this many more bytes in total; what does not fit fails.
  void limit_space(std::uint64_t bytes);
  // Delays each operation of this kind by `time`.
  void delay(StoreOperation kind, std::chrono::microseconds time);

  // Blocks operations of this kind until release(). The store must not be destroyed
  // meanwhile.
  void hold(StoreOperation kind);
  void release(StoreOperation kind);
  void wait_until_held(StoreOperation kind, std::uint64_t operations);  // waits until that many are blocked

  std::uint64_t count(StoreOperation kind) const;  // operations begun

 private:
  friend class FaultyStore;
  static constexpr std::size_t kinds = static_cast<std::size_t>(StoreOperation::sync) + 1;
  struct Range {
    std::uint64_t first = all;  // counted like Kind::begun
    std::uint64_t count = 0;
    ErrorKind error = ErrorKind::io;
    bool covers(std::uint64_t n) const noexcept { return n >= first && n - first < count; }
  };
  struct Kind {
    std::uint64_t begun = 0;
    Range failing;
    Range losing;
    std::uint64_t interrupted = all;  // the operation before which work() runs
    std::function<void()> work;
    std::chrono::microseconds delay{0};
    bool held = false;
    std::uint64_t waiting = 0;
  };
  Kind& of(StoreOperation kind) noexcept { return kinds_[static_cast<std::size_t>(kind)]; }
  const Kind& of(StoreOperation kind) const noexcept { return kinds_[static_cast<std::size_t>(kind)]; }
  bool is_late();
  // Throws if the operation is to fail; returns true if its answer is to be lost.
  bool begin(StoreOperation kind, const std::string& uri, const std::string& place);
  void take_space(std::uint64_t bytes, const std::string& uri, const std::string& place);
  void spoil(const ValueAddress& address, std::uint64_t offset, MutableByteSpan bytes) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Kind, kinds> kinds_;
  std::optional<std::uint64_t> left_;  // operations before the server is down
  std::multimap<ValueAddress, std::uint64_t> corrupt_;
  std::uint64_t space_ = all;
  std::uint64_t late_put_ = all;
  std::vector<std::function<void()>> late_;
};

std::shared_ptr<ObjectStore> with_faults(std::shared_ptr<ObjectStore> store,
                                         std::shared_ptr<StoreFaults> faults);

}  // namespace colonnade::io

#endif
