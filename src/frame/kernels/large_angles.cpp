// See large_angles.h.
#include "frame/kernels/large_angles.h"

#include <array>
#include <bit>
#include <cmath>
#include <iterator>

#include "frame/kernels/math_tables.h"

namespace colonnade::frame {
namespace {

constexpr int words = 4;
using Fraction = std::array<std::uint64_t, words>;  // the first word is the highest

// 64 bits of 1/(2 pi), from bit `first` after the binary point on, which may be negative.
std::uint64_t bits_from(int first) {
  const auto word = [](int place) {
    return place < 0 || place >= std::ssize(math_tables::reciprocal_of_turn)
               ? std::uint64_t{0}
               : math_tables::reciprocal_of_turn[place];
  };
  const int place = first >> 6;
  const int shift = first & 63;
  return shift == 0 ? word(place) : word(place) << shift | word(place + 1) >> (64 - shift);
}

// value * factor, without the overflow of the highest word.
Fraction multiply(Fraction value, std::uint64_t factor) {
  __extension__ using Wide = unsigned __int128;
  std::uint64_t carry = 0;
  for (int i = words - 1; i >= 0; --i) {
    const Wide product = Wide{value[i]} * factor + carry;
    value[i] = static_cast<std::uint64_t>(product);
    carry = static_cast<std::uint64_t>(product >> 64);
  }
  return value;
}

Fraction shifted_left(Fraction value, int bits) {
  for (; bits >= 64; bits -= 64) value = {value[1], value[2], value[3], 0};
  if (bits == 0) return value;
  for (int i = 0; i < words; ++i)
    value[i] = value[i] << bits | (i + 1 < words ? value[i + 1] >> (64 - bits) : 0);
  return value;
}

}  // namespace

LargeAngle large_angle(double x) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(std::abs(x));
  const std::uint64_t significand = (bits & 0xfffffffffffff) | 0x10000000000000;
  const int exponent = static_cast<int>(bits >> 52) - 1075;
  Fraction turns;
  for (int i = 0; i < words; ++i) turns[i] = bits_from(exponent + 64 * i);
  turns = multiply(turns, significand);

  auto steps = static_cast<std::int64_t>(turns[0] >> 57);
  Fraction rest = shifted_left(turns, 7);
  const bool beyond_half = (rest[0] >> 63) != 0;
  if (beyond_half) {  // 1 - rest, except for the last bit
    ++steps;
    for (auto& word : rest) word = ~word;
  }
  int zeros = 0;
  while (zeros < 64 * (words - 1) && (rest[0] >> 63) == 0) {
    const int more = rest[0] == 0 ? 63 : std::countl_zero(rest[0]);
    rest = shifted_left(rest, more);
    zeros += more;
  }
  double high = std::ldexp(static_cast<double>(rest[0] >> 11), -53 - zeros);
  const Fraction below = shifted_left(rest, 53);
  double low = std::ldexp(static_cast<double>(below[0] >> 11), -106 - zeros);
  if (beyond_half != (x < 0)) {
    high = -high;
    low = -low;
  }
  return {x < 0 ? -steps : steps, high, low};
}

}  // namespace colonnade::frame
