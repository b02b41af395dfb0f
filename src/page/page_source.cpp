// Opening a data set and reading its metadata; see page_source.h.
#include "page/page_source.h"

#include <fmt/format.h>

#include <optional>

#include "base/huge_pages.h"
#include "codec/compression.h"
#include "format/envelope.h"
#include "page/cluster_pool.h"

namespace colonnade::page {
namespace {

// How often a field at this place repeats per entry; nullopt below a collection or variant, where it varies.
std::optional<std::uint64_t> repetitions(const Descriptor& descriptor, std::uint32_t field) {
  std::uint64_t factor = 1;
  for (std::uint32_t id = field;;) {
    const FieldDescriptor& f = descriptor.fields[id];
    if (f.array_size > 0) factor *= f.array_size;
    if (f.parent == id) return factor;
    const FieldRole above = descriptor.fields[f.parent].role;
    if (above == FieldRole::collection || above == FieldRole::variant) return std::nullopt;
    id = f.parent;
  }
}

// Parsers count from the start of their envelope, which may be compressed: people get both that and where the
// envelope lies in the file.
template <class Parse>
decltype(auto) in_envelope(const Locator& locator, Parse&& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    ErrorContext where = error.context();
    std::string problem = error.problem();
    if (where.offset) problem += fmt::format(" (byte {} of the envelope)", *where.offset);
    where.offset = locator.offset;
    throw Error(error.kind(), std::move(problem), error.advice(), std::move(where));
  }
}

}  // namespace

std::unique_ptr<PageSource> PageSource::open(std::string_view data_set, const std::string& uri,
                                             const ReadOptions& options) {
  const io::ReadFileOptions how{.local_io = options.local_io, .direct_io = options.direct_io};
  return open_while_written(
      [&] { return open(data_set, std::shared_ptr<ReadContainer>(open_container(uri, how)), options); });
}

std::unique_ptr<PageSource> PageSource::open(std::string_view data_set,
                                             std::shared_ptr<ReadContainer> container,
                                             const ReadOptions& options) {
  std::unique_ptr<PageSource> source(new PageSource(data_set, std::move(container), options));
  with_context(source->context(), [&] { source->read_descriptor(); });
  source->pool_ = std::make_unique<ClusterPool>(*source);
  return source;
}

PageSource::PageSource(std::string_view data_set, std::shared_ptr<ReadContainer> container,
                       const ReadOptions& options)
    : data_set_(data_set), container_(std::move(container)), options_(options) {}

PageSource::~PageSource() = default;

AlignedBuffer PageSource::read_envelope(const Locator& locator, std::uint64_t length, const char* what) {
  if (locator.kind != Locator::Kind::file)
    throw Error(ErrorKind::unsupported,
                fmt::format("the {} has a locator of type {:#04x}, which does not point into a file", what,
                            locator.raw_type),
                "open the data set through the store that it was written to");
  // A payload above the maximum key size lies in several places; the container checks those.
  const std::uint64_t file_size = container_->file().size();
  const std::uint64_t max_key = descriptor_.anchor.max_key_size;
  const bool in_one_piece = max_key == 0 || locator.size <= max_key;
  if (locator.size > file_size || (in_one_piece && locator.offset > file_size - locator.size))
    throw Error(ErrorKind::format,
                fmt::format("the {} of {} bytes lies beyond the end of the file ({} bytes)", what,
                            locator.size, file_size),
                "check that the file was transferred completely", {.offset = locator.offset});
  if (!is_plausible_length(locator.size, length))
    throw Error(
        ErrorKind::format,
        fmt::format("the {} claims {} bytes uncompressed for {} bytes stored", what, length, locator.size),
        "", {.offset = locator.offset});
  AlignedBuffer stored(locator.size);
  container_->read_blob(locator, descriptor_.anchor.max_key_size, stored.span());
  metadata_bytes_ += stored.size();
  if (length == locator.size) return stored;
  AlignedBuffer content(length);
  prefer_huge_pages(content.data(), length);  // page lists of many columns and clusters are large
  with_context({.offset = locator.offset}, [&] { codec::decompress(stored.span(), content.span()); });
  return content;
}

