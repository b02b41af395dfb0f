// The error function and the gamma function of vectors; see elementary-inl.h. Included once per instruction
// set.
#if defined(COLONNADE_FRAME_KERNELS_SPECIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COLONNADE_FRAME_KERNELS_SPECIAL_INL_H
#undef COLONNADE_FRAME_KERNELS_SPECIAL_INL_H
#else
#define COLONNADE_FRAME_KERNELS_SPECIAL_INL_H
#endif

#include "frame/kernels/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace colonnade::frame::HWY_NAMESPACE {

// ---- The error function

// erf(a), 0 <= a <= 6.
HWY_INLINE DD error_function(V a) {
  const Rounded k = round(a * set(8));
  return series<tables::erf_degree>(tables::erf_rows, k.integer, {a - k.number * set(1 / 8.), set(0)});
}

// erfc(a), 1/2 <= a <= 28: exp(-a^2) times a function of (a - 2) / (a + 2) that is almost flat.
struct Complement {
  DD value;
  VI exponent;
};
HWY_INLINE Complement complement(V a) {
  // Also exact for a > 2, where a and 2 are not in order.
  const DD t = divide(sum_of_ordered(set(-2), a), sum_of_ordered(set(2), a));
  const Rounded k = round(t.hi * set(32));
  const VI row = k.integer - set_bits(tables::erfc_first);
  const DD distance = sum_of_ordered(t.hi - k.number * set(1 / 32.), t.lo);
  const DD flat = series<tables::erfc_degree>(tables::erfc_rows, row, distance);
  const Scaled e = exponential(negate(square_of(a)));
  return {multiply(flat, e.value), e.exponent};
}

struct Erf {
  static HWY_INLINE V run(V x) {
    const DD size = error_function(smaller(hn::Abs(x), set(6)));
    // erf(x) = x * 2/sqrt(pi) close to 0; denormal numbers are scaled up for the product.
    const V up = hn::Abs(x) * set(0x1p200);
    const V tiny = multiply({set(tables::erf_rows[2]), set(tables::erf_rows[3])}, up).hi * set(0x1p-200);
    const V result = select(hn::Lt(hn::Abs(x), set(0x1p-100)), tiny, size.hi);
    return keep_nan(x, hn::CopySign(result, x));
  }
};
struct Erfc {
  static HWY_INLINE V run(V x) {
    const V a = hn::Abs(x);
    const M is_near = hn::Lt(a, set(0.5));
    const M is_negative = hn::Lt(x, hn::Zero(D{}));
    V near = hn::Zero(D{});
    if (!hn::AllFalse(D{}, is_near)) {
      const DD size = error_function(smaller(a, set(0.5)));
      const DD s = sum_of_ordered(set(1), select(is_negative, size.hi, hn::Neg(size.hi)));
      near = s.hi + (s.lo + select(is_negative, size.lo, hn::Neg(size.lo)));
      if (hn::AllTrue(D{}, is_near)) return near;
    }
    const Complement c = complement(within(a, 0.5, 28));
    V far = scale_by(c.value.hi, c.exponent);
    // erfc(-a) = 2 - erfc(a)
    if (!hn::AllFalse(D{}, is_negative)) {
      const DD s = sum_of_ordered(set(2), hn::Neg(far));
      far = select(is_negative, s.hi + (s.lo - scale_by(c.value.lo, c.exponent)), far);
    }
    return keep_nan(x, select(is_near, near, far));
  }
};

// ---- The gamma function

// log(x) of positive finite numbers.
HWY_INLINE DD natural_of_any_size(DD x) {
  const M is_tiny = hn::Lt(x.hi, set(0x1p-1000));
  Reduced reduced = reduce(select(is_tiny, scale(x, set(0x1p100)), x));
  reduced.exponent = select(is_tiny, reduced.exponent - set(100), reduced.exponent);
  const DD l = natural(reduced);
  return sum_of_ordered(l.hi, l.lo);
}

// log(gamma(x)), x >= 1, x = 1 + z.
HWY_INLINE DD log_gamma_above_one(V z, DD x) {
  const M is_far = hn::Gt(z, set(7));
  DD near = {hn::Zero(D{}), hn::Zero(D{})};
  if (!hn::AllTrue(D{}, is_far)) {
    const V limited = smaller(z, set(7));
    const Rounded k = round(limited * set(8));
    near = series<tables::gamma_degree>(tables::gamma_rows, k.integer,
                                        {limited - k.number * set(1 / 8.), set(0)});
    if (hn::AllFalse(D{}, is_far)) return near;
  }
  // Stirling: (x - 1/2) (log(x) - 1) + (log(2 pi) - 1) / 2 + ...
  x = select(is_far, x, {set(8), set(0)});
  const DD log_of_x = natural(reduce(x));
  const DD l = sum_of_ordered(log_of_x.hi, log_of_x.lo);
  const V inverse = set(1) / x.hi;
  const V w = inverse * inverse;
  const V correction = inverse * (set(tables::twelfth) + w * polynomial(w, tables::stirling));
  const DD half_less = sum_of_ordered(x.hi, set(-0.5));
  const DD one_less = sum_of_ordered(l.hi, set(-1));
  const DD p = product(half_less.hi, one_less.hi);
  const V rest = half_less.hi * (one_less.lo + l.lo) + (half_less.lo + x.lo) * one_less.hi;
  const DD constant = set(tables::half_log_two_pi_less_half);
  const DD total = sum_of_ordered(p.hi, constant.hi);
  const V low = total.lo + ((p.lo + rest) + (constant.lo + correction));
  return select(is_far, sum_of_ordered(total.hi, low), near);
}

