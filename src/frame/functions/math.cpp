// Mathematics: the functions of <cmath>, of scalars and item by item of lists.
//
// float stays float and integers count as double, as in C++. Functions that IEEE 754 leaves to the library
// run in kernels/mathematics.h, which give the same bits on every processor; exact functions need no such
// kernels.
#include "frame/functions/math.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

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
  return bind_elementwise(std::move(key), std::move(signature), call);
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

Function of_kernel(const std::string& name, std::size_t count, Mathematics function) {
  return math::function(
      name, count, {math_loop(function, ElementType::float32), math_loop(function, ElementType::float64)});
}

Function of_double_kernel(const std::string& name, std::size_t count, Mathematics function) {
  return math::function(name, count, {nullptr, math_loop(function, ElementType::float64)});
}

Function exact(const std::string& name, Operation operation) {
  auto bind = [name, operation](const Call& call) -> Bound {
    if (auto refused = refuse(call, 1, 1)) return *refused;
    const ElementType element = promoted_to_float(item_of(call.arguments.front()));
    return bound(call, {element, {element}, element_loop(operation, element)}, name);
  };
  return {name, signature_of(name, 1), std::move(bind)};
}

// C++ requires equal types; here the arguments are converted to their common type.
Function either_of_two(const std::string& name, Operation operation, const Loops& own) {
  auto bind = [name, operation, own](const Call& call) -> Bound {
    if (auto refused = refuse(call, 2, 2)) return *refused;
    const ElementType a = item_of(call.arguments[0]);
    const ElementType b = item_of(call.arguments[1]);
    const ElementType common = a == b ? a : common_element(a, b);
    ElementLoop loop = element_loop(operation, common);
    if (own.of_float != nullptr && common == ElementType::float32) loop = own.of_float;
    if (own.of_double != nullptr && common == ElementType::float64) loop = own.of_double;
    return bound(call, {common, {common, common}, loop}, name);
  };
  return {name, fmt::format("{}(a, b)", name), std::move(bind)};
}

Function by_count(std::string name, std::string signature, std::vector<Function> functions,
                  std::size_t fewest) {
  const std::size_t most = fewest + functions.size() - 1;
  auto bind = [functions = std::move(functions), fewest, most](const Call& call) -> Bound {
    if (auto refused = refuse(call, fewest, most)) return *refused;
    return functions[call.arguments.size() - fewest].bind(call);
  };
  return {std::move(name), std::move(signature), std::move(bind)};
}

}  // namespace math

namespace {

using math::exact;
using math::overloaded;

// Like std::clamp: NaN stays NaN.
class ClampKernel final : public Kernel {
 public:
  ClampKernel(KernelPtr at_least, KernelPtr at_most)
      : at_least_(std::move(at_least)), at_most_(std::move(at_most)) {}
  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const ValuesPtr both[] = {at_least_->run(context, arguments.first(2)), arguments[2]};
    return at_most_->run(context, both);
  }
  const ValueType& result() const noexcept override { return at_most_->result(); }
  std::string key() const override { return "clamp"; }
  bool only_where_needed() const noexcept override {
    return at_least_->only_where_needed() || at_most_->only_where_needed();
  }

 private:
  KernelPtr at_least_;
  KernelPtr at_most_;
};

Function clamp() {
  return {"clamp", "clamp(x, low, high)", [](const Call& call) -> Bound {
            if (auto refused = math::refuse(call, 3, 3)) return *refused;
            Bound low =
                math::either_of_two("max", Operation::maximum).bind({"max", {}, call.arguments.first(2)});
            if (low.kernel == nullptr) return low;
            const Argument both[] = {{low.kernel->result()}, call.arguments[2]};
            Bound high = math::either_of_two("min", Operation::minimum).bind({"min", {}, both});
            if (high.kernel == nullptr) return high;
            return {std::make_shared<ClampKernel>(low.kernel, high.kernel), {}};
          }};
}

// The absolute value of an integer is an integer, also of an optional one; for a list of integers, as in
// RVec, a list of double.
Function absolute() {
  return {"abs", "abs(x)", [](const Call& call) -> Bound {
            if (auto refused = math::refuse(call, 1, 1)) return *refused;
            const Argument& argument = call.arguments.front();
            const ElementType from = math::item_of(argument);
            const bool is_single = argument.type.is_scalar() ||
                                   (argument.type.is_optional() && argument.type.item().is_scalar());
            const ElementType element = is_single ? promoted(from) : math::promoted_to_float(from);
            return math::bound(call, {element, {element}, element_loop(Operation::absolute, element)}, "abs");
          }};
}