void PageSource::read_descriptor() {
  const Anchor anchor = container_->anchor(data_set_);
  if (anchor.epoch != 1)
    throw Error(
        ErrorKind::unsupported,
        fmt::format("the format epoch is {}, this version reads epoch 1", anchor.epoch),
        anchor.epoch == 0 ? "rewrite the file with ROOT 6.34 or newer" : "use a newer version of Colonnade");
  descriptor_.anchor = anchor;
  const Locator header{.size = anchor.header_size, .offset = anchor.header_offset};
  const Locator footer{.size = anchor.footer_size, .offset = anchor.footer_offset};
  const AlignedBuffer header_bytes = read_envelope(header, anchor.header_length, "header");
  Descriptor parsed = in_envelope(header, [&] { return format::read_header(header_bytes.span()); });
  parsed.anchor = anchor;
  descriptor_ = std::move(parsed);
  const AlignedBuffer footer_bytes = read_envelope(footer, anchor.footer_length, "footer");
  in_envelope(footer, [&] { format::read_footer(footer_bytes.span(), descriptor_); });
  // Groups that share one page list could ask for memory and time without end; true ones lie apart.
  std::uint64_t left = container_->file().size();
  for (std::size_t group = 0; group < descriptor_.cluster_groups.size(); ++group) {
    const EnvelopeLink link = descriptor_.cluster_groups[group].page_list;
    if (link.locator.size > left)
      throw Error(ErrorKind::format, "the page lists together are longer than the file",
                  "check that the file was transferred completely", {.offset = link.locator.offset});
    left -= link.locator.size;
    const AlignedBuffer list = read_envelope(link.locator, link.length, "page list");
    in_envelope(link.locator, [&] { format::read_page_list(list.span(), group, descriptor_); });
  }
  format::finish(descriptor_);
}

void PageSource::mark_unreadable(const std::vector<std::pair<std::uint32_t, std::string>>& reasons) {
  format::mark_unreadable(descriptor_, reasons);
}

PageSource::Extent PageSource::extent(std::uint32_t column, std::size_t cluster) const {
  const ClusterDescriptor& summary = descriptor_.clusters[cluster];
  Extent extent;
  if (column < summary.columns.size() && !summary.columns[column].suppressed) {
    const ColumnRange& range = summary.columns[column];
    for (const PageDescriptor& page : range.pages) extent.elements += page.elements;
    extent.first = static_cast<std::uint64_t>(range.first_element);
  }
  const ColumnDescriptor& description = descriptor_.columns[column];
  // Further columns hold what a first one counts, such as the text of strings: nothing of it is missing.
  const auto& groups = descriptor_.fields[description.field].representations;
  if (!description.deferred || groups[description.representation].front() != column) return extent;
  const auto factor = repetitions(descriptor_, description.field);
  if (!factor) return extent;
  const std::uint64_t expected = summary.entries * *factor;
  if (expected > extent.elements) extent.leading_zeros = expected - extent.elements;
  extent.elements += extent.leading_zeros;
  extent.first = summary.first_entry * *factor;
  return extent;
}

ReadCounters PageSource::counters() const {
  ReadCounters all = pool_->counters();
  all.metadata_bytes = metadata_bytes_;
  return all;
}

bool PageSource::is_plain(const PageDescriptor& page) const noexcept {
  const std::uint64_t max_key = descriptor_.anchor.max_key_size;
  return page.locator.kind == Locator::Kind::file && (max_key == 0 || stored_size(page) <= max_key);
}

void PageSource::read_sealed(const PageDescriptor& page, MutableByteSpan into) const {
  if (page.locator.kind != Locator::Kind::file)
    throw Error(ErrorKind::unsupported,
                fmt::format("the page has a locator of type {:#04x}, which does not point into a file",
                            page.locator.raw_type),
                "open the data set through the store that it was written to", context());
  if (is_plain(page)) return with_context(context(), [&] { file().read(page.locator.offset, into); });
  Locator whole = page.locator;
  whole.size = into.size();
  with_context(context(), [&] { container_->read_blob(whole, descriptor_.anchor.max_key_size, into); });
}

bool PageSource::verify(const PageDescriptor& page, ByteSpan page_and_checksum) const {
  return verify(page, page_and_checksum.first(page.locator.size),
                page_and_checksum.subspan(page.locator.size));
}

bool PageSource::verify(const PageDescriptor& page, ByteSpan content, ByteSpan sum) const {
  if (!page.has_checksum || options_.page_checksums == Checksums::off) return false;
  const std::uint64_t stored = load_le<std::uint64_t>(sum.data());
  const std::uint64_t computed = codec::xxh3(content);
  if (stored != computed)
    throw Error(
        ErrorKind::checksum,
        fmt::format("the page's checksum is {:#018x} where {:#018x} was written: the data was damaged",
                    computed, stored),
        "restore the file from another copy");
  return true;
}

ErrorContext PageSource::context(std::uint32_t column, std::size_t cluster, std::size_t page) const {
  ErrorContext where = context();
  where.field = descriptor_.path_of(descriptor_.columns[column].field);
  where.column = column;
  where.cluster = cluster;
  where.page = page;
  if (column < descriptor_.clusters[cluster].columns.size()) {
    const auto& pages = descriptor_.clusters[cluster].columns[column].pages;
    if (page < pages.size()) where.offset = pages[page].locator.offset;
  }
  return where;
}

}  // namespace colonnade::page
