// The queue of the rados store: operations are under way in librados, whose threads say when they are
// complete.
#ifndef COLONNADE_IO_RADOS_RADOS_QUEUE_H
#define COLONNADE_IO_RADOS_RADOS_QUEUE_H

#include <deque>
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
  std::size_t wait(std::span<Completion> completions, bool block) override;
  std::size_t in_flight() const noexcept override { return under_way_.size() + done_.size(); }

 private:
  struct Entry {
    std::uint64_t id = 0;
    std::unique_ptr<RadosOperation> operation;
  };
  template <class Begin>
  void submit(std::uint64_t id, const ObjectId& object, Begin&& begin);
  bool reap(bool block);  // one operation; false: none is complete

  const RadosStore* store_;
  const std::size_t depth_;
  std::shared_ptr<RadosFinished> finished_;
  std::unordered_map<const RadosBatch*, Entry> under_way_;
  std::deque<Completion> done_;
};

}  // namespace colonnade::io

#endif
