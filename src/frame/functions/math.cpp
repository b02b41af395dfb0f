// Mathematics: the functions of <cmath>, of scalars and item by item of lists.
//
// float stays float and integers count as double, as in C++. Functions that IEEE 754 leaves to the library
// are computed by the C library's scalar functions, so that results have the bits that they have everywhere
// else; what is exact (sqrt, abs, min, max) runs in vectors.
#include "frame/functions/math.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace colonnade::frame {

namespace math {

ElementType item_of(const Argument& argument) noexcept {
  return argument.type.innermost().element();
}

ElementType promoted_to_float(ElementType element) noexcept {
  return element == ElementType::float32 ? ElementType::float32 : ElementType::float64;
}

ElementType common_float(std::span<const Argument> arguments) noexcept {
  const bool all_float = std::all_of(arguments.begin(), arguments.end(),
                                     [](const Argument& a) { return item_of(a) == ElementType::float32; });
  return all_float ? ElementType::float32 : ElementType::float64;
}

std::optional<Bound> refuse(const Call& call, std::size_t fewest, std::size_t most) {
  const std::size_t count = call.arguments.size();
  if (count < fewest || count > most) {
    const std::string range =
        fewest == most ? fmt::format("{}", fewest) : fmt::format("{} to {}", fewest, most);
    return Bound{nullptr, fmt::format("takes {} argument{}, got {}", range, most == 1 ? "" : "s", count)};
  }
  for (const Argument& argument : call.arguments) {
    const ValueType& scalar = argument.type.innermost();
    if (!scalar.is_integer() && !scalar.is_floating())
      return Bound{nullptr, fmt::format("needs numbers, or lists of them, got {}", argument.type.name())};
  }
  return std::nullopt;
}

Bound bound(const Call& call, ElementSignature signature, std::string key) {
  const std::vector<ValueType> types = types_of(call.arguments);
  return {elementwise(std::move(key), std::move(signature), types), {}};
}

namespace {

std::string signature_of(std::string_view name, std::size_t count) {
  static constexpr std::string_view letters[] = {"", "x", "x, y", "x, y, z", "x, y, z, t"};
  return fmt::format("{}({})", name, letters[std::min<std::size_t>(count, 4)]);
}

}  // namespace

Function function(const std::string& name, std::size_t count, const Loops& loops) {
  auto bind = [name, count, loops](const Call& call) -> Bound {
    if (auto refused = refuse(call, count, count)) return *refused;
    const bool of_float =
        loops.of_float != nullptr && count > 0 && common_float(call.arguments) == ElementType::float32;
    const ElementType element = of_float ? ElementType::float32 : ElementType::float64;
    return bound(call,
                 {of_float ? loops.result_of_float : loops.result_of_double,
                  std::vector<ElementType>(count, element), of_float ? loops.of_float : loops.of_double},
                 name);
  };
  return {name, signature_of(name, count), std::move(bind)};
}

Function exact(const std::string& name, Operation operation) {
  auto bind = [name, operation](const Call& call) -> Bound {
    if (auto refused = refuse(call, 1, 1)) return *refused;
    const ElementType element = promoted_to_float(item_of(call.arguments.front()));
    return bound(call, {element, {element}, element_loop(operation, element)}, name);
  };
  return {name, signature_of(name, 1), std::move(bind)};
}

// C++ wants equal types; here the arguments become what both can be converted to.
Function either_of_two(const std::string& name, Operation operation) {
  auto bind = [name, operation](const Call& call) -> Bound {
    if (auto refused = refuse(call, 2, 2)) return *refused;
    const ElementType a = item_of(call.arguments[0]);
    const ElementType b = item_of(call.arguments[1]);
    const ElementType common = a == b ? a : common_element(a, b);
    return bound(call, {common, {common, common}, element_loop(operation, common)}, name);
  };
  return {name, fmt::format("{}(a, b)", name), std::move(bind)};
}

}  // namespace math

