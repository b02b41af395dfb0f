// See cluster_pool.h.
#include "page/cluster_pool.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <queue>

#include "base/thread_pool.h"
#include "cache/data_set.h"
#include "codec/column_codec.h"
#include "page/copied_at_once.h"

namespace colonnade::page {
namespace {

// Decoded pages that wait per thread that makes them: enough that none of them runs dry.
constexpr std::size_t decoded_ahead_per_thread = std::size_t{16} << 20;
// Sealed pages of a bulk read that are planned together.
constexpr std::size_t bulk_batch = std::size_t{64} << 20;
// Stored images of elements of this size and more are worth a request of their own, straight to their place.
constexpr std::size_t worth_a_request = std::size_t{64} << 10;
constexpr std::size_t most_depth = 16;
// Rounds for which a closed stream is kept that nothing opens: several iterations may take turns.
constexpr std::uint64_t most_rounds_kept = 8;
// Announced pages that are brought here where the line needs less: bytes. And those that are planned
// together, unless larger requests are best.
constexpr std::size_t least_brought = std::size_t{32} << 20;
constexpr std::size_t least_brought_at_once = std::size_t{4} << 20;

// Where in its cluster a page begins, from 0 to 1: pages of different columns are needed in this order.
double fraction_of(const ColumnSegment& segment, std::size_t page) {
  const std::uint64_t all = segment.page_first.back();
  return all == 0 ? 0 : static_cast<double>(segment.page_first[page]) / static_cast<double>(all);
}

// The page with the first element that is needed from a place in the cluster on; for the ends of collections
// that is the one before.
std::size_t page_at(const ColumnSegment& segment, ElementType element, double fraction) {
  const auto all = static_cast<double>(segment.page_first.back());
  auto first = static_cast<std::uint64_t>(std::round(fraction * all));
  if (element == ElementType::index && first > 0) --first;
  return first < segment.page_first.front() ? 0 : segment.page_of(first);
}

unsigned helpers_for(const ReadOptions& options) {
  return options.parallel_decompression ? ThreadPool::processors() - 1 : 0;
}

}  // namespace

class ClusterPool::Stream {
 public:
  std::vector<std::uint32_t> representations;
  ElementType element = ElementType::byte;
  Form form = Form::elements;
  std::size_t users = 0;
  std::uint64_t opened_in = 0;  // round_
  bool is_active = false;
  std::deque<JobRef> planned;  // in order
  StreamPosition next;         // to be planned, behind those
  StreamPosition last;         // taken
  bool is_new = true;          // nothing was taken since the window moved
  bool is_certain = false;     // it is in use, not only expected to be
  JobRef recent;               // the page taken last, for other readers of the column
};

struct ClusterPool::Later {
  struct QueuedStream {
    std::size_t cluster;
    double fraction;
    Stream* stream;
  };
  static QueuedStream queued(Stream& stream) {
    const ColumnSegment& segment = *stream.next.segment;
    return {segment.cluster, fraction_of(segment, stream.next.page), &stream};
  }
  bool operator()(const QueuedStream& a, const QueuedStream& b) const {
    return std::pair(a.cluster, a.fraction) > std::pair(b.cluster, b.fraction);
  }
};

ClusterPool::ClusterPool(const PageSource& source) : source_(&source) {
  start();
}

void ClusterPool::start() {
  const ReadOptions& options = source_->options();
  const unsigned helpers = helpers_for(options);
  parallel_ = helpers > 0;
  decoded_for_all_threads_ = decoded_ahead_per_thread * (helpers + 1);
  work_ =
      std::make_shared<PageWork>(*source_, std::make_shared<PageBuffers>(options.memory_budget / 2), helpers);
  unit_ = source_->file().traits().read_unit;
  lanes_ = {Lane{.file = &source_->file()},
            Lane{.file = source_->cache() != nullptr ? &source_->cache()->file() : nullptr},
            Lane{.file = source_->cache() != nullptr ? &source_->cache()->awaited() : nullptr}};
  for (Lane& lane : lanes_) {
    if (lane.file == nullptr) continue;
    const io::IoTraits traits = lane.file->traits();
    if (traits.concurrency > 1 && !traits.reads_are_copies)
      lane.scheduler = std::make_unique<io::ReadScheduler>(*lane.file);
    lane.is_far = lane.scheduler != nullptr && traits.most_concurrency > 0;
  }
  process_ = {};
}

ClusterPool::Lane& ClusterPool::lane_of(const PageJob& job) noexcept {
  return *std::ranges::find(lanes_, &source_->file_of(job.description), &Lane::file);
}

ClusterPool::Lane& ClusterPool::lane_of(const SealedExtent& extent) noexcept {
  return *std::ranges::find(lanes_, extent.file, &Lane::file);
}

std::uint64_t ClusterPool::waits() const noexcept {
  std::uint64_t sum = 0;
  for (const Lane& lane : lanes_)
    if (lane.scheduler) sum += lane.scheduler->counters().waits;
  return sum;
}

ClusterPool::~ClusterPool() {
  if (!process_.is_current()) restart_in_child();
  work_->stop();
  for (Lane& lane : lanes_) lane.scheduler.reset();
}

// Other threads may have held any of this when the process was forked, and none of them exists here: it is
// left alone. Everything else is this thread's own.
void ClusterPool::restart_in_child() {
  for (auto& [key, stream] : streams_) stream->recent.reset();
  expected_.clear();
  forget_positions();
  static_cast<void>(new std::unordered_map<std::uint64_t, Brought>(std::move(brought_)));
  brought_.clear();
  brought_bytes_ = 0;
  unused_bytes_ = 0;
  static_cast<void>(new std::shared_ptr<PageWork>(std::move(work_)));
  static_cast<void>(new std::array<Lane, 3>(std::move(lanes_)));
  static_cast<void>(new std::vector<std::shared_ptr<SealedExtent>>(std::move(in_flight_)));
  in_flight_.clear();
  waiting_.clear();
  waits_seen_ = 0;
  start();
}

void ClusterPool::forget_positions() noexcept {
  for (auto& [key, stream] : streams_) {
    stream->planned.clear();
    stream->next = {};
    stream->is_active = false;
  }
  active_.clear();
  by_offset_.clear();
  coming_.clear();
  uses_.clear();
  sealed_ahead_ = 0;
  decoded_ahead_ = 0;
  depth_ = 1;
}

// Nothing writes to any memory when it returns. What was read ahead is read once more when it is asked for.
void ClusterPool::drop_plans() noexcept {
  work_->clear();
  for (Lane& lane : lanes_)
    if (lane.scheduler) lane.scheduler->forget_all();
  forget_positions();
  brought_.clear();
  brought_bytes_ = 0;
  unused_bytes_ = 0;
  in_flight_.clear();
  waiting_.clear();
}

// For what changes plans: where that fails half way, as without memory, all plans are dropped.
template <class Change>
auto ClusterPool::planning(Change&& change) {
  if (!process_.is_current()) restart_in_child();
  try {
    return change();
  } catch (...) {
    drop_plans();
    throw;
  }
}

ClusterPool::Stream& ClusterPool::open(const std::vector<std::uint32_t>& representations, ElementType element,
                                       Form form) {
  std::tuple key(representations, element, form);
  auto found = streams_.find(key);
  if (found == streams_.end()) {
    auto stream = std::make_unique<Stream>();
    stream->representations = representations;
    stream->element = element;
    stream->form = form;
    found = streams_.emplace(std::move(key), std::move(stream)).first;
  }
  ++found->second->users;
  found->second->opened_in = round_;
  return *found->second;
}

void ClusterPool::close(Stream& stream) noexcept {
  if (--stream.users == 0 && !keeps_closed_) remove(stream);
}

void ClusterPool::keep_closed(bool keeps) noexcept {
  keeps_closed_ = keeps;
  ++round_;
  for (auto at = streams_.begin(); at != streams_.end();) {
    Stream& stream = *(at++)->second;
    const bool is_kept = keeps && round_ - stream.opened_in <= most_rounds_kept;
    if (stream.users == 0 && !is_kept) remove(stream);
  }
}

void ClusterPool::remove(Stream& stream) noexcept {
  try {
    planning([&] { deactivate(stream); });
  } catch (const std::exception&) {
    if (!process_.is_current()) return;  // the next call tries to restart once more
  }
  std::erase(expected_, &stream);
  // By its address: a key would be a copy, for which there may be no memory.
  std::erase_if(streams_, [&](const auto& entry) { return entry.second.get() == &stream; });
}

void ClusterPool::deactivate(Stream& stream) {
  for (const JobRef& job : stream.planned) discard_for_good(job);
  stream.planned.clear();
  stream.next = {};
  stream.is_active = false;
  std::erase(active_, &stream);
  if (active_.empty()) depth_ = 1;
  forget_unused_extents();
}

// ---- Positions

bool ClusterPool::can_plan(const ColumnSegment& segment, std::size_t page) const {
  const PageDescriptor description = segment.page(page);
  return source_->is_plain(description) && stored_size(description) > 0;
}

// Moves to the first page of a cluster; to none if there is no such cluster or its metadata are invalid: the
// read that gets there throws.
void ClusterPool::enter(const Stream& stream, StreamPosition& position, std::size_t cluster) const {
  position = {};
  if (cluster >= source_->descriptor().clusters.size()) return;
  try {
    position.segment =
        std::make_shared<const ColumnSegment>(open_segment(*source_, stream.representations, cluster));
  } catch (const Error&) {
  }
}

// To the next page that may be asked for, or to none.
void ClusterPool::advance(const Stream& stream, StreamPosition& position) const {
  ++position.page;
  if (window_.empty()) {
    while (position.segment && position.page >= position.segment->pages())
      enter(stream, position, position.segment->cluster + 1);
    return;
  }
  for (const ClusterSlice& slice : window_) {
    if (!position.segment || slice.cluster < position.segment->cluster) continue;
    if (slice.cluster > position.segment->cluster) enter(stream, position, slice.cluster);
    if (!position.segment) return;
    const std::size_t first = page_at(*position.segment, stream.element, slice.begin);
    position.page = std::max(position.page, first);
    const bool is_there = position.page < position.segment->pages();
    if (is_there && (position.page == first || fraction_of(*position.segment, position.page) < slice.end))
      return;
  }
  position = {};
}

// The first page that can be planned from the beginning of a slice on, or none.
ClusterPool::StreamPosition ClusterPool::first_from(const Stream& stream, const ClusterSlice& begin) const {
  StreamPosition position;
  enter(stream, position, begin.cluster);
  if (!position.segment) return {};
  position.page = page_at(*position.segment, stream.element, begin.begin);
  const auto is_no_page = [&] {
    return position.page >= position.segment->pages() || !can_plan(*position.segment, position.page);
  };
  while (position.segment && is_no_page()) advance(stream, position);
  return position;
}

bool ClusterPool::is_within(const PageJob& job) const {
  if (window_.empty()) return true;
  return std::any_of(window_.begin(), window_.end(), [&](const ClusterSlice& slice) {
    return job.cluster == slice.cluster && job.fraction < slice.end && job.end_fraction > slice.begin;
  });
}

void ClusterPool::keep_within(std::vector<ClusterSlice> slices) {
  planning([&] {
    const auto begin_of = [](const ClusterSlice& slice) { return std::pair(slice.cluster, slice.begin); };
    const bool goes_back =
        !window_.empty() && !slices.empty() && begin_of(slices.front()) < begin_of(window_.front());
    window_ = std::move(slices);
    for (auto& [key, stream] : streams_) {
      if (goes_back) rewind(*stream);
      keep_within_window(*stream);
    }
    forget_unused_extents();
  });
}

// All columns in use begin again in front, together.
void ClusterPool::rewind(Stream& stream) {
  for (const JobRef& job : stream.planned) discard_for_good(job);
  stream.planned.clear();
  stream.last = {};
}

void ClusterPool::keep_within_window(Stream& stream) {
  stream.is_new = true;
  if (!stream.is_active) return;
  const auto outside = [&](const JobRef& job) { return !is_within(*job); };
  for (const JobRef& job : stream.planned)
    if (outside(job)) discard_for_good(job);
  std::erase_if(stream.planned, outside);
  // What is planned next is behind all that was.
  StreamPosition position = stream.last;
  if (!stream.planned.empty()) {
    enter(stream, position, stream.planned.back()->cluster);
    position.page = stream.planned.back()->page;
  }
  if (!position.segment && !window_.empty()) {
    stream.next = first_from(stream, window_.front());
    return;
  }
  do advance(stream, position);
  while (position.segment && !can_plan(*position.segment, position.page));
  stream.next = position;
}

// Is it the page after the one taken last, or the first page of all that are asked for?
bool ClusterPool::follows(Stream& stream, const ColumnSegment& segment, std::size_t page) {
  if (!window_.empty() && stream.is_new) return true;
  if (!stream.last.segment) return page == 0;
  StreamPosition after = stream.last;
  if (segment.cluster == after.segment->cluster) return page == after.page + 1;
  if (segment.cluster < after.segment->cluster || (window_.empty() && page != 0)) return false;
  advance(stream, after);
  return after.segment && after.segment->cluster == segment.cluster && after.page == page;
}

// ---- Planning

bool ClusterPool::is_in_parts(const Stream& stream, const ColumnSegment& segment) {
  return stream.form == Form::parts && codec::is_divisible(segment.encoding, stream.element);
}

ClusterPool::JobRef ClusterPool::make_job(const Stream& stream, const StreamPosition& position,
                                          std::byte* destination) const {
  const ColumnSegment& segment = *position.segment;
  auto job = std::make_shared<PageJob>();
  job->column = segment.column;
  job->cluster = segment.cluster;
  job->page = position.page;
  job->fraction = fraction_of(segment, position.page);
  job->end_fraction = fraction_of(segment, position.page + 1);
  job->description = segment.page(position.page);
  job->encoding = segment.encoding;
  job->element = stream.element;
  job->decoded = job->description.elements * size_of(stream.element);
  job->is_image = job->description.locator.size == job->decoded &&
                  codec::is_memory_image(segment.encoding, stream.element);
  job->destination = destination;
  job->in_parts = destination == nullptr && is_in_parts(stream, segment);
  return job;
}

// A page of the origin that another reader is downloading for the cache is waited for in its place.
void ClusterPool::share(PageJob& job) const {
  if (source_->cache() == nullptr || source_->is_cached(job.description)) return;
  if (const auto shared = source_->cache()->share(job.column, job.cluster, job.page))
    job.description = *shared;
}

// Whether another reader is downloading it for the cache.
bool ClusterPool::comes_from_others(const ColumnSegment& segment, std::size_t page) const {
  return source_->cache() != nullptr && !source_->is_cached(segment.page(page)) &&
         source_->cache()->share(segment.column, segment.cluster, page).has_value();
}

// The next page if another column has planned the same one.
ClusterPool::JobRef ClusterPool::find_shared(const Stream& stream) const {
  const ColumnSegment& segment = *stream.next.segment;
  const PageDescriptor page = segment.page(stream.next.page);
  const auto found = by_offset_.find(page.locator.offset);
  if (found == by_offset_.end()) return nullptr;
  JobRef job = found->second.lock();
  if (!job || work_->state(*job) == PageJob::State::failed) return nullptr;
  const bool is_same = job->cluster == segment.cluster && job->page == stream.next.page &&
                       job->description == page && job->encoding == segment.encoding &&
                       job->element == stream.element && job->in_parts == is_in_parts(stream, segment) &&
                       job->fraction == fraction_of(segment, stream.next.page) &&
                       job->end_fraction == fraction_of(segment, stream.next.page + 1);
  return is_same ? job : nullptr;
}

// True if the page has to be read: then it is the last one planned.
bool ClusterPool::plan_next(Stream& stream) {
  JobRef job = find_shared(stream);
  const bool is_new = job == nullptr;
  if (is_new) {
    job = make_job(stream, stream.next);
    share(*job);
    by_offset_[job->description.locator.offset] = job;
    if (by_offset_.size() > sweep_at_) {
      std::erase_if(by_offset_, [](const auto& entry) { return entry.second.expired(); });
      sweep_at_ = std::max<std::size_t>(64, 2 * by_offset_.size());
    }
  }
  sealed_ahead_ += stored_size(job->description);
  decoded_ahead_ += job->decoded;
  stream.planned.push_back(std::move(job));
  do advance(stream, stream.next);
  while (stream.next.segment && !can_plan(*stream.next.segment, stream.next.page));
  return is_new;
}

bool ClusterPool::has_room_for_next(const Stream& stream) const {
  const PageDescriptor page = stream.next.segment->page(stream.next.page);
  const std::uint64_t decoded = page.elements * size_of(stream.element);
  if (sealed_ahead_ + stored_size(page) > most_sealed_ahead_) return false;
  return !parallel_ || decoded_ahead_ + decoded <= most_decoded_ahead_;
}

// Should the next page of a stream come with the request for the one planned last, which starts at `begin`?
bool ClusterPool::belongs_to_request(const Stream& stream, std::uint64_t begin) const {
  const PageJob& before = *stream.planned.back();
  if (unit_ == 1 && depth_ == 1) return false;
  if (!stream.next.segment || stream.next.segment->cluster != before.cluster) return false;
  const PageDescriptor page = stream.next.segment->page(stream.next.page);
  const std::uint64_t offset = page.locator.offset;
  if (unit_ > 1 && offset / unit_ == before.description.locator.offset / unit_) return true;
  const io::IoTraits traits = source_->file_of(page).traits();
  if (traits.best_request == 0 || depth_ == 1) return false;
  const std::size_t best = std::min(traits.best_request, depth_ * source_->options().read_ahead);
  const std::uint64_t end = before.description.locator.offset + stored_size(before.description);
  return offset >= end && offset - end <= (unit_ > 1 ? 0 : traits.worthwhile_gap) &&
         offset + stored_size(page) - begin <= best;
}

// May the next page be planned with the one before although the room for what is read ahead is used up? Only
// the memory budget limits that, of which each stream has a part: where it is too small for the requests of
// all, none of them shall read page by page.
bool ClusterPool::has_room_in_request(const Stream& stream, std::size_t planned) const {
  const PageDescriptor page = stream.next.segment->page(stream.next.page);
  const std::size_t budget = source_->options().memory_budget / 2;
  const std::uint64_t sealed = stored_size(page);
  const std::uint64_t decoded = page.elements * size_of(stream.element);
  return sealed_ahead_ + sealed <= budget && (!parallel_ || decoded_ahead_ + decoded <= budget) &&
         planned + sealed <= budget / std::max<std::size_t>(active_.size(), 1);
}

// Plans the next page and those that are best read with it: what begins in the same unit and, once reading
// goes on, what makes a request large enough.
void ClusterPool::plan_request(Stream& stream, std::vector<JobRef>& batch) {
  if (plan_next(stream)) batch.push_back(stream.planned.back());
  const std::uint64_t begin = stream.planned.back()->description.locator.offset;
  if (!belongs_to_request(stream, begin)) return;
  std::size_t planned = 0;
  for (const JobRef& job : stream.planned) planned += stored_size(job->description);
  do {
    if (!has_room_in_request(stream, planned)) return;
    if (plan_next(stream)) batch.push_back(stream.planned.back());
    planned += stored_size(stream.planned.back()->description);
  } while (belongs_to_request(stream, begin));
}

// Bytes that have to be planned or on their way for the line never to run dry: pages are planned when half of
// them are used up, and that half then lasts for two round trips.
std::size_t ClusterPool::line_needs() const noexcept {
  std::size_t product = 0;
  for (const Lane& lane : lanes_)
    if (lane.is_far) product = std::max(product, lane.scheduler->line_estimate().product());
  return 4 * product;
}

// The depth at which requests have the size that is best for the file. Reading that goes on has it at once:
// large requests cost a server much less per byte.
std::size_t ClusterPool::depth_of_requests() const noexcept {
  const std::size_t once = std::max<std::size_t>(source_->options().read_ahead, 1);
  return std::min(source_->file().traits().best_request / once, most_depth);
}

// How much is read ahead: at first so much per column, more while it goes on - as long as bytes are waited
// for, or to keep many threads busy; and what the line needs once it is known how far the reading will go.
void ClusterPool::adapt_depth(bool goes_on) {
  bool more = goes_on && parallel_;
  if (const std::uint64_t seen = waits(); seen > waits_seen_ + active_.size()) {
    waits_seen_ = seen;
    more = true;
  }
  if (more) depth_ = std::min(2 * depth_, most_depth);
  if (goes_on) depth_ = std::max(depth_, depth_of_requests());
  const ReadOptions& options = source_->options();
  std::size_t wanted = 0;
  if (__builtin_mul_overflow(options.read_ahead, depth_ * active_.size(), &wanted))
    wanted = options.memory_budget;
  const std::size_t needed = goes_on || !window_.empty() ? line_needs() : 0;
  const std::size_t most = options.memory_budget / 2;
  most_sealed_ahead_ = std::min(std::max(wanted, needed), most);
  most_decoded_ahead_ = std::min(most_sealed_ahead_, decoded_for_all_threads_);
  // Pages that are still on their way count as decoded ones.
  if (needed > decoded_for_all_threads_ / 4) most_decoded_ahead_ = std::min(4 * needed, most);
}

// Plans the next pages of all active streams in the order of need, that of `needed` first, wherever there is
// room.
void ClusterPool::plan_ahead(Stream* needed) {
  join_expected();
  adapt_depth(needed == nullptr);
  std::vector<JobRef> batch;
  if (needed != nullptr) {
    plan_request(*needed, batch);
    // It is taken at once, and in need of no room.
    sealed_ahead_ -= stored_size(needed->planned.front()->description);
    decoded_ahead_ -= needed->planned.front()->decoded;
  }
  std::vector<Later::QueuedStream> entries;
  // Who announces pages knows better than what is learnt.
  for (Stream* stream : uses_.empty() ? active_ : std::vector<Stream*>())
    if (stream->next.segment && (stream->is_certain || stream->planned.empty()))
      entries.push_back(Later::queued(*stream));
  std::priority_queue<Later::QueuedStream, std::vector<Later::QueuedStream>, Later> order(Later(),
                                                                                          std::move(entries));
  while (!order.empty()) {
    Stream& stream = *order.top().stream;
    order.pop();
    if (!has_room_for_next(stream)) break;
    plan_request(stream, batch);
    if (stream.next.segment && stream.is_certain) order.push(Later::queued(stream));
  }
  const bool is_read_ahead = lanes_[0].scheduler || lanes_[1].scheduler || lanes_[2].scheduler;
  const std::uint64_t held = (is_read_ahead ? sealed_ahead_ : 0) + (parallel_ ? decoded_ahead_ : 0);
  counters_.peak_ahead_bytes = std::max<std::uint64_t>(counters_.peak_ahead_bytes, held + brought_bytes_);
  if (needed != nullptr) {
    sealed_ahead_ += stored_size(needed->planned.front()->description);
    decoded_ahead_ += needed->planned.front()->decoded;
  }
  if (!batch.empty()) plan_pages(batch, false);
}

// Finds the extents for the pages and has them read.
void ClusterPool::plan_pages(const std::vector<JobRef>& jobs, bool urgent) {
  for (Lane& lane : lanes_) {
    std::vector<JobRef> of_lane;
    for (const JobRef& job : jobs)
      if (&lane_of(*job) == &lane) of_lane.push_back(job);
    if (!of_lane.empty()) plan_in(lane, of_lane);
  }
  start_reading(jobs, urgent);
}

std::size_t ClusterPool::largest_extent(const io::IoTraits& traits) const noexcept {
  return std::max({source_->options().read_ahead, traits.best_request, std::size_t{1}});
}

void ClusterPool::plan_in(Lane& lane, const std::vector<JobRef>& jobs) {
  const io::IoTraits traits = lane.file->traits();
  const std::size_t limit = largest_extent(traits);
  const std::size_t most = traits.reads_are_copies ? std::min(limit, copied_at_once) : limit;
  const std::uint64_t file_size = lane.file->size();
  // Where large requests are best, or a request takes long, pages share them, even those that could go
  // straight to their place.
  const bool straight = (unit_ == 1 && traits.best_request == 0 && !lane.is_far) || traits.reads_are_copies;
  std::vector<JobRef> together;
  std::vector<io::WantedRange> ranges;
  const auto join = [&](const std::vector<JobRef>& group, const io::ReadPlan& plan) {
    std::vector<std::shared_ptr<SealedExtent>> extents;
    for (const io::ReadExtent& planned : plan.extents) {
      extents.push_back(std::make_shared<SealedExtent>());
      extents.back()->plan = planned;
      extents.back()->file = lane.file;
      if (traits.reads_are_copies && jobs.size() > 1) lane.file->will_need(planned.offset, planned.size);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (plan.ranges[i].extent == io::ReadPlan::none) {
        group[i]->state = PageJob::State::failed;
        continue;
      }
      group[i]->extent = extents[plan.ranges[i].extent];
      group[i]->position = plan.ranges[i].position;
    }
  };
  for (const JobRef& job : jobs) {
    if (take_brought(*job)) continue;
    const io::WantedRange range{job->description.locator.offset, stored_size(job->description)};
    if (straight && job->is_image && range.size >= worth_a_request) {
      join({job}, io::plan_reads({&range, 1}, traits, most, file_size));
    } else {
      together.push_back(job);
      ranges.push_back(range);
    }
  }
  join(together, io::plan_reads(ranges, traits, most, file_size));
}

void ClusterPool::start_reading(const std::vector<JobRef>& jobs, bool urgent) {
  std::vector<JobRef> ready;
  for (const Lane& lane : lanes_)
    if (lane.scheduler) lane.scheduler->hold();
  for (const JobRef& job : jobs) {
    if (!job->extent) continue;
    if (!lane_of(*job).scheduler) {
      ready.push_back(job);
      continue;
    }
    if (!job->extent->id && !start_extent(job->extent, urgent)) {
      work_->drop(job);
      continue;
    }
    const auto found = std::find(in_flight_.rbegin(), in_flight_.rend(), job->extent);
    if (found == in_flight_.rend()) {  // it was brought before
      ready.push_back(job);
      continue;
    }
    waiting_[static_cast<std::size_t>(in_flight_.rend() - found) - 1].push_back(job);
  }
  if (!ready.empty()) work_->add(ready, urgent);
  for (const Lane& lane : lanes_)
    if (lane.scheduler) lane.scheduler->release();
  collect();
}

// ---- What a scheduler reads

// False if the transport can read nothing at all, as a store may in a forked child.
bool ClusterPool::start_extent(const std::shared_ptr<SealedExtent>& extent, bool urgent) {
  extent->memory = work_->buffers().lend(extent->plan.size, extent->file->traits().alignment);
  in_flight_.push_back(extent);
  waiting_.emplace_back();
  try {
    extent->id =
        lane_of(*extent).scheduler->start(extent->plan, {extent->memory.data(), extent->plan.size}, urgent);
  } catch (const Error&) {
    in_flight_.pop_back();
    waiting_.pop_back();
    return false;
  }
  return true;
}

// Passes on the pages whose bytes have arrived.
void ClusterPool::collect() {
  for (const Lane& lane : lanes_)
    if (lane.scheduler) lane.scheduler->poll();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    const std::shared_ptr<SealedExtent> extent = in_flight_[i];
    io::ReadScheduler& scheduler = *lane_of(*extent).scheduler;
    if (!scheduler.settled(*extent->id)) {
      if (kept != i) {
        in_flight_[kept] = std::move(in_flight_[i]);
        waiting_[kept] = std::move(waiting_[i]);
      }
      ++kept;
      continue;
    }
    const std::vector<JobRef> jobs = std::move(waiting_[i]);
    bool failed = false;
    try {
      scheduler.wait_for(*extent->id);
    } catch (...) {
      failed = true;
      extent->failure = std::current_exception();
    }
    scheduler.forget(*extent->id);
    extent->bytes = {extent->memory.data(), extent->plan.size};
    if (!failed) {
      std::vector<JobRef> wanted;
      for (const JobRef& job : jobs)
        if (job->extent) wanted.push_back(job);
      work_->add(wanted);
    } else {
      for (const JobRef& job : jobs) work_->drop(job);
    }
  }
  in_flight_.resize(kept);
  waiting_.resize(kept);
  if (source_->cache() != nullptr) note_rates();
  bring();
}

