// See read_scheduler.h. Planning works on ranges in the order of the file, rounded to the transport's
// alignment: neighbours join while the gap between them is cheaper than another request and the extent stays
// within its limit; in a file with read units, while they begin in the same unit, or follow without a gap up
// to the best size of a request.
#include "io/read_scheduler.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/interruption.h"

namespace colonnade::io {
namespace {

std::uint64_t round_down(std::uint64_t value, std::uint64_t alignment) noexcept {
  return value & ~(alignment - 1);
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) noexcept {
  return round_down(value + (alignment - 1), alignment);
}

// Requests of about equal size, so that the last one does not come alone after the others.
std::size_t request_size_for(std::size_t extent, const IoTraits& traits) noexcept {
  const std::size_t most = std::max(round_down(traits.max_request, traits.alignment), traits.alignment);
  const std::size_t count = (extent + most - 1) / most;
  return std::min<std::size_t>(round_up((extent + count - 1) / count, traits.alignment), most);
}

class Planner {
 public:
  Planner(const IoTraits& traits, std::size_t max_extent, std::uint64_t file_size)
      : traits_(traits), max_extent_(max_extent), file_size_(file_size) {}

  bool is_readable(const WantedRange& range) const noexcept {
    return range.size > 0 && range.offset <= file_size_ && range.size <= file_size_ - range.offset;
  }

  // Ranges must come in the order of their offsets. `need` is the range's place in the order of need.
  void add(const WantedRange& range, std::size_t need) {
    const std::uint64_t begin = round_down(range.offset, traits_.alignment);
    const std::uint64_t end = std::min(round_up(range.offset + range.size, traits_.alignment), file_size_);
    if (extents_.empty() || !joins(range.offset, begin, end)) {
      extents_.push_back({.offset = begin, .size = 0});
      needs_.push_back(need);
      wanted_end_ = range.offset;
    }
    unit_ = range.offset / traits_.read_unit;
    ReadExtent& extent = extents_.back();
    extent.size = std::max(extent.size, static_cast<std::size_t>(end - extent.offset));
    const std::uint64_t fresh = std::max(wanted_end_, range.offset);
    if (range.offset + range.size > fresh) {
      extent.wanted += static_cast<std::size_t>(range.offset + range.size - fresh);
      wanted_end_ = range.offset + range.size;
    }
    needs_.back() = std::min(needs_.back(), need);
  }

  std::size_t last() const noexcept { return extents_.size() - 1; }
  std::uint64_t last_offset() const noexcept { return extents_.back().offset; }

  // The extents in the order of need; `ranges` are given their new indices.
  std::vector<ReadExtent> in_order(std::vector<ReadPlan::PlannedRange>& ranges) {
    std::vector<std::size_t> order(extents_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return needs_[a] < needs_[b]; });
    std::vector<std::size_t> rank(order.size());
    std::vector<ReadExtent> sorted;
    sorted.reserve(order.size());
    for (const std::size_t index : order) {
      rank[index] = sorted.size();
      sorted.push_back(extents_[index]);
      sorted.back().request_size = request_size_for(sorted.back().size, traits_);
    }
    for (ReadPlan::PlannedRange& range : ranges)
      if (range.extent != ReadPlan::none) range.extent = rank[range.extent];
    return sorted;
  }

 private:
  bool joins(std::uint64_t offset, std::uint64_t begin, std::uint64_t end) const noexcept {
    const ReadExtent& extent = extents_.back();
    const std::uint64_t extent_end = extent.offset + extent.size;
    const bool is_in_unit = traits_.read_unit > 1 && offset / traits_.read_unit == unit_;
    const bool is_beyond_unit = traits_.read_unit > 1 && !is_in_unit;
    if (is_beyond_unit) return begin <= extent_end && end - extent.offset <= traits_.best_request;
    if (end <= extent_end) return true;
    if (begin > extent_end && begin - extent_end > traits_.worthwhile_gap) return false;
    return is_in_unit || end - extent.offset <= max_extent_;
  }

