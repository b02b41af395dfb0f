// See extent_reader.h.
#include "page/extent_reader.h"

#include <algorithm>

#include "cache/data_set.h"
#include "page/copied_at_once.h"

namespace colonnade::page {
namespace {

// Stored images of elements of this size and more are worth a request of their own, straight to their place.
constexpr std::size_t worth_a_request = std::size_t{64} << 10;

}  // namespace

ExtentReader::ExtentReader(const PageSource& source, PageWork& work)
    : source_(&source),
      work_(&work),
      lanes_{Lane{.file = &source.file()},
             Lane{.file = source.cache() != nullptr ? &source.cache()->file() : nullptr},
             Lane{.file = source.cache() != nullptr ? &source.cache()->awaited() : nullptr}} {
  for (Lane& lane : lanes_) {
    if (lane.file == nullptr) continue;
    const io::IoTraits traits = lane.file->traits();
    if (traits.concurrency > 1 && !traits.reads_are_copies)
      lane.scheduler = std::make_unique<io::ReadScheduler>(*lane.file);
    lane.is_far = lane.scheduler != nullptr && traits.most_concurrency > 0;
  }
}

ExtentReader::Lane& ExtentReader::lane_of(const PageJob& job) noexcept {
  return *std::ranges::find(lanes_, &source_->file_of(job.description), &Lane::file);
}

ExtentReader::Lane& ExtentReader::lane_of(const SealedExtent& extent) noexcept {
  return *std::ranges::find(lanes_, extent.file, &Lane::file);
}

bool ExtentReader::is_far(const PageDescriptor& page) const noexcept {
  return lanes_[source_->is_cached(page) ? 1 : 0].is_far;
}

bool ExtentReader::has_schedulers() const noexcept {
  return std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.scheduler != nullptr; });
}

std::size_t ExtentReader::line_needs() const noexcept {
  std::size_t product = 0;
  for (const Lane& lane : lanes_)
    if (lane.is_far) product = std::max(product, lane.scheduler->line_estimate().product());
  return 4 * product;
}

std::uint64_t ExtentReader::waits() const noexcept {
  std::uint64_t sum = 0;
  for (const Lane& lane : lanes_)
    if (lane.scheduler) sum += lane.scheduler->counters().waits;
  return sum;
}

void ExtentReader::hold() noexcept {
  for (const Lane& lane : lanes_)
    if (lane.scheduler) lane.scheduler->hold();
}

void ExtentReader::release() {
  for (const Lane& lane : lanes_)
    if (lane.scheduler) lane.scheduler->release();
}

// ---- Planning

std::size_t ExtentReader::largest_extent(const io::IoTraits& traits) const noexcept {
  return std::max({source_->options().read_ahead, traits.best_request, std::size_t{1}});
}

void ExtentReader::plan(const std::vector<JobRef>& jobs) {
  for (const Lane& lane : lanes_) {
    std::vector<JobRef> of_lane;
    for (const JobRef& job : jobs)
      if (!job->extent && &lane_of(*job) == &lane) of_lane.push_back(job);
    if (!of_lane.empty()) plan_in(lane, of_lane);
  }
}

