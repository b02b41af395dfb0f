// The object queue of DAOS: one event queue, lent by the session for this object's lifetime; an operation of
// several items is one call of libdaos.
#ifndef COLONNADE_IO_DAOS_DAOS_QUEUE_H
#define COLONNADE_IO_DAOS_DAOS_QUEUE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "io/daos/daos_events.h"
#include "io/daos/daos_objects.h"
#include "io/object_store.h"

namespace colonnade::io::daos {

class DaosStore;

class DaosQueue final : public ObjectQueue {
 public:
  DaosQueue(const DaosStore& store, unsigned depth);
  ~DaosQueue() override;

  void submit_fetch(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                    std::span<const FetchItem> items) override;
  void submit_update(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                     std::span<const UpdateItem> items) override;

 private:
  struct Waiting {
    std::uint64_t id = 0;
    ObjectId object;
    std::uint64_t dkey = 0;
    bool writes = false;
  };
  template <class Make>
  void submit(const Waiting& what, Make&& make);
  void progress(bool block) override;
  void fail_in_child() const override;
  void settle(EventQueue::Finished& finished);

  const DaosStore* store_;
  std::unique_ptr<EventQueue> events_;
  std::uint64_t next_ticket_ = 0;
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // by ticket
};

}  // namespace colonnade::io::daos

#endif
