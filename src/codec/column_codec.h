// Column encodings: arrays of elements in memory <-> the bytes of a page, for all 30 column types.
//
// Pure functions without state; any thread may call them. The packed form of n elements has exactly
// packed_size(encoding, n) bytes; encodings (split, delta, zigzag, bit packing) restart with every page.
#ifndef COLONNADE_CODEC_COLUMN_CODEC_H
#define COLONNADE_CODEC_COLUMN_CODEC_H

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "colonnade/column_type.h"

namespace colonnade::codec {

// The size of n packed elements in bytes: ceil(n * bits / 8). Throws ErrorKind::format if that overflows.
std::size_t packed_size(const ColumnEncoding& encoding, std::size_t elements);

// The size of one plane of a page with a split encoding, in bytes; 0 for all other encodings.
std::size_t plane_size(const ColumnEncoding& encoding, std::size_t elements) noexcept;

// True if elements of this in-memory type can be stored in, or read from, such a column. Reading allows every
// integer, bool and character type for every integer-like column, and float32/float64 for every real column;
// writing only what the specification's table marks W (plus index/switch_ for their own columns).
bool can_encode(ElementType from, ColumnType to) noexcept;
bool can_decode(ColumnType from, ElementType to) noexcept;

// Encodes `elements` values at `values` into `packed` (exactly packed_size bytes). Throws
// ErrorKind::conversion for a value the column cannot hold (index32 overflow, quantised value out of range or
// not finite).
void encode(const ColumnEncoding& encoding, ElementType from, const void* values, std::size_t elements,
            MutableByteSpan packed);

// Decodes `elements` values into `values` (elements * size_of(to) bytes, aligned for the type). Throws
// ErrorKind::format if `packed` has the wrong size, ErrorKind::conversion if a value does not fit `to`.
void decode(const ColumnEncoding& encoding, ByteSpan packed, std::size_t elements, ElementType to,
            void* values);

// True if part of a page can be decoded without the elements before it: split encodings without
// differences.
bool is_divisible(const ColumnEncoding& encoding, ElementType to) noexcept;

// Decode part of a page of `elements` elements whose encoding is divisible; `packed` has packed_size bytes.
// Elements [first, first + count), or those at `base` plus each of `count` offsets, modulo 2^64.
void decode_part(const ColumnEncoding& encoding, const std::byte* packed, std::size_t elements,
                 std::size_t first, std::size_t count, void* values) noexcept;
void decode_places(const ColumnEncoding& encoding, const std::byte* packed, std::size_t elements,
                   std::size_t base, const std::uint32_t* places, std::size_t count, void* values) noexcept;

// True if the packed bytes *are* the elements in memory, so that an uncompressed page needs no decoding.
bool is_memory_image(const ColumnEncoding& encoding, ElementType in_memory) noexcept;

}  // namespace colonnade::codec

#endif
