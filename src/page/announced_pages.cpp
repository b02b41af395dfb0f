// See announced_pages.h.
#include "page/announced_pages.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cache/data_set.h"
#include "page/read_window.h"

namespace colonnade::page {
namespace {

// Pages that are brought here where the line needs less: bytes. And those that are planned together, unless
// larger requests are best.
constexpr std::size_t least_brought = std::size_t{32} << 20;
constexpr std::size_t least_brought_at_once = std::size_t{4} << 20;

}  // namespace

void AnnouncedPages::replace(std::vector<Range> ranges, const Held& held) {
  // A page at the border of two steps is requested twice, and so is one that columns share.
  uses_.clear();
  for (const Range& of : ranges)
    for (std::size_t page = of.first; page < of.first + of.count; ++page)
      if (!held.contains({of.segment->column, of.segment->cluster, page}))
        ++uses_[of.segment->page(page).locator.offset];
  std::vector<std::uint64_t> unwanted;
  for (const auto& [offset, brought] : brought_)
    if (!uses_.contains(offset)) unwanted.push_back(offset);
  for (const std::uint64_t offset : unwanted) {
    if (!brought_.at(offset).is_used) ++counters_->prefetched_unused;
    let_go(offset);
  }
  extents_->forget_unused();
  coming_.assign(std::make_move_iterator(ranges.begin()), std::make_move_iterator(ranges.end()));
  bring();
}

std::size_t AnnouncedPages::brought_at_once() const noexcept {
  return std::max(least_brought_at_once, source_->file().traits().best_request);
}

void AnnouncedPages::bring() {
  if (coming_.empty()) return;
  // A page that two steps need keeps what came with it.
  const std::size_t room = source_->options().memory_budget / 2;
  const std::size_t most = std::min(std::max(extents_->line_needs(), least_brought), room);
  if (unused_bytes_ > most / 2) return;
  extents_->hold();
  while (!coming_.empty() && unused_bytes_ < most && brought_bytes_ < room)
    bring_some(std::min({brought_at_once(), most - unused_bytes_, room - brought_bytes_}));
  extents_->release();
  counters_->peak_ahead_bytes = std::max<std::uint64_t>(counters_->peak_ahead_bytes, brought_bytes_);
}

// The next pages of together at most so many bytes.
void AnnouncedPages::bring_some(std::size_t most) {
  std::array<std::vector<PageDescriptor>, 2> pages;  // of the origin, and of the cache
  std::size_t sealed = 0;
  while (!coming_.empty()) {
    Range& next = coming_.front();
    if (next.count == 0) {
      coming_.pop_front();
      continue;
    }
    const bool wanted = is_wanted(*next.segment, next.first);
    const PageDescriptor page = next.segment->page(next.first);
    if (wanted && sealed > 0 && sealed + stored_size(page) > most) break;
    ++next.first;
    --next.count;
    if (!wanted) continue;
    sealed += stored_size(page);
    pages[source_->is_cached(page) ? 1 : 0].push_back(page);
    if (sealed >= most) break;
  }
  for (const auto& of_file : pages)
    if (!of_file.empty()) request(of_file);
}

// Large pages are read when they are asked for.
bool AnnouncedPages::is_wanted(const ColumnSegment& segment, std::size_t number) const {
  const PageDescriptor page = segment.page(number);
  return can_plan(*source_, segment, number) && extents_->is_far(page) &&
         stored_size(page) <= brought_at_once() && !brought_.contains(page.locator.offset) &&
         contains(page) && !comes_from_others(segment, number);
}

// Whether another reader is downloading it for the cache.
bool AnnouncedPages::comes_from_others(const ColumnSegment& segment, std::size_t number) const {
  return source_->cache() != nullptr && !source_->is_cached(segment.page(number)) &&
         source_->cache()->share(segment.column, segment.cluster, number).has_value();
}

void AnnouncedPages::request(const std::vector<PageDescriptor>& pages) {
  const ExtentReader::Requested requested = extents_->request(pages);
  for (const auto& extent : requested.extents)
    if (extent->id) brought_bytes_ += extent->plan.size;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const io::ReadPlan::PlannedRange range = requested.plan.ranges[i];
    if (range.extent == io::ReadPlan::none || !requested.extents[range.extent]->id) continue;
    const auto& extent = requested.extents[range.extent];
    const Brought brought{extent, range.position, stored_size(pages[i])};
    if (!brought_.try_emplace(pages[i].locator.offset, brought).second) continue;
    ++extent->announced;
    unused_bytes_ += brought.size;
  }
}

bool AnnouncedPages::take(PageJob& job) {
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
  ++counters_->prefetched_used;
  return true;
}

void AnnouncedPages::let_go(std::uint64_t offset) {
  const auto found = brought_.find(offset);
  const std::shared_ptr<SealedExtent> extent = std::move(found->second.extent);
  if (!found->second.is_used) unused_bytes_ -= found->second.size;
  brought_.erase(found);
  if (--extent->announced == 0) brought_bytes_ -= extent->plan.size;
}

void AnnouncedPages::clear() noexcept {
  coming_.clear();
  uses_.clear();
  brought_.clear();
  brought_bytes_ = 0;
  unused_bytes_ = 0;
}

}  // namespace colonnade::page
