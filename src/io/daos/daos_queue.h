// The object queue of DAOS: one event queue, lent by the session for as long as this one lives; an operation
// of several items is one call of libdaos.
#ifndef COLONNADE_IO_DAOS_DAOS_QUEUE_H
#define COLONNADE_IO_DAOS_DAOS_QUEUE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

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
  std::size_t wait(std::span<Completion> completions, bool block) override;
  std::size_t in_flight() const noexcept override { return in_flight_; }

 private:
  struct Waiting {
    std::uint64_t id = 0;
    ObjectId object;
    std::uint64_t dkey = 0;
    bool writes = false;
  };
  template <class Make>
  void submit(const Waiting& what, Make&& make);
  void collect(bool block);
  Completion completion_of(EventQueue::Finished& finished);

  const DaosStore* store_;
  const std::size_t depth_;
  std::unique_ptr<EventQueue> events_;
  std::size_t in_flight_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // by ticket
  std::vector<Completion> done_;
};

}  // namespace colonnade::io::daos

#endif
