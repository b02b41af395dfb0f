// The fast kernels against the plain ones: random input, every count around the sizes of vectors
// and buffers, pages that are longer than the part, unaligned memory, and guards around all
// output.
#include "codec/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/bytes.h"
#include "codec/kernels/bit_stream.h"

namespace colonnade::codec {
namespace {

constexpr std::size_t guard = 64;

std::vector<std::size_t> interesting_counts() {
  std::vector<std::size_t> counts;
  for (std::size_t count = 1; count <= 140; ++count) counts.push_back(count);
  for (const std::size_t around : {256, 1024, 2048, 4096})
    for (const std::size_t count : {around - 1, around, around + 1, around + 33}) counts.push_back(count);
  return counts;
}

Bytes random_bytes(std::size_t size) {
  static std::mt19937_64 random(7);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Runs all kernels on identically prefilled buffers of their own, and compares the buffers, guards included.
template <class Run>
void expect_same_output(std::size_t size, Run&& run) {
  const Bytes prefilled(size + 2 * guard, std::byte{0xa5});
  Bytes plain = prefilled;
  run(reference_kernels(), plain.data() + guard);
  static const std::vector<const Kernels*> tables = all_kernels();
  for (const Kernels* table : tables) {
    Bytes fast = prefilled;
    run(*table, fast.data() + guard);
    ASSERT_TRUE(fast == plain);
  }
}

TEST(Kernels, BestTableIsAmongThose) {
  std::vector<const Kernels*> tables = all_kernels();
  EXPECT_NE(std::find(tables.begin(), tables.end(), &kernels()), tables.end());
}

// Three pages per count: the part is the whole page, its beginning, or its end.
template <class Check>
void for_parts(Check&& check) {
  for (const std::size_t count : interesting_counts())
    for (const auto& [stride, offset] :
         {std::pair{count, std::size_t{0}}, std::pair{count + 37, std::size_t{0}},
          std::pair{count + 5, std::size_t{5}}}) {
      SCOPED_TRACE(testing::Message() << count << " of " << stride << " from " << offset);
      check(count, stride, offset);
      if (testing::Test::HasFatalFailure()) return;
    }
}

template <std::size_t width>
void compare_planes(Kernels::Unsplit* Kernels::* unsplit, Kernels::Split* Kernels::* split) {
  for_parts([&](std::size_t count, std::size_t stride, std::size_t offset) {
    const Bytes planes = random_bytes(stride * width);
    expect_same_output(count * width, [&](const Kernels& k, std::byte* out) {
      (k.*unsplit)(planes.data() + offset, stride, count, out);
    });
    const Bytes values = random_bytes(count * width);
    expect_same_output(stride * width, [&](const Kernels& k, std::byte* out) {
      (k.*split)(values.data(), count, out + offset, stride);
    });
  });
}

TEST(Kernels, SplitOfTwoBytes) {
  compare_planes<2>(&Kernels::unsplit16, &Kernels::split16);
}
TEST(Kernels, SplitOfFourBytes) {
  compare_planes<4>(&Kernels::unsplit32, &Kernels::split32);
}
TEST(Kernels, SplitOfEightBytes) {
  compare_planes<8>(&Kernels::unsplit64, &Kernels::split64);
}
TEST(Kernels, ZigzagOfTwoBytes) {
  compare_planes<2>(&Kernels::unsplit_zigzag16, &Kernels::split_zigzag16);
}
TEST(Kernels, ZigzagOfFourBytes) {
  compare_planes<4>(&Kernels::unsplit_zigzag32, &Kernels::split_zigzag32);
}
TEST(Kernels, ZigzagOfEightBytes) {
  compare_planes<8>(&Kernels::unsplit_zigzag64, &Kernels::split_zigzag64);
}

template <std::size_t width>
void compare_deltas(Kernels::UnsplitDelta* Kernels::* unsplit, Kernels::SplitDelta* Kernels::* split) {
  for_parts([&](std::size_t count, std::size_t stride, std::size_t offset) {
    const Bytes planes = random_bytes(stride * width);
    const auto before = load_le<std::uint64_t>(random_bytes(8).data());
    std::vector<std::uint64_t> last;
    expect_same_output(count * 8, [&](const Kernels& k, std::byte* out) {
      auto* values = reinterpret_cast<std::uint64_t*>(out);
      last.push_back((k.*unsplit)(planes.data() + offset, stride, count, before, values));
      EXPECT_EQ(last.back(), values[count - 1]);
    });
    EXPECT_EQ(std::count(last.begin(), last.end(), last[0]), static_cast<std::ptrdiff_t>(last.size()));
    std::vector<std::uint64_t> values(count);
    const Bytes bytes = random_bytes(count * 8);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    expect_same_output(stride * width, [&](const Kernels& k, std::byte* out) {
      (k.*split)(values.data(), count, before, out + offset, stride);
    });
  });
}

TEST(Kernels, DeltaOfFourBytes) {
  compare_deltas<4>(&Kernels::unsplit_delta32, &Kernels::split_delta32);
}
TEST(Kernels, DeltaOfEightBytes) {
  compare_deltas<8>(&Kernels::unsplit_delta64, &Kernels::split_delta64);
}

TEST(Kernels, Bits) {
  for (const std::size_t count : interesting_counts()) {
    const Bytes bits = random_bytes((count + 7) / 8);
    expect_same_output(count, [&](const Kernels& k, std::byte* out) {
      k.unpack_bits(bits.data(), count, reinterpret_cast<std::uint8_t*>(out));
    });
    Bytes booleans = random_bytes(count);
    for (std::size_t i = 0; i < count; i += 2) booleans[i] &= std::byte{0x81};
    expect_same_output((count + 7) / 8, [&](const Kernels& k, std::byte* out) {
      k.pack_bits(reinterpret_cast<const std::uint8_t*>(booleans.data()), count, out);
    });
  }
}

TEST(Kernels, EveryHalf) {
  Bytes halves(2 * 65536);
  for (unsigned i = 0; i < 65536; ++i) store_le(halves.data() + 2 * i, static_cast<std::uint16_t>(i));
  expect_same_output(4 * 65536, [&](const Kernels& k, std::byte* out) {
    k.half_to_float(halves.data(), 65536, reinterpret_cast<float*>(out));
  });
}

// Every exponent with the fractions around every rounding decision, and random ones.
TEST(Kernels, FloatToHalf) {
  std::mt19937 random(5);
  std::vector<float> values;
  for (std::uint32_t exponent = 0; exponent < 512; ++exponent) {
    for (const std::uint32_t fraction : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu, 0x2fffu, 0x3000u, 0x3001u,
                                         0x7fffffu, 0x7ff000u, 0x7fefffu})
      values.push_back(std::bit_cast<float>(exponent << 23 | fraction));
    for (int bit = 0; bit < 23; ++bit)
      for (const std::uint32_t near : {0u, 1u, 0x7fffffu})
        values.push_back(std::bit_cast<float>(exponent << 23 | (((1u << bit) + near) & 0x7fffff)));
    for (int i = 0; i < 200; ++i)
      values.push_back(
          std::bit_cast<float>(exponent << 23 | (static_cast<std::uint32_t>(random()) & 0x7fffff)));
  }
  expect_same_output(2 * values.size(), [&](const Kernels& k, std::byte* out) {
    k.float_to_half(values.data(), values.size(), out);
  });
}

TEST(BitStream, EveryWidthRoundTripsFromEveryStart) {
  std::mt19937 random(9);
  for (unsigned width = 1; width <= 32; ++width)
    for (const std::size_t count : {1, 2, 7, 63, 64, 65, 200}) {
      std::vector<std::uint32_t> values(count);
      for (auto& value : values) value = static_cast<std::uint32_t>(random()) >> (32 - width);
      Bytes page((count * width + 7) / 8 + 1, std::byte{0xcc});
      const auto part = MutableByteSpan(page).first(page.size() - 1);
      BitWriter writer(part, 0, width);
      writer.write(count / 3, values.data());
      writer.write(count - count / 3, values.data() + count / 3);
      writer.finish();
      EXPECT_EQ(page.back(), std::byte{0xcc});
      // The definition, bit by bit.
      for (std::size_t bit = 0; bit < count * width; ++bit) {
        const bool stored = ((static_cast<unsigned>(page[bit / 8]) >> (bit % 8)) & 1) != 0;
        ASSERT_EQ(stored, ((values[bit / width] >> (bit % width)) & 1) != 0) << width << " " << bit;
      }
      for (const std::size_t first : {std::size_t{0}, count / 2, count - 1}) {
        BitReader reader(part, first, width);
        std::vector<std::uint32_t> read(count - first);
        reader.read(read.size() / 2, read.data());
        reader.read(read.size() - read.size() / 2, read.data() + read.size() / 2);
        ASSERT_TRUE(std::equal(read.begin(), read.end(), values.begin() + static_cast<std::ptrdiff_t>(first)))
            << width;
      }
    }
}

}  // namespace
}  // namespace colonnade::codec
