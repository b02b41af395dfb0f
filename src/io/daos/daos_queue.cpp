// See daos_queue.h.
#include "io/daos/daos_queue.h"

#include <fmt/format.h>

#include <utility>

#include "io/daos/daos_errors.h"
#include "io/daos/daos_store.h"
#include "io/daos/daos_transfer.h"
#include "io/object_checks.h"

namespace colonnade::io::daos {

DaosQueue::DaosQueue(const DaosStore& store, unsigned depth)
    : ObjectQueue(depth), store_(&store), events_(store.session().borrow_queue()) {}

// Operations in flight own their memory, so this does not wait for them.
DaosQueue::~DaosQueue() {
  store_->session().give_back(std::move(events_));
}

void DaosQueue::fail_in_child() const {
  store_->session().check_process();
  CompletionQueue::fail_in_child();
}

// Fails in wait(), not here: the failure of one operation must not affect the others.
template <class Make>
void DaosQueue::submit(const Waiting& what, Make&& make) {
  begin();
  try {
    std::unique_ptr<Operation> operation = make();
    if (!operation) return finish(what.id);
    waiting_.emplace(next_ticket_, what);
    events_->launch(next_ticket_++, std::move(operation));
  } catch (...) {
    finish(what.id, std::current_exception());
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

void DaosQueue::settle(EventQueue::Finished& finished) {
  const auto found = waiting_.find(finished.id);
  const Waiting what = found->second;
  waiting_.erase(found);
  try {
    if (finished.failure) std::rethrow_exception(finished.failure);
    if (!finished.operation) {
      const std::string action = fmt::format("{} {}, distribution key {}", what.writes ? "write" : "read",
                                             to_text(what.object), what.dkey);
      throw timeout_error(store_->uri(), action, store_->session().runtime().timeout().count());
    }
    if (what.writes)
      static_cast<const Update&>(*finished.operation).check();
    else
      static_cast<const Fetch&>(*finished.operation).copy_out();
    finish(what.id);
  } catch (...) {
    finish(what.id, std::current_exception());
  }
}

void DaosQueue::progress(bool block) {
  std::vector<EventQueue::Finished> finished;
  events_->poll(finished, block);
  for (EventQueue::Finished& one : finished) settle(one);
}

}  // namespace colonnade::io::daos
