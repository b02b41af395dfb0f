// See filler.h.
#include "cache/filler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/warning.h"
#include "cache/budget.h"
#include "codec/compression.h"

namespace colonnade::cache {
namespace {

constexpr std::chrono::seconds time_refused(30);
constexpr int quiet_niceness = 10;

}  // namespace

// Null if there is no room. The lock is held.
Filler::WindowRef Filler::window_for(const std::shared_ptr<Contents>& to, const VerifiedPage& page,
                                     const std::vector<std::uint64_t>& ends) {
  const auto found = open_.find({to.get(), page.column, page.window});
  if (found != open_.end()) return found->second;
  const bool is_noted = page.origin != nullptr;
  if (is_noted ? !may_note(page.origin.get(), ends.back()) : memory_ + ends.back() > most_memory)
    return nullptr;
  auto window = std::make_shared<Window>();
  *window = {.to = to,
             .column = page.column,
             .key = page.window,
             .claim = page.claim,
             .ends = ends,
             .has = std::vector<bool>(ends.size()),
             .is_summed = std::vector<bool>(ends.size()),
             .missing = ends.size(),
             .origin = page.origin,
             .sums_are_behind = page.sum_is_behind};
  if (is_noted) {
    window->offsets.resize(ends.size());
    window->sums.resize(ends.size());
    ++origins_[page.origin.get()];
  } else {
    take_memory(*window);
  }
  open_.emplace(std::tuple(to.get(), page.column, page.window), window);
  (is_noted ? noted_bytes_ : memory_) += ends.back();
  return window;
}

// The lock is held.
bool Filler::may_note(const io::RandomAccessFile* origin, std::uint64_t bytes) const {
  return noted_bytes_ + bytes <= most_noted && (origins_.size() < most_origins || origins_.contains(origin));
}

// The lock is held.
void Filler::take_memory(Window& window) {
  if (!free_.empty()) {
    window.bytes = std::move(free_.back());
    free_.pop_back();
  }
  window.bytes.resize(0);
  window.bytes.resize(window.ends.back());
}

bool Filler::add(const std::shared_ptr<Contents>& to, const VerifiedPage& page,
                 const std::vector<std::uint64_t>& ends) {
  WindowRef window;
  const std::size_t at = page.number - page.window.first;
  {
    const std::lock_guard lock(mutex_);
    if (Home::Clock::now() < refused_until_) return false;
    window = window_for(to, page, ends);
    if (window == nullptr) return false;
    if (window->has[at]) return true;
    // Two readers may read the same origin in different ways.
    if (window->origin != nullptr && page.origin == nullptr) return false;
    window->has[at] = true;
    window->is_summed[at] = page.sum != nullptr;
    if (window->origin != nullptr) {
      window->offsets[at] = page.offset;
      window->sums[at] = *page.sum;
      if (--window->missing == 0) complete(window);
      return true;
    }
    ++window->being_copied;
  }
  std::byte* const end = window->bytes.data() + ends[at];
  std::memcpy(end - sum_size - page.content.size(), page.content.data(), page.content.size());
  if (page.sum != nullptr) store_le(end - sum_size, *page.sum);
  const std::lock_guard lock(mutex_);
  --window->being_copied;
  if (--window->missing == 0) complete(window);
  return true;
}

// The lock is held. What cannot be queued is left to close_windows().
void Filler::complete(const WindowRef& window) {
  (window->origin != nullptr ? noted_ : ready_).push_back(window);
  open_.erase({window->to.get(), window->column, window->key});
  write_more();
}

void Filler::finish(const std::shared_ptr<Contents>& of, Claims::Reader reader) {
  const std::lock_guard lock(mutex_);
  close_windows(of.get());
  finished_.push_back({of, reader});
  write_more();
}

// The lock is held. Null: for all data sets.
void Filler::close_windows(const Contents* of) {
  for (auto at = open_.begin(); at != open_.end();) {
    if ((of == nullptr || at->second->to.get() == of) && at->second->being_copied == 0) {
      (at->second->origin != nullptr ? noted_ : ready_).push_back(std::move(at->second));
      at = open_.erase(at);
    } else {
      ++at;
    }
  }
}

bool Filler::wait(Home::Clock::time_point end) {
  const auto without_progress = (end - Home::Clock::now()) / 2;  // one write to a busy disk takes seconds
  std::vector<std::shared_ptr<Contents>> in_use = Contents::all_of(*home_);
  std::unique_lock lock(mutex_);
  close_windows(nullptr);
  for (std::shared_ptr<Contents>& contents : in_use) finished_.push_back({std::move(contents)});
  ++waiting_;
  write_more();
  bool is_written = true;
  while (is_written && writers_ + quiet_ > 0) {
    const std::uint64_t before = written_;
    const Home::Clock::time_point look = std::min(end, Home::Clock::now() + without_progress);
    is_written =
        changed_.wait_until(lock, look, [&] { return writers_ + quiet_ == 0 || written_ != before; });
  }
  --waiting_;
  write_more();
  return is_written;
}

// The lock is held. Without memory for it, the next call does it.
void Filler::write_more() noexcept {
  const unsigned most = home_->is_near() ? 1 : 8;
  const std::size_t work = ready_.size() + finished_.size() + (waiting_ > 0 ? noted_.size() : 0);
  try {
    if (writers_ < most && work > writers_) {
      home_->run([this] { write_all(false); });
      ++writers_;
    }
    if (quiet_ == 0 && waiting_ == 0 && !noted_.empty()) {
      home_->run_apart([this] { write_all(true); }, quiet_niceness);
      ++quiet_;
    }
  } catch (const std::exception&) {
  }
}

// The next window to write; without one, everything is written and the budget must be checked. False: nothing
// is left to do. The lock is held.
bool Filler::take_work(bool is_quiet, WindowRef& window, Finished& finished) {
  std::deque<WindowRef>* const windows = !is_quiet && !ready_.empty()    ? &ready_
                                         : is_quiet || finished_.empty() ? &noted_
                                                                         : nullptr;
  if (windows == nullptr) {
    finished = std::move(finished_.back());
    finished_.pop_back();
    needs_settling_ = true;
    return true;
  }
  if (!windows->empty() && (is_quiet || waiting_ > 0 || windows == &ready_)) {
    window = std::move(windows->front());
    windows->pop_front();
    return true;
  }
  const bool is_all = ready_.empty() && finished_.empty() && noted_.empty() && writers_ + quiet_ == 1;
  return is_all && std::exchange(needs_settling_, false);
}

void Filler::write_all(bool is_quiet) noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    WindowRef window;
    Finished finished;
    if (!take_work(is_quiet, window, finished)) break;
    lock.unlock();
    carry_out(window.get(), finished);
    finished = {};
    lock.lock();
    ++written_;
    if (window != nullptr) release(*window);
    changed_.notify_all();
    lock.unlock();
    window.reset();
    lock.lock();
  }
  --(is_quiet ? quiet_ : writers_);
  changed_.notify_all();
}