// Only lanes with a scheduler: threads that read while they decode note their rates themselves.
void ClusterPool::note_rates() {
  for (Lane& lane : lanes_) {
    if (!lane.scheduler) continue;
    const io::ReadCounters& now = lane.scheduler->counters();
    const double seconds = now.seconds_waiting - lane.noted.seconds_waiting;
    if (now.bytes == lane.noted.bytes) continue;
    source_->cache()->note_rate(*lane.file, now.bytes - lane.noted.bytes, seconds);
    lane.noted = now;
  }
}

// Of jobs that were dropped before their bytes arrived.
void ClusterPool::forget_unused_extents() {
  for (std::size_t i = 0; i < in_flight_.size();) {
    const bool used = std::any_of(waiting_[i].begin(), waiting_[i].end(),
                                  [](const JobRef& job) { return job->extent != nullptr; });
    if (used || in_flight_[i]->announced > 0) {
      ++i;
      continue;
    }
    lane_of(*in_flight_[i]).scheduler->forget(*in_flight_[i]->id);
    in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(i));
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Until the page is there (or failed: false).
bool ClusterPool::complete(PageJob& job) {
  while (work_->state(job) == PageJob::State::awaiting_bytes) {
    // Kept alive here, because the thread that takes the job releases it.
    const std::shared_ptr<SealedExtent> extent = job.extent;
    try {
      lane_of(*extent).scheduler->wait_for(*extent->id);
    } catch (...) {  // collect() sees it
    }
    collect();
  }
  return work_->finish(job);
}

// ---- What is announced

void ClusterPool::expect(const std::vector<std::uint32_t>& representations, ElementType element, Form form,
                         bool is_certain) {
  if (!process_.is_current()) restart_in_child();
  if (!is_far()) return;
  Stream& stream = open(representations, element, form);
  if (!stream.is_active && std::find(expected_.begin(), expected_.end(), &stream) == expected_.end())
    expected_.push_back(&stream);
  stream.is_certain = stream.is_certain || is_certain;
}

void ClusterPool::start_expected() {
  planning([&] {
    if (!expected_.empty()) plan_ahead(nullptr);
  });
}

// Where reading begins, all that is expected begins as well.
void ClusterPool::join_expected() {
  if (window_.empty() && active_.empty()) return;
  for (Stream* stream : std::exchange(expected_, {})) {
    if (stream->is_active) continue;
    ClusterSlice begin;
    if (window_.empty()) {
      const StreamPosition& other = active_.back()->next;
      begin = {.cluster = other.segment->cluster, .begin = fraction_of(*other.segment, other.page)};
    } else {
      begin = window_.front();
    }
    stream->next = first_from(*stream, begin);
    if (!stream->next.segment) continue;
    stream->is_active = true;
    active_.push_back(stream);
  }
}

void ClusterPool::announce(std::vector<Coming> coming) {
  planning([&] {
    if (is_far()) replace_announced(std::move(coming));
  });
}

void ClusterPool::replace_announced(std::vector<Coming> coming) {
  // A page at the border of two steps is requested twice, and so is one that columns share.
  uses_.clear();
  for (const Coming& of : coming)
    for (std::size_t i = 0; i < of.count; ++i) ++uses_[of.segment->page(of.first + i).locator.offset];
  std::vector<std::uint64_t> unwanted;
  for (const auto& [offset, brought] : brought_)
    if (!uses_.contains(offset)) unwanted.push_back(offset);
  for (const std::uint64_t offset : unwanted) {
    let_go(offset);
    ++counters_.prefetched_unused;
  }
  forget_unused_extents();
  coming_.assign(std::make_move_iterator(coming.begin()), std::make_move_iterator(coming.end()));
  bring();
}

std::size_t ClusterPool::brought_at_once() const noexcept {
  return std::max(least_brought_at_once, source_->file().traits().best_request);
}

// Asks for announced pages, when half of those that were asked for before are used.
void ClusterPool::bring() {
  if (coming_.empty()) return;
  // A page that two steps need keeps what came with it.
  const std::size_t room = source_->options().memory_budget / 2;
  const std::size_t most = std::min(std::max(line_needs(), least_brought), room);
  if (unused_bytes_ > most / 2) return;
  for (Lane& lane : lanes_)
    if (lane.scheduler) lane.scheduler->hold();
  while (!coming_.empty() && unused_bytes_ < most && brought_bytes_ < room)
    bring_some(std::min({brought_at_once(), most - unused_bytes_, room - brought_bytes_}));
  for (Lane& lane : lanes_)
    if (lane.scheduler) lane.scheduler->release();
  counters_.peak_ahead_bytes = std::max<std::uint64_t>(counters_.peak_ahead_bytes, brought_bytes_);
}

// The next pages of together at most so many bytes; larger ones are read when they are asked for.
void ClusterPool::bring_some(std::size_t most) {
  std::array<std::vector<PageDescriptor>, 2> pages;
  const std::size_t largest = brought_at_once();
  std::size_t sealed = 0;
  while (!coming_.empty()) {
    Coming& next = coming_.front();
    if (next.count == 0) {
      coming_.pop_front();
      continue;
    }
    const PageDescriptor page = next.segment->page(next.first);
    const std::size_t lane = source_->is_cached(page) ? 1 : 0;
    const std::uint64_t stored = stored_size(page);
    const bool is_wanted = can_plan(*next.segment, next.first) && lanes_[lane].is_far && stored <= largest &&
                           !brought_.contains(page.locator.offset) && uses_.contains(page.locator.offset) &&
                           !comes_from_others(*next.segment, next.first);
    if (is_wanted && sealed > 0 && sealed + stored > most) break;
    ++next.first;
    --next.count;
    if (!is_wanted) continue;
    sealed += stored;
    pages[lane].push_back(page);
    if (sealed >= most) break;
  }
  for (std::size_t lane = 0; lane < pages.size(); ++lane)
    if (!pages[lane].empty()) bring_in(lanes_[lane], pages[lane]);
}

void ClusterPool::bring_in(Lane& lane, const std::vector<PageDescriptor>& pages) {
  std::vector<io::WantedRange> ranges;
  for (const PageDescriptor& page : pages) ranges.push_back({page.locator.offset, stored_size(page)});
  const io::IoTraits traits = lane.file->traits();
  const io::ReadPlan plan = io::plan_reads(ranges, traits, largest_extent(traits), lane.file->size());
  std::vector<std::shared_ptr<SealedExtent>> extents;
  for (const io::ReadExtent& planned : plan.extents) {
    auto& extent = extents.emplace_back(std::make_shared<SealedExtent>());
    extent->plan = planned;
    extent->file = lane.file;
    if (start_extent(extent, false)) brought_bytes_ += planned.size;
  }
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const io::ReadPlan::PlannedRange range = plan.ranges[i];
    if (range.extent == io::ReadPlan::none || !extents[range.extent]->id) continue;
    const bool is_new = brought_
                            .try_emplace(pages[i].locator.offset, extents[range.extent], range.position,
                                         stored_size(pages[i]))
                            .second;
    if (!is_new) continue;
    ++extents[range.extent]->announced;
    unused_bytes_ += stored_size(pages[i]);
  }
}

