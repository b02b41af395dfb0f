// Loops: one turn is bound in a pool of its own, see loop_kernel.h.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>

#include "frame/expression/binder.h"
#include "frame/expression/inner_scope.h"
#include "frame/expression/loop_kernel.h"
#include "frame/expression/members.h"

namespace colonnade::frame {

// The variables that are assigned within a node; some may be of its own scopes, under the same name.
std::vector<std::size_t> Binder::changed_by(const SyntaxNode& node) const {
  std::set<std::string_view> names;
  for (const NodeIndex child : node.children) add_targets(child, names);
  std::vector<std::size_t> places;
  for (std::size_t i = locals_.size(); i-- > 0;)
    if (names.erase(locals_[i].name) != 0) places.push_back(i);
  std::ranges::reverse(places);
  return places;
}

void Binder::add_targets(NodeIndex index, std::set<std::string_view>& names) const {
  const SyntaxNode& node = syntax_[index];
  if (node.kind == NodeKind::body || node.kind == NodeKind::branch || node.kind == NodeKind::loop ||
      node.kind == NodeKind::selection || node.kind == NodeKind::result)
    for (const NodeIndex child : node.children) add_targets(child, names);
  if (node.kind == NodeKind::invocation) {
    const SyntaxNode& lambda = syntax_[syntax_[node.children.front()].children.front()];
    add_targets(lambda.children.front(), names);
    for (const NodeIndex target : std::span(node.children).subspan(1)) add_root(target, names);
  }
  if (node.kind == NodeKind::assignment) add_root(node.children.front(), names);
}

// The variable that this is a part of.
void Binder::add_root(NodeIndex target, std::set<std::string_view>& names) const {
  while (syntax_[target].kind != NodeKind::name) target = syntax_[target].children.front();
  names.insert(syntax_[target].text);
}

void Binder::loop(const SyntaxNode& node, Outcome& outcome) {
  const std::vector<std::size_t> changed = changed_by(node);
  std::vector<std::size_t> variables;
  std::ranges::copy_if(changed, std::back_inserter(variables),
                       [this](std::size_t i) { return locals_[i].value.has_value(); });
  const auto pool = std::make_shared<ExpressionPool>();
  const InnerScope scope(*this, *pool, variables.size());
  Binder inside(syntax_, *pool, scope, functions_);
  inside.result_type_ = result_type_;
  inside.followed_ = followed_;
  inside.takes_flags_ = takes_flags_;
  std::vector<ExpressionId> arguments;
  LoopBody body;
  body.text = written(node);
  for (const std::size_t place : variables) {
    const Local& outer = locals_[place];
    const ExpressionId column = pool->column(static_cast<std::uint32_t>(arguments.size()), outer.type);
    inside.locals_.push_back({outer.name, outer.type, column});
    arguments.push_back(*outer.value);
    body.members.emplace_back(outer.name, outer.type);
  }
  for (const std::size_t place : changed) {
    const Local& outer = locals_[place];
    if (outer.value) continue;
    inside.locals_.push_back({outer.name, outer.type, std::nullopt});
    body.text += fmt::format(" {} {}", outer.type.name(), outer.name);
  }
  body.pool = pool;
  inside.turn(node, variables.size(), body);

  std::ranges::copy(scope.captured(), std::back_inserter(arguments));
  for (std::size_t i = 0; i < arguments.size(); ++i)
    body.inputs.push_back(pool->column(static_cast<std::uint32_t>(i), type(arguments[i])));
  const bool returns = body.returns.has_value();
  const bool throws = returns && inside.is_exception(*body.value);  // nothing is returned
  const ExpressionId result = pool_.call(loop_kernel(std::move(body)), std::move(arguments), "for");
  const ValueType result_type = type(result);
  const auto member = [&](std::size_t i) {
    return pool_.call(member_kernel(result_type, i), {result},
                      fmt::format(".{}", result_type.members()[i].first));
  };
  for (std::size_t i = 0; i < variables.size(); ++i) locals_[variables[i]].value = member(i);
  if (!returns) return;
  Exit exit{.condition = member(variables.size())};
  if (followed_ > 0) exit.locals = locals_;
  exit.value = throws ? exception_of("in a loop") : member(variables.size() + 1);
  outcome.exits.push_back(std::move(exit));
}

// Binds a turn with this binder, whose first locals are the variables of the loop.
void Binder::turn(const SyntaxNode& node, std::size_t variables, LoopBody& body) {
  body.condition_comes_last = node.text == "do";
  if (!body.condition_comes_last) body.condition = condition_of(node.children[0]);
  const std::vector<Local> at_begin = locals_;
  Outcome outcome;
  run(node.children[1], outcome);
  const std::span<const Exit> exits = outcome.exits;

  const auto is_kept = [](const Exit& exit) { return exit.kind == Exit::Kind::next_turn; };
  if (!std::ranges::all_of(exits, is_kept)) {
    const auto none = outcome.leads_on ? std::optional(truth(false)) : std::nullopt;
    body.leaves = choose_among(node, exits, none, [&](const Exit& exit) {
      return std::optional(truth(exit.kind != Exit::Kind::next_turn));
    });
    for (std::size_t i = 0; i < variables; ++i) {
      const auto left = choose_among(node, exits, std::nullopt, [&](const Exit& exit) {
        const bool is_known =
            exit.kind == Exit::Kind::end_of_loop || (exit.kind == Exit::Kind::result && !exit.locals.empty());
        return is_known ? exit.locals[i].value : std::nullopt;
      });
      body.left.push_back(left.value_or(*at_begin[i].value));
    }
  }
  if (std::ranges::any_of(exits, [](const Exit& exit) { return exit.kind == Exit::Kind::result; })) {
    body.returns = choose_among(node, exits, truth(false), [&](const Exit& exit) {
      return std::optional(truth(exit.kind == Exit::Kind::result));
    });
    body.value = choose_among(node, exits, std::nullopt, [](const Exit& exit) {
      return exit.kind == Exit::Kind::result ? std::optional(exit.value) : std::nullopt;
    });
    body.members.emplace_back("returned?", ElementType::boolean);
    body.members.emplace_back("returned value", type(*body.value));
  }
  meet(node, exits, Exit::Kind::next_turn, outcome.leads_on);
  const bool goes_on = outcome.leads_on || std::ranges::any_of(exits, is_kept);
  if (!goes_on) return;
  if (node.children.size() > 2) {
    Outcome none;
    run(node.children[2], none);
  }
  if (body.condition_comes_last) body.condition = condition_of(node.children[0]);
  for (std::size_t i = 0; i < variables; ++i) body.next.push_back(*locals_[i].value);
}

// The variables where the paths of some exits, such as those by continue, meet the path that leads on.
void Binder::meet(const SyntaxNode& node, std::span<const Exit> exits, Exit::Kind kind, bool leads_on) {
  for (std::size_t i = 0; i < locals_.size(); ++i) {
    std::optional<ExpressionId> otherwise = leads_on ? locals_[i].value : std::nullopt;
    bool is_known = !leads_on || otherwise;
    const auto value = choose_among(node, exits, otherwise, [&](const Exit& exit) {
      if (exit.kind != kind) return std::optional<ExpressionId>();
      is_known = is_known && exit.locals[i].value;
      return exit.locals[i].value;
    });
    locals_[i].value = is_known ? value : std::nullopt;
  }
}

}  // namespace colonnade::frame
