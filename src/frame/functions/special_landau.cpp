// Landau's and Voigt's distributions; see special_more.h.
//
// References: J. Nolan, Commun. Statist. Stochastic Models 13 (1997) 759, for Landau's distribution as a
// stable one; M. Al Azah and S. Chandler-Wilde, SIAM J. Numer. Anal. 59 (2021) 2346, for Voigt's.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "frame/functions/special_more.h"

namespace colonnade::frame::special {

namespace {

constexpr double pi = std::numbers::pi;

template <std::size_t n>
std::array<double, n> all(Mathematics function, const std::array<double, n>& of) {
  const Operand operand{of.data(), false};
  std::array<double, n> result;
  math_loop(function, ElementType::float64)(n, &operand, result.data());
  return result;
}

// ---- Landau's distribution: for x below 1/2 an integral over an angle, of g exp(-g) with g = exp(-x) V, and
// over exp(-u) above.

constexpr std::size_t angles = 96;
constexpr std::size_t depths = 132;

struct Points {
  std::array<double, angles> v;
  std::array<double, depths> depth;
  std::array<double, depths> logarithm;
  std::array<double, depths> weight;
};

Points make_points() {
  Points points{};
  points.v[0] = single(Mathematics::exp, -1);
  for (std::size_t k = 1; k < angles; ++k) {
    const double angle = pi * static_cast<double>(k) / angles;
    const double sine = single(Mathematics::sin, angle);
    points.v[k] = angle / sine * single(Mathematics::exp, -angle / sine * single(Mathematics::cos, angle));
  }
  constexpr double step = 1. / 16;
  for (std::size_t k = 0; k < depths; ++k) {
    const double s = -4 + step * static_cast<double>(k);
    const double fall = single(Mathematics::exp, -s);
    points.logarithm[k] = s - fall;
    points.depth[k] = single(Mathematics::exp, s - fall);
    points.weight[k] = points.depth[k] * (1 + fall) * step / pi * single(Mathematics::exp, -points.depth[k]);
  }
  return points;
}

const Points& points() {
  static const Points made = make_points();
  return made;
}

std::array<double, angles> over_angles(double x, std::array<double, angles>& g) {
  const double scale = single(Mathematics::exp, -x);
  std::array<double, angles> falling;
  for (std::size_t k = 0; k < angles; ++k) {
    // exp(-1000) is 0, and what it is multiplied by stays finite.
    g[k] = std::min(scale * points().v[k], 1000.);
    falling[k] = -g[k];
  }
  return falling;
}

// The integral of exp(-u) (u / x)^(-u / x) sin(pi u / x), over u, or over u / x as well.
double over_depths(double x, bool is_tail) {
  const double log_x = single(Mathematics::log, x);
  std::array<double, depths> t;
  std::array<double, depths> powers;
  std::array<double, depths> turns;
  for (std::size_t k = 0; k < depths; ++k) {
    t[k] = points().depth[k] / x;
    powers[k] = -t[k] * (points().logarithm[k] - log_x);
    turns[k] = pi * t[k];
  }
  powers = all(Mathematics::exp, powers);
  turns = all(Mathematics::sin, turns);
  double total = 0;
  for (std::size_t k = 0; k < depths; ++k) {
    // Of sines of tiny angles over them, which may both be 0.
    const double wave = is_tail ? (t[k] > 1e-9 ? turns[k] / t[k] : pi) : turns[k];
    total += points().weight[k] * powers[k] * wave;
  }
  return total / x;
}

constexpr double border = 0.5;
// Beyond, 1 / x is exact.
constexpr double far_away = 1e20;

}  // namespace

double landau(double x) {
  if (std::isnan(x)) return x;
  if (x > far_away) return 1 / x / x;
  if (x > border) return over_depths(x, false);
  std::array<double, angles> g;
  const std::array<double, angles> falling = all(Mathematics::exp, over_angles(x, g));
  double total = g[0] * falling[0] / 2;
  for (std::size_t k = 1; k < angles; ++k) total += g[k] * falling[k];
  return total / angles;
}

Tails landau_tails(double x) {
  if (std::isnan(x)) return {x, x};
  if (x > far_away) return {1, 1 / x};
  if (x > border) {
    const double upper = over_depths(x, true);
    return {1 - upper, upper};
  }
  std::array<double, angles> g;
  const std::array<double, angles> falling = all(Mathematics::exp, over_angles(x, g));
  double total = falling[0] / 2;
  for (std::size_t k = 1; k < angles; ++k) total += falling[k];
  return {total / angles, 1 - total / angles};
}

double voigt(double x, double sigma, double gamma) {
  const double unit = sigma * std::numbers::sqrt2;
  const double a = std::abs(x) / unit;
  const double y = gamma / 2 / unit;
  if (std::isnan(a) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  // The Lorentzian alone is right to all digits.
  if (a > 1e9 || y > 1e9) return gamma / (2 * pi) / (x * x + gamma * gamma / 4);
  constexpr int last = 11;
  const double step = std::sqrt(pi / (last + 1));
  const double places = a / step - std::floor(a / step);
  const bool is_near = y < pi / step;
  // Points that are not close to x, where what is added below would cancel with one of them.
  const double shift = !is_near || places < 0.25 || places > 0.75 ? 0.5 : 0;
  double total = 0;
  for (int n = -last - 1; n <= last; ++n) {
    const double t = (n + shift) * step;
    total += single(Mathematics::exp, -t * t) / ((a - t) * (a - t) + y * y);
  }
  total *= step * y / pi;
  if (is_near) {
    // The real part of 2 exp(-z^2) / (1 -+ exp(-2 pi i z / step)), z = a + i y.
    const double size = 2 * single(Mathematics::exp, (y - a) * (y + a));
    const double re = size * single(Mathematics::cos, 2 * a * y);
    const double im = -size * single(Mathematics::sin, 2 * a * y);
    const double turn = 2 * pi * places;
    const double growth = (shift == 0 ? -1 : 1) * single(Mathematics::exp, 2 * pi * y / step);
    const double below_re = 1 + growth * single(Mathematics::cos, turn);
    const double below_im = -growth * single(Mathematics::sin, turn);
    total += (re * below_re + im * below_im) / (below_re * below_re + below_im * below_im);
  }
  return total / (sigma * std::sqrt(2 * pi));
}

}  // namespace colonnade::frame::special
