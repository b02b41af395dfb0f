// Bessel and Struve functions, and the dilogarithm; see special_more.h.
//
// References: F. Olver and others, NIST Handbook of Mathematical Functions (2010), chapters 10, 11 and 25.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "frame/functions/special_more.h"

namespace colonnade::frame::special {

namespace {

constexpr double pi = std::numbers::pi;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double epsilon = std::numeric_limits<double>::epsilon() / 4;
constexpr double euler = std::numbers::egamma;
// Above, there is something faster than the series.
constexpr double small = 1;

// The sum of q^k / (k! (k + order)!) over k, and that of its terms times H(k) + H(k + order), the harmonic
// numbers.
struct Series {
  double plain = 0;
  double harmonic = 0;
};
Series series(double q, int order) {
  Series sums;
  double term = 1;
  double below = 0;
  double above = order;
  for (int k = 0; k < 40 && std::abs(term) > 0; ++k) {
    sums.plain += term;
    sums.harmonic += term * (below + above);
    below += 1. / (k + 1);
    above += 1. / (k + 1 + order);
    term *= q / ((k + 1.) * (k + 1 + order));
  }
  return sums;
}

Cylinder by_series(int order, double x) {
  const Series sums = series(-x * x / 4, order);
  const double half = order == 0 ? 1 : x / 2;
  const double j = half * sums.plain;
  const double pole = order == 0 ? 0 : 1 / x;
  return {j, (2 * (log(x / 2) + euler) * j - half * sums.harmonic - 2 * pole) / pi};
}

// From Hankel's integral over exp(-x v^2) v^(2 order) (1 + i v^2 / 2)^(order - 1/2).
Cylinder by_integral(int order, double x) {
  const double step = std::min(1. / 6, 0.45 / std::sqrt(x));
  const int last = static_cast<int>(std::sqrt(45 / x) / step);
  double re = 0;
  double im = 0;
  for (int n = 0; n <= last; ++n) {
    const double v = n * step;
    const double s = v * v / 2;
    const double size = std::sqrt(1 + s * s);
    const double root_re = std::sqrt((size + 1) / 2);
    const double root_im = s / (2 * root_re);
    const double fall = exp(-x * v * v) * (n == 0 ? 1 : 2);
    const double factor = order == 0 ? fall / size : fall * v * v * 2 * x;
    re += factor * root_re;
    im += (order == 0 ? -factor : factor) * root_im;
  }
  const double scale = step * std::sqrt(2.) / pi;
  const double sine = single(Mathematics::sin, x) * std::numbers::sqrt2 / 2;
  const double cosine = single(Mathematics::cos, x) * std::numbers::sqrt2 / 2;
  // Of x - pi / 4, or x - 3 pi / 4.
  const double c = order == 0 ? cosine + sine : sine - cosine;
  const double s = order == 0 ? sine - cosine : -(cosine + sine);
  return {scale * (re * c - im * s), scale * (re * s + im * c)};
}

// K of order 0 and 1.
std::array<double, 2> modified(double x) {
  if (x < small) {
    const Series of_0 = series(x * x / 4, 0);
    const Series of_1 = series(x * x / 4, 1);
    const double l = log(x / 2) + euler;
    return {of_0.harmonic / 2 - l * of_0.plain, 1 / x + x / 2 * (l * of_1.plain - of_1.harmonic / 2)};
  }
  if (x == infinity) return {0, 0};
  // The integral of exp(-x cosh(t)) cosh(order t).
  const double step = std::min(0.125, 0.6 / std::sqrt(x));
  std::array<double, 2> sums = {0.5, 0.5};
  for (int n = 1; n < 100; ++n) {
    const double sinh_half = single(Mathematics::sinh, n * step / 2);
    const double rise = 2 * sinh_half * sinh_half;
    const double fall = exp(-x * rise);
    sums[0] += fall;
    sums[1] += fall * (1 + rise);
    if (x * rise > 45) break;
  }
  const double scale = step * exp(-x);
  return {scale * sums[0], scale * sums[1]};
}

}  // namespace

Cylinder bessel(int order, double x) {
  const double size = std::abs(x);
  if (std::isnan(x)) return {x, x};
  if (size == infinity) return {0, 0};
  const double sign = x < 0 && order == 1 ? -1 : 1;
  if (size == 0) return {order == 0 ? 1. : x, -infinity};
  const Cylinder found = size < small ? by_series(order, size) : by_integral(order, size);
  return {sign * found.j, found.y};
}

double bessel_i(double n, double x) {
  const double size = std::abs(x);
  if (std::isnan(x)) return x;
  if (x == 0) return n == 0 ? 1 : 0;
  const double sign = x < 0 && std::fmod(n, 2) == 1 ? -1 : 1;
  if (size > 1500 && size > n) return sign * infinity;
  // The power over the factorial, which both may overflow.
  const double term_of_0 = n < 20 ? [&] {
    double product = 1;
    for (double k = 1; k <= n; ++k) product *= size / 2 / k;
    return product;
  }()
                                  : exp(n * log(size / 2) - single(Mathematics::lgamma, n + 1));
  double term = 1;
  double total = 1;
  const double q = size / 2 * (size / 2);
  for (double k = 1; k < 3000 && term > epsilon * total; ++k) {
    term *= q / (k * (k + n));
    total += term;
  }
  return sign * term_of_0 * total;
}

double bessel_k(double n, double x) {
  if (std::isnan(x)) return x;
  auto [below, above] = modified(x);
  if (n == 0) return below;
  for (double k = 1; k < n && above < infinity; ++k) {
    const double next = below + 2 * k / x * above;
    below = above;
    above = next;
  }
  return above;
}

double struve_h(int order, double x) {
  const double size = std::abs(x);
  if (std::isnan(x)) return x;
  if (size == infinity) return order == 0 ? 0 : 2 / pi;
  const double sign = order == 0 && x < 0 ? -1 : 1;
  if (size > 36) {
    // What remains beside Y is a short series in 1 / x^2.
    double term = order == 0 ? 1 / size : 1;
    double total = 0;
    for (int k = 0; k < 20 && std::abs(term) > epsilon; ++k) {
      total += term;
      const double odd = 2 * k + 1;
      term *= -(order == 0 ? odd * odd : odd * (odd - 2)) / size / size;
    }
    return sign * (bessel(order, size).y + 2 / pi * total);
  }
  // The terms cancel: their sum needs twice the digits.
  const Pair square = product(size, size);
  Pair term = order == 0 ? Pair{size} : square / Pair{3};
  Pair total = term;
  for (double odd = 3; odd < 400 && std::abs(term.hi) > 1e-18; odd += 2) {
    term = -(term * (square / Pair{order == 0 ? odd * odd : odd * (odd + 2)}));
    total = total + term;
  }
  return sign * 2 / pi * total.hi;
}

double struve_l(int order, double x) {
  const double size = std::abs(x);
  if (std::isnan(x)) return x;
  const double sign = order == 0 && x < 0 ? -1 : 1;
  if (size > 1500) return sign * infinity;
  double term = order == 0 ? size : size * size / 3;
  double total = term;
  for (double odd = 3; odd < 6000 && term > epsilon * total; odd += 2) {
    term *= size / odd * (size / (order == 0 ? odd : odd + 2));
    total += term;
  }
  return sign * 2 / pi * total;
}

double dilogarithm(double x) {
  if (std::isnan(x)) return x;
  constexpr double sixth = pi * pi / 6;
  if (std::abs(x) > 1) {
    const double l = log(std::abs(x));
    return (x > 0 ? 2 * sixth : -sixth) - l * l / 2 - dilogarithm(1 / x);
  }
  if (x == 1) return sixth;
  if (x > 0.5) return sixth - log(x) * single(Mathematics::log1p, -x) - dilogarithm(1 - x);
  // Bernoulli's numbers over factorials, B(2k) / (2k + 1)!.
  static constexpr std::array coefficients = {1. / 36,
                                              -1. / 3600,
                                              1. / 211680,
                                              -1. / 10886400,
                                              1. / 526901760,
                                              -4.0647616451442255e-11,
                                              8.9216910204564526e-13,
                                              -1.9939295860721076e-14,
                                              4.518980029619918e-16,
                                              -1.035651761218125e-17};
  const double u = -single(Mathematics::log1p, -x);
  double total = 0;
  for (std::size_t k = coefficients.size(); k-- > 0;) total = (total + coefficients[k]) * u * u;
  return u * (1 - u / 4 + total);
}

}  // namespace colonnade::frame::special