// Gives the bytes of an announced page to who needs it. What could not be read is tried once more by itself.
bool ClusterPool::take_brought(PageJob& job) {
  const std::uint64_t offset = job.description.locator.offset;
  const auto uses = uses_.find(offset);
  const bool is_last = uses == uses_.end() || --uses->second == 0;
  if (is_last && uses != uses_.end()) uses_.erase(uses);
  const auto found = brought_.find(offset);
  if (found == brought_.end()) return false;
  const Brought brought = found->second;
  if (!std::exchange(found->second.is_used, true)) unused_bytes_ -= found->second.size;
  const bool fits = stored_size(job.description) <= brought.extent->plan.size - brought.position;
  if (is_last || !fits || brought.extent->failure != nullptr) let_go(offset);
  if (!fits || brought.extent->failure != nullptr) return false;
  job.extent = brought.extent;
  job.position = brought.position;
  ++counters_.prefetched_used;
  return true;
}

void ClusterPool::let_go(std::uint64_t offset) {
  const auto found = brought_.find(offset);
  const std::shared_ptr<SealedExtent> extent = std::move(found->second.extent);
  if (!found->second.is_used) unused_bytes_ -= found->second.size;
  brought_.erase(found);
  if (--extent->announced == 0) brought_bytes_ -= extent->plan.size;
}