std::string Filler::refusal() {
  const std::lock_guard lock(mutex_);
  return Home::Clock::now() < refused_until_ ? refusal_ : std::string();
}

// To be called in a handler. A home that is full or read-only is read on.
void Filler::note_failure(io::ObjectStore* store) noexcept {
  const std::exception_ptr failure = std::current_exception();
  try {
    if (store == nullptr) std::rethrow_exception(failure);
    if (store->is_gone()) return home_->forget(*store);
    store->get({register_object, identity_key, 0});
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      std::unique_lock lock(mutex_);
      refusal_ = error.what();
      refused_until_ = Home::Clock::now() + time_refused;
      const bool is_first = !std::exchange(has_warned_, true);
      lock.unlock();
      if (is_first)
        warn(fmt::format("nothing is added to the cache {} for a while: {}", home_->uri(), error.what()));
    }
  } catch (...) {
    home_->note_failure(failure);
  }
}

// Without a window: everything has been written.
void Filler::carry_out(Window* window, const Finished& finished) noexcept {
  std::shared_ptr<io::ObjectStore> store;
  try {
    if (refusal().empty()) store = home_->store();
    if (store != nullptr && window != nullptr) {
      write(*store, *window);
      window->to->write_uses_now_and_then(*store);
    } else if (store != nullptr && finished.contents != nullptr) {
      finished.contents->write_uses(*store);
    } else if (store != nullptr) {
      home_->budget().settle(*store);
    }
  } catch (...) {
    note_failure(store.get());
  }
  if (window != nullptr)
    home_->claims().release(window->claim);
  else if (finished.reader != Claims::Reader::none)
    home_->claims().release_all(finished.reader);
}

