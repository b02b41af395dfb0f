// Operations on RADOS objects that are in flight together: what one operation of a store consists of. Values
// are RADOS objects; operations on different ones are independent of each other, several reads of one object
// are one operation, and so is the replacement of its content.
#ifndef COLONNADE_IO_RADOS_RADOS_BATCH_H
#define COLONNADE_IO_RADOS_RADOS_BATCH_H

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "io/rados/rados_cluster.h"

namespace colonnade::io {

class RadosBatch;

// Where batches that are complete wait for who began them. librados's threads put them there.
class RadosFinished {
 public:
  void put(RadosBatch& batch) noexcept;
  RadosBatch* take(bool block);  // null: none. With `block`, one must be under way

 private:
  friend class RadosBatch;
  std::mutex mutex_;
  std::condition_variable changed_;
  RadosBatch* first_ = nullptr;  // a list through the batches, since nothing may fail here
};

// Belongs to one thread. Lives until it is complete: taken from its RadosFinished.
class RadosBatch {
 public:
  struct Range {
    std::uint64_t offset = 0;
    MutableByteSpan into;
  };
  struct Condition {
    std::optional<std::uint64_t> version;  // nullopt: that the object does not exist
  };
  // One operation on one RADOS object, and what became of it.
  struct Operation {
    int code = 0;  // 0 or an error number with a minus
    std::uint64_t version = 0;
    std::uint64_t size = 0;  // of the object, after a read

   private:
    friend class RadosBatch;
    RadosBatch* batch_ = nullptr;
    rados_completion_t completion_ = nullptr;
    bool is_under_way_ = false;  // guarded by the mutex of the RadosFinished
    std::vector<std::size_t> got_;
  };

  RadosBatch(const RadosPool& pool, std::shared_ptr<RadosFinished> finished)
      : pool_(&pool), finished_(std::move(finished)) {}
  RadosBatch(const RadosBatch&) = delete;
  RadosBatch& operator=(const RadosBatch&) = delete;
  ~RadosBatch();

  // Begin; none is complete for the user before close(). Ranges past the end of the object are not filled.
  Operation& read(const std::string& name, std::span<const Range> ranges);
  Operation& replace(const std::string& name, std::span<const ByteSpan> parts,
                     const std::optional<Condition>& condition = std::nullopt);
  Operation& remove(const std::string& name);
  // Nothing is added any more.
  void close() noexcept;
  // Gives up what is under way; close() and waiting are as necessary as without.
  void cancel() noexcept;

 private:
  friend class RadosFinished;
  static void complete(rados_completion_t completion, void* argument);

  Operation& begin();
  void submit_write(Operation& operation, const std::string& name, rados_write_op_t steps);
  void settle(Operation& operation, int code) noexcept;
  void leave(Operation* operation) noexcept;

  const RadosPool* pool_;
  std::shared_ptr<RadosFinished> finished_;
  std::deque<Operation> operations_;  // librados keeps pointers to them
  std::size_t pending_ = 1;           // operations under way, and close(); guarded by the mutex
  RadosBatch* next_ = nullptr;
};

// Does operations one batch at a time.
class RadosWaiter {
 public:
  explicit RadosWaiter(const RadosPool& pool)
      : finished_(std::make_shared<RadosFinished>()), batch_(pool, finished_) {}
  RadosWaiter(const RadosWaiter&) = delete;
  RadosWaiter& operator=(const RadosWaiter&) = delete;
  ~RadosWaiter() { wait(); }

  RadosBatch& batch() noexcept { return batch_; }
  void wait() noexcept {
    if (is_done_) return;
    batch_.close();
    finished_->take(true);
    is_done_ = true;
  }

 private:
  std::shared_ptr<RadosFinished> finished_;
  RadosBatch batch_;
  bool is_done_ = false;
};

}  // namespace colonnade::io

#endif
