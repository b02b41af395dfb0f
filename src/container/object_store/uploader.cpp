// Batches and the threads that run them; see uploader.h.
#include "container/object_store/uploader.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace colonnade::container {
namespace {

// Enough concurrent batches for any store: each has as many operations in flight as the store can use.
constexpr std::size_t most_threads = 8;

}  // namespace

ObjectUploader::ObjectUploader(std::shared_ptr<io::ObjectStore> store)
    : store_(std::move(store)), depth_(std::max(store_->traits().concurrency, 1U)) {}

ObjectUploader::~ObjectUploader() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ObjectUploader::check_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

void ObjectUploader::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
}

std::unique_ptr<io::ObjectQueue> ObjectUploader::take_queue() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_queues_.empty()) {
      std::unique_ptr<io::ObjectQueue> queue = std::move(idle_queues_.back());
      idle_queues_.pop_back();
      return queue;
    }
  }
  return store_->open_queue(depth_);
}

// After a failed operation the queue is destroyed, which cancels the others.
void ObjectUploader::perform(const std::vector<ObjectUpdate>& updates) {
  std::unique_ptr<io::ObjectQueue> queue = take_queue();
  for (std::size_t next = 0; next < updates.size() || queue->in_flight() > 0;) {
    if (next < updates.size() && queue->in_flight() < depth_) {
      const ObjectUpdate& update = updates[next];
      queue->submit_update(next++, update.object, update.dkey, update.items);
    } else {
      queue->wait_for_some();
    }
  }
  const std::lock_guard lock(mutex_);
  idle_queues_.push_back(std::move(queue));
}

void ObjectUploader::run(const std::vector<ObjectUpdate>& updates) {
  {
    const std::lock_guard lock(mutex_);
    check_failure();
  }
  if (updates.empty()) return;
  try {
    perform(updates);
  } catch (...) {
    lost_ = true;  // the caller's memory is the caller's
    fail(std::current_exception());
    throw;
  }
}

// Updates that were done are done again: they write the same values.
void ObjectUploader::perform_or_keep(Batches batch) noexcept {
  std::exception_ptr failure;
  try {
    perform(batch.front().updates);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) keep(std::move(batch), std::move(failure));
}

void ObjectUploader::keep(Batches batch, std::exception_ptr failure) noexcept {
  if (batch.front().memory) batch.front().memory->kept();
  const std::lock_guard lock(mutex_);
  failed_.splice(failed_.end(), batch);
  if (!failure_) failure_ = std::move(failure);
}

void ObjectUploader::begin(std::vector<ObjectUpdate> updates, std::shared_ptr<PageBytes> memory) {
  Batches batch;
  batch.push_back({std::move(updates), std::move(memory)});
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || under_way_ < most_threads; });
  check_failure();
  if (batch.front().updates.empty()) return;
  if (under_way_ == threads_.size() && !start_thread()) {
    lock.unlock();
    return perform_or_keep(std::move(batch));
  }
  waiting_.splice(waiting_.end(), batch);
  ++under_way_;
  lock.unlock();
  changed_.notify_all();
}

// Returns false if there cannot be even one thread; fewer than allowed suffice.
bool ObjectUploader::start_thread() {
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::exception&) {
    return !threads_.empty();
  }
  return true;
}

void ObjectUploader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Batches batch;
    batch.splice(batch.end(), waiting_, waiting_.begin());
    const bool in_vain = failure_ != nullptr;
    lock.unlock();
    in_vain ? keep(std::move(batch), nullptr) : perform_or_keep(std::move(batch));
    lock.lock();
    --under_way_;
    changed_.notify_all();
  }
}

void ObjectUploader::retry(bool waits) {
  std::unique_lock lock(mutex_);
  if (!failure_ && !waits) return;
  changed_.wait(lock, [&] { return under_way_ == 0; });
  if (!failure_ || lost_) return;
  failure_ = nullptr;
  Batches again = std::exchange(failed_, {});
  if (!again.empty() && threads_.empty() && !start_thread()) {
    lock.unlock();
    while (!again.empty()) {
      Batches batch;
      batch.splice(batch.end(), again, again.begin());
      perform_or_keep(std::move(batch));
    }
    return;
  }
  under_way_ += again.size();
  waiting_.splice(waiting_.end(), again);
  lock.unlock();
  changed_.notify_all();
}

void ObjectUploader::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return under_way_ == 0; });
  check_failure();
}

}  // namespace colonnade::container
