// See completion_queue.h.
#include "io/completion_queue.h"

#include <algorithm>
#include <utility>

#include "base/interruption.h"
#include "colonnade/error.h"

namespace colonnade::io {
namespace {

template <class List>
void make_room(List& list, std::size_t size) {
  if (list.capacity() < size) list.reserve(2 * size);
}

}  // namespace

void CompletionQueue::fail_in_child() const {
  throw Error(ErrorKind::usage, "the queue was opened before this process was forked",
              "open it in the child");
}

void CompletionQueue::begin(std::size_t count) {
  check_process();
  std::unique_lock lock(mutex_);
  begin(lock, count);
}

void CompletionQueue::begin(std::unique_lock<std::mutex>& lock, std::size_t count) {
  while (running_ >= depth_) {
    lock.unlock();
    progress(true);
    lock.lock();
    run_posted(lock);
  }
  make_room(done_, done_.size() + running_ + count);
  make_room(posted_, posted_.size() + running_ + count);
  running_ += count;
  in_flight_ += count;
}

void CompletionQueue::withdraw() noexcept {
  --in_flight_;
  const std::lock_guard lock(mutex_);
  --running_;
}

void CompletionQueue::add_done(std::uint64_t id, std::exception_ptr failure) {
  check_process();
  const std::lock_guard lock(mutex_);
  make_room(done_, done_.size() + running_ + 1);
  done_.push_back({id, std::move(failure), now()});
  ++in_flight_;
}

void CompletionQueue::finish(std::uint64_t id, std::exception_ptr failure, Time when) noexcept {
  finish(locked(), id, std::move(failure), when);
}

void CompletionQueue::finish(const std::unique_lock<std::mutex>& /*lock*/, std::uint64_t id,
                             std::exception_ptr failure, Time when) noexcept {
  // Not now(), which is virtual: the owner's thread may be destroying the derived class.
  if (when == Time{}) when = std::chrono::steady_clock::now();
  --running_;
  done_.push_back({id, std::move(failure), when});
  tell_owner();
}

void CompletionQueue::post(std::function<void()> work) noexcept {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(work));
  tell_owner();
}

// Notifies under the lock: the woken owner may destroy the queue.
void CompletionQueue::tell_owner() noexcept {
  ++told_;
  if (owner_sleeps_) arrives_.notify_one();
}

void CompletionQueue::progress(bool block) {
  if (!block) return;
  std::unique_lock lock(mutex_);
  sleep(lock);
}

void CompletionQueue::sleep(std::unique_lock<std::mutex>& lock) {
  owner_sleeps_ = true;
  const auto is_told = [this] { return told_ != seen_; };
  if (InterruptibleWaits::are_here())
    Interruption::wait(arrives_, lock, is_told);
  else
    arrives_.wait(lock, is_told);
  owner_sleeps_ = false;
  seen_ = told_;
}

void CompletionQueue::run_posted(std::unique_lock<std::mutex>& lock) {
  if (posted_.empty()) return;
  std::vector<std::function<void()>> works;
  make_room(works, running_);
  works.swap(posted_);
  lock.unlock();
  for (const std::function<void()>& work : works) work();
  lock.lock();
}

std::size_t CompletionQueue::wait(std::span<Completion> completions, bool block) {
  check_process();
  if (in_flight_ == 0 || completions.empty()) return 0;
  progress(false);
  while (true) {
    std::unique_lock lock(mutex_);
    run_posted(lock);
    const std::size_t count = std::min(completions.size(), done_.size());
    const auto end = done_.begin() + static_cast<std::ptrdiff_t>(count);
    std::move(done_.begin(), end, completions.begin());
    done_.erase(done_.begin(), end);
    in_flight_ -= count;
    if (count > 0 || !block) return count;
    lock.unlock();
    progress(true);
  }
}

void CompletionQueue::wait_for_some() {
  const InterruptibleWaits here;
  std::array<Completion, 16> some;
  const std::size_t count = wait(some);
  for (const Completion& completion : std::span(some).first(count))
    if (completion.failure) std::rethrow_exception(completion.failure);
}

void CompletionQueue::wait_for_all() {
  while (in_flight_ > 0) wait_for_some();
}

}  // namespace colonnade::io
