// Objects of classes that a text with functions defines: records, whose constructors and methods are
// functions; see binder.h and classes.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "frame/expression/binder.h"
#include "frame/expression/maps.h"
#include "frame/expression/members.h"
#include "frame/expression/parser.h"

namespace colonnade::frame {

bool Binder::is_class(const ValueType& type) const {
  return type.is_record() && !type.is_variant() && !is_product(type) && !is_map(type) &&
         scope_.find_function(type.class_name()) != nullptr;
}

// P(1, 2)
ExpressionId Binder::object(const SyntaxNode& node, const ValueType& type, std::span<const NodeIndex> given) {
  std::vector<ExpressionId> arguments;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool is_list = syntax_[given[i]].kind == NodeKind::list && i < type.members().size();
    const std::optional<ValueType> member = is_list ? std::optional(type.members()[i].second) : std::nullopt;
    arguments.push_back(bind_as(given[i], member));
  }
  if (arguments.size() == 1 && this->type(arguments.front()) == type) return arguments.front();
  const Function* const function = scope_.find_function(type.class_name());
  std::string why_not;
  if (const auto made = invoke(node, *function, type.class_name(), arguments, {}, why_not)) return *made;
  cannot_call(node, *function, arguments, why_not);
}

// What a variable or an item of this type is without a value.
ExpressionId Binder::zero(const SyntaxNode& node, const ValueType& type) {
  return is_class(type) ? object(node, type, {}) : pool_.constant(zero_of(type));
}

// Of a class: a method, which is a function with the object as its first argument.
std::optional<ExpressionId> Binder::method_of_class(const SyntaxNode& node, std::string_view name,
                                                    const std::vector<ExpressionId>& arguments) {
  const ValueType object = type(arguments.front());
  if (!object.is_record() || object.class_name().empty()) return std::nullopt;
  if (name == "operator()") name = name_of_operator("()");
  const Function* const function = scope_.find_function(fmt::format("{}::{}", object.class_name(), name));
  if (function == nullptr) return std::nullopt;
  std::string why_not;
  if (const auto made = invoke(node, *function, name, arguments, {}, why_not)) return made;
  cannot_call(node, *function, arguments, why_not);
}

// a < b, by a method of the class or a function.
std::optional<ExpressionId> Binder::operator_of_class(const SyntaxNode& node, std::string_view symbol,
                                                      const std::vector<ExpressionId>& arguments) {
  const std::string_view name = name_of_operator(symbol);
  if (name.empty()) return std::nullopt;
  const bool has_object =
      std::ranges::any_of(arguments, [this](ExpressionId each) { return is_class(type(each)); });
  if (!has_object) return std::nullopt;
  if (auto made = method_of_class(node, name, arguments)) return made;
  const Function* const function = scope_.find_function(name);
  std::string why_not;
  if (function == nullptr) return std::nullopt;
  if (const auto made = invoke(node, *function, name, arguments, {}, why_not)) return made;
  cannot_call(node, *function, arguments, why_not);
}

}  // namespace colonnade::frame
