// Fuzzes footers after a fixed header: the input follows the header checksum.
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

// A collection of numbers, to which aliases, representations and late fields can refer.
Descriptor make_header() {
  Descriptor made;
  made.name = "fuzz";
  for (std::uint32_t id = 0; id < 2; ++id) {
    FieldDescriptor field;
    field.id = id;
    field.role = id == 0 ? FieldRole::collection : FieldRole::leaf;
    field.name = id == 0 ? "v" : "_0";
    field.parent = 0;
    made.fields.push_back(field);
    ColumnDescriptor column;
    column.id = column.field = id;
    column.encoding = default_encoding(id == 0 ? ColumnType::index64 : ColumnType::real32);
    made.columns.push_back(column);
  }
  made.header_fields = made.header_columns = 2;
  return format::read_header(format::write_header(made).bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Descriptor header = make_header();
  format::EnvelopeWriter writer(format::EnvelopeType::footer);
  writer.out().le(std::uint64_t{0});
  writer.out().le(header.header_checksum);
  writer.out().append({reinterpret_cast<const std::byte*>(data), size});
  std::uint64_t checksum = 0;
  const Bytes envelope = writer.finish(checksum);
  try {
    Descriptor descriptor = header;
    format::read_footer(envelope, descriptor);
    const Bytes once = format::write_footer(descriptor).bytes;
    Descriptor again = header;
    format::read_footer(once, again);
    require(format::write_footer(again).bytes == once);
    // Without page lists, only a footer without clusters passes everything.
    format::finish(descriptor);
    for (const FieldDescriptor& field : descriptor.fields)
      descriptor.find_field(descriptor.path_of(field.id));
  } catch (const Error& error) {
    require(!error.problem().empty());
  }
  return 0;
}