  const IoTraits& traits_;
  std::size_t max_extent_;
  std::uint64_t file_size_;
  std::vector<ReadExtent> extents_;  // in the order of the file
  std::vector<std::size_t> needs_;   // of each extent, when it is first needed
  std::uint64_t wanted_end_ = 0;     // of the last extent: where the ranges so far end
  std::uint64_t unit_ = 0;           // of the last extent
};

}  // namespace

ReadPlan plan_reads(std::span<const WantedRange> wanted, const IoTraits& traits, std::size_t max_extent,
                    std::uint64_t file_size) {
  Planner planner(traits, max_extent, file_size);
  std::vector<std::size_t> order;
  order.reserve(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (planner.is_readable(wanted[i])) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(wanted[a].offset, wanted[a].size) < std::pair(wanted[b].offset, wanted[b].size);
  });
  ReadPlan plan;
  plan.ranges.resize(wanted.size());
  for (const std::size_t i : order) {
    planner.add(wanted[i], i);
    plan.ranges[i] = {planner.last(), static_cast<std::size_t>(wanted[i].offset - planner.last_offset())};
  }
  plan.extents = planner.in_order(plan.ranges);
  return plan;
}

ReadScheduler::ReadScheduler(const RandomAccessFile& file, const IoTraits& traits)
    : file_(&file), traits_(traits), line_estimate_(file.round_trip()) {
  traits_.concurrency = std::max(traits_.concurrency, 1u);
  traits_.most_concurrency = std::max(traits_.most_concurrency, traits_.concurrency);
}

// The parent's queue cannot be closed from here: its threads do not exist, and its ring is the parent's too.
ReadScheduler::~ReadScheduler() {
  if (queue_ != nullptr && !process_.is_current()) abandon_queue();
}

void ReadScheduler::abandon_queue() noexcept {
  [[maybe_unused]] const ReadQueue* of_parent = queue_.release();
}

void ReadScheduler::go_on_in_child() {
  if (queue_ != nullptr && process_.is_current()) return;
  if (queue_ != nullptr) abandon_queue();
  try {
    batch_.reserve(traits_.most_concurrency);
    queue_ = file_->open_queue(traits_.most_concurrency);
    process_ = {};
    line_estimate_ = LineEstimate(file_->round_trip());
    line_.clear();
    for (const auto& [id, extent] : extents_)
      if (!extent.settled() && !extent.cancelled && extent.failure == nullptr) line_.push_back(id);
    std::sort(line_.begin(), line_.end());
  } catch (...) {
    fail_all(std::current_exception());
    throw;
  }
  unsettled_ = line_.size();
  for (auto& [id, extent] : extents_) {
    if (extent.settled()) continue;
    extent.departures.clear();
    if (!extent.cancelled && extent.failure == nullptr) extent.submitted = 0;
  }
}

void ReadScheduler::fail_all(const std::exception_ptr& failure) noexcept {
  line_.clear();
  unsettled_ = 0;
  for (auto& [id, extent] : extents_) {
    if (extent.settled()) continue;
    extent.departures.clear();
    if (extent.failure == nullptr) extent.failure = failure;
  }
}

const ReadScheduler::ScheduledExtent& ReadScheduler::extent(Id id) const {
  const auto found = extents_.find(id);
  if (found == extents_.end())
    throw Error(ErrorKind::usage, "the extent is not known to this scheduler", "use it before forget()",
                {.uri = file_->uri()});
  return found->second;
}

ReadScheduler::ScheduledExtent& ReadScheduler::extent(Id id) {
  return const_cast<ScheduledExtent&>(std::as_const(*this).extent(id));
}