// ---- Leaving pages out

void ClusterPool::discard(const JobRef& job) {
  work_->drop(job);
  sealed_ahead_ -= stored_size(job->description);
  decoded_ahead_ -= job->decoded;
  ++counters_.prefetched_unused;
}

// One in work is waited for, so that what was counted does not depend on luck.
void ClusterPool::discard_for_good(const JobRef& job) {
  discard(job);
  if (work_->state(*job) == PageJob::State::in_work) work_->finish(*job);
}

void ClusterPool::discard_before(Stream& stream, std::size_t cluster, std::size_t page) {
  bool any = false;
  while (!stream.planned.empty()) {
    const PageJob& first = *stream.planned.front();
    if (std::pair(first.cluster, first.page) >= std::pair(cluster, page)) break;
    discard(stream.planned.front());
    stream.planned.pop_front();
    any = true;
  }
  if (any) forget_unused_extents();
}

// Abandons streams with a planned page that was not requested although the others are beyond the page after
// it: they are no longer used.
void ClusterPool::leave_behind(std::size_t cluster, double fraction) {
  for (std::size_t i = active_.size(); i > 0; --i) {
    Stream& stream = *active_[i - 1];
    if (stream.planned.empty() || !stream.next.segment) continue;
    if (keeps_closed_ && stream.users == 0) continue;  // columns are read one after the other
    std::pair second(stream.next.segment->cluster, fraction_of(*stream.next.segment, stream.next.page));
    if (stream.planned.size() > 1) second = {stream.planned[1]->cluster, stream.planned[1]->fraction};
    if (second < std::pair(cluster, fraction)) deactivate(stream);
  }
}

