// Sealed pages for external decoders; see colonnade/sealed_columns.h. The stream that copies pages reads and
// verifies them; the thread that verifies a page moves it to its destination.
#include "colonnade/sealed_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "base/memory_limit.h"
#include "base/thread_pool.h"
#include "codec/column_codec.h"
#include "codec/compression.h"
#include "colonnade/reader.h"
#include "dataset/element_types.h"
#include "dataset/schema_walk.h"
#include "page/column_segment.h"
#include "page/page_copy_stream.h"

namespace colonnade {
namespace {

// This alignment suits the widest loads of processors and GPUs.
constexpr std::uint64_t alignment = 16;
// The bytes of pages that one task decompresses.
constexpr std::uint64_t task_bytes = std::uint64_t{1} << 20;

void require_size(const page::PageSource& source, const SealedColumn& column, const char* what,
                  std::size_t given, std::uint64_t needed) {
  if (given == needed) return;
  ErrorContext where = source.context();
  where.column = column.column;
  where.cluster = column.cluster;
  throw Error(ErrorKind::usage, fmt::format("{} of {} bytes for a column that needs {}", what, given, needed),
              "", where);
}

// The caller may have changed the column: checks it before use.
void require_pages(const page::PageSource& source, const SealedColumn& column) {
  const Descriptor& descriptor = source.descriptor();
  if (column.cluster >= descriptor.clusters.size() || column.column >= descriptor.columns.size())
    throw Error(ErrorKind::usage,
                fmt::format("there is no column {} in cluster {}", column.column, column.cluster), "",
                source.context());
  const PageList pages = source.placed_pages(column.column, column.cluster);
  bool fits = pages.size() == column.pages.size();
  std::uint64_t end = 0;
  std::uint64_t content = 0;
  for (std::size_t number = 0; fits && number < pages.size(); ++number) {
    const SealedPlace& place = column.pages[number];
    const std::uint64_t stored = page::stored_size(pages[number]);
    fits = place.size == pages[number].locator.size && place.position >= end &&
           place.position <= column.size && stored <= column.size - place.position &&
           place.content_size <= column.content_size - content;
    if (!fits) break;
    end = place.position + stored;
    content += place.content_size;
  }
  if (!fits || content != column.content_size)
    throw Error(ErrorKind::usage, "the pages are not those that sealed_column() gave", "", source.context());
}

// As in columnar reads: the field's own type if it is more precise than the column's.
ElementType element_of(const Descriptor& descriptor, const FieldDescriptor& field, std::size_t k) {
  const std::uint32_t first = field.representations.front()[k];
  const ElementType natural = natural_element(descriptor.columns[first].encoding.type);
  if (k > 0 || natural == ElementType::index || natural == ElementType::switch_) return natural;
  return dataset::element_of_field(descriptor, field).value_or(natural);
}

// Adds the page to the context of an Error that leaves `work`.
template <class Work>
void in_page(const page::PageSource& source, const SealedColumn& column, std::size_t page, Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    throw source.in_page(error, column.column, column.cluster, page);
  }
}

// Calls work(page) for all pages, several at a time.
void for_pages(const SealedColumn& column, const std::function<void(std::size_t)>& work) {
  TaskGroup tasks;
  for (std::size_t first = 0; first < column.pages.size();) {
    std::size_t last = first;
    for (std::uint64_t bytes = 0; last < column.pages.size() && bytes < task_bytes; ++last)
      bytes += column.pages[last].content_size;
    tasks.run([&work, first, last] {
      for (std::size_t page = first; page < last; ++page) work(page);
    });
    first = last;
  }
  tasks.wait();
}

}  // namespace

