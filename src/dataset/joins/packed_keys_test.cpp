// Packed keys against the values that were written.
#include "dataset/joins/packed_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace colonnade::dataset {
namespace {

constexpr std::uint64_t lowest = std::uint64_t{1} << 63;  // of signed keys

std::vector<std::uint64_t> all_of(const PackedKeys& keys) {
  std::vector<std::uint64_t> values(keys.size());
  keys.read(0, values.size(), values.data());
  return values;
}

TEST(PackedKeys, HaveTheValuesOfEveryWidth) {
  JoinMemory memory;
  std::mt19937_64 random(3);
  // Around each border between two widths, and the full range.
  for (const unsigned bits : {0u, 1u, 8u, 9u, 16u, 17u, 32u, 33u, 63u, 64u})
    for (const std::uint64_t least :
         {std::uint64_t{0}, std::uint64_t{1'000'000'000'000}, lowest, ~std::uint64_t{4}}) {
      const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
      std::vector<std::uint64_t> values(1000);
      std::ranges::generate(values, [&] { return least + (random() & mask); });
      values.front() = least;
      values.back() = least + mask;
      for (const bool is_signed : {false, true})
        EXPECT_EQ(all_of(PackedKeys({is_signed, values}, memory)), values) << bits << ' ' << least;
    }
}

TEST(PackedKeys, KnowTheirBoundsInTheOrderOfTheirType) {
  JoinMemory memory;
  const std::vector<std::uint64_t> values = {5, ~std::uint64_t{0}, lowest, 7};
  const auto as_signed = PackedKeys({true, values}, memory).bounds();
  EXPECT_EQ(as_signed.least, lowest);
  EXPECT_EQ(as_signed.greatest, 7);
  const auto as_unsigned = PackedKeys({false, values}, memory).bounds();
  EXPECT_EQ(as_unsigned.least, 5);
  EXPECT_EQ(as_unsigned.greatest, ~std::uint64_t{0});
}

TEST(PackedKeys, AreReadAcrossPieces) {
  JoinMemory memory;
  std::mt19937_64 random(4);
  std::vector<std::uint64_t> values(3 * PackedKeys::rows_per_piece + 11);
  std::ranges::generate(values, [&] { return random() >> (random() % 64); });
  const PackedKeys keys({false, values}, memory);
  for (int i = 0; i < 200; ++i) {
    const std::size_t first = random() % values.size();
    const std::size_t count = random() % (values.size() - first + 1);
    std::vector<std::uint64_t> read(count);
    keys.read(first, count, read.data());
    ASSERT_TRUE(std::ranges::equal(read, std::span(values).subspan(first, count))) << first << ' ' << count;
    ASSERT_EQ(keys.at(first), values[first]);
  }
}

TEST(PackedKeys, LieInAFileAboveTheBudget) {
  JoinMemory memory(1000);
  std::vector<std::uint64_t> values(100'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * i;
  const PackedKeys keys({false, values}, memory);
  EXPECT_GT(memory.spilled(), 0);
  EXPECT_EQ(all_of(keys), values);
}

TEST(PackedKeys, AreWrittenInAnyOrder) {
  JoinMemory memory;
  std::vector<std::uint64_t> values(200'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * 0x9e3779b97f4a7c15u;
  PackedKeys keys(true, values.size(), memory);
  constexpr std::size_t stretch = 777;
  const auto write = [&](std::size_t odd) {
    for (std::size_t i = (values.size() - 1) / stretch + 1; i-- > 0;)
      if (i % 2 == odd)
        keys.write(i * stretch,
                   std::span(values).subspan(i * stretch, std::min(stretch, values.size() - i * stretch)));
  };
  std::thread other(write, 1);
  write(0);
  other.join();
  EXPECT_EQ(all_of(keys), values);
}

}  // namespace
}  // namespace colonnade::dataset