// ---- Reading

// As if nothing were ever read ahead, so that errors say what they would say then.
ClusterPool::JobRef ClusterPool::read_alone(const Stream& stream, const StreamPosition& position,
                                            std::byte* destination) {
  JobRef job = make_job(stream, position, destination);
  const ColumnSegment& segment = *position.segment;
  if (source_->is_cached(job->description)) {
    // What the cache has of it was no use.
    source_->cache()->note_damage(job->description.locator.offset);
    job->description = source_->placed_pages(segment.column, segment.cluster)[position.page];
  }
  try {
    const auto begin = std::chrono::steady_clock::now();
    const std::size_t stored = stored_size(job->description);
    PageBuffers::Loan sealed = work_->buffers().lend(stored);
    ReadCounters& counters = work_->counters();
    source_->read_sealed(job->description, {sealed.data(), stored});
    ++counters.requests;
    counters.bytes += stored;
    const auto read = std::chrono::steady_clock::now();
    if (destination == nullptr) job->memory = work_->buffers().lend(job->decoded);
    std::byte* out = destination != nullptr ? destination : job->memory.data();
    if (job->in_parts) {
      unseal_packed(*source_, job->description, {sealed.data(), stored}, {out, job->decoded});
      job->packed = out;
    } else {
      unseal(*source_, job->description, segment.encoding, stream.element, {sealed.data(), stored}, out);
      job->elements = out;
    }
    const ByteSpan bytes{sealed.data(), stored};
    source_->keep(segment.column, segment.cluster, position.page, job->description,
                  bytes.first(job->description.locator.size), bytes.subspan(job->description.locator.size),
                  counters);
    job->state = PageJob::State::done;
    ++counters.pages;
    const auto end = std::chrono::steady_clock::now();
    counters.seconds_waiting += std::chrono::duration<double>(read - begin).count();
    counters.seconds_decoding += std::chrono::duration<double>(end - read).count();
  } catch (const Error& error) {
    throw source_->in_page(error, segment.column, segment.cluster, position.page);
  }
  return job;
}

