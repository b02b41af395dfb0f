// Tests of the column encodings: golden bytes worked out by hand, round trips of every encoding at awkward
// lengths, the conversion matrix, and every error.
#include "codec/column_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/test_errors.h"

namespace colonnade::codec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t awkward_counts[] = {0,  1,  2,  3,  7,  8,   9,    15,   16,   17,
                                          31, 33, 63, 64, 65, 127, 1023, 1024, 1025, 4099};

template <class T>
Bytes pack(const ColumnEncoding& encoding, ElementType from, const std::vector<T>& values) {
  Bytes packed(packed_size(encoding, values.size()), std::byte{0xee});
  encode(encoding, from, values.data(), values.size(), packed);
  return packed;
}

template <class T>
std::vector<T> unpack(const ColumnEncoding& encoding, ByteSpan packed, std::size_t count, ElementType to) {
  std::vector<T> values(count);
  decode(encoding, packed, count, to, values.data());
  return values;
}

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

ColumnEncoding of(ColumnType type) {
  return default_encoding(type);
}

ColumnEncoding truncated(std::uint16_t bits) {
  return {.type = ColumnType::real32_trunc, .bits = bits};
}

ColumnEncoding quantised(std::uint16_t bits, double min, double max) {
  return {.type = ColumnType::real32_quant, .bits = bits, .min = min, .max = max};
}

template <class T>
void expect_golden(ColumnType type, ElementType element, const std::vector<T>& values, const Bytes& bytes) {
  SCOPED_TRACE(name_of(type));
  EXPECT_EQ(pack(of(type), element, values), bytes);
  EXPECT_EQ(unpack<T>(of(type), bytes, values.size(), element), values);
}

// ---- Golden bytes

TEST(ColumnCodec, BitIsPackedFromTheLeastSignificantBit) {
  expect_golden<std::uint8_t>(ColumnType::bit, ElementType::boolean, {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1},
                              bytes_of({0x01, 0x06}));
}

TEST(ColumnCodec, BitIgnoresPaddingAndTakesAnyTrueByte) {
  EXPECT_THAT(unpack<std::uint8_t>(of(ColumnType::bit), bytes_of({0xfd}), 3, ElementType::boolean),
              ElementsAre(1, 0, 1));
  EXPECT_EQ(pack<std::uint8_t>(of(ColumnType::bit), ElementType::boolean, {2, 0, 255}), bytes_of({0x05}));
}

TEST(ColumnCodec, BytesAndSmallIntegersAreMemoryImages) {
  expect_golden<std::byte>(ColumnType::byte, ElementType::byte, {std::byte{0}, std::byte{0xff}},
                           bytes_of({0, 0xff}));
  expect_golden<char>(ColumnType::character, ElementType::character, {'a', '\xff'}, bytes_of({0x61, 0xff}));
  expect_golden<std::int8_t>(ColumnType::int8, ElementType::int8, {-1, 2}, bytes_of({0xff, 2}));
  expect_golden<std::uint8_t>(ColumnType::uint8, ElementType::uint8, {255, 2}, bytes_of({0xff, 2}));
}

