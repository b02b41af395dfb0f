// See write_staging.h. Code that waits for `changed_` checks everything again afterwards: while the lock was
// released, windows and blocks may have come and gone.
#include "io/local/write_staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>

#include "base/huge_pages.h"
#include "base/warning.h"
#include "io/local/local_system.h"

namespace colonnade::io {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr auto most_offset = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

std::uint64_t round_down(std::uint64_t offset) noexcept {
  return offset / WriteStaging::block_size * WriteStaging::block_size;
}

std::uint64_t window_of(std::uint64_t offset) noexcept {
  return offset / WriteStaging::window_size;
}

std::size_t block_in_window(std::uint64_t offset) noexcept {
  return static_cast<std::size_t>(offset % WriteStaging::window_size / WriteStaging::block_size);
}

}  // namespace

// The bytes of one write, consumed from the front.
class WriteStaging::Parts {
 public:
  explicit Parts(std::span<const ByteSpan> parts) : parts_(parts) {}

  void take(std::byte* into, std::size_t count) {
    while (count > 0) {
      const ByteSpan rest = parts_.front().subspan(taken_);
      const std::size_t step = std::min(count, rest.size());
      if (step > 0) std::memcpy(into, rest.data(), step);
      into += step;
      count -= step;
      taken_ += step;
      if (taken_ == parts_.front().size()) {
        parts_ = parts_.subspan(1);
        taken_ = 0;
      }
    }
  }

 private:
  std::span<const ByteSpan> parts_;
  std::size_t taken_ = 0;  // of the first part
};

WriteStaging::WriteStaging(const WriteCalls& calls, int file, std::string uri, std::uint64_t size,
                           const Limits& limits)
    : calls_(calls), file_(file), uri_(std::move(uri)), limits_(limits), size_(size), on_file_(size) {}

WriteStaging::~WriteStaging() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    to_write_.clear();
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::uint64_t WriteStaging::size() const {
  const Lock lock(mutex_);
  return size_;
}

// ---- Taking bytes

void WriteStaging::write(std::uint64_t offset, std::span<const ByteSpan> parts) {
  std::uint64_t end = offset;
  for (const ByteSpan part : parts) {
    if (part.size() > most_offset - std::min(end, most_offset))
      fail_system(uri_, fmt::format("write {} bytes", part.size()), EFBIG, offset);
    end += part.size();
  }
  Parts from(parts);
  Lock lock(mutex_);
  throw_failure();
  if (end > offset) size_ = std::max(size_, end);
  while (offset < end) {
    const std::uint64_t block = round_down(offset);
    std::uint64_t next = std::min(end, block + block_size);
    if (offset == block && next == block + block_size) {
      next = std::min(round_down(end), (window_of(offset) + 1) * window_size);
      write_whole(lock, offset, static_cast<std::size_t>(next - offset), from);
    } else {
      write_edge(lock, offset, static_cast<std::size_t>(next - offset), from);
    }
    offset = next;
  }
}

void WriteStaging::write_whole(Lock& lock, std::uint64_t offset, std::size_t count, Parts& from) {
  Window* window = nullptr;
  do {
    while (wait_for_busy(lock, offset, offset + count)) {
    }
    window = try_window(lock, window_of(offset));
  } while (window == nullptr);
  blocks_.erase(blocks_.lower_bound(offset), blocks_.lower_bound(offset + count));
  window->last_use = ++clock_;
  ++window->fillers;
  lock.unlock();
  from.take(window->memory.data() + offset % window_size, count);
  lock.lock();
  --window->fillers;
  const std::size_t first = block_in_window(offset);
  for (std::size_t i = 0; i < count / block_size; ++i) window->full.set(first + i);
  submit_if_full(*window);
  changed_.notify_all();
}

