// The incomplete gamma and beta functions, and inverses of the error function, of single numbers.
//
// They are computed from the functions of kernels/mathematics.h by additions, products, divisions and square
// roots, so that all processors give the same bits. docs/expressions.md has the bounds of errors.
#ifndef COLONNADE_FRAME_FUNCTIONS_SPECIAL_H
#define COLONNADE_FRAME_FUNCTIONS_SPECIAL_H

#include <cmath>

#include "frame/kernels/mathematics.h"

namespace colonnade::frame::special {

// A sum of two doubles, of which the second is at most half a unit in the last place of the first.
struct Pair {
  double hi = 0;
  double lo = 0;
};
inline Pair sum(double a, double b) {
  const double s = a + b;
  const double part = s - a;
  return {s, (a - (s - part)) + (b - part)};
}
inline Pair product(double a, double b) {
  const double p = a * b;
  return {p, std::fma(a, b, -p)};
}
inline Pair operator-(Pair a) {
  return {-a.hi, -a.lo};
}
inline Pair operator+(Pair a, Pair b) {
  const Pair s = sum(a.hi, b.hi);
  return sum(s.hi, s.lo + (a.lo + b.lo));
}
inline Pair operator-(Pair a, Pair b) {
  return a + -b;
}
inline Pair operator*(Pair a, Pair b) {
  const Pair p = product(a.hi, b.hi);
  return sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
inline Pair operator/(Pair a, Pair b) {
  const double q = a.hi / b.hi;
  const double rest = std::fma(-q, b.hi, a.hi);
  return sum(q, (rest + (a.lo - q * b.lo)) / b.hi);
}

inline double exp(double x) {
  return single(Mathematics::exp, x);
}
inline double log(double x) {
  return single(Mathematics::log, x);
}
// Of pairs whose second part is small.
inline double exp(Pair x) {
  const double e = exp(x.hi);
  return e + e * x.lo;
}
inline Pair log(Pair x) {
  const double l = log(x.hi);
  return sum(l, single(Mathematics::log_rest, x.hi) + x.lo / x.hi);
}

// Two probabilities that add up to 1. The smaller one is not the difference of 1 and the larger one.
struct Tails {
  double lower = 0;
  double upper = 0;
};

// gamma(x), infinite at all poles, as ROOT has it.
double gamma(double x);
// gamma(a + b) of positive numbers, without the error of a rounded sum.
double gamma_of_sum(double a, double b);
// exp(-x) x^a / gamma(a + 1), the probability of a if x are expected; x > 0, a >= 0.
double poisson(double a, double x);
// The distribution of gamma(a): 0 for x below 0. That of a <= 0 lies below everything.
Tails gamma_tails(double a, double x);
// x^a y^b gamma(a + b) / (gamma(a) gamma(b)), x + y = 1; all four are positive.
double beta_term(Pair x, Pair y, double a, double b);
// The integral of the beta distribution up to x, and from there on; x + y = 1. NaN unless a and b are
// positive.
Tails beta_tails(Pair x, Pair y, double a, double b);
// Of x and 1 - x, within 0 and 1.
Tails beta_tails(double x, double a, double b);
double beta(double a, double b);
// erf(result) = x, -1 < x < 1.
double erf_inverse(double x);
// erfc(result) = x, 0 < x < 2.
double erfc_inverse(double x);
// Student's distribution with r degrees of freedom, and its integral.
double student(double x, double r);
Tails student_tails(double x, double r);
// Fisher's F distribution with n and m degrees of freedom, x >= 0.
double fisher(double x, double n, double m);
Tails fisher_tails(double x, double n, double m);
// The integral of the normal distribution up to x / divisor.
Tails normal_tails(double x, double divisor);

}  // namespace colonnade::frame::special

#endif
