// See read_window.h.
#include "page/read_window.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <span>
#include <utility>

namespace colonnade::page {

double fraction_of(const ColumnSegment& segment, std::size_t page) {
  const std::uint64_t all = segment.page_first.back();
  return all == 0 ? 0 : static_cast<double>(segment.page_first[page]) / static_cast<double>(all);
}

bool can_plan(const PageSource& source, const ColumnSegment& segment, std::size_t page) {
  const PageDescriptor description = segment.page(page);
  return source.is_plain(description) && stored_size(description) > 0;
}

namespace {

// The page with the first element that is needed from a place in the cluster on; for the ends of collections
// that is the one before.
std::size_t page_at(const ColumnSegment& segment, ElementType element, double fraction) {
  const auto all = static_cast<double>(segment.page_first.back());
  auto first = static_cast<std::uint64_t>(std::round(fraction * all));
  if (element == ElementType::index && first > 0) --first;
  return first < segment.page_first.front() ? 0 : segment.page_of(first);
}

}  // namespace

bool ReadWindow::move_to(std::vector<ClusterSlice> slices) {
  const auto begin_of = [](const ClusterSlice& slice) { return std::pair(slice.cluster, slice.begin); };
  const bool goes_back =
      !slices_.empty() && !slices.empty() && begin_of(slices.front()) < begin_of(slices_.front());
  slices_ = std::move(slices);
  return goes_back;
}

std::span<const ClusterSlice> ReadWindow::slices_of(std::size_t cluster) const {
  const auto found = std::ranges::equal_range(slices_, cluster, {}, &ClusterSlice::cluster);
  return {found.begin(), found.end()};
}

bool ReadWindow::contains(const PageJob& job) const {
  if (slices_.empty()) return true;
  return std::ranges::any_of(slices_of(job.cluster), [&](const ClusterSlice& slice) {
    return job.fraction < slice.end && job.end_fraction > slice.begin;
  });
}

void ReadWindow::enter(const ReadColumn& column, PagePosition& position, std::size_t cluster) const {
  position = {};
  if (cluster >= source_->descriptor().clusters.size()) return;
  try {
    position.segment =
        std::make_shared<const ColumnSegment>(open_segment(*source_, column.representations, cluster));
  } catch (const Error&) {
  }
}

void ReadWindow::advance(const ReadColumn& column, PagePosition& position) const {
  ++position.page;
  if (slices_.empty()) {
    while (position.segment && position.page >= position.segment->pages())
      enter(column, position, position.segment->cluster + 1);
    return;
  }
  const std::size_t here =
      position.segment ? position.segment->cluster : std::numeric_limits<std::size_t>::max();
  const auto first_here = std::ranges::lower_bound(slices_, here, {}, &ClusterSlice::cluster);
  for (const ClusterSlice& slice : std::ranges::subrange(first_here, slices_.end())) {
    if (slice.cluster > position.segment->cluster) enter(column, position, slice.cluster);
    if (!position.segment) return;
    const std::size_t first = page_at(*position.segment, column.element, slice.begin);
    position.page = std::max(position.page, first);
    const bool is_there = position.page < position.segment->pages();
    if (is_there && (position.page == first || fraction_of(*position.segment, position.page) < slice.end))
      return;
  }
  position = {};
}

void ReadWindow::advance_to_plannable(const ReadColumn& column, PagePosition& position) const {
  do advance(column, position);
  while (position.segment && !can_plan(*source_, *position.segment, position.page));
}

PagePosition ReadWindow::first_from(const ReadColumn& column, const ClusterSlice& begin) const {
  PagePosition position;
  enter(column, position, begin.cluster);
  if (!position.segment) return {};
  position.page = page_at(*position.segment, column.element, begin.begin);
  const bool is_there = position.page < position.segment->pages();
  if (!is_there || !can_plan(*source_, *position.segment, position.page))
    advance_to_plannable(column, position);
  return position;
}

}  // namespace colonnade::page
