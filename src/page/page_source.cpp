// Opening a data set and reading its metadata; see page_source.h.
#include "page/page_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "cache/data_set.h"
#include "cache/metadata.h"
#include "codec/compression.h"
#include "container/linked.h"
#include "container/object_store/page_file.h"
#include "format/envelope.h"
#include "io/places.h"
#include "page/cluster_pool.h"

namespace colonnade::page {
namespace {

// How often a field repeats per entry; nullopt below a collection or variant, where it varies.
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

// Parsers count from the start of their envelope, which may be compressed: messages give that offset and the
// position of the envelope in the file or store.
template <class Parse>
decltype(auto) in_envelope(const container::ReadContainer& container, const Locator& locator, Parse&& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    ErrorContext where = error.context();
    std::string problem = error.problem();
    if (where.offset) problem += fmt::format(" (byte {} of the envelope)", *where.offset);
    where.offset.reset();
    throw container.locate(Error(error.kind(), std::move(problem), error.advice(), std::move(where)),
                           locator);
  }
}

[[noreturn]] void fail_elsewhere(const char* what, const Locator& locator) {
  throw Error(
      ErrorKind::unsupported,
      fmt::format("the {} has a locator of type {:#04x}, which points outside of the data set's storage",
                  what, locator.raw_type),
      "open the data set through the store that it was written to");
}

std::uint64_t number_of(const Anchor& anchor) {
  ByteWriter out;
  for (const std::uint64_t part : {anchor.header_offset, anchor.header_size, anchor.header_length,
                                   anchor.footer_offset, anchor.footer_size, anchor.footer_length})
    out.le(part);
  return codec::xxh3(out.view());
}

// Groups that share one page list could take unlimited memory and time; valid page lists do not overlap.
class PageListGuard {
 public:
  explicit PageListGuard(const container::ReadContainer& container)
      : in_file_(container.locator_kind() == Locator::Kind::file),
        left_(in_file_ ? container.file().size() : 0) {}

  void take(const Locator& list) {
    if (!in_file_) {
      if (!taken_.insert(list.offset).second)
        throw Error(ErrorKind::format, fmt::format("two cluster groups have the page list {}", list.offset),
                    "restore the data set from another copy");
      return;
    }
    if (list.size > left_)
      throw Error(ErrorKind::format, "the page lists together are longer than the file",
                  "check that the file was transferred completely", {.offset = list.offset});
    left_ -= list.size;
  }

 private:
  bool in_file_;
  std::uint64_t left_;             // bytes of a file
  std::set<std::uint64_t> taken_;  // blobs of an object store
};

}  // namespace

// For concurrent readers: the sum of the peaks of each.
ReadCounters& ReadCounters::operator+=(const ReadCounters& more) noexcept {
  requests += more.requests;
  bytes += more.bytes;
  read_over_bytes += more.read_over_bytes;
  pages += more.pages;
  metadata_bytes += more.metadata_bytes;
  prefetched_used += more.prefetched_used;
  prefetched_unused += more.prefetched_unused;
  peak_ahead_bytes += more.peak_ahead_bytes;
  seconds_waiting += more.seconds_waiting;
  seconds_decoding += more.seconds_decoding;
  cache_pages += more.cache_pages;
  cache_bytes += more.cache_bytes;
  cache_added += more.cache_added;
  cache_dropped += more.cache_dropped;
  return *this;
}

std::unique_ptr<PageSource> PageSource::open(std::string_view data_set, const std::string& uri,
                                             const ReadOptions& options) {
  const io::ReadFileOptions how{.local_io = options.local_io, .direct_io = options.direct_io};
  return container::open_while_written([&] {
    return open(data_set, std::shared_ptr<container::ReadContainer>(container::open_container(uri, how)),
                options);
  });
}

std::unique_ptr<PageSource> PageSource::open(std::string_view data_set,
                                             std::shared_ptr<const container::ReadContainer> container,
                                             const ReadOptions& options) {
  if (std::shared_ptr<const container::ReadContainer> inner = container->of_data_set(data_set))
    container = std::move(inner);
  std::unique_ptr<PageSource> source(new PageSource(data_set, std::move(container), options));
  with_context(source->context(), [&] { source->read_descriptor(); });
  source->pool_ = std::make_unique<ClusterPool>(*source);
  return source;
}

