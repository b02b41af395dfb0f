// See filler.h.
#include "cache/filler.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>

#include "cache/budget.h"
#include "codec/compression.h"

namespace colonnade::cache {
namespace {

// Threads that fill the cache yield to the application. A thread keeps its niceness, so those that also read
// from the home do not take it.
constexpr int niceness = 10;

void be_nice() noexcept {
  thread_local bool done = false;
  if (done) return;
  done = true;
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), niceness));
}

}  // namespace

bool Filler::add(const std::shared_ptr<Contents>& to, const Page& page,
                 const std::vector<std::uint64_t>& ends) {
  WindowRef window;
  const std::size_t at = page.number - page.window.first;
  {
    const std::lock_guard lock(mutex_);
    auto found = open_.find({to.get(), page.column, page.window});
    if (found == open_.end()) {
      if (memory_ + ends.back() > most_memory) return false;
      auto fresh = std::make_shared<Window>();
      *fresh = {.to = to,
                .column = page.column,
                .key = page.window,
                .ends = ends,
                .has = std::vector<bool>(ends.size()),
                .is_summed = std::vector<bool>(ends.size()),
                .missing = ends.size()};
      if (!free_.empty()) {
        fresh->bytes = std::move(free_.back());
        free_.pop_back();
      }
      fresh->bytes.resize(0);
      fresh->bytes.resize(ends.back());
      found = open_.emplace(Key{to.get(), page.column, page.window}, std::move(fresh)).first;
      memory_ += ends.back();
    }
    window = found->second;
    if (window->has[at]) return true;
    window->has[at] = true;
    window->is_summed[at] = page.sum != nullptr;
    ++window->being_copied;
  }
  std::byte* const end = window->bytes.data() + ends[at];
  std::memcpy(end - sum_size - page.content.size(), page.content.data(), page.content.size());
  if (page.sum != nullptr) store_le(end - sum_size, *page.sum);
  const std::lock_guard lock(mutex_);
  --window->being_copied;
  if (--window->missing > 0) return true;
  open_.erase({to.get(), page.column, page.window});
  ready_.push_back(std::move(window));
  write_more();
  return true;
}

void Filler::finish(const std::shared_ptr<Contents>& of) {
  const std::lock_guard lock(mutex_);
  close_windows(of.get());
  used_.push_back(of);
  write_more();
}

// The lock is held. Null: of all data sets.
void Filler::close_windows(const Contents* of) {
  for (auto at = open_.begin(); at != open_.end();) {
    if ((of == nullptr || at->second->to.get() == of) && at->second->being_copied == 0) {
      ready_.push_back(std::move(at->second));
      at = open_.erase(at);
    } else {
      ++at;
    }
  }
}

bool Filler::wait(Home::Clock::time_point end) {
  constexpr std::chrono::milliseconds without_progress(2000);
  std::vector<std::shared_ptr<Contents>> in_use = Contents::all_of(*home_);
  std::unique_lock lock(mutex_);
  close_windows(nullptr);
  std::ranges::move(in_use, std::back_inserter(used_));
  write_more();
  while (writers_ > 0) {
    const std::uint64_t before = written_;
    const Home::Clock::time_point look = std::min(end, Home::Clock::now() + without_progress);
    if (changed_.wait_until(lock, look, [&] { return writers_ == 0 || written_ != before; })) continue;
    return false;
  }
  return true;
}

// The lock is held.
void Filler::write_more() {
  const unsigned most = home_->is_near() ? 1 : 8;
  if (writers_ == most || ready_.size() + used_.size() <= writers_) return;
  ++writers_;
  home_->run([this] { write_all(); });
}

void Filler::write_all() noexcept {
  if (home_->is_near()) be_nice();
  std::unique_lock lock(mutex_);
  while (!ready_.empty() || !used_.empty()) {
    WindowRef window;
    std::shared_ptr<Contents> used;
    if (!ready_.empty()) {
      window = std::move(ready_.front());
      ready_.pop_front();
    } else {
      used = std::move(used_.back());
      used_.pop_back();
    }
    lock.unlock();
    try {
      if (window != nullptr) {
        write(*window);
        if (const auto store = home_->store()) window->to->write_uses_now_and_then(*store);
      } else if (const std::shared_ptr<io::ObjectStore> store = home_->store()) {
        used->write_uses(*store);
      }
    } catch (const std::exception& error) {
      home_->note_failure(error.what());
    }
    used.reset();
    lock.lock();
    ++written_;
    if (window != nullptr) release(*window);
    changed_.notify_all();
    lock.unlock();
    window.reset();
    lock.lock();
  }
  --writers_;
  changed_.notify_all();
}

// The lock is held.
void Filler::release(Window& window) {
  constexpr std::size_t most_free = 32;
  memory_ -= window.ends.back();
  if (free_.size() < most_free && window.ends.back() <= 2 * window_size)
    free_.push_back(std::move(window.bytes));
}

void Filler::write(Window& window) {
  for (std::size_t first = 0; first < window.has.size();) {
    std::size_t end = first;
    while (end < window.has.size() && window.has[end]) ++end;
    if (end > first) write_run(window, first, end - first);
    first = end + 1;
  }
}

void Filler::write_run(Window& window, std::size_t first, std::size_t count) {
  const std::uint64_t number = window.to->number();
  const auto begin_of = [&](std::size_t page) { return page == 0 ? 0 : window.ends[page - 1]; };
  for (std::size_t page = first; page < first + count; ++page) {
    if (window.is_summed[page]) continue;
    std::byte* const sum = window.bytes.data() + window.ends[page] - sum_size;
    const std::uint64_t begin = begin_of(page);
    const ByteSpan content{window.bytes.data() + begin, window.ends[page] - sum_size - begin};
    store_le(sum, codec::xxh3(content) ^
                      seal_for(number, window.column, window.key.cluster, window.key.first + page));
  }
  const std::uint64_t begin = begin_of(first);
  const ByteSpan bytes{window.bytes.data() + begin, window.ends[first + count - 1] - begin};
  const RunKey run = RunKey{window.key.cluster, window.key.first + static_cast<std::uint32_t>(first),
                            static_cast<std::uint32_t>(count)}
                         .with_size(bytes.size());
  const std::shared_ptr<io::ObjectStore> store = home_->store();
  if (store == nullptr || !home_->budget().make_room(*store, run.size())) return;
  const std::shared_ptr<void> reserved(nullptr, [&](void*) { home_->budget().written(run.size()); });
  window.to->write_identity(*store);
  const io::ValueAddress address = pages_value(number, window.column, run);
  const io::UpdateItem item{address.akey, {bytes}};
  store->update(address.object, address.dkey, {&item, 1});
  window.to->added(window.column, run);
}

}  // namespace colonnade::cache