namespace {

using math::exact;
using math::overloaded;

// The absolute value of an integer is an integer, but of a list of integers, as for RVec, a list of double.
Function absolute() {
  return {"abs", "abs(x)", [](const Call& call) -> Bound {
            if (auto refused = math::refuse(call, 1, 1)) return *refused;
            const Argument& argument = call.arguments.front();
            const ElementType from = math::item_of(argument);
            const ElementType element =
                argument.type.is_list() ? math::promoted_to_float(from) : promoted(from);
            return math::bound(call, {element, {element}, element_loop(Operation::absolute, element)}, "abs");
          }};
}

// To the nearest integer as an integer; of lists, as for RVec, as a floating-point number.
template <class Round>
Function to_integer(const std::string& name, Round) {
  auto bind = [name, scalar = math::loops_of<Round, 1>()](const Call& call) -> Bound {
    if (auto refused = math::refuse(call, 1, 1)) return *refused;
    const Argument& argument = call.arguments.front();
    const ElementType element = math::promoted_to_float(math::item_of(argument));
    const bool of_float = element == ElementType::float32;
    if (!argument.type.is_list())
      return math::bound(call,
                         {of_float ? scalar.result_of_float : scalar.result_of_double,
                          {element},
                          of_float ? scalar.of_float : scalar.of_double},
                         name);
    return math::bound(call,
                       {element,
                        {element},
                        of_float ? &plain_loop<Round, float, float> : &plain_loop<Round, double, double>},
                       name);
  };
  return {name, name + "(x)", std::move(bind)};
}

struct Square {
  double operator()(double x, double) const { return x * x; }
};

// pow(x, 2), mostly without calling it. The C library's pow computes to within 0.04 of the last place before
// it rounds, so where x * x is within 0.45 of the last place of the true square, pow cannot round to anything
// else.
struct SecondPower {
  // `two` is 2, which the compiler must not know: it would make x * x of pow().
  double operator()(double x, double two) const {
    constexpr double smallest = 0x1p-250;
    constexpr double largest = 0x1p250;
    const double square = x * x;
    if (const double size = std::abs(x); !(size > smallest && size < largest)) return std::pow(x, two);
    // The error of x * x, exactly (Dekker): x is split in halves, the products of which are exact.
    const double high = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~std::uint64_t{0x7ffffff});
    const double low = x - high;
    const double error = ((high * high - square) + 2 * (high * low)) + low * low;
    const auto bits = std::bit_cast<std::uint64_t>(square);
    const double last_place = std::bit_cast<double>(bits & 0x7ff0000000000000) * 0x1p-52;
    // Below a power of two the places are half as wide.
    const bool is_power_of_two = (bits & 0xfffffffffffff) == 0;
    return std::abs(error) < (is_power_of_two ? 0.225 : 0.45) * last_place ? square : std::pow(x, two);
  }
};

bool is_two(const Argument& exponent) {
  if (exponent.constant == nullptr || !exponent.type.is_scalar()) return false;
  const Operand operand{exponent.constant->data, true};
  double value = 0;
  conversion_loop(exponent.type.element(), ElementType::float64)(1, &operand, &value);
  return value == 2;
}

// With 2. for an exponent compilers write x * x, which is the nearest number; what pow gives may be its
// neighbour.
bool is_product(const Argument& base, const Argument& exponent) {
  return base.type.is_scalar() && base.type.is_floating() && exponent.type == ValueType(ElementType::float64);
}

Function power() {
  Function general = overloaded<2>("pow", [](auto x, auto y) { return std::pow(x, y); });
  auto bind = [otherwise = general.bind](const Call& call) -> Bound {
    if (auto refused = math::refuse(call, 2, 2)) return *refused;
    if (!is_two(call.arguments[1]) || math::common_float(call.arguments) != ElementType::float64)
      return otherwise(call);
    return math::bound(
        call,
        {ElementType::float64,
         {ElementType::float64, ElementType::float64},
         is_product(call.arguments[0], call.arguments[1]) ? &plain_loop<Square, double, double, double>
                                                          : &plain_loop<SecondPower, double, double, double>},
        "pow");
  };
  return {"pow", "pow(x, y)", std::move(bind)};
}

