// Vectors of numbers with twice a double's precision: the sum of a double and another one smaller than half a
// unit in its last place. All operations consist of additions and products that are exact or rounded once, so
// that they give the same bits on every processor; a fused multiply-add, if available, computes the same
// exact errors in fewer steps. Included once per instruction set.
#if defined(COLONNADE_FRAME_KERNELS_DOUBLE_DOUBLE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COLONNADE_FRAME_KERNELS_DOUBLE_DOUBLE_INL_H
#undef COLONNADE_FRAME_KERNELS_DOUBLE_DOUBLE_INL_H
#else
#define COLONNADE_FRAME_KERNELS_DOUBLE_DOUBLE_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace colonnade::frame::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;
using M = hn::Mask<D>;
constexpr std::size_t lanes = hn::MaxLanes(D{});

HWY_INLINE V set(double value) {
  return hn::Set(D{}, value);
}
HWY_INLINE VI set_bits(std::int64_t value) {
  return hn::Set(DI{}, value);
}
HWY_INLINE VI bits_of(V x) {
  return hn::BitCast(DI{}, x);
}
HWY_INLINE V from_bits(VI x) {
  return hn::BitCast(D{}, x);
}
HWY_INLINE V select(M mask, V yes, V no) {
  return hn::IfThenElse(mask, yes, no);
}
HWY_INLINE V smaller(V a, V limit) {
  return select(hn::Lt(a, limit), a, limit);
}  // the limit for NaN
HWY_INLINE V larger(V a, V limit) {
  return select(hn::Gt(a, limit), a, limit);
}

struct DD {
  V hi;
  V lo;
};

HWY_INLINE DD set(const double (&pair)[2]) {
  return {set(pair[0]), set(pair[1])};
}
HWY_INLINE DD select(M mask, DD yes, DD no) {
  return {select(mask, yes.hi, no.hi), select(mask, yes.lo, no.lo)};
}
HWY_INLINE DD negate(DD x) {
  return {hn::Neg(x.hi), hn::Neg(x.lo)};
}
// Multiplies by a power of two.
HWY_INLINE DD scale(DD x, V factor) {
  return {x.hi * factor, x.lo * factor};
}

// a + b exactly, |a| >= |b| or a = 0.
HWY_INLINE DD sum_of_ordered(V a, V b) {
  const V sum = a + b;
  return {sum, b - (sum - a)};
}
// a + b exactly.
HWY_INLINE DD sum(V a, V b) {
  const V sum = a + b;
  const V of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
// a * b exactly, unless it or its parts over- or underflow.
HWY_INLINE DD product(V a, V b) {
  const V product = a * b;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
  return {product, hn::MulSub(a, b, product)};
#else
  // Dekker: the halves of a double have exact products.
  const V split = set(0x1p27 + 1);
  const V scaled_a = split * a;
  const V scaled_b = split * b;
  const V high_a = scaled_a - (scaled_a - a);
  const V high_b = scaled_b - (scaled_b - b);
  const V low_a = a - high_a;
  const V low_b = b - high_b;
  return {product, ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b};
#endif
}

// a * a exactly, within the same range.
HWY_INLINE DD square_of(V a) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
  return product(a, a);
#else
  const V square = a * a;
  const V scaled = set(0x1p27 + 1) * a;
  const V high = scaled - (scaled - a);
  const V low = a - high;
  return {square, ((high * high - square) + (high + high) * low) + low * low};
#endif
}

// The upper 26 bits of each number; the remainder has 27 and a sign.
HWY_INLINE V first_half(V x) {
  return from_bits(hn::And(bits_of(x), set_bits(-(std::int64_t{1} << 27))));
}
// To about 78 bits, in fewer steps than the exact product without fused multiply-add.
HWY_INLINE DD almost_product(V a, V b) {
  const V half_a = first_half(a);
  const V half_b = first_half(b);
  return {half_a * half_b, half_a * (b - half_b) + (a - half_a) * b};
}
// Multiplies by a constant of 26 bits and a remainder.
HWY_INLINE DD multiply_split(DD a, const double (&split)[2]) {
  const V half = first_half(a.hi);
  return {half * set(split[0]),
          (a.hi - half) * set(split[0]) + (a.hi * set(split[1]) + a.lo * set(split[0]))};
}