TEST(ColumnCodec, PlainNumbersAreLittleEndian) {
  expect_golden<std::int16_t>(ColumnType::int16, ElementType::int16, {-2, 0x0102},
                              bytes_of({0xfe, 0xff, 2, 1}));
  expect_golden<std::uint16_t>(ColumnType::uint16, ElementType::uint16, {0xfffe}, bytes_of({0xfe, 0xff}));
  expect_golden<std::int32_t>(ColumnType::int32, ElementType::int32, {-2},
                              bytes_of({0xfe, 0xff, 0xff, 0xff}));
  expect_golden<std::uint32_t>(ColumnType::uint32, ElementType::uint32, {0x01020304}, bytes_of({4, 3, 2, 1}));
  expect_golden<std::int64_t>(ColumnType::int64, ElementType::int64, {-256},
                              bytes_of({0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
  expect_golden<std::uint64_t>(ColumnType::uint64, ElementType::uint64, {0x0102030405060708},
                               bytes_of({8, 7, 6, 5, 4, 3, 2, 1}));
  expect_golden<float>(ColumnType::real32, ElementType::float32, {1.f, -2.f},
                       bytes_of({0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}));
  expect_golden<double>(ColumnType::real64, ElementType::float64, {1.},
                        bytes_of({0, 0, 0, 0, 0, 0, 0xf0, 0x3f}));
}

TEST(ColumnCodec, SplitGroupsTheBytesOfAllElements) {
  expect_golden<std::uint16_t>(ColumnType::split_uint16, ElementType::uint16, {0x0102, 0x0304, 0x0506},
                               bytes_of({2, 4, 6, 1, 3, 5}));
  expect_golden<std::uint32_t>(ColumnType::split_uint32, ElementType::uint32, {0x01020304, 0x05060708},
                               bytes_of({4, 8, 3, 7, 2, 6, 1, 5}));
  expect_golden<std::uint64_t>(ColumnType::split_uint64, ElementType::uint64, {0x0102030405060708, 1},
                               bytes_of({8, 1, 7, 0, 6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1, 0}));
  expect_golden<float>(ColumnType::split_real32, ElementType::float32, {1.f, -2.f},
                       bytes_of({0, 0, 0, 0, 0x80, 0, 0x3f, 0xc0}));
  expect_golden<double>(ColumnType::split_real64, ElementType::float64, {1., 0.},
                        bytes_of({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0, 0x3f, 0}));
}

TEST(ColumnCodec, SplitSignedIntegersAreZigzagEncoded) {
  // 0, -1, 1, -2 and the two ends become 0, 1, 2, 3, 2^n - 1, 2^n - 2.
  expect_golden<std::int16_t>(ColumnType::split_int16, ElementType::int16, {0, -1, 1, -2, -32768, 32767},
                              bytes_of({0, 1, 2, 3, 0xff, 0xfe, 0, 0, 0, 0, 0xff, 0xff}));
  expect_golden<std::int32_t>(ColumnType::split_int32, ElementType::int32, {-1, 256},
                              bytes_of({1, 0, 0, 2, 0, 0, 0, 0}));
  expect_golden<std::int64_t>(
      ColumnType::split_int64, ElementType::int64, {-3, std::numeric_limits<std::int64_t>::min()},
      bytes_of({5, 0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0, 0xff}));
}

TEST(ColumnCodec, IndexColumnsHoldEndsOfCollections) {
  expect_golden<std::uint64_t>(ColumnType::index32, ElementType::index, {1, 1, 0x103},
                               bytes_of({1, 0, 0, 0, 1, 0, 0, 0, 3, 1, 0, 0}));
  expect_golden<std::uint64_t>(ColumnType::index64, ElementType::index, {0x103},
                               bytes_of({3, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(ColumnCodec, SplitIndexColumnsHoldDifferences) {
  // 5, 5, 0x105 -> 5, 0, 0x100; the first one is the difference to zero.
  expect_golden<std::uint64_t>(ColumnType::split_index32, ElementType::index, {5, 5, 0x105},
                               bytes_of({5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  expect_golden<std::uint64_t>(ColumnType::split_index64, ElementType::index, {5, 0x105},
                               bytes_of({5, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(ColumnCodec, DifferencesWrapAroundAtTheWidthOfTheColumn) {
  expect_golden<std::uint64_t>(ColumnType::split_index32, ElementType::index, {7, 6},
                               bytes_of({7, 0xff, 0, 0xff, 0, 0xff, 0, 0xff}));
}

TEST(ColumnCodec, SwitchTakesTwelveBytes) {
  expect_golden<SwitchElement>(
      ColumnType::switch_, ElementType::switch_, {{.index = 0x0201, .tag = 3}, {.index = 4, .tag = 0}},
      bytes_of({1, 2, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(ColumnCodec, Real16IsIeeeHalfPrecision) {
  const float infinity = std::numeric_limits<float>::infinity();
  expect_golden<float>(ColumnType::real16, ElementType::float32,
                       {1.f, -2.f, 65504.f, 0x1p-24f, infinity, -0.f},
                       bytes_of({0, 0x3c, 0, 0xc0, 0xff, 0x7b, 1, 0, 0, 0x7c, 0, 0x80}));
  expect_golden<float>(ColumnType::split_real16, ElementType::float32, {1.f, 65504.f},
                       bytes_of({0, 0xff, 0x3c, 0x7b}));
}

TEST(ColumnCodec, Real16RoundsToNearestEvenAndOverflowsToInfinity) {
  const auto halves = [](std::vector<float> values) {
    return pack(of(ColumnType::real16), ElementType::float32, values);
  };
  EXPECT_EQ(halves({1.f + 0x1p-11f}), bytes_of({0x00, 0x3c}));             // tie, down to even
  EXPECT_EQ(halves({1.f + 3 * 0x1p-11f}), bytes_of({0x02, 0x3c}));         // tie, up to even
  EXPECT_EQ(halves({1.f + 0x1p-11f + 0x1p-20f}), bytes_of({0x01, 0x3c}));  // above the tie
  EXPECT_EQ(halves({65519.f}), bytes_of({0xff, 0x7b}));                    // rounds down to the largest
  EXPECT_EQ(halves({65520.f}), bytes_of({0x00, 0x7c}));                    // rounds up to infinity
  EXPECT_EQ(halves({-1e30f}), bytes_of({0x00, 0xfc}));
  EXPECT_EQ(halves({0x1p-25f}), bytes_of({0x00, 0x00}));  // tie between zero and the smallest
  EXPECT_EQ(halves({0x1.8p-25f}), bytes_of({0x01, 0x00}));
  EXPECT_EQ(halves({0x1p-40f}), bytes_of({0x00, 0x00}));
  EXPECT_EQ(halves({std::bit_cast<float>(0x7f800001u)}), bytes_of({0x00, 0x7e}));  // a NaN stays a NaN
}

TEST(ColumnCodec, TruncatedFloatsFormOneBitStream) {
  // 1.f is 0x3f800000: 0b0011111110 in ten bits; -2.f is 0xc0000000: 0b1100000000. The lower bits come first.
  const Bytes bytes = bytes_of({0xfe, 0x00, 0x0c});
  EXPECT_EQ(pack<float>(truncated(10), ElementType::float32, {1.f, -2.f}), bytes);
  EXPECT_THAT(unpack<float>(truncated(10), bytes, 2, ElementType::float32), ElementsAre(1.f, -2.f));
  EXPECT_EQ(pack<float>(truncated(16), ElementType::float32, {std::bit_cast<float>(0x12345678u)}),
            bytes_of({0x34, 0x12}));
}

TEST(ColumnCodec, QuantisedValuesAreStepsBetweenMinAndMax) {
  const ColumnEncoding encoding = quantised(2, 0., 3.);
  EXPECT_EQ(pack<float>(encoding, ElementType::float32, {0.f, 1.f, 2.f, 3.f, 1.4f, 1.5f}),
            bytes_of({0xe4, 0x09}));
  EXPECT_THAT(unpack<float>(encoding, bytes_of({0xe4, 0x09}), 6, ElementType::float32),
              ElementsAre(0, 1, 2, 3, 1, 2));
  EXPECT_THAT(unpack<double>(quantised(1, -1., 5.), bytes_of({0x02}), 2, ElementType::float64),
              ElementsAre(-1., 5.));
}

TEST(ColumnCodec, QuantisationOf32BitsReachesBothEnds) {
  const ColumnEncoding encoding = quantised(32, -1., 1.);
  const Bytes bytes = bytes_of({0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff});
  EXPECT_EQ(pack<double>(encoding, ElementType::float64, {-1., 1.}), bytes);
  EXPECT_THAT(unpack<double>(encoding, bytes, 2, ElementType::float64), ElementsAre(-1., 1.));
}

// ---- Round trips

// Random elements that the column holds without loss.
template <class T>
std::vector<T> random_elements(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (auto& value : values) {
    const std::uint64_t bits = random() >> (random() % 64);
    std::memcpy(&value, &bits, sizeof value);
  }
  return values;
}

template <class T>
void expect_same_bits(const std::vector<T>& left, const std::vector<T>& right) {
  ASSERT_EQ(left.size(), right.size());
  if (left.empty()) return;
  ASSERT_EQ(std::memcmp(left.data(), right.data(), left.size() * sizeof(T)), 0);
}

template <class T>
void expect_round_trips(ColumnType type, ElementType element) {
  SCOPED_TRACE(name_of(type));
  for (const std::size_t count : awkward_counts) {
    const auto values = random_elements<T>(count, count);
    expect_same_bits(unpack<T>(of(type), pack(of(type), element, values), count, element), values);
  }
}

TEST(ColumnCodec, EveryLosslessColumnRoundTrips) {
  expect_round_trips<std::byte>(ColumnType::byte, ElementType::byte);
  expect_round_trips<char>(ColumnType::character, ElementType::character);
  expect_round_trips<std::int8_t>(ColumnType::int8, ElementType::int8);
  expect_round_trips<std::uint8_t>(ColumnType::uint8, ElementType::uint8);
  for (const auto type : {ColumnType::int16, ColumnType::split_int16})
    expect_round_trips<std::int16_t>(type, ElementType::int16);
  for (const auto type : {ColumnType::uint16, ColumnType::split_uint16})
    expect_round_trips<std::uint16_t>(type, ElementType::uint16);
  for (const auto type : {ColumnType::int32, ColumnType::split_int32})
    expect_round_trips<std::int32_t>(type, ElementType::int32);
  for (const auto type : {ColumnType::uint32, ColumnType::split_uint32})
    expect_round_trips<std::uint32_t>(type, ElementType::uint32);
  for (const auto type : {ColumnType::int64, ColumnType::split_int64})
    expect_round_trips<std::int64_t>(type, ElementType::int64);
  for (const auto type : {ColumnType::uint64, ColumnType::split_uint64})
    expect_round_trips<std::uint64_t>(type, ElementType::uint64);
  for (const auto type : {ColumnType::real32, ColumnType::split_real32})
    expect_round_trips<float>(type, ElementType::float32);
  for (const auto type : {ColumnType::real64, ColumnType::split_real64})
    expect_round_trips<double>(type, ElementType::float64);
  for (const auto type : {ColumnType::index64, ColumnType::split_index64})
    expect_round_trips<std::uint64_t>(type, ElementType::index);
}

template <class T>
void expect_parts(ColumnType type, ElementType element) {
  SCOPED_TRACE(name_of(type));
  ASSERT_TRUE(is_divisible(of(type), element));
  for (const std::size_t count : awkward_counts) {
    const auto values = random_elements<T>(count, count);
    const Bytes packed = pack(of(type), element, values);
    for (std::size_t first = 0; first < count; first += 1 + count / 5) {
      const std::size_t length = (count - first) / 2;
      std::vector<T> part(length);
      decode_part(of(type), packed.data(), count, first, length, part.data());
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
      expect_same_bits(part, std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(length)));
      // Offsets that begin before the page.
      std::vector<std::uint32_t> places;
      std::vector<T> expected;
      for (std::size_t i = first; i < count; i += 1 + i % 3) {
        places.push_back(static_cast<std::uint32_t>(i + 1000));
        expected.push_back(values[i]);
      }
      std::vector<T> picked(places.size());
      decode_places(of(type), packed.data(), count, std::size_t{0} - 1000, places.data(), places.size(),
                    picked.data());
      expect_same_bits(picked, expected);
    }
  }
}

TEST(ColumnCodec, SplitPagesAreDecodedInParts) {
  expect_parts<std::int16_t>(ColumnType::split_int16, ElementType::int16);
  expect_parts<std::uint16_t>(ColumnType::split_uint16, ElementType::uint16);
  expect_parts<std::int32_t>(ColumnType::split_int32, ElementType::int32);
  expect_parts<std::uint32_t>(ColumnType::split_uint32, ElementType::uint32);
  expect_parts<std::int64_t>(ColumnType::split_int64, ElementType::int64);
  expect_parts<std::uint64_t>(ColumnType::split_uint64, ElementType::uint64);
  expect_parts<float>(ColumnType::split_real32, ElementType::float32);
  expect_parts<double>(ColumnType::split_real64, ElementType::float64);
  for (const ColumnType type : {ColumnType::split_index32, ColumnType::split_index64})
    EXPECT_FALSE(is_divisible(of(type), ElementType::index)) << "differences need what stands before";
  EXPECT_FALSE(is_divisible(of(ColumnType::split_real32), ElementType::float64)) << "would be converted";
  EXPECT_FALSE(is_divisible(of(ColumnType::real64), ElementType::float64));
  EXPECT_FALSE(is_divisible(of(ColumnType::bit), ElementType::boolean));
  EXPECT_FALSE(is_divisible(of(static_cast<ColumnType>(99)), ElementType::int32));
}

TEST(ColumnCodec, BooleansRoundTrip) {
  for (const std::size_t count : awkward_counts) {
    auto values = random_elements<std::uint8_t>(count, count);
    for (auto& value : values) value &= 1;
    EXPECT_EQ(
        unpack<std::uint8_t>(of(ColumnType::bit), pack(of(ColumnType::bit), ElementType::boolean, values),
                             count, ElementType::boolean),
        values);
  }
}

TEST(ColumnCodec, NarrowIndexesRoundTrip) {
  for (const auto type : {ColumnType::index32, ColumnType::split_index32})
    for (const std::size_t count : awkward_counts) {
      auto values = random_elements<std::uint64_t>(count, count);
      for (auto& value : values) value &= 0xffffffff;
      EXPECT_EQ(unpack<std::uint64_t>(of(type), pack(of(type), ElementType::index, values), count,
                                      ElementType::index),
                values);
    }
}

TEST(ColumnCodec, SwitchesRoundTrip) {
  for (const std::size_t count : awkward_counts) {
    std::vector<SwitchElement> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = {.index = i << 40, .tag = static_cast<std::uint32_t>(i * 77777)};
    EXPECT_EQ(unpack<SwitchElement>(of(ColumnType::switch_),
                                    pack(of(ColumnType::switch_), ElementType::switch_, values), count,
                                    ElementType::switch_),
              values);
  }
}

TEST(ColumnCodec, EveryHalfRoundTrips) {
  Bytes halves(2 * 65536);
  for (unsigned i = 0; i < 65536; ++i) store_le(halves.data() + 2 * i, static_cast<std::uint16_t>(i));
  for (const auto type : {ColumnType::real16, ColumnType::split_real16}) {
    Bytes packed = halves;
    if (type == ColumnType::split_real16)
      for (unsigned i = 0; i < 65536; ++i) {
        packed[i] = halves[2 * i];
        packed[65536 + i] = halves[2 * i + 1];
      }
    const auto values = unpack<float>(of(type), packed, 65536, ElementType::float32);
    for (unsigned i = 0; i < 65536; ++i) {
      const unsigned exponent = (i >> 10) & 0x1f;
      const double fraction = i & 0x3ff;
      const double magnitude = exponent == 0 ? std::ldexp(fraction, -24)
                                             : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
      if (exponent < 31) {
        ASSERT_EQ(values[i], static_cast<float>((i >> 15) != 0 ? -magnitude : magnitude)) << i;
        ASSERT_EQ(std::signbit(values[i]), (i >> 15) != 0) << i;
      }
      if (exponent == 31) {
        ASSERT_EQ(std::isnan(values[i]), fraction != 0) << i;
      }
    }
    Bytes again = pack(of(type), ElementType::float32, values);
    for (unsigned i = 0; i < 65536; ++i) {
      const bool signalling = (i & 0x7c00) == 0x7c00 && (i & 0x3ff) != 0 && (i & 0x200) == 0;
      const std::size_t high = type == ColumnType::real16 ? 2 * i + 1 : 65536 + i;
      if (signalling) again[high] &= std::byte{0xfd};  // writing makes a NaN quiet
    }
    EXPECT_EQ(again, packed);
  }
}

TEST(ColumnCodec, TruncationKeepsTheUpperBitsOfEveryWidth) {
  for (std::uint16_t bits = 10; bits <= 31; ++bits)
    for (const std::size_t count : awkward_counts) {
      const auto values = random_elements<float>(count, bits);
      auto expected = values;
      for (float& value : expected)
        value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & (0xffffffffu << (32 - bits)));
      const Bytes packed = pack(truncated(bits), ElementType::float32, values);
      ASSERT_EQ(packed.size(), (count * bits + 7) / 8);
      expect_same_bits(unpack<float>(truncated(bits), packed, count, ElementType::float32), expected);
      const std::vector<double> wide(expected.begin(), expected.end());
      expect_same_bits(unpack<double>(truncated(bits), packed, count, ElementType::float64), wide);
    }
}

TEST(ColumnCodec, QuantisationOfEveryWidthIsWithinHalfAStepAndStable) {
  const double min = -3.25;
  const double max = 11.5;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> in_range(min, max);
  for (std::uint16_t bits = 1; bits <= 32; ++bits) {
    const ColumnEncoding encoding = quantised(bits, min, max);
    const double step = (max - min) / (std::exp2(bits) - 1);
    for (const std::size_t count : awkward_counts) {
      std::vector<double> values(count);
      for (double& value : values) value = in_range(random);
      if (count > 2) values[1] = max, values[2] = min;
      const Bytes packed = pack(encoding, ElementType::float64, values);
      ASSERT_EQ(packed.size(), (count * bits + 7) / 8);
      const auto back = unpack<double>(encoding, packed, count, ElementType::float64);
      for (std::size_t i = 0; i < count; ++i) ASSERT_LE(std::abs(back[i] - values[i]), step / 2 * (1 + 1e-9));
      ASSERT_EQ(pack(encoding, ElementType::float64, back), packed);
      const auto narrow = unpack<float>(encoding, packed, count, ElementType::float32);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(narrow[i], static_cast<float>(back[i]));
    }
  }
}

TEST(ColumnCodec, QuantisedIntegersDecodeToTheDocumentedArithmetic) {
  // integer * ((max - min) / (2^bits - 1)) + min, rounded after each step; a fused multiply-add differs for
  // some.
  const double min = -0.1;
  const double max = 0.7;
  const ColumnEncoding encoding = quantised(8, min, max);
  Bytes packed(256);
  for (unsigned i = 0; i < 256; ++i) packed[i] = static_cast<std::byte>(i);
  const auto values = unpack<double>(encoding, packed, 256, ElementType::float64);
  const double scale = (max - min) / 255.;
  for (unsigned i = 0; i < 256; ++i) {
    volatile double product = i * scale;
    const double sum = product + min;
    EXPECT_EQ(values[i], std::min(sum, max)) << i;
  }
}

TEST(ColumnCodec, DoublesAreWrittenToNarrowColumnsWithRounding) {
  const std::vector<double> values = {0.1, -1e300, 1e-60, 3.5};
  const std::vector<float> floats = {0.1f, -std::numeric_limits<float>::infinity(), 0.f, 3.5f};
  for (const auto type :
       {ColumnType::real32, ColumnType::split_real32, ColumnType::real16, ColumnType::split_real16})
    EXPECT_EQ(pack(of(type), ElementType::float64, values), pack(of(type), ElementType::float32, floats))
        << name_of(type);
  EXPECT_EQ(pack(truncated(20), ElementType::float64, values),
            pack(truncated(20), ElementType::float32, floats));
}

TEST(ColumnCodec, LongPagesAreConvertedInBlocksWithoutSeams) {
  std::vector<double> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 8;
  const std::vector<float> floats(values.begin(), values.end());
  for (const auto& encoding :
       {of(ColumnType::split_real32), of(ColumnType::real32), truncated(23), quantised(17, 0, 625)}) {
    SCOPED_TRACE(name_of(encoding.type));
    const Bytes packed = pack(encoding, ElementType::float64, values);
    EXPECT_EQ(packed, pack(encoding, ElementType::float32, floats));
    const auto narrow = unpack<float>(encoding, packed, values.size(), ElementType::float32);
    const auto wide = unpack<double>(encoding, packed, values.size(), ElementType::float64);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(narrow[i], static_cast<float>(wide[i]));
  }
}

// ---- Conversion

template <class T>
constexpr ElementType element_of() {
  if (std::is_same_v<T, std::int8_t>) return ElementType::int8;
  if (std::is_same_v<T, std::uint8_t>) return ElementType::uint8;
  if (std::is_same_v<T, std::int16_t>) return ElementType::int16;
  if (std::is_same_v<T, std::uint16_t>) return ElementType::uint16;
  if (std::is_same_v<T, std::int32_t>) return ElementType::int32;
  if (std::is_same_v<T, std::uint32_t>) return ElementType::uint32;
  if (std::is_same_v<T, std::int64_t>) return ElementType::int64;
  return ElementType::uint64;
}

// Values around every boundary of every integer type.
template <class From>
std::vector<From> boundary_values() {
  std::vector<From> values;
  for (const int bits : {0, 7, 8, 15, 16, 31, 32, 63})
    for (const std::int64_t offset : {-1, 0, 1}) {
      const std::uint64_t magnitude = (std::uint64_t{1} << bits) + static_cast<std::uint64_t>(offset);
      for (const std::uint64_t value : {magnitude, 0 - magnitude}) {
        const auto narrow = static_cast<From>(value);
        values.push_back(narrow);
      }
    }
  return values;
}

// One value at position 1500, beyond the first block; zeros elsewhere.
template <class From, class To>
void expect_checked(ColumnType type, From value) {
  std::vector<From> values(1600);
  values[1500] = value;
  const Bytes packed = pack(of(type), element_of<From>(), values);
  if (std::in_range<To>(value)) {
    const auto back = unpack<To>(of(type), packed, values.size(), element_of<To>());
    EXPECT_EQ(back[1500], static_cast<To>(value));
    EXPECT_EQ(back[1499], To{0});
    return;
  }
  const Error error = error_of([&] { unpack<To>(of(type), packed, values.size(), element_of<To>()); });
  EXPECT_EQ(error.kind(), ErrorKind::conversion);
  EXPECT_THAT(error.problem(), HasSubstr("element 1500 of the page is " + std::to_string(value) + ","));
  EXPECT_THAT(error.problem(), HasSubstr(std::string(name_of(element_of<To>()))));
}

template <class From, class... To>
void expect_all_checked(ColumnType type) {
  SCOPED_TRACE(name_of(type));
  for (const From value : boundary_values<From>()) (expect_checked<From, To>(type, value), ...);
}

template <class From>
void expect_column_checked(ColumnType type) {
  expect_all_checked<From, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                     std::uint32_t, std::int64_t, std::uint64_t>(type);
}

TEST(ColumnConversion, EveryIntegerColumnIntoEveryIntegerIsBoundsChecked) {
  expect_column_checked<std::int8_t>(ColumnType::int8);
  expect_column_checked<std::uint8_t>(ColumnType::uint8);
  expect_column_checked<std::int16_t>(ColumnType::int16);
  expect_column_checked<std::uint16_t>(ColumnType::uint16);
  expect_column_checked<std::int32_t>(ColumnType::int32);
  expect_column_checked<std::uint32_t>(ColumnType::uint32);
  expect_column_checked<std::int64_t>(ColumnType::int64);
  expect_column_checked<std::uint64_t>(ColumnType::uint64);
  expect_column_checked<std::int16_t>(ColumnType::split_int16);
  expect_column_checked<std::uint16_t>(ColumnType::split_uint16);
  expect_column_checked<std::int32_t>(ColumnType::split_int32);
  expect_column_checked<std::uint32_t>(ColumnType::split_uint32);
  expect_column_checked<std::int64_t>(ColumnType::split_int64);
  expect_column_checked<std::uint64_t>(ColumnType::split_uint64);
}

TEST(ColumnConversion, BooleansAndCharactersReadAsNumbersAndBack) {
  EXPECT_THAT(unpack<std::int64_t>(of(ColumnType::bit), bytes_of({0x05}), 3, ElementType::int64),
              ElementsAre(1, 0, 1));
  EXPECT_THAT(unpack<char>(of(ColumnType::bit), bytes_of({0x02}), 2, ElementType::character),
              ElementsAre(0, 1));
  EXPECT_THAT(unpack<std::int32_t>(of(ColumnType::character), bytes_of({0x61, 0xff}), 2, ElementType::int32),
              ElementsAre(97, -1));
  EXPECT_THAT(unpack<char>(of(ColumnType::int32), bytes_of({0x61, 0, 0, 0}), 1, ElementType::character),
              ElementsAre('a'));
  EXPECT_THAT(
      unpack<std::uint8_t>(of(ColumnType::character), bytes_of({0x00, 0xff}), 2, ElementType::boolean),
      ElementsAre(0, 1));
}

TEST(ColumnConversion, NonZeroIntegersReadAsTrue) {
  EXPECT_THAT(unpack<std::uint8_t>(of(ColumnType::int16), bytes_of({0, 0, 0, 1, 0xff, 0xff}), 3,
                                   ElementType::boolean),
              ElementsAre(0, 1, 1));
  EXPECT_THAT(unpack<std::uint8_t>(of(ColumnType::split_uint64), bytes_of({0, 0, 0, 0, 0, 0, 0, 1}), 1,
                                   ElementType::boolean),
              ElementsAre(1));
}

TEST(ColumnConversion, NegativeCharacterDoesNotFitUnsigned) {
  const Error error = error_of(
      [] { unpack<std::uint8_t>(of(ColumnType::character), bytes_of({0x00, 0xff}), 2, ElementType::uint8); });
  EXPECT_EQ(error.kind(), ErrorKind::conversion);
  EXPECT_EQ(error.problem(), "element 1 of the page is -1, which uint8 (0 to 255) cannot hold");
}

TEST(ColumnConversion, DoublesReadAsFloatsUnlessTheyOverflow) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {0.1, infinity, -infinity, 1e-300, std::nan("")};
  for (const auto type : {ColumnType::real64, ColumnType::split_real64}) {
    const auto floats =
        unpack<float>(of(type), pack(of(type), ElementType::float64, values), 5, ElementType::float32);
    EXPECT_EQ(floats[0], 0.1f);
    EXPECT_EQ(floats[1], std::numeric_limits<float>::infinity());
    EXPECT_EQ(floats[2], -std::numeric_limits<float>::infinity());
    EXPECT_EQ(floats[3], 0.f);
    EXPECT_TRUE(std::isnan(floats[4]));
    const Bytes large = pack<double>(of(type), ElementType::float64, {1., -1e39});
    const Error error = error_of([&] { unpack<float>(of(type), large, 2, ElementType::float32); });
    EXPECT_EQ(error.kind(), ErrorKind::conversion);
    EXPECT_THAT(error.problem(), HasSubstr("element 1 of the page is -1e+39, which float32"));
  }
}

TEST(ColumnConversion, FloatsReadAsDoublesExactly) {
  const std::vector<float> values = {0.1f, -0.f, 1e-45f, 3e38f};
  for (const auto type : {ColumnType::real32, ColumnType::split_real32})
    EXPECT_THAT(
        unpack<double>(of(type), pack(of(type), ElementType::float32, values), 4, ElementType::float64),
        ElementsAre(0.1f, -0.f, 1e-45f, 3e38f));
}

constexpr ElementType all_elements[] = {ElementType::boolean, ElementType::byte,   ElementType::character,
                                        ElementType::int8,    ElementType::uint8,  ElementType::int16,
                                        ElementType::uint16,  ElementType::int32,  ElementType::uint32,
                                        ElementType::int64,   ElementType::uint64, ElementType::float32,
                                        ElementType::float64, ElementType::index,  ElementType::switch_};

TEST(ColumnConversion, ReadingIsAllowedWithinTheFamiliesOfTypes) {
  const auto group = [](ElementType type) {
    if (type == ElementType::byte || type == ElementType::index || type == ElementType::switch_)
      return static_cast<int>(type);
    return type == ElementType::float32 || type == ElementType::float64 ? 101 : 100;
  };
  for (std::uint16_t number = 0; number < column_type_count; ++number) {
    const auto type = static_cast<ColumnType>(number);
    for (const ElementType element : all_elements)
      EXPECT_EQ(can_decode(type, element), group(natural_element(type)) == group(element))
          << name_of(type) << " " << name_of(element);
  }
  EXPECT_FALSE(can_decode(static_cast<ColumnType>(0x1e), ElementType::byte));
}

TEST(ColumnConversion, WritingIsAllowedForTheColumnsOwnTypeAndDoubleToNarrowReals) {
  for (std::uint16_t number = 0; number < column_type_count; ++number) {
    const auto type = static_cast<ColumnType>(number);
    for (const ElementType element : all_elements) {
      const bool narrowing = element == ElementType::float64 && natural_element(type) == ElementType::float32;
      EXPECT_EQ(can_encode(element, type), element == natural_element(type) || narrowing)
          << name_of(type) << " " << name_of(element);
    }
  }
  EXPECT_FALSE(can_encode(ElementType::byte, static_cast<ColumnType>(0x1e)));
}

TEST(ColumnConversion, MemoryImagesAreThePlainColumnsReadAsTheirOwnType) {
  for (std::uint16_t number = 0; number < column_type_count; ++number) {
    const auto type = static_cast<ColumnType>(number);
    const bool plain =
        number >= 1 && number <= 0x0f && type != ColumnType::real16 && type != ColumnType::index32;
    for (const ElementType element : all_elements)
      EXPECT_EQ(is_memory_image(of(type), element), plain && element == natural_element(type))
          << name_of(type) << " " << name_of(element);
  }
  EXPECT_FALSE(is_memory_image({.type = static_cast<ColumnType>(0x1e), .bits = 8}, ElementType::byte));
}

// ---- Errors

TEST(ColumnErrors, IndexAbove32BitsCannotBeWritten) {
  for (const auto type : {ColumnType::index32, ColumnType::split_index32}) {
    const Error error =
        error_of([&] { pack<std::uint64_t>(of(type), ElementType::index, {1, 0xffffffff, 0x100000000}); });
    EXPECT_EQ(error.kind(), ErrorKind::conversion);
    EXPECT_EQ(error.problem(),
              "element 2 of the page is 4294967296, which a 32-bit index column cannot hold");
  }
}

TEST(ColumnErrors, ValueOutsideOfTheQuantisationRangeCannotBeWritten) {
  const double bad[] = {-0.001, 1.001, std::nan(""), std::numeric_limits<double>::infinity()};
  for (const double value : bad) {
    std::vector<double> values(2000, 0.5);
    values[1999] = value;
    const Error error = error_of([&] { pack(quantised(12, 0, 1), ElementType::float64, values); });
    EXPECT_EQ(error.kind(), ErrorKind::conversion);
    EXPECT_THAT(error.problem(), HasSubstr("element 1999 of the page is "));
    EXPECT_THAT(error.problem(), HasSubstr("outside of the column's range 0 to 1"));
  }
  EXPECT_THROW(pack<float>(quantised(12, 0, 1), ElementType::float32, {std::nanf("")}), Error);
}

// Half of all ranges have an end that its nearest float is outside of.
TEST(ColumnCodec, FloatsNearestToTheEndsOfARangeAreThoseEnds) {
  constexpr double pi = 3.14159265358979323846;
  const ColumnEncoding encoding = quantised(20, -pi, pi);
  const std::vector<float> ends = {-static_cast<float>(pi), static_cast<float>(pi)};
  ASSERT_LT(static_cast<double>(ends[0]), encoding.min);
  const Bytes packed = pack(encoding, ElementType::float32, ends);
  std::vector<float> found(2);
  decode(encoding, packed, 2, ElementType::float32, found.data());
  EXPECT_EQ(found, ends);
  EXPECT_THROW(pack<float>(encoding, ElementType::float32, {std::nextafter(ends[1], 4.f)}), Error);
  EXPECT_THROW(pack<double>(encoding, ElementType::float64, {static_cast<double>(ends[1])}), Error);
}

TEST(ColumnErrors, PageOfTheWrongSizeIsRefused) {
  for (std::uint16_t number = 0; number < column_type_count; ++number) {
    ColumnEncoding encoding = of(static_cast<ColumnType>(number));
    encoding.max = 1;
    const ElementType element = natural_element(encoding.type);
    const std::size_t right = packed_size(encoding, 9);
    std::vector<std::uint64_t> memory(18);
    for (const std::size_t wrong : {std::size_t{0}, right - 1, right + 1}) {
      const Bytes packed(wrong);
      const Error error = error_of([&] { decode(encoding, packed, 9, element, memory.data()); });
      EXPECT_EQ(error.kind(), ErrorKind::format) << name_of(encoding.type);
      EXPECT_THAT(error.problem(),
                  HasSubstr(std::to_string(wrong) + " bytes instead of " + std::to_string(right)));
      Bytes target(wrong);
      EXPECT_THROW(encode(encoding, element, memory.data(), 9, target), Error);
    }
  }
}

TEST(ColumnErrors, PageTooLargeToAddressIsRefused) {
  const Error error =
      error_of([] { packed_size(of(ColumnType::real64), std::numeric_limits<std::size_t>::max() / 8); });
  EXPECT_EQ(error.kind(), ErrorKind::format);
  EXPECT_THAT(error.problem(), HasSubstr("too large"));
}

TEST(ColumnErrors, InvalidEncodingsAreRefused) {
  const ColumnEncoding invalid[] = {{.type = static_cast<ColumnType>(0x1e), .bits = 8},
                                    {.type = ColumnType::real32, .bits = 31},
                                    truncated(9),
                                    truncated(32),
                                    quantised(0, 0, 1),
                                    quantised(33, 0, 1),
                                    quantised(8, 1, 1),
                                    quantised(8, 2, 1),
                                    quantised(8, 0, std::numeric_limits<double>::infinity()),
                                    quantised(8, std::nan(""), 1)};
  for (const auto& encoding : invalid) {
    const Bytes packed(packed_size(encoding, 1));
    float value = 0;
    const Error error = error_of([&] { decode(encoding, packed, 1, ElementType::float32, &value); });
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_THAT(error.problem(), HasSubstr("is not allowed"));
  }
}

TEST(ColumnErrors, TypesThatDoNotGoTogetherAreRefused) {
  float real = 0;
  const Error reading =
      error_of([&] { decode(of(ColumnType::int32), Bytes(4), 1, ElementType::float32, &real); });
  EXPECT_EQ(reading.kind(), ErrorKind::type);
  EXPECT_EQ(reading.problem(), "column type Int32 cannot be read into float32 elements");
  Bytes packed(4);
  const std::uint32_t number = 0;
  const Error writing =
      error_of([&] { encode(of(ColumnType::int32), ElementType::uint32, &number, 1, packed); });
  EXPECT_EQ(writing.kind(), ErrorKind::type);
  EXPECT_EQ(writing.problem(), "uint32 elements cannot be written to column type Int32");
}

TEST(ColumnCodec, EmptyPagesNeedNoMemory) {
  for (std::uint16_t number = 0; number < column_type_count; ++number) {
    ColumnEncoding encoding = of(static_cast<ColumnType>(number));
    encoding.max = 1;
    const ElementType element = natural_element(encoding.type);
    EXPECT_EQ(packed_size(encoding, 0), 0u);
    encode(encoding, element, nullptr, 0, {});
    decode(encoding, {}, 0, element, nullptr);
  }
}

}  // namespace
}  // namespace colonnade::codec
