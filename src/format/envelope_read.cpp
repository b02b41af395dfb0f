// Envelopes -> Descriptor: header, footer, page lists. Each record is read where it stands; what it means
// together with others is checked by finish() (envelope_schema.cpp, envelope_clusters.cpp).
#include <fmt/format.h>

#include <limits>

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

FieldDescriptor read_field(ByteReader record, std::uint32_t id, const char* what) {
  FieldDescriptor field;
  field.id = id;
  field.field_version = record.le<std::uint32_t>(what);
  field.type_version = record.le<std::uint32_t>(what);
  field.parent = record.le<std::uint32_t>(what);
  field.raw_role = record.le<std::uint16_t>(what);
  if (field.raw_role < known_roles) field.role = static_cast<FieldRole>(field.raw_role);
  const auto flags = record.le<std::uint16_t>(what);
  field.name = read_string(record, what);
  field.type_name = read_string(record, what);
  field.type_alias = read_string(record, what);
  field.description = read_string(record, what);
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
  return field;
}

ColumnDescriptor read_column(ByteReader record, std::uint32_t id, const char* what) {
  ColumnDescriptor column;
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
  return column;
}

AliasColumnDescriptor read_alias(ByteReader record, const char* what) {
  AliasColumnDescriptor alias;
  alias.physical_column = record.le<std::uint32_t>(what);
  alias.field = record.le<std::uint32_t>(what);
  return alias;
}

ExtraTypeInfo read_type_info(ByteReader record, const char* what) {
  ExtraTypeInfo info;
  info.content_id = record.le<std::uint32_t>(what);
  info.type_version = record.le<std::uint32_t>(what);
  info.type_name = read_string(record, what);
  info.content = read_string(record, what);
  return info;
}

// Reads a list of records into the end of `items`.
template <class Item, class ReadItem>
void read_records(ByteReader& reader, std::uint64_t item_bytes, const char* what, std::vector<Item>& items,
                  ReadItem&& read_item) {
  ListFrame list = read_list(reader, item_bytes, what);
  if (items.size() + list.items >= invalid_id)
    throw Error(ErrorKind::format,
                fmt::format("{}: {} records are too many", what, items.size() + list.items));
  items.reserve(items.size() + list.items);
  for (std::uint32_t i = 0; i < list.items; ++i)
    items.push_back(read_item(read_record(list.payload, what), static_cast<std::uint32_t>(items.size())));
}

void read_schema(ByteReader& reader, const SchemaNames& names, Descriptor& descriptor) {
  read_records(reader, min_field_bytes, names.fields, descriptor.fields,
               [&](ByteReader record, std::uint32_t id) { return read_field(record, id, names.fields); });
  read_records(reader, min_column_bytes, names.columns, descriptor.columns,
               [&](ByteReader record, std::uint32_t id) { return read_column(record, id, names.columns); });
  read_records(reader, min_alias_bytes, names.aliases, descriptor.aliases,
               [&](ByteReader record, std::uint32_t) { return read_alias(record, names.aliases); });
  read_records(reader, min_type_info_bytes, names.type_infos, descriptor.type_infos,
               [&](ByteReader record, std::uint32_t) { return read_type_info(record, names.type_infos); });
}

ClusterGroup read_cluster_group(ByteReader record) {
  constexpr const char* what = "footer: cluster group";
  ClusterGroup group;
  group.min_entry = record.le<std::uint64_t>(what);
  group.entry_span = record.le<std::uint64_t>(what);
  group.clusters = record.le<std::uint32_t>(what);
  group.page_list = read_link(record, what);
  return group;
}

