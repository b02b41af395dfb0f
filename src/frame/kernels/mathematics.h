// The functions of <cmath> that IEEE 754 leaves to the library, as loops over arrays: the same bits on every
// processor, within 1 unit in the last place (docs/expressions.md lists the bounds).
//
// The C library's results depend on its version and on the processor's fused multiply-add.
#ifndef COLONNADE_FRAME_KERNELS_MATHEMATICS_H
#define COLONNADE_FRAME_KERNELS_MATHEMATICS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "frame/kernels/kernels.h"

namespace colonnade::frame {

enum class Mathematics : std::uint8_t {
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  cbrt,
  erf,
  erfc,
  tgamma,
  lgamma,
  // Of two numbers, or three.
  atan2,
  pow,
  hypot,
  hypot3,
  log_rest  // log(x) less its rounded value
};
inline constexpr std::size_t mathematics_count = static_cast<std::size_t>(Mathematics::log_rest) + 1;

struct MathLoops {
  std::array<ElementLoop, mathematics_count> of_double{};
  std::array<ElementLoop, mathematics_count> of_float{};
};

// For float32 or float64.
ElementLoop math_loop(Mathematics function, ElementType element) noexcept;

// Of single numbers of double precision.
inline double single(Mathematics function, double x) {
  const Operand operand{&x, false};
  double result = 0;
  math_loop(function, ElementType::float64)(1, &operand, &result);
  return result;
}

// For tests: the loops of each instruction set of this processor, the simplest one last. Must not run
// concurrently with other threads.
std::vector<MathLoops> all_math_loops();

}  // namespace colonnade::frame

#endif
