// Descriptor -> envelopes, in ROOT's layout; see frame.h for the grammar.
#include <fmt/format.h>

#include <limits>

#include "format/envelope.h"
#include "format/envelope_layout.h"
#include "format/frame.h"
#include "format/locator.h"

namespace colonnade::format {
namespace {

using Record = EnvelopeWriter::Record;
using List = EnvelopeWriter::List;

void write_field(EnvelopeWriter& writer, const FieldDescriptor& field) {
  const Record record(writer);
  ByteWriter& out = writer.out();
  out.le(field.field_version);
  out.le(field.type_version);
  out.le(field.parent);
  out.le(field.raw_role >= known_roles ? field.raw_role : static_cast<std::uint16_t>(field.role));
  out.le(static_cast<std::uint16_t>(
      (field.array_size > 0 ? field_is_repetitive : 0) | (field.source_field ? field_is_projected : 0) |
      (field.type_checksum ? field_has_checksum : 0) | (field.soa_collection ? field_is_soa : 0)));
  writer.string(field.name, "field name");
  writer.string(field.type_name, "type name");
  writer.string(field.type_alias, "type alias");
  writer.string(field.description, "field description");
  if (field.array_size > 0) out.le(field.array_size);
  if (field.source_field) out.le(*field.source_field);
  if (field.type_checksum) out.le(*field.type_checksum);
}

void write_column(EnvelopeWriter& writer, const ColumnDescriptor& column) {
  const Record record(writer);
  ByteWriter& out = writer.out();
  const bool has_range = column.has_range || column.encoding.type == ColumnType::real32_quant;
  out.le(column.raw_type >= column_type_count ? column.raw_type
                                              : static_cast<std::uint16_t>(column.encoding.type));
  out.le(column.encoding.bits);
  out.le(column.field);
  out.le(static_cast<std::uint16_t>((column.deferred ? column_is_deferred : 0) |
                                    (has_range ? column_has_range : 0)));
  out.le(column.representation);
  if (column.deferred) out.le(column.deferred_suppressed ? 0 - column.first_element : column.first_element);
  if (has_range) {
    out.le(column.encoding.min);
    out.le(column.encoding.max);
  }
}

void write_alias(EnvelopeWriter& writer, const AliasColumnDescriptor& alias) {
  const Record record(writer);
  writer.out().le(alias.physical_column);
  writer.out().le(alias.field);
}

void write_type_info(EnvelopeWriter& writer, const ExtraTypeInfo& info) {
  const Record record(writer);
  writer.out().le(info.content_id);
  writer.out().le(info.type_version);
  writer.string(info.type_name, "type name");
  writer.string(info.content, "type information");
}

// A list of the records [first, last) of `items`.
template <class Item, class WriteItem>
void write_records(EnvelopeWriter& writer, const std::vector<Item>& items, std::size_t first,
                   std::size_t last, const char* what, WriteItem&& write_item) {
  if (first > last || last > items.size())
    throw Error(ErrorKind::usage,
                fmt::format("cannot write {} {} to {}: there are {}", what, first, last, items.size()));
  const List list(writer, last - first, what);
  for (std::size_t i = first; i < last; ++i) write_item(writer, items[i]);
}

struct SchemaRange {
  std::size_t fields, columns, aliases, type_infos;
};

void write_schema(EnvelopeWriter& writer, const Descriptor& descriptor, const SchemaRange& first,
                  const SchemaRange& last) {
  write_records(writer, descriptor.fields, first.fields, last.fields, "fields", write_field);
  write_records(writer, descriptor.columns, first.columns, last.columns, "columns", write_column);
  write_records(writer, descriptor.aliases, first.aliases, last.aliases, "alias columns", write_alias);
  write_records(writer, descriptor.type_infos, first.type_infos, last.type_infos, "extra type information",
                write_type_info);
}

SchemaRange header_range(const Descriptor& descriptor) {
  return {descriptor.header_fields, descriptor.header_columns, descriptor.header_aliases,
          descriptor.header_type_infos};
}

void write_cluster_group(EnvelopeWriter& writer, const ClusterGroup& group) {
  const Record record(writer);
  writer.out().le(group.min_entry);
  writer.out().le(group.entry_span);
  writer.out().le(group.clusters);
  write_link(writer.out(), group.page_list);
}

void write_attribute_set(EnvelopeWriter& writer, const AttributeSetRecord& set) {
  const Record record(writer);
  writer.out().le(set.schema_major);
  writer.out().le(set.schema_minor);
  writer.out().le(set.anchor_length);
  write_locator(writer.out(), set.anchor);
  writer.string(set.name, "attribute set name");
}

void write_cluster_summary(EnvelopeWriter& writer, const ClusterDescriptor& cluster) {
  if (cluster.entries > max_cluster_entries)
    throw Error(ErrorKind::resource, fmt::format("{} entries are too many for one cluster", cluster.entries),
                "", {.cluster = cluster.id});
  const Record record(writer);
  writer.out().le(cluster.first_entry);
  writer.out().le(cluster.entries | static_cast<std::uint64_t>(cluster.flags) << 56);
}

void write_page(ByteWriter& out, const PageDescriptor& page) {
  if (page.elements == 0 || page.elements > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::usage, fmt::format("a page of {} elements cannot be written", page.elements));
  const auto count = static_cast<std::int32_t>(page.elements);
  out.le(page.has_checksum ? -count : count);
  write_locator(out, page.locator);
}

void write_column_range(EnvelopeWriter& writer, const ColumnRange& range) {
  constexpr std::int64_t suppressed_mark = std::numeric_limits<std::int64_t>::min();
  if (range.suppressed ? !range.pages.empty() : range.first_element < 0)
    throw Error(ErrorKind::usage,
                fmt::format("a column range with first element {} and {} pages cannot be written",
                            range.first_element, range.pages.size()),
                "", {.column = range.column});
  const List pages(writer, range.pages.size(), "pages");
  for (const PageDescriptor& page : range.pages) write_page(writer.out(), page);
  if (range.suppressed) {
    writer.out().le(range.first_element < 0 ? range.first_element : suppressed_mark);
  } else {
    writer.out().le(range.first_element);
    writer.out().le(range.compression);
  }
}

void write_cluster_columns(EnvelopeWriter& writer, const ClusterDescriptor& cluster) {
  const List columns(writer, cluster.columns.size(), "columns");
  for (const ColumnRange& range : cluster.columns) write_column_range(writer, range);
}

EnvelopeBytes finished(EnvelopeWriter& writer) {
  EnvelopeBytes envelope;
  envelope.bytes = writer.finish(envelope.checksum);
  return envelope;
}

}  // namespace

EnvelopeBytes write_header(const Descriptor& descriptor) {
  EnvelopeWriter writer(EnvelopeType::header);
  writer.out().le(descriptor.feature_flags);
  writer.string(descriptor.name, "name of the data set");
  writer.string(descriptor.description, "description of the data set");
  writer.string(descriptor.writer, "name of the writer");
  write_schema(writer, descriptor, {}, header_range(descriptor));
  return finished(writer);
}

EnvelopeBytes write_footer(const Descriptor& descriptor) {
  EnvelopeWriter writer(EnvelopeType::footer);
  writer.out().le(descriptor.feature_flags);
  writer.out().le(descriptor.header_checksum);
  {
    const Record extension(writer);
    write_schema(writer, descriptor, header_range(descriptor),
                 {descriptor.fields.size(), descriptor.columns.size(), descriptor.aliases.size(),
                  descriptor.type_infos.size()});
  }
  write_records(writer, descriptor.cluster_groups, 0, descriptor.cluster_groups.size(), "cluster groups",
                write_cluster_group);
  // Readers expect the list since format 1.0.1.0; before that, its absence.
  if (descriptor.anchor.minor >= 1 || !descriptor.attribute_sets.empty())
    write_records(writer, descriptor.attribute_sets, 0, descriptor.attribute_sets.size(), "attribute sets",
                  write_attribute_set);
  return finished(writer);
}

EnvelopeBytes write_page_list(const Descriptor& descriptor, std::size_t first, std::size_t count) {
  if (count > descriptor.clusters.size() || first > descriptor.clusters.size() - count)
    throw Error(ErrorKind::usage, fmt::format("cannot write {} clusters from {} on: there are {}", count,
                                              first, descriptor.clusters.size()));
  EnvelopeWriter writer(EnvelopeType::page_list);
  writer.out().le(descriptor.header_checksum);
  write_records(writer, descriptor.clusters, first, first + count, "clusters", write_cluster_summary);
  write_records(writer, descriptor.clusters, first, first + count, "clusters", write_cluster_columns);
  return finished(writer);
}

}  // namespace colonnade::format
