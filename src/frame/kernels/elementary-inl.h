// Exponentials, logarithms, powers, roots and trigonometry of vectors: each is computed to about 60 bits and
// rounded once.
//
// Arguments are brought close to a point of a table, from where a short polynomial suffices. What is large in
// a sum is a pair (double_double-inl.h), what is small a double. Included once per instruction set.
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

// value * 2^exponent; value - 1 is kept where the exponent is 0 and value close to 1.
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
  const DD s = sum(r, hn::Neg(k.number * set(tables::ln2_128[1])));
  return exponential_near(sum(s.hi, s.lo + (x.lo - k.number * set(tables::ln2_128[2]))), k.integer);
}

HWY_INLINE V within(V x, double least, double most) {
  return smaller(larger(x, set(least)), set(most));
}
// As it is where it is no number.
HWY_INLINE V keep_nan(V x, V result) {
  return select(hn::Eq(x, x), result, x);
}

struct Exp {
  static HWY_INLINE V run(V x) {
    const Scaled e = exponential({within(x, -760, 720), set(0)});
    return keep_nan(x, scale_by(e.value.hi, e.exponent));
  }
};

struct Exp2 {
  static HWY_INLINE V run(V x) {
    const V limited = within(x, -1100, 1100);
    const Rounded k = round(limited * set(128));
    const V rest = limited - k.number * set(1 / 128.);
    const Scaled e = exponential_near(multiply(set(tables::ln2), rest), k.integer);
    return keep_nan(x, scale_by(e.value.hi, e.exponent));
  }
};

// exp(x) - 1 for |x| < 40.
HWY_INLINE DD exponential_above_one(DD x) {
  const Scaled e = exponential(x);
  const DD far = add(scale(e.value, power_of_two(e.exponent)), set(-1));
  return select(e.has_above_one, e.above_one, far);
}

// Close to 0 the function is x itself, with its sign.
HWY_INLINE V or_itself(V x, double below, V result) {
  return select(hn::Lt(hn::Abs(x), set(below)), x, result);
}

struct Expm1 {
  static HWY_INLINE V run(V x) {
    const Scaled e = exponential({within(x, -50, 720), set(0)});
    // Beyond 2^64 the 1 is far below the last place.
    const M is_large = hn::Gt(x, set(45));
    const VI exponent = hn::IfThenElse(hn::RebindMask(DI{}, is_large), hn::Zero(DI{}), e.exponent);
    const DD far = add(scale(e.value, power_of_two(exponent)), set(-1));
    const DD near = select(e.has_above_one, e.above_one, far);
    return keep_nan(x, or_itself(x, 0x1p-55, select(is_large, scale_by(e.value.hi, e.exponent), near.hi)));
  }
};

// (exp(a) + sign * exp(-a)) / 2 with the sign of the difference kept apart; for a up to 40, beyond that
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
    return keep_nan(x, or_itself(x, 0x1p-28, hn::CopySign(quotient.hi, x)));
  }
};

// ---- Logarithms

// log(x) = exponent * log(2) + fraction.
struct Logarithm {
  V exponent;
  DD fraction;
};

// Of positive finite numbers; x.lo is 0 where there is none.
template <bool has_low = true>
HWY_INLINE Logarithm logarithm(DD x) {
  const M is_tiny = hn::Lt(x.hi, set(0x1p-1000));
  x = select(is_tiny, scale(x, set(0x1p100)), x);
  const VI first = set_bits(0x3fe6900000000000);
  const VI bits = bits_of(x.hi);
  const VI above = bits - first;
  const VI exponent = shift_down<52>(above);
  const VI entry = hn::And(shift_down<45>(above), set_bits(127));
  const V significand = from_bits(bits - hn::ShiftLeft<52>(exponent));
  const VI place = entry + entry + entry;
  const V inverse = gather(tables::logarithms, place);
  const DD start = load_pair(tables::logarithms + 1, place);
  const DD p = product(significand, inverse);
  V beyond = p.lo;
  if constexpr (has_low) {
    // Half the exponent at a time, so that the factor is a number.
    const VI half = shift_down<1>(exponent);
    const V low = x.lo * power_of_two(hn::Neg(half)) * power_of_two(half - exponent);
    beyond = beyond + low * inverse;
  }
  const DD r = sum(p.hi - set(1), beyond);

  // log(1 + r) = r - r^2/2 + r^3 (...)
  static constexpr double coefficients[] = {1 / 3., -1 / 4., 1 / 5., -1 / 6.,
                                            1 / 7., -1 / 8., 1 / 9., -1 / 10.};
  DD square = product(r.hi, r.hi);
  square.lo = square.lo + set(2) * (r.hi * r.lo);
  const V cubic = r.hi * square.hi * polynomial(r.hi, coefficients);
  const DD s = sum_of_ordered(r.hi, set(-0.5) * square.hi);
  const V rest = s.lo + ((r.lo - set(0.5) * square.lo) + cubic);
  const DD t = sum(start.hi, s.hi);
  const V number = to_double(exponent);
  return {select(is_tiny, number - set(100), number), {t.hi, t.lo + (start.lo + rest)}};
}

