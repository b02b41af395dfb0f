// Calls of lambdas; and Map, Filter, Sort and Argsort with them, whose body is bound in a pool of its own:
// see lambda.h.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "frame/expression/binder.h"
#include "frame/expression/inner_scope.h"
#include "frame/expression/lambda.h"

namespace colonnade::frame {

namespace {

bool is_sorting(std::string_view name) {
  return name == "Sort" || name == "StableSort" || name == "Argsort" || name == "StableArgsort";
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

bool Binder::is_over_items(const SyntaxNode& node) const {
  const std::string_view name = without_namespace(node.text);
  if (node.braces || scope_.find_function(node.text) != nullptr) return false;
  if (is_sorting(name))
    return !node.children.empty() && syntax_[node.children.back()].kind == NodeKind::lambda;
  return (name == "Map" || name == "Filter") && functions_.find(name) == nullptr;
}

// The lists whose items are the parameters.
std::vector<ExpressionId> Binder::lists_of(const SyntaxNode& node, const SyntaxNode& lambda) {
  std::vector<ExpressionId> lists;
  for (const NodeIndex child : std::span(node.children).first(node.children.size() - 1)) {
    lists.push_back(bind(child));
    const ValueType& list = type(lists.back());
    if (!list.is_list() || list.is_optional())
      fail(ErrorKind::type, syntax_[child].whole,
           fmt::format("{} goes through the items of lists, got {}", node.text, list.name()));
  }
  const std::string_view name = without_namespace(node.text);
  const std::size_t parameters = lambda.parameters.size();
  const bool fits = name == "Map" ? !lists.empty() && lists.size() == parameters
                                  : lists.size() == 1 && parameters == (name == "Filter" ? 1U : 2U);
  if (!fits)
    fail(ErrorKind::type, node.whole,
         fmt::format("{} has {} for a lambda of {}", node.text, counted(lists.size(), "list"),
                     counted(parameters, "parameter")),
         name == "Map"      ? "one list for each parameter"
         : name == "Filter" ? "Filter takes one list, and a lambda of one parameter"
                            : fmt::format("{} takes one list, and a lambda of two of its items", name));
  return lists;
}

// The values of the parameters are the first columns of the body's pool.
ExpressionId Binder::lambda_body(const SyntaxNode& lambda, ExpressionPool& pool, const InnerScope& scope,
                                 std::span<const ExpressionId> lists) {
  Binder inside(syntax_, pool, scope, functions_);
  inside.takes_flags_ = takes_flags_;
  for (std::size_t i = 0; i < lambda.parameters.size(); ++i) {
    const ValueType& list = type(lists[std::min(i, lists.size() - 1)]);
    ExpressionId item = pool.column(static_cast<std::uint32_t>(i), list.item());
    if (const auto wanted = type_in(lambda, lambda.template_types[i]))
      item = at(lambda.whole, [&] { return pool.convert(item, *wanted); });
    inside.locals_.push_back({lambda.parameters[i], pool[item].type, item});
  }
  return inside.result_of(lambda);
}

// None for "auto".
std::optional<ValueType> Binder::type_in(const SyntaxNode& lambda, const std::string& name) const {
  if (name.empty() || name == "auto" || name == "void") return std::nullopt;
  const auto type = type_of_name(name);
  if (!type) fail(ErrorKind::not_found, lambda.whole, fmt::format("unknown type '{}'", name));
  return type;
}

ExpressionId Binder::result_of(const SyntaxNode& lambda) {
  const auto wanted = type_in(lambda, lambda.type);
  const ExpressionId result = bind_as(lambda.children.front(), wanted);
  return wanted ? at(lambda.whole, [&] { return converted(result, *wanted); }) : result;
}

// What the parameters of a lambda are in a call. `changed`: those that are references to what they change.
std::vector<Binder::Local> Binder::arguments_of(const SyntaxNode& node, const SyntaxNode& lambda,
                                                std::span<const std::string> changed) {
  const std::span<const NodeIndex> given = std::span(node.children).subspan(1);
  if (given.size() != lambda.parameters.size())
    fail(ErrorKind::type, node.whole,
         fmt::format("this lambda takes {}, got {}", counted(lambda.parameters.size(), "argument"),
                     given.size()));
  std::vector<Local> arguments;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto wanted = type_in(lambda, lambda.template_types[i]);
    if (std::ranges::find(changed, lambda.parameters[i]) != changed.end()) {
      arguments.push_back(reference(given[i], lambda.parameters[i], wanted));
      continue;
    }
    ExpressionId value = bind_as(given[i], wanted);
    if (wanted) value = at(syntax_[given[i]].whole, [&] { return pool_.convert(value, *wanted); });
    arguments.push_back({lambda.parameters[i], type(value), value});
  }
  return arguments;
}

// A variable may get its first value.
Binder::Local Binder::reference(NodeIndex target, std::string_view name,
                                const std::optional<ValueType>& wanted) {
  const ValueType given = type_of_target(target);
  if (wanted && *wanted != given)
    fail(ErrorKind::type, syntax_[target].whole,
         fmt::format("a reference to {} cannot refer to {}", wanted->name(), given.name()));
  if (syntax_[target].kind != NodeKind::name) return {name, given, bind(target)};
  return {name, given, local(syntax_[target].text).value};
}

ExpressionId Binder::application(const SyntaxNode& node) {
  const SyntaxNode& lambda = syntax_[node.children.front()];
  const std::size_t around = locals_.size();
  std::ranges::copy(arguments_of(node, lambda), std::back_inserter(locals_));
  const ExpressionId result = result_of(lambda);
  locals_.erase(locals_.begin() + static_cast<std::ptrdiff_t>(around), locals_.end());
  return result;
}

ExpressionId Binder::over_items(const SyntaxNode& node) {
  if (node.children.empty() || syntax_[node.children.back()].kind != NodeKind::lambda)
    fail(ErrorKind::type, node.whole,
         fmt::format("{0} needs a lambda as its last argument: {0}(x, [](auto v) {{ return v * 2; }})",
                     node.text));
  const SyntaxNode& lambda = syntax_[node.children.back()];
  std::vector<ExpressionId> arguments = lists_of(node, lambda);
  const auto pool = std::make_shared<ExpressionPool>();
  const InnerScope scope(*this, *pool, lambda.parameters.size());
  ExpressionId result = lambda_body(lambda, *pool, scope, arguments);
  const std::string_view name = without_namespace(node.text);
  if (name != "Map") result = at(lambda.whole, [&] { return pool->as_condition(result); });

  const ExpressionId list = arguments.front();
  std::ranges::copy(scope.captured(), std::back_inserter(arguments));
  LambdaBody body{pool, result, lambda.parameters.size(),
                  fmt::format("{} {}", name == "Filter", written(lambda))};
  if (name == "Map") return pool_.call(map_kernel(std::move(body)), std::move(arguments), "Map");
  if (name == "Filter")
    return selected(node, "operator[]", list,
                    pool_.call(map_kernel(std::move(body)), std::move(arguments), "Map"));
  const ExpressionId order = pool_.call(order_kernel(std::move(body)), std::move(arguments), "Argsort");
  return name.ends_with("rgsort") ? order : selected(node, "Take", list, order);
}

// What a function of the table takes of a list by a mask or by places.
ExpressionId Binder::selected(const SyntaxNode& node, std::string_view function, ExpressionId list,
                              ExpressionId by) {
  std::string why_not;
  const auto chosen = invoke(node, *functions_.find(function), node.text, {list, by}, {}, why_not);
  if (!chosen) fail(ErrorKind::type, node.whole, fmt::format("{} cannot be called: {}", node.text, why_not));
  return *chosen;
}

}  // namespace colonnade::frame
