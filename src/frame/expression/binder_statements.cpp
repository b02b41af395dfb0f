// Statements: a body is followed with the present value of each variable. Where paths meet, a variable that
// they have changed takes the value of either, by the condition; see binder.h.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ranges>
#include <set>

#include "frame/expression/binder.h"
#include "frame/expression/changes.h"
#include "frame/expression/members.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t most_array_items = 65'536;  // every row has them

struct Array {
  std::string_view item;  // its type
  std::size_t size = 0;
};

// Of "std::array<float, 3>", whose values are lists here; none for other types. Throws ErrorKind::usage for
// too many items.
std::optional<Array> array_of(std::string_view type) {
  if (!without_namespace(type).starts_with("array<")) return std::nullopt;
  const std::size_t open = type.find('<');
  const std::size_t comma = type.rfind(',');
  if (comma == std::string_view::npos || comma + 2 > type.size()) return std::nullopt;
  Array found{type.substr(open + 1, comma - open - 1)};
  const std::string_view digits = type.substr(comma + 2);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), found.size);
  if (error != std::errc() || end == digits.data() + digits.size() || *end != '>') return std::nullopt;
  if (found.size > most_array_items)
    throw Error(ErrorKind::usage, fmt::format("{} has more than {} items", type, most_array_items),
                "use fewer, or a std::vector of as many as are needed");
  return found;
}

}  // namespace

void Binder::declare(const SyntaxNode& node) {
  const auto type = node.type == "auto" ? std::nullopt : type_of_name(node.type);
  if (node.type != "auto" && !type)
    fail(ErrorKind::not_found, node.mark,
         fmt::format("unknown type '{}' of '{}'", node.type, spelled_name(node.text)));
  if (node.children.empty()) {
    locals_.push_back({node.text, *type, default_of(node, *type)});
    return;
  }
  if (takes_flags_ && type && type->innermost() == ElementType::boolean) require_flag(node.children.front());
  ExpressionId value = bind_as(node.children.front(), type);
  if (node.text.starts_with(loop_list)) value = without_map(value);
  if (node.text.starts_with(loop_list) && !this->type(value).is_list() && !this->type(value).is_string())
    fail(ErrorKind::type, node.mark,
         fmt::format("the items of a list are needed here, got {}", this->type(value).name()));
  if (type) value = at(node.mark, [&] { return pool_.convert(value, *type); });
  const SyntaxNode& given = syntax_[node.children.front()];
  if (type && given.kind == NodeKind::list)
    value = filled(node, node.type, value, items_in(given, *type).children.size());
  locals_.push_back({node.text, this->type(value), value});
}

// Numbers have no value at first.
std::optional<ExpressionId> Binder::default_of(const SyntaxNode& node, const ValueType& type) {
  if (type.is_scalar()) return std::nullopt;
  return at(node.mark, [&] { return zeros(node.type, type); });
}

ExpressionId Binder::zeros(std::string_view name, const ValueType& type) {
  const auto array = array_of(name);
  if (!array || !type.is_list()) return pool_.constant(zero_of(type));
  const ExpressionId item = zeros(array->item, type.item());
  return pool_.call(
      resize_list(type),
      {pool_.constant(empty_list(type.item())), number(static_cast<std::int64_t>(array->size)), item},
      std::string(name));
}

// An array that is made of fewer items has zeros behind them.
ExpressionId Binder::filled(const SyntaxNode& node, std::string_view name, ExpressionId list,
                            std::size_t given) {
  const auto array = at(node.mark, [&] { return array_of(name); });
  if (!array || given == array->size) return list;
  if (given > array->size)
    fail(ErrorKind::usage, node.mark, fmt::format("{} items do not fit in {}", given, name));
  const ValueType type = this->type(list);
  const ExpressionId zero = at(node.mark, [&] { return zeros(array->item, type.item()); });
  return pool_.call(resize_list(type), {list, number(static_cast<std::int64_t>(array->size)), zero},
                    std::string(name));
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
  const std::span<const Exit> exits = outcome.exits;
  if (exits.empty()) fail(ErrorKind::usage, syntax_[index].mark, "these statements never return");
  return *choose_among(syntax_[index], exits.first(exits.size() - 1), exits.back().value,
                       [](const Exit& exit) { return exit.value; });
}

// Follows the statements before the last one, whose value may be braces; unless they may return, too.
NodeIndex Binder::enter_body(NodeIndex index) {
  const std::vector<NodeIndex>& statements = syntax_[index].children;
  const auto before = std::span(statements).first(statements.size() - 1);
  const bool is_simple = syntax_[statements.back()].kind == NodeKind::result &&
                         std::ranges::none_of(before, [this](NodeIndex each) { return has_exits(each); });
  if (!is_simple) return index;
  Outcome none;
  for (const NodeIndex statement : before) step(statement, none);
  return syntax_[statements.back()].children.front();
}