HWY_INLINE DD natural(const Logarithm& l) {
  const DD s = sum(l.exponent * set(tables::ln2_split[0]), l.fraction.hi);
  return sum_of_ordered(s.hi, s.lo + (l.fraction.lo + l.exponent * set(tables::ln2_split[1])));
}

// What every logarithm gives for 0, negative numbers, infinity and NaN.
HWY_INLINE V at_ends(V x, V result) {
  result = select(hn::Gt(x, hn::Zero(D{})), result, not_a_number());
  result = select(hn::Eq(x, hn::Zero(D{})), hn::Neg(infinity()), result);
  return select(hn::Eq(x, infinity()), x, result);
}
// Something harmless for those.
HWY_INLINE V usable(V x) {
  return select(hn::And(hn::Gt(x, hn::Zero(D{})), hn::Lt(x, infinity())), x, set(1));
}

struct Log {
  static HWY_INLINE V run(V x) { return at_ends(x, natural(logarithm<false>({usable(x), set(0)})).hi); }
};
struct Log2 {
  static HWY_INLINE V run(V x) {
    const Logarithm l = logarithm<false>({usable(x), set(0)});
    return at_ends(x, add(multiply(l.fraction, set(tables::reciprocal_ln2)), l.exponent).hi);
  }
};
struct Log10 {
  static HWY_INLINE V run(V x) {
    return at_ends(x,
                   multiply(natural(logarithm<false>({usable(x), set(0)})), set(tables::reciprocal_ln10)).hi);
  }
};
struct Log1p {
  static HWY_INLINE V run(V x) {
    const V beyond = x + set(1);
    const M is_usable = hn::And(hn::Gt(x, set(-1)), hn::Lt(x, infinity()));
    const DD s = sum(select(is_usable, x, hn::Zero(D{})), set(1));
    return or_itself(x, 0x1p-54, at_ends(select(is_usable, set(1), beyond), natural(logarithm(s)).hi));
  }
};

