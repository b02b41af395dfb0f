// See column_segment.h.
#include "page/column_segment.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/column_codec.h"

namespace colonnade::page {
namespace {

// Stored and decompressed bytes. Pages up to this size are allocated before it is known whether they exist.
constexpr std::uint64_t modest_page = std::uint64_t{16} << 20;
constexpr std::uint64_t modest_content = std::uint64_t{64} << 20;

void check_page(const PageSource& source, const ColumnSegment& segment, std::size_t number) {
  const PageDescriptor page = segment.page(number);
  const std::size_t packed = codec::packed_size(segment.encoding, page.elements);
  if (!is_plausible_length(page.locator.size, packed))
    throw Error(
        ErrorKind::format,
        fmt::format("the page claims {} elements in {} stored bytes", page.elements, page.locator.size), "",
        source.context(segment.column, segment.cluster, number));
  if (page.locator.kind != Locator::Kind::file) return;
  if (stored_size(page) > modest_page || packed > modest_content)
    with_context(source.context(segment.column, segment.cluster, number), [&] { source.check_there(page); });
  // Of a page that is split over several keys, only the first part is here.
  const std::uint64_t size = stored_size(page);
  const std::uint64_t max_key = source.is_plain(page) ? 0 : source.descriptor().anchor.max_key_size;
  const std::uint64_t in_one_piece = max_key > 0 ? std::min(size, max_key) : size;
  const std::uint64_t file_size = source.file_of(page).size();
  if (size > file_size || page.locator.offset > file_size - in_one_piece)
    throw Error(
        ErrorKind::format,
        fmt::format("the page of {} bytes lies beyond the end of the file ({} bytes)", size, file_size),
        "check that the file was transferred completely",
        source.context(segment.column, segment.cluster, number));
}

// Checks the size against the storage.
void check_size(const PageSource& source, const ColumnSegment& segment, std::size_t number) {
  const PageDescriptor page = segment.page(number);
  const std::size_t packed = codec::packed_size(segment.encoding, page.elements);
  const std::uint64_t in_memory = page.elements * size_of(natural_element(segment.encoding.type));
  if (std::max<std::uint64_t>(packed, in_memory) > largest_page)
    throw Error(
        ErrorKind::format,
        fmt::format("the page claims {} elements of {} bytes, more than the {} MiB that a page may have",
                    page.elements, size_of(natural_element(segment.encoding.type)), largest_page >> 20),
        "check where the file comes from", source.context(segment.column, segment.cluster, number));
}

}  // namespace

std::size_t ColumnSegment::page_of(std::uint64_t element) const {
  const auto after = std::upper_bound(page_first.begin(), page_first.end(), element);
  return static_cast<std::size_t>(after - page_first.begin()) - 1;
}

ColumnSegment open_segment(const PageSource& source, std::span<const std::uint32_t> representations,
                           std::size_t cluster) {
  const Descriptor& descriptor = source.descriptor();
  if (cluster >= descriptor.clusters.size())
    throw Error(ErrorKind::usage,
                fmt::format("cluster {} is beyond the {} clusters of the data set", cluster,
                            descriptor.clusters.size()),
                "", source.context());
  const auto& columns = descriptor.clusters[cluster].columns;
  ColumnSegment segment;
  segment.cluster = cluster;
  segment.column = representations.front();
  for (const std::uint32_t column : representations) {
    if (column >= columns.size() || columns[column].suppressed) continue;
    segment.range = &columns[column];
    segment.column = column;
    break;
  }
  segment.encoding = descriptor.columns[segment.column].encoding;
  segment.extent = source.extent(segment.column, cluster);
  std::uint64_t first = segment.extent.leading_zeros;
  if (segment.range != nullptr) {
    if (source.has_other_places()) segment.placed = source.pages_to_read(segment.column, cluster);
    segment.page_first.reserve(segment.range->pages.size() + 1);
    for (std::size_t page = 0; page < segment.range->pages.size(); ++page) {
      check_page(source, segment, page);
      check_size(source, segment, page);
      segment.page_first.push_back(first);
      first += segment.range->pages[page].elements;
    }
  }
  segment.page_first.push_back(first);
  return segment;
}

}  // namespace colonnade::page
