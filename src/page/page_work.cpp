// See page_work.h.
#include "page/page_work.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/thread_pool.h"
#include "cache/data_set.h"
#include "codec/checksum.h"
#include "codec/column_codec.h"
#include "codec/compression.h"
#include "page/copied_at_once.h"

namespace colonnade::page {
namespace {

// The number of jobs that a helper runs before it yields the thread to other work of the process.
constexpr int jobs_per_turn = 16;
// Waking a thread takes as long as decoding this many bytes.
constexpr std::size_t worth_a_helper = std::size_t{64} << 10;
// Pages are rarely larger; larger ones, or those that claim to be, use separate memory.
constexpr std::size_t most_scratch = std::size_t{16} << 20;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// A page's content between decompression and decoding: one per thread, so that it stays in the
// cache.
AlignedBuffer& scratch() {
  thread_local AlignedBuffer buffer;
  return buffer;
}

// Elements stored in their memory form can stay where they were read if they are aligned; pages that are
// decoded in parts need no alignment.
bool can_stay(const PageJob& job, ByteSpan stored) noexcept {
  if (job.in_parts) return job.description.locator.size == job.decoded;
  return job.is_image && job.destination == nullptr &&
         reinterpret_cast<std::uintptr_t>(stored.data()) % size_of(job.element) == 0;
}

}  // namespace

void unseal(const PageSource& source, const PageDescriptor& page, const ColumnEncoding& encoding,
            ElementType element, ByteSpan stored, void* out) {
  const codec::ChunkSums sums =
      source.verify(page, stored) ? codec::ChunkSums::trust : codec::ChunkSums::check;
  const std::size_t packed = codec::packed_size(encoding, page.elements);
  const ByteSpan block = stored.first(page.locator.size);
  if (block.size() == packed) return codec::decode(encoding, block, page.elements, element, out);
  if (codec::is_memory_image(encoding, element))
    return codec::decompress(block, {static_cast<std::byte*>(out), packed}, sums);
  AlignedBuffer large;
  AlignedBuffer& content = packed > most_scratch ? large : scratch();
  codec::decompress_growing(block, packed, content, sums);
  codec::decode(encoding, content.span(), page.elements, element, out);
}

void unseal_packed(const PageSource& source, const PageDescriptor& page, ByteSpan stored,
                   MutableByteSpan out) {
  const codec::ChunkSums sums =
      source.verify(page, stored) ? codec::ChunkSums::trust : codec::ChunkSums::check;
  const ByteSpan block = stored.first(page.locator.size);
  if (block.size() != out.size()) return codec::decompress(block, out, sums);
  std::memcpy(out.data(), block.data(), out.size());
}

PageWork::PageWork(const PageSource& source, std::shared_ptr<PageBuffers> buffers, unsigned helpers)
    : source_(&source), buffers_(std::move(buffers)), most_helpers_(helpers) {}

void PageWork::add(const std::vector<JobRef>& jobs, bool urgent) {
  const std::lock_guard lock(mutex_);
  line_.insert(urgent ? line_.begin() : line_.end(), jobs.begin(), jobs.end());
  for (const JobRef& job : jobs) {
    job->state = PageJob::State::in_line;
    bytes_in_line_ += job->decoded;
  }
  call_helpers();
}

// The lock is held. Without memory to ask for a helper, the reader does the work.
void PageWork::call_helpers() noexcept {
  if (stopping_ || bytes_in_line_ < worth_a_helper) return;
  const auto wanted = static_cast<unsigned>(std::min<std::size_t>(most_helpers_, line_.size()));
  try {
    for (; helpers_ < wanted; ++helpers_)
      ThreadPool::shared().submit([self = shared_from_this()] { self->help(); });
  } catch (const std::exception&) {
  }
}

void PageWork::help() {
  std::unique_lock lock(mutex_);
  --helpers_;
  for (int turn = 0; turn < jobs_per_turn && !stopping_ && !line_.empty(); ++turn) {
    const JobRef job = line_.front();
    line_.pop_front();
    ++working_;
    work_on(lock, job, false);
    --working_;
  }
  if (stopping_) {
    changed_.notify_all();
  } else {
    call_helpers();
  }
}

// For a job just taken from the queue. `lock` is held before and after.
void PageWork::work_on(std::unique_lock<std::mutex>& lock, const JobRef& job, bool is_owner) {
  job->state = PageJob::State::in_work;
  bytes_in_line_ -= job->decoded;
  lock.unlock();
  Tally tally;
  bool failed = false;
  try {
    carry_out(*job, tally);
  } catch (...) {
    // The reader that needs the page reads it again by itself and gets the error then.
    failed = true;
  }
  lock.lock();
  tally_.counted += tally.counted;
  if (is_owner) tally_.seconds_reading += tally.seconds_reading;
  job->extent.reset();
  job->state = failed ? PageJob::State::failed : PageJob::State::done;
  changed_.notify_all();
}

void PageWork::carry_out(PageJob& job, Tally& tally) {
  const std::uint64_t stored = stored_size(job.description);
  SealedExtent& extent = *job.extent;
  const bool is_alone = extent.plan.size == stored && job.position == 0;
  if (job.is_image && is_alone && !extent.id) {
    if (job.destination == nullptr) job.memory = buffers_->lend(job.decoded);
    read_straight(job, job.destination != nullptr ? job.destination : job.memory.data(), tally);
    ++tally.counted.pages;
    return;
  }
  const ByteSpan bytes = bytes_of(extent, tally).subspan(job.position, stored);
  const auto begin = Clock::now();
  if (can_stay(job, bytes)) {
    source_->verify(job.description, bytes);
    job.read_to = job.extent;
    (job.in_parts ? job.packed : job.elements) = bytes.data();
    keep(job, bytes, tally);
    tally.counted.seconds_decoding += seconds_since(begin);
    ++tally.counted.pages;
    return;
  }
  if (job.destination == nullptr) job.memory = buffers_->lend(job.decoded);
  std::byte* out = job.destination != nullptr ? job.destination : job.memory.data();
  if (job.in_parts) {
    unseal_packed(*source_, job.description, bytes, {out, job.decoded});
    job.packed = out;
  } else {
    unseal(*source_, job.description, job.encoding, job.element, bytes, out);
    job.elements = out;
  }
  keep(job, bytes, tally);
  tally.counted.seconds_decoding += seconds_since(begin);
  ++tally.counted.pages;
}

void PageWork::keep(const PageJob& job, ByteSpan stored, Tally& tally) const {
  const std::size_t size = job.description.locator.size;
  source_->keep(job.column, job.cluster, job.page, job.description, stored.first(size), stored.subspan(size),
                tally.counted);
}

// Stored bytes in memory form are read straight to their destination, and the checksum separately.
void PageWork::read_straight(PageJob& job, std::byte* out, Tally& tally) {
  const std::uint64_t offset = job.description.locator.offset;
  const std::size_t size = job.description.locator.size;
  const std::size_t sum_size = stored_size(job.description) - size;
  const io::RandomAccessFile& file = *job.extent->file;
  const bool verifies = sum_size > 0 && (source_->options().page_checksums == Checksums::on ||
                                         source_->is_cached(job.description));
  const std::size_t most = file.traits().reads_are_copies ? copied_at_once : size;
  codec::Xxh3 computed;
  std::byte sum[8] = {};
  std::size_t at = 0;
  double seconds = 0;
  do {
    const auto begin = Clock::now();
    const std::size_t step = std::min(most, size - at);
    const io::ReadRequest parts[] = {{offset + at, {out + at, step}}, {offset + size, {sum, sum_size}}};
    const bool is_last = at + step == size;
    file.read_vector(std::span(parts).first(is_last && sum_size > 0 ? 2 : 1));
    ++tally.counted.requests;
    const auto read = Clock::now();
    seconds += std::chrono::duration<double>(read - begin).count();
    if (verifies) computed.add({out + at, step});
    tally.counted.seconds_decoding += seconds_since(read);
    at += step;
  } while (at < size);
  tally.seconds_reading += seconds;
  tally.counted.bytes += size + sum_size;
  if (source_->cache() != nullptr) source_->cache()->note_rate(file, size + sum_size, seconds);
  // Verifies again, to throw the error.
  const std::optional<std::uint64_t> expected = source_->expected_sum(job.description, sum);
  if (expected && computed.value() != *expected) source_->verify(job.description, {out, size}, sum);
  job.elements = out;
  source_->keep(job.column, job.cluster, job.page, job.description, {out, size}, {sum, sum_size},
                tally.counted);
}

// The first job of an extent reads the whole extent.
ByteSpan PageWork::bytes_of(SealedExtent& extent, Tally& tally) {
  if (extent.id) return extent.bytes;
  const std::lock_guard lock(extent.mutex);
  if (extent.failure) std::rethrow_exception(extent.failure);
  if (extent.is_read) return extent.bytes;
  const auto begin = Clock::now();
  const io::ReadExtent& plan = extent.plan;
  try {
    ++tally.counted.requests;
    tally.counted.bytes += plan.size;
    tally.counted.read_over_bytes += plan.size - plan.wanted;
    extent.memory = buffers_->lend(plan.size);
    extent.file->read(plan.offset, {extent.memory.data(), plan.size});
    extent.bytes = {extent.memory.data(), plan.size};
  } catch (...) {
    extent.failure = std::current_exception();
    throw;
  }
  const double seconds = seconds_since(begin);
  tally.seconds_reading += seconds;
  if (source_->cache() != nullptr) source_->cache()->note_rate(*extent.file, plan.size, seconds);
  extent.is_read = true;
  return extent.bytes;
}

bool PageWork::finish(PageJob& job) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] {
    return job.state != PageJob::State::in_line && job.state != PageJob::State::in_work;
  };
  while (!is_over()) {
    auto found = line_.begin();
    if (job.state == PageJob::State::in_line)
      found = std::find_if(line_.begin(), line_.end(), [&](const JobRef& in) { return in.get() == &job; });
    if (found != line_.end()) {
      const JobRef next = std::move(*found);
      line_.erase(found);
      work_on(lock, next, true);
      continue;
    }
    const auto begin = Clock::now();
    changed_.wait(lock, [&] { return is_over() || !line_.empty(); });
    counters_.seconds_waiting += seconds_since(begin);
  }
  return job.state == PageJob::State::done;
}

void PageWork::drop(const JobRef& job) {
  const std::lock_guard lock(mutex_);
  if (job->state == PageJob::State::in_line) {
    line_.erase(std::find(line_.begin(), line_.end(), job));
    bytes_in_line_ -= job->decoded;
  }
  if (job->state != PageJob::State::in_line && job->state != PageJob::State::awaiting_bytes) return;
  job->state = PageJob::State::failed;
  job->extent.reset();
}

PageJob::State PageWork::state(const PageJob& job) const {
  const std::lock_guard lock(mutex_);
  return job.state;
}

void PageWork::clear() noexcept {
  std::unique_lock lock(mutex_);
  for (const JobRef& job : line_) job->state = PageJob::State::failed;
  line_.clear();
  bytes_in_line_ = 0;
  changed_.wait(lock, [this] { return working_ == 0; });
}

void PageWork::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  clear();
}

ReadCounters PageWork::totals() const {
  const std::lock_guard lock(mutex_);
  ReadCounters all = counters_;
  all += tally_.counted;
  all.seconds_waiting += tally_.seconds_reading;
  return all;
}

}  // namespace colonnade::page