ClusterPool::Page ClusterPool::take(Stream& stream, const std::shared_ptr<const ColumnSegment>& segment,
                                    std::size_t page) {
  const StreamPosition position{segment, page};
  JobRef job = planning([&] { return take_planned(stream, position); });
  if (!job) job = read_alone(stream, position, nullptr);
  return stream.recent = job;
}

// Null if the page has to be read alone.
ClusterPool::JobRef ClusterPool::take_planned(Stream& stream, const StreamPosition& position) {
  const std::shared_ptr<const ColumnSegment>& segment = position.segment;
  const std::size_t page = position.page;
  if (stream.recent && stream.recent->cluster == segment->cluster && stream.recent->page == page)
    return stream.recent;
  stream.is_certain = true;
  const bool in_order = follows(stream, *segment, page);
  discard_before(stream, segment->cluster, page);
  const auto is_first = [&] {
    return !stream.planned.empty() && stream.planned.front()->cluster == segment->cluster &&
           stream.planned.front()->page == page;
  };
  const bool was_planned = is_first();
  // Where it was only guessed which pages come first, one before them may be missing.
  const bool is_before = !window_.empty() && stream.is_new && !stream.planned.empty() && !was_planned;
  stream.is_new = false;
  if (!was_planned && !is_before) deactivate(stream);
  stream.last = position;
  stream.recent.reset();
  if (!can_plan(*segment, page)) return nullptr;
  if (is_before || (!was_planned && !in_order)) {
    const JobRef job = make_job(stream, position);
    share(*job);
    plan_pages({job}, true);
    return complete(*job) ? job : nullptr;
  }
  if (!was_planned) {
    leave_behind(segment->cluster, fraction_of(*segment, page));
    stream.next = position;
    stream.is_active = true;
    active_.push_back(&stream);
    plan_ahead(&stream);
  } else {
    ++counters_.prefetched_used;
  }
  const JobRef job = stream.planned.front();
  stream.planned.pop_front();
  sealed_ahead_ -= stored_size(job->description);
  decoded_ahead_ -= job->decoded;
  const bool is_low =
      sealed_ahead_ <= most_sealed_ahead_ / 2 && (!parallel_ || decoded_ahead_ <= most_decoded_ahead_ / 2);
  if (was_planned && is_low) {
    leave_behind(segment->cluster, fraction_of(*segment, page));
    plan_ahead(nullptr);
  }
  return complete(*job) ? job : nullptr;
}

