// Operators: arithmetic, comparison, logic, ?: and subscripts; see binder.h.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "frame/expression/binder.h"
#include "frame/expression/maps.h"

namespace colonnade::frame {
namespace {

// Longer chains are split in halves recursively instead of from the left, so that their evaluation needs no
// deep recursion.
constexpr std::size_t long_chain = 64;

bool is_logical(const SyntaxNode& node) {
  return node.kind == NodeKind::binary && (node.text == "&&" || node.text == "||");
}

}  // namespace

std::string Binder::refusal(const SyntaxNode& node, const std::vector<ExpressionId>& arguments,
                            const std::string& why) const {
  std::string message = fmt::format("'{}' does not take {}", node.text, type(arguments.front()).name());
  if (arguments.size() > 1) message += fmt::format(" and {}", type(arguments[1]).name());
  if (!why.empty()) message += fmt::format(": {}", why);
  if (node.text == "^") message += "; for powers, write pow(x, y)";
  return message;
}

ExpressionId Binder::unary(const SyntaxNode& node) {
  const std::vector<ExpressionId> arguments = {bind(node.children.front())};
  const Function* const function = functions_.find(fmt::format("unary{}", node.text));
  std::string why_not;
  if (function != nullptr)
    if (const auto result = invoke(node, *function, function->name, arguments, {}, why_not)) return *result;
  fail(ErrorKind::type, node.mark, refusal(node, arguments, why_not));
}

ExpressionId Binder::apply(const SyntaxNode& node, ExpressionId left, ExpressionId right) {
  if (compares_products(node.text, left, right)) return compared(node, node.text, left, right);
  const std::vector<ExpressionId> arguments = {left, right};
  if (const auto found = operator_of_class(node, node.text, arguments)) return *found;
  const Function* const function = functions_.find(fmt::format("operator{}", node.text));
  std::string why_not;
  if (function != nullptr)
    if (const auto result = invoke(node, *function, function->name, arguments, {}, why_not)) return *result;
  fail(ErrorKind::type, node.mark, refusal(node, arguments, why_not));
}

// a + b - c: a loop descends the left sides.
ExpressionId Binder::binary(NodeIndex index) {
  if (is_logical(syntax_[index])) return logical_chain(index);
  std::vector<NodeIndex> spine;
  for (; syntax_[index].kind == NodeKind::binary && !is_logical(syntax_[index]);
       index = syntax_[index].children.front())
    spine.push_back(index);
  ExpressionId value = bind(index);
  for (const NodeIndex operation : std::views::reverse(spine)) {
    const SyntaxNode& node = syntax_[operation];
    value = apply(node, value, bind(node.children[1]));
  }
  return value;
}

// a && b && c. For scalars, later operands are computed only where needed; for lists, all items are.
ExpressionId Binder::logical_chain(NodeIndex index) {
  const std::string& symbol = syntax_[index].text;
  const Op op = symbol == "&&" ? Op::logical_and : Op::logical_or;
  std::vector<NodeIndex> operations;
  for (; is_logical(syntax_[index]) && syntax_[index].text == symbol; index = syntax_[index].children.front())
    operations.push_back(index);
  std::vector<ExpressionId> values = {bind(index)};
  for (const NodeIndex operation : std::views::reverse(operations))
    values.push_back(bind(syntax_[operation].children[1]));
  const bool any_list = std::ranges::any_of(values, [this](ExpressionId id) { return type(id).is_list(); });
  if (values.size() > long_chain && !any_list) return halved(op, syntax_[operations.front()], values);
  ExpressionId value = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) {
    const SyntaxNode& node = syntax_[operations[operations.size() - i]];
    value = type(value).is_list() || type(values[i]).is_list() ? apply(node, value, values[i])
                                                               : both(op, node, value, values[i]);
  }
  return value;
}

ExpressionId Binder::both(Op op, const SyntaxNode& node, ExpressionId left, ExpressionId right) {
  return at(node.mark, [&] { return pool_.logical(op, left, right); });
}

ExpressionId Binder::halved(Op op, const SyntaxNode& node, std::span<const ExpressionId> values) {
  if (values.size() == 1) return values.front();
  const std::size_t half = values.size() / 2;
  return both(op, node, halved(op, node, values.first(half)), halved(op, node, values.subspan(half)));
}

// a ? b : c ? d : e, from the end.
ExpressionId Binder::conditional(NodeIndex index, const std::function<ExpressionId(NodeIndex)>& bind_value) {
  struct Arm {
    const SyntaxNode* node;
    ExpressionId condition, yes;
  };
  std::vector<Arm> arms;
  for (; syntax_[index].kind == NodeKind::conditional; index = syntax_[index].children[2]) {
    const SyntaxNode& node = syntax_[index];
    const ExpressionId condition = condition_of(node.children[0]);
    arms.push_back({&node, condition, bind_value(node.children[1])});
  }
  ExpressionId value = bind_value(index);
  for (const Arm& arm : std::views::reverse(arms)) value = choose(*arm.node, arm.condition, arm.yes, value);
  return value;
}

ExpressionId Binder::condition_of(NodeIndex index) {
  const ExpressionId condition = bind(index);
  const TextRange range = syntax_[index].whole;
  if (type(condition).is_list())
    fail(ErrorKind::type, range,
         fmt::format("the condition of '?:' must be one value, got {}; {}", type(condition).name(),
                     type(condition).is_optional()
                         ? "say what holds where there is no value: (...).value_or(false)"
                         : "item by item, write Where(condition, a, b)"));
  return at(range, [&] { return pool_.as_condition(condition); });
}

ExpressionId Binder::choose(const SyntaxNode& node, ExpressionId condition, ExpressionId yes,
                            ExpressionId no) {
  if (is_exception(yes)) yes = exception_as(yes, type(no));
  if (is_exception(no)) no = exception_as(no, type(yes));
  const auto common = common_type(type(yes), type(no));
  if (!common)
    fail(ErrorKind::type, node.mark,
         fmt::format("{} and {} have no common type to choose between", type(yes).name(), type(no).name()));
  return at(node.mark,
            [&] { return pool_.choose(condition, pool_.convert(yes, *common), pool_.convert(no, *common)); });
}

ExpressionId Binder::subscript(const SyntaxNode& node) {
  const ExpressionId object = bind(node.children[0]);
  if (is_map(type(object))) return item_of_map(node, object, node.children[1]);
  const std::vector<ExpressionId> arguments = {object, bind(node.children[1])};
  if (const auto found = operator_of_class(node, "[]", arguments)) return *found;
  const Function* const function = functions_.find("operator[]");
  std::string why_not;
  if (function != nullptr)
    if (const auto result = invoke(node, *function, function->name, arguments, {}, why_not)) return *result;
  fail(ErrorKind::type, node.mark,
       fmt::format("{} has no subscript of type {}{}{}", type(arguments[0]).name(), type(arguments[1]).name(),
                   why_not.empty() ? "" : ": ", why_not));
}

}  // namespace colonnade::frame
