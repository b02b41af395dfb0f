// Landau's and Voigt's distributions, Bessel and Struve functions, and the dilogarithm, of single numbers.
//
// Like those of special.h they give the same bits on all processors. Most are integrals of smooth positive
// functions, which the trapezoidal rule gives to all digits with a few dozen points.
#ifndef COLONNADE_FRAME_FUNCTIONS_SPECIAL_MORE_H
#define COLONNADE_FRAME_FUNCTIONS_SPECIAL_MORE_H

#include "frame/functions/special.h"

namespace colonnade::frame::special {

// Landau's density in its own units, with the mode at -0.22278, and its integrals.
double landau(double x);
Tails landau_tails(double x);
// The convolution of a normal distribution with standard deviation sigma and a Lorentzian of width gamma,
// both positive.
double voigt(double x, double sigma, double gamma);

// J and Y of order 0 or 1; Y is for positive x.
struct Cylinder {
  double j = 0;
  double y = 0;
};
Cylinder bessel(int order, double x);
// The modified function I of a whole order n >= 0 and any x, and K of x > 0.
double bessel_i(double n, double x);
double bessel_k(double n, double x);
// Struve functions of order 0 or 1, and the modified ones.
double struve_h(int order, double x);
double struve_l(int order, double x);
// The real part of the dilogarithm.
double dilogarithm(double x);

}  // namespace colonnade::frame::special

#endif
