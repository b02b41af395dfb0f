// Compares a copy of clusters with their source: their structure, or their pages byte by byte.
#ifndef COLONNADE_PAGE_PAGE_COMPARE_H
#define COLONNADE_PAGE_PAGE_COMPARE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "page/page_copy.h"
#include "page/page_source.h"

namespace colonnade::page {

// Two data sets, one of which is a copy of clusters of the other: cluster first + i of the source and
// target_first + i of the target. `target_of`: as for
// copy_pages().
struct CopiedClusters {
  const PageSource& source;
  const PageSource& target;
  const std::vector<std::uint32_t>& target_of;
  std::size_t first = 0;
  std::size_t target_first = 0;
  std::size_t count = 0;
  bool is_mapped = false;  // as in PageCopyOptions; what was filled is not compared
};

// Throws ErrorKind::format unless both have the same entries, columns and elements in the same pages; with
// `as_stored`, also the same sizes. Reads no page.
void compare_structure(const CopiedClusters& clusters, bool as_stored);

// Compares the pages byte by byte, as they are stored; checksums that only the copy has do not count.
// Throws ErrorKind::checksum for a page that is damaged, on either side, and ErrorKind::format for the first
// difference, with its place. False: `goes_on` said so.
bool compare_pages(const CopiedClusters& clusters, std::size_t memory, PageCopyCounts& counts,
                   const std::function<bool()>& goes_on);

}  // namespace colonnade::page

#endif