ReadScheduler::Id ReadScheduler::start(const ReadExtent& plan, MutableByteSpan into, bool urgent) {
  go_on_in_child();
  ScheduledExtent fresh{.plan = plan, .into = into.first(plan.size)};
  if (plan.size > 0) fresh.departures.reserve(plan.requests());
  const Id id = next_id_++;
  const auto added = extents_.emplace(id, std::move(fresh)).first;
  if (plan.size == 0) return id;
  const std::size_t place = urgent ? std::min(urgent_held_, line_.size()) : line_.size();
  try {
    line_.insert(line_.begin() + static_cast<std::ptrdiff_t>(place), id);
  } catch (...) {
    extents_.erase(added);
    throw;
  }
  ++unsettled_;
  if (urgent && holds_) ++urgent_held_;
  submit_what_fits();
  return id;
}

void ReadScheduler::hold() noexcept {
  holds_ = true;
}

void ReadScheduler::release() {
  holds_ = false;
  urgent_held_ = 0;
  if (queue_ != nullptr) submit_what_fits();
}

void ReadScheduler::drop_from_line(Id id) {
  const auto found = std::find(line_.begin(), line_.end(), id);
  if (found != line_.end()) line_.erase(found);
}

void ReadScheduler::hurry(Id id) {
  if (extent(id).complete()) return;
  const auto found = std::find(line_.begin(), line_.end(), id);
  if (found != line_.end()) std::rotate(line_.begin(), found, found + 1);
}

// Twice the product, so that requests of any size overlap, and the line's rate is found where it is above
// what was seen.
std::size_t ReadScheduler::concurrency() const noexcept {
  if (traits_.most_concurrency == traits_.concurrency) return traits_.concurrency;
  const std::size_t wanted = 2 * line_estimate_.product();
  const std::size_t next = line_.empty() ? traits_.max_request : extents_.at(line_.front()).plan.request_size;
  const std::size_t mean = line_estimate_.mean_request() > 0 ? line_estimate_.mean_request() : next;
  return std::clamp<std::size_t>(wanted / std::max<std::size_t>(mean, 1), traits_.concurrency,
                                 traits_.most_concurrency);
}

// Takes the next one out of the line. It allocates nothing: start() has made the room.
QueuedRead ReadScheduler::next_request() {
  const Id id = line_.front();
  ScheduledExtent& next = extent(id);
  const std::size_t count = std::min(next.plan.request_size, next.plan.size - next.submitted);
  if (next.submitted == 0) counters_.read_over_bytes += next.plan.size - next.plan.wanted;
  ++counters_.requests;
  counters_.bytes += count;
  const QueuedRead request{id, next.plan.offset + next.submitted, next.into.subspan(next.submitted, count)};
  next.submitted += count;
  next.departures.push_back(line_estimate_.depart(count, queue_->now()));
  if (next.submitted == next.plan.size) line_.pop_front();
  return request;
}

// A queue that reads in submit() gets nothing before it is needed.
void ReadScheduler::submit_what_fits() {
  if (holds_ || queue_->reads_in_submit()) return;
  batch_.clear();
  const std::size_t most = concurrency();
  while (!line_.empty() && queue_->in_flight() + batch_.size() < most) batch_.push_back(next_request());
  if (!batch_.empty()) submit(batch_);
}

// What the queue does not even take fails like what it takes.
void ReadScheduler::submit(std::span<const QueuedRead> requests) {
  const std::size_t before = queue_->in_flight();
  try {
    queue_->submit_batch(requests);
  } catch (...) {
    const std::size_t taken = queue_->in_flight() - before;
    for (const QueuedRead& request : requests.subspan(taken))
      arrived(request.id, std::current_exception(), {});
  }
}

// Requests of an extent are taken to arrive in the order in which they left.
void ReadScheduler::arrived(Id id, const std::exception_ptr& failure, LineEstimate::Time when) {
  ScheduledExtent& of = extent(id);
  if (failure != nullptr)
    line_estimate_.lose();
  else
    line_estimate_.arrive(of.departures.front(), when);
  of.departures.erase(of.departures.begin());
  if (failure != nullptr && of.failure == nullptr) {
    of.failure = failure;
    if (of.submitted < of.plan.size && !of.cancelled) drop_from_line(id);
  }
  if (of.settled()) --unsettled_;
}

