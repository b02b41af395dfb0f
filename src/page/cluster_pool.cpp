// See cluster_pool.h.
#include "page/cluster_pool.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <queue>

#include "base/interruption.h"
#include "base/thread_pool.h"
#include "cache/data_set.h"
#include "codec/column_codec.h"

namespace colonnade::page {
namespace {

// Sealed pages of a bulk read that are planned together.
constexpr std::size_t bulk_batch = std::size_t{64} << 20;
// Rounds for which a closed stream is kept that nothing opens: several iterations may take turns.
constexpr std::uint64_t most_rounds_kept = 8;
// The part of the memory budget that the last pages of closed streams may take.
constexpr std::size_t resting_part = 16;

ReadAhead::Size size_of_next(const PagePosition& next, const ReadColumn& column) {
  const PageDescriptor page = next.segment->page(next.page);
  return {stored_size(page), page.elements * size_of(column.element)};
}

unsigned helpers_for(const ReadOptions& options) {
  return options.parallel_decompression ? ThreadPool::processors() - 1 : 0;
}

}  // namespace

class ClusterPool::Stream {
 public:
  ReadColumn column;
  Form form = Form::elements;
  Streams::iterator place;  // of itself
  std::size_t users = 0;
  std::uint64_t opened_in = 0;  // round_
  bool is_expected = false;     // in expected_
  std::uint64_t activated = 0;  // its key in active_; 0: it is not active
  std::deque<JobRef> planned;   // in order
  PagePosition next;            // to be planned, behind those
  PagePosition last;            // taken
  bool is_new = true;           // nothing was taken since the window moved
  bool is_certain = false;      // it is in use, not only expected to be
  JobRef recent;                // the page taken last, for other readers of the column
  std::size_t resting = 0;      // bytes of that while the stream is closed
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

ClusterPool::ClusterPool(const PageSource& source) : source_(&source), window_(source) {
  start();
}

void ClusterPool::start() {
  const ReadOptions& options = source_->options();
  const io::IoTraits traits = source_->file().traits();
  const unsigned helpers = helpers_for(options);
  auto work =
      std::make_shared<PageWork>(*source_, std::make_shared<PageBuffers>(options.memory_budget / 2), helpers);
  auto extents = std::make_unique<ExtentReader>(*source_, *work);
  auto announced = std::make_unique<AnnouncedPages>(*source_, *extents, counters_);
  if (work_) leave_to_parent();
  unit_ = traits.read_unit;
  ahead_.emplace(options, traits.best_request, helpers);
  work_ = std::move(work);
  extents_ = std::move(extents);
  announced_ = std::move(announced);
  process_ = {};
}

ClusterPool::~ClusterPool() {
  if (!process_.is_current()) {
    leave_to_parent();
    return;
  }
  work_->stop();
  extents_.reset();
}

// In a forked child. Other threads may have held any of this when the process was forked, and none of them
// exists here: it is left alone. Everything else is this thread's own.
void ClusterPool::leave_to_parent() {
  static_cast<void>(new std::shared_ptr<PageWork>(work_));
  [[maybe_unused]] const ExtentReader* const extents = extents_.release();
  [[maybe_unused]] const AnnouncedPages* const announced = announced_.release();
  for (auto& [key, stream] : streams_) {
    stream->recent.reset();
    stream->resting = 0;
  }
  resting_bytes_ = 0;
  for (Stream* stream : std::exchange(expected_, {})) stream->is_expected = false;
  forget_positions();
}

void ClusterPool::forget_positions() noexcept {
  for (auto& [key, stream] : streams_) {
    stream->planned.clear();
    stream->next = {};
    stream->activated = 0;
  }
  active_.clear();
  going_on_.clear();
  by_offset_.clear();
  ahead_->clear();
}

// Nothing writes to any memory when it returns. What was read ahead is read once more when it is asked for.
void ClusterPool::drop_plans() noexcept {
  work_->clear();
  extents_->forget_all();
  forget_positions();
  announced_->clear();
}

// For what changes plans: where that fails half way, as without memory, all plans are dropped.
template <class Change>
auto ClusterPool::planning(Change&& change) {
  if (!process_.is_current()) start();
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
    stream->column = {representations, element};
    stream->form = form;
    found = streams_.emplace(std::move(key), std::move(stream)).first;
    found->second->place = found;
  }
  Stream& stream = *found->second;
  ++stream.users;
  stream.opened_in = round_;
  resting_bytes_ -= std::exchange(stream.resting, 0);
  return stream;
}

void ClusterPool::close(Stream& stream) noexcept {
  if (--stream.users == 0 && !keeps_closed_) rest(stream);
}

void ClusterPool::keep_closed(bool keeps) noexcept {
  keeps_closed_ = keeps;
  ++round_;
  for (auto at = streams_.begin(); at != streams_.end();) {
    Stream& stream = *(at++)->second;
    if (stream.users > 0) continue;
    if (round_ - stream.opened_in > most_rounds_kept) {
      remove(stream);
    } else if (!keeps && stream.resting == 0) {
      rest(stream);
    }
  }
}

// Leaves nothing of a closed stream but the page that it had last.
void ClusterPool::rest(Stream& stream) noexcept {
  if (!stop_reading(stream)) return;
  const PageJob* const page = stream.recent.get();
  std::size_t bytes = page != nullptr ? page->memory.capacity() : 0;
  if (page != nullptr && page->read_to) bytes += page->read_to->memory.capacity();
  if (bytes == 0 || bytes > source_->options().memory_budget / resting_part - resting_bytes_) {
    streams_.erase(stream.place);
    return;
  }
  stream.last = {};
  stream.is_new = true;
  stream.is_certain = false;
  stream.resting = bytes;
  resting_bytes_ += bytes;
}

void ClusterPool::remove(Stream& stream) noexcept {
  if (!stop_reading(stream)) return;
  resting_bytes_ -= stream.resting;
  streams_.erase(stream.place);
}

// False: this is a forked child, and without the memory to start again; the next call tries it once more.
bool ClusterPool::stop_reading(Stream& stream) noexcept {
  try {
    planning([&] { deactivate(stream); });
  } catch (const std::exception&) {
    if (!process_.is_current()) return false;
  }
  if (std::exchange(stream.is_expected, false)) std::erase(expected_, &stream);
  return true;
}

void ClusterPool::activate(Stream& stream, PagePosition next) {
  stream.next = std::move(next);
  stream.activated = ++activations_;
  active_.emplace(stream.activated, &stream);
  going_on_.emplace(stream.activated, &stream);
}

void ClusterPool::deactivate(Stream& stream) {
  for (const JobRef& job : stream.planned) discard_for_good(job);
  stream.planned.clear();
  stream.next = {};
  active_.erase(stream.activated);
  going_on_.erase(std::exchange(stream.activated, 0));
  if (active_.empty()) ahead_->restart();
  extents_->forget_unused();
}

// ---- Positions

void ClusterPool::keep_within(std::vector<ClusterSlice> slices) {
  planning([&] {
    const bool goes_back = window_.move_to(std::move(slices));
    for (auto& [key, stream] : streams_) {
      if (goes_back) rewind(*stream);
      keep_within_window(*stream);
    }
    going_on_ = active_;
    extents_->forget_unused();
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
  if (stream.activated == 0) return;
  const auto outside = [&](const JobRef& job) { return !window_.contains(*job); };
  for (const JobRef& job : stream.planned)
    if (outside(job)) discard_for_good(job);
  std::erase_if(stream.planned, outside);
  // What is planned next is behind all that was.
  PagePosition position = stream.last;
  if (!stream.planned.empty()) {
    window_.enter(stream.column, position, stream.planned.back()->cluster);
    position.page = stream.planned.back()->page;
  }
  if (!position.segment && !window_.is_unlimited()) {
    stream.next = window_.first_from(stream.column, window_.front());
    return;
  }
  window_.advance_to_plannable(stream.column, position);
  stream.next = position;
}

// Is it the page after the one taken last, or the first page of all that are asked for?
bool ClusterPool::follows(Stream& stream, const ColumnSegment& segment, std::size_t page) const {
  if (!window_.is_unlimited() && stream.is_new) return true;
  if (!stream.last.segment) return page == 0;
  PagePosition after = stream.last;
  if (segment.cluster == after.segment->cluster) return page == after.page + 1;
  if (segment.cluster < after.segment->cluster || (window_.is_unlimited() && page != 0)) return false;
  window_.advance(stream.column, after);
  return after.segment && after.segment->cluster == segment.cluster && after.page == page;
}

// ---- Planning

bool ClusterPool::is_in_parts(const Stream& stream, const ColumnSegment& segment) {
  return stream.form == Form::parts && codec::is_divisible(segment.encoding, stream.column.element);
}

ClusterPool::JobRef ClusterPool::make_job(const Stream& stream, const PagePosition& position,
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
  job->element = stream.column.element;
  job->decoded = job->description.elements * size_of(stream.column.element);
  job->is_image = job->description.locator.size == job->decoded &&
                  codec::is_memory_image(segment.encoding, stream.column.element);
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
                       job->element == stream.column.element &&
                       job->in_parts == is_in_parts(stream, segment) &&
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
  ahead_->add(ReadAhead::size_of(*job));
  stream.planned.push_back(std::move(job));
  window_.advance_to_plannable(stream.column, stream.next);
  return is_new;
}

// Should the next page of a stream come with the request for the one planned last, which starts at `begin`?
bool ClusterPool::belongs_to_request(const Stream& stream, std::uint64_t begin) const {
  const PageJob& before = *stream.planned.back();
  if (unit_ == 1 && !ahead_->has_large_requests()) return false;
  if (!stream.next.segment || stream.next.segment->cluster != before.cluster) return false;
  const PageDescriptor page = stream.next.segment->page(stream.next.page);
  const std::uint64_t offset = page.locator.offset;
  if (!announced_->empty() && !announced_->contains(page)) return false;
  if (unit_ > 1 && offset / unit_ == before.description.locator.offset / unit_) return true;
  const io::IoTraits traits = source_->file_of(page).traits();
  if (traits.best_request == 0 || !ahead_->has_large_requests()) return false;
  const std::uint64_t end = before.description.locator.offset + stored_size(before.description);
  return offset >= end && offset - end <= (unit_ > 1 ? 0 : traits.worthwhile_gap) &&
         offset + stored_size(page) - begin <= ahead_->request_size(traits.best_request);
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
    if (!ahead_->has_room_in_request(size_of_next(stream.next, stream.column), planned, active_.size()))
      return;
    if (plan_next(stream)) batch.push_back(stream.planned.back());
    planned += stored_size(stream.planned.back()->description);
  } while (belongs_to_request(stream, begin));
}

// Plans the next pages of all active streams in the order of need, that of `needed` first, wherever there is
// room.
void ClusterPool::plan_ahead(Stream* needed) {
  std::erase_if(going_on_, [](const auto& each) { return !each.second->next.segment; });
  join_expected();
  const bool goes_on = needed == nullptr;
  const bool is_end_known = goes_on || !window_.is_unlimited();
  ahead_->adapt(goes_on, active_.size(), extents_->waits(), is_end_known ? extents_->line_needs() : 0);
  std::vector<JobRef> batch;
  if (needed != nullptr) {
    plan_request(*needed, batch);
    // It is taken at once, and in need of no room.
    ahead_->remove(ReadAhead::size_of(*needed->planned.front()));
  }
  std::vector<Later::QueuedStream> entries;
  // Who announces pages knows better than what is learnt.
  if (announced_->empty()) {
    for (const auto& [activated, stream] : going_on_)
      if (stream->next.segment && (stream->is_certain || stream->planned.empty()))
        entries.push_back(Later::queued(*stream));
  }
  std::priority_queue<Later::QueuedStream, std::vector<Later::QueuedStream>, Later> order(Later(),
                                                                                          std::move(entries));
  while (!order.empty()) {
    Stream& stream = *order.top().stream;
    order.pop();
    if (!ahead_->has_room_for(size_of_next(stream.next, stream.column))) break;
    plan_request(stream, batch);
    if (stream.next.segment && stream.is_certain) order.push(Later::queued(stream));
  }
  const std::uint64_t held = (extents_->has_schedulers() ? ahead_->sealed_bytes() : 0) +
                             ahead_->decoded_bytes() + announced_->bytes();
  counters_.peak_ahead_bytes = std::max(counters_.peak_ahead_bytes, held);
  if (needed != nullptr) ahead_->add(ReadAhead::size_of(*needed->planned.front()));
  if (!batch.empty()) plan_pages(batch, false);
}

// Finds the extents for the pages and has them read.
void ClusterPool::plan_pages(const std::vector<JobRef>& jobs, bool urgent) {
  for (const JobRef& job : jobs) static_cast<void>(announced_->take(*job));
  extents_->plan(jobs);
  extents_->start(jobs, urgent);
  collect();
}

// Passes on the pages whose bytes have arrived.
void ClusterPool::collect() {
  extents_->collect();
  announced_->bring();
}

// Until the page is there (or failed: false).
bool ClusterPool::complete(PageJob& job) {
  while (work_->state(job) == PageJob::State::awaiting_bytes) {
    extents_->wait_for(job);
    collect();
  }
  return work_->finish(job);
}

// ---- What is announced

void ClusterPool::expect(const std::vector<std::uint32_t>& representations, ElementType element, Form form,
                         bool is_certain) {
  if (!process_.is_current()) start();
  if (!is_far()) return;
  Stream& stream = open(representations, element, form);
  if (stream.activated == 0 && !stream.is_expected) {
    expected_.push_back(&stream);
    stream.is_expected = true;
  }
  stream.is_certain = stream.is_certain || is_certain;
}

void ClusterPool::start_expected() {
  planning([&] {
    if (!expected_.empty() || !active_.empty()) plan_ahead(nullptr);
  });
}

// Where reading begins, all that is expected begins as well; without a window, beside a column that goes on.
void ClusterPool::join_expected() {
  if (window_.is_unlimited() && going_on_.empty()) return;
  ClusterSlice begin;
  if (window_.is_unlimited()) {
    const PagePosition& other = going_on_.rbegin()->second->next;
    begin = {.cluster = other.segment->cluster, .begin = fraction_of(*other.segment, other.page)};
  } else {
    begin = window_.front();
  }
  for (Stream* stream : std::exchange(expected_, {})) {
    stream->is_expected = false;
    if (stream->activated != 0) continue;
    stream->next = window_.first_from(stream->column, begin);
    if (stream->next.segment) activate(*stream, stream->next);
  }
}

void ClusterPool::announce(std::vector<Coming> coming) {
  planning([&] {
    if (is_far()) announced_->replace(std::move(coming), held_pages());
  });
}

// Pages that columns have here already, or that are planned: column, cluster, page.
AnnouncedPages::Held ClusterPool::held_pages() const {
  AnnouncedPages::Held held;
  const auto hold = [&](const PageJob& job) { held.emplace(job.column, job.cluster, job.page); };
  for (const auto& [key, stream] : streams_) {
    if (stream->recent) hold(*stream->recent);
    for (const JobRef& job : stream->planned) hold(*job);
  }
  return held;
}

// ---- Leaving pages out

void ClusterPool::discard(const JobRef& job) {
  work_->drop(job);
  ahead_->remove(ReadAhead::size_of(*job));
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
  if (any) extents_->forget_unused();
}

// Abandons streams with a planned page that was not requested although the others are beyond the page after
// it: they are no longer used.
void ClusterPool::leave_behind(std::size_t cluster, double fraction) {
  const auto is_behind = [&](const Stream& stream) {
    if (stream.planned.empty() || !stream.next.segment) return false;
    if (keeps_closed_ && stream.users == 0) return false;  // columns are read one after the other
    std::pair second(stream.next.segment->cluster, fraction_of(*stream.next.segment, stream.next.page));
    if (stream.planned.size() > 1) second = {stream.planned[1]->cluster, stream.planned[1]->fraction};
    return second < std::pair(cluster, fraction);
  };
  for (auto end = going_on_.end(); end != going_on_.begin();) {
    Stream& stream = *std::prev(end)->second;
    if (is_behind(stream)) {
      deactivate(stream);
    } else {
      --end;
    }
  }
}

// ---- Reading

// As if nothing were ever read ahead, so that errors say what they would say then.
ClusterPool::JobRef ClusterPool::read_alone(const Stream& stream, const PagePosition& position,
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
      unseal(*source_, job->description, segment.encoding, stream.column.element, {sealed.data(), stored},
             out);
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
  Interruption::check_now_and_then();
  const PagePosition position{segment, page};
  JobRef job = planning([&] { return take_planned(stream, position); });
  if (!job) job = read_alone(stream, position, nullptr);
  return stream.recent = job;
}

// Null if the page has to be read alone.
ClusterPool::JobRef ClusterPool::take_planned(Stream& stream, const PagePosition& position) {
  const std::shared_ptr<const ColumnSegment>& segment = position.segment;
  const std::size_t page = position.page;
  if (stream.recent && stream.recent->cluster == segment->cluster && stream.recent->page == page) {
    if (stream.activated == 0 && !stream.last.segment)
      stream.last = position;  // it was closed and opened again
    return stream.recent;
  }
  stream.is_certain = true;
  const bool in_order = follows(stream, *segment, page);
  discard_before(stream, segment->cluster, page);
  const auto is_first = [&] {
    return !stream.planned.empty() && stream.planned.front()->cluster == segment->cluster &&
           stream.planned.front()->page == page;
  };
  const bool was_planned = is_first();
  // Where it was only guessed which pages come first, one before them may be missing.
  const bool is_before = !window_.is_unlimited() && stream.is_new && !stream.planned.empty() && !was_planned;
  stream.is_new = false;
  if (!was_planned && !is_before) deactivate(stream);
  stream.last = position;
  stream.recent.reset();
  if (!can_plan(*source_, *segment, page)) return nullptr;
  if (is_before || (!was_planned && !in_order)) {
    const JobRef job = make_job(stream, position);
    share(*job);
    plan_pages({job}, true);
    return complete(*job) ? job : nullptr;
  }
  if (!was_planned) {
    leave_behind(segment->cluster, fraction_of(*segment, page));
    activate(stream, position);
    plan_ahead(&stream);
  } else {
    ++counters_.prefetched_used;
  }
  const JobRef job = stream.planned.front();
  stream.planned.pop_front();
  ahead_->remove(ReadAhead::size_of(*job));
  if (was_planned && ahead_->is_low()) {
    leave_behind(segment->cluster, fraction_of(*segment, page));
    plan_ahead(nullptr);
  }
  return complete(*job) ? job : nullptr;
}

// Jobs for the next pages of a bulk read, as many as fit one batch.
std::vector<ClusterPool::JobRef> ClusterPool::start_bulk(const Stream& stream, PagePosition& position,
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
    if (can_plan(*source_, *position.segment, position.page)) {
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
  PagePosition position{segment, first};
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
    if (!in_order || stream.activated != 0) deactivate(stream);
  });
  while (count > 0) {
    Interruption::check_now_and_then();
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
  extents_->add_counters_to(all);
  return all;
}

}  // namespace colonnade::page
