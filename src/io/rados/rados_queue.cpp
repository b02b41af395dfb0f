// See rados_queue.h.
#include "io/rados/rados_queue.h"

#include <algorithm>
#include <utility>

#include "io/completion_queue.h"
#include "io/object_checks.h"
#include "io/rados/rados_store.h"

namespace colonnade::io {

RadosQueue::RadosQueue(const RadosStore& store, unsigned depth)
    : store_(&store), depth_(std::max(depth, 1u)), finished_(std::make_shared<RadosFinished>()) {}

RadosQueue::~RadosQueue() {
  if (!store_->is_usable()) {
    // In a child process nobody completes what is under way, nor may it be given back.
    for (auto& [batch, entry] : under_way_) {
      [[maybe_unused]] const auto* of_parent = entry.operation.release();
    }
    return;
  }
  for (auto& [batch, entry] : under_way_) entry.operation->batch().cancel();
  while (!under_way_.empty()) under_way_.erase(finished_->take(true));
}

template <class Begin>
void RadosQueue::submit(std::uint64_t id, const ObjectId& object, Begin&& begin) {
  store_->require_usable();
  while (under_way_.size() >= depth_) reap(true);
  auto operation = std::make_unique<RadosOperation>(store_->pool_of(object), finished_);
  const RadosBatch* batch = &operation->batch();
  Entry& entry = under_way_[batch];
  entry = {id, std::move(operation)};
  try {
    begin(*entry.operation);
  } catch (...) {
    under_way_.erase(batch);
    done_.push_back({id, std::current_exception()});
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

std::size_t RadosQueue::wait(std::span<Completion> completions, bool block) {
  store_->require_usable();
  if (completions.empty()) return 0;
  while (reap(false)) continue;
  if (block && done_.empty() && !under_way_.empty()) reap(true);
  return move_out(done_, completions);
}

bool RadosQueue::reap(bool block) {
  const RadosBatch* batch = finished_->take(block);
  if (batch == nullptr) return false;
  const auto found = under_way_.find(batch);
  Completion completion{found->second.id, nullptr};
  try {
    found->second.operation->check();
  } catch (...) {
    completion.failure = std::current_exception();
  }
  done_.push_back(std::move(completion));
  under_way_.erase(found);
  return true;
}

}  // namespace colonnade::io
