// Plain column types: the page is the array of little-endian elements. Two of them differ in memory: Index32
// is 64 bits wide, and Switch is padded to 16 bytes.
//
//   Switch:  | index (8 bytes) | tag (4 bytes) | index | tag | ...
#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "codec/family.h"
#include "codec/kernels/kernels.h"

namespace colonnade::codec {
namespace {

constexpr std::size_t switch_size = 12;

template <std::size_t size>
void unpack_image(const UnpackRange& range, void* stored) {
  std::memcpy(stored, range.packed.data() + range.first * size, range.count * size);
}

template <std::size_t size>
void pack_image(const PackRange& range, const void* stored) {
  std::memcpy(range.packed.data() + range.first * size, stored, range.count * size);
}

void unpack_index32(const UnpackRange& range, void* stored) {
  const std::byte* in = range.packed.data() + range.first * 4;
  auto* out = static_cast<std::uint64_t*>(stored);
  for (std::size_t i = 0; i < range.count; ++i) out[i] = load_le<std::uint32_t>(in + i * 4);
}

void pack_index32(const PackRange& range, const void* stored) {
  const auto* in = static_cast<const std::uint64_t*>(stored);
  require_index32(in, range.count, range.first);
  std::byte* out = range.packed.data() + range.first * 4;
  for (std::size_t i = 0; i < range.count; ++i) store_le(out + i * 4, static_cast<std::uint32_t>(in[i]));
}

void unpack_switch(const UnpackRange& range, void* stored) {
  const std::byte* in = range.packed.data() + range.first * switch_size;
  auto* out = static_cast<SwitchElement*>(stored);
  for (std::size_t i = 0; i < range.count; ++i, in += switch_size)
    out[i] = {.index = load_le<std::uint64_t>(in), .tag = load_le<std::uint32_t>(in + 8)};
}

void pack_switch(const PackRange& range, const void* stored) {
  std::byte* out = range.packed.data() + range.first * switch_size;
  const auto* in = static_cast<const SwitchElement*>(stored);
  for (std::size_t i = 0; i < range.count; ++i, out += switch_size) {
    store_le(out, in[i].index);
    store_le(out + 8, in[i].tag);
  }
}

}  // namespace

void require_index32(const std::uint64_t* values, std::size_t count, std::size_t first) {
  constexpr std::uint64_t largest = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all |= values[i];
  if (all <= largest) return;
  std::size_t i = 0;
  while (values[i] <= largest) ++i;
  throw Error(ErrorKind::conversion,
              fmt::format("element {} of the page is {}, which a 32-bit index column cannot hold", first + i,
                          values[i]),
              "use an Index64 column, or smaller clusters");
}

Family plain_family(ColumnType type) {
  const ElementType stored = natural_element(type);
  if (type == ColumnType::index32) return {stored, unpack_index32, pack_index32};
  if (type == ColumnType::switch_) return {stored, unpack_switch, pack_switch};
  switch (size_of(stored)) {
    case 1:
      return {stored, unpack_image<1>, pack_image<1>};
    case 2:
      return {stored, unpack_image<2>, pack_image<2>};
    case 4:
      return {stored, unpack_image<4>, pack_image<4>};
    default:
      return {stored, unpack_image<8>, pack_image<8>};
  }
}

}  // namespace colonnade::codec
