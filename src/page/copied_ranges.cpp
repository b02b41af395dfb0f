// See copied_ranges.h.
#include "page/copied_ranges.h"

#include <algorithm>
#include <utility>

namespace colonnade::page {

CopiedRanges::CopiedRanges(const PageSource& source, const DataSetSink& sink)
    : source_(source),
      largest_(source.has_other_places() ? 0 : sink.container().largest_copy(source.file())) {}

bool CopiedRanges::fits(const PageDescriptor& page) const noexcept {
  return source_.is_plain(page) && stored_size(page) <= largest_ / 2;
}

bool CopiedRanges::takes(std::span<const SealedPage> pages, bool at_any_rate) const {
  if (pages.empty() || !is_possible()) return false;
  std::vector<CopiedPage> wanted = pages_;
  Stretches stretches{.bytes = bytes_};
  for (const SealedPage& page : pages) {
    if (!fits(page.description) || page.other.size() > 0) return false;
    wanted.push_back({page.description.locator.offset, stored_size(page.description), 0});
    stretches.bytes += wanted.back().size;
  }
  if (at_any_rate) return true;
  stretches.count = merge(std::move(wanted)).size();
  return stretches.are_long();
}

bool CopiedRanges::takes_all(const StreamOptions& how) const {
  if (!is_possible()) return false;
  Stretches stretches;
  for (std::size_t cluster = how.first_cluster; cluster < how.end_cluster; ++cluster) {
    std::vector<CopiedPage> wanted;
    for (const ColumnRange& range : source_.descriptor().clusters[cluster].columns) {
      if (range.column >= how.columns.size() || !how.columns[range.column]) continue;
      for (const PageDescriptor& page : range.pages) {
        if (!fits(page) || how.converted_bytes(range.column, page) > 0) return false;
        wanted.push_back({page.locator.offset, stored_size(page), 0});
        stretches.bytes += wanted.back().size;
      }
    }
    stretches.count += merge(std::move(wanted)).size();
  }
  return stretches.are_long();
}

void CopiedRanges::add(const SealedPage& page, std::size_t part) {
  pages_.push_back({page.description.locator.offset, stored_size(page.description), part});
  bytes_ += pages_.back().size;
}

void CopiedRanges::clear() {
  pages_.clear();
  bytes_ = 0;
}

// Over what lies between pages as well, if that is little: keys of ROOT files, for one.
std::vector<container::FileRange> CopiedRanges::merge(std::vector<CopiedPage> pages) const {
  constexpr std::uint64_t small_gap = 256;
  std::ranges::sort(pages, {}, &CopiedPage::offset);
  std::vector<container::FileRange> ranges;
  for (const CopiedPage& page : pages) {
    const std::uint64_t end = page.offset + page.size;
    if (!ranges.empty()) {
      container::FileRange& last = ranges.back();
      const std::uint64_t longer = std::max(end, last.offset + last.size) - last.offset;
      if (page.offset <= last.offset + last.size + small_gap && longer <= largest_) {
        last.size = longer;
        continue;
      }
    }
    ranges.push_back({page.offset, page.size});
  }
  return ranges;
}

}  // namespace colonnade::page
