// Split column types: a page of n elements of w bytes is stored as w planes of n bytes, the first plane
// holding the least significant byte of every element. Signed integers are zigzag-encoded first (0, -1, 1, -2
// -> 0, 1, 2, 3), ends of collections are replaced by their difference to the one before, modulo the width of
// the column.
//
//   | byte 0 of elements 0..n-1 | byte 1 of elements 0..n-1 | ... | byte w-1 of elements 0..n-1 |
#include "codec/family.h"
#include "codec/kernels/kernels.h"

namespace colonnade::codec {
namespace {

template <auto Kernels::* kernel>
void unpack_planes(const UnpackRange& range, void* stored) {
  (kernels().*kernel)(range.packed.data() + range.first, range.elements, range.count, stored);
}

template <auto Kernels::* kernel>
void pack_planes(const PackRange& range, const void* stored) {
  (kernels().*kernel)(stored, range.count, range.packed.data() + range.first, range.elements);
}

template <auto Kernels::* kernel>
void unpack_deltas(const UnpackRange& range, void* stored) {
  range.carry = (kernels().*kernel)(range.packed.data() + range.first, range.elements, range.count,
                                    range.carry, static_cast<std::uint64_t*>(stored));
}

template <auto Kernels::* kernel>
void pack_deltas(const PackRange& range, const void* stored) {
  const auto* in = static_cast<const std::uint64_t*>(stored);
  (kernels().*kernel)(in, range.count, range.carry, range.packed.data() + range.first, range.elements);
  range.carry = in[range.count - 1];
}

void pack_index32(const PackRange& range, const void* stored) {
  require_index32(static_cast<const std::uint64_t*>(stored), range.count, range.first);
  pack_deltas<&Kernels::split_delta32>(range, stored);
}

constexpr auto as_stored = [](auto value) { return value; };
constexpr auto undo_zigzag = []<class T>(T value) -> T {
  return static_cast<T>((value >> 1) ^ (T{0} - (value & T{1})));
};

template <class T, auto finish>
void pick(const std::byte* planes, std::size_t stride, std::size_t base, const std::uint32_t* places,
          std::size_t count, void* values) {
  auto* out = static_cast<T*>(values);
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* from = planes + (base + places[i]);
    T value = 0;
    for (unsigned byte = 0; byte < sizeof(T); ++byte)
      value = static_cast<T>(value | T{std::to_integer<std::uint8_t>(from[byte * stride])} << (8 * byte));
    out[i] = finish(value);
  }
}

}  // namespace

PickFromPlanes pick_from_planes(ColumnType type) noexcept {
  switch (type) {
    case ColumnType::split_int16:
      return pick<std::uint16_t, undo_zigzag>;
    case ColumnType::split_int32:
      return pick<std::uint32_t, undo_zigzag>;
    case ColumnType::split_int64:
      return pick<std::uint64_t, undo_zigzag>;
    case ColumnType::split_uint16:
      return pick<std::uint16_t, as_stored>;
    case ColumnType::split_uint32:
    case ColumnType::split_real32:
      return pick<std::uint32_t, as_stored>;
    case ColumnType::split_uint64:
    case ColumnType::split_real64:
      return pick<std::uint64_t, as_stored>;
    default:
      return nullptr;
  }
}

Family split_family(ColumnType type) {
  const ElementType stored = natural_element(type);
  using K = Kernels;
  switch (type) {
    case ColumnType::split_int16:
      return {stored, unpack_planes<&K::unsplit_zigzag16>, pack_planes<&K::split_zigzag16>};
    case ColumnType::split_int32:
      return {stored, unpack_planes<&K::unsplit_zigzag32>, pack_planes<&K::split_zigzag32>};
    case ColumnType::split_int64:
      return {stored, unpack_planes<&K::unsplit_zigzag64>, pack_planes<&K::split_zigzag64>};
    case ColumnType::split_index32:
      return {stored, unpack_deltas<&K::unsplit_delta32>, pack_index32};
    case ColumnType::split_index64:
      return {stored, unpack_deltas<&K::unsplit_delta64>, pack_deltas<&K::split_delta64>};
    case ColumnType::split_uint16:
      return {stored, unpack_planes<&K::unsplit16>, pack_planes<&K::split16>};
    case ColumnType::split_uint32:
    case ColumnType::split_real32:
      return {stored, unpack_planes<&K::unsplit32>, pack_planes<&K::split32>};
    default:
      return {stored, unpack_planes<&K::unsplit64>, pack_planes<&K::split64>};
  }
}

}  // namespace colonnade::codec