// For numbers that are rounded to single precision: to some 48 bits, of normal positive numbers.
HWY_INLINE Logarithm short_logarithm(V x) {
  const VI above = bits_of(x) - set_bits(0x3fe6900000000000);
  const VI exponent = shift_down<52>(above);
  const VI entry = hn::And(shift_down<45>(above), set_bits(127));
  const V significand = from_bits(bits_of(x) - hn::ShiftLeft<52>(exponent));
  const VI place = entry + entry + entry;
  const V r = significand * gather(tables::logarithms, place) - set(1);
  static constexpr double coefficients[] = {-1 / 2., 1 / 3., -1 / 4., 1 / 5., -1 / 6.};
  const V bend = r * r * polynomial(r, coefficients);
  return {to_double(exponent), {gather(tables::logarithms + 1, place) + (r + bend), hn::Zero(D{})}};
}
HWY_INLINE V short_natural(V x) {
  const Logarithm l = short_logarithm(x);
  return l.exponent * set(tables::ln2[0]) + l.fraction.hi;
}
struct ShortLog {
  static HWY_INLINE V run(V x) { return at_ends(x, short_natural(usable(x))); }
};
struct ShortLog2 {
  static HWY_INLINE V run(V x) {
    const Logarithm l = short_logarithm(usable(x));
    return at_ends(x, l.exponent + l.fraction.hi * set(tables::reciprocal_ln2[0]));
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

struct Asinh {
  static HWY_INLINE V run(V x) {
    const V a = usable(hn::Abs(x));
    const M is_large = hn::Gt(a, set(0x1p60));
    const V b = select(is_large, set(1), a);
    const DD root = square_root(add(product(b, b), set(1)));
    const DD l = natural(logarithm(select(is_large, {a, set(0)}, add(root, b))));
    const V size = select(is_large, add(l, set(tables::ln2)).hi, l.hi);
    const V finite = select(hn::Eq(hn::Abs(x), infinity()), infinity(), size);
    return keep_nan(x, or_itself(x, 0x1p-28, hn::CopySign(finite, x)));
  }
};
struct Acosh {
  static HWY_INLINE V run(V x) {
    const M is_valid = hn::And(hn::Ge(x, set(1)), hn::Lt(x, infinity()));
    const V a = select(is_valid, x, set(1));
    const M is_large = hn::Gt(a, set(0x1p60));
    const V b = select(is_large, set(1), a);
    const DD root = square_root(multiply(sum(b, set(1)), b - set(1)));
    const DD l = natural(logarithm(select(is_large, {a, set(0)}, add(root, b))));
    const V result = select(is_large, add(l, set(tables::ln2)).hi, l.hi);
    return select(is_valid, result, select(hn::Eq(x, infinity()), x, not_a_number()));
  }
};
struct Atanh {
  static HWY_INLINE V run(V x) {
    const V size = hn::Abs(x);
    const V a = select(hn::Lt(size, set(1)), size, hn::Zero(D{}));
    const DD l = natural(logarithm(divide(sum(set(1), a), sum(set(1), hn::Neg(a)))));
    V result = l.hi * set(0.5);
    result = select(hn::Eq(size, set(1)), infinity(), select(hn::Lt(size, set(1)), result, not_a_number()));
    return or_itself(x, 0x1p-28, hn::CopySign(result, x));
  }
};

// ---- Powers

// What IEEE 754 says of zeros, infinities and NaN, one by one.
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
  static HWY_INLINE V run(V x, V y) {
    const DD l = natural(logarithm<false>({usable(hn::Abs(x)), set(0)}));
    const V exponent = within(y, -0x1p100, 0x1p100);
    const V estimate = l.hi * exponent;
    DD p = multiply(l, exponent);
    p = select(hn::Lt(hn::Abs(estimate), set(900)), p, {hn::CopySign(set(900), estimate), set(0)});
    const Scaled e = exponential(p);
    return signed_power(x, y, scale_by(e.value.hi, e.exponent));
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
    // A guess to 1/10, and Halley's steps, each of which triples the digits.
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

template <class... Sides>
HWY_INLINE V root_of_squares(V largest, Sides... sides) {
  const V limited = usable(largest);
  const VI exponent = exponent_of(larger(limited, set(0x1p-1000)));
  const VI back = hn::Neg(exponent);
  const auto square = [&](V side) {
    // What is 2^-200 of the largest does not count.
    const V scaled = scale_by(side, back);
    const V counted = select(hn::Gt(scaled, set(0x1p-200)), scaled, hn::Zero(D{}));
    return product(counted, counted);
  };
  DD total = {hn::Zero(D{}), hn::Zero(D{})};
  ((total = add(total, square(sides))), ...);
  return scale_by(square_root(total).hi, exponent);
}

// An infinite side makes infinity, beside NaN as well.
template <class... Sides>
HWY_INLINE V hypotenuse(Sides... signed_sides) {
  V largest = hn::Zero(D{});
  V added = hn::Zero(D{});
  ((largest = larger(hn::Abs(signed_sides), largest), added = added + hn::Abs(signed_sides)), ...);
  V result = root_of_squares(largest, hn::Abs(signed_sides)...);
  result = select(hn::Eq(largest, hn::Zero(D{})), hn::Zero(D{}), result);
  result = keep_nan(added, result);
  ((result = select(hn::Eq(hn::Abs(signed_sides), infinity()), infinity(), result)), ...);
  return result;
}
struct Hypot {
  static HWY_INLINE V run(V x, V y) { return hypotenuse(x, y); }
};
struct Hypot3 {
  static HWY_INLINE V run(V x, V y, V z) { return hypotenuse(x, y, z); }
};

// Squares of numbers of single precision are exact, and within range.
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

// What sine and cosine of an angle share: those of the rest, less 1 and less the rest.
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
HWY_INLINE DD sine_of(VI steps, DD rest, Bends bends) {
  const DD s = gather_pair(tables::sines, hn::And(steps, set_bits(127)));
  const DD c = gather_pair(tables::sines, hn::And(steps + set_bits(32), set_bits(127)));
  const DD p = product(c.hi, rest.hi);
  const DD t = sum(s.hi, p.hi);
  const V small =
      (s.lo + (c.hi * rest.lo + c.lo * rest.hi)) + (s.hi * bends.of_cosine + c.hi * bends.of_sine);
  return sum_of_ordered(t.hi, t.lo + (p.lo + small));
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
    const DD quotient =
        divide(sine_of(a.steps, a.rest, bends), sine_of(a.steps + set_bits(32), a.rest, bends));
    return only_finite(x, or_itself(x, 0x1p-28, quotient.hi));
  }
};

// atan(a/b), 0 <= a <= b, b about 1.
HWY_INLINE DD arc_tangent_of_ratio(DD a, DD b) {
  const Rounded k = round(a.hi / b.hi * set(64));
  const V c = k.number * set(1 / 64.);
  const DD t = divide(subtract(a, multiply(b, c)), add(b, multiply(a, c)));
  static constexpr double coefficients[] = {-1 / 3., 1 / 5., -1 / 7., 1 / 9., -1 / 11.};
  const V square = t.hi * t.hi;
  const V bend = t.hi * square * polynomial(square, coefficients);
  const DD start = gather_pair(tables::arc_tangents, k.integer);
  const DD s = sum(start.hi, t.hi);
  return sum_of_ordered(s.hi, s.lo + (start.lo + (t.lo + bend)));
}
// The angle of a point with coordinates that are not negative.
HWY_INLINE DD angle_in_quadrant(DD y, DD x) {
  const M steep = hn::Gt(y.hi, x.hi);
  const DD angle = arc_tangent_of_ratio(select(steep, x, y), select(steep, y, x));
  return select(steep, subtract(set(tables::half_pi), angle), angle);
}

struct Atan2 {
  static HWY_INLINE V run(V y, V x) {
    V ay = hn::Abs(y);
    V ax = hn::Abs(x);
    // Infinities as 1 beside 0.
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
    // What is far below the other coordinate would leave the range of exact products.
    const auto or_none = [](V side) { return select(hn::Gt(side, set(0x1p-300)), side, hn::Zero(D{})); };
    const DD first =
        angle_in_quadrant({or_none(scaled_y), set(0)}, {select(nowhere, set(1), or_none(scaled_x)), set(0)});
    const M behind = hn::Ne(hn::CopySign(set(1), x), set(1));
    const DD turned = select(behind, subtract(set(tables::pi), first), first);
    const M flat =
        hn::And(hn::Lt(quotient, set(0x1p-30)), hn::Not(hn::Or(behind, hn::Or(nowhere, infinite))));
    const V result = hn::CopySign(select(flat, quotient, turned.hi), y);
    return keep_nan(x, keep_nan(y, result));
  }
};

struct Atan {
  static HWY_INLINE V run(V x) {
    const V a = hn::Abs(x);
    const M is_large = hn::Not(hn::Lt(a, set(0x1p60)));
    const DD angle = angle_in_quadrant({select(is_large, set(1), a), set(0)},
                                       {select(is_large, hn::Zero(D{}), set(1)), set(0)});
    return keep_nan(x, or_itself(x, 0x1p-28, hn::CopySign(angle.hi, x)));
  }
};

// sqrt(1 - a^2), 0 <= a <= 1.
HWY_INLINE DD other_leg(V a) {
  return square_root(multiply(sum(set(1), hn::Neg(a)), sum(set(1), a)));
}

struct Asin {
  static HWY_INLINE V run(V x) {
    const V a = hn::Abs(x);
    const M is_valid = hn::Le(a, set(1));
    const V b = select(is_valid, a, hn::Zero(D{}));
    const DD angle = angle_in_quadrant({b, set(0)}, other_leg(b));
    return or_itself(x, 0x1p-28, select(is_valid, hn::CopySign(angle.hi, x), not_a_number()));
  }
};
struct Acos {
  static HWY_INLINE V run(V x) {
    const V a = hn::Abs(x);
    const M is_valid = hn::Le(a, set(1));
    const V b = select(is_valid, a, hn::Zero(D{}));
    const DD angle = angle_in_quadrant(other_leg(b), {b, set(0)});
    const DD behind = subtract(set(tables::pi), angle);
    return select(is_valid, select(hn::Lt(x, hn::Zero(D{})), behind.hi, angle.hi), not_a_number());
  }
};

}  // namespace colonnade::frame::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
