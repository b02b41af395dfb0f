// Fuzzes page lists after a fixed header: the input follows the header checksum. The schema has
// everything that finish() checks: a collection, an array, two representations, and a late column in the
// extension.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "format/envelope.h"
#include "format/frame.h"

namespace {

using namespace colonnade;

void require(bool condition) {
  if (!condition) std::abort();
}

void add_field(Descriptor& made, std::uint32_t parent, FieldRole role, std::uint64_t array_size = 0) {
  FieldDescriptor field;
  field.id = static_cast<std::uint32_t>(made.fields.size());
  field.parent = parent;
  field.role = role;
  field.name = "f";
  field.array_size = array_size;
  made.fields.push_back(field);
}

void add_column(Descriptor& made, std::uint32_t field, ColumnType type, std::uint16_t representation = 0) {
  ColumnDescriptor column;
  column.id = static_cast<std::uint32_t>(made.columns.size());
  column.field = field;
  column.encoding = default_encoding(type);
  column.representation = representation;
  made.columns.push_back(column);
}

Descriptor make_schema() {
  Descriptor made;
  made.name = "fuzz";
  add_field(made, 0, FieldRole::collection);
  add_field(made, 0, FieldRole::leaf);
  add_field(made, 2, FieldRole::leaf, 3);
  add_field(made, 2, FieldRole::leaf);
  add_column(made, 0, ColumnType::index64);
  add_column(made, 1, ColumnType::real32);
  add_column(made, 3, ColumnType::int32);
  add_column(made, 3, ColumnType::split_int32, 1);
  made.header_fields = 4;
  made.header_columns = 4;
  add_field(made, 4, FieldRole::leaf);
  add_column(made, 4, ColumnType::bit);
  made.columns.back().deferred = true;
  made.columns.back().first_element = 2;
  for (ColumnDescriptor& column : made.columns)
    column.raw_type = static_cast<std::uint16_t>(column.encoding.type);
  made.header_checksum = format::write_header(made).checksum;
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Descriptor schema = make_schema();
  format::EnvelopeWriter writer(format::EnvelopeType::page_list);
  writer.out().le(schema.header_checksum);
  writer.out().append({reinterpret_cast<const std::byte*>(data), size});
  std::uint64_t checksum = 0;
  const Bytes envelope = writer.finish(checksum);
  // The number of clusters and entries is the input's, so that the comparison with the footer does not reject
  // it.
  if (size < 12) return 0;
  try {
    Descriptor descriptor = schema;
    descriptor.cluster_groups.resize(1);
    descriptor.cluster_groups[0].clusters = load_le<std::uint32_t>(envelope.data() + 24);
    format::read_page_list(envelope, 0, descriptor);
    descriptor.cluster_groups[0].entry_span = descriptor.entries();
    const Bytes once = format::write_page_list(descriptor, 0, descriptor.clusters.size()).bytes;
    Descriptor again = schema;
    again.cluster_groups = descriptor.cluster_groups;
    format::read_page_list(once, 0, again);
    require(format::write_page_list(again, 0, again.clusters.size()).bytes == once);
    format::finish(descriptor);
  } catch (const Error& error) {
    require(!error.problem().empty());
  }
  return 0;
}
