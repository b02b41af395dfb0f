// Angles of many turns, less the whole turns (after Payne and Hanek): as many bits of 1/(2 pi) as the
// argument needs are multiplied by it, and what lies above the point is dropped.
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

// Of finite numbers of at least 1.
LargeAngle large_angle(double x) noexcept;

}  // namespace colonnade::frame

#endif
