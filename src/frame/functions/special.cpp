// See special.h.
//
// References: W. Gautschi, ACM TOMS 5 (1979) 466; A. Gil, J. Segura and N. Temme, SIAM J. Sci. Comput. 34
// (2012) A2965, for gamma distributions; A. DiDonato and A. Morris, ACM TOMS 18 (1992) 360, for beta
// distributions; C. Loader, "Fast and accurate computation of binomial probabilities" (2000).
#include "frame/functions/special.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>
#include <utility>

namespace colonnade::frame::special {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double epsilon = std::numeric_limits<double>::epsilon() / 4;
constexpr double pi = std::numbers::pi;
constexpr Pair root_of_half = {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55};
// Beyond, gamma functions would overflow, and Stirling's series is short.
constexpr double large = 170;
constexpr int most_terms = 100000;

// log gamma(t) - (t - 1/2) log(t) + t - log(2 pi) / 2 of large numbers.
double stirling(double t) {
  const double w = 1 / (t * t);
  return (1. / 12 - w * (1. / 360 - w * (1. / 1260 - w / 1680))) / t;
}
// The factor exp(-stirling(t)), sqrt(2 pi / t) (t / e)^t / gamma(t), of any positive number.
double without_stirling(double t) {
  if (t > large) return exp(-stirling(t));
  const Pair power = Pair{t} * log(Pair{t}) - Pair{t};
  return std::sqrt(2 * pi / t) * exp(power) / gamma(t);
}

// a log(a / m) + m - a, without cancellation where m is close to a.
Pair deviance(double a, Pair m) {
  const Pair difference = Pair{a} - m;
  const Pair total = Pair{a} + m;
  if (std::abs(difference.hi) < 0.1 * total.hi) {
    const Pair v = difference / total;
    const double w = v.hi * v.hi;
    double term = 2 * a * v.hi;
    double rest = 0;
    for (int k = 3; k < 40; k += 2) {
      term *= w;
      const double next = rest + term / k;
      if (next == rest) break;
      rest = next;
    }
    return difference * v + Pair{rest};
  }
  return Pair{a} * log(Pair{a} / m) - difference;
}

// ---- The gamma distribution

// Both tails for large a and x not far from it, by Temme's expansion.
Tails gamma_by_error_function(double a, double x) {
  // The coefficients of eta / (lambda - 1), eta^2 / 2 = lambda - 1 - log(lambda), in powers of eta.
  static constexpr std::array coefficients = {1.0,
                                              -0.3333333333333333,
                                              0.08333333333333333,
                                              -0.014814814814814815,
                                              0.0011574074074074073,
                                              0.0003527336860670194,
                                              -0.0001787551440329218,
                                              3.919263178522438e-05,
                                              -2.185448510679992e-06,
                                              -1.85406221071516e-06,
                                              8.296711340953087e-07,
                                              -1.7665952736826078e-07,
                                              6.707853543401498e-09,
                                              1.0261809784240309e-08,
                                              -4.382036018453353e-09,
                                              9.14769958223679e-10,
                                              -2.5514193994946248e-11,
                                              -5.830772132550426e-11,
                                              2.4361948020667415e-11,
                                              -5.0276692801141755e-12,
                                              1.1004392031956135e-13,
                                              3.371763262400985e-13};
  const Pair d = deviance(a, {x});
  const double root = std::sqrt(d.hi);
  const double below = d.hi == 0 ? 0 : (std::fma(-root, root, d.hi) + d.lo) / (2 * root);
  const double density = exp(-d);
  const double tail = single(Mathematics::erfc, root) / 2 - density * below / std::sqrt(pi);
  const double eta = std::copysign(std::sqrt(2 * d.hi / a), x - a);
  constexpr std::size_t n = coefficients.size();
  double terms[n];
  terms[n - 1] = 0;
  terms[n - 2] = coefficients[n - 1];
  terms[n - 3] = coefficients[n - 2];
  for (std::size_t m = n - 3; m > 0; --m)
    terms[m - 1] = coefficients[m] + static_cast<double>(m + 1) * terms[m + 1] / a;
  double series = 0;
  for (std::size_t m = n - 1; m-- > 0;) series = terms[m] + eta * series;
  const double rest = density * series / ((1 + terms[1] / a) * std::sqrt(2 * pi * a));
  const double small = x > a ? tail + rest : tail - rest;
  return x > a ? Tails{1 - small, small} : Tails{small, 1 - small};
}

double lower_by_series(double a, double x) {
  double term = 1;
  double total = 1;
  for (int n = 1; n < most_terms && term > epsilon * total; ++n) {
    term *= x / (a + n);
    total += term;
  }
  return poisson(a, x) * total;
}

// The continued fraction of gamma(a, x), as a sum.
double upper_by_fraction(double a, double x) {
  double p = 0;
  double q = (x - 1 - a) * (x + 1 - a);
  double r = 4 * (x + 1 - a);
  double s = 1 - a;
  double rho = 0;
  double term = 1;
  double total = 1;
  for (int n = 1; n < most_terms && std::abs(term) > epsilon * total; ++n) {
    p += s;
    q += r;
    r += 8;
    s += 2;
    const double tau = p * (1 + rho);
    rho = tau / (q - tau);
    term *= rho;
    total += term;
  }
  return a / (x + 1 - a) * total * poisson(a, x);
}

// The upper tail for a and x close to 0, where the lower one is almost 1.
double upper_of_small(double a, double x) {
  // gamma(1 + a) without the error of 1 + a.
  constexpr double slope = -std::numbers::egamma;
  const Pair one_more = sum(1, a);
  const double log_of_gamma = single(Mathematics::lgamma, one_more.hi) + slope * one_more.lo;
  const double u = single(Mathematics::expm1, a * log(x) - log_of_gamma);
  double power = 1;
  double total = 0;
  for (int n = 1; n < 40; ++n) {
    power *= -x / n;
    total += power / (a + n);
  }
  return -u - (1 + u) * a * total;
}

// ---- The beta distribution

// The factor of beta_term() below x, for x at most the mean or so.
double beta_by_series(double x, double a, double b) {
  double term = 1;
  double total = 1;
  for (int n = 0; n < most_terms && term > epsilon * total; ++n) {
    term *= x * ((a + b + n) / (a + 1 + n));
    total += term;
  }
  return total / a;
}
double beta_by_fraction(Pair x, Pair y, double a, double b) {
  const double excess = (Pair{a} * y - Pair{b} * x).hi;  // a - (a + b) x
  const double twice = 1 + y.hi;
  const auto whole = [&](int n) {
    const double even = n == 0 ? 0 : n * (b - n) * x.hi / (a + 2 * n - 1);
    return n + even + (a + n) * (excess + 1 + n * twice) / (a + 2 * n + 1);
  };
  double f = whole(0);
  double c = f;
  double d = 0;
  for (int n = 1; n < most_terms; ++n) {
    const double below = (a + 2 * n - 1) / x.hi;
    const double above = (a + n - 1) / below * ((a + b + n - 1) / below) * n * (b - n);
    const double w = whole(n);
    d = 1 / (w + above * d);
    c = w + above / c;
    const double change = c * d;
    f *= change;
    if (std::abs(change - 1) <= 4 * epsilon) break;
  }
  return 1 / f;
}

}  // namespace

