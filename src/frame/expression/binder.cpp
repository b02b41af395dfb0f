// Common to the binding of all kinds of nodes; see binder.h.
#include "frame/expression/binder.h"

#include <fmt/format.h>

#include "frame/expression/maps.h"
#include "frame/expression/members.h"

namespace colonnade::frame {

ExpressionId Binder::bind(NodeIndex index) {
  const SyntaxNode& node = syntax_[index];
  switch (node.kind) {
    case NodeKind::literal:
      return pool_.constant(node.value);
    case NodeKind::name:
      return name(index);
    case NodeKind::member:
      return member(index);
    case NodeKind::subscript:
      return subscript(node);
    case NodeKind::call:
      return call(node);
    case NodeKind::method:
      return method(node);
    case NodeKind::unary:
      return unary(node);
    case NodeKind::binary:
      return binary(index);
    case NodeKind::conditional:
      return conditional(index, [this](NodeIndex side) { return bind(side); });
    case NodeKind::cast:
      return cast(node, node.text, bind(node.children.front()));
    case NodeKind::list:
      return list(node, std::nullopt);
    case NodeKind::lambda:
      fail(ErrorKind::usage, node.whole,
           "a lambda can only be called, or be the last argument of Map, Filter, Sort and Argsort");
    case NodeKind::application:
      return application(node);
    case NodeKind::let:
      return let(node);
    case NodeKind::body:
    case NodeKind::declaration:
    case NodeKind::assignment:
    case NodeKind::branch:
    case NodeKind::loop:
    case NodeKind::selection:
    case NodeKind::jump:
    case NodeKind::invocation:
    case NodeKind::result:
      break;
    case NodeKind::exception:
      return exception(node);
  }
  return body(index);
}

// What tells a body from others that are bound in a pool.
std::string Binder::written(const SyntaxNode& node) const {
  if (syntax_.shares_nodes) return fmt::format("{} of {}", &node - syntax_.nodes.data(), syntax_.text);
  return syntax_.text.substr(node.whole.begin, node.whole.end - node.whole.begin);
}

ExpressionId Binder::bind_as(NodeIndex index, const std::optional<ValueType>& type) {
  const SyntaxNode& node = syntax_[index];
  if (!type) return bind(index);
  if (node.kind == NodeKind::let) {
    declare(node);
    const ExpressionId result = bind_as(node.children[1], type);
    locals_.pop_back();
    return result;
  }
  if (node.kind == NodeKind::conditional)
    return conditional(index, [&](NodeIndex side) { return bind_as(side, type); });  // braces, too
  if (node.kind == NodeKind::body) {
    const std::optional<ValueType> around = std::exchange(result_type_, type);
    const ExpressionId result = body(index);
    result_type_ = around;
    return result;
  }
  if (node.kind == NodeKind::list && type->is_list()) return list(items_in(node, *type), type->item());
  if (node.kind == NodeKind::list && is_map(*type)) return map_of_items(node, *type);
  if (node.kind == NodeKind::list && is_class(*type)) return object(node, *type, node.children);
  if (node.kind == NodeKind::list && is_product(*type)) return record(node, *type, node.children);
  const ExpressionId value = bind(index);
  return is_product(*type) ? as_product(node, value, *type) : value;
}

// {{1, 2}} for an array is {1, 2}.
const SyntaxNode& Binder::items_in(const SyntaxNode& list, const ValueType& type) const {
  const bool is_double = list.children.size() == 1 && type.item().is_scalar() &&
                         syntax_[list.children.front()].kind == NodeKind::list;
  return is_double ? syntax_[list.children.front()] : list;
}

// One pair becomes another, member by member.
ExpressionId Binder::as_product(const SyntaxNode& node, ExpressionId value, const ValueType& wanted) {
  const ValueType given = type(value);
  if (given == wanted || !is_product(given) || given.members().size() != wanted.members().size())
    return value;
  std::vector<ExpressionId> members;
  for (std::size_t i = 0; i < given.members().size(); ++i) {
    const ExpressionId member = pool_.call(member_kernel(given, i), {value}, given.members()[i].first);
    members.push_back(at(node.whole, [&] { return pool_.convert(member, wanted.members()[i].second); }));
  }
  return pool_.call(record_kernel(wanted), std::move(members), wanted.name());
}

bool is_product(const ValueType& type) {
  return type.is_record() &&
         (type.class_name().starts_with("std::pair<") || type.class_name().starts_with("std::tuple<"));
}

std::vector<ExpressionId> Binder::bind_all(const std::vector<NodeIndex>& nodes) {
  std::vector<ExpressionId> bound;
  bound.reserve(nodes.size());
  for (const NodeIndex node : nodes) bound.push_back(bind(node));
  return bound;
}

std::optional<ExpressionId> Binder::invoke(const SyntaxNode& node, const Function& function,
                                           std::string_view written,
                                           const std::vector<ExpressionId>& arguments,
                                           std::span<const std::string> template_types,
                                           std::string& why_not) {
  std::vector<Argument> known;
  known.reserve(arguments.size());
  for (const ExpressionId id : arguments) known.push_back({pool_[id].type, pool_[id].constant.get()});
  Bound bound = at(node.mark, [&] { return function.bind({written, template_types, known}); });
  if (bound.kernel == nullptr) {
    why_not = std::move(bound.why_not);
    return std::nullopt;
  }
  return pool_.call(std::move(bound.kernel), arguments, function.name);
}

std::string Binder::types_of(const std::vector<ExpressionId>& arguments) const {
  std::string text;
  for (const ExpressionId id : arguments)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", type(id).name());
  return text;
}

// The type of an expression with either of two values: the common type, or that of their arithmetic.
std::optional<ValueType> Binder::common_type(const ValueType& a, const ValueType& b) const {
  if (a == b) return a;
  const auto is_number = [](const ValueType& type) { return type.is_integer() || type.is_floating(); };
  if (a.depth() != b.depth() || !is_number(a.innermost()) || !is_number(b.innermost())) return std::nullopt;
  return a.with_innermost(common_element(a.innermost().element(), b.innermost().element()));
}

// ---- Items, for Vary

// The items of {a, b}, RVecF{a, b} or RVecF({a, b}).
std::optional<Binder::Items> Binder::items_of(NodeIndex index) {
  const SyntaxNode* node = &syntax_[index];
  Items items;
  if (node->kind == NodeKind::call) {
    const auto type = type_of_name(written_type(*node));
    if (!type || !type->is_list()) return std::nullopt;
    items.type = type->item();
    const bool wraps =
        !node->braces && node->children.size() == 1 && syntax_[node->children.front()].kind == NodeKind::list;
    if (wraps) node = &syntax_[node->children.front()];
    if (!wraps && !node->braces) return std::nullopt;
    // RVecF{x} of a list x is a copy.
    if (!wraps && node->children.size() == 1 && syntax_[node->children.front()].kind != NodeKind::list &&
        this->type(bind(node->children.front())).depth() == type->depth())
      return std::nullopt;
  } else if (node->kind != NodeKind::list) {
    return std::nullopt;
  }
  items.nodes = node->children;
  return items;
}

std::vector<ExpressionId> Binder::bind_items(const std::optional<ValueType>& of_empty) {
  const NodeIndex index = enter_declarations();
  const auto items = items_of(index);
  if (!items) return {bind(index)};
  std::vector<ExpressionId> bound;
  for (const NodeIndex node : items->nodes)
    bound.push_back(bind_as(node, items->type || !syntax_[node].children.empty() ? items->type : of_empty));
  if (items->type)
    for (std::size_t i = 0; i < bound.size(); ++i)
      bound[i] = at(syntax_[items->nodes[i]].whole, [&] { return pool_.convert(bound[i], *items->type); });
  return bound;
}

// Declarations and other statements may precede the braces.
NodeIndex Binder::enter_declarations() {
  NodeIndex index = syntax_.root;
  for (; syntax_[index].kind == NodeKind::let; index = syntax_[index].children[1]) declare(syntax_[index]);
  return syntax_[index].kind == NodeKind::body ? enter_body(index) : index;
}

}  // namespace colonnade::frame
