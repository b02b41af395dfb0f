// Conversion of elements, see convert.h. The loops first convert and collect a flag, so that they vectorise;
// only if the flag is set do they look for the offending element.
#include "codec/convert.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/floating_point.h"
#include "colonnade/error.h"

namespace colonnade::codec {
namespace {

// Indexed by ElementType; void if no conversion exists. char is signed here on every machine.
template <ElementType type>
auto value_of() {
  if constexpr (type == ElementType::boolean) return std::uint8_t{};
  if constexpr (type == ElementType::character || type == ElementType::int8) return std::int8_t{};
  if constexpr (type == ElementType::uint8) return std::uint8_t{};
  if constexpr (type == ElementType::int16) return std::int16_t{};
  if constexpr (type == ElementType::uint16) return std::uint16_t{};
  if constexpr (type == ElementType::int32) return std::int32_t{};
  if constexpr (type == ElementType::uint32) return std::uint32_t{};
  if constexpr (type == ElementType::int64) return std::int64_t{};
  if constexpr (type == ElementType::uint64) return std::uint64_t{};
  if constexpr (type == ElementType::float32) return float{};
  if constexpr (type == ElementType::float64) return double{};
}

template <ElementType type>
using Value = decltype(value_of<type>());

template <class From, class To>
constexpr bool fits(From value) {
  if constexpr (std::is_floating_point_v<From>) {
    // Not isinf(): a call would prevent vectorisation.
    constexpr To largest = std::numeric_limits<To>::max();
    const bool overflow =
        std::abs(static_cast<To>(value)) > largest && std::abs(value) <= std::numeric_limits<From>::max();
    return !overflow;
  } else {
    return std::in_range<To>(value);
  }
}

template <ElementType from, ElementType to>
[[noreturn]] void blame(const Value<from>* in, std::size_t count, std::size_t first) {
  std::size_t i = 0;
  while (i + 1 < count && fits<Value<from>, Value<to>>(in[i])) ++i;
  using Limits = std::numeric_limits<Value<to>>;
  throw Error(ErrorKind::conversion,
              fmt::format("element {} of the page is {}, which {} ({} to {}) cannot hold", first + i, +in[i],
                          name_of(to), +Limits::lowest(), +Limits::max()),
              "read into a wider type");
}

template <ElementType from, ElementType to>
void convert_checked(const void* source, std::size_t count, std::size_t first, void* target) {
  using From = Value<from>;
  using To = Value<to>;
  const auto* in = static_cast<const From*>(source);
  auto* out = static_cast<To*>(target);
  [[maybe_unused]] const StandardFloatingPoint state;
  if constexpr (to == ElementType::boolean) {
    for (std::size_t i = 0; i < count; ++i) out[i] = in[i] != 0;
  } else {
    unsigned misfits = 0;
    for (std::size_t i = 0; i < count; ++i) {
      misfits |= fits<From, To>(in[i]) ? 0u : 1u;
      out[i] = static_cast<To>(in[i]);
    }
    if (misfits != 0) blame<from, to>(in, count, first);
  }
}

template <class From, class To>
void convert_rounding(const void* source, std::size_t count, std::size_t, void* target) {
  const StandardFloatingPoint state;
  const auto* in = static_cast<const From*>(source);
  auto* out = static_cast<To*>(target);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<To>(in[i]);
}

constexpr bool is_real(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float64;
}

constexpr bool is_integer_like(ElementType type) {
  return type != ElementType::byte && type < ElementType::float32;
}

template <ElementType from, ElementType to>
constexpr Convert pick() {
  constexpr bool both_integers = is_integer_like(from) && is_integer_like(to);
  constexpr bool both_reals = is_real(from) && is_real(to);
  if constexpr (from != to && (both_integers || both_reals)) return &convert_checked<from, to>;
  return nullptr;
}

constexpr std::size_t element_types = static_cast<std::size_t>(ElementType::switch_) + 1;
using Row = std::array<Convert, element_types>;

template <std::size_t from, std::size_t... to>
constexpr Row make_row(std::index_sequence<to...>) {
  return {pick<static_cast<ElementType>(from), static_cast<ElementType>(to)>()...};
}

template <std::size_t... from>
constexpr std::array<Row, element_types> make_table(std::index_sequence<from...> all) {
  return {make_row<from>(all)...};
}

constexpr auto checked_table = make_table(std::make_index_sequence<element_types>());

}  // namespace

Convert checked_conversion(ElementType from, ElementType to) noexcept {
  const auto row = static_cast<std::size_t>(from);
  const auto column = static_cast<std::size_t>(to);
  return row < element_types && column < element_types ? checked_table[row][column] : nullptr;
}

Convert rounding_conversion(ElementType from, ElementType to) noexcept {
  if (from == ElementType::float64 && to == ElementType::float32) return &convert_rounding<double, float>;
  if (from == ElementType::float32 && to == ElementType::float64) return &convert_rounding<float, double>;
  return nullptr;
}

}  // namespace colonnade::codec