void WriteStaging::write_edge(Lock& lock, std::uint64_t offset, std::size_t count, Parts& from) {
  if (write_edge_to_window(lock, offset, count, from)) return;
  const std::uint64_t begin = round_down(offset);
  auto block = blocks_.find(begin);
  if (block == blocks_.end()) {
    AlignedBuffer memory(block_size, block_size);
    std::memset(memory.data(), 0, block_size);
    block = blocks_.try_emplace(begin).first;
    block->second.memory = std::move(memory);
  }
  OpenBlock& open = block->second;
  open.last_use = ++clock_;
  const auto first = static_cast<std::size_t>(offset - begin);
  from.take(open.memory.data() + first, count);
  for (std::size_t i = 0; i < count; ++i) open.given.set(first + i);
  if (open.given.all()) promote(lock, begin);
}

// Returns true if done. Otherwise the block is in no window and not being written, and there is room for it.
bool WriteStaging::write_edge_to_window(Lock& lock, std::uint64_t offset, std::size_t count, Parts& from) {
  while (true) {
    const auto found = resident_.find(window_of(offset));
    if (found != resident_.end() && found->second->full.test(block_in_window(offset))) {
      Window& window = *found->second;
      if (window.in_flight) {
        wait(lock);
        continue;
      }
      from.take(window.memory.data() + offset % window_size, count);
      window.last_use = ++clock_;
      return true;
    }
    const auto block = blocks_.find(round_down(offset));
    if (block == blocks_.end() ? make_room_for_block(lock) : wait_for_busy(lock, offset, offset + count))
      continue;
    return false;
  }
}

// Returns true if the lock was released.
bool WriteStaging::wait_for_busy(Lock& lock, std::uint64_t offset, std::uint64_t end) {
  for (auto block = blocks_.lower_bound(round_down(offset)); block != blocks_.end() && block->first < end;
       ++block)
    if (block->second.busy) {
      wait(lock);
      return true;
    }
  return false;
}

// Moves a complete block to its window, unless another thread has done it meanwhile.
void WriteStaging::promote(Lock& lock, std::uint64_t offset) {
  while (true) {
    Window* const window = try_window(lock, window_of(offset));
    const auto block = blocks_.find(offset);
    const bool ready = block != blocks_.end() && !block->second.busy && block->second.given.all();
    if (window == nullptr && ready) continue;
    if (!ready) return;
    std::memcpy(window->memory.data() + offset % window_size, block->second.memory.data(), block_size);
    blocks_.erase(block);
    window->full.set(block_in_window(offset));
    window->last_use = ++clock_;
    submit_if_full(*window);
    return;
  }
}

// ---- Windows

// The window to copy into; null if the lock was released to wait for one.
WriteStaging::Window* WriteStaging::try_window(Lock& lock, std::uint64_t index) {
  const auto found = resident_.find(index);
  if (found != resident_.end() && !found->second->in_flight) return found->second;
  if (found == resident_.end()) {
    if (free_.empty() && windows_.size() < limits_.windows) add_window();
    if (!free_.empty()) return &adopt_free_window(index);
    evict();
  }
  wait(lock);
  return nullptr;
}

void WriteStaging::add_window() {
  auto window = std::make_unique<Window>();
  window->memory = AlignedBuffer(window_size, huge_page);
  prefer_huge_pages(window->memory.data(), window_size);  // fewer for the kernel to pin per request
  free_.reserve(windows_.size() + 1);                     // so that a written window always returns
  windows_.push_back(std::move(window));
  free_.push_back(windows_.back().get());
}

WriteStaging::Window& WriteStaging::adopt_free_window(std::uint64_t index) {
  Window& window = *free_.back();
  resident_.emplace(index, &window);
  free_.pop_back();
  window.index = index;
  window.full.reset();
  window.in_flight = false;
  window.last_use = window.adopted = ++clock_;
  return window;
}

// Starts writing the least recently used window, unless more than half of all are in flight.
void WriteStaging::evict() {
  Window* oldest = nullptr;
  std::size_t in_flight = 0;
  for (const auto& [index, window] : resident_) {
    if (window->in_flight)
      ++in_flight;
    else if (window->fillers == 0 && (oldest == nullptr || window->last_use < oldest->last_use))
      oldest = window;
  }
  if (oldest != nullptr && in_flight <= limits_.windows / 2) submit(*oldest);
}