HWY_INLINE DD add(DD a, V b) {
  const DD s = sum(a.hi, b);
  return sum_of_ordered(s.hi, s.lo + a.lo);
}
HWY_INLINE DD add(DD a, DD b) {
  const DD s = sum(a.hi, b.hi);
  return sum_of_ordered(s.hi, s.lo + (a.lo + b.lo));
}
HWY_INLINE DD subtract(DD a, DD b) {
  return add(a, negate(b));
}
HWY_INLINE DD multiply(DD a, V b) {
  const DD p = product(a.hi, b);
  return sum_of_ordered(p.hi, p.lo + a.lo * b);
}
HWY_INLINE DD multiply(DD a, DD b) {
  const DD p = product(a.hi, b.hi);
  return sum_of_ordered(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
// a / b to single precision, which suffices for the remainder of a quotient or a root. For numbers from
// 2^-120 to 2^120; smaller ones count as 0.
HWY_INLINE V rough_quotient(V a, V b) {
  const hn::Rebind<float, D> floats;
  return hn::PromoteTo(D{}, hn::DemoteTo(floats, a) / hn::DemoteTo(floats, b));
}
// The first is the nearest double to the quotient, or its neighbour.
struct Quotient {
  V first;
  V rest;  // to be divided by the divisor again
};
HWY_INLINE Quotient begin_division(DD a, DD b) {
  const V first = a.hi / b.hi;
  const DD p = product(first, b.hi);
  return {first, ((a.hi - p.hi) - p.lo) + (a.lo - first * b.lo)};
}
// To about 76 bits of the quotient, for the range of rough_quotient().
HWY_INLINE DD divide(DD a, DD b) {
  const Quotient q = begin_division(a, b);
  return {q.first, rough_quotient(q.rest, b.hi)};
}
// To 100 bits.
HWY_INLINE DD divide_precisely(DD a, DD b) {
  const Quotient q = begin_division(a, b);
  return {q.first, q.rest / b.hi};
}
// For 0 and numbers from 2^-120 to 2^120. The first is the root of a.hi.
HWY_INLINE DD square_root(DD a) {
  const V first = hn::Sqrt(a.hi);
  const V half = first_half(first);
  const V rest = ((a.hi - half * half) - (first - half) * (first + half)) + a.lo;
  const M is_zero = hn::Eq(first, hn::Zero(D{}));
  return {first, rough_quotient(rest, select(is_zero, set(1), first + first))};
}

// x / 2^bits, rounded down; |x| < 2^62. Few instruction sets can shift signed 64-bit integers.
template <int bits>
HWY_INLINE VI shift_down(VI x) {
  constexpr std::int64_t above = std::int64_t{1} << 62;
  using DU = hn::RebindToUnsigned<D>;
  const auto shifted = hn::ShiftRight<bits>(hn::BitCast(DU{}, x + set_bits(above)));
  return hn::BitCast(DI{}, shifted) - set_bits(above >> bits);
}
// |x| < 2^50
HWY_INLINE V to_double(VI x) {
  return from_bits(x + bits_of(set(0x1.8p52))) - set(0x1.8p52);
}

// The e with 2^e <= x < 2^(e+1), for positive normal numbers.
HWY_INLINE VI exponent_of(V x) {
  return shift_down<52>(bits_of(x) - set_bits(std::int64_t{1023} << 52));
}

// 2^exponent, -1022 <= exponent <= 1023.
HWY_INLINE V power_of_two(VI exponent) {
  return from_bits(hn::ShiftLeft<52>(exponent + set_bits(1023)));
}
// x * 2^exponent, -2044 <= exponent <= 2046.
HWY_INLINE V scale_by(V x, VI exponent) {
  const VI half = shift_down<1>(exponent);
  return x * power_of_two(half) * power_of_two(exponent - half);
}

// To the nearest integer, as a double and as an integer; |x| < 2^50.
struct Rounded {
  V number;
  VI integer;
};
HWY_INLINE Rounded round(V x) {
  const V shift = set(0x1.8p52);
  const V shifted = x + shift;
  return {shifted - shift, bits_of(shifted) - bits_of(shift)};
}

HWY_INLINE V gather(const double* table, VI index) {
  return hn::GatherIndex(D{}, table, index);
}
// Rows of a table, one per lane: pairs of neighbours are loaded together, which is faster than gathering
// single numbers.
class Rows {
 public:
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  HWY_INLINE Rows(const double* table, VI places) : table_(table), places_(places) {}
  HWY_INLINE DD pair(int column) const {
    return {gather(table_ + column, places_), gather(table_ + column + 1, places_)};
  }

 private:
  const double* table_;
  VI places_;
#else
  HWY_INLINE Rows(const double* table, VI places) : table_(table) { hn::StoreU(places, DI{}, places_); }
  // Numbers `column` and `column + 1` of each row.
  HWY_INLINE DD pair(int column) const {
#if HWY_MAX_BYTES == 16
    const V even = at(column, 0);
    const V odd = at(column, 1);
#elif HWY_MAX_BYTES == 32
    const V even = two_of(column, 0);
    const V odd = two_of(column, 1);
#else
    const V even = hn::Combine(D{}, two_of(column, 4), two_of(column, 0));
    const V odd = hn::Combine(D{}, two_of(column, 5), two_of(column, 1));
#endif
    return {hn::InterleaveLower(D{}, even, odd), hn::InterleaveUpper(D{}, even, odd)};
  }

 private:
  using Pair = hn::Full128<double>;
  HWY_INLINE hn::Vec<Pair> at(int column, std::size_t lane) const {
    return hn::LoadU(Pair{}, table_ + column + places_[lane]);
  }
#if HWY_MAX_BYTES > 16
  HWY_INLINE hn::Vec<hn::Full256<double> > two_of(int column, std::size_t lane) const {
    return hn::Combine(hn::Full256<double>{}, at(column, lane + 2), at(column, lane));
  }
#endif

  const double* table_;
  std::int64_t places_[lanes];
#endif
};
HWY_INLINE DD load_pair(const double* table, VI place) {
  return Rows(table, place).pair(0);
}
HWY_INLINE DD gather_pair(const double* table, VI index) {
  return load_pair(table, index + index);
}

template <std::size_t count>
HWY_INLINE V polynomial(V x, const double (&coefficients)[count]) {
  V value = set(coefficients[count - 1]);
  for (std::size_t i = count - 1; i-- > 0;) value = value * x + set(coefficients[i]);
  return value;
}

// The series of a row of the table: coefficients 0 and 1 are pairs.
template <int degree>
HWY_INLINE DD series(const double* table, VI row, DD x) {
  constexpr int size = degree + 3;
  VI place = hn::Zero(DI{});
  for (int bit = 0; bit < 5; ++bit)
    if ((size >> bit & 1) != 0) place = place + hn::ShiftLeftSame(row, bit);
  // Coefficients come in pairs, except possibly the last one.
  const Rows rows(table, place);
  constexpr bool is_alone = degree % 2 == 0;
  V rest = is_alone ? rows.pair(size - 2).lo : hn::Zero(D{});
  for (int i = is_alone ? degree - 2 : degree - 1; i >= 2; i -= 2) {
    const DD pair = rows.pair(i + 2);
    rest = (rest * x.hi + pair.lo) * x.hi + pair.hi;
  }
  const DD start = rows.pair(0);
  const DD slopes = rows.pair(2);
  const V slope = slopes.hi;
  const DD linear = product(slope, x.hi);
  const DD s = sum(start.hi, linear.hi);
  const V low = (linear.lo + start.lo) + (slope * x.lo + slopes.lo * x.hi);
  return sum_of_ordered(s.hi, s.lo + (low + x.hi * x.hi * rest));
}

// The same NaN on every processor.
HWY_INLINE V finish(V x) {
  return select(hn::Eq(x, x), x, from_bits(set_bits(0x7ff8000000000000)));
}
HWY_INLINE V not_a_number() {
  return from_bits(set_bits(0x7ff8000000000000));
}
HWY_INLINE V infinity() {
  return from_bits(set_bits(0x7ff0000000000000));
}

}  // namespace colonnade::frame::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
