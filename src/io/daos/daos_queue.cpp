// See daos_queue.h.
#include "io/daos/daos_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/completion_queue.h"
#include "io/daos/daos_errors.h"
#include "io/daos/daos_store.h"
#include "io/daos/daos_transfer.h"
#include "io/object_checks.h"

namespace colonnade::io::daos {

DaosQueue::DaosQueue(const DaosStore& store, unsigned depth)
    : store_(&store), depth_(std::max(depth, 1U)), events_(store.session().borrow_queue()) {}

// What is in flight has memory of its own, so nobody waits for it here.
DaosQueue::~DaosQueue() {
  store_->session().give_back(std::move(events_));
}

// Fails in wait(), not here: what one operation lacks is no matter of the others.
template <class Make>
void DaosQueue::submit(const Waiting& what, Make&& make) {
  store_->session().check_process();
  while (events_->running() >= depth_) collect(true);
  ++in_flight_;
  try {
    std::unique_ptr<Operation> operation = make();
    if (operation) {
      waiting_.emplace(next_ticket_, what);
      events_->launch(next_ticket_++, std::move(operation));
    } else {
      done_.push_back({what.id, nullptr});
    }
  } catch (...) {
    done_.push_back({what.id, std::current_exception()});
  }
}

void DaosQueue::submit_fetch(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                             std::span<const FetchItem> items) {
  submit({id, object, dkey, false}, [&]() -> std::unique_ptr<Operation> {
    check_fetch(store_->uri(), store_->traits(), object, dkey, items);
    if (items.empty()) return nullptr;
    auto handle = store_->objects().to_read(object);
    if (!handle) fail_missing(store_->uri(), {object, dkey, items[0].akey});
    return std::make_unique<Fetch>(std::move(handle), object, dkey, items);
  });
}

void DaosQueue::submit_update(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                              std::span<const UpdateItem> items) {
  submit({id, object, dkey, true}, [&]() -> std::unique_ptr<Operation> {
    check_update(store_->uri(), store_->traits(), object, dkey, items);
    if (items.empty()) return nullptr;
    return std::make_unique<Update>(store_->objects().to_write(object), object, dkey, items);
  });
}

ObjectQueue::Completion DaosQueue::completion_of(EventQueue::Finished& finished) {
  const auto found = waiting_.find(finished.id);
  const Waiting what = found->second;
  waiting_.erase(found);
  try {
    if (finished.failure) return {what.id, finished.failure};
    if (!finished.operation) {
      const std::string action = fmt::format("{} {}, distribution key {}", what.writes ? "write" : "read",
                                             to_text(what.object), what.dkey);
      throw timeout_error(store_->uri(), action, store_->session().runtime().timeout().count());
    }
    if (what.writes)
      static_cast<const Update&>(*finished.operation).check();
    else
      static_cast<const Fetch&>(*finished.operation).copy_out();
    return {what.id, nullptr};
  } catch (...) {
    return {what.id, std::current_exception()};
  }
}

void DaosQueue::collect(bool block) {
  std::vector<EventQueue::Finished> finished;
  events_->poll(finished, block);
  for (EventQueue::Finished& one : finished) done_.push_back(completion_of(one));
}

std::size_t DaosQueue::wait(std::span<Completion> completions, bool block) {
  store_->session().check_process();
  if (in_flight_ == 0 || completions.empty()) return 0;
  collect(block && done_.empty());
  const std::size_t count = move_out(done_, completions);
  in_flight_ -= count;
  return count;
}

}  // namespace colonnade::io::daos