void WriteStaging::submit_if_full(Window& window) {
  if (window.fillers == 0 && !window.in_flight && window.full.all()) submit(window);
}

void WriteStaging::submit(Window& window) {
  to_write_.push_back(&window);
  window.in_flight = true;
  if (idle_threads_ < to_write_.size() && threads_.size() < limits_.threads) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::exception&) {
      // Fewer threads suffice; without any, the waiting thread writes.
    }
  }
  work_.notify_one();
}

void WriteStaging::work() {
  Lock lock(mutex_);
  while (true) {
    ++idle_threads_;
    work_.wait(lock, [this] { return stopping_ || can_write_next(); });
    --idle_threads_;
    if (stopping_) return;
    write_next(lock);
  }
}

// File systems let only one writer at a time extend a file; a second one would spin on their lock.
bool WriteStaging::can_write_next() const {
  return !to_write_.empty() && !(extending_ && window_end(*to_write_.front()) > on_file_);
}

void WriteStaging::write_next(Lock& lock) {
  Window& window = *to_write_.front();
  to_write_.pop_front();
  const bool extends = window_end(window) > on_file_;
  if (extends) {
    extending_ = true;
    grow_file(lock, window_end(window));
  }
  lock.unlock();
  const Written written = write_marked(window);
  lock.lock();
  note(written);
  resident_.erase(window.index);
  free_.push_back(&window);
  if (extends) {
    extending_ = false;
    work_.notify_all();
  }
  changed_.notify_all();
}

// Before a long write, the file gets its length first, so that windows are written in parallel. The length
// never exceeds the data: bytes behind the end of the file must not appear.
void WriteStaging::grow_file(Lock& lock, std::uint64_t end) {
  constexpr std::uint64_t worthwhile = 4 * window_size;
  const std::uint64_t size = round_down(size_);
  if (size < end + worthwhile) return;
  const std::uint64_t from = on_file_;
  lock.unlock();
  const bool grown =
      calls_.fallocate(file_, 0, static_cast<off_t>(from), static_cast<off_t>(size - from)) == 0;
  lock.lock();
  if (!grown) return;  // writing extends the file, or reports the error
  on_file_ = std::max(on_file_, size);
  work_.notify_all();
}

void WriteStaging::wait(Lock& lock) {
  if (threads_.empty() && !to_write_.empty()) return write_next(lock);
  changed_.wait(lock);
}

// ---- The file

WriteStaging::Written WriteStaging::write_marked(const Window& window) {
  Written all;
  for (std::size_t first = 0; first < blocks_per_window;) {
    if (!window.full.test(first)) {
      ++first;
      continue;
    }
    std::size_t last = first + 1;
    while (last < blocks_per_window && window.full.test(last)) ++last;
    const Written run = write_blocks(window.index * window_size + first * block_size,
                                     window.memory.data() + first * block_size, (last - first) * block_size);
    all.end = std::max(all.end, run.end);
    if (!all.failure) all.failure = run.failure;
    first = last;
  }
  return all;
}

WriteStaging::Written WriteStaging::write_blocks(std::uint64_t offset, const std::byte* from,
                                                 std::size_t count) {
  bool through_cache = false;
  Written written{.end = offset};
  while (count > 0) {
    const ssize_t done = calls_.pwrite(file_, from, count, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EINVAL && !through_cache) {
      through_cache = true;
      stop_direct();
      continue;
    }
    if (done <= 0) {
      written.failure = Failure{done < 0 ? errno : EIO, offset, count};
      break;
    }
    from += done;
    count -= static_cast<std::size_t>(done);
    offset += static_cast<std::uint64_t>(done);
    written.end = offset;
  }
  if (through_cache) resume_direct();
  if (!written.failure) wrote_ = true;
  return written;
}

