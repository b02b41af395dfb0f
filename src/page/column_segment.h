// ColumnSegment: the stored part of a column in one cluster - its representation and the first element of
// each page - checked before any memory is allocated for it.
#ifndef COLONNADE_PAGE_COLUMN_SEGMENT_H
#define COLONNADE_PAGE_COLUMN_SEGMENT_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "page/page_source.h"

namespace colonnade::page {

struct ColumnSegment {
  std::size_t cluster = 0;
  std::uint32_t column = invalid_id;   // the physical column with the elements
  const ColumnRange* range = nullptr;  // null: nothing was written
  ColumnEncoding encoding;
  PageSource::ColumnExtent extent;
  std::vector<std::uint64_t> page_first;  // first element of each page, and the end

  std::optional<PageList> placed;  // positions of the pages, if they differ from `range`

  std::size_t pages() const noexcept { return page_first.size() - 1; }
  PageDescriptor page(std::size_t number) const { return (placed ? *placed : range->pages)[number]; }
  std::size_t page_of(std::uint64_t element) const;
};

// `representations`: the physical columns that may hold the elements, one per representation. Throws
// ErrorKind::usage for a cluster that does not exist, ErrorKind::format for an implausible page list.
ColumnSegment open_segment(const PageSource& source, std::span<const std::uint32_t> representations,
                           std::size_t cluster);

}  // namespace colonnade::page

#endif