std::unique_ptr<PageSource> PageSource::open(std::string_view data_set,
                                             std::shared_ptr<const container::ReadContainer> container,
                                             std::shared_ptr<Descriptor> descriptor,
                                             const ReadOptions& options) {
  if (std::shared_ptr<const container::ReadContainer> inner = container->of_data_set(data_set))
    container = std::move(inner);
  std::unique_ptr<PageSource> source(new PageSource(data_set, std::move(container), options));
  source->descriptor_ = std::move(descriptor);
  with_context(source->context(), [&] {
    if (source->container_->anchor(data_set) != source->descriptor_->anchor)
      throw Error(ErrorKind::io, "the data set has been rewritten since it was first opened",
                  "open it again");
    source->find_pages();
  });
  source->pool_ = std::make_unique<ClusterPool>(*source);
  return source;
}

std::unique_ptr<PageSource> PageSource::open_again(const ReadOptions& options) const {
  std::unique_ptr<PageSource> source(new PageSource(data_set_, container_, options));
  source->descriptor_ = descriptor_;
  source->object_pages_ = object_pages_;
  source->file_ = file_;
  source->cache_ = cache_;
  source->pool_ = std::make_unique<ClusterPool>(*source);
  return source;
}

// Not cached: attribute sets are small, and a cache identifies data sets by name.
std::unique_ptr<PageSource> PageSource::open_attribute_set(const AttributeSetRecord& record) const {
  const std::string name = fmt::format("{} (attribute set {})", data_set_, record.name);
  ReadOptions options = options_;
  options.cache = "off";
  return with_context({.uri = uri(), .data_set = name}, [&] {
    if (record.schema_major != attribute_schema_major)
      throw Error(ErrorKind::unsupported,
                  fmt::format("the attribute set has schema {}.{}, this version reads {}.x",
                              record.schema_major, record.schema_minor, attribute_schema_major),
                  "a newer version of Colonnade");
    return open(name, container::open_linked(container_, record, descriptor_->anchor.max_key_size), options);
  });
}

PageSource::PageSource(std::string_view data_set, std::shared_ptr<const container::ReadContainer> container,
                       ReadOptions options)
    : data_set_(data_set), container_(std::move(container)), options_(std::move(options)) {}

PageSource::~PageSource() = default;

AlignedBuffer PageSource::read_stored(const Locator& locator, const char* what) {
  const auto ahead = ahead_.find(locator.offset);
  if (ahead != ahead_.end() && ahead->second.size() == locator.size)
    return std::move(ahead_.extract(ahead).mapped());
  container_->check_blob(locator, descriptor_->anchor.max_key_size, what);
  AlignedBuffer stored(locator.size);
  container_->read_blob(locator, descriptor_->anchor.max_key_size, stored.span());
  return stored;
}

// Reads envelopes that are needed next in one round trip instead of one each. Errors are left to the single
// reads.
void PageSource::read_together(std::span<const Locator> envelopes, const char* what) {
  const std::uint64_t max_key_size = descriptor_->anchor.max_key_size;
  std::vector<container::ReadContainer::BlobRead> reads;
  try {
    for (const Locator& envelope : envelopes) {
      if (ahead_.contains(envelope.offset)) continue;
      container_->check_blob(envelope, max_key_size, what);
      reads.push_back(
          {envelope, ahead_.emplace(envelope.offset, AlignedBuffer(envelope.size)).first->second.span()});
    }
    container_->read_blobs(reads, max_key_size);
  } catch (const Error& error) {
    ahead_.clear();
    // An unavailable store would only cause a second wait.
    if (error.kind() == ErrorKind::io && container_->locator_kind() != Locator::Kind::file) throw;
  }
}

// Reads the page lists from this group's on, as many as are worth reading together.
void PageSource::read_ahead(std::size_t group) {
  constexpr std::size_t most_lists = 1024;
  constexpr std::uint64_t most_bytes = std::uint64_t{32} << 20;
  constexpr std::uint64_t small_list = std::uint64_t{1} << 20;
  if (group % most_lists != 0 || descriptor_->cluster_groups.size() - group < 2) return;
  std::vector<Locator> lists;
  std::uint64_t bytes = 0;
  for (; group < descriptor_->cluster_groups.size() && lists.size() < most_lists; ++group) {
    const Locator& list = descriptor_->cluster_groups[group].page_list.locator;
    if (list.kind != container_->locator_kind() || list.size > small_list) break;
    bytes += list.size;
    if (bytes > most_bytes) break;
    lists.push_back(list);
  }
  read_together(lists, "page list");
}

