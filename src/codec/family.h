// The contract between the table of column encodings (column_codec.cpp) and the families that implement them:
// each family unpacks a range of a page into elements of one "stored" type and packs them again.
//
// Ranges of one page are handled in order and start at multiples of 64 elements, so that bit-packed
// families always start on a byte. `carry` is zero for the first range and belongs to the family (the
// delta families keep the last value there). Conversion to the caller's type happens elsewhere, see
// convert.h.
#ifndef COLONNADE_CODEC_FAMILY_H
#define COLONNADE_CODEC_FAMILY_H

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "colonnade/column_type.h"

namespace colonnade::codec {

inline constexpr std::size_t range_alignment = 64;

struct UnpackRange {
  const ColumnEncoding& encoding;
  ByteSpan packed;       // the whole page
  std::size_t elements;  // of the whole page
  std::size_t first;
  std::size_t count;
  std::uint64_t& carry;
};

struct PackRange {
  const ColumnEncoding& encoding;
  MutableByteSpan packed;
  std::size_t elements;
  std::size_t first;
  std::size_t count;
  std::uint64_t& carry;
};

struct Family {
  ElementType stored;
  void (*unpack)(const UnpackRange& range, void* stored);
  void (*pack)(const PackRange& range, const void* stored);
};

// Throws ErrorKind::conversion if one of the values needs more than 32 bits; `first` is the position in the
// page.
void require_index32(const std::uint64_t* values, std::size_t count, std::size_t first);

// plain.cpp: little-endian images, Index32 and Switch included.
Family plain_family(ColumnType type);
// split.cpp: byte planes, with zigzag or delta where the type has it.
Family split_family(ColumnType type);
// Single elements of a split page, see decode_places(). Null for families with differences.
using PickFromPlanes = void (*)(const std::byte* planes, std::size_t stride, std::size_t base,
                                const std::uint32_t* places, std::size_t count, void* values);
PickFromPlanes pick_from_planes(ColumnType type) noexcept;
// bit.cpp
Family bit_family();
// real.cpp: Real16, Real32Trunc, Real32Quant (SplitReal16 too).
Family real_family(ColumnType type);
// For values that were floats: makes the float nearest to an end of the range that end.
void move_rounded_ends(const ColumnEncoding& encoding, double* values, std::size_t count);

}  // namespace colonnade::codec

#endif
