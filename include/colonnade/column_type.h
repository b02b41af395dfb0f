// Column types: how the elements of a column are stored (ColumnType, ColumnEncoding) and represented in
// memory (ElementType). Plain values; any thread may use them.
#ifndef COLONNADE_COLUMN_TYPE_H
#define COLONNADE_COLUMN_TYPE_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colonnade {

// The on-disk column types of RNTuple 1.0 with the numbers of the specification.
enum class ColumnType : std::uint16_t {
  bit = 0x00,
  byte = 0x01,
  character = 0x02,
  int8 = 0x03,
  uint8 = 0x04,
  int16 = 0x05,
  uint16 = 0x06,
  int32 = 0x07,
  uint32 = 0x08,
  int64 = 0x09,
  uint64 = 0x0a,
  real16 = 0x0b,
  real32 = 0x0c,
  real64 = 0x0d,
  index32 = 0x0e,
  index64 = 0x0f,
  switch_ = 0x10,
  split_int16 = 0x11,
  split_uint16 = 0x12,
  split_int32 = 0x13,
  split_uint32 = 0x14,
  split_int64 = 0x15,
  split_uint64 = 0x16,
  split_real16 = 0x17,
  split_real32 = 0x18,
  split_real64 = 0x19,
  split_index32 = 0x1a,
  split_index64 = 0x1b,
  real32_trunc = 0x1c,
  real32_quant = 0x1d,
};
inline constexpr std::uint16_t column_type_count = 0x1e;

// A column type with its parameters. `bits` is the stored width; `min` and `max` belong to real32_quant.
struct ColumnEncoding {
  ColumnType type = ColumnType::byte;
  std::uint16_t bits = 8;
  double min = 0;
  double max = 0;
  friend bool operator==(const ColumnEncoding&, const ColumnEncoding&) = default;
};

// The in-memory type of a column's elements. `boolean` is one byte 0/1; `index` is a uint64_t holding the end
// of a collection, counted from the start of the cluster; `switch_` is a SwitchElement.
enum class ElementType : std::uint8_t {
  boolean,
  byte,
  character,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  index,
  switch_,
};

// The element of a variant's column: the position inside the column of alternative `tag` (1-based, 0 = no
// value), counted from the start of the cluster.
struct SwitchElement {
  std::uint64_t index = 0;
  std::uint32_t tag = 0;
  std::uint32_t padding = 0;
  friend bool operator==(const SwitchElement&, const SwitchElement&) = default;
};

std::string_view name_of(ColumnType type) noexcept;   // "SplitReal32"; "unknown" beyond the table
std::string_view name_of(ElementType type) noexcept;  // "float32"
std::size_t size_of(ElementType type) noexcept;       // bytes in memory

bool is_known(ColumnType type) noexcept;
bool is_valid(
    const ColumnEncoding& encoding) noexcept;  // width allowed for the type, range ordered where it has one
bool is_index(ColumnType type) noexcept;       // Index32/64 and their split forms

// The encoding of a type with its only (or, for real32_trunc/real32_quant, its widest) width.
ColumnEncoding default_encoding(ColumnType type) noexcept;
// The element type that holds every value of the column without loss (Real16, Trunc and Quant: float32).
ElementType natural_element(ColumnType type) noexcept;

}  // namespace colonnade

#endif