// Calls `parse` with the decompressed envelope.
void PageSource::read_envelope(const Locator& locator, std::uint64_t length, const char* what,
                               MemoryLimit& limit, const std::function<void(ByteSpan)>& parse) {
  if (locator.kind != container_->locator_kind()) fail_elsewhere(what, locator);
  AlignedBuffer stored = read_stored(locator, what);
  metadata_bytes_ += stored.size();
  if (metadata_) metadata_->blobs.push_back({locator, Bytes(stored.span().begin(), stored.span().end())});
  limit.add_stored(stored.size());
  in_envelope(*container_, locator, [&] {
    if (length == stored.size()) return parse(stored.span());
    limit.take(1, length, what);
    limit.take(1, length / 2, what);  // growing keeps the old and the new copy for a moment
    AlignedBuffer content;
    codec::decompress_growing(stored.span(), length, content);
    limit.give_back(length / 2);
    stored = AlignedBuffer();
    parse(content.span());
    limit.give_back(length);
  });
}

void PageSource::read_descriptor() {
  const Anchor anchor = container_->anchor(data_set_);
  if (anchor.epoch != 1)
    throw Error(
        ErrorKind::unsupported,
        fmt::format("the format epoch is {}, this version reads epoch 1", anchor.epoch),
        anchor.epoch == 0 ? "rewrite the file with ROOT 6.34 or newer" : "use a newer version of Colonnade");
  descriptor_->anchor = anchor;
  if (!cache_settings().store.empty()) {
    metadata_ = std::make_unique<cache::Metadata>();
    metadata_->anchor = anchor;
    take_kept_metadata();
  }
  const Locator::Kind kind = container_->locator_kind();
  const Locator header{.kind = kind, .size = anchor.header_size, .offset = anchor.header_offset};
  const Locator footer{.kind = kind, .size = anchor.footer_size, .offset = anchor.footer_offset};
  MemoryLimit limit;
  constexpr std::uint64_t small_envelope = std::uint64_t{8} << 20;
  if (header.offset != footer.offset && header.size <= small_envelope && footer.size <= small_envelope)
    read_together(std::array{header, footer}, "header or footer");
  read_envelope(header, anchor.header_length, "header", limit, [&](ByteSpan envelope) {
    Descriptor parsed = format::read_header(envelope, &limit);
    parsed.anchor = anchor;
    *descriptor_ = std::move(parsed);
  });
  read_envelope(footer, anchor.footer_length, "footer", limit,
                [&](ByteSpan envelope) { format::read_footer(envelope, *descriptor_, &limit); });
  PageListGuard guard(*container_);
  for (std::size_t group = 0; group < descriptor_->cluster_groups.size(); ++group) {
    const EnvelopeLink link = descriptor_->cluster_groups[group].page_list;
    guard.take(link.locator);
    read_ahead(group);
    read_envelope(link.locator, link.length, "page list", limit,
                  [&](ByteSpan envelope) { format::read_page_list(envelope, group, *descriptor_, &limit); });
  }
  ahead_.clear();
  format::finish(*descriptor_, &limit);
  find_pages();
  file_->opened();
}

std::uint64_t PageSource::identity() const {
  return codec::xxh3(as_bytes(fmt::format("{} {} {:x} {:x}", container_->version(), file_size(),
                                          number_of(descriptor_->anchor), descriptor_->header_checksum)));
}

void PageSource::find_pages() {
  object_pages_ = container_->object_pages(*descriptor_);
  file_ = object_pages_ ? object_pages_.get() : &container_->file();
  open_cache();
}

cache::Settings PageSource::cache_settings() const {
  return cache::settings_for(options_.cache, !io::is_local(container_->uri()));
}

cache::Identity PageSource::cache_identity(std::uint64_t size) const {
  return {.uri = cache::origin_name(container_->uri()),
          .name = data_set_,
          .size = size,
          .version = container_->version(),
          .anchor = number_of(descriptor_->anchor),
          .columns = {}};
}

// Saves requests for what did not come with the opening of the file.
void PageSource::take_kept_metadata() {
  if (container_->locator_kind() != Locator::Kind::file) return;
  const auto kept = cache::kept_metadata(cache_settings(), cache_identity(container_->file().size()));
  if (!kept || kept->anchor != descriptor_->anchor) return;
  for (const cache::Metadata::Blob& blob : kept->blobs) {
    AlignedBuffer bytes(blob.bytes.size());
    std::ranges::copy(blob.bytes, bytes.data());
    ahead_.insert_or_assign(blob.locator.offset, std::move(bytes));
  }
}

