// Quantiles, and distributions and functions that are computed by special_more.h.
//
// As in distributions.cpp, results for arguments outside of a function's domain are those of ROOT.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>

#include "frame/functions/defaults.h"
#include "frame/functions/special_more.h"

namespace colonnade::frame {

namespace {

using math::natural;
using math::of;
using math::whole;
using special::exp;
using special::log;
using special::Pair;
using special::Tails;

constexpr double pi = std::numbers::pi;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// A probability and its complement, of which one was given.
struct Share {
  double below = 0;
  double above = 0;
};
Share up_to(double p) {
  return {p, 1 - p};
}
Share from(double p) {
  return {1 - p, p};
}

// ---- Quantiles

// The least positive number with at least the share below it. Halving the numbers by their bits takes 63
// steps for any distribution, and finds all of them.
template <class F>
double positive_quantile(F tails, Share share) {
  std::int64_t low = 0;
  std::int64_t high = std::bit_cast<std::int64_t>(infinity);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const Tails found = tails(std::bit_cast<double>(middle));
    const bool is_enough = share.below < 0.5 ? found.lower >= share.below : found.upper <= share.above;
    (is_enough ? high : low) = is_enough ? middle : middle + 1;
  }
  return std::bit_cast<double>(low);
}

// The same for distributions from minus infinity on; 0 and 1 have infinite quantiles.
template <class F>
double quantile(F tails, Share share) {
  if (std::isnan(share.below)) return share.below;
  if (share.below <= 0 || share.above <= 0) return share.below <= 0 ? -infinity : infinity;
  const Tails middle = tails(0);
  if (share.below < 0.5 ? middle.lower < share.below : middle.upper > share.above)
    return positive_quantile(tails, share);
  const auto mirrored = [&](double x) {
    const Tails found = tails(-x);
    return Tails{found.upper, found.lower};
  };
  return -positive_quantile(mirrored, Share{share.above, share.below});
}

double gamma_quantile(double alpha, Share share) {
  if (std::isnan(share.below) || std::isnan(alpha)) return not_a_number;
  if (alpha <= 0 || share.below <= 0) return 0;
  if (share.above <= 0) return infinity;
  return positive_quantile([=](double x) { return special::gamma_tails(alpha, x); }, share);
}

double beta_quantile(double a, double b, Share share) {
  if (std::isnan(share.below) || std::isnan(a) || std::isnan(b)) return not_a_number;
  if (a <= 0 || b <= 0 || share.below <= 0) return 0;
  if (share.above <= 0) return 1;
  const auto tails = [=](double x) { return x >= 1 ? Tails{1, 0} : special::beta_tails(x, a, b); };
  return positive_quantile(tails, share);
}

double fisher_quantile(double n, double m, Share share) {
  if (std::isnan(share.below) || std::isnan(n) || std::isnan(m)) return not_a_number;
  if (n <= 0 || m <= 0 || share.below <= 0) return 0;
  if (share.above <= 0) return infinity;
  return positive_quantile([=](double x) { return special::fisher_tails(x, n, m); }, share);
}

double student_quantile(double r, Share share) {
  if (!(share.below >= 0 && share.above >= 0 && r > 0)) return not_a_number;
  if (share.below == share.above) return 0;
  const bool is_left = share.below < share.above;
  const Share right = is_left ? Share{share.above, share.below} : share;
  const double x = right.above == 0
                       ? infinity
                       : positive_quantile([=](double at) { return special::student_tails(at, r); }, right);
  return is_left ? -x : x;
}

double landau_quantile(double xi, Share share) {
  return xi <= 0 ? 0 : xi * quantile([](double x) { return special::landau_tails(x); }, share);
}

double cauchy_quantile(double b, Share share) {
  if (share.below <= 0 || share.above <= 0) return share.below <= 0 ? -infinity : infinity;
  // From the nearer end, where it is steep.
  const bool is_left = share.below < share.above;
  const double tangent = single(Mathematics::tan, pi * (is_left ? share.below : share.above));
  if (share.below == share.above) return 0;
  return is_left ? -b / tangent : b / tangent;
}

double lognormal_quantile(double m, double s, Share share) {
  if (std::isnan(share.below)) return not_a_number;
  const double twice = 2 * (share.below < 0.5 ? share.below : share.above);
  double z = infinity;
  if (twice > 0) z = std::numbers::sqrt2 * special::erfc_inverse(twice);
  return exp(m + s * (share.below < 0.5 ? -z : z));
}

double uniform_quantile(double a, double b, Share share) {
  return share.below < 0.5 ? a + share.below * (b - a) : b - share.above * (b - a);
}

// The quantile of what lies below, and that of what lies above.
template <class F, class... A>
void add_both(std::vector<Function>& table, const char* name, const char* parameters, F,
              double (*)(Share, A...)) {
  const std::string full = std::string("ROOT::Math::") + name + "_quantile";
  table.push_back(of(full, parameters, [](double p, A... rest) { return F{}(up_to(p), rest...); }));
  table.push_back(of(full + "_c", parameters, [](double p, A... rest) { return F{}(from(p), rest...); }));
}

template <class F>
void add(std::vector<Function>& table, const char* name, const char* parameters, F f) {
  add_both(table, name, parameters, f, +f);
}

// ---- Crystal Ball functions

struct CrystalBall {
  double lower = 0;  // in units of sigma
  double upper = 0;
};
CrystalBall crystal_ball(double x, double alpha, double n, double sigma, double mean) {
  const double border = std::abs(alpha);
  const double z = (alpha < 0 ? mean - x : x - mean) / sigma;
  const double height = exp(-border * border / 2);
  const double ratio = n / border;
  const double tail = ratio / (n - 1) * height;
  const double root = std::sqrt(2 * pi);
  const double core = root * special::normal_tails(border, 1).lower;
  if (z > -border) {
    const double upper = root * special::normal_tails(z, 1).upper;
    return {tail + (core - upper), upper};
  }
  const double growth = log(ratio / (ratio - border - z));
  if (n == 1) return {infinity, core - ratio * height * growth};
  const double lower = tail * exp((n - 1) * growth);
  return {lower, core + (tail - lower)};
}

double crystal_ball_share(double x, double alpha, double n, double sigma, double mean, bool is_above) {
  if (n <= 1) return not_a_number;
  if (alpha == 0 || sigma == 0) return is_above ? 1 : 0;
  const CrystalBall parts = crystal_ball(x, alpha, n, sigma, mean);
  const double part = (alpha > 0) == is_above ? parts.upper : parts.lower;
  return part / (parts.lower + parts.upper);
}

// ---- The table

double landau_at(double x, double mpv, double sigma, double normalised) {
  if (sigma <= 0) return 0;
  const double density = special::landau((x - mpv) / sigma);
  return normalised != 0 ? density / sigma : density;
}

double voigt_at(double x, double sigma, double gamma) {
  if (sigma < 0 || gamma < 0 || (sigma == 0 && gamma == 0)) return 0;
  if (sigma == 0) return gamma / (2 * pi) / (x * x + gamma * gamma / 4);
  if (gamma == 0) return 1 / (std::sqrt(2 * pi) * sigma) * exp(-(x / sigma) * (x / sigma) / 2);
  return special::voigt(x, sigma, gamma);
}

double negative_binomial(double k, double p, double n) {
  if (n < 0 || p < 0 || p > 1) return 0;
  if (p == 0 || p == 1) return p == 1 && k == 0 ? 1 : 0;
  if (k == 0) return exp(n * log(p));
  return n == 0 ? 0 : special::beta_term({p}, special::sum(1, -p), n, k) / k;
}
double negative_binomial_share(double k, double p, double n, bool is_above) {
  if (n < 0 || p < 0 || p > 1) return 0;
  if (n == 0 || p == 0 || p == 1) return (p == 0 && n > 0) == is_above ? 1 : 0;
  const Tails tails = special::beta_tails(p, n, k + 1);
  return is_above ? tails.upper : tails.lower;
}

void add_quantiles(std::vector<Function>& table) {
  add(table, "chisquared", "p, r", [](Share share, double r) { return 2 * gamma_quantile(r / 2, share); });
  add(table, "gamma", "p, alpha, theta",
      [](Share share, double alpha, double theta) { return theta * gamma_quantile(alpha, share); });
  add(table, "beta", "p, a, b", [](Share share, double a, double b) { return beta_quantile(a, b, share); });
  add(table, "fdistribution", "p, n, m",
      [](Share share, double n, double m) { return fisher_quantile(n, m, share); });
  add(table, "tdistribution", "p, r", [](Share share, double r) { return student_quantile(r, share); });
  add(table, "cauchy", "p, b", [](Share share, double b) { return cauchy_quantile(b, share); });
  add(table, "breitwigner", "p, gamma",
      [](Share share, double gamma) { return cauchy_quantile(gamma / 2, share); });
  add(table, "lognormal", "p, m, s",
      [](Share share, double m, double s) { return lognormal_quantile(m, s, share); });
  add(table, "uniform", "p, a, b",
      [](Share share, double a, double b) { return uniform_quantile(a, b, share); });
  table.push_back(of("ROOT::Math::exponential_quantile", "p, lambda",
                     [](double p, double lambda) { return -single(Mathematics::log1p, -p) / lambda; }));
  table.push_back(of("ROOT::Math::exponential_quantile_c", "p, lambda",
                     [](double p, double lambda) { return -log(p) / lambda; }));
  table.push_back(of<1>("ROOT::Math::landau_quantile", "p, xi = 1",
                        [](double p, double xi) { return landau_quantile(xi, up_to(p)); }));
  table.push_back(of<1>("ROOT::Math::landau_quantile_c", "p, xi = 1",
                        [](double p, double xi) { return landau_quantile(xi, from(p)); }));
  table.push_back(of("TMath::ChisquareQuantile", "p, ndf", [](double p, double ndf) {
    if (ndf <= 0) return 0.;
    return p < 0 || p > 1 ? not_a_number : 2 * gamma_quantile(ndf / 2, up_to(p));
  }));
  table.push_back(of<1>("TMath::StudentQuantile", "p, ndf, lower_tail = true",
                        [](double p, double ndf, double lower_tail) {
                          if (ndf < 1 || p <= 0 || p >= 1) return 0.;
                          return student_quantile(ndf, lower_tail != 0 ? up_to(p) : from(p));
                        }));
}

void add_distributions(std::vector<Function>& table) {
  table.push_back(of<0, 1, 0>("TMath::Landau", "x, mpv = 0, sigma = 1, normalised = false",
                              [](double x, double mpv, double sigma, double normalised) {
                                return landau_at(x, mpv, sigma, normalised);
                              }));
  table.push_back(of("TMath::LandauI", "x", [](double x) { return special::landau_tails(x).lower; }));
  table.push_back(of<1, 0>("ROOT::Math::landau_pdf", "x, xi = 1, x0 = 0",
                           [](double x, double xi, double x0) { return landau_at(x, x0, xi, 1); }));
  table.push_back(of<1, 0>("ROOT::Math::landau_cdf", "x, xi = 1, x0 = 0", [](double x, double xi, double x0) {
    return special::landau_tails((x - x0) / xi).lower;
  }));
  table.push_back(
      of<1, 0>("ROOT::Math::landau_cdf_c", "x, xi = 1, x0 = 0",
               [](double x, double xi, double x0) { return special::landau_tails((x - x0) / xi).upper; }));
  table.push_back(
      of<4>("TMath::Voigt", "x, sigma, gamma, digits = 4",
            [](double x, double sigma, double gamma, double) { return voigt_at(x, sigma, gamma); }));
  table.push_back(
      of<1, 0>("ROOT::Math::gaussian_cdf", "x, sigma = 1, x0 = 0",
               [](double x, double sigma, double x0) { return special::normal_tails(x - x0, sigma).lower; }));
  table.push_back(
      of<1, 0>("ROOT::Math::gaussian_cdf_c", "x, sigma = 1, x0 = 0",
               [](double x, double sigma, double x0) { return special::normal_tails(x - x0, sigma).upper; }));
  table.push_back(of<1, 1, 0, 0, 0>(
      "ROOT::Math::bigaussian_pdf", "x, y, sigmax = 1, sigmay = 1, rho = 0, x0 = 0, y0 = 0",
      [](double x, double y, double sigma_x, double sigma_y, double rho, double x0, double y0) {
        const double u = (x - x0) / sigma_x;
        const double v = (y - y0) / sigma_y;
        const double c = 1 - rho * rho;
        const double z = u * u - 2 * rho * u * v + v * v;
        return 1 / (2 * pi * sigma_x * sigma_y * std::sqrt(c)) * exp(-z / (2 * c));
      }));
  table.push_back(of("ROOT::Math::negative_binomial_pdf", "k, p, n",
                     [](double k, double p, double n) { return negative_binomial(natural(k), p, n); }));
  table.push_back(of("ROOT::Math::negative_binomial_cdf", "k, p, n", [](double k, double p, double n) {
    return negative_binomial_share(natural(k), p, n, false);
  }));
  table.push_back(of("ROOT::Math::negative_binomial_cdf_c", "k, p, n", [](double k, double p, double n) {
    return negative_binomial_share(natural(k), p, n, true);
  }));
  constexpr const char* parameters = "x, alpha, n, sigma, mean = 0";
  table.push_back(of<0>("ROOT::Math::crystalball_cdf", parameters,
                        [](double x, double alpha, double n, double sigma, double mean) {
                          return crystal_ball_share(x, alpha, n, sigma, mean, false);
                        }));
  table.push_back(of<0>("ROOT::Math::crystalball_cdf_c", parameters,
                        [](double x, double alpha, double n, double sigma, double mean) {
                          return crystal_ball_share(x, alpha, n, sigma, mean, true);
                        }));
  table.push_back(of<0>("ROOT::Math::crystalball_integral", parameters,
                        [](double x, double alpha, double n, double sigma, double mean) {
                          if (alpha == 0 || sigma == 0) return 0.;
                          return sigma * crystal_ball(x, alpha, n, sigma, mean).upper;
                        }));
}

void add_bessel(std::vector<Function>& table) {
  const auto add = [&](const char* name, auto f) {
    table.push_back(of(std::string("TMath::") + name, "x", f));
  };
  const auto above_0 = [](double n, double x) { return n < 0 || x <= 0 ? 0 : special::bessel_k(n, x); };
  using Above0 = decltype(above_0);
  add("BesselJ0", [](double x) { return special::bessel(0, x).j; });
  add("BesselJ1", [](double x) { return special::bessel(1, x).j; });
  add("BesselY0", [](double x) { return x < 0 ? not_a_number : special::bessel(0, x).y; });
  add("BesselY1", [](double x) { return x < 0 ? not_a_number : special::bessel(1, x).y; });
  add("BesselI0", [](double x) { return special::bessel_i(0, x); });
  add("BesselI1", [](double x) { return special::bessel_i(1, x); });
  add("BesselK0", [](double x) { return Above0{}(0, x); });
  add("BesselK1", [](double x) { return Above0{}(1, x); });
  add("StruveH0", [](double x) { return special::struve_h(0, x); });
  add("StruveH1", [](double x) { return special::struve_h(1, x); });
  add("StruveL0", [](double x) { return special::struve_l(0, x); });
  add("StruveL1", [](double x) { return special::struve_l(1, x); });
  add("DiLog", [](double x) { return special::dilogarithm(x); });
  table.push_back(of("TMath::BesselI", "n, x",
                     [](double n, double x) { return whole(n) < 0 ? 0 : special::bessel_i(whole(n), x); }));
  table.push_back(of("TMath::BesselK", "n, x", [](double n, double x) { return Above0{}(whole(n), x); }));
}

}  // namespace

std::vector<Function> quantile_functions() {
  std::vector<Function> table;
  add_quantiles(table);
  add_distributions(table);
  add_bessel(table);
  return table;
}

}  // namespace colonnade::frame
