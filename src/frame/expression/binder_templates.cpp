// Types that are written in < > behind the name of a function; see binder.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frame/expression/binder.h"

namespace colonnade::frame {
namespace {

enum class Taken : std::uint8_t {
  by_itself,  // the function gets the types
  nowhere,
  by_first,        // the first argument
  by_all,          // each argument: max<double>(n, 1)
  by_all_but_one,  // a mask is first
  one_by_one       // a type for each argument, from the first one on
};

// As ROOT and the standard library declare the functions.
Taken taken(std::string_view name) {
  constexpr std::array by_itself = {"Construct", "ROOT::Math::LorentzVector"};
  constexpr std::array by_first = {"Take", "Drop", "Combinations", "Enumerate"};
  constexpr std::array by_all = {"abs",     "min",        "max",           "clamp",    "Sum",     "Mean",
                                 "Var",     "StdDev",     "Min",           "Max",      "ArgMin",  "ArgMax",
                                 "Any",     "All",        "Product",       "Sort",     "Reverse", "Argsort",
                                 "Nonzero", "StableSort", "StableArgsort", "Intersect"};
  constexpr std::array one_by_one = {"pow",
                                     "hypot",
                                     "atan2",
                                     "fmod",
                                     "fmin",
                                     "fmax",
                                     "fdim",
                                     "fma",
                                     "remainder",
                                     "Dot",
                                     "copysign",
                                     "nextafter",
                                     "Concatenate",
                                     "DeltaPhi",
                                     "Angle",
                                     "DeltaR",
                                     "DeltaR2",
                                     "InvariantMass",
                                     "InvariantMasses",
                                     "InvariantMasses_PxPyPzM"};
  const auto is_in = [name](const auto& names) { return std::ranges::find(names, name) != names.end(); };
  // Those of VectorUtil take vectors of any kind as they are.
  if (is_in(by_itself) || name.starts_with("ROOT::Math::VectorUtil::")) return Taken::by_itself;
  if (is_in(by_first)) return Taken::by_first;
  if (is_in(by_all)) return Taken::by_all;
  if (is_in(one_by_one)) return Taken::one_by_one;
  return name == "Where" ? Taken::by_all_but_one : Taken::nowhere;
}

}  // namespace

// max<double>(n, 1): arguments, or the items of lists, become what is written, as parameters of that type
// make them.
ExpressionId Binder::call_with_types(const SyntaxNode& node, const Function& function,
                                     std::vector<ExpressionId> arguments) {
  const std::string_view name = without_namespace(node.text);
  const Taken how = taken(name);
  if (how != Taken::by_itself) {
    if (how == Taken::nowhere)
      fail(ErrorKind::usage, node.mark, fmt::format("'{}' takes no types in < >", node.text));
    const std::size_t first = how == Taken::by_all_but_one ? 1 : 0;
    const std::size_t last = how == Taken::by_first ? 1 : arguments.size();
    for (std::size_t i = first; i < std::min(last, arguments.size()); ++i) {
      const std::size_t number = how == Taken::one_by_one ? i : 0;
      if (number < node.template_types.size())
        arguments[i] = with_items_of(node, arguments[i], node.template_types[number]);
    }
  }
  std::string why_not;
  const auto result = invoke(node, function, node.text, arguments, node.template_types, why_not);
  if (!result) cannot_call(node, function, arguments, why_not);
  // What is of one type is of that type again, even if arithmetic would make it an int.
  const bool keeps = name == "min" || name == "max" || name == "clamp" || name == "abs";
  return keeps ? with_items_of(node, *result, node.template_types.front()) : *result;
}

ExpressionId Binder::with_items_of(const SyntaxNode& node, ExpressionId value, const std::string& name) {
  const auto type = type_of_name(name);
  if (!type) fail(ErrorKind::not_found, node.mark, fmt::format("unknown type '{}'", name));
  const ValueType wanted = this->type(value).with_innermost(type->innermost());
  return at(node.mark, [&] { return pool_.convert(value, wanted); });
}

void Binder::cannot_call(const SyntaxNode& node, const Function& function,
                         const std::vector<ExpressionId>& arguments, std::string_view why_not) const {
  fail(ErrorKind::type, node.whole,
       fmt::format("{}({}) cannot be called: {}", node.text, types_of(arguments), why_not),
       fmt::format("it is {}", function.signature));
}

}  // namespace colonnade::frame
