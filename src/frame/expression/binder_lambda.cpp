// Map, Filter, Sort and Argsort with lambdas: the body is bound in a pool of its own, see lambda.h.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "frame/expression/binder.h"
#include "frame/expression/lambda.h"

namespace colonnade::frame {

// Names within a lambda: its parameters, then names of the enclosing scope, which are captured.
class LambdaScope final : public Scope {
 public:
  LambdaScope(const Binder& outside, ExpressionPool& inside, std::size_t inputs)
      : outside_(outside), inside_(inside), inputs_(inputs) {}

  void add_parameter(std::string_view name, ExpressionId value) { parameters_.emplace_back(name, value); }
  const std::vector<ExpressionId>& captured() const noexcept { return captured_; }

  std::optional<ExpressionId> find(std::string_view name) const override {
    const std::string_view first = name.substr(0, name.find('.'));
    for (const auto& [parameter, value] : parameters_)
      if (parameter == first) return name == first ? std::optional(value) : std::nullopt;
    for (const Binder::Local& local : std::views::reverse(outside_.locals_))
      if (local.name == first)
        return name == first ? std::optional(capture(outside_.value_of(local))) : std::nullopt;
    const auto found = outside_.scope_.find(name);
    return found ? std::optional(capture(*found)) : std::nullopt;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> all = outside_.scope_.names();
    for (const auto& [name, value] : parameters_) all.emplace_back(name);
    return all;
  }
  const Function* find_function(std::string_view name) const override {
    return outside_.scope_.find_function(name);
  }
  std::vector<std::string> function_names() const override { return outside_.scope_.function_names(); }

 private:
  ExpressionId capture(ExpressionId outer) const {
    // Constants are captured, too: as arguments they distinguish two lambdas with the same text.
    const auto known = std::ranges::find(captured_, outer);
    const auto index = static_cast<std::size_t>(known - captured_.begin());
    if (known == captured_.end()) captured_.push_back(outer);
    return inside_.column(static_cast<std::uint32_t>(inputs_ + index), outside_.pool_[outer].type);
  }

  const Binder& outside_;
  ExpressionPool& inside_;
  std::size_t inputs_;
  std::vector<std::pair<std::string_view, ExpressionId>> parameters_;
  mutable std::vector<ExpressionId> captured_;
};

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
ExpressionId Binder::lambda_body(const SyntaxNode& lambda, ExpressionPool& pool, LambdaScope& scope,
                                 std::span<const ExpressionId> lists) {
  for (std::size_t i = 0; i < lambda.parameters.size(); ++i) {
    const ValueType& list = type(lists[std::min(i, lists.size() - 1)]);
    ExpressionId item = pool.column(static_cast<std::uint32_t>(i), list.item());
    if (const std::string& named = lambda.template_types[i]; named != "auto") {
      const auto wanted = type_of_name(named);
      if (!wanted) fail(ErrorKind::not_found, lambda.whole, fmt::format("unknown type '{}'", named));
      item = at(lambda.whole, [&] { return pool.convert(item, *wanted); });
    }
    scope.add_parameter(lambda.parameters[i], item);
  }
  const ExpressionId result = Binder(syntax_, pool, scope, functions_).bind(lambda.children.front());
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
  LambdaScope scope(*this, *pool, lambda.parameters.size());
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
