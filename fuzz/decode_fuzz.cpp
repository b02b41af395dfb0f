// Pages of every column type, read into every type in memory. The first bytes choose the encoding, the number
// of elements and the type; the rest is the page. What was read into the column's own type is written and
// read again: the second reading must equal the first.
#include <cstdlib>
#include <cstring>

#include "base/aligned_buffer.h"
#include "codec/column_codec.h"

using namespace colonnade;
using namespace colonnade::codec;

namespace {

constexpr std::size_t elements_limit = 1 << 16;

struct Case {
  ColumnEncoding encoding;
  ElementType element;
  std::size_t elements;
};

Case read_case(ByteReader& reader) {
  Case result;
  result.encoding.type = static_cast<ColumnType>(reader.le<std::uint8_t>("type") % (column_type_count + 1));
  result.encoding.bits = reader.le<std::uint8_t>("bits");
  // Most inputs shall get past the check of the width.
  if (result.encoding.bits % 4 != 0) result.encoding.bits = default_encoding(result.encoding.type).bits;
  result.element = static_cast<ElementType>(reader.le<std::uint8_t>("element") % 16);
  result.elements = reader.le<std::uint16_t>("elements") % elements_limit;
  result.encoding.min = reader.le<float>("min");
  result.encoding.max = reader.le<double>("max");
  return result;
}

// NaN payloads may change once, when a half or a truncated NaN is made quiet; values may not.
bool same_values(ElementType type, const std::byte* left, const std::byte* right, std::size_t bytes) {
  if (bytes == 0 || std::memcmp(left, right, bytes) == 0) return true;
  if (type != ElementType::float32) return false;
  for (std::size_t i = 0; i < bytes; i += 4) {
    const auto a = load_le<float>(left + i);
    const auto b = load_le<float>(right + i);
    if (!(a == b) && !(a != a && b != b)) return false;
  }
  return true;
}

void require_round_trip(const Case& c, const AlignedBuffer& values) {
  if (c.element != natural_element(c.encoding.type) || c.encoding.type == ColumnType::real32_quant) return;
  AlignedBuffer packed(packed_size(c.encoding, c.elements));
  encode(c.encoding, c.element, values.data(), c.elements, packed.span());
  AlignedBuffer again(values.size());
  decode(c.encoding, packed.span(), c.elements, c.element, again.data());
  if (!same_values(c.element, values.data(), again.data(), values.size())) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    ByteReader reader({reinterpret_cast<const std::byte*>(data), size});
    const Case c = read_case(reader);
    AlignedBuffer values(c.elements * size_of(c.element));
    decode(c.encoding, reader.take(reader.remaining(), "page"), c.elements, c.element, values.data());
    require_round_trip(c, values);
  } catch (const Error&) {
  }
  return 0;
}