// For x, or for 1 + |x|.
HWY_INLINE DD log_gamma_above_one(V x, M as_it_is) {
  const DD one_more = sum(hn::Abs(x), set(1));
  return log_gamma_above_one(select(as_it_is, x - set(1), hn::Abs(x)),
                             select(as_it_is, {x, set(0)}, one_more));
}

// sin(pi x), |x| < 2^60.
HWY_INLINE DD sine_of_turns(V x) {
  const V half = hn::Trunc(x * set(0.5));
  x = x - (half + half);
  const Rounded k = round(x * set(64));
  const DD rest = multiply(set(tables::pi), x - k.number * set(1 / 64.));
  return sine_of(k.integer, rest, bends_of(rest.hi));
}

// The branches of both functions: log gamma itself for x >= 1, gamma(x) = gamma(1 + x) / x from 0 to 1,
// gamma(x) gamma(1 - x) = pi / sin(pi x) below.
struct Tgamma {
  static HWY_INLINE V run(V x) {
    const V limited = within(x, -190, 180);
    const M is_above = hn::Ge(limited, set(1));
    const M is_negative = hn::Lt(limited, hn::Zero(D{}));
    const DD l = log_gamma_above_one(limited, is_above);
    const Scaled e = exponential(select(is_negative, negate(l), l));
    DD value = e.value;
    const M is_below = hn::Not(is_above);
    if (!hn::AllFalse(D{}, is_below)) {
      const DD reflected = divide(multiply(value, set(tables::pi)), sine_of_turns(limited));
      const DD quotient =
          divide(value, {select(hn::Lt(hn::Abs(limited), set(0x1p-60)), set(1), limited), set(0)});
      value = select(is_below, select(is_negative, reflected, quotient), value);
    }
    V result = scale_by(rounded(value), e.exponent);
    result = select(hn::Gt(x, set(172)), infinity(), result);
    // Close to 0 it is 1/x.
    result = select(hn::Lt(hn::Abs(x), set(0x1p-60)), set(1) / x, result);
    const M pole = hn::And(is_negative, is_integer(x));
    result = select(hn::Or(pole, hn::Eq(x, hn::Neg(infinity()))), not_a_number(), result);
    return keep_nan(x, tiny_below(x, result));
  }
  // Below -186 the result is 0 with the sign of the sine.
  static HWY_INLINE V tiny_below(V x, V result) {
    const M is_low = hn::And(hn::Lt(x, set(-186)), hn::Not(is_integer(x)));
    const V floor = hn::Floor(x);
    const V zero = select(is_integer(floor * set(0.5)), hn::Zero(D{}), hn::Neg(hn::Zero(D{})));
    return select(is_low, zero, result);
  }
};

struct Lgamma {
  static HWY_INLINE V run(V x) {
    const M is_negative = hn::Lt(x, hn::Zero(D{}));
    const M is_above = hn::Ge(x, set(1));
    const M is_huge = hn::Not(hn::Lt(hn::Abs(x), set(0x1p60)));
    const V limited = select(is_huge, set(2), x);
    const DD l = log_gamma_above_one(limited, is_above);
    V result = l.hi;
    if (!hn::AllTrue(D{}, is_above)) {
      const V a = usable(hn::Abs(limited));
      DD sine = {set(1), hn::Zero(D{})};
      if (!hn::AllFalse(D{}, is_negative)) {
        sine = sine_of_turns(select(is_negative, limited, set(0.5)));
        sine = select(hn::Lt(sine.hi, hn::Zero(D{})), negate(sine), sine);
      }
      const M is_tiny = hn::Lt(a, set(0x1p-60));
      const DD divisor = select(hn::And(is_negative, hn::Not(is_tiny)), sine, {a, set(0)});
      const M pole = hn::Eq(divisor.hi, hn::Zero(D{}));
      const DD minus = negate(natural_of_any_size(select(pole, {set(1), set(0)}, divisor)));
      const DD below = add(minus, l);
      const DD reflected = add(subtract(set(tables::log_pi), l), minus);
      const V there = select(is_tiny, minus.hi, select(is_negative, reflected.hi, below.hi));
      result = select(is_above, result, select(pole, infinity(), there));
    }
    // x (log(x) - 1), scaled so that the product does not overflow too early.
    if (HWY_UNLIKELY(!hn::AllFalse(D{}, is_huge))) {
      const V up = select(hn::And(is_huge, hn::Lt(x, infinity())), x, set(0x1p60));
      const DD huge = multiply(add(natural_of_any_size({up, set(0)}), set(-1)), up * set(0x1p-60));
      result = select(is_huge, select(is_negative, infinity(), huge.hi * set(0x1p60)), result);
    }
    result = select(hn::Eq(hn::Abs(x), infinity()), infinity(), result);
    return keep_nan(x, select(hn::Eq(x, hn::Zero(D{})), infinity(), result));
  }
};

}  // namespace colonnade::frame::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