AttributeSetRecord read_attribute_set(ByteReader record) {
  constexpr const char* what = "footer: attribute set";
  AttributeSetRecord set;
  set.schema_major = record.le<std::uint16_t>(what);
  set.schema_minor = record.le<std::uint16_t>(what);
  set.anchor_length = record.le<std::uint32_t>(what);
  set.anchor = read_locator(record, what);
  set.name = read_string(record, what);
  return set;
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

ClusterDescriptor read_cluster_summary(ByteReader record, std::uint64_t id) {
  constexpr const char* what = "page list: cluster summary";
  ClusterDescriptor cluster;
  cluster.id = id;
  cluster.first_entry = record.le<std::uint64_t>(what);
  const std::uint64_t at = record.offset();
  const auto packed = record.le<std::uint64_t>(what);
  cluster.entries = packed & max_cluster_entries;
  cluster.flags = static_cast<std::uint8_t>(packed >> 56);
  if (cluster.flags & cluster_is_sharded)
    throw Error(ErrorKind::unsupported, "page list: the cluster is sharded, which this version cannot read",
                "a newer version of the library", {.cluster = id, .offset = at});
  return cluster;
}

PageDescriptor read_page(ByteReader& reader) {
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

ColumnRange read_column_range(ByteReader& reader, std::uint32_t column) {
  constexpr const char* what = "page list: column";
  ListFrame pages = read_list(reader, min_page_bytes, what);
  ColumnRange range;
  range.column = column;
  range.pages.reserve(pages.items);
  for (std::uint32_t i = 0; i < pages.items; ++i)
    range.pages.push_back(with_context({.page = i}, [&] { return read_page(pages.payload); }));
  const std::uint64_t at = pages.payload.offset();
  range.first_element = pages.payload.le<std::int64_t>(what);
  range.suppressed = range.first_element < 0;
  if (range.suppressed && !range.pages.empty())
    throw Error(ErrorKind::format, fmt::format("{} is suppressed but has {} pages", what, range.pages.size()),
                "", {.offset = at});
  if (!range.suppressed) range.compression = pages.payload.le<std::uint32_t>(what);
  return range;
}

void read_cluster_columns(ByteReader& reader, std::size_t known_columns, ClusterDescriptor& cluster) {
  constexpr const char* what = "page list: columns of a cluster";
  const std::uint64_t at = reader.offset();
  ListFrame columns = read_list(reader, min_range_bytes, what);
  if (columns.items > known_columns)
    throw Error(ErrorKind::format,
                fmt::format("{}: {} columns, but the schema has {}", what, columns.items, known_columns), "",
                {.offset = at + 8});
  cluster.columns.reserve(columns.items);
  for (std::uint32_t i = 0; i < columns.items; ++i)
    cluster.columns.push_back(
        with_context({.column = i}, [&] { return read_column_range(columns.payload, i); }));
}

}  // namespace

Descriptor read_header(ByteSpan envelope) {
  constexpr const char* what = "header";
  OpenEnvelope open = open_envelope(envelope, EnvelopeType::header);
  ByteReader& reader = open.payload;
  Descriptor descriptor;
  descriptor.header_checksum = open.checksum;
  descriptor.feature_flags = read_feature_flags(reader, known_feature_flags, what);
  descriptor.name = read_string(reader, what);
  descriptor.description = read_string(reader, what);
  descriptor.writer = read_string(reader, what);
  read_schema(reader, header_names, descriptor);
  descriptor.header_fields = static_cast<std::uint32_t>(descriptor.fields.size());
  descriptor.header_columns = static_cast<std::uint32_t>(descriptor.columns.size());
  descriptor.header_aliases = static_cast<std::uint32_t>(descriptor.aliases.size());
  descriptor.header_type_infos = static_cast<std::uint32_t>(descriptor.type_infos.size());
  return descriptor;
}

void read_footer(ByteSpan envelope, Descriptor& descriptor) {
  OpenEnvelope open = open_envelope(envelope, EnvelopeType::footer);
  ByteReader& reader = open.payload;
  descriptor.feature_flags |= read_feature_flags(reader, known_feature_flags, "footer");
  check_header_checksum(reader, descriptor, EnvelopeType::footer);
  ByteReader extension = read_record(reader, "footer: schema extension");
  if (extension.remaining() > 0) read_schema(extension, extension_names, descriptor);
  read_records(reader, min_group_bytes, "footer: cluster group", descriptor.cluster_groups,
               [](ByteReader record, std::uint32_t) { return read_cluster_group(record); });
  // Footers older than format 1.0.1.0 end here; the version in the anchor is for reporting only.
  if (reader.remaining() > 0)
    read_records(reader, min_attribute_set_bytes, "footer: attribute set", descriptor.attribute_sets,
                 [](ByteReader record, std::uint32_t) { return read_attribute_set(record); });
}

void read_page_list(ByteSpan envelope, std::size_t group, Descriptor& descriptor) {
  if (group >= descriptor.cluster_groups.size())
    throw Error(ErrorKind::usage, fmt::format("cluster group {} was asked for, but there are {}", group,
                                              descriptor.cluster_groups.size()));
  OpenEnvelope open = open_envelope(envelope, EnvelopeType::page_list);
  ByteReader& reader = open.payload;
  check_header_checksum(reader, descriptor, EnvelopeType::page_list);

  const std::uint64_t at = reader.offset();
  const std::size_t first = descriptor.clusters.size();
  read_records(reader, min_summary_bytes, "page list: cluster summary", descriptor.clusters,
               [](ByteReader record, std::uint32_t id) { return read_cluster_summary(record, id); });
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
  for (std::size_t i = first; i < descriptor.clusters.size(); ++i)
    with_context({.cluster = i}, [&] {
      read_cluster_columns(clusters.payload, descriptor.columns.size(), descriptor.clusters[i]);
    });
}

}  // namespace colonnade::format
