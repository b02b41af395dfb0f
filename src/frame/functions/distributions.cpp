// Gamma functions and distributions of TMath and ROOT::Math.
//
// The functions are those of ROOT, and so are results for arguments outside of their domains. special.h
// computes them, more exactly than ROOT does.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string_view>
#include <utility>

#include "frame/functions/defaults.h"
#include "frame/functions/math.h"
#include "frame/functions/special.h"

namespace colonnade::frame {

namespace {

using math::natural;
using math::of;
using math::whole;
using special::beta_tails;
using special::exp;
using special::gamma_tails;
using special::log;
using special::normal_tails;
using special::Pair;

constexpr double pi = std::numbers::pi;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

double power(double x, double y) {
  const Operand operands[] = {{&x, false}, {&y, false}};
  double result = 0;
  math_loop(Mathematics::pow, ElementType::float64)(1, operands, &result);
  return result;
}

// ---- Densities

double normal(double x, double sigma) {
  const double z = x / sigma;
  return 1 / (std::sqrt(2 * pi) * std::abs(sigma)) * exp(-z * z / 2);
}

double lognormal(double x, double m, double s) {
  if (x <= 0) return 0;
  const double z = (log(x) - m) / s;
  return 1 / (x * std::abs(s) * std::sqrt(2 * pi)) * exp(-(z * z) / 2);
}

// x^(alpha - 1) exp(-x) / gamma(alpha)
double gamma_density(double x, double alpha) {
  if (alpha == 1) return exp(-x);
  if (x == 0 || alpha == infinity) return alpha > 1 ? 0 : infinity;
  if (!(alpha > 0)) return exp((alpha - 1) * log(x) - x - single(Mathematics::lgamma, alpha));
  return special::poisson(alpha, x) * (alpha / x);
}
double chisquared(double x, double r) {
  if (x < 0 || r == 0) return 0;
  return gamma_density(x / 2, r / 2) / 2;
}
double gamma_pdf(double x, double alpha, double theta) {
  if (x < 0 || (x == 0 && alpha != 1)) return 0;
  return gamma_density(x / theta, alpha) / theta;
}

double poisson(double x, double mean) {
  if (mean < 0 || std::isnan(x)) return not_a_number;
  if (x < 0) return 0;
  if (x == 0) return exp(-mean);
  return mean == 0 ? 0 : special::poisson(x, mean);
}

double beta_pdf(double x, double a, double b) {
  if (x < 0 || x > 1) return 0;
  if (x == 0 && a != 1) return a < 1 ? infinity : 0;
  if (x == 1 && b != 1) return b < 1 ? infinity : 0;
  if (x == 0) return b;
  if (x == 1) return a;
  if (!(a > 0 && b > 0)) return power(x, a - 1) * power(1 - x, b - 1) / special::beta(a, b);
  const Pair y = special::sum(1, -x);
  return special::beta_term({x}, y, a, b) / (x * y.hi);
}

double binomial(double k, double p, double n) {
  if (k > n) return 0;
  if (!(p >= 0 && p <= 1)) return not_a_number;
  if (p == 0 || p == 1) return k == n * p ? 1 : 0;
  const double rest = n - k;
  if (k == 0) return power(1 - p, n);
  if (rest == 0) return power(p, n);
  return special::beta_term({p}, special::sum(1, -p), k, rest) * (n / k / rest);
}

double fisher(double x, double n, double m) {
  if (n < 0 || m < 0) return not_a_number;
  return x < 0 ? 0 : special::fisher(x, n, m);
}

double cauchy(double x, double b) {
  return b / (pi * (x * x + b * b));
}

double crystal_ball(double x, double alpha, double n, double sigma) {
  if (sigma < 0) return 0;
  const double z = alpha < 0 ? -x / sigma : x / sigma;
  const double border = std::abs(alpha);
  if (z > -border) return exp(-0.5 * z * z);
  const double ratio = n / border;
  return exp(-0.5 * border * border) * power(ratio / (ratio - border - z), n);
}
double crystal_ball_pdf(double x, double alpha, double n, double sigma) {
  if (sigma < 0) return 0;
  if (n <= 1) return not_a_number;
  const double border = std::abs(alpha);
  const double tail = n / border / (n - 1) * exp(-alpha * alpha / 2);
  const double core = std::sqrt(pi / 2) * (1 + single(Mathematics::erf, border / std::sqrt(2.)));
  return crystal_ball(x, alpha, n, sigma) / (sigma * (tail + core));
}

// ---- Integrals

double inc_beta(double x, double a, double b) {
  if (a <= 0 || b <= 0 || x <= 0) return 0;
  return x >= 1 ? 1 : beta_tails(x, a, b).lower;
}
double inc_beta_c(double x, double a, double b) {
  if (a <= 0 || b <= 0 || x >= 1) return 0;
  return x <= 0 ? 1 : beta_tails(x, a, b).upper;
}
double arc(double x) {
  return single(Mathematics::atan, x) / pi;
}
// Without cancellation for x far above 0.
double arc_above(double x) {
  return x > 0 ? arc(1 / x) : 0.5 - arc(x);
}
double student_up_to(double x, double r) {
  return r <= 0 ? (x > 0 ? 1 : 0) : special::student_tails(x, r).lower;
}
double kolmogorov(double z) {
  const double u = std::abs(z);
  if (std::isnan(u)) return 0;
  if (u < 0.2) return 1;
  if (u > 20) return 0;
  double total = 0;
  if (u < 1) {
    const double unit = -pi * pi / (8 * u * u);
    for (int k = 9; k > 0; k -= 2) total += exp(unit * (k * k));
    return 1 - std::sqrt(2 * pi) / u * total;
  }
  for (int j = 6; j > 0; --j) total += (j % 2 == 1 ? 2 : -2) * exp(-2.0 * (j * j) * (u * u));
  return total;
}

// ---- The table

void add_gamma(std::vector<Function>& table) {
  using math::of_double_kernel;
  table.push_back(of_double_kernel("ROOT::Math::erf", 1, Mathematics::erf));
  table.push_back(of_double_kernel("ROOT::Math::erfc", 1, Mathematics::erfc));
  table.push_back(of_double_kernel("ROOT::Math::expm1", 1, Mathematics::expm1));
  table.push_back(of_double_kernel("ROOT::Math::log1p", 1, Mathematics::log1p));
  table.push_back(of_double_kernel("ROOT::Math::lgamma", 1, Mathematics::lgamma));
  table.push_back(of_double_kernel("TMath::LnGamma", 1, Mathematics::lgamma));
  const auto gamma = [](double x) { return special::gamma(x); };
  const auto lower = [](double a, double x) { return gamma_tails(a, x).lower; };
  table.push_back(math::by_count(
      "TMath::Gamma", "TMath::Gamma(x), or TMath::Gamma(a, x)",
      {math::of_doubles<1>("TMath::Gamma", gamma), math::of_doubles<2>("TMath::Gamma", lower)}, 1));
  table.push_back(of("ROOT::Math::tgamma", "x", gamma));
  table.push_back(of("ROOT::Math::inc_gamma", "a, x", lower));
  table.push_back(
      of("ROOT::Math::inc_gamma_c", "a, x", [](double a, double x) { return gamma_tails(a, x).upper; }));
  const auto beta = [](double a, double b) { return special::beta(a, b); };
  const auto incomplete = [](double x, double a, double b) { return inc_beta(x, a, b); };
  for (const char* const name : {"TMath::Beta", "ROOT::Math::beta"}) table.push_back(of(name, "a, b", beta));
  for (const char* const name : {"TMath::BetaIncomplete", "ROOT::Math::inc_beta"})
    table.push_back(of(name, "x, a, b", incomplete));
  table.push_back(
      of("TMath::ErfInverse", "x", [](double x) { return std::abs(x) < 1 ? special::erf_inverse(x) : 0; }));
  table.push_back(of("TMath::ErfcInverse", "x", [](double x) {
    if (std::isnan(x)) return x;
    return x > 0 && x < 2 && x != 1 ? special::erfc_inverse(x) : -0.0;
  }));
  table.push_back(of("TMath::Factorial", "n", [](double n) {
    double product = 1;
    for (double k = std::min(whole(n), 171.); k > 1; --k) product *= k;
    return product;
  }));
  table.push_back(of("TMath::Binomial", "n, k", [](double of_n, double of_k) {
    const double n = whole(of_n);
    const double k = whole(of_k);
    if (n < 0 || k < 0 || n < k) return not_a_number;
    const double less = std::min(k, n - k);
    if (less == 0) return 1.;
    double product = n - less + 1;
    for (double i = less; i > 1 && product < infinity; --i) product *= (n - less + i) / i;
    return product;
  }));
}

void add_tmath(std::vector<Function>& table) {
  table.push_back(of("TMath::Prob", "chi2, ndf", [](double chi2, double ndf) {
    const double n = whole(ndf);
    return n <= 0 || chi2 < 0 ? 0 : gamma_tails(n / 2, chi2 / 2).upper;
  }));
  table.push_back(of("TMath::Freq", "x", [](double x) { return normal_tails(x, 1).lower; }));
  table.push_back(of("TMath::NormQuantile", "p", [](double p) {
    if (std::isnan(p)) return p;
    return p > 0 && p < 1 && p != 0.5 ? -std::numbers::sqrt2 * special::erfc_inverse(2 * p) : 0;
  }));
  table.push_back(of("TMath::Poisson", "x, mean", [](double x, double mean) { return poisson(x, mean); }));
  table.push_back(
      of("TMath::PoissonI", "x, mean", [](double x, double mean) { return poisson(whole(x), mean); }));
  table.push_back(of("TMath::BinomialI", "p, n, k", [](double p, double of_n, double of_k) {
    const double n = whole(of_n);
    const double k = whole(of_k);
    if (k <= 0) return 1.;
    return k > n ? 0. : (k == n ? power(p, n) : inc_beta(p, k, n - k + 1));
  }));
  table.push_back(of("TMath::Student", "t, ndf",
                     [](double t, double ndf) { return ndf < 1 ? 0 : special::student(t, ndf); }));
  table.push_back(
      of("TMath::StudentI", "t, ndf", [](double t, double ndf) { return student_up_to(t, ndf); }));
  table.push_back(of("TMath::BetaDist", "x, p, q",
                     [](double x, double p, double q) { return p <= 0 || q <= 0 ? 0 : beta_pdf(x, p, q); }));
  table.push_back(of("TMath::BetaDistI", "x, p, q",
                     [](double x, double p, double q) { return x > 1 ? 0 : inc_beta(x, p, q); }));
  table.push_back(
      of("TMath::FDist", "f, n, m", [](double f, double n, double m) { return fisher(f, n, m); }));
  table.push_back(of("TMath::FDistI", "f, n, m", [](double f, double n, double m) {
    return n < 0 || m < 0 ? not_a_number : special::fisher_tails(f, n, m).lower;
  }));
  table.push_back(of<0, 1>("TMath::GammaDist", "x, gamma, mu = 0, beta = 1",
                           [](double x, double gamma, double mu, double beta) {
                             return gamma <= 0 || beta <= 0 ? 0 : gamma_pdf(x - mu, gamma, beta);
                           }));
  table.push_back(of<0, 1>(
      "TMath::LaplaceDist", "x, alpha = 0, beta = 1",
      [](double x, double alpha, double beta) { return exp(-std::abs((x - alpha) / beta)) / (2 * beta); }));
  table.push_back(
      of<0, 1>("TMath::LaplaceDistI", "x, alpha = 0, beta = 1", [](double x, double alpha, double beta) {
        const double tail = exp(-std::abs((x - alpha) / beta)) / 2;
        return x <= alpha ? tail : 1 - tail;
      }));
  table.push_back(of<0, 1>("TMath::LogNormal", "x, sigma, theta = 0, m = 1",
                           [](double x, double sigma, double theta, double m) {
                             return sigma <= 0 || m <= 0 ? 0 : lognormal(x - theta, log(m), sigma);
                           }));
  table.push_back(of<0, 1>("TMath::CauchyDist", "x, t = 0, s = 1", [](double x, double t, double s) {
    return 1 / (s * pi * (1 + (x - t) * (x - t) / (s * s)));
  }));
  table.push_back(of<0, 1>("TMath::BreitWignerRelativistic", "x, median = 0, gamma = 1",
                           [](double x, double median, double gamma) {
                             const double square = median * median;
                             const double scale = median * gamma;
                             const double y = std::sqrt(square * (square + gamma * gamma));
                             const double k =
                                 2 * std::numbers::sqrt2 / pi * scale * y / std::sqrt(square + y);
                             const double distance = x * x - square;
                             return k / (distance * distance + scale * scale);
                           }));
  table.push_back(of("TMath::KolmogorovProb", "z", [](double z) { return kolmogorov(z); }));
}

void add_densities(std::vector<Function>& table) {
  const auto add = [&]<int... defaults, class F>(const char* name, const char* parameters, F f,
                                                 std::integer_sequence<int, defaults...>) {
    table.push_back(of<defaults...>(std::string("ROOT::Math::") + name, parameters, f));
  };
  constexpr std::integer_sequence<int> none;
  constexpr std::integer_sequence<int, 0> zero;
  constexpr std::integer_sequence<int, 1, 0> one_and_zero;
  for (const char* const name : {"normal_pdf", "gaussian_pdf"})
    add(
        name, "x, sigma = 1, x0 = 0", [](double x, double sigma, double x0) { return normal(x - x0, sigma); },
        one_and_zero);
  add(
      "lognormal_pdf", "x, m, s, x0 = 0",
      [](double x, double m, double s, double x0) { return lognormal(x - x0, m, s); }, zero);
  add(
      "exponential_pdf", "x, lambda, x0 = 0",
      [](double x, double lambda, double x0) { return x - x0 < 0 ? 0 : lambda * exp(-lambda * (x - x0)); },
      zero);
  add(
      "chisquared_pdf", "x, r, x0 = 0", [](double x, double r, double x0) { return chisquared(x - x0, r); },
      zero);
  add(
      "gamma_pdf", "x, alpha, theta, x0 = 0",
      [](double x, double alpha, double theta, double x0) { return gamma_pdf(x - x0, alpha, theta); }, zero);
  add("poisson_pdf", "n, mu", [](double n, double mu) { return poisson(natural(n), mu); }, none);
  add(
      "binomial_pdf", "k, p, n",
      [](double k, double p, double n) { return binomial(natural(k), p, natural(n)); }, none);
  add("beta_pdf", "x, a, b", [](double x, double a, double b) { return beta_pdf(x, a, b); }, none);
  add(
      "breitwigner_pdf", "x, gamma, x0 = 0",
      [](double x, double gamma, double x0) { return cauchy(x - x0, gamma / 2); }, zero);
  add(
      "cauchy_pdf", "x, b = 1, x0 = 0", [](double x, double b, double x0) { return cauchy(x - x0, b); },
      one_and_zero);
  add(
      "tdistribution_pdf", "x, r, x0 = 0",
      [](double x, double r, double x0) { return special::student(x - x0, r); }, zero);
  add(
      "fdistribution_pdf", "x, n, m, x0 = 0",
      [](double x, double n, double m, double x0) { return fisher(x - x0, n, m); }, zero);
  add(
      "uniform_pdf", "x, a, b, x0 = 0",
      [](double x, double a, double b, double x0) { return x - x0 < b && x - x0 >= a ? 1 / (b - a) : 0; },
      zero);
  add(
      "crystalball_function", "x, alpha, n, sigma, mean = 0",
      [](double x, double alpha, double n, double sigma, double mean) {
        return crystal_ball(x - mean, alpha, n, sigma);
      },
      zero);
  add(
      "crystalball_pdf", "x, alpha, n, sigma, mean = 0",
      [](double x, double alpha, double n, double sigma, double mean) {
        return crystal_ball_pdf(x - mean, alpha, n, sigma);
      },
      zero);
}

void add_integrals(std::vector<Function>& table) {
  // Each with its complement.
  const auto add = [&]<int... defaults, class F, class G>(const char* name, const char* parameters, F lower,
                                                          G upper, std::integer_sequence<int, defaults...>) {
    table.push_back(of<defaults...>(std::string("ROOT::Math::") + name + "_cdf", parameters, lower));
    table.push_back(of<defaults...>(std::string("ROOT::Math::") + name + "_cdf_c", parameters, upper));
  };
  constexpr std::integer_sequence<int> none;
  constexpr std::integer_sequence<int, 0> zero;
  constexpr std::integer_sequence<int, 1, 0> one_and_zero;
  add(
      "normal", "x, sigma = 1, x0 = 0",
      [](double x, double sigma, double x0) { return normal_tails(x - x0, sigma).lower; },
      [](double x, double sigma, double x0) { return normal_tails(x - x0, sigma).upper; }, one_and_zero);
  add(
      "lognormal", "x, m, s, x0 = 0",
      [](double x, double m, double s, double x0) { return normal_tails(log(x - x0) - m, s).lower; },
      [](double x, double m, double s, double x0) { return normal_tails(log(x - x0) - m, s).upper; }, zero);
  add(
      "exponential", "x, lambda, x0 = 0",
      [](double x, double lambda, double x0) {
        return x - x0 < 0 ? 0 : -single(Mathematics::expm1, -lambda * (x - x0));
      },
      [](double x, double lambda, double x0) { return x - x0 < 0 ? 1 : exp(-lambda * (x - x0)); }, zero);
  add(
      "chisquared", "x, r, x0 = 0",
      [](double x, double r, double x0) { return gamma_tails(r / 2, (x - x0) / 2).lower; },
      [](double x, double r, double x0) { return gamma_tails(r / 2, (x - x0) / 2).upper; }, zero);
  add(
      "gamma", "x, alpha, theta, x0 = 0",
      [](double x, double alpha, double theta, double x0) {
        return gamma_tails(alpha, (x - x0) / theta).lower;
      },
      [](double x, double alpha, double theta, double x0) {
        return gamma_tails(alpha, (x - x0) / theta).upper;
      },
      zero);
  add(
      "poisson", "n, mu", [](double n, double mu) { return gamma_tails(natural(n) + 1, mu).upper; },
      [](double n, double mu) { return gamma_tails(natural(n) + 1, mu).lower; }, none);
  add(
      "binomial", "k, p, n",
      [](double of_k, double p, double of_n) {
        const double k = natural(of_k);
        const double n = natural(of_n);
        return k >= n ? 1 : inc_beta_c(p, k + 1, n - k);
      },
      [](double of_k, double p, double of_n) {
        const double k = natural(of_k);
        const double n = natural(of_n);
        return k >= n ? 0 : inc_beta(p, k + 1, n - k);
      },
      none);
  add(
      "beta", "x, a, b", [](double x, double a, double b) { return inc_beta(x, a, b); },
      [](double x, double a, double b) { return inc_beta_c(x, a, b); }, none);
  add(
      "breitwigner", "x, gamma, x0 = 0",
      [](double x, double gamma, double x0) { return arc_above(-(2 * (x - x0) / gamma)); },
      [](double x, double gamma, double x0) { return arc_above(2 * (x - x0) / gamma); }, zero);
  add(
      "cauchy", "x, b, x0 = 0", [](double x, double b, double x0) { return arc_above(-((x - x0) / b)); },
      [](double x, double b, double x0) { return arc_above((x - x0) / b); }, zero);
  add(
      "tdistribution", "x, r, x0 = 0",
      [](double x, double r, double x0) { return r <= 0 ? 0.5 : special::student_tails(x - x0, r).lower; },
      [](double x, double r, double x0) { return r <= 0 ? 0.5 : special::student_tails(x - x0, r).upper; },
      zero);
  add(
      "fdistribution", "x, n, m, x0 = 0",
      [](double x, double n, double m, double x0) {
        return n < 0 || m < 0 ? not_a_number : special::fisher_tails(x - x0, n, m).lower;
      },
      [](double x, double n, double m, double x0) {
        return n < 0 || m < 0 ? not_a_number : special::fisher_tails(x - x0, n, m).upper;
      },
      zero);
  add(
      "uniform", "x, a, b, x0 = 0",
      [](double x, double a, double b, double x0) {
        const double t = x - x0;
        return t < a ? 0. : (t >= b ? 1. : (t - a) / (b - a));
      },
      [](double x, double a, double b, double x0) {
        const double t = x - x0;
        return t < a ? 1. : (t >= b ? 0. : (b - t) / (b - a));
      },
      zero);
}

// x of a probability; infinite beyond 0 and 1.
double normal_quantile(double p, double sigma) {
  if (p <= 0 || p >= 1) return (p <= 0 ? -infinity : infinity) * sigma;
  return -std::numbers::sqrt2 * special::erfc_inverse(2 * p) * sigma;
}

void add_quantiles(std::vector<Function>& table) {
  for (const char* const name : {"ROOT::Math::normal_quantile", "ROOT::Math::gaussian_quantile"})
    table.push_back(of(name, "p, sigma", [](double p, double sigma) { return normal_quantile(p, sigma); }));
  for (const char* const name : {"ROOT::Math::normal_quantile_c", "ROOT::Math::gaussian_quantile_c"})
    table.push_back(of(name, "p, sigma", [](double p, double sigma) { return -normal_quantile(p, sigma); }));
}

}  // namespace

std::vector<Function> distribution_functions() {
  std::vector<Function> table;
  add_gamma(table);
  add_tmath(table);
  add_densities(table);
  add_integrals(table);
  add_quantiles(table);
  return table;
}

}  // namespace colonnade::frame
