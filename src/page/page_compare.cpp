// See page_compare.h.
#include "page/page_compare.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <utility>

#include "page/page_copy_stream.h"

namespace colonnade::page {

namespace {

// Pages of one side, one after the other.
class PageCursor {
 public:
  PageCursor(const PageSource& source, StreamOptions how) : stream_(source, std::move(how)) {}

  // Null at the end. A page stays until the next one is asked for.
  const SealedPage* next() {
    while (!piece_ || at_ == piece_->pages.size()) {
      at_ = 0;
      piece_ = stream_.next();
      if (!piece_) return nullptr;
    }
    return &piece_->pages[at_++];
  }
  std::size_t cluster() const { return piece_->cluster->cluster; }

 private:
  SealedPageStream stream_;
  std::shared_ptr<SealedPiece> piece_;
  std::size_t at_ = 0;
};

[[noreturn]] void differ(const PageSource& target, std::string problem, ErrorContext where) {
  throw Error(ErrorKind::format, "the copy differs from its source: " + std::move(problem),
              "copy it again; see colonnade verify for what is damaged", std::move(where))
      .with(target.context());
}

// The ranges of the columns that were copied.
std::vector<const ColumnRange*> copied_ranges(const CopiedClusters& clusters, std::size_t cluster) {
  std::vector<const ColumnRange*> ranges;
  for (const ColumnRange& range : clusters.source.descriptor().clusters[cluster].columns)
    if (clusters.target_of[range.column] != invalid_id) ranges.push_back(&range);
  return ranges;
}

void compare_ranges(const CopiedClusters& clusters, std::size_t at, const ColumnRange& from,
                    const ColumnRange& to, bool as_stored) {
  const auto where = [&](std::size_t page) { return clusters.target.context(to.column, at, page); };
  if (to.column != clusters.target_of[from.column] || to.suppressed != from.suppressed ||
      to.pages.size() != from.pages.size())
    differ(clusters.target, fmt::format("{} pages for {}", to.pages.size(), from.pages.size()), where(0));
  for (std::size_t page = 0; page < from.pages.size(); ++page) {
    const PageDescriptor a = from.pages[page];
    const PageDescriptor b = to.pages[page];
    if (a.elements != b.elements)
      differ(clusters.target, fmt::format("{} elements for {}", b.elements, a.elements), where(page));
    if (as_stored && a.locator.size != b.locator.size)
      differ(clusters.target, fmt::format("{} bytes for {}", b.locator.size, a.locator.size), where(page));
  }
}

StreamOptions all_pages(const PageSource& source, std::size_t first, std::size_t count,
                        std::vector<bool> columns, std::size_t memory) {
  StreamOptions how = stream_within(memory, source, true);
  how.first_cluster = first;
  how.end_cluster = first + count;
  how.columns = std::move(columns);
  how.merges = false;
  return how;
}

// The same where columns are mapped. What was filled comes before what was copied.
void compare_mapped_ranges(const CopiedClusters& clusters, std::size_t at, const ColumnRange& from,
                           const ColumnRange& to, bool as_stored) {
  const auto where = [&](std::size_t page) { return clusters.target.context(to.column, at, page); };
  if (to.suppressed || to.pages.size() < from.pages.size())
    differ(clusters.target, fmt::format("{} pages for {}", to.pages.size(), from.pages.size()), where(0));
  const std::size_t filled = to.pages.size() - from.pages.size();
  for (std::size_t page = 0; page < from.pages.size(); ++page) {
    const PageDescriptor a = from.pages[page];
    const PageDescriptor b = to.pages[filled + page];
    if (a.elements != b.elements)
      differ(clusters.target, fmt::format("{} elements for {}", b.elements, a.elements),
             where(filled + page));
    if (as_stored && a.locator.size != b.locator.size)
      differ(clusters.target, fmt::format("{} bytes for {}", b.locator.size, a.locator.size),
             where(filled + page));
  }
}

// Columns of one cluster that were copied: each with where it went.
std::vector<std::pair<const ColumnRange*, const ColumnRange*>> mapped_ranges(const CopiedClusters& clusters,
                                                                             std::size_t i) {
  const ClusterDescriptor& to = clusters.target.descriptor().clusters[clusters.target_first + i];
  std::vector<std::pair<const ColumnRange*, const ColumnRange*>> pairs;
  for (const ColumnRange* range : copied_ranges(clusters, clusters.first + i)) {
    if (range->suppressed) continue;
    const std::uint32_t column = clusters.target_of[range->column];
    if (column >= to.columns.size())
      differ(clusters.target, fmt::format("column {} is missing", column),
             {.cluster = clusters.target_first + i});
    pairs.emplace_back(range, &to.columns[column]);
  }
  return pairs;
}

void read_sealed(const PageSource& source, std::uint32_t column, std::size_t cluster, std::size_t number,
                 const PageDescriptor& page, AlignedBuffer& into) {
  try {
    into.resize(static_cast<std::size_t>(stored_size(page)));
    source.read_sealed(page, into.span());
    source.verify(page, into.span());
  } catch (const Error& error) {
    throw source.in_page(error, column, cluster, number);
  }
}

// Page by page: the two sides have them in different orders.
bool compare_mapped_pages(const CopiedClusters& clusters, PageCopyCounts& counts,
                          const std::function<bool()>& goes_on) {
  AlignedBuffer a;
  AlignedBuffer b;
  for (std::size_t i = 0; i < clusters.count; ++i) {
    const std::size_t at = clusters.target_first + i;
    for (const auto& [from, to] : mapped_ranges(clusters, i)) {
      const PageList from_pages = clusters.source.placed_pages(from->column, clusters.first + i);
      const PageList to_pages = clusters.target.placed_pages(to->column, at);
      const std::size_t filled = to_pages.size() - from_pages.size();
      for (std::size_t page = 0; page < from_pages.size(); ++page) {
        const PageDescriptor expected = from_pages[page];
        const PageDescriptor found = to_pages[filled + page];
        read_sealed(clusters.source, from->column, clusters.first + i, page, expected, a);
        read_sealed(clusters.target, to->column, at, filled + page, found, b);
        if (std::memcmp(a.data(), b.data(), expected.locator.size) != 0)
          differ(clusters.target, "other bytes in a page",
                 clusters.target.context(to->column, at, filled + page));
        ++counts.pages;
        counts.bytes_read += stored_size(expected);
      }
      if (!goes_on()) return false;
    }
    ++counts.clusters;
  }
  return true;
}

}  // namespace

void compare_structure(const CopiedClusters& clusters, bool as_stored) {
  for (std::size_t i = 0; i < clusters.count; ++i) {
    const ClusterDescriptor& from = clusters.source.descriptor().clusters[clusters.first + i];
    const std::size_t at = clusters.target_first + i;
    const ClusterDescriptor& to = clusters.target.descriptor().clusters[at];
    const std::vector<const ColumnRange*> ranges = copied_ranges(clusters, clusters.first + i);
    if (from.entries != to.entries)
      differ(clusters.target, fmt::format("{} entries for {}", to.entries, from.entries), {.cluster = at});
    if (clusters.is_mapped) {
      for (const auto& [a, b] : mapped_ranges(clusters, i))
        compare_mapped_ranges(clusters, at, *a, *b, as_stored);
      continue;
    }
    if (ranges.size() != to.columns.size())
      differ(clusters.target, fmt::format("{} columns for {}", to.columns.size(), ranges.size()),
             {.cluster = at});
    for (std::size_t k = 0; k < ranges.size(); ++k)
      compare_ranges(clusters, at, *ranges[k], to.columns[k], as_stored);
  }
}

bool compare_pages(const CopiedClusters& clusters, std::size_t memory, PageCopyCounts& counts,
                   const std::function<bool()>& goes_on) {
  compare_structure(clusters, true);
  if (clusters.is_mapped) return compare_mapped_pages(clusters, counts, goes_on);
  constexpr std::uint64_t bytes_between_looks = std::uint64_t{1} << 20;
  PageCursor from(clusters.source, all_pages(clusters.source, clusters.first, clusters.count,
                                             wanted_columns(clusters.target_of), memory / 2));
  PageCursor to(clusters.target,
                all_pages(clusters.target, clusters.target_first, clusters.count,
                          std::vector<bool>(clusters.target.descriptor().columns.size(), true), memory / 2));
  std::uint64_t next_look = counts.bytes_read;
  while (const SealedPage* expected = from.next()) {
    const SealedPage* found = to.next();
    if (found == nullptr) differ(clusters.target, "it has fewer pages", {});
    const ByteSpan a = expected->stored.first(expected->description.locator.size);
    const ByteSpan b = found->stored.first(found->description.locator.size);
    if (a.size() != b.size() || (!a.empty() && std::memcmp(a.data(), b.data(), a.size()) != 0))
      differ(clusters.target, "other bytes in a page",
             clusters.target.context(found->column, to.cluster(), found->number));
    ++counts.pages;
    counts.bytes_read += expected->stored.size();
    if (counts.bytes_read < next_look) continue;
    next_look = counts.bytes_read + bytes_between_looks;
    counts.clusters = to.cluster() - clusters.target_first;
    if (!goes_on()) return false;
  }
  return true;
}

}  // namespace colonnade::page
