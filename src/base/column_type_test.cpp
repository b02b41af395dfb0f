// Tests of the column type tables against the specification's list.
#include "colonnade/column_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace colonnade {
namespace {

struct Expected {
  std::uint16_t number;
  std::string_view name;
  std::uint16_t bits;
  ElementType natural;
};

// The specification's table of column types, written down once more.
constexpr Expected expected[] = {
    {0x00, "Bit", 1, ElementType::boolean},          {0x01, "Byte", 8, ElementType::byte},
    {0x02, "Char", 8, ElementType::character},       {0x03, "Int8", 8, ElementType::int8},
    {0x04, "UInt8", 8, ElementType::uint8},          {0x05, "Int16", 16, ElementType::int16},
    {0x06, "UInt16", 16, ElementType::uint16},       {0x07, "Int32", 32, ElementType::int32},
    {0x08, "UInt32", 32, ElementType::uint32},       {0x09, "Int64", 64, ElementType::int64},
    {0x0a, "UInt64", 64, ElementType::uint64},       {0x0b, "Real16", 16, ElementType::float32},
    {0x0c, "Real32", 32, ElementType::float32},      {0x0d, "Real64", 64, ElementType::float64},
    {0x0e, "Index32", 32, ElementType::index},       {0x0f, "Index64", 64, ElementType::index},
    {0x10, "Switch", 96, ElementType::switch_},      {0x11, "SplitInt16", 16, ElementType::int16},
    {0x12, "SplitUInt16", 16, ElementType::uint16},  {0x13, "SplitInt32", 32, ElementType::int32},
    {0x14, "SplitUInt32", 32, ElementType::uint32},  {0x15, "SplitInt64", 64, ElementType::int64},
    {0x16, "SplitUInt64", 64, ElementType::uint64},  {0x17, "SplitReal16", 16, ElementType::float32},
    {0x18, "SplitReal32", 32, ElementType::float32}, {0x19, "SplitReal64", 64, ElementType::float64},
    {0x1a, "SplitIndex32", 32, ElementType::index},  {0x1b, "SplitIndex64", 64, ElementType::index},
    {0x1c, "Real32Trunc", 31, ElementType::float32}, {0x1d, "Real32Quant", 32, ElementType::float32}};

TEST(ColumnType, TableIsThatOfTheSpecification) {
  ASSERT_EQ(std::size(expected), column_type_count);
  for (const Expected& row : expected) {
    const auto type = static_cast<ColumnType>(row.number);
    EXPECT_TRUE(is_known(type));
    EXPECT_EQ(name_of(type), row.name);
    EXPECT_EQ(default_encoding(type).bits, row.bits) << row.name;
    EXPECT_EQ(default_encoding(type).type, type);
    EXPECT_EQ(natural_element(type), row.natural) << row.name;
    EXPECT_EQ(is_index(type), row.natural == ElementType::index) << row.name;
  }
}

TEST(ColumnType, NumbersBeyondTheTableAreUnknown) {
  for (const std::uint16_t number : {0x1e, 0x1f, 0x99, 0xffff}) {
    const auto type = static_cast<ColumnType>(number);
    EXPECT_FALSE(is_known(type));
    EXPECT_EQ(name_of(type), "unknown");
    EXPECT_FALSE(is_valid({.type = type, .bits = 8}));
    EXPECT_FALSE(is_index(type));
  }
}

TEST(ColumnType, OnlyOneWidthIsValidButForTruncatedAndQuantised) {
  for (const Expected& row : expected) {
    const auto type = static_cast<ColumnType>(row.number);
    for (std::uint16_t bits = 0; bits <= 128; ++bits) {
      bool valid = bits == row.bits;
      if (type == ColumnType::real32_trunc) valid = bits >= 10 && bits <= 31;
      if (type == ColumnType::real32_quant) valid = bits >= 1 && bits <= 32;
      EXPECT_EQ(is_valid({.type = type, .bits = bits, .min = 0, .max = 1}), valid) << row.name << " " << bits;
    }
  }
}

TEST(ColumnType, RangeOfQuantisedColumnsMustBeFiniteAndOrdered) {
  const auto valid = [](double min, double max) {
    return is_valid({.type = ColumnType::real32_quant, .bits = 16, .min = min, .max = max});
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const double largest = std::numeric_limits<double>::max();
  EXPECT_TRUE(valid(-1, 1));
  EXPECT_TRUE(valid(-1e300, 1e300));
  EXPECT_FALSE(valid(1, 1));
  EXPECT_FALSE(valid(1, -1));
  EXPECT_FALSE(valid(0, infinity));
  EXPECT_FALSE(valid(-infinity, 0));
  EXPECT_FALSE(valid(std::nan(""), 1));
  EXPECT_FALSE(valid(0, std::nan("")));
  EXPECT_FALSE(valid(-largest, largest));                             // the width overflows
  EXPECT_FALSE(valid(0, std::numeric_limits<double>::denorm_min()));  // the steps per unit overflow
  EXPECT_TRUE(is_valid({.type = ColumnType::real32, .bits = 32, .min = 1, .max = -1}));  // has no range
}

TEST(ElementType, NamesAndSizes) {
  EXPECT_EQ(name_of(ElementType::boolean), "bool");
  EXPECT_EQ(name_of(ElementType::float32), "float32");
  EXPECT_EQ(name_of(ElementType::switch_), "switch");
  EXPECT_EQ(name_of(static_cast<ElementType>(99)), "unknown");
  EXPECT_EQ(size_of(ElementType::boolean), 1u);
  EXPECT_EQ(size_of(ElementType::uint16), 2u);
  EXPECT_EQ(size_of(ElementType::float32), 4u);
  EXPECT_EQ(size_of(ElementType::index), 8u);
  EXPECT_EQ(size_of(ElementType::switch_), 16u);
  EXPECT_EQ(size_of(static_cast<ElementType>(99)), 0u);
}

}  // namespace
}  // namespace colonnade