// The cache outlives the source while its threads are at work, and so must everything it uses.
void PageSource::open_cache() {
  const cache::Settings settings = cache_settings();
  if (settings.store.empty()) return;
  cache::Identity identity = cache_identity(file_size());
  for (const ColumnDescriptor& column : descriptor_->columns)
    identity.columns.push_back(descriptor_->path_of(column.field));
  const auto pages = [container = container_, descriptor = descriptor_, object_pages = object_pages_,
                      offline = settings.offline,
                      max_key = object_pages_ ? 0 : descriptor_->anchor.max_key_size](
                         std::uint32_t column, std::size_t cluster) -> PageList {
    const auto& columns = descriptor->clusters[cluster].columns;
    if (column >= columns.size()) return {};
    PageList placed =
        object_pages ? object_pages->place(cluster, column, columns[column].pages) : columns[column].pages;
    for (const PageDescriptor& page : placed)
      if ((page.locator.kind != Locator::Kind::file && !offline) ||
          cache::DataSet::is_home(page.locator.offset) || (max_key != 0 && stored_size(page) > max_key))
        return {};
    return placed;
  };
  std::shared_ptr<const io::RandomAccessFile> file = object_pages_;
  if (!file) file = {container_, file_};
  Bytes metadata;
  if (metadata_) metadata = to_bytes(*metadata_);
  metadata_.reset();
  cache_ = cache::open_data_set(settings, identity, {.file = std::move(file), .pages = pages},
                                std::move(metadata));
}

void PageSource::mark_unreadable(const std::vector<std::pair<std::uint32_t, std::string>>& reasons) {
  format::mark_unreadable(*descriptor_, reasons);
}