// The lock is held.
void Filler::release(Window& window) noexcept {
  (window.origin != nullptr ? noted_bytes_ : memory_) -= window.ends.back();
  const auto origin = origins_.find(window.origin.get());
  if (origin != origins_.end() && --origin->second == 0) origins_.erase(origin);
  if (free_.size() < free_.capacity() && window.ends.back() <= 2 * window_size)
    free_.push_back(std::move(window.bytes));
}

void Filler::write(io::ObjectStore& store, Window& window) {
  if (window.origin != nullptr && !read_again(window)) return;
  for (std::size_t first = 0; first < window.has.size();) {
    std::size_t end = first;
    while (end < window.has.size() && window.has[end]) ++end;
    if (end > first) write_run(store, window, first, end - first);
    first = end + 1;
  }
}

// Pages of which only the location is recorded. False: they have changed.
bool Filler::read_again(Window& window) {
  {
    const std::lock_guard lock(mutex_);
    take_memory(window);
  }
  std::vector<io::ReadRequest> requests;
  const auto begin_of = [&](std::size_t page) { return page == 0 ? 0 : window.ends[page - 1]; };
  for (std::size_t page = 0; page < window.has.size(); ++page) {
    if (!window.has[page]) continue;
    // If checksums follow their pages, as they will here, adjacent pages need one request.
    const std::uint64_t size = window.ends[page] - begin_of(page) - (window.sums_are_behind ? 0 : sum_size);
    const MutableByteSpan into = window.bytes.span().subspan(begin_of(page), size);
    const bool goes_on = !requests.empty() &&
                         requests.back().into.data() + requests.back().into.size() == into.data() &&
                         requests.back().offset + requests.back().into.size() == window.offsets[page];
    if (goes_on)
      requests.back().into = {requests.back().into.data(), requests.back().into.size() + size};
    else
      requests.push_back({window.offsets[page], into});
  }
  try {
    window.origin->read_vector(requests);
  } catch (const Error&) {
    return false;
  }
  const std::uint64_t number = window.to->number();
  for (std::size_t page = 0; page < window.has.size(); ++page) {
    if (!window.has[page]) continue;
    const MutableByteSpan whole =
        window.bytes.span().subspan(begin_of(page), window.ends[page] - begin_of(page));
    const ByteSpan content = whole.first(whole.size() - sum_size);
    const std::uint64_t seal = seal_for(number, window.column, window.key.cluster, window.key.first + page);
    if ((codec::xxh3(content) ^ seal) != window.sums[page]) return false;
    store_le(whole.data() + content.size(), window.sums[page]);
  }
  return true;
}

void Filler::write_run(io::ObjectStore& store, Window& window, std::size_t first, std::size_t count) {
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
  if (!home_->budget().make_room(store, run.size())) return;
  const std::shared_ptr<void> reserved(nullptr, [&](void*) { home_->budget().written(run.size()); });
  window.to->write_identity(store);
  const io::ValueAddress address = pages_value(number, window.column, run);
  const io::UpdateItem item{address.akey, {bytes}};
  store.update(address.object, address.dkey, {&item, 1});
  window.to->added(window.column, run);
}

}  // namespace colonnade::cache
