// Operations on RADOS objects that are in flight together, for one operation of a store. Values are RADOS
// objects; operations on different ones are independent of each other, several reads of one object are one
// operation, and so is the replacement of its content.
#ifndef COLONNADE_IO_RADOS_RADOS_BATCH_H
#define COLONNADE_IO_RADOS_RADOS_BATCH_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "io/completion_queue.h"
#include "io/rados/rados_cluster.h"

namespace colonnade::io {

// One thread uses a batch. It must live until it is complete, when a thread of librados calls `done` once;
// `done` may destroy it.
class RadosBatch {
 public:
  struct Range {
    std::uint64_t offset = 0;
    MutableByteSpan into;
  };
  struct Condition {
    std::optional<std::uint64_t> version;  // nullopt: requires that the object does not exist
  };
  // One operation on one RADOS object, and its outcome.
  struct Operation {
    int code = 0;  // 0 or a negative errno
    std::uint64_t version = 0;
    std::uint64_t size = 0;  // of the object, after a read

   private:
    friend class RadosBatch;
    RadosBatch* batch_ = nullptr;
    rados_completion_t completion_ = nullptr;
    std::atomic<bool> is_under_way_ = false;
    std::vector<std::size_t> got_;
  };

  using Done = std::function<void()>;

  RadosBatch(const RadosPool& pool, Done done) : pool_(&pool), done_(std::move(done)) {}
  RadosBatch(const RadosBatch&) = delete;
  RadosBatch& operator=(const RadosBatch&) = delete;
  ~RadosBatch();

  // Start an operation; none completes before close(). Ranges past the end of the object are not
  // filled.
  Operation& read(const std::string& name, std::span<const Range> ranges);
  Operation& replace(const std::string& name, std::span<const ByteSpan> parts,
                     const std::optional<Condition>& condition = std::nullopt);
  Operation& remove(const std::string& name);
  // No operation may be added after this.
  void close() noexcept;
  // Cancels operations in flight; close() and waiting are still necessary.
  void cancel() noexcept;

 private:
  static void complete(rados_completion_t completion, void* argument);

  Operation& begin();
  void submit_write(Operation& operation, const std::string& name, rados_write_op_t steps);
  void settle(Operation& operation, int code) noexcept;
  void leave(Operation* operation) noexcept;

  const RadosPool* pool_;
  Done done_;
  std::deque<Operation> operations_;      // librados keeps pointers to them
  std::atomic<std::size_t> pending_ = 1;  // operations in flight, plus one until close()
};

// Runs the operations of one batch, and waits for them.
class RadosWaiter final : private CompletionQueue {
 public:
  explicit RadosWaiter(const RadosPool& pool) : batch_(pool, [this] { finish(0); }) { begin(); }
  RadosWaiter(const RadosWaiter&) = delete;
  RadosWaiter& operator=(const RadosWaiter&) = delete;
  ~RadosWaiter() override { complete(); }

  RadosBatch& batch() noexcept { return batch_; }
  void complete() noexcept {
    if (in_flight() == 0) return;
    batch_.close();
    wait_for_all();
  }

 private:
  RadosBatch batch_;
};

}  // namespace colonnade::io

#endif
