// The table of column encodings and the two loops over it: whole pages if the caller's elements have the type
// that the family works in, otherwise blocks that are converted in a small buffer.
#include "codec/column_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/floating_point.h"
#include "codec/convert.h"
#include "codec/family.h"

namespace colonnade::codec {
namespace {

std::array<Family, column_type_count> make_families() {
  std::array<Family, column_type_count> families{};
  for (std::uint16_t number = 0; number < column_type_count; ++number) {
    const auto type = static_cast<ColumnType>(number);
    Family& family = families[number];
    switch (type) {
      case ColumnType::bit:
        family = bit_family();
        break;
      case ColumnType::real16:
      case ColumnType::split_real16:
      case ColumnType::real32_trunc:
      case ColumnType::real32_quant:
        family = real_family(type);
        break;
      default:
        family = type >= ColumnType::split_int16 ? split_family(type) : plain_family(type);
        break;
    }
  }
  return families;
}

// Only for known types.
const Family& family_of(ColumnType type) noexcept {
  static const std::array<Family, column_type_count> families = make_families();
  return families[static_cast<std::size_t>(type)];
}

// The number of elements converted at a time: fits the first-level cache, a multiple of
// range_alignment.
constexpr std::size_t block_elements = 1024;
static_assert(block_elements % range_alignment == 0);

struct alignas(64) Block {
  std::byte bytes[block_elements * sizeof(std::uint64_t)];
};

void require_valid(const ColumnEncoding& encoding) {
  if (is_valid(encoding)) return;
  throw Error(ErrorKind::format,
              fmt::format("column type {} ({:#04x}) with {} bits and range {} to {} is not allowed",
                          name_of(encoding.type), static_cast<unsigned>(encoding.type), encoding.bits,
                          encoding.min, encoding.max));
}

void require_size(const ColumnEncoding& encoding, std::size_t elements, std::size_t bytes) {
  const std::size_t expected = packed_size(encoding, elements);
  if (bytes == expected) return;
  throw Error(ErrorKind::format, fmt::format("a page of {} {} elements has {} bytes instead of {}", elements,
                                             name_of(encoding.type), bytes, expected));
}

}  // namespace

std::size_t packed_size(const ColumnEncoding& encoding, std::size_t elements) {
  std::size_t bits = 0;
  if (__builtin_mul_overflow(elements, std::size_t{encoding.bits}, &bits) ||
      __builtin_add_overflow(bits, std::size_t{7}, &bits))
    throw Error(ErrorKind::format,
                fmt::format("a page of {} elements of {} bits is too large to be addressed", elements,
                            encoding.bits));
  return bits / 8;
}

std::size_t plane_size(const ColumnEncoding& encoding, std::size_t elements) noexcept {
  return encoding.type >= ColumnType::split_int16 && encoding.type <= ColumnType::split_index64 ? elements
                                                                                                : 0;
}

bool can_encode(ElementType from, ColumnType to) noexcept {
  if (!is_known(to)) return false;
  const ElementType natural = natural_element(to);
  if (from == natural) return true;
  return from == ElementType::float64 && natural == ElementType::float32;
}

bool can_decode(ColumnType from, ElementType to) noexcept {
  if (!is_known(from)) return false;
  const ElementType stored = family_of(from).stored;
  return stored == to || checked_conversion(stored, to) != nullptr;
}

bool is_memory_image(const ColumnEncoding& encoding, ElementType in_memory) noexcept {
  if (!is_known(encoding.type) || natural_element(encoding.type) != in_memory) return false;
  const bool plain = encoding.type >= ColumnType::byte && encoding.type <= ColumnType::index64;
  return plain && encoding.bits == 8 * size_of(in_memory);
}

bool is_divisible(const ColumnEncoding& encoding, ElementType to) noexcept {
  return is_valid(encoding) && pick_from_planes(encoding.type) != nullptr &&
         family_of(encoding.type).stored == to;
}

void decode_part(const ColumnEncoding& encoding, const std::byte* packed, std::size_t elements,
                 std::size_t first, std::size_t count, void* values) noexcept {
  std::uint64_t carry = 0;
  const ByteSpan page(packed, elements * encoding.bits / 8);
  if (count > 0) family_of(encoding.type).unpack({encoding, page, elements, first, count, carry}, values);
}

void decode_places(const ColumnEncoding& encoding, const std::byte* packed, std::size_t elements,
                   std::size_t base, const std::uint32_t* places, std::size_t count, void* values) noexcept {
  pick_from_planes(encoding.type)(packed, elements, base, places, count, values);
}

void encode(const ColumnEncoding& encoding, ElementType from, const void* values, std::size_t elements,
            MutableByteSpan packed) {
  const StandardFloatingPoint state;
  require_valid(encoding);
  require_size(encoding, elements, packed.size());
  if (!can_encode(from, encoding.type))
    throw Error(ErrorKind::type, fmt::format("{} elements cannot be written to column type {}", name_of(from),
                                             name_of(encoding.type)));
  const Family& family = family_of(encoding.type);
  std::uint64_t carry = 0;
  if (family.stored == from) {
    if (elements > 0) family.pack({encoding, packed, elements, 0, elements, carry}, values);
    return;
  }
  const Convert convert = rounding_conversion(from, family.stored);
  const auto* in = static_cast<const std::byte*>(values);
  Block block;
  for (std::size_t first = 0; first < elements; first += block_elements) {
    const std::size_t count = std::min(block_elements, elements - first);
    convert(in + first * size_of(from), count, first, block.bytes);
    if (encoding.type == ColumnType::real32_quant)
      move_rounded_ends(encoding, static_cast<double*>(static_cast<void*>(block.bytes)), count);
    family.pack({encoding, packed, elements, first, count, carry}, block.bytes);
  }
}

void decode(const ColumnEncoding& encoding, ByteSpan packed, std::size_t elements, ElementType to,
            void* values) {
  const StandardFloatingPoint state;
  require_valid(encoding);
  require_size(encoding, elements, packed.size());
  const Family& family = family_of(encoding.type);
  std::uint64_t carry = 0;
  if (family.stored == to) {
    if (elements > 0) family.unpack({encoding, packed, elements, 0, elements, carry}, values);
    return;
  }
  const Convert convert = checked_conversion(family.stored, to);
  if (convert == nullptr)
    throw Error(ErrorKind::type, fmt::format("column type {} cannot be read into {} elements",
                                             name_of(encoding.type), name_of(to)));
  auto* out = static_cast<std::byte*>(values);
  Block block;
  for (std::size_t first = 0; first < elements; first += block_elements) {
    const std::size_t count = std::min(block_elements, elements - first);
    family.unpack({encoding, packed, elements, first, count, carry}, block.bytes);
    convert(block.bytes, count, first, out + first * size_of(to));
  }
}

}  // namespace colonnade::codec
