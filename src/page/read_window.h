// ReadWindow: which pages of a column will be asked for, where reading keeps within parts of the clusters.
//
// Pages of different columns are needed in the order of their places in the cluster, as fractions of it:
// columns below collections have other numbers of elements.
#ifndef COLONNADE_PAGE_READ_WINDOW_H
#define COLONNADE_PAGE_READ_WINDOW_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "page/column_segment.h"
#include "page/page_work.h"

namespace colonnade::page {

// A part of the entries of a cluster, as fractions.
struct ClusterSlice {
  std::size_t cluster = 0;
  double begin = 0;
  double end = 1;
};

// A column as elements of one type.
struct ReadColumn {
  std::vector<std::uint32_t> representations;
  ElementType element = ElementType::byte;
};

struct PagePosition {
  std::shared_ptr<const ColumnSegment> segment;  // null: none
  std::size_t page = 0;
};

// Where in its cluster a page begins, from 0 to 1.
double fraction_of(const ColumnSegment& segment, std::size_t page);
// Whether a page can be read together with others, ahead of time.
bool can_plan(const PageSource& source, const ColumnSegment& segment, std::size_t page);

class ReadWindow {
 public:
  explicit ReadWindow(const PageSource& source) : source_(&source) {}

  // In growing order; none: everything may be asked for. True if they begin before the last ones did.
  bool move_to(std::vector<ClusterSlice> slices);
  bool is_unlimited() const noexcept { return slices_.empty(); }
  // The first slice of a limited window.
  const ClusterSlice& front() const { return slices_.front(); }
  bool contains(const PageJob& job) const;

  // Moves to the first page of a cluster; to none if there is no such cluster or its metadata are invalid:
  // the read that gets there throws.
  void enter(const ReadColumn& column, PagePosition& position, std::size_t cluster) const;
  // Moves to the next page that may be asked for, or to none.
  void advance(const ReadColumn& column, PagePosition& position) const;
  // The same, past pages that cannot be planned.
  void advance_to_plannable(const ReadColumn& column, PagePosition& position) const;
  // The first page that can be planned from the beginning of a slice on, or none.
  PagePosition first_from(const ReadColumn& column, const ClusterSlice& begin) const;

 private:
  std::span<const ClusterSlice> slices_of(std::size_t cluster) const;

  const PageSource* source_;
  std::vector<ClusterSlice> slices_;
};

}  // namespace colonnade::page

#endif
