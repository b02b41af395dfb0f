// ExactSum: the sum of doubles, or of products of a few doubles, rounded only at the end.
//
// The sum is a fixed-point number that spans the exponents of doubles, in chunks of 32 bits with room for
// carries (R. Neal, "Fast exact summation using small and large superaccumulators", 2015). The result has the
// same bits for any order and partition of the terms; it is the true sum, rounded once. Infinities and NaN
// propagate as in ordinary sums.
#ifndef COLONNADE_FRAME_RESULTS_EXACT_SUM_H
#define COLONNADE_FRAME_RESULTS_EXACT_SUM_H

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace colonnade::frame {

// 128-bit integers, which GCC and Clang have on all 64-bit machines.
__extension__ using Int128 = __int128;
__extension__ using Wide = unsigned __int128;

// A number as a sum of doubles, the largest first.
using Parts = std::array<double, 3>;

// For terms with at most `factors` factors.
template <int factors>
class ExactSum {
 public:
  void add(double x) { add_product(x); }

  // a * b * ..
  template <class... More>
  void add_product(double first, More... more) {
    static_assert(sizeof...(More) < factors);
    const Term a(first);
    if constexpr (sizeof...(More) == 0) {
      if (!a.finite) return add_special(first);
      add_bits(a.negative, a.position + 1074 * (factors - 1), {a.mantissa});
    } else {
      if (!a.finite || (!Term(more).finite || ...)) return add_special((first * ... * more));
      multiply_and_add(a, Term(more)...);
    }
  }

  // Adds number * 2^exponent, which must be neither below the smallest double nor far above the largest.
  void add_scaled(Int128 number, int exponent) {
    const bool negative = number < 0;
    const Wide size = negative ? Wide{0} - static_cast<Wide>(number) : static_cast<Wide>(number);
    add_bits(negative, static_cast<unsigned>(exponent + 1074 * factors),
             {static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(size >> 64), 0});
  }
  // number * 2^exponent rounded once.
  static double rounded(Int128 number, int exponent) {
    if (number == 0) return 0;
    const bool negative = number < 0;
    const double size =
        round(negative ? Wide{0} - static_cast<Wide>(number) : static_cast<Wide>(number), exponent, false);
    return negative ? -size : size;
  }

  void add(const ExactSum& other) {
    settle();
    ExactSum settled = other;
    settled.settle();
    for (std::size_t i = 0; i < chunks; ++i) chunk_[i] += settled.chunk_[i];
    added_ = 1;
    special_ |= other.special_;
  }

  double value() const {
    if (special_ != 0) return special_value();
    ExactSum settled = *this;
    return settled.rounded();
  }
  // The sum to three times the precision of a double.
  Parts parts() const {
    Parts parts{};
    ExactSum rest = *this;
    for (double& part : parts) {
      part = rest.value();
      if (part == 0 || !std::isfinite(part)) break;
      rest.add(-part);
    }
    return parts;
  }

  // The sum times 2^(32 * by), without bits below the smallest product of `factors` doubles.
  ExactSum shifted(int by) const {
    ExactSum size = *this;
    const bool negative = size.make_positive();
    ExactSum made;
    for (int i = 0; i < static_cast<int>(chunks); ++i) {
      const int from = i - by;
      if (from < 0 || from >= static_cast<int>(chunks)) continue;
      const std::int64_t chunk = size.chunk_[static_cast<std::size_t>(from)];
      made.chunk_[static_cast<std::size_t>(i)] = negative ? -chunk : chunk;
    }
    made.special_ = special_;
    return made;
  }
  // That of a power of two above the magnitude, which is at most 2^32 times as large; 0 for a sum of 0.
  int exponent() const {
    ExactSum size = *this;
    size.make_positive();
    const std::size_t used = size.used_chunks();
    return used == 0 ? 0 : static_cast<int>(32 * used) + least_exponent;
  }

  bool is_sum_of(const Parts& parts) const {
    ExactSum rest = *this;
    for (const double part : parts) rest.add(-part);
    return rest.is_zero();
  }
  bool is_zero() const {
    const auto all = settled();
    return special_ == 0 && std::ranges::all_of(all, [](std::int64_t chunk) { return chunk == 0; });
  }

  // The state as numbers; the same for equal sums.
  static constexpr int least_exponent = -1074 * factors;
  static constexpr std::size_t chunks = (2098 * factors + 64) / 32 + 3;
  std::array<std::int64_t, chunks> settled() const {
    ExactSum copy = *this;
    copy.settle();
    return copy.chunk_;
  }
  std::uint8_t special() const noexcept { return special_; }
  // Chunks must come from settled(): less than 2^32 in magnitude.
  static ExactSum from(std::span<const std::int64_t, chunks> settled, std::uint8_t special) {
    ExactSum sum;
    for (std::size_t i = 0; i < chunks; ++i) sum.chunk_[i] = settled[i];
    sum.special_ = special;
    sum.added_ = 1;
    return sum;
  }

 private:
  // mantissa * 2^(position - 1074)
  struct Term {
    explicit Term(double x) {
      const auto bits = std::bit_cast<std::uint64_t>(x);
      const auto exponent = static_cast<unsigned>(bits >> 52) & 0x7ff;
      negative = (bits >> 63) != 0;
      finite = exponent != 0x7ff;
      mantissa = bits & 0xfffffffffffffu;
      if (exponent != 0) mantissa |= std::uint64_t{1} << 52;
      position = exponent == 0 ? 0 : exponent - 1;
    }
    std::uint64_t mantissa = 0;
    unsigned position = 0;
    bool negative = false;
    bool finite = true;
  };
  static constexpr std::uint8_t nan_seen = 1, plus_seen = 2, minus_seen = 4;
  // Every term adds less than 2^53 to a chunk.
  static constexpr unsigned most_added = 1000;

  void multiply_and_add(const Term& a, const Term& b) {
    const Wide product = Wide{a.mantissa} * b.mantissa;
    add_bits(a.negative != b.negative, a.position + b.position + 1074 * (factors - 2),
             {static_cast<std::uint64_t>(product), static_cast<std::uint64_t>(product >> 64)});
  }
  void multiply_and_add(const Term& a, const Term& b, const Term& c) {
    const Wide product = Wide{a.mantissa} * b.mantissa;
    const Wide low = Wide{static_cast<std::uint64_t>(product)} * c.mantissa;
    const Wide high = (product >> 64) * c.mantissa + (low >> 64);
    add_bits((a.negative != b.negative) != c.negative,
             a.position + b.position + c.position + 1074 * (factors - 3),
             {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high),
              static_cast<std::uint64_t>(high >> 64)});
  }

  // Adds a number of 64 * words bits, of which the upper 11 are empty, at a bit position.
  template <std::size_t words>
  void add_bits(bool negative, unsigned position, const std::uint64_t (&bits)[words]) {
    if (++added_ > most_added) settle();
    const std::int64_t sign = -static_cast<std::int64_t>(negative);
    std::int64_t* to = &chunk_[position / 32];
    const unsigned shift = position % 32;
    std::uint64_t left = 0;  // of the previous word, less than 2^53
    for (std::size_t i = 0; i < words; ++i) {
      const Wide shifted = (Wide{bits[i]} << shift) + left;
      put(*to++, static_cast<std::uint64_t>(shifted) & 0xffffffffu, sign);
      left = static_cast<std::uint64_t>(shifted >> 32);
      if (i + 1 < words) {
        put(*to++, left & 0xffffffffu, sign);
        left >>= 32;
      }
    }
    put(*to, left, sign);
  }
  static void put(std::int64_t& chunk, std::uint64_t value, std::int64_t sign) {
    chunk += (static_cast<std::int64_t>(value) ^ sign) - sign;
  }

  void add_special(double x) { special_ |= std::isnan(x) ? nan_seen : x > 0 ? plus_seen : minus_seen; }
  double special_value() const {
    if (special_ == plus_seen) return std::numeric_limits<double>::infinity();
    if (special_ == minus_seen) return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }

  // Propagates carries: every chunk but the last is in [0, 2^32), the last one has the sign.
  void settle() {
    std::int64_t carry = 0;
    for (std::size_t i = 0; i + 1 < chunks; ++i) {
      const std::int64_t sum = chunk_[i] + carry;
      chunk_[i] = sum & 0xffffffff;
      carry = sum >> 32;
    }
    chunk_[chunks - 1] += carry;
    added_ = 1;
  }

  // Settles the magnitude of the sum; whether it was negative.
  bool make_positive() {
    settle();
    const bool negative = chunk_[chunks - 1] < 0;
    if (negative) {
      for (std::int64_t& chunk : chunk_) chunk = -chunk;
      settle();
    }
    return negative;
  }
  std::size_t used_chunks() const {
    std::size_t top = chunks;
    while (top > 0 && chunk_[top - 1] == 0) --top;
    return top;
  }

  double rounded() {
    const bool negative = make_positive();
    const std::size_t top = used_chunks();
    if (top == 0) return 0;
    // The upper 96 bits or so, with a sticky bit for all below, rounded to a double in one step.
    Wide bits = 0;
    const std::size_t low = top > 3 ? top - 3 : 0;
    for (std::size_t i = top; i > low; --i) bits = (bits << 32) | static_cast<std::uint64_t>(chunk_[i - 1]);
    bool sticky = false;
    for (std::size_t i = 0; i < low; ++i) sticky = sticky || chunk_[i] != 0;
    const double size = round(bits, static_cast<int>(32 * low) + least_exponent, sticky);
    return negative ? -size : size;
  }

  // bits * 2^exponent to the nearest double, ties to even; also for denormal results.
  static double round(Wide bits, int exponent, bool sticky) {
    const auto high = static_cast<std::uint64_t>(bits >> 64);
    const int width =
        high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(bits));
    int drop = width - 53;
    if (exponent + drop < -1074) drop = -1074 - exponent;
    if (drop <= 0) return std::ldexp(static_cast<double>(static_cast<std::uint64_t>(bits)), exponent);
    if (drop > 127) return 0;
    auto kept = static_cast<std::uint64_t>(bits >> drop);
    const Wide rest = bits & ((Wide{1} << drop) - 1);
    const Wide half = Wide{1} << (drop - 1);
    if (rest > half || (rest == half && (sticky || (kept & 1) != 0))) ++kept;
    return std::ldexp(static_cast<double>(kept), exponent + drop);
  }

  std::array<std::int64_t, chunks> chunk_{};
  unsigned added_ = 0;  // since the last carry propagation
  std::uint8_t special_ = 0;
};

}  // namespace colonnade::frame

#endif
