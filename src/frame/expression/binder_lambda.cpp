// Map, Filter, Sort and Argsort with lambdas: the body is bound in a pool of its own, see lambda.h.
#include <fmt/format.h>

#include <algorithm>

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
  for (std::size_t i = 0; i < lambda.parameters.size(); ++i) {
    const ValueType& list = type(lists[std::min(i, lists.size() - 1)]);
    ExpressionId item = pool.column(static_cast<std::uint32_t>(i), list.item());
    if (const std::string& named = lambda.template_types[i]; named != "auto") {
      const auto wanted = type_of_name(named);
      if (!wanted) fail(ErrorKind::not_found, lambda.whole, fmt::format("unknown type '{}'", named));
      item = at(lambda.whole, [&] { return pool.convert(item, *wanted); });
    }
    inside.locals_.push_back({lambda.parameters[i], pool[item].type, item});
  }
  const ExpressionId result = inside.bind(lambda.children.front());
  if (lambda.type.empty() || lambda.type == "auto") return result;
  const auto wanted = type_of_name(lambda.type);
  if (!wanted) fail(ErrorKind::not_found, lambda.whole, fmt::format("unknown type '{}'", lambda.type));
  return at(lambda.whole, [&] { return pool.convert(result, *wanted); });
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
  const std::string_view written =
      std::string_view(syntax_.text).substr(lambda.whole.begin, lambda.whole.end - lambda.whole.begin);
  LambdaBody body{pool, result, lambda.parameters.size(), fmt::format("{} {}", name == "Filter", written)};
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