void ExtentReader::plan_in(const Lane& lane, const std::vector<JobRef>& jobs) {
  const io::IoTraits traits = lane.file->traits();
  const std::size_t limit = largest_extent(traits);
  const std::size_t most = traits.reads_are_copies ? std::min(limit, copied_at_once) : limit;
  const std::uint64_t file_size = lane.file->size();
  // Where large requests are best, or a request takes long, pages share them, even those that could go
  // straight to their place.
  const bool straight =
      (source_->file().traits().read_unit == 1 && traits.best_request == 0 && !lane.is_far) ||
      traits.reads_are_copies;
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
  std::vector<JobRef> together;
  std::vector<io::WantedRange> ranges;
  for (const JobRef& job : jobs) {
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

// ---- Requests

void ExtentReader::start(const std::vector<JobRef>& jobs, bool urgent) {
  std::vector<JobRef> ready;
  hold();
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
    const auto found = std::find_if(in_flight_.rbegin(), in_flight_.rend(),
                                    [&](const InFlight& each) { return each.extent == job->extent; });
    if (found == in_flight_.rend())  // it is here already
      ready.push_back(job);
    else
      found->waiting.push_back(job);
  }
  if (!ready.empty()) work_->add(ready, urgent);
  release();
}

ExtentReader::Requested ExtentReader::request(std::span<const PageDescriptor> pages) {
  const io::RandomAccessFile& file = source_->file_of(pages.front());
  std::vector<io::WantedRange> ranges;
  for (const PageDescriptor& page : pages) ranges.push_back({page.locator.offset, stored_size(page)});
  const io::IoTraits traits = file.traits();
  Requested requested{io::plan_reads(ranges, traits, largest_extent(traits), file.size()), {}};
  for (const io::ReadExtent& planned : requested.plan.extents) {
    auto& extent = requested.extents.emplace_back(std::make_shared<SealedExtent>());
    extent->plan = planned;
    extent->file = &file;
    static_cast<void>(start_extent(extent, false));
  }
  return requested;
}

// False if the transport can read nothing at all, as a store may in a forked child.
bool ExtentReader::start_extent(const std::shared_ptr<SealedExtent>& extent, bool urgent) {
  extent->memory = work_->buffers().lend(extent->plan.size, extent->file->traits().alignment);
  in_flight_.push_back({extent, {}});
  try {
    extent->id =
        lane_of(*extent).scheduler->start(extent->plan, {extent->memory.data(), extent->plan.size}, urgent);
  } catch (const Error&) {
    in_flight_.pop_back();
    return false;
  }
  return true;
}

void ExtentReader::collect() {
  for (const Lane& lane : lanes_)
    if (lane.scheduler) lane.scheduler->poll();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    const SealedExtent& extent = *in_flight_[i].extent;
    if (lane_of(extent).scheduler->settled(*extent.id)) {
      pass_on(std::move(in_flight_[i]));
    } else {
      if (kept != i) in_flight_[kept] = std::move(in_flight_[i]);
      ++kept;
    }
  }
  in_flight_.resize(kept);
  if (source_->cache() != nullptr) note_rates();
}

void ExtentReader::pass_on(InFlight arrived) {
  SealedExtent& extent = *arrived.extent;
  io::ReadScheduler& scheduler = *lane_of(extent).scheduler;
  try {
    scheduler.wait_for(*extent.id);
  } catch (...) {
    extent.failure = std::current_exception();
  }
  scheduler.forget(*extent.id);
  extent.bytes = {extent.memory.data(), extent.plan.size};
  if (extent.failure != nullptr) {
    for (const JobRef& job : arrived.waiting) work_->drop(job);
    return;
  }
  std::erase_if(arrived.waiting, [](const JobRef& job) { return job->extent == nullptr; });
  work_->add(arrived.waiting);
}

// Only lanes with a scheduler: threads that read while they decode note their rates themselves.
void ExtentReader::note_rates() {
  for (Lane& lane : lanes_) {
    if (!lane.scheduler) continue;
    const io::ReadCounters& now = lane.scheduler->counters();
    const double seconds = now.seconds_waiting - lane.noted.seconds_waiting;
    if (now.bytes == lane.noted.bytes) continue;
    source_->cache()->note_rate(*lane.file, now.bytes - lane.noted.bytes, seconds);
    lane.noted = now;
  }
}

void ExtentReader::wait_for(const PageJob& job) {
  // Kept alive here, because the thread that takes the job releases it.
  const std::shared_ptr<SealedExtent> extent = job.extent;
  try {
    lane_of(*extent).scheduler->wait_for(*extent->id);
  } catch (...) {  // collect() sees it
  }
}

void ExtentReader::forget_unused() {
  std::erase_if(in_flight_, [&](const InFlight& each) {
    const bool is_used =
        each.extent->announced > 0 ||
        std::ranges::any_of(each.waiting, [](const JobRef& job) { return job->extent != nullptr; });
    if (!is_used) lane_of(*each.extent).scheduler->forget(*each.extent->id);
    return !is_used;
  });
}

void ExtentReader::forget_all() noexcept {
  for (const Lane& lane : lanes_)
    if (lane.scheduler) lane.scheduler->forget_all();
  in_flight_.clear();
}

void ExtentReader::add_counters_to(ReadCounters& all) const {
  for (const Lane& lane : lanes_) {
    if (!lane.scheduler) continue;
    const io::ReadCounters& read = lane.scheduler->counters();
    all.requests += read.requests;
    all.bytes += read.bytes;
    all.read_over_bytes += read.read_over_bytes;
    all.seconds_waiting += read.seconds_waiting;
  }
}

}  // namespace colonnade::page
