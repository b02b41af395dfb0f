// Times that others say, in milliseconds since 1970.
#ifndef COLONNADE_BASE_UNIX_TIME_H
#define COLONNADE_BASE_UNIX_TIME_H

#include <algorithm>
#include <chrono>

namespace colonnade {

// The nearest time that the clock knows: it ends in 2262, and "never" is often said as the year 9999.
inline std::chrono::system_clock::time_point at_unix_time(std::chrono::milliseconds since_1970) noexcept {
  using Clock = std::chrono::system_clock;
  constexpr auto first = std::chrono::ceil<std::chrono::milliseconds>(Clock::duration::min());
  constexpr auto last = std::chrono::floor<std::chrono::milliseconds>(Clock::duration::max());
  return Clock::time_point(std::clamp(since_1970, first, last));
}

}  // namespace colonnade

#endif
