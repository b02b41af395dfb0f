// CopiedRanges: pages that wait to be copied by the system as ranges of their file, those that lie together
// at once.
#ifndef COLONNADE_PAGE_COPIED_RANGES_H
#define COLONNADE_PAGE_COPIED_RANGES_H

#include <cstdint>
#include <span>
#include <vector>

#include "page/data_set_sink.h"
#include "page/page_copy_stream.h"

namespace colonnade::page {

class CopiedRanges {
 public:
  struct CopiedPage {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::size_t part = 0;  // of the cluster
  };

  CopiedRanges(const PageSource& source, const DataSetSink& sink);

  // Whether any pages can be copied as ranges.
  bool is_possible() const noexcept { return largest_ > 0; }
  bool fits(const PageDescriptor& page) const noexcept;
  // Whether to copy these pages as ranges: all are unchanged and, unless `at_any_rate`, they lie in few
  // places together with those that wait.
  bool takes(std::span<const SealedPage> pages, bool at_any_rate) const;
  // Whether to copy all pages of the stream as ranges, by the same rule: none needs to be read.
  bool takes_all(const StreamOptions& how) const;
  void add(const SealedPage& page, std::size_t part);
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::span<const CopiedPage> pages() const noexcept { return pages_; }
  // In order.
  std::vector<container::FileRange> merged() const { return merge(pages_); }
  void clear();

 private:
  // Each costs a key and, so that blocks can be shared, up to 4 KiB.
  struct Stretches {
    std::size_t count = 0;
    std::uint64_t bytes = 0;

    bool are_long() const noexcept { return count <= bytes >> 16; }
  };

  std::vector<container::FileRange> merge(std::vector<CopiedPage> pages) const;

  const PageSource& source_;
  const std::uint64_t largest_;
  std::vector<CopiedPage> pages_;
  std::uint64_t bytes_ = 0;
};

}  // namespace colonnade::page

#endif