double gamma(double x) {
  const bool is_pole = x <= 0 && std::floor(x) == x;
  return is_pole ? infinity : single(Mathematics::tgamma, x);
}

double gamma_of_sum(double a, double b) {
  const Pair s = sum(a, b);
  const double g = gamma(s.hi);
  if (s.lo == 0 || s.hi < 2) return g;
  const double digamma = log(s.hi) - (0.5 + 1 / (12 * s.hi)) / s.hi;
  return g + g * (digamma * s.lo);
}

double poisson(double a, double x) {
  if (a == 0) return exp(-x);
  if (x == infinity || a == infinity) return a == x ? not_a_number : 0;
  if (a <= large) return exp(Pair{a} * log(Pair{x}) - Pair{x}) / gamma_of_sum(a, 1);
  return exp(-(deviance(a, {x}) + Pair{stirling(a)})) / std::sqrt(2 * pi * a);
}

Tails gamma_tails(double a, double x) {
  if (a <= 0) return {1, 0};
  if (x <= 0) return {0, 1};
  if (std::isnan(a) || std::isnan(x) || (a == infinity && x == infinity)) return {not_a_number, not_a_number};
  if (x == infinity) return {1, 0};
  if (a == infinity) return {0, 1};
  if (a > large && std::abs(x - a) < 0.3 * a) return gamma_by_error_function(a, x);
  if (a < 0.5 && x < 1) {
    const double upper = upper_of_small(a, x);
    return {lower_by_series(a, x), upper};
  }
  if (x < std::max(a, 1.)) {
    const double lower = lower_by_series(a, x);
    return {lower, 1 - lower};
  }
  const double upper = upper_by_fraction(a, x);
  return {1 - upper, upper};
}