SealedColumn Reader::sealed_column(std::uint32_t field, std::size_t k, std::size_t cluster) const {
  const page::PageSource& source = *source_;
  const bool has = field < descriptor().fields.size() &&
                   !descriptor().fields[field].representations.empty() &&
                   k < descriptor().fields[field].representations.front().size();
  if (!has)
    throw Error(ErrorKind::usage, fmt::format("there is no column {} of field {}", k, field), "",
                source.context());
  const page::ColumnSegment segment =
      page::open_segment(source, dataset::columns_of(descriptor().fields[field], k), cluster);
  SealedColumn column{.column = segment.column,
                      .cluster = cluster,
                      .encoding = segment.encoding,
                      .element = element_of(descriptor(), descriptor().fields[field], k),
                      .compression = segment.range != nullptr ? segment.range->compression : 0,
                      .elements = segment.extent.elements,
                      .leading_zeros = segment.extent.leading_zeros};
  const auto too_much = [&] {
    return Error(ErrorKind::resource,
                 fmt::format("the {} elements of the column do not fit in memory", column.elements),
                 "check where the file comes from", source.context(segment.column, cluster, 0));
  };
  if (column.elements > machine_memory() / sizeof(SwitchElement)) throw too_much();
  if (segment.range == nullptr) return column;
  const bool is_one_file = !source.has_other_places() || source.cache() != nullptr;
  const PageList pages = source.placed_pages(segment.column, cluster);
  column.pages.reserve(pages.size());
  for (std::size_t number = 0; number < pages.size(); ++number) {
    const PageDescriptor page = pages[number];
    column.pages.push_back(
        {.offset = page.locator.offset,
         .position = column.size,
         .size = page.locator.size,
         .content_size = codec::packed_size(segment.encoding, page.elements),
         .first = segment.page_first[number],
         .elements = page.elements,
         .has_checksum = page.has_checksum,
         .is_in_file = is_one_file && page.locator.kind == Locator::Kind::file && source.is_plain(page)});
    column.size += (page::stored_size(page) + alignment - 1) / alignment * alignment;
    column.content_size += column.pages.back().content_size;
    if (std::max(column.size, column.content_size) > machine_memory()) throw too_much();
  }
  return column;
}

void Reader::read_sealed(std::span<const SealedColumn> columns,
                         std::span<const std::span<std::byte>> buffers) const {
  if (columns.size() != buffers.size())
    throw Error(ErrorKind::usage, "one buffer per column is needed", "", source_->context());
  std::map<std::size_t, std::map<std::uint32_t, std::size_t>> wanted;  // by cluster and column
  for (std::size_t i = 0; i < columns.size(); ++i) {
    require_pages(*source_, columns[i]);
    require_size(*source_, columns[i], "a buffer", buffers[i].size(), columns[i].size);
    if (!wanted[columns[i].cluster].emplace(columns[i].column, i).second)
      throw Error(ErrorKind::usage, fmt::format("column {} is requested twice", columns[i].column), "",
                  source_->context());
  }
  for (const auto& [cluster, numbers] : wanted) {
    page::StreamOptions options{.first_cluster = cluster, .end_cluster = cluster + 1, .merges = false};
    options.columns.resize(descriptor().columns.size());
    for (const auto& [column, i] : numbers) options.columns[column] = true;
    options.convert = [&](page::SealedPage& page) {
      const std::size_t i = numbers.at(page.column);
      const SealedPlace& place = columns[i].pages.at(page.number);
      std::memcpy(buffers[i].subspan(place.position, page.stored.size()).data(), page.stored.data(),
                  page.stored.size());
    };
    page::SealedPageStream stream(*source_, std::move(options));
    while (stream.next() != nullptr) {
    }
  }
}

void Reader::verify_sealed(const SealedColumn& column, std::span<const std::byte> buffer) const {
  require_pages(*source_, column);
  require_size(*source_, column, "a buffer", buffer.size(), column.size);
  const PageList pages = source_->placed_pages(column.column, column.cluster);
  for_pages(column, [&](std::size_t page) {
    in_page(*source_, column, page, [&] {
      const PageDescriptor description = pages[page];
      source_->verify(description,
                      buffer.subspan(column.pages[page].position, page::stored_size(description)));
    });
  });
}

void Reader::decompress_sealed(const SealedColumn& column, std::span<const std::byte> buffer,
                               std::span<std::byte> content) const {
  require_pages(*source_, column);
  require_size(*source_, column, "a buffer", buffer.size(), column.size);
  require_size(*source_, column, "room for content", content.size(), column.content_size);
  std::vector<std::uint64_t> starts;
  std::uint64_t start = 0;
  for (const SealedPlace& page : column.pages) {
    starts.push_back(start);
    start += page.content_size;
  }
  // A checksum that covers the page makes those of its chunks redundant.
  const bool trusts = source_->options().page_checksums == Checksums::on;
  for_pages(column, [&](std::size_t number) {
    in_page(*source_, column, number, [&] {
      const SealedPlace& page = column.pages[number];
      const ByteSpan block = buffer.subspan(page.position, page.size);
      const MutableByteSpan room = content.subspan(starts[number], page.content_size);
      if (page.size == page.content_size) {
        std::copy(block.begin(), block.end(), room.begin());
        return;
      }
      codec::check_content_size(block, page.content_size);
      const bool is_summed = trusts && page.has_checksum != 0;
      codec::decompress(block, room, is_summed ? codec::ChunkSums::trust : codec::ChunkSums::check);
    });
  });
}

}  // namespace colonnade
