// AnnouncedPages: pages that a reader says it will ask for, and those of them whose bytes were requested.
//
// Where a server is far away, their bytes are brought here in the order of need, as many as the line needs.
// Nothing is decoded before it is asked for.
#ifndef COLONNADE_PAGE_ANNOUNCED_PAGES_H
#define COLONNADE_PAGE_ANNOUNCED_PAGES_H

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "page/column_segment.h"
#include "page/extent_reader.h"

namespace colonnade::page {

class AnnouncedPages {
 public:
  // `count` pages of a segment from `first` on.
  struct Range {
    std::shared_ptr<const ColumnSegment> segment;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  // Column, cluster and page.
  using Held = std::set<std::tuple<std::uint32_t, std::size_t, std::size_t>>;

  // All must outlive it. It counts pages that were used or not, and the most bytes held.
  AnnouncedPages(const PageSource& source, ExtentReader& extents, ReadCounters& counters)
      : source_(&source), extents_(&extents), counters_(&counters) {}

  // In the place of what was announced before; `held`: pages that are here or planned already.
  void replace(std::vector<Range> ranges, const Held& held);
  // Requests the next pages, when half of those that were requested before are used.
  void bring();
  // Gives a job the extent with its bytes, if they were requested. What could not be read is tried once more
  // by itself.
  bool take(PageJob& job);
  void clear() noexcept;

  bool empty() const noexcept { return uses_.empty(); }
  bool contains(const PageDescriptor& page) const { return uses_.contains(page.locator.offset); }
  // Of the extents that have been requested.
  std::size_t bytes() const noexcept { return brought_bytes_; }

 private:
  // A sealed page that has been requested.
  struct Brought {
    std::shared_ptr<SealedExtent> extent;
    std::size_t position = 0;
    std::uint64_t size = 0;
    bool is_used = false;  // and will be once more
  };

  bool is_wanted(const ColumnSegment& segment, std::size_t number) const;
  bool comes_from_others(const ColumnSegment& segment, std::size_t number) const;
  std::size_t brought_at_once() const noexcept;
  void bring_some(std::size_t most);
  void request(const std::vector<PageDescriptor>& pages);
  void let_go(std::uint64_t offset);

  const PageSource* source_;
  ExtentReader* extents_;
  ReadCounters* counters_;
  std::deque<Range> coming_;                             // not requested yet
  std::unordered_map<std::uint64_t, Brought> brought_;   // by their locator
  std::size_t brought_bytes_ = 0;                        // of their extents
  std::uint64_t unused_bytes_ = 0;                       // of those that were not used yet
  std::unordered_map<std::uint64_t, std::size_t> uses_;  // by locator: how often announced pages are still to
                                                         // be asked for
};

}  // namespace colonnade::page

#endif
