// See rados_queue.h.
#include "io/rados/rados_queue.h"

#include <array>
#include <utility>

#include "io/object_checks.h"
#include "io/rados/rados_store.h"

namespace colonnade::io {

RadosQueue::RadosQueue(const RadosStore& store, unsigned depth) : ObjectQueue(depth), store_(&store) {}

RadosQueue::~RadosQueue() {
  if (!store_->is_usable()) {
    // In a child process operations in flight never complete, nor may they be destroyed.
    for (auto& [ticket, pending] : under_way_) {
      [[maybe_unused]] const auto* of_parent = pending.operation.release();
    }
    return;
  }
  for (auto& [ticket, pending] : under_way_) pending.operation->batch().cancel();
  std::array<Completion, 16> unheard;
  while (wait(unheard) > 0) continue;
}

void RadosQueue::fail_in_child() const {
  fail_after_fork(store_->uri());
}

template <class Begin>
void RadosQueue::submit(std::uint64_t id, const ObjectId& object, Begin&& start) {
  begin();
  const std::uint64_t ticket = next_ticket_++;
  try {
    PendingOperation& pending = under_way_[ticket];
    pending = {id, std::make_unique<RadosOperation>(store_->pool_of(object), [this, ticket] {
                 post([this, ticket] { settle(ticket); });
               })};
    start(*pending.operation);
  } catch (...) {
    under_way_.erase(ticket);
    finish(id, std::current_exception());
  }
}

void RadosQueue::settle(std::uint64_t ticket) noexcept {
  const auto found = under_way_.find(ticket);
  const PendingOperation pending = std::move(found->second);
  under_way_.erase(found);
  try {
    pending.operation->check();
    finish(pending.id);
  } catch (...) {
    finish(pending.id, std::current_exception());
  }
}

void RadosQueue::submit_fetch(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                              std::span<const FetchItem> items) {
  submit(id, object, [&](RadosOperation& operation) {
    check_fetch(store_->uri(), store_->traits(), object, dkey, items);
    operation.fetch(object, dkey, items);
  });
}

void RadosQueue::submit_update(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                               std::span<const UpdateItem> items) {
  submit(id, object, [&](RadosOperation& operation) {
    check_update(store_->uri(), store_->traits(), object, dkey, items);
    operation.update(object, dkey, items);
  });
}

}  // namespace colonnade::io
