// Functions of doubles whose last parameters have default values, as those of TMath and ROOT::Math.
#ifndef COLONNADE_FRAME_FUNCTIONS_DEFAULTS_H
#define COLONNADE_FRAME_FUNCTIONS_DEFAULTS_H

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "frame/functions/math.h"

namespace colonnade::frame::math {

// Arguments that are int, or unsigned int, in ROOT.
inline double whole(double x) {
  constexpr double least = std::numeric_limits<std::int32_t>::min();
  constexpr double most = std::numeric_limits<std::int32_t>::max();
  return std::isnan(x) ? 0 : std::trunc(std::min(std::max(x, least), most));
}
inline double natural(double x) {
  const double n = whole(x);
  return n < 0 ? n + 0x1p32 : (x > n ? std::trunc(std::min(x, 0x1p32 - 1)) : n);
}

// F with the last of its default values for arguments that are missing.
template <class F, std::size_t missing, int... defaults>
struct Completed {
  template <class... A>
  double operator()(A... given) const {
    const double value = call(std::make_index_sequence<missing>{}, given...);
    return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;  // of which there is one
  }
  template <std::size_t... k, class... A>
  static double call(std::index_sequence<k...>, A... given) {
    [[maybe_unused]] constexpr std::array<double, sizeof...(defaults)> values = {defaults...};
    return F{}(given..., values[values.size() - missing + k]...);
  }
};

template <class F, int... defaults, class... A, std::size_t... missing>
std::vector<Function> variants(const std::string& name, double (*)(A...), std::index_sequence<missing...>) {
  constexpr std::size_t fewest = sizeof...(A) - sizeof...(defaults);
  return {of_doubles<fewest + missing>(name, Completed<F, sizeof...(defaults) - missing, defaults...>{})...};
}

// A function of doubles; the last of its parameters have default values.
template <int... defaults, class F>
Function of(const std::string& name, const char* parameters, F f) {
  std::vector<Function> all =
      variants<F, defaults...>(name, +f, std::make_index_sequence<sizeof...(defaults) + 1>{});
  const std::size_t fewest = std::ranges::count(std::string_view(parameters), ',') + 1 - sizeof...(defaults);
  return by_count(name, name + "(" + parameters + ")", std::move(all), fewest);
}

}  // namespace colonnade::frame::math

#endif
