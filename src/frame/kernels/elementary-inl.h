// Exponentials, logarithms, powers, roots and trigonometry of vectors: each is computed to about 60 bits and
// rounded once.
//
// Arguments are reduced to the vicinity of a table point, where a short polynomial suffices. Large terms of a
// sum are pairs (double_double-inl.h), small ones doubles. Included once per instruction set.
#if defined(COLONNADE_FRAME_KERNELS_ELEMENTARY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COLONNADE_FRAME_KERNELS_ELEMENTARY_INL_H
#undef COLONNADE_FRAME_KERNELS_ELEMENTARY_INL_H
#else
#define COLONNADE_FRAME_KERNELS_ELEMENTARY_INL_H
#endif

#include <cmath>
#include <utility>

#include "frame/kernels/double_double-inl.h"
#include "frame/kernels/large_angles.h"
#include "frame/kernels/math_tables.h"

HWY_BEFORE_NAMESPACE();
namespace colonnade::frame::HWY_NAMESPACE {

namespace tables = math_tables;

// ---- Exponentials

// value * 2^exponent; value - 1 is accurate if the exponent is 0 and value close to 1.
struct Scaled {
  DD value;
  DD above_one;
  VI exponent;
  M has_above_one;
};

// exp(r) * 2^(steps/128), |r| <= ln(2)/256.
HWY_INLINE Scaled exponential_near(DD r, VI steps) {
  static constexpr double coefficients[] = {1 / 2., 1 / 6., 1 / 24., 1 / 120., 1 / 720.};
  const V curved = r.hi * r.hi * polynomial(r.hi, coefficients);
  const DD u = sum_of_ordered(r.hi, r.lo + curved);
  const VI entry = hn::And(steps, set_bits(127));
  const DD t = gather_pair(tables::exponentials, entry);
  const DD p = product(t.hi, u.hi);
  const DD s = sum_of_ordered(t.hi, p.hi);
  const V low = s.lo + (p.lo + (t.lo + (t.hi * u.lo + t.lo * u.hi)));
  return {sum_of_ordered(s.hi, low), u, shift_down<7>(steps),
          hn::RebindMask(D{}, hn::Eq(steps, hn::Zero(DI{})))};
}

// exp(x), |x| < 1000.
HWY_INLINE Scaled exponential(DD x) {
  const Rounded k = round(x.hi * set(128 * tables::reciprocal_ln2[0]));
  const V r = x.hi - k.number * set(tables::ln2_128[0]);
  // If the second number is the larger one, both are negligible.
  const DD s = sum_of_ordered(r, hn::Neg(k.number * set(tables::ln2_128[1])));
  const V low = s.lo + (x.lo - k.number * set(tables::ln2_128[2]));
  return exponential_near(sum_of_ordered(s.hi, low), k.integer);
}

HWY_INLINE V within(V x, double least, double most) {
  return smaller(larger(x, set(least)), set(most));
}
// x itself if it is NaN, otherwise the result.
HWY_INLINE V keep_nan(V x, V result) {
  return select(hn::Eq(x, x), result, x);
}

// The same without terms far below the last place: a number in [1/2, 4), and the missing exponent as
// steps.
struct Brief {
  V value;
  VI steps;
};
HWY_INLINE Brief brief_exponential_near(V r, VI steps) {
  static constexpr double coefficients[] = {1 / 2., 1 / 6., 1 / 24., 1 / 120., 1 / 720.};
  const V u = r + r * r * polynomial(r, coefficients);
  const DD t = gather_pair(tables::exponentials, hn::And(steps, set_bits(127)));
  return {t.hi + (t.lo + t.hi * u), steps};
}
// exp(x) of a pair whose second number may be large.
HWY_INLINE Brief brief_exponential(DD x) {
  const Rounded k = round((x.hi + x.lo) * set(128 * tables::reciprocal_ln2[0]));
  const V r =
      (x.hi - k.number * set(tables::ln2_128_split[0])) + (x.lo - k.number * set(tables::ln2_128_split[1]));
  return brief_exponential_near(r, k.integer);
}
// Only if the result is a normal number.
HWY_INLINE V in_range(Brief e) {
  return from_bits(bits_of(e.value) + hn::ShiftLeft<45>(hn::AndNot(set_bits(127), e.steps)));
}
HWY_INLINE V of_any_size(Brief e) {
  return scale_by(e.value, shift_down<7>(e.steps));
}

struct Exp {
  static HWY_INLINE V run(V x) {
    const M ordinary = hn::Lt(hn::Abs(x), set(700));
    if (HWY_LIKELY(hn::AllTrue(D{}, ordinary))) return in_range(brief_exponential({x, hn::Zero(D{})}));
    return keep_nan(x, of_any_size(brief_exponential({within(x, -760, 720), hn::Zero(D{})})));
  }
};

struct Exp2 {
  static HWY_INLINE Brief near(V x) {
    const Rounded k = round(x * set(128));
    return brief_exponential_near((x - k.number * set(1 / 128.)) * set(tables::ln2[0]), k.integer);
  }
  static HWY_INLINE V run(V x) {
    const M ordinary = hn::Lt(hn::Abs(x), set(1020));
    if (HWY_LIKELY(hn::AllTrue(D{}, ordinary))) return in_range(near(x));
    return keep_nan(x, of_any_size(near(within(x, -1100, 1100))));
  }
};

HWY_INLINE V rounded(DD x) {
  return x.hi + x.lo;
}

// exp(x) - 1 for |x| < 40.
HWY_INLINE DD exponential_above_one(DD x) {
  const Scaled e = exponential(x);
  const DD far = add(scale(e.value, power_of_two(e.exponent)), set(-1));
  return select(e.has_above_one, e.above_one, far);
}

// Close to 0 the function equals x, including its sign.
HWY_INLINE V or_itself(V x, double below, V result) {
  return select(hn::Lt(hn::Abs(x), set(below)), x, result);
}

struct Expm1 {
  static HWY_INLINE V run(V x) {
    const Scaled e = exponential({within(x, -50, 720), set(0)});
    // Beyond 2^64 the 1 is negligible.
    const M is_large = hn::Gt(x, set(45));
    const VI exponent = hn::IfThenElse(hn::RebindMask(DI{}, is_large), hn::Zero(DI{}), e.exponent);
    const DD far = add(scale(e.value, power_of_two(exponent)), set(-1));
    const DD near = select(e.has_above_one, e.above_one, far);
    return keep_nan(x, or_itself(x, 0x1p-55, select(is_large, scale_by(e.value.hi, e.exponent), near.hi)));
  }
};

// (exp(a) + sign * exp(-a)) / 2, with the sign of the difference kept separately; for a up to 40, beyond that
// exp(a)/2.
struct Sinh {
  static HWY_INLINE V run(V x) {
    const V a = smaller(hn::Abs(x), set(720));
    const Scaled e = exponential({a, set(0)});
    const M is_large = hn::Gt(a, set(40));
    const VI exponent = hn::IfThenElse(hn::RebindMask(DI{}, is_large), hn::Zero(DI{}), e.exponent);
    const DD whole = scale(e.value, power_of_two(exponent));
    const DD u = select(e.has_above_one, e.above_one, add(whole, set(-1)));
    const DD twice = add(u, divide(u, whole));
    const V large = scale_by(e.value.hi, e.exponent - set_bits(1));
    const V size = select(is_large, large, twice.hi * set(0.5));
    return keep_nan(x, or_itself(x, 0x1p-28, hn::CopySign(size, x)));
  }
};

struct Cosh {
  static HWY_INLINE V run(V x) {
    const V a = smaller(hn::Abs(x), set(720));
    const Scaled e = exponential({a, set(0)});
    const M is_large = hn::Gt(a, set(40));
    const VI exponent = hn::IfThenElse(hn::RebindMask(DI{}, is_large), hn::Zero(DI{}), e.exponent);
    const DD whole = scale(e.value, power_of_two(exponent));
    const DD twice = add(whole, divide({set(1), set(0)}, whole));
    return keep_nan(x, select(is_large, scale_by(e.value.hi, e.exponent - set_bits(1)), twice.hi * set(0.5)));
  }
};

struct Tanh {
  static HWY_INLINE V run(V x) {
    const V a = smaller(hn::Abs(x), set(20));
    const DD u = exponential_above_one({a + a, set(0)});
    const DD quotient = divide(u, add(u, set(2)));
    return keep_nan(x, or_itself(x, 0x1p-28, hn::CopySign(rounded(quotient), x)));
  }
};

// ---- Logarithms

// x = 2^exponent * (1 + r) * c; the row has 1/c and log(c). r is exact, its second number small.
struct Reduced {
  V exponent;
  DD r;
  VI row;
  V log_of_row;
};

// Knowledge about the second number of an argument: zero; small relative to the first one's distance from 1;
// or nothing.
enum class Low : std::uint8_t { none, small, any };

// For numbers in [2^-1000, infinity).
template <Low kind = Low::small>
HWY_INLINE Reduced reduce(DD x) {
  constexpr std::int64_t first = 0x3fe6900000000000;
  constexpr std::int64_t one = 0x3ff0000000000000;
  using DU = hn::RebindToUnsigned<D>;
  const VI bits = bits_of(x.hi);
  const VI above = bits - set_bits(first);
  const VI whole = hn::And(above, set_bits(-(std::int64_t{1} << 52)));
  const V significand = from_bits(bits - whole);
  const auto biased = hn::ShiftRight<52>(hn::BitCast(DU{}, bits + set_bits(one - first)));
  const V exponent = from_bits(hn::Or(hn::BitCast(DI{}, biased), bits_of(set(0x1p52)))) - set(0x1p52 + 1023);
  const auto shifted = hn::ShiftRight<43>(hn::BitCast(DU{}, above));
  const VI row = hn::And(hn::BitCast(DI{}, shifted), set_bits(127 << 2));
  const DD found = load_pair(tables::logarithms, row);
  const V half = first_half(significand);
  const V large = half * found.hi - set(1);
  const V small = (significand - half) * found.hi;
  const V sum_of_both = large + small;
  DD r = {sum_of_both, (large - sum_of_both) + small};
  if constexpr (kind != Low::none) {
    const V factor = from_bits(set_bits(one) - whole) * found.hi;
    // Beyond 2^1000 the factor may be NaN or infinite.
    const V low = select(hn::Lt(x.hi, set(0x1p1000)), x.lo * factor, hn::Zero(D{}));
    if constexpr (kind == Low::small) {
      // log(1 + r + low) is log(1 + r) plus log(1 + low / (1 + r)), almost the quotient.
      r.lo = r.lo + (low - low * r.hi);
    } else {
      const DD with_low = sum(r.hi, low);
      r = {with_low.hi, with_low.lo + r.lo};
    }
  }
  return {exponent, r, row, found.lo};
}

// log(1 + r) = r + r^2 (...)
HWY_INLINE V bend_of_logarithm(V r) {
  static constexpr double coefficients[] = {-1 / 2., 1 / 3., -1 / 4., 1 / 5., -1 / 6., 1 / 7.};
  return r * r * polynomial(r, coefficients);
}
// log(x), to a few hundredths of the last place.
HWY_INLINE DD natural(const Reduced& x) {
  const DD s = sum_of_ordered(x.exponent * set(tables::ln2_split[0]), x.log_of_row);
  const DD t = sum_of_ordered(s.hi, x.r.hi);
  return {t.hi,
          (x.exponent * set(tables::ln2_split[1]) + s.lo) + (t.lo + (x.r.lo + bend_of_logarithm(x.r.hi)))};
}
// The same, to about 68 bits.
HWY_INLINE DD precise_natural(const Reduced& x) {
  static constexpr double coefficients[] = {1 / 3., -1 / 4., 1 / 5., -1 / 6.,
                                            1 / 7., -1 / 8., 1 / 9., -1 / 10.};
  const V r = x.r.hi;
  const V half = first_half(r);
  const V square = half * half;
  const V rest_of_square = (r - half) * (r + half) + set(2) * (r * x.r.lo);
  const V cubic = r * (square + rest_of_square) * polynomial(r, coefficients);
  const DD fraction = sum_of_ordered(r, set(-0.5) * square);
  const V rest = fraction.lo + ((x.r.lo - set(0.5) * rest_of_square) + cubic);
  const DD s = sum_of_ordered(x.exponent * set(tables::ln2_split[0]), x.log_of_row);
  const DD t = sum_of_ordered(s.hi, fraction.hi);
  const V below = gather(tables::logarithms + 2, x.row);
  const V low = (t.lo + s.lo) + (below + (x.exponent * set(tables::ln2_split[1]) + rest));
  return sum_of_ordered(t.hi, low);
}

HWY_INLINE V usable(V x);
HWY_INLINE V at_ends(V x, V result);

// Calls `logarithm` with the reduced form of any number.
template <class Logarithm>
HWY_INLINE V of_any_size(V x, Logarithm&& logarithm) {
  const M ordinary = hn::And(hn::Ge(x, set(0x1p-1000)), hn::Lt(x, infinity()));
  if (HWY_LIKELY(hn::AllTrue(D{}, ordinary))) return logarithm(reduce<Low::none>({x, hn::Zero(D{})}));
  const V number = usable(x);
  const M is_tiny = hn::Lt(number, set(0x1p-1000));
  Reduced reduced = reduce<Low::none>({select(is_tiny, number * set(0x1p100), number), hn::Zero(D{})});
  reduced.exponent = select(is_tiny, reduced.exponent - set(100), reduced.exponent);
  return at_ends(x, logarithm(reduced));
}

// The results of every logarithm for 0, negative numbers, infinity and NaN.
HWY_INLINE V at_ends(V x, V result) {
  result = select(hn::Gt(x, hn::Zero(D{})), result, not_a_number());
  result = select(hn::Eq(x, hn::Zero(D{})), hn::Neg(infinity()), result);
  return select(hn::Eq(x, infinity()), x, result);
}
// A harmless replacement for those.
HWY_INLINE V usable(V x) {
  return select(hn::And(hn::Gt(x, hn::Zero(D{})), hn::Lt(x, infinity())), x, set(1));
}

struct Log {
  static HWY_INLINE V run(V x) {
    return of_any_size(x, [](const Reduced& reduced) HWY_ATTR {
      const DD l = natural(reduced);
      return l.hi + l.lo;
    });
  }
};
// What Log leaves of the logarithm of positive finite numbers: the sum of both is right to about 68 bits.
struct LogRest {
  static HWY_INLINE V run(V x) {
    const V rounded = Log::run(x);
    return of_any_size(x, [&](const Reduced& reduced) HWY_ATTR {
      const DD l = precise_natural(reduced);
      return (l.hi - rounded) + l.lo;
    });
  }
};
struct Log2 {
  static HWY_INLINE V run(V x) {
    return of_any_size(x, [](const Reduced& reduced) HWY_ATTR {
      const DD t = sum_of_ordered(reduced.log_of_row, reduced.r.hi);
      const V low = t.lo + (reduced.r.lo + bend_of_logarithm(reduced.r.hi));
      const DD p = multiply_split(sum_of_ordered(t.hi, low), tables::reciprocal_ln2_split);
      const DD s = sum_of_ordered(reduced.exponent, p.hi);
      return s.hi + (s.lo + p.lo);
    });
  }
};
struct Log10 {
  static HWY_INLINE V run(V x) {
    return of_any_size(x, [](const Reduced& reduced) HWY_ATTR {
      const DD l = natural(reduced);
      const DD p = multiply_split(sum_of_ordered(l.hi, l.lo), tables::reciprocal_ln10_split);
      return p.hi + p.lo;
    });
  }
};
struct Log1p {
  static HWY_INLINE V run(V x) {
    const V beyond = x + set(1);
    const M is_usable = hn::And(hn::Gt(x, set(-1)), hn::Lt(x, infinity()));
    const DD s = sum(select(is_usable, x, hn::Zero(D{})), set(1));
    return or_itself(x, 0x1p-54,
                     at_ends(select(is_usable, set(1), beyond), rounded(natural(reduce<Low::any>(s)))));
  }
};

// For results rounded to single precision: exponent and fraction to about 48 bits, for positive normal
// numbers.
HWY_INLINE DD short_logarithm(V x) {
  const Reduced reduced = reduce<Low::none>({x, hn::Zero(D{})});
  static constexpr double coefficients[] = {-1 / 2., 1 / 3., -1 / 4., 1 / 5., -1 / 6.};
  const V r = reduced.r.hi;
  return {reduced.exponent, reduced.log_of_row + (r + r * r * polynomial(r, coefficients))};
}
HWY_INLINE V short_natural(V x) {
  const DD l = short_logarithm(x);
  return l.hi * set(tables::ln2[0]) + l.lo;
}
struct ShortLog {
  static HWY_INLINE V run(V x) { return at_ends(x, short_natural(usable(x))); }
};
struct ShortLog2 {
  static HWY_INLINE V run(V x) {
    const DD l = short_logarithm(usable(x));
    return at_ends(x, l.hi + l.lo * set(tables::reciprocal_ln2[0]));
  }
};
struct ShortLog10 {
  static HWY_INLINE V run(V x) {
    return at_ends(x, short_natural(usable(x)) * set(tables::reciprocal_ln10[0]));
  }
};
struct ShortAcosh {
  static HWY_INLINE V run(V x) {
    const M is_valid = hn::And(hn::Ge(x, set(1)), hn::Lt(x, infinity()));
    const V a = select(is_valid, x, set(1));
    const V result = short_natural(a + hn::Sqrt((a - set(1)) * (a + set(1))));
    return select(is_valid, result, select(hn::Eq(x, infinity()), x, not_a_number()));
  }
};

// log(a + b), b being the root of `square`; adds in order of size, a first if `a_is_larger`.
template <bool a_is_larger>
HWY_INLINE V logarithm_beside_root(V a, DD square) {
  const DD root = square_root(square);
  const DD s = a_is_larger ? sum_of_ordered(a, root.hi) : sum_of_ordered(root.hi, a);
  return rounded(natural(reduce({s.hi, s.lo + root.lo})));
}
// log(2 a), for numbers so large that 1 is negligible compared to their square.
HWY_INLINE V logarithm_of_double(V a) {
  const DD l = natural(reduce<Low::none>({a, hn::Zero(D{})}));
  return add(sum_of_ordered(l.hi, l.lo), set(tables::ln2)).hi;
}

struct Asinh {
  // From 2^-6 to 2^60.
  static HWY_INLINE V ordinary(V a) {
    const DD square = square_of(a);
    const DD more = sum(square.hi, set(1));
    return logarithm_beside_root<false>(a, {more.hi, more.lo + square.lo});
  }
  static HWY_INLINE V run(V x) {
    const V a = hn::Abs(x);
    const M is_ordinary = hn::And(hn::Ge(a, set(0x1p-6)), hn::Le(a, set(0x1p60)));
    if (HWY_LIKELY(hn::AllTrue(D{}, is_ordinary))) return hn::CopySign(ordinary(a), x);
    return of_any_size(x, is_ordinary);
  }
  static HWY_NOINLINE V of_any_size(V x, M is_ordinary) {
    const V a = usable(hn::Abs(x));
    // Close to 0 the difference of the root and 1 loses too many digits.
    static constexpr double coefficients[] = {-1 / 6., 3 / 40., -15 / 336., 105 / 3456., -945 / 42240.};
    const V small = smaller(a, set(0x1p-6));
    const V near = small + small * (small * small) * polynomial(small * small, coefficients);
    const V far = logarithm_of_double(larger(a, set(1)));
    const V size =
        select(is_ordinary, ordinary(select(is_ordinary, a, set(1))), select(hn::Lt(a, set(1)), near, far));
    const V finite = select(hn::Eq(hn::Abs(x), infinity()), infinity(), size);
    return keep_nan(x, or_itself(x, 0x1p-28, hn::CopySign(finite, x)));
  }
};
struct Acosh {
  // From 1 to 2^60.
  static HWY_INLINE V ordinary(V x) {
    const DD square = square_of(x);
    const DD less = sum_of_ordered(square.hi, set(-1));
    return logarithm_beside_root<true>(x, sum_of_ordered(less.hi, less.lo + square.lo));
  }
  static HWY_INLINE V run(V x) {
    const M is_ordinary = hn::And(hn::Ge(x, set(1)), hn::Le(x, set(0x1p60)));
    if (HWY_LIKELY(hn::AllTrue(D{}, is_ordinary))) return ordinary(x);
    return of_any_size(x, is_ordinary);
  }
  static HWY_NOINLINE V of_any_size(V x, M is_ordinary) {
    const M is_far = hn::And(hn::Gt(x, set(1)), hn::Lt(x, infinity()));
    const V far = logarithm_of_double(select(is_far, x, set(1)));
    const V result = select(is_ordinary, ordinary(select(is_ordinary, x, set(1))), far);
    return select(hn::Or(is_ordinary, is_far), result, select(hn::Eq(x, infinity()), x, not_a_number()));
  }
};
struct Atanh {
  static HWY_INLINE V run(V x) {
    const V size = hn::Abs(x);
    const V a = select(hn::Lt(size, set(1)), size, hn::Zero(D{}));
    const DD l =
        natural(reduce(divide_precisely(sum_of_ordered(set(1), a), sum_of_ordered(set(1), hn::Neg(a)))));
    V result = (l.hi + l.lo) * set(0.5);
    result = select(hn::Eq(size, set(1)), infinity(), select(hn::Lt(size, set(1)), result, not_a_number()));
    return or_itself(x, 0x1p-28, hn::CopySign(result, x));
  }
};

// ---- Powers

// IEEE 754's results for zeros, infinities and NaN, one by one.
HWY_NOINLINE V special_powers(V x, V y, V result, M special) {
  double xs[lanes];
  double ys[lanes];
  double results[lanes];
  double which[lanes];
  hn::StoreU(x, D{}, xs);
  hn::StoreU(y, D{}, ys);
  hn::StoreU(result, D{}, results);
  hn::StoreU(select(special, set(1), set(0)), D{}, which);
  for (std::size_t i = 0; i < lanes; ++i)
    if (which[i] != 0) results[i] = std::pow(xs[i], ys[i]);
  return hn::LoadU(D{}, results);
}

HWY_INLINE M is_integer(V x) {
  return hn::Eq(hn::Trunc(x), x);
}

// `power` is |x| to the power of y.
HWY_INLINE V signed_power(V x, V y, V power) {
  const M negative = hn::Lt(x, hn::Zero(D{}));
  const M even = is_integer(y * set(0.5));
  V result = select(hn::And(negative, hn::Not(even)), hn::Neg(power), power);
  result = select(hn::And(negative, hn::Not(is_integer(y))), not_a_number(), result);
  const M finite = hn::And(hn::Lt(hn::Abs(x), infinity()), hn::Lt(hn::Abs(y), infinity()));
  const M special = hn::Not(hn::And(finite, hn::Gt(hn::Abs(x), hn::Zero(D{}))));
  return HWY_UNLIKELY(!hn::AllFalse(D{}, special)) ? special_powers(x, y, result, special) : result;
}

struct Pow {
  // |x| in [2^-1000, infinity) to the power of y, if the result is a normal number or y is limited.
  static HWY_INLINE Brief near(const Reduced& x, V y) {
    const DD l = precise_natural(x);
    const DD p = almost_product(l.hi, y);
    return brief_exponential({p.hi, p.lo + l.lo * y});
  }
  static HWY_INLINE V run(V x, V y) {
    const M ordinary = hn::And(hn::Ge(x, set(0x1p-500)), hn::Lt(x, set(0x1p500)));
    // The logarithm is below 347, so |y| < 2 is always in range; the estimate serves larger ones.
    if (HWY_LIKELY(hn::AllTrue(D{}, ordinary))) {
      const Reduced reduced = reduce<Low::none>({x, hn::Zero(D{})});
      const V estimate = (reduced.exponent * set(tables::ln2[0]) + reduced.log_of_row) * y;
      const M small = hn::And(hn::Lt(hn::Abs(estimate), set(600)), hn::Lt(hn::Abs(y), set(1000)));
      if (HWY_LIKELY(hn::AllTrue(D{}, small))) return in_range(near(reduced, y));
    }
    return of_all_numbers(x, y);
  }
  static HWY_NOINLINE V of_all_numbers(V x, V y) {
    const V number = usable(hn::Abs(x));
    const M is_tiny = hn::Lt(number, set(0x1p-1000));
    Reduced reduced = reduce<Low::none>({select(is_tiny, number * set(0x1p100), number), hn::Zero(D{})});
    reduced.exponent = select(is_tiny, reduced.exponent - set(100), reduced.exponent);
    const DD l = precise_natural(reduced);
    // Halves of larger numbers would overflow; the result has over- or underflowed long before.
    const V exponent = within(y, -0x1p100, 0x1p100);
    const V estimate = l.hi * exponent;
    const DD p = almost_product(l.hi, exponent);
    const M ends = hn::Not(hn::Lt(hn::Abs(estimate), set(900)));
    const Brief e = brief_exponential({select(ends, hn::CopySign(set(900), estimate), p.hi),
                                       select(ends, hn::Zero(D{}), p.lo + l.lo * exponent)});
    return signed_power(x, y, of_any_size(e));
  }
};

struct ShortPow {
  static HWY_INLINE V run(V x, V y) {
    const V p = within(short_natural(usable(hn::Abs(x))) * within(y, -0x1p100, 0x1p100), -200, 200);
    const Rounded k = round(p * set(128 * tables::reciprocal_ln2[0]));
    const V r = (p - k.number * set(tables::ln2_128[0])) - k.number * set(tables::ln2_128[1]);
    static constexpr double coefficients[] = {1, 1 / 2., 1 / 6., 1 / 24., 1 / 120.};
    const V t = gather(tables::exponentials, hn::And(k.integer + k.integer, set_bits(255)));
    return signed_power(x, y,
                        (t + t * (r * polynomial(r, coefficients))) * power_of_two(shift_down<7>(k.integer)));
  }
};

struct Cbrt {
  static HWY_INLINE V run(V x) {
    const V a = usable(hn::Abs(x));
    const M is_tiny = hn::Lt(a, set(0x1p-1000));
    const VI bits = bits_of(select(is_tiny, a * set(0x1p102), a));
    // The exponent is a multiple of 3 for a significand of [1, 8).
    const VI exponent = exponent_of(from_bits(bits));
    const V third = to_double(exponent) * set(1 / 3.) - set(1 / 3.);
    const Rounded down = round(third);
    const VI removed = down.integer + down.integer + down.integer;
    const V m = from_bits(bits - hn::ShiftLeft<52>(removed));
    // A guess within 1/10, and Halley's steps, each of which triples the digits.
    V y = set(0.74) + m * (set(0.28) - m * set(0.0155));
    for (int step = 0; step < 3; ++step) {
      const V cube = y * y * y;
      y = y * (cube + (m + m)) / ((cube + cube) + m);
    }
    const DD cube = multiply(product(y, y), y);
    const V correction = ((cube.hi - m) + cube.lo) / (set(3) * (y * y));
    const VI result_exponent =
        hn::IfThenElse(hn::RebindMask(DI{}, is_tiny), down.integer - set_bits(34), down.integer);
    const V result = (y - correction) * power_of_two(result_exponent);
    const M ordinary = hn::And(hn::Gt(hn::Abs(x), hn::Zero(D{})), hn::Lt(hn::Abs(x), infinity()));
    return select(ordinary, hn::CopySign(result, x), x);
  }
};

// ---- Roots of sums of squares

// For sides whose squares, and their errors, are far from over- and underflow.
template <class... Sides>
HWY_INLINE V root_of_plain_squares(Sides... sides) {
  DD total = {hn::Zero(D{}), hn::Zero(D{})};
  const auto add_square = [&](V side) HWY_ATTR {
    const DD square = square_of(side);
    const DD s = sum(total.hi, square.hi);
    total = {s.hi, s.lo + (total.lo + square.lo)};
  };
  (add_square(sides), ...);
  return rounded(square_root(sum_of_ordered(total.hi, total.lo)));
}
template <class... Sides>
HWY_INLINE V root_of_squares(V largest, Sides... sides) {
  const V limited = usable(largest);
  const VI exponent = exponent_of(larger(limited, set(0x1p-1000)));
  const VI back = hn::Neg(exponent);
  const auto square = [&](V side) {
    // Below 2^-200 of the largest side, the others are negligible.
    const V scaled = scale_by(side, back);
    const V counted = select(hn::Gt(scaled, set(0x1p-200)), scaled, hn::Zero(D{}));
    return product(counted, counted);
  };
  DD total = {hn::Zero(D{}), hn::Zero(D{})};
  ((total = add(total, square(sides))), ...);
  return scale_by(rounded(square_root(total)), exponent);
}

// An infinite side gives infinity, even with a NaN.
template <class... Sides>
HWY_NOINLINE V hypotenuse_of_any_size(Sides... signed_sides) {
  V largest = hn::Zero(D{});
  V added = hn::Zero(D{});
  ((largest = larger(hn::Abs(signed_sides), largest), added = added + hn::Abs(signed_sides)), ...);
  V result = root_of_squares(largest, hn::Abs(signed_sides)...);
  result = select(hn::Eq(largest, hn::Zero(D{})), hn::Zero(D{}), result);
  result = keep_nan(added, result);
  ((result = select(hn::Eq(hn::Abs(signed_sides), infinity()), infinity(), result)), ...);
  return result;
}
template <class... Sides>
HWY_INLINE V hypotenuse(Sides... signed_sides) {
  const auto is_plain = [](V side) HWY_ATTR {
    return hn::And(hn::Gt(hn::Abs(side), set(0x1p-50)), hn::Lt(hn::Abs(side), set(0x1p50)));
  };
  M all = hn::Eq(hn::Zero(D{}), hn::Zero(D{}));
  ((all = hn::And(all, is_plain(signed_sides))), ...);
  if (HWY_LIKELY(hn::AllTrue(D{}, all))) return root_of_plain_squares(signed_sides...);
  return hypotenuse_of_any_size(signed_sides...);
}
struct Hypot {
  static HWY_INLINE V run(V x, V y) { return hypotenuse(x, y); }
};
struct Hypot3 {
  static HWY_INLINE V run(V x, V y, V z) { return hypotenuse(x, y, z); }
};

// Squares of single-precision numbers are exact, and in range.
struct ShortHypot {
  static HWY_INLINE V run(V x, V y) {
    const V result = hn::Sqrt(x * x + y * y);
    return select(hn::Or(hn::Eq(hn::Abs(x), infinity()), hn::Eq(hn::Abs(y), infinity())), infinity(), result);
  }
};

// ---- Trigonometry

// An angle as steps * pi/64 + rest.
struct Angle {
  VI steps;
  DD rest;
};

HWY_NOINLINE Angle angle_of_any_size(V x, Angle small) {
  double xs[lanes];
  std::int64_t steps[lanes];
  double high[lanes];
  double low[lanes];
  double is_large[lanes];
  hn::StoreU(x, D{}, xs);
  hn::StoreU(small.steps, DI{}, steps);
  for (std::size_t i = 0; i < lanes; ++i) {
    high[i] = low[i] = is_large[i] = 0;
    if (!(std::abs(xs[i]) >= 0x1p19) || std::isinf(xs[i])) continue;
    const LargeAngle large = large_angle(xs[i]);
    steps[i] = large.steps;
    high[i] = large.high;
    low[i] = large.low;
    is_large[i] = 1;
  }
  const DD rest = multiply(set(tables::pi_64), DD{hn::LoadU(D{}, high), hn::LoadU(D{}, low)});
  const M large = hn::Gt(hn::LoadU(D{}, is_large), hn::Zero(D{}));
  return {hn::LoadU(DI{}, steps), select(large, rest, small.rest)};
}

HWY_INLINE Angle angle(V x) {
  const M is_large = hn::Not(hn::Lt(hn::Abs(x), set(0x1p19)));
  const V limited = select(is_large, hn::Zero(D{}), x);
  const Rounded k = round(limited * set(64 / 3.14159265358979323846));
  const V a = limited - k.number * set(tables::pi_64_pieces[0]);
  const DD b = sum(a, hn::Neg(k.number * set(tables::pi_64_pieces[1])));
  const DD c = sum(b.hi, hn::Neg(k.number * set(tables::pi_64_pieces[2])));
  const V low = (b.lo + c.lo) - k.number * set(tables::pi_64_pieces[3]);
  const Angle small = {k.integer, sum(c.hi, low)};
  return HWY_UNLIKELY(!hn::AllFalse(D{}, is_large)) ? angle_of_any_size(x, small) : small;
}

// Common parts of an angle's sine and cosine: sin(rest) - rest and cos(rest) - 1.
struct Bends {
  V of_cosine;
  V of_sine;
};
HWY_INLINE Bends bends_of(V r) {
  static constexpr double sine[] = {-1 / 6., 1 / 120., -1 / 5040., 1 / 362880.};
  static constexpr double cosine[] = {-1 / 2., 1 / 24., -1 / 720., 1 / 40320., -1 / 3628800.};
  const V square = r * r;
  return {square * polynomial(square, cosine), r * square * polynomial(square, sine)};
}
HWY_INLINE DD sine_at(VI steps) {
  return gather_pair(tables::sines, hn::And(steps, set_bits(127)));
}
// For the sum of a remainder and an angle with sine s and cosine c.
HWY_INLINE DD sine_beside(DD s, DD c, DD rest, Bends bends) {
  const DD p = product(c.hi, rest.hi);
  // Table points are 0, or at least twice as large as the other term.
  const DD t = sum_of_ordered(s.hi, p.hi);
  const V small =
      (s.lo + (c.hi * rest.lo + c.lo * rest.hi)) + (s.hi * bends.of_cosine + c.hi * bends.of_sine);
  return sum_of_ordered(t.hi, t.lo + (p.lo + small));
}
HWY_INLINE DD sine_of(VI steps, DD rest, Bends bends) {
  return sine_beside(sine_at(steps), sine_at(steps + set_bits(32)), rest, bends);
}

HWY_INLINE V only_finite(V x, V result) {
  return select(hn::Lt(hn::Abs(x), infinity()), result, not_a_number());
}
struct Sin {
  static HWY_INLINE V run(V x) {
    const Angle a = angle(x);
    return only_finite(x, or_itself(x, 0x1p-28, sine_of(a.steps, a.rest, bends_of(a.rest.hi)).hi));
  }
};
struct Cos {
  static HWY_INLINE V run(V x) {
    const Angle a = angle(x);
    return only_finite(x, sine_of(a.steps + set_bits(32), a.rest, bends_of(a.rest.hi)).hi);
  }
};
struct Tan {
  static HWY_INLINE V run(V x) {
    const Angle a = angle(x);
    const Bends bends = bends_of(a.rest.hi);
    const DD sine = sine_at(a.steps);
    const DD cosine = sine_at(a.steps + set_bits(32));
    const DD quotient =
        divide(sine_beside(sine, cosine, a.rest, bends), sine_beside(cosine, negate(sine), a.rest, bends));
    return only_finite(x, or_itself(x, 0x1p-28, quotient.hi + quotient.lo));
  }
};

// base + sign * atan(q), 0 <= q.hi <= 1, q.lo negligible. Close to 0 the series itself, since there the
// result is as small as the remainder beside a table point.
HWY_INLINE V add_arc_tangent(DD base, V sign, DD q) {
  const Rounded nearest = round(q.hi * set(64));
  const M is_small = hn::Lt(q.hi, set(0.125));
  const V c = select(is_small, hn::Zero(D{}), nearest.number * set(1 / 64.));
  const VI row = hn::IfThenElse(hn::RebindMask(DI{}, is_small), hn::Zero(DI{}), nearest.integer);
  const V t = ((q.hi - c) + q.lo) / (set(1) + q.hi * c);
  static constexpr double coefficients[] = {-1 / 3.,  1 / 5.,  -1 / 7.,  1 / 9.,
                                            -1 / 11., 1 / 13., -1 / 15., 1 / 17.};
  const V square = t * t;
  const V main = select(is_small, q.hi, t);
  const V bend = main * square * polynomial(square, coefficients) + select(is_small, q.lo, hn::Zero(D{}));
  const DD found = gather_pair(tables::arc_tangents, row);
  const DD start = sum(base.hi, sign * found.hi);
  const DD s = sum(start.hi, sign * main);
  return s.hi + (s.lo + ((start.lo + base.lo) + sign * (found.lo + bend)));
}

// The smaller of two numbers divided by the larger one, which is about 1.
struct Slope {
  M is_steep;  // the first is the larger one
  DD ratio;
};
HWY_INLINE Slope slope_of(DD a, DD b) {
  const M is_steep = hn::Gt(a.hi, b.hi);
  const DD small = select(is_steep, b, a);
  const DD large = select(is_steep, a, b);
  const V q = small.hi / large.hi;
  const DD back = almost_product(q, large.hi);
  const V rest = ((small.hi - back.hi) - back.lo) + (small.lo - q * large.lo);
  return {is_steep, {q, rough_quotient(rest, large.hi)}};
}

struct Atan2 {
  static HWY_INLINE V run(V y, V x) {
    V ay = hn::Abs(y);
    V ax = hn::Abs(x);
    // Infinities are treated as 1, finite numbers beside them as 0.
    const M infinite_y = hn::Eq(ay, infinity());
    const M infinite_x = hn::Eq(ax, infinity());
    const M infinite = hn::Or(infinite_y, infinite_x);
    ay = select(infinite, select(infinite_y, set(1), hn::Zero(D{})), ay);
    ax = select(infinite, select(infinite_x, set(1), hn::Zero(D{})), ax);
    const V quotient = ay / ax;
    const V larger_one = larger(ay, ax);
    const M is_tiny = hn::Lt(larger_one, set(0x1p-900));
    ay = select(is_tiny, ay * set(0x1p200), ay);
    ax = select(is_tiny, ax * set(0x1p200), ax);
    const V most = usable(larger(ay, ax));
    const VI back = hn::Neg(exponent_of(larger(most, set(0x1p-1000))));
    const V scaled_y = select(hn::Lt(ay, infinity()), scale_by(ay, back), set(1));
    const V scaled_x = select(hn::Lt(ax, infinity()), scale_by(ax, back), set(1));
    const M nowhere = hn::Eq(larger_one, hn::Zero(D{}));
    // A coordinate that is negligible beside the other one would underflow in exact products.
    const auto or_none = [](V side) { return select(hn::Gt(side, set(0x1p-300)), side, hn::Zero(D{})); };
    const Slope slope = slope_of({or_none(scaled_y), hn::Zero(D{})},
                                 {select(nowhere, set(1), or_none(scaled_x)), hn::Zero(D{})});
    const M behind = hn::Ne(hn::CopySign(set(1), x), set(1));
    const DD flat_base = select(behind, set(tables::pi), {hn::Zero(D{}), hn::Zero(D{})});
    const DD base = select(slope.is_steep, set(tables::half_pi), flat_base);
    const V sign = select(hn::Xor(slope.is_steep, behind), set(-1), set(1));
    const V angle = add_arc_tangent(base, sign, slope.ratio);
    const M flat =
        hn::And(hn::Lt(quotient, set(0x1p-30)), hn::Not(hn::Or(behind, hn::Or(nowhere, infinite))));
    const V result = hn::CopySign(select(flat, quotient, angle), y);
    return keep_nan(x, keep_nan(y, result));
  }
};

struct Atan {
  static HWY_INLINE V run(V x) {
    const V a = select(hn::Eq(x, x), hn::Abs(x), hn::Zero(D{}));
    const M is_steep = hn::Gt(a, set(1));
    const M is_large = hn::Not(hn::Lt(a, set(0x1p60)));
    const V divisor = select(is_steep, select(is_large, set(0x1p60), a), set(1));
    const V q = select(is_steep, set(1), a) / divisor;
    // The error of the quotient: 1 - q * divisor, divided by the divisor.
    const DD back = product(q, divisor);
    const V rest = ((set(1) - back.hi) - back.lo) * q;
    const DD ratio = {q, select(is_steep, rest, hn::Zero(D{}))};
    const DD base = select(is_steep, set(tables::half_pi), {hn::Zero(D{}), hn::Zero(D{})});
    const V size = add_arc_tangent(base, select(is_steep, set(-1), set(1)), ratio);
    return keep_nan(x, or_itself(x, 0x1p-28, hn::CopySign(size, x)));
  }
};

// base + factor * asin(side): for a number up to 1/2 the side is the number, beyond that sqrt((1 - a) / 2),
// as asin(a) = pi/2 - 2 asin(side).
struct Arc {
  M is_steep;
  DD side;
  V bend;  // asin(side) - side.hi
};
HWY_INLINE Arc arc_of(V a) {
  const M is_steep = hn::Gt(a, set(0.5));
  // 1 - a is exact from 1/2 on.
  const V half = (set(1) - a) * set(0.5);
  const DD side = select(is_steep, square_root({half, hn::Zero(D{})}), {a, hn::Zero(D{})});
  const V square = side.hi * side.hi;
  const V fourth = square * square;
  const V p = polynomial(fourth, tables::arc_sine_even) + square * polynomial(fourth, tables::arc_sine_odd);
  return {is_steep, side, side.hi * (square * p) + (side.lo + side.lo * (square * set(0.5)))};
}
HWY_INLINE V add_arc(DD base, V factor, const Arc& arc) {
  const DD start = sum_of_ordered(base.hi, factor * arc.side.hi);
  return start.hi + (start.lo + (base.lo + factor * arc.bend));
}

struct Asin {
  static HWY_INLINE V of_size(V a) {
    const Arc arc = arc_of(a);
    const DD base = select(arc.is_steep, set(tables::half_pi), {hn::Zero(D{}), hn::Zero(D{})});
    return add_arc(base, select(arc.is_steep, set(-2), set(1)), arc);
  }
  static HWY_INLINE V run(V x) {
    const V a = hn::Abs(x);
    const M is_valid = hn::Le(a, set(1));
    if (HWY_LIKELY(hn::AllTrue(D{}, is_valid))) return hn::CopySign(of_size(a), x);
    return select(is_valid, hn::CopySign(of_size(select(is_valid, a, hn::Zero(D{}))), x), not_a_number());
  }
};
struct Acos {
  static HWY_INLINE V of_size(V a, M is_behind) {
    const Arc arc = arc_of(a);
    const DD steep_base = select(is_behind, set(tables::pi), {hn::Zero(D{}), hn::Zero(D{})});
    const DD base = select(arc.is_steep, steep_base, set(tables::half_pi));
    const V size = select(arc.is_steep, set(2), set(1));
    const M is_less = hn::Xor(arc.is_steep, hn::Not(is_behind));
    return add_arc(base, select(is_less, hn::Neg(size), size), arc);
  }
  static HWY_INLINE V run(V x) {
    const V a = hn::Abs(x);
    const M is_valid = hn::Le(a, set(1));
    const M is_behind = hn::Lt(x, hn::Zero(D{}));
    if (HWY_LIKELY(hn::AllTrue(D{}, is_valid))) return of_size(a, is_behind);
    return select(is_valid, of_size(select(is_valid, a, hn::Zero(D{})), is_behind), not_a_number());
  }
};

}  // namespace colonnade::frame::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