double beta_term(Pair x, Pair y, double a, double b) {
  const Pair s = sum(a, b);
  if (s.hi <= large) {
    const Pair power = Pair{a} * log(x) + Pair{b} * log(y);
    // In two steps, since it may be tiny where the other factor is huge.
    const double half = exp(power.hi / 2);
    const double factor = gamma_of_sum(a, b) / (gamma(a) * gamma(b));
    return half * factor * half * (1 + power.lo);
  }
  const Pair deviances = deviance(a, s * x) + deviance(b, s * y);
  const double ratio = without_stirling(a) * without_stirling(b) / without_stirling(s.hi);
  return std::sqrt(a / (2 * pi) * (b / s.hi)) * ratio * exp(-deviances);
}

Tails beta_tails(Pair x, Pair y, double a, double b) {
  if (!(a > 0 && b > 0 && a < infinity && b < infinity) || std::isnan(x.hi) || std::isnan(y.hi))
    return {not_a_number, not_a_number};
  if (x.hi <= 0) return {0, 1};
  if (y.hi <= 0) return {1, 0};
  const bool is_above = x.hi > a / (a + b);
  if (is_above) {
    std::swap(x, y);
    std::swap(a, b);
  }
  const double term = beta_term(x, y, a, b);
  double part = 0;
  if (x.hi * (a + b) < 0.5 * (a + 1) || (b <= 1 && x.hi < 0.9))
    part = term * beta_by_series(x.hi, a, b);
  else if (b <= 1 && y.hi * (a + b) < b + 1)
    part = 1 - term * beta_by_series(y.hi, b, a);
  else
    part = term * beta_by_fraction(x, y, a, b);
  return is_above ? Tails{1 - part, part} : Tails{part, 1 - part};
}

Tails beta_tails(double x, double a, double b) {
  return beta_tails({x}, sum(1, -x), a, b);
}

double beta(double a, double b) {
  const auto log_of_gamma = [](double x) { return single(Mathematics::lgamma, x); };
  if (!(a > 0 && b > 0 && a < infinity && b < infinity))
    return exp(log_of_gamma(a) + log_of_gamma(b) - log_of_gamma(a + b));
  const Pair s = sum(a, b);
  if (s.hi <= large) return gamma(a) * (gamma(b) / gamma_of_sum(a, b));
  const Pair power = Pair{a} * log(Pair{a} / s) + Pair{b} * log(Pair{b} / s);
  const double ratio = without_stirling(s.hi) / (without_stirling(a) * without_stirling(b));
  return std::sqrt(2 * pi / a * (s.hi / b)) * ratio * exp(power);
}