bool Binder::has_exits(NodeIndex index) const {
  const SyntaxNode& node = syntax_[index];
  if (node.kind == NodeKind::result || node.kind == NodeKind::invocation) return true;
  if (node.kind != NodeKind::body && node.kind != NodeKind::branch && node.kind != NodeKind::loop &&
      node.kind != NodeKind::selection)
    return false;
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
  switch (node.kind) {
    case NodeKind::declaration:
      return declare(node);
    case NodeKind::assignment:
      return assign(node);
    case NodeKind::branch:
      return branch(node, outcome);
    case NodeKind::loop:
      return loop(node, outcome);
    case NodeKind::selection:
      return selection(node, outcome);
    case NodeKind::invocation:
      return invocation(node, outcome);
    case NodeKind::body:
      return run(index, outcome);
    case NodeKind::jump:
      return leave({.kind = node.text == "break"    ? Exit::Kind::end_of_loop
                            : node.text == "switch" ? Exit::Kind::end_of_switch
                                                    : Exit::Kind::next_turn,
                    .condition = truth(true)},
                   outcome);
    default:
      // What such a body changes counts where a call is followed.
      if (followed_ > 0 && syntax_[node.children.front()].kind == NodeKind::body)
        return run(node.children.front(), outcome);
      if (takes_flags_ && result_type_ && result_type_->innermost() == ElementType::boolean)
        require_flag(node.children.front());
      leave({.condition = truth(true), .value = bind_as(node.children.front(), result_type_)}, outcome);
  }
}

void Binder::leave(Exit exit, Outcome& outcome) const {
  if (exit.kind != Exit::Kind::result || followed_ > 0) exit.locals = locals_;
  outcome.exits.push_back(std::move(exit));
  outcome.leads_on = false;
}

void Binder::branch(const SyntaxNode& node, Outcome& outcome) {
  const ExpressionId condition = condition_of(node.children[0]);
  const std::vector<Local> before = locals_;
  Outcome yes, no;
  run(node.children[1], yes);
  const std::vector<Local> after = std::exchange(locals_, before);
  if (node.children.size() > 2) run(node.children[2], no);

  for (Exit& exit : yes.exits) {
    exit.condition = both(Op::logical_and, node, condition, exit.condition);
    outcome.exits.push_back(std::move(exit));
  }
  // Behind an exit of the other branch that is always taken, the condition needs no second look.
  for (Exit& exit : no.exits) {
    if (yes.leads_on) exit.condition = choose(node, condition, truth(false), exit.condition);
    outcome.exits.push_back(std::move(exit));
  }
  outcome.leads_on = yes.leads_on || no.leads_on;
  // A path that has been left does not lead on.
  if (!no.leads_on)
    locals_ = after;
  else if (yes.leads_on)
    merge(node, condition, after);
}

// Breaks lead behind it.
void Binder::selection(const SyntaxNode& node, Outcome& outcome) {
  if (const ValueType selector = type(bind(node.children[1])); !selector.is_integer())
    fail(ErrorKind::type, syntax_[node.children[1]].whole,
         fmt::format("'switch' chooses by an integer, got {}", selector.name()));
  std::set<std::string> labels;
  for (const NodeIndex label : std::span(node.children).subspan(2)) {
    const ExpressionId value = bind(label);
    if (pool_[value].op != Op::constant || !type(value).is_integer())
      fail(ErrorKind::type, syntax_[label].whole, "a label of 'switch' is a constant integer");
    const ExpressionId number = pool_.convert(value, ElementType::int64);
    if (!labels.insert(text_of(pool_, number)).second)
      fail(ErrorKind::usage, syntax_[label].whole, "there is already such a label");
  }
  Outcome inside;
  run(node.children[0], inside);
  const std::span<const Exit> exits = inside.exits;
  meet(node, exits, Exit::Kind::end_of_switch, inside.leads_on);
  outcome.leads_on = inside.leads_on;
  for (std::size_t i = 0; i < exits.size(); ++i) {
    if (exits[i].kind == Exit::Kind::end_of_switch) {
      outcome.leads_on = true;
      continue;
    }
    Exit exit = exits[i];
    for (std::size_t before = i; before-- > 0;)
      if (exits[before].kind == Exit::Kind::end_of_switch)
        exit.condition = choose(node, exits[before].condition, truth(false), exit.condition);
    outcome.exits.push_back(std::move(exit));
  }
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

}  // namespace colonnade::frame
