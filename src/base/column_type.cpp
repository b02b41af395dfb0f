// The tables behind colonnade/column_type.h: names, widths and natural elements of the column types.
#include "colonnade/column_type.h"

#include <array>
#include <cmath>

namespace colonnade {
namespace {

struct ColumnRow {
  std::string_view name;
  std::uint16_t min_bits;
  std::uint16_t max_bits;
  ElementType natural;
};

// In the order of the numbers of the specification.
constexpr std::array<ColumnRow, column_type_count> column_rows = {{
    {"Bit", 1, 1, ElementType::boolean},           {"Byte", 8, 8, ElementType::byte},
    {"Char", 8, 8, ElementType::character},        {"Int8", 8, 8, ElementType::int8},
    {"UInt8", 8, 8, ElementType::uint8},           {"Int16", 16, 16, ElementType::int16},
    {"UInt16", 16, 16, ElementType::uint16},       {"Int32", 32, 32, ElementType::int32},
    {"UInt32", 32, 32, ElementType::uint32},       {"Int64", 64, 64, ElementType::int64},
    {"UInt64", 64, 64, ElementType::uint64},       {"Real16", 16, 16, ElementType::float32},
    {"Real32", 32, 32, ElementType::float32},      {"Real64", 64, 64, ElementType::float64},
    {"Index32", 32, 32, ElementType::index},       {"Index64", 64, 64, ElementType::index},
    {"Switch", 96, 96, ElementType::switch_},      {"SplitInt16", 16, 16, ElementType::int16},
    {"SplitUInt16", 16, 16, ElementType::uint16},  {"SplitInt32", 32, 32, ElementType::int32},
    {"SplitUInt32", 32, 32, ElementType::uint32},  {"SplitInt64", 64, 64, ElementType::int64},
    {"SplitUInt64", 64, 64, ElementType::uint64},  {"SplitReal16", 16, 16, ElementType::float32},
    {"SplitReal32", 32, 32, ElementType::float32}, {"SplitReal64", 64, 64, ElementType::float64},
    {"SplitIndex32", 32, 32, ElementType::index},  {"SplitIndex64", 64, 64, ElementType::index},
    {"Real32Trunc", 10, 31, ElementType::float32}, {"Real32Quant", 1, 32, ElementType::float32},
}};

struct ElementRow {
  std::string_view name;
  std::size_t size;
};

// In the order of ElementType.
constexpr std::array<ElementRow, 15> element_rows = {{
    {"bool", 1},
    {"byte", 1},
    {"char", 1},
    {"int8", 1},
    {"uint8", 1},
    {"int16", 2},
    {"uint16", 2},
    {"int32", 4},
    {"uint32", 4},
    {"int64", 8},
    {"uint64", 8},
    {"float32", 4},
    {"float64", 8},
    {"index", 8},
    {"switch", sizeof(SwitchElement)},
}};

// Every quantised integer must map to a finite value between the ends: the width of the range and the steps
// per unit have to be finite numbers, too.
bool is_quantisable(const ColumnEncoding& encoding) noexcept {
  const double width = encoding.max - encoding.min;
  const double steps = static_cast<double>((std::uint64_t{1} << encoding.bits) - 1);
  return encoding.min < encoding.max && std::isfinite(encoding.min) && std::isfinite(encoding.max) &&
         std::isfinite(width) && std::isfinite(steps / width);
}

}  // namespace

bool is_known(ColumnType type) noexcept {
  return static_cast<std::uint16_t>(type) < column_type_count;
}

std::string_view name_of(ColumnType type) noexcept {
  return is_known(type) ? column_rows[static_cast<std::size_t>(type)].name : "unknown";
}

std::string_view name_of(ElementType type) noexcept {
  const auto at = static_cast<std::size_t>(type);
  return at < element_rows.size() ? element_rows[at].name : "unknown";
}

std::size_t size_of(ElementType type) noexcept {
  const auto at = static_cast<std::size_t>(type);
  return at < element_rows.size() ? element_rows[at].size : 0;
}

bool is_valid(const ColumnEncoding& encoding) noexcept {
  if (!is_known(encoding.type)) return false;
  const ColumnRow& row = column_rows[static_cast<std::size_t>(encoding.type)];
  if (encoding.bits < row.min_bits || encoding.bits > row.max_bits) return false;
  return encoding.type != ColumnType::real32_quant || is_quantisable(encoding);
}

bool is_index(ColumnType type) noexcept {
  return type == ColumnType::index32 || type == ColumnType::index64 || type == ColumnType::split_index32 ||
         type == ColumnType::split_index64;
}

ColumnEncoding default_encoding(ColumnType type) noexcept {
  ColumnEncoding encoding{.type = type};
  if (is_known(type)) encoding.bits = column_rows[static_cast<std::size_t>(type)].max_bits;
  return encoding;
}

ElementType natural_element(ColumnType type) noexcept {
  return is_known(type) ? column_rows[static_cast<std::size_t>(type)].natural : ElementType::byte;
}

}  // namespace colonnade