PageSource::ColumnExtent PageSource::extent(std::uint32_t column, std::size_t cluster) const {
  const ClusterDescriptor& summary = descriptor_->clusters[cluster];
  ColumnExtent extent;
  if (column < summary.columns.size() && !summary.columns[column].suppressed) {
    const ColumnRange& range = summary.columns[column];
    for (const PageDescriptor& page : range.pages) extent.elements += page.elements;
    extent.first = static_cast<std::uint64_t>(range.first_element);
  }
  const ColumnDescriptor& description = descriptor_->columns[column];
  // The first column counts the elements of the others, such as the text of strings: none are
  // missing.
  const auto& groups = descriptor_->fields[description.field].representations;
  if (!description.deferred || groups[description.representation].front() != column) return extent;
  const auto factor = repetitions(*descriptor_, description.field);
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

PageList PageSource::placed_pages(std::uint32_t column, std::size_t cluster) const {
  const auto& columns = descriptor_->clusters[cluster].columns;
  if (column >= columns.size()) return {};
  return object_pages_ ? object_pages_->place(cluster, column, columns[column].pages) : columns[column].pages;
}

PageList PageSource::pages_to_read(std::uint32_t column, std::size_t cluster) const {
  if (cache_)
    if (std::optional<PageList> cached = cache_->place(column, cluster)) return std::move(*cached);
  PageList pages = placed_pages(column, cluster);
  // File offsets never reach the range of the cache's addresses.
  for (std::size_t i = 0; cache_ && i < pages.size(); ++i)
    if (PageDescriptor page = pages[i]; is_cached(page)) {
      page.locator.kind = Locator::Kind::unknown;
      pages.set(i, page);
    }
  return pages;
}

std::string PageSource::cache_state() const {
  if (cache_) return cache_->state();
  const bool keeps_nothing = container_->version().empty() && !cache_settings().store.empty();
  return keeps_nothing ? fmt::format("not used: {}", cache::no_version) : std::string();
}

void PageSource::remember(bool is_only) const {
  if (cache_ && cache_settings().trust.count() > 0) cache_->note_found(is_only);
}

std::vector<std::pair<std::uint32_t, std::string>> PageSource::missing_offline() const {
  std::vector<std::pair<std::uint32_t, std::string>> fields;
  if (!cache_ || !cache_settings().offline) return fields;
  for (std::uint32_t column = 0; column < descriptor_->columns.size(); ++column)
    if (!cache_->has_all(column, descriptor_->clusters.size()))
      fields.emplace_back(descriptor_->columns[column].field,
                          "the cache does not have all of it, and is used offline");
  return fields;
}

bool PageSource::is_cached(const PageDescriptor& page) const noexcept {
  return cache_ && page.locator.kind == Locator::Kind::file && cache::DataSet::is_home(page.locator.offset);
}

const io::RandomAccessFile& PageSource::file_of(const PageDescriptor& page) const noexcept {
  if (!is_cached(page)) return *file_;
  return cache::DataSet::is_awaited(page.locator.offset) ? cache_->awaited() : cache_->file();
}

void PageSource::keep(std::uint32_t column, std::size_t cluster, std::size_t page,
                      const PageDescriptor& description, ByteSpan content, ByteSpan sum,
                      ReadCounters& counters) const {
  if (!cache_) return;
  if (is_cached(description) && cache_->was_served(description.locator.offset)) {
    ++counters.cache_pages;
    counters.cache_bytes += description.locator.size;
    return;
  }
  // The origin's own checksum, even if unverified: damaged data of the origin must not look valid here.
  std::optional<std::uint64_t> known;
  if (description.has_checksum) known = load_le<std::uint64_t>(sum.data());
  if (is_cached(description)) *known ^= cache_->seal(description.locator.offset);
  const bool is_kept = cache_->keep(column, cluster, page, content, known);
  ++(is_kept ? counters.cache_added : counters.cache_dropped);
}

bool PageSource::is_plain(const PageDescriptor& page) const noexcept {
  if (is_cached(page)) return true;
  const std::uint64_t max_key = object_pages_ ? 0 : descriptor_->anchor.max_key_size;
  return page.locator.kind == Locator::Kind::file && (max_key == 0 || stored_size(page) <= max_key);
}

void PageSource::check_there(const PageDescriptor& page) const {
  if (!object_pages_ || page.locator.kind != Locator::Kind::file || is_cached(page)) return;
  object_pages_->check(page.locator.offset, stored_size(page));
}

void PageSource::read_sealed(const PageDescriptor& page, MutableByteSpan into) const {
  with_context(context(), [&] {
    if (page.locator.kind != Locator::Kind::file) fail_elsewhere("page", page.locator);
    if (is_plain(page)) return file_of(page).read(page.locator.offset, into);
    Locator whole = page.locator;
    whole.size = into.size();
    container_->read_blob(whole, descriptor_->anchor.max_key_size, into);
  });
}

bool PageSource::verify(const PageDescriptor& page, ByteSpan page_and_checksum) const {
  return verify(page, page_and_checksum.first(page.locator.size),
                page_and_checksum.subspan(page.locator.size));
}

std::optional<std::uint64_t> PageSource::expected_sum(const PageDescriptor& page, ByteSpan sum) const {
  if (!page.has_checksum) return std::nullopt;
  // Data from a cache are always verified.
  if (is_cached(page)) return load_le<std::uint64_t>(sum.data()) ^ cache_->seal(page.locator.offset);
  if (options_.page_checksums == Checksums::off) return std::nullopt;
  return load_le<std::uint64_t>(sum.data());
}

bool PageSource::verify(const PageDescriptor& page, ByteSpan content, ByteSpan sum) const {
  const std::optional<std::uint64_t> stored = expected_sum(page, sum);
  if (!stored) return false;
  const std::uint64_t computed = codec::xxh3(content);
  if (*stored != computed)
    throw Error(
        ErrorKind::checksum,
        fmt::format("the page's checksum is {:#018x} instead of {:#018x}: the data is damaged", computed,
                    *stored),
        object_pages_ ? "restore the data set from another copy" : "restore the file from another copy");
  return true;
}

ErrorContext PageSource::context(std::uint32_t column, std::size_t cluster, std::size_t page) const {
  ErrorContext where = context();
  where.field = descriptor_->path_of(descriptor_->columns[column].field);
  where.column = column;
  where.cluster = cluster;
  where.page = page;
  if (column < descriptor_->clusters[cluster].columns.size()) {
    const auto& pages = descriptor_->clusters[cluster].columns[column].pages;
    if (page < pages.size() && !object_pages_) where.offset = pages[page].locator.offset;
  }
  return where;
}

Error PageSource::in_page(const Error& error, std::uint32_t column, std::size_t cluster,
                          std::size_t page) const {
  Error placed = error.with(context(column, cluster, page));
  if (!object_pages_) return placed;
  const PageList pages = placed_pages(column, cluster);
  if (page >= pages.size() || pages[page].locator.kind != Locator::Kind::file) return placed;
  const std::string place = object_pages_->to_text(pages[page].locator.offset, stored_size(pages[page]));
  // Stores name the value, but not the position of the page in it.
  return {placed.kind(), fmt::format("{} ({})", placed.problem(), place), placed.advice(), placed.context()};
}

}  // namespace colonnade::page