// The file system refuses a request: an unaligned rest of one that was shortened, or all requests. Refused
// requests go through the page cache, in whole blocks as always.
void WriteStaging::stop_direct() {
  calls_.set_direct(file_, false);
  if (!wrote_ && !refused_.exchange(true))
    warn([&] {
      return fmt::format("{}: the file system refuses direct I/O; writing goes through the page cache", uri_);
    });
}

void WriteStaging::resume_direct() {
  if (!refused_) calls_.set_direct(file_, true);
}

// Reads whole blocks as far as the file has them; the rest becomes zeros.
std::optional<WriteStaging::Failure> WriteStaging::read_blocks(std::uint64_t offset, MutableByteSpan into) {
  while (!into.empty()) {
    const ssize_t done = calls_.pread(file_, into.data(), into.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return Failure{errno, offset, into.size()};
    offset += static_cast<std::uint64_t>(done);
    into = into.subspan(static_cast<std::size_t>(done));
    // A direct read continues only from a whole block; it ends within a block only at the end of the file.
    if (done == 0 || offset % block_size != 0) break;
  }
  if (!into.empty()) std::memset(into.data(), 0, into.size());
  return std::nullopt;
}

// ---- Open blocks

// Returns true if the lock was released.
bool WriteStaging::make_room_for_block(Lock& lock) {
  if (blocks_.size() < limits_.open_blocks) return false;
  auto oldest = blocks_.end();
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
    if (!block->second.busy && (oldest == blocks_.end() || block->second.last_use < oldest->second.last_use))
      oldest = block;
  if (oldest == blocks_.end()) {
    wait(lock);
    return true;
  }
  const bool dirty = oldest->second.given.any();
  if (dirty) write_open_block(lock, oldest);
  // The lock was held since the end of the write.
  blocks_.erase(oldest);
  return dirty;
}

// Afterwards the block is completely known, and is in the file unless that failed.
void WriteStaging::write_open_block(Lock& lock, OpenBlocks::iterator block) {
  const std::uint64_t offset = block->first;
  OpenBlock& open = block->second;
  AlignedBuffer before(open.known ? 0 : block_size, block_size);
  open.busy = true;
  lock.unlock();
  Written written;
  if (!open.known) written.failure = fill_up(offset, open, before.span());
  if (!written.failure) written = write_blocks(offset, open.memory.data(), block_size);
  lock.lock();
  note(written);
  open.known = true;
  open.given.reset();
  open.busy = false;
  changed_.notify_all();
}

// Reads the bytes that were not given from the file.
std::optional<WriteStaging::Failure> WriteStaging::fill_up(std::uint64_t offset, OpenBlock& block,
                                                           MutableByteSpan before) {
  if (const auto failure = read_blocks(offset, before)) return failure;
  for (std::size_t i = 0; i < block_size; ++i)
    if (!block.given.test(i)) block.memory.data()[i] = before[i];
  return std::nullopt;
}

// ---- Flushing, reading, truncating

void WriteStaging::flush() {
  Lock lock(mutex_);
  flush(lock);
}

// Open blocks before waiting for windows: a block completed meanwhile is then in a window.
void WriteStaging::flush(Lock& lock) {
  for (const auto& [index, window] : resident_)
    if (!window->in_flight && window->fillers == 0) submit(*window);
  std::vector<std::uint64_t> dirty;
  for (const auto& [offset, block] : blocks_)
    if (block.given.any()) dirty.push_back(offset);
  for (const std::uint64_t offset : dirty) {
    while (wait_for_busy(lock, offset, offset + 1)) {
    }
    const auto block = blocks_.find(offset);
    if (block != blocks_.end() && block->second.given.any()) write_open_block(lock, block);
  }
  write_windows(lock);
  cut_file_to_size();
  throw_failure();
}

// All current windows, but not those that other threads continue to fill.
void WriteStaging::write_windows(Lock& lock) {
  const std::uint64_t now = clock_;
  while (true) {
    bool waiting = false;
    for (const auto& [index, window] : resident_) {
      if (window->adopted > now) continue;
      waiting = true;
      if (!window->in_flight && window->fillers == 0) submit(*window);
    }
    if (!waiting) return;
    wait(lock);
  }
}

// The last block is written as a whole.
void WriteStaging::cut_file_to_size() {
  if (on_file_ <= size_) return;
  if (const int code = set_file_size(size_); code != 0)
    note({.failure = Failure{code, size_, on_file_ - size_}});
}

int WriteStaging::set_file_size(std::uint64_t size) {
  while (calls_.ftruncate(file_, static_cast<off_t>(size)) != 0)
    if (errno != EINTR) return errno;
  on_file_ = size;
  return 0;
}

void WriteStaging::read(std::uint64_t offset, MutableByteSpan into) {
  Lock lock(mutex_);
  check_range(uri_, size_, offset, into.size());
  flush(lock);
  lock.unlock();
  constexpr std::size_t step_size = std::size_t{1} << 20;
  const std::uint64_t end = offset + into.size();
  AlignedBuffer buffer(std::min<std::uint64_t>(step_size, round_down(into.size()) + 2 * block_size),
                       block_size);
  while (offset < end) {
    const std::uint64_t begin = round_down(offset);
    const std::uint64_t stop = std::min(end, begin + buffer.size());
    const MutableByteSpan blocks =
        buffer.span().first(static_cast<std::size_t>(round_down(stop - begin + block_size - 1)));
    if (const auto failure = read_blocks(begin, blocks))
      fail_system(uri_, fmt::format("read {} bytes", failure->count), failure->code, failure->offset);
    const auto count = static_cast<std::size_t>(stop - offset);
    std::memcpy(into.data(), blocks.data() + (offset - begin), count);
    into = into.subspan(count);
    offset = stop;
  }
}

void WriteStaging::truncate(std::uint64_t size) {
  Lock lock(mutex_);
  const auto in_use = [this] {
    return std::any_of(
               resident_.begin(), resident_.end(),
               [](const auto& entry) { return entry.second->in_flight || entry.second->fillers > 0; }) ||
           std::any_of(blocks_.begin(), blocks_.end(), [](const auto& entry) { return entry.second.busy; });
  };
  while (in_use()) wait(lock);
  drop_behind(size);
  if (const int code = set_file_size(size); code != 0)
    fail_system(uri_, fmt::format("truncate to {} bytes", size), code);
  size_ = size;
  if (failure_ && reported_ && first_lost_ >= size) failure_.reset();
}

void WriteStaging::drop_behind(std::uint64_t size) {
  for (auto entry = resident_.begin(); entry != resident_.end();) {
    Window& window = *entry->second;
    const std::uint64_t begin = window.index * window_size;
    const auto kept =
        static_cast<std::size_t>(std::clamp<std::uint64_t>(size, begin, begin + window_size) - begin);
    if (kept < window_size) std::memset(window.memory.data() + kept, 0, window_size - kept);
    for (std::size_t i = (kept + block_size - 1) / block_size; i < blocks_per_window; ++i)
      window.full.reset(i);
    if (window.full.any()) {
      ++entry;
      continue;
    }
    free_.push_back(&window);
    entry = resident_.erase(entry);
  }
  blocks_.erase(blocks_.lower_bound(size), blocks_.end());
  const auto last = blocks_.find(round_down(size));
  if (last == blocks_.end()) return;
  for (std::size_t i = size % block_size; i < block_size; ++i) {
    last->second.memory.data()[i] = std::byte{0};
    last->second.given.reset(i);
  }
}

// ---- Failures

void WriteStaging::note(const Written& written) {
  on_file_ = std::max(on_file_, written.end);
  if (!written.failure) return;
  first_lost_ = failure_ ? std::min(first_lost_, written.failure->offset) : written.failure->offset;
  if (failure_) return;
  failure_ = written.failure;
  reported_ = false;
}

void WriteStaging::throw_failure() {
  if (!failure_) return;
  reported_ = true;
  fail_system(uri_, fmt::format("write {} bytes", failure_->count), failure_->code, failure_->offset);
}

}  // namespace colonnade::io