// Two or three sides.
Function hypotenuse() {
  const auto two = overloaded<2>("hypot", [](auto x, auto y) { return std::hypot(x, y); });
  const auto three = overloaded<3>("hypot", [](auto x, auto y, auto z) { return std::hypot(x, y, z); });
  return {"hypot", "hypot(x, y) or hypot(x, y, z)",
          [two, three](const Call& call) { return (call.arguments.size() == 3 ? three : two).bind(call); }};
}

// x times 2 to an integer power; the exponent is an int of its own.
template <class F>
Function scaled(const std::string& name, F) {
  auto bind = [name](const Call& call) -> Bound {
    if (auto refused = math::refuse(call, 2, 2)) return *refused;
    const ElementType element = math::promoted_to_float(math::item_of(call.arguments.front()));
    const ElementLoop loop = element == ElementType::float32 ? &plain_loop<F, float, float, std::int32_t>
                                                             : &plain_loop<F, double, double, std::int32_t>;
    return math::bound(call, {element, {element, ElementType::int32}, loop}, name);
  };
  return {name, name + "(x, exponent)", std::move(bind)};
}

void add_elementary(std::vector<Function>& table) {
  table.push_back(overloaded<1>("cbrt", [](auto x) { return std::cbrt(x); }));
  table.push_back(overloaded<1>("exp", [](auto x) { return std::exp(x); }));
  table.push_back(overloaded<1>("exp2", [](auto x) { return std::exp2(x); }));
  table.push_back(overloaded<1>("expm1", [](auto x) { return std::expm1(x); }));
  table.push_back(overloaded<1>("log", [](auto x) { return std::log(x); }));
  table.push_back(overloaded<1>("log2", [](auto x) { return std::log2(x); }));
  table.push_back(overloaded<1>("log10", [](auto x) { return std::log10(x); }));
  table.push_back(overloaded<1>("log1p", [](auto x) { return std::log1p(x); }));
  table.push_back(overloaded<1>("logb", [](auto x) { return std::logb(x); }));
  table.push_back(overloaded<1>("ilogb", [](auto x) { return static_cast<std::int32_t>(std::ilogb(x)); }));
  table.push_back(overloaded<1>("sin", [](auto x) { return std::sin(x); }));
  table.push_back(overloaded<1>("cos", [](auto x) { return std::cos(x); }));
  table.push_back(overloaded<1>("tan", [](auto x) { return std::tan(x); }));
  table.push_back(overloaded<1>("asin", [](auto x) { return std::asin(x); }));
  table.push_back(overloaded<1>("acos", [](auto x) { return std::acos(x); }));
  table.push_back(overloaded<1>("atan", [](auto x) { return std::atan(x); }));
  table.push_back(overloaded<2>("atan2", [](auto y, auto x) { return std::atan2(y, x); }));
  table.push_back(overloaded<1>("sinh", [](auto x) { return std::sinh(x); }));
  table.push_back(overloaded<1>("cosh", [](auto x) { return std::cosh(x); }));
  table.push_back(overloaded<1>("tanh", [](auto x) { return std::tanh(x); }));
  table.push_back(overloaded<1>("asinh", [](auto x) { return std::asinh(x); }));
  table.push_back(overloaded<1>("acosh", [](auto x) { return std::acosh(x); }));
  table.push_back(overloaded<1>("atanh", [](auto x) { return std::atanh(x); }));
  table.push_back(overloaded<1>("erf", [](auto x) { return std::erf(x); }));
  table.push_back(overloaded<1>("erfc", [](auto x) { return std::erfc(x); }));
  table.push_back(overloaded<1>("tgamma", [](auto x) { return std::tgamma(x); }));
  table.push_back(overloaded<1>("lgamma", [](auto x) {
    // std::lgamma would write a global variable, beside other threads.
    int sign = 0;
    if constexpr (sizeof(x) == sizeof(float))
      return ::lgammaf_r(x, &sign);
    else
      return ::lgamma_r(x, &sign);
  }));
}