// Jobs for the next pages of a bulk read, as many as fit one batch.
std::vector<ClusterPool::JobRef> ClusterPool::start_bulk(const Stream& stream, StreamPosition& position,
                                                         std::size_t& left, std::byte*& out) {
  const std::size_t most = std::min(bulk_batch, source_->options().memory_budget / 4);
  std::vector<JobRef> jobs;
  std::vector<JobRef> planned;
  const auto goes_on_in_unit = [&] {
    return unit_ > 1 && position.segment->page(position.page).locator.offset / unit_ ==
                            jobs.back()->description.locator.offset / unit_;
  };
  for (std::size_t sealed = 0; left > 0 && (jobs.empty() || sealed < most || goes_on_in_unit());
       --left, ++position.page) {
    jobs.push_back(make_job(stream, position, out));
    out += jobs.back()->decoded;
    sealed += stored_size(jobs.back()->description);
    if (can_plan(*position.segment, position.page)) {
      share(*jobs.back());
      planned.push_back(jobs.back());
    } else {
      jobs.back()->state = PageJob::State::failed;
    }
  }
  plan_pages(planned, true);
  return jobs;
}

void ClusterPool::read(Stream& stream, const std::shared_ptr<const ColumnSegment>& segment, std::size_t first,
                       std::size_t count, std::byte* out) {
  StreamPosition position{segment, first};
  const bool in_order = planning([&] { return follows(stream, *segment, first); });
  // What was read ahead is used; behind it begins what goes straight to its place.
  while (count > 0 && !stream.planned.empty() && stream.planned.front()->cluster == segment->cluster &&
         stream.planned.front()->page == position.page) {
    const Page ahead = take(stream, segment, position.page);
    if (ahead->packed != nullptr) {
      const std::size_t elements = ahead->description.elements;
      codec::decode_part(ahead->encoding, ahead->packed, elements, 0, elements, out);
    } else {
      std::memcpy(out, ahead->elements, ahead->decoded);
    }
    out += ahead->decoded;
    ++position.page;
    --count;
  }
  if (count == 0) return;
  planning([&] {
    if (!in_order || stream.is_active) deactivate(stream);
  });
  while (count > 0) {
    // All are waited for before any error leaves: they write to the caller's memory.
    const std::vector<JobRef> failed = planning([&] {
      std::vector<JobRef> jobs = start_bulk(stream, position, count, out);
      std::erase_if(jobs, [&](const JobRef& job) { return complete(*job); });
      return jobs;
    });
    for (const JobRef& job : failed)
      static_cast<void>(read_alone(stream, {segment, job->page}, job->destination));
  }
  stream.last = {segment, position.page - 1};
}

ReadCounters ClusterPool::counters() const {
  ReadCounters all = work_->totals();
  all.prefetched_used = counters_.prefetched_used;
  all.prefetched_unused = counters_.prefetched_unused;
  all.peak_ahead_bytes = counters_.peak_ahead_bytes;
  for (const Lane& lane : lanes_) {
    if (!lane.scheduler) continue;
    const io::ReadCounters& read = lane.scheduler->counters();
    all.requests += read.requests;
    all.bytes += read.bytes;
    all.read_over_bytes += read.read_over_bytes;
    all.seconds_waiting += read.seconds_waiting;
  }
  return all;
}

}  // namespace colonnade::page