// Rounds to the nearest integer as an integer; for lists, as in RVec, as a floating-point number.
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

bool is_two(const Argument& exponent) {
  if (exponent.constant == nullptr || !exponent.type.is_scalar()) return false;
  const Operand operand{exponent.constant->data, true};
  double value = 0;
  conversion_loop(exponent.type.element(), ElementType::float64)(1, &operand, &value);
  return value == 2;
}

// The square of a number is x * x, rounded once.
Function power() {
  Function general = math::of_kernel("pow", 2, Mathematics::pow);
  auto bind = [otherwise = general.bind](const Call& call) -> Bound {
    if (auto refused = math::refuse(call, 2, 2)) return *refused;
    if (!is_two(call.arguments[1]) || math::common_float(call.arguments) != ElementType::float64)
      return otherwise(call);
    return math::bound(call,
                       {ElementType::float64,
                        {ElementType::float64, ElementType::float64},
                        &plain_loop<Square, double, double, double>},
                       "pow");
  };
  return {"pow", "pow(x, y)", std::move(bind)};
}

// With two or three sides.
Function hypotenuse() {
  const auto two = math::of_kernel("hypot", 2, Mathematics::hypot);
  const auto three = math::of_kernel("hypot", 3, Mathematics::hypot3);
  return {"hypot", "hypot(x, y) or hypot(x, y, z)",
          [two, three](const Call& call) { return (call.arguments.size() == 3 ? three : two).bind(call); }};
}

// x times 2 to an integer power; the exponent is a separate int.
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
  using enum Mathematics;
  const std::pair<const char*, Mathematics> of_one[] = {
      {"cbrt", cbrt}, {"exp", exp},     {"exp2", exp2},     {"expm1", expm1},  {"log", log},
      {"log2", log2}, {"log10", log10}, {"log1p", log1p},   {"sin", sin},      {"cos", cos},
      {"tan", tan},   {"asin", asin},   {"acos", acos},     {"atan", atan},    {"sinh", sinh},
      {"cosh", cosh}, {"tanh", tanh},   {"asinh", asinh},   {"acosh", acosh},  {"atanh", atanh},
      {"erf", erf},   {"erfc", erfc},   {"tgamma", tgamma}, {"lgamma", lgamma}};
  for (const auto& [name, function] : of_one) table.push_back(math::of_kernel(name, 1, function));
  table.push_back(math::of_kernel("atan2", 2, atan2));
  table.push_back(overloaded<1>("logb", [](auto x) { return std::logb(x); }));
  table.push_back(overloaded<1>("ilogb", [](auto x) { return static_cast<std::int32_t>(std::ilogb(x)); }));
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

// A rounded number as an integer: the nearest one where it does not fit, and 0 for NaN, as in conversions.
// What std::lround gives there depends on the processor.
template <class T>
std::int64_t integer_of(T rounded) {
  constexpr T beyond = 0x1p63F;
  if (std::isnan(rounded)) return 0;
  if (rounded >= beyond) return std::numeric_limits<std::int64_t>::max();
  if (rounded < -beyond) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(rounded);
}

void add_rounding(std::vector<Function>& table) {
  table.push_back(overloaded<1>("floor", [](auto x) { return std::floor(x); }));
  table.push_back(overloaded<1>("ceil", [](auto x) { return std::ceil(x); }));
  table.push_back(overloaded<1>("trunc", [](auto x) { return std::trunc(x); }));
  table.push_back(overloaded<1>("round", [](auto x) { return std::round(x); }));
  table.push_back(overloaded<1>("rint", [](auto x) { return std::rint(x); }));
  table.push_back(overloaded<1>("nearbyint", [](auto x) { return std::nearbyint(x); }));
  for (const char* const name : {"lround", "llround"})
    table.push_back(to_integer(name, [](auto x) { return integer_of(std::round(x)); }));
  for (const char* const name : {"lrint", "llrint"})
    table.push_back(to_integer(name, [](auto x) { return integer_of(std::nearbyint(x)); }));
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
  table.push_back(clamp());
  table.push_back(power());
  table.push_back(hypotenuse());
  add_elementary(table);
  add_remainders(table);
  add_rounding(table);
  add_predicates(table);
  for (const auto part : {tmath_functions, distribution_functions, quantile_functions}) {
    std::vector<Function> more = part();
    std::move(more.begin(), more.end(), std::back_inserter(table));
  }
  return table;
}

}  // namespace colonnade::frame
