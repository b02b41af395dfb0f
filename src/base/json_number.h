// Whole numbers in JSON from outside. Values that a JSON library converts silently (1.5, -1, 2^40 for 32
// bits) are errors here.
#ifndef COLONNADE_BASE_JSON_NUMBER_H
#define COLONNADE_BASE_JSON_NUMBER_H

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <limits>

#include "colonnade/error.h"

namespace colonnade {

// `Json` is nlohmann::json, which this layer does not include.
template <std::unsigned_integral Number, class Json>
Number whole_number(const Json& json) {
  constexpr auto most = std::numeric_limits<Number>::max();
  if (json.is_number_unsigned())
    if (const auto value = json.template get<std::uint64_t>(); value <= most)
      return static_cast<Number>(value);
  throw Error(ErrorKind::format,
              fmt::format("{} is not a whole number up to {}", json.dump().substr(0, 80), most));
}

}  // namespace colonnade

#endif