void ReadScheduler::take(bool block) {
  std::array<ReadQueue::Completion, 32> completions;
  std::size_t count = 0;
  do {
    count = queue_->wait(completions, block);
    for (const ReadQueue::Completion& completion : std::span(completions).first(count))
      arrived(completion.id, completion.failure, completion.when);
    block = false;
  } while (count == completions.size());
}

void ReadScheduler::poll() {
  if (queue_ == nullptr) return;
  go_on_in_child();
  take(false);
  submit_what_fits();
}

bool ReadScheduler::settled(Id id) const {
  return extent(id).settled();
}

void ReadScheduler::wait_until_settled(const ScheduledExtent& wanted) {
  const InterruptibleWaits here;
  while (!wanted.settled()) {
    if (queue_->reads_in_submit() && !wanted.complete()) {
      const QueuedRead request = next_request();
      submit({&request, 1});
    }
    submit_what_fits();
    take(true);
  }
}

void ReadScheduler::wait_for(Id id) {
  holds_ = false;  // the owner of the hold failed before it released it
  urgent_held_ = 0;
  poll();
  const ScheduledExtent& wanted = extent(id);
  if (!wanted.settled()) {
    const auto begin = std::chrono::steady_clock::now();
    ++counters_.waits;
    hurry(id);
    try {
      wait_until_settled(wanted);
    } catch (const Interrupted&) {
      queue_.reset();  // takes the buffers back
      fail_all(std::current_exception());
      throw;
    }
    submit_what_fits();
    counters_.seconds_waiting +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  if (wanted.failure != nullptr) std::rethrow_exception(wanted.failure);
  if (wanted.cancelled && wanted.submitted < wanted.plan.size)
    throw Error(ErrorKind::usage, "the extent was cancelled before it was read", "start it again",
                {.uri = file_->uri(), .offset = wanted.plan.offset});
}

void ReadScheduler::cancel(Id id) {
  ScheduledExtent& unwanted = extent(id);
  if (unwanted.complete()) return;
  unwanted.cancelled = true;
  drop_from_line(id);
  if (unwanted.settled()) --unsettled_;
}

void ReadScheduler::forget(Id id) {
  if (queue_ != nullptr) go_on_in_child();
  cancel(id);
  const ScheduledExtent& leaving = extent(id);
  while (!leaving.settled()) take(true);
  extents_.erase(id);
}

void ReadScheduler::forget_all() noexcept {
  if (process_.is_current())
    queue_.reset();  // waits for what is in flight
  else
    abandon_queue();
  extents_.clear();
  line_.clear();
  unsettled_ = 0;
  holds_ = false;
  urgent_held_ = 0;
}

void read_ranges(const RandomAccessFile& file, std::span<const ReadRequest> ranges, std::size_t max_extent) {
  std::vector<WantedRange> wanted;
  wanted.reserve(ranges.size());
  for (const ReadRequest& range : ranges) wanted.push_back({range.offset, range.into.size()});
  const IoTraits traits = file.traits();
  const ReadPlan plan = plan_reads(wanted, traits, max_extent, file.size());

  std::vector<AlignedBuffer> buffers;  // outlive the scheduler
  buffers.reserve(plan.extents.size());
  std::vector<ReadScheduler::Id> ids;
  ReadScheduler scheduler(file);
  scheduler.hold();
  for (const ReadExtent& extent : plan.extents) {
    buffers.emplace_back(extent.size, traits.alignment);
    ids.push_back(scheduler.start(extent, buffers.back().span()));
  }
  scheduler.release();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto [extent, position] = plan.ranges[i];
    const MutableByteSpan into = ranges[i].into;
    if (extent != ReadPlan::none) try {
        scheduler.wait_for(ids[extent]);
        std::ranges::copy(ByteSpan(buffers[extent].span()).subspan(position, into.size()), into.begin());
        continue;
      } catch (const Error&) {  // reported below, with its place
      }
    with_context({.uri = file.uri(), .offset = ranges[i].offset}, [&] { file.read(ranges[i].offset, into); });
  }
}

}  // namespace colonnade::io
