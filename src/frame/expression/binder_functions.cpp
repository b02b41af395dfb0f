// The body of a function that is written as a text; see text_functions.h.
#include <fmt/format.h>

#include "frame/expression/binder.h"

namespace colonnade::frame {

ExpressionId Binder::bind_constant(std::span<const NodeIndex> constants) {
  for (const NodeIndex constant : constants) declare(syntax_[constant]);
  return at(syntax_[constants.back()].mark, [&] { return value_of(locals_.back()); });
}

ExpressionId Binder::bind_function(const FunctionSyntax& function, std::span<const NodeIndex> constants,
                                   std::span<const ValueType> types) {
  for (const NodeIndex constant : constants) declare(syntax_[constant]);
  const auto& parameters = function.parameters;
  if (types.size() > parameters.size())
    throw Error(ErrorKind::type,
                fmt::format("'{}' takes {} argument{}, got {}", function.name, parameters.size(),
                            parameters.size() == 1 ? "" : "s", types.size()));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, type_name, preset] = parameters[i];
    if (i >= types.size() && !preset)
      throw Error(ErrorKind::type, fmt::format("'{}' needs a value for '{}', which is argument {}",
                                               function.name, spelled_name(name), i + 1));
    const auto wanted = type_name == "auto" ? std::nullopt : type_of_name(type_name);
    if (type_name != "auto" && !wanted)
      fail(ErrorKind::not_found, function.mark, fmt::format("unknown type '{}' of a parameter", type_name));
    ExpressionId value =
        i < types.size() ? pool_.column(static_cast<std::uint32_t>(i), types[i]) : bind_as(*preset, wanted);
    if (wanted) {
      try {
        value = pool_.convert(value, *wanted);
      } catch (const Error& error) {
        throw Error(error.kind(),
                    fmt::format("argument {} of '{}': {}", i + 1, function.name, error.problem()));
      }
    }
    locals_.push_back({name, type(value), value});
  }
  const bool is_free = function.result == "auto" || function.result == "void";
  const auto wanted = is_free ? std::nullopt : type_of_name(function.result);
  if (!is_free && !wanted)
    fail(ErrorKind::not_found, function.mark,
         fmt::format("unknown type '{}' of the result", function.result));
  takes_flags_ = function.takes_flags;
  if (takes_flags_ && wanted && wanted->innermost() == ElementType::boolean &&
      syntax_[function.body].kind != NodeKind::body)
    require_flag(function.body);  // else each result is looked at
  const ExpressionId result = bind_as(function.body, wanted);
  return wanted ? at(function.mark, [&] { return converted(result, *wanted); }) : result;
}

}  // namespace colonnade::frame
