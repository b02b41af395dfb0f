// Removes whole turns from large angles (after Payne and Hanek): multiplies as many bits of 1/(2 pi) as the
// argument needs, and drops the integer part.
#ifndef COLONNADE_FRAME_KERNELS_LARGE_ANGLES_H
#define COLONNADE_FRAME_KERNELS_LARGE_ANGLES_H

#include <cstdint>

namespace colonnade::frame {

// (steps + high + low) * pi/64, of one turn; |high + low| <= 1/2.
struct LargeAngle {
  std::int64_t steps;
  double high;
  double low;
};

// For finite numbers of at least 1.
LargeAngle large_angle(double x) noexcept;

}  // namespace colonnade::frame

#endif
