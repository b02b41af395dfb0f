// Envelopes -> Descriptor: header, footer, page lists. Records are parsed one by one; finish() checks them
// against each other (envelope_schema.cpp, envelope_clusters.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/huge_pages.h"
#include "format/envelope.h"
#include "format/envelope_layout.h"
#include "format/frame.h"
#include "format/locator.h"

namespace colonnade::format {
namespace {

// Names of the structures in messages, for the header and for the footer's schema extension.
struct SchemaNames {
  const char* fields;
  const char* columns;
  const char* aliases;
  const char* type_infos;
};
constexpr SchemaNames header_names{"header: field", "header: column", "header: alias column",
                                   "header: extra type information"};
constexpr SchemaNames extension_names{"footer: field", "footer: column", "footer: alias column",
                                      "footer: extra type information"};

void take_memory(MemoryLimit* limit, std::uint64_t count, std::uint64_t bytes, const char* what) {
  if (limit != nullptr) limit->take(count, bytes, what);
}

void read_text(ByteReader& reader, const char* what, std::string& text, MemoryLimit* limit) {
  const ByteSpan bytes = reader.take(reader.le<std::uint32_t>(what), what);
  take_memory(limit, 1, bytes.size(), what);
  text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void read_field(ByteReader record, std::uint32_t id, const char* what, FieldDescriptor& field,
                MemoryLimit* limit) {
  field.id = id;
  field.field_version = record.le<std::uint32_t>(what);
  field.type_version = record.le<std::uint32_t>(what);
  field.parent = record.le<std::uint32_t>(what);
  field.raw_role = record.le<std::uint16_t>(what);
  if (field.raw_role < known_roles) field.role = static_cast<FieldRole>(field.raw_role);
  const auto flags = record.le<std::uint16_t>(what);
  read_text(record, what, field.name, limit);
  read_text(record, what, field.type_name, limit);
  read_text(record, what, field.type_alias, limit);
  read_text(record, what, field.description, limit);
  if (flags & field_is_repetitive) {
    const std::uint64_t at = record.offset();
    field.array_size = record.le<std::uint64_t>(what);
    if (field.array_size == 0)
      throw Error(ErrorKind::format, fmt::format("{}: repetitive field with an array size of 0", what), "",
                  {.field = field.name, .offset = at});
  }
  if (flags & field_is_projected) field.source_field = record.le<std::uint32_t>(what);
  if (flags & field_has_checksum) field.type_checksum = record.le<std::uint32_t>(what);
  field.soa_collection = (flags & field_is_soa) != 0;
}

void read_column(ByteReader record, std::uint32_t id, const char* what, ColumnDescriptor& column) {
  column.id = id;
  column.raw_type = record.le<std::uint16_t>(what);
  column.encoding.type = static_cast<ColumnType>(column.raw_type);
  column.encoding.bits = record.le<std::uint16_t>(what);
  column.field = record.le<std::uint32_t>(what);
  const auto flags = record.le<std::uint16_t>(what);
  column.representation = record.le<std::uint16_t>(what);
  if (flags & column_is_deferred) {
    const auto first = record.le<std::int64_t>(what);
    const auto bits = static_cast<std::uint64_t>(first);
    column.deferred = true;
    column.deferred_suppressed = first < 0;
    column.first_element = first < 0 ? 0 - bits : bits;
  }
  if (flags & column_has_range) {
    column.has_range = true;
    column.encoding.min = record.le<double>(what);
    column.encoding.max = record.le<double>(what);
  }
}

void read_alias(ByteReader record, const char* what, AliasColumnDescriptor& alias) {
  alias.physical_column = record.le<std::uint32_t>(what);
  alias.field = record.le<std::uint32_t>(what);
}

void read_type_info(ByteReader record, const char* what, ExtraTypeInfo& info, MemoryLimit* limit) {
  info.content_id = record.le<std::uint32_t>(what);
  info.type_version = record.le<std::uint32_t>(what);
  read_text(record, what, info.type_name, limit);
  read_text(record, what, info.content, limit);
}

// The cost of a record in a list: minimum bytes in the envelope, and maximum memory.
struct RecordCost {
  std::uint64_t bytes;
  std::uint64_t memory;
};

// Reserves memory for more items, so that repeated appending stays cheap.
template <class Item>
void reserve_more(std::vector<Item>& items, std::size_t more) {
  const std::size_t needed = items.size() + more;
  if (needed > items.capacity())
    items.reserve(items.empty() ? needed : std::max(needed, items.size() * 3 / 2));
}

// Appends the records of a list to `items`: makes each item and parses into it.
template <class Item, class ReadItem>
void read_records(ByteReader& reader, RecordCost cost, const char* what, std::vector<Item>& items,
                  MemoryLimit* limit, ReadItem&& read_item) {
  ListFrame list = read_list(reader, cost.bytes, what);
  if (items.size() + list.items >= invalid_id)
    throw Error(ErrorKind::format,
                fmt::format("{}: {} records are too many", what, items.size() + list.items));
  take_memory(limit, list.items, cost.memory, what);
  reserve_more(items, list.items);
  prefer_huge_pages(items.data(), items.capacity() * sizeof(Item));
  for (std::uint32_t i = 0; i < list.items; ++i) {
    const ByteReader record = read_record(list.payload, what);
    const auto id = static_cast<std::uint32_t>(items.size());
    read_item(record, id, items.emplace_back());
  }
}

void read_schema(ByteReader& reader, const SchemaNames& names, Descriptor& descriptor, MemoryLimit* limit) {
  read_records(reader, {min_field_bytes, field_memory}, names.fields, descriptor.fields, limit,
               [&](ByteReader record, std::uint32_t id, FieldDescriptor& field) {
                 read_field(record, id, names.fields, field, limit);
               });
  read_records(reader, {min_column_bytes, column_memory}, names.columns, descriptor.columns, limit,
               [&](ByteReader record, std::uint32_t id, ColumnDescriptor& column) {
                 read_column(record, id, names.columns, column);
               });
  read_records(reader, {min_alias_bytes, alias_memory}, names.aliases, descriptor.aliases, limit,
               [&](ByteReader record, std::uint32_t, AliasColumnDescriptor& alias) {
                 read_alias(record, names.aliases, alias);
               });
  read_records(reader, {min_type_info_bytes, type_info_memory}, names.type_infos, descriptor.type_infos,
               limit, [&](ByteReader record, std::uint32_t, ExtraTypeInfo& info) {
                 read_type_info(record, names.type_infos, info, limit);
               });
}

void read_cluster_group(ByteReader record, ClusterGroup& group) {
  constexpr const char* what = "footer: cluster group";
  group.min_entry = record.le<std::uint64_t>(what);
  group.entry_span = record.le<std::uint64_t>(what);
  group.clusters = record.le<std::uint32_t>(what);
  group.page_list = read_link(record, what);
}

void read_attribute_set(ByteReader record, AttributeSetRecord& set, MemoryLimit* limit) {
  constexpr const char* what = "footer: attribute set";
  set.schema_major = record.le<std::uint16_t>(what);
  set.schema_minor = record.le<std::uint16_t>(what);
  set.anchor_length = record.le<std::uint32_t>(what);
  set.anchor = read_locator(record, what);
  read_text(record, what, set.name, limit);
}

void check_header_checksum(ByteReader& reader, const Descriptor& descriptor, EnvelopeType type) {
  const std::uint64_t at = reader.offset();
  const auto stored = reader.le<std::uint64_t>(name_of(type));
  if (stored != descriptor.header_checksum)
    throw Error(ErrorKind::checksum,
                fmt::format("{}: made for a header with checksum {:016x}, but the header has {:016x}",
                            name_of(type), stored, descriptor.header_checksum),
                "the file mixes two data sets; fetch or write it again", {.offset = at});
}

void read_cluster_summary(ByteReader record, std::uint64_t id, ClusterDescriptor& cluster) {
  constexpr const char* what = "page list: cluster summary";
  cluster.id = id;
  cluster.first_entry = record.le<std::uint64_t>(what);
  const std::uint64_t at = record.offset();
  const auto packed = record.le<std::uint64_t>(what);
  cluster.entries = packed & max_cluster_entries;
  cluster.flags = static_cast<std::uint8_t>(packed >> 56);
  if (cluster.flags & cluster_is_sharded)
    throw Error(ErrorKind::unsupported, "page list: the cluster is sharded, which this version cannot read",
                "a newer version of the library", {.cluster = id, .offset = at});
}

// The position of the parser within a cluster, to be added to errors: making contexts in advance would cost
// more than parsing.
struct PositionInCluster {
  static constexpr std::uint32_t nowhere = invalid_id;
  std::uint32_t column = nowhere;
  std::uint32_t page = nowhere;

  ErrorContext context(std::uint64_t cluster) const {
    ErrorContext context{.cluster = cluster};
    if (column != nowhere) context.column = column;
    if (page != nowhere) context.page = page;
    return context;
  }
};

// The size of a page in a file: element count, size, offset.
constexpr std::size_t plain_page_bytes = 16;

struct PlainPage {
  std::uint32_t elements;
  std::uint32_t size;
  std::uint64_t offset;
  bool has_checksum;
};

// Most pages are plain, and there may be millions. Returns false for other pages, and for invalid ones.
bool load_plain_page(const std::byte* at, PlainPage& page) noexcept {
  const auto count = load_le<std::int32_t>(at);
  const auto size = load_le<std::int32_t>(at + 4);
  if (count == 0 || count == std::numeric_limits<std::int32_t>::min() || size < 0) return false;
  page = {static_cast<std::uint32_t>(count < 0 ? -count : count), static_cast<std::uint32_t>(size),
          load_le<std::uint64_t>(at + 8), count < 0};
  return true;
}

PageDescriptor read_any_page(ByteReader& reader) {
  constexpr const char* what = "page list: page";
  PageDescriptor page;
  const std::uint64_t at = reader.offset();
  const auto count = reader.le<std::int32_t>(what);
  if (count == 0 || count == std::numeric_limits<std::int32_t>::min())
    throw Error(ErrorKind::format, fmt::format("{} of {} elements", what, count), "", {.offset = at});
  page.has_checksum = count < 0;
  page.elements = static_cast<std::uint32_t>(count < 0 ? -count : count);
  page.locator = read_locator(reader, what);
  return page;
}

void read_page(ByteReader& reader, PageList& pages) {
  PlainPage plain;
  if (reader.remaining() >= plain_page_bytes) {
    const std::size_t start = reader.position();
    const std::byte* const at = reader.take(plain_page_bytes, "page list: page").data();
    if (load_plain_page(at, plain))
      return pages.push_back_plain(plain.offset, plain.size, plain.elements, plain.has_checksum);
    reader.seek(start, "page list: page");
  }
  pages.push_back(read_any_page(reader));
}

// A column of one plain page, the usual case in a file with many columns: returns true if this is one, and it
// is valid.
bool read_one_page_column(ByteReader& reader, ColumnRange& range) {
  constexpr std::size_t frame_bytes = 12 + plain_page_bytes + 12;
  if (reader.remaining() < frame_bytes) return false;
  ByteReader probe = reader;
  const std::byte* const at = probe.take(frame_bytes, "page list: column").data();
  PlainPage page;
  if (load_le<std::int64_t>(at) != -static_cast<std::int64_t>(frame_bytes) ||
      load_le<std::uint32_t>(at + 8) != 1 || !load_plain_page(at + 12, page))
    return false;
  range.first_element = load_le<std::int64_t>(at + 12 + plain_page_bytes);
  if (range.first_element < 0) return false;
  range.compression = load_le<std::uint32_t>(at + 12 + plain_page_bytes + 8);
  range.pages.push_back_plain(page.offset, page.size, page.elements, page.has_checksum);
  reader = probe;
  return true;
}

void read_column_range(ByteReader& reader, ColumnRange& range, PositionInCluster& place, MemoryLimit* limit) {
  constexpr const char* what = "page list: column";
  if (read_one_page_column(reader, range)) return;
  ListFrame pages = read_list(reader, min_page_bytes, what);
  take_memory(limit, pages.items, plain_page_memory, what);
  range.pages.reserve(pages.items);
  bool is_packed = true;
  for (place.page = 0; place.page < pages.items; ++place.page) {
    read_page(pages.payload, range.pages);
    if (!is_packed || range.pages.is_packed()) continue;
    take_memory(limit, pages.items, other_page_memory, what);
    is_packed = false;
  }
  place.page = PositionInCluster::nowhere;
  const std::uint64_t at = pages.payload.offset();
  range.first_element = pages.payload.le<std::int64_t>(what);
  range.suppressed = range.first_element < 0;
  if (range.suppressed && !range.pages.empty())
    throw Error(ErrorKind::format, fmt::format("{} is suppressed but has {} pages", what, range.pages.size()),
                "", {.offset = at});
  if (!range.suppressed) range.compression = pages.payload.le<std::uint32_t>(what);
}

// Reads the frame of a cluster's columns, and reserves memory for them.
ListFrame read_columns_frame(ByteReader& reader, std::size_t known_columns, ClusterDescriptor& cluster,
                             MemoryLimit* limit) {
  constexpr const char* what = "page list: columns of a cluster";
  const std::uint64_t at = reader.offset();
  ListFrame columns = read_list(reader, min_range_bytes, what);
  if (columns.items > known_columns)
    throw Error(ErrorKind::format,
                fmt::format("{}: {} columns, but the schema has {}", what, columns.items, known_columns), "",
                {.offset = at + 8});
  take_memory(limit, columns.items, sizeof(ColumnRange), what);
  cluster.columns.reserve(columns.items);
  prefer_huge_pages(cluster.columns.data(), columns.items * sizeof(ColumnRange));
  return columns;
}

void read_cluster_columns(ListFrame& columns, std::size_t cluster_number, ClusterDescriptor& cluster,
                          MemoryLimit* limit) {
  PositionInCluster place;
  try {
    for (place.column = 0; place.column < columns.items; ++place.column) {
      ColumnRange& range = cluster.columns.emplace_back();
      range.column = place.column;
      read_column_range(columns.payload, range, place, limit);
    }
  } catch (const Error& error) {
    throw error.with(place.context(cluster_number));
  }
}

}  // namespace

Descriptor read_header(ByteSpan envelope, MemoryLimit* limit) {
  constexpr const char* what = "header";
  OpenEnvelope open = open_envelope(envelope, EnvelopeType::header);
  ByteReader& reader = open.payload;
  Descriptor descriptor;
  descriptor.header_checksum = open.checksum;
  descriptor.feature_flags = read_feature_flags(reader, known_feature_flags, what);
  read_text(reader, what, descriptor.name, limit);
  read_text(reader, what, descriptor.description, limit);
  read_text(reader, what, descriptor.writer, limit);
  read_schema(reader, header_names, descriptor, limit);
  descriptor.header_fields = static_cast<std::uint32_t>(descriptor.fields.size());
  descriptor.header_columns = static_cast<std::uint32_t>(descriptor.columns.size());
  descriptor.header_aliases = static_cast<std::uint32_t>(descriptor.aliases.size());
  descriptor.header_type_infos = static_cast<std::uint32_t>(descriptor.type_infos.size());
  return descriptor;
}

void read_footer(ByteSpan envelope, Descriptor& descriptor, MemoryLimit* limit) {
  OpenEnvelope open = open_envelope(envelope, EnvelopeType::footer);
  ByteReader& reader = open.payload;
  descriptor.feature_flags |= read_feature_flags(reader, known_feature_flags, "footer");
  check_header_checksum(reader, descriptor, EnvelopeType::footer);
  ByteReader extension = read_record(reader, "footer: schema extension");
  if (extension.remaining() > 0) read_schema(extension, extension_names, descriptor, limit);
  read_records(
      reader, {min_group_bytes, group_memory}, "footer: cluster group", descriptor.cluster_groups, limit,
      [](ByteReader record, std::uint32_t, ClusterGroup& group) { read_cluster_group(record, group); });
  // Footers older than format 1.0.1.0 end here; the version in the anchor is for reporting only.
  if (reader.remaining() > 0)
    read_records(reader, {min_attribute_set_bytes, attribute_set_memory}, "footer: attribute set",
                 descriptor.attribute_sets, limit,
                 [limit](ByteReader record, std::uint32_t, AttributeSetRecord& set) {
                   read_attribute_set(record, set, limit);
                 });
}

void read_page_list(ByteSpan envelope, std::size_t group, Descriptor& descriptor, MemoryLimit* limit) {
  if (group >= descriptor.cluster_groups.size())
    throw Error(ErrorKind::usage, fmt::format("cluster group {} was requested, but there are {}", group,
                                              descriptor.cluster_groups.size()));
  OpenEnvelope open = open_envelope(envelope, EnvelopeType::page_list);
  ByteReader& reader = open.payload;
  check_header_checksum(reader, descriptor, EnvelopeType::page_list);

  const std::uint64_t at = reader.offset();
  const std::size_t first = descriptor.clusters.size();
  read_records(reader, {min_summary_bytes, cluster_memory}, "page list: cluster summary", descriptor.clusters,
               limit, [](ByteReader record, std::uint32_t id, ClusterDescriptor& cluster) {
                 read_cluster_summary(record, id, cluster);
               });
  const std::size_t count = descriptor.clusters.size() - first;
  if (count != descriptor.cluster_groups[group].clusters)
    throw Error(ErrorKind::format,
                fmt::format("page list: {} clusters, but the footer says that group {} has {}", count, group,
                            descriptor.cluster_groups[group].clusters),
                "", {.offset = at + 8});

  const std::uint64_t pages_at = reader.offset();
  ListFrame clusters = read_list(reader, min_column_list_bytes, "page list: clusters");
  if (clusters.items != count)
    throw Error(
        ErrorKind::format,
        fmt::format("page list: page locations of {} clusters, but {} summaries", clusters.items, count), "",
        {.offset = pages_at + 8});
  // Reserves memory for all of them first: contiguous memory can be backed by huge pages.
  std::vector<ListFrame> frames;
  frames.reserve(count);
  for (std::size_t i = first; i < descriptor.clusters.size(); ++i)
    with_context({.cluster = i}, [&] {
      frames.push_back(
          read_columns_frame(clusters.payload, descriptor.columns.size(), descriptor.clusters[i], limit));
    });
  for (std::size_t i = 0; i < count; ++i)
    read_cluster_columns(frames[i], first + i, descriptor.clusters[first + i], limit);
}

}  // namespace colonnade::format
