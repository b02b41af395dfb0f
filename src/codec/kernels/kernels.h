// The inner loops of the column encodings, as a table of functions. There are two tables: fast kernels for
// this processor, and plain ones that define the correct result; tests compare them.
//
// Plane kernels address a part of a page: byte b of element i of the part is planes[b * stride + i], where
// stride is the number of elements of the whole page. No kernel reads or writes memory outside of the
// elements it is given. Pointers to elements are aligned for their type; parts do not overlap.
#ifndef COLONNADE_CODEC_KERNELS_KERNELS_H
#define COLONNADE_CODEC_KERNELS_KERNELS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace colonnade::codec {

struct Kernels {
  // Byte planes -> elements of 2, 4 or 8 bytes, and back.
  using Unsplit = void(const std::byte* planes, std::size_t stride, std::size_t count, void* values);
  using Split = void(const void* values, std::size_t count, std::byte* planes, std::size_t stride);
  // The same for differences to the previous element, modulo 2^32 or 2^64; `before` is the one before the
  // first. Returns the last element.
  using UnsplitDelta = std::uint64_t(const std::byte* planes, std::size_t stride, std::size_t count,
                                     std::uint64_t before, std::uint64_t* values);
  using SplitDelta = void(const std::uint64_t* values, std::size_t count, std::uint64_t before,
                          std::byte* planes, std::size_t stride);
  // Bits, the first in the least significant position <-> bytes 0 or 1; any non-zero byte is packed as 1.
  using UnpackBits = void(const std::byte* bits, std::size_t count, std::uint8_t* booleans);
  using PackBits = void(const std::uint8_t* booleans, std::size_t count, std::byte* bits);
  // IEEE half precision in two little-endian bytes. Rounds to nearest even; a NaN keeps the top of its
  // payload.
  using HalfToFloat = void(const std::byte* halves, std::size_t count, float* values);
  using FloatToHalf = void(const float* values, std::size_t count, std::byte* halves);

  Unsplit* unsplit16;
  Unsplit* unsplit32;
  Unsplit* unsplit64;
  Unsplit* unsplit_zigzag16;
  Unsplit* unsplit_zigzag32;
  Unsplit* unsplit_zigzag64;
  UnsplitDelta* unsplit_delta32;
  UnsplitDelta* unsplit_delta64;
  Split* split16;
  Split* split32;
  Split* split64;
  Split* split_zigzag16;
  Split* split_zigzag32;
  Split* split_zigzag64;
  SplitDelta* split_delta32;
  SplitDelta* split_delta64;
  UnpackBits* unpack_bits;
  PackBits* pack_bits;
  HalfToFloat* half_to_float;
  FloatToHalf* float_to_half;
};

const Kernels& kernels() noexcept;
const Kernels& reference_kernels() noexcept;

// For tests: the fast kernels for every instruction set of this processor. Must not run concurrently with
// other threads.
std::vector<const Kernels*> all_kernels();

}  // namespace colonnade::codec

#endif
