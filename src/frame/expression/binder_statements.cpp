// Statements: a body is followed with the present value of each variable. Where paths meet, a variable that
// they have changed takes the value of either, by the condition; see binder.h.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "frame/expression/binder.h"

namespace colonnade::frame {

void Binder::declare(const SyntaxNode& node) {
  const auto type = node.type == "auto" ? std::nullopt : type_of_name(node.type);
  if (node.type != "auto" && !type)
    fail(ErrorKind::not_found, node.mark, fmt::format("unknown type '{}' of '{}'", node.type, node.text));
  if (node.children.empty()) {
    locals_.push_back({node.text, *type, std::nullopt});
    return;
  }
  ExpressionId value = bind_as(node.children.front(), type);
  if (type) value = at(node.mark, [&] { return pool_.convert(value, *type); });
  locals_.push_back({node.text, this->type(value), value});
}

ExpressionId Binder::let(const SyntaxNode& node) {
  declare(node);
  const ExpressionId result = bind(node.children[1]);
  locals_.pop_back();
  return result;
}

// What statements return; variables around them keep their values.
ExpressionId Binder::body(NodeIndex index) {
  const std::vector<Local> before = locals_;
  Outcome outcome;
  run(index, outcome);
  locals_ = before;
  return returned(syntax_[index], outcome.exits, *outcome.last);
}

// Follows the statements before the last one, whose value may be braces; unless they may return, too.
NodeIndex Binder::enter_body(NodeIndex index) {
  const std::vector<NodeIndex>& statements = syntax_[index].children;
  const auto before = std::span(statements).first(statements.size() - 1);
  if (std::ranges::any_of(before, [this](NodeIndex each) { return has_exits(each); })) return index;
  Outcome none;
  for (const NodeIndex statement : before) step(statement, none);
  return syntax_[statements.back()].children.front();
}

bool Binder::has_exits(NodeIndex index) const {
  const SyntaxNode& node = syntax_[index];
  if (node.kind == NodeKind::result) return true;
  if (node.kind != NodeKind::body && node.kind != NodeKind::branch) return false;
  return std::ranges::any_of(node.children, [this](NodeIndex each) { return has_exits(each); });
}

// In a scope of its own.
void Binder::run(NodeIndex index, Outcome& outcome) {
  const std::size_t around = locals_.size();
  for (const NodeIndex statement : syntax_[index].children) step(statement, outcome);
  locals_.erase(locals_.begin() + static_cast<std::ptrdiff_t>(around), locals_.end());
}

void Binder::step(NodeIndex index, Outcome& outcome) {
  const SyntaxNode& node = syntax_[index];
  if (node.kind == NodeKind::declaration)
    declare(node);
  else if (node.kind == NodeKind::assignment)
    assign(node);
  else if (node.kind == NodeKind::branch)
    branch(node, outcome);
  else if (node.kind == NodeKind::body)
    run(index, outcome);
  else
    outcome.last = bind(node.children.front());
}

void Binder::assign(const SyntaxNode& node) {
  const auto found = std::ranges::find(locals_.rbegin(), locals_.rend(), node.text, &Local::name);
  const std::size_t place = static_cast<std::size_t>(locals_.rend() - found) - 1;
  const ValueType wanted = locals_[place].type;
  const ExpressionId value = bind_as(node.children.front(), wanted);
  locals_[place].value = at(node.mark, [&] { return pool_.convert(value, wanted); });
}

void Binder::branch(const SyntaxNode& node, Outcome& outcome) {
  const ExpressionId condition = condition_of(node.children[0]);
  const std::vector<Local> before = locals_;
  Outcome yes, no;
  run(node.children[1], yes);
  const std::vector<Local> after = std::exchange(locals_, before);
  if (node.children.size() > 2) run(node.children[2], no);

  const auto exit = exit_of(node, yes);
  const auto other = exit_of(node, no);
  if (exit || other) {
    const ExpressionId never = pool_.constant(make_constant(1, false));
    const ExpressionId taken =
        choose(node, condition, exit ? exit->condition : never, other ? other->condition : never);
    const ExpressionId value = exit && other ? choose(node, condition, exit->value, other->value)
                               : exit        ? exit->value
                                             : other->value;
    outcome.exits.push_back({taken, value});
  }
  // A path that has returned does not lead on.
  if (no.last)
    locals_ = after;
  else if (!yes.last)
    merge(node, condition, after);
}

// `yes`: the variables where the condition holds; locals_: where it does not.
void Binder::merge(const SyntaxNode& node, ExpressionId condition, std::span<const Local> yes) {
  for (std::size_t i = 0; i < locals_.size(); ++i) {
    std::optional<ExpressionId>& value = locals_[i].value;
    if (value == yes[i].value) continue;
    value =
        value && yes[i].value ? std::optional(choose(node, condition, *yes[i].value, *value)) : std::nullopt;
  }
}

// Whether a branch returns, and what.
std::optional<Binder::Exit> Binder::exit_of(const SyntaxNode& node, const Outcome& outcome) {
  std::span<const Exit> exits = outcome.exits;
  if (outcome.last) return Exit{pool_.constant(make_constant(1, true)), returned(node, exits, *outcome.last)};
  if (exits.empty()) return std::nullopt;
  ExpressionId condition = exits.back().condition;
  const ExpressionId value = returned(node, exits.first(exits.size() - 1), exits.back().value);
  for (const Exit& each : std::views::reverse(exits.first(exits.size() - 1)))
    condition = both(Op::logical_or, node, each.condition, condition);
  return Exit{condition, value};
}

ExpressionId Binder::returned(const SyntaxNode& node, std::span<const Exit> exits, ExpressionId last) {
  for (const Exit& exit : std::views::reverse(exits)) last = choose(node, exit.condition, exit.value, last);
  return last;
}

}  // namespace colonnade::frame