double erf_inverse(double x) {
  const double size = std::abs(x);
  // Three terms of the series.
  if (size < 1e-4) return x * (std::sqrt(pi) / 2) * (1 + pi / 12 * (x * x));
  if (size > 0.5) return std::copysign(erfc_inverse(1 - size), x);
  double y = size * (std::sqrt(pi) / 2) * (1 + size * size * (pi / 12 + size * size * (7 * pi * pi / 480)));
  for (int step = 0; step < 3; ++step) {
    const double slope = 2 / std::sqrt(pi) * exp(-y * y);
    const double u = (size - single(Mathematics::erf, y)) / slope;
    y += u / (1 - u * y);
  }
  return std::copysign(y, x);
}

double erfc_inverse(double x) {
  if (x > 1) return x < 1.5 ? -erf_inverse(x - 1) : -erfc_inverse(2 - x);
  if (x > 0.5) return erf_inverse(1 - x);
  const double t = std::sqrt(-2 * log(x / 2));
  // Hastings' approximation, to 5e-4.
  double y = root_of_half.hi * (t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                                        (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int step = 0; step < 3; ++step) {
    const double slope = 2 / std::sqrt(pi) * exp(-y * y);
    if (slope == 0) break;
    const double u = (single(Mathematics::erfc, y) - x) / slope;
    y += u / (1 - u * y);
  }
  return y;
}

double student(double x, double r) {
  if (std::abs(x) > 1e150) return 0;
  // gamma(a + 1/2) / gamma(a)
  const double a = r / 2;
  const double w = 1 / a;
  const double series =
      1 + w * (-1. / 8 + w * (1. / 128 + w * (5. / 1024 + w * (-21. / 32768 + w * (-399. / 262144)))));
  const double ratio = a < large ? gamma_of_sum(a, 0.5) / gamma(a) : std::sqrt(a) * series;
  const Pair power = sum(a, 0.5) * log(sum(1, 0) + product(x, x) / Pair{r});
  return ratio / std::sqrt(pi * r) * exp(-power);
}

Tails student_tails(double x, double r) {
  if (r == infinity) return normal_tails(x, 1);
  const bool is_far = std::abs(x) > 1e150;
  const Pair square = product(x, x);
  const Pair total = square + Pair{r};
  const Pair inner = is_far ? Pair{0} : Pair{r} / total;
  const Pair outer = is_far ? Pair{1} : square / total;
  const double half = beta_tails(inner, outer, r / 2, 0.5).lower / 2;
  return x > 0 ? Tails{1 - half, half} : Tails{half, 1 - half};
}

double fisher(double x, double n, double m) {
  if (x == 0) return n > 2 ? 0 : n == 2 ? 1 : infinity;
  if (x == infinity) return 0;
  const Pair weight = product(n, x);
  const Pair total = weight + Pair{m};
  return beta_term(weight / total, Pair{m} / total, n / 2, m / 2) / x;
}

Tails fisher_tails(double x, double n, double m) {
  if (n == 0 || m == 0) return {0, 0};
  if (x <= 0) return {0, 1};
  if (x == infinity) return {1, 0};
  const Pair weight = product(n, x);
  const Pair total = weight + Pair{m};
  return beta_tails(weight / total, Pair{m} / total, n / 2, m / 2);
}

Tails normal_tails(double x, double divisor) {
  const double quotient = x / divisor;
  if (!(std::abs(quotient) <= 100) || quotient == 0) {
    const double z = quotient * root_of_half.hi;
    return {single(Mathematics::erfc, -z) / 2, single(Mathematics::erfc, z) / 2};
  }
  const Pair z = Pair{x} / Pair{divisor} * root_of_half;
  // erfc(z + rest) = erfc(z) - 2 / sqrt(pi) exp(-z^2) rest
  const double change = exp(-z.hi * z.hi) / std::sqrt(pi) * z.lo;
  return {single(Mathematics::erfc, -z.hi) / 2 + change, single(Mathematics::erfc, z.hi) / 2 - change};
}

}  // namespace colonnade::frame::special