void add_remainders(std::vector<Function>& table) {
  table.push_back(overloaded<2>("fmod", [](auto x, auto y) { return std::fmod(x, y); }));
  table.push_back(overloaded<2>("remainder", [](auto x, auto y) { return std::remainder(x, y); }));
  table.push_back(overloaded<2>("fdim", [](auto x, auto y) { return std::fdim(x, y); }));
  table.push_back(overloaded<2>("fmin", [](auto x, auto y) { return std::fmin(x, y); }));
  table.push_back(overloaded<2>("fmax", [](auto x, auto y) { return std::fmax(x, y); }));
  table.push_back(overloaded<2>("copysign", [](auto x, auto y) { return std::copysign(x, y); }));
  table.push_back(overloaded<2>("nextafter", [](auto x, auto y) { return std::nextafter(x, y); }));
  table.push_back(overloaded<3>("fma", [](auto x, auto y, auto z) { return std::fma(x, y, z); }));
  table.push_back(scaled("ldexp", [](auto x, std::int32_t exponent) { return std::ldexp(x, exponent); }));
  table.push_back(scaled("scalbn", [](auto x, std::int32_t exponent) { return std::scalbn(x, exponent); }));
}

void add_rounding(std::vector<Function>& table) {
  table.push_back(overloaded<1>("floor", [](auto x) { return std::floor(x); }));
  table.push_back(overloaded<1>("ceil", [](auto x) { return std::ceil(x); }));
  table.push_back(overloaded<1>("trunc", [](auto x) { return std::trunc(x); }));
  table.push_back(overloaded<1>("round", [](auto x) { return std::round(x); }));
  table.push_back(overloaded<1>("rint", [](auto x) { return std::rint(x); }));
  table.push_back(overloaded<1>("nearbyint", [](auto x) { return std::nearbyint(x); }));
  table.push_back(to_integer("lround", [](auto x) { return static_cast<std::int64_t>(std::lround(x)); }));
  table.push_back(to_integer("llround", [](auto x) { return static_cast<std::int64_t>(std::llround(x)); }));
  table.push_back(to_integer("lrint", [](auto x) { return static_cast<std::int64_t>(std::lrint(x)); }));
  table.push_back(to_integer("llrint", [](auto x) { return static_cast<std::int64_t>(std::llrint(x)); }));
}

void add_predicates(std::vector<Function>& table) {
  table.push_back(overloaded<1>("isnan", [](auto x) { return std::isnan(x); }));
  table.push_back(overloaded<1>("isinf", [](auto x) { return std::isinf(x); }));
  table.push_back(overloaded<1>("isfinite", [](auto x) { return std::isfinite(x); }));
  table.push_back(overloaded<1>("isnormal", [](auto x) { return std::isnormal(x); }));
  table.push_back(overloaded<1>("signbit", [](auto x) { return std::signbit(x); }));
}

}  // namespace

std::vector<Function> math_functions() {
  std::vector<Function> table;
  table.push_back(absolute());
  table.push_back(exact("fabs", Operation::absolute));
  table.push_back(exact("sqrt", Operation::square_root));
  table.push_back(math::either_of_two("min", Operation::minimum));
  table.push_back(math::either_of_two("max", Operation::maximum));
  table.push_back(power());
  table.push_back(hypotenuse());
  add_elementary(table);
  add_remainders(table);
  add_rounding(table);
  add_predicates(table);
  std::vector<Function> more = tmath_functions();
  std::move(more.begin(), more.end(), std::back_inserter(table));
  return table;
}

}  // namespace colonnade::frame
