// The queue of the rados store: operations run in librados, whose threads report their
// completion.
#ifndef COLONNADE_IO_RADOS_RADOS_QUEUE_H
#define COLONNADE_IO_RADOS_RADOS_QUEUE_H

#include <memory>
#include <span>
#include <unordered_map>

#include "io/object_store.h"
#include "io/rados/rados_operation.h"

namespace colonnade::io {

class RadosStore;

class RadosQueue final : public ObjectQueue {
 public:
  RadosQueue(const RadosStore& store, unsigned depth);
  RadosQueue(const RadosQueue&) = delete;
  RadosQueue& operator=(const RadosQueue&) = delete;
  ~RadosQueue() override;

  void submit_fetch(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                    std::span<const FetchItem> items) override;
  void submit_update(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                     std::span<const UpdateItem> items) override;

 private:
  struct PendingOperation {
    std::uint64_t id = 0;
    std::unique_ptr<RadosOperation> operation;
  };
  template <class Begin>
  void submit(std::uint64_t id, const ObjectId& object, Begin&& start);
  void settle(std::uint64_t ticket) noexcept;
  void fail_in_child() const override;

  const RadosStore* store_;
  std::uint64_t next_ticket_ = 0;
  std::unordered_map<std::uint64_t, PendingOperation> under_way_;  // by ticket
};

}  // namespace colonnade::io

#endif
