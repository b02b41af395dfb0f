// Loops: "for" with its three parts or over the items of a list, "while" and "do"; see parser.h. All become
// one kind of node. One over a list goes through places in a list that is declared before it.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

// Each keeps the variables that it leaves a turn with.
constexpr unsigned most_jumps = 1000;

}  // namespace

bool Parser::starts_loop() const {
  return here().is_name("for") || here().is_name("while") || here().is_name("do");
}

// In a scope of its own, which holds the variables that it declares.
void Parser::loop(Block& block) {
  const unsigned around_loops = loops_++;
  const bool around_breaks = std::exchange(breaks_, false);
  const bool around_switch = std::exchange(in_switch_, false);
  const std::size_t around = variables_.size();
  Block whole;
  if (here().is_name("for"))
    for_loop(whole);
  else if (here().is_name("while"))
    while_loop(whole);
  else
    do_loop(whole);
  leave_scope(around);
  loops_ = around_loops;
  breaks_ = around_breaks;
  in_switch_ = around_switch;
  block.ends = whole.ends;
  add_step(block, body_of(whole));
}

void Parser::for_loop(Block& block) {
  Loop made{.mark = take().range};
  const Token& open = here();
  if (!accept("(")) fail_here("'('");
  if (const auto type = type_at(at_);
      type && token(type->end).kind == Token::Kind::name && token(type->end + 1).is(":"))
    return range_loop(block, *type);
  if (const auto type = binding_type()) return range_loop(block, *type);
  if (const auto type = declared_type()) {
    declaration(*type, block.steps);
  } else {
    if (!here().is(";")) {
      if (!assigns()) fail_here("a declaration, an assignment or ';'");
      add_step(block, assignment());
    }
    if (!accept(";")) fail_here("a declaration or ';'");
  }
  made.is_endless = here().is(";");
  Block turn;
  made.condition = made.is_endless ? truth(made.mark) : condition_with_effects(turn, made.mark, false);
  if (!accept(";")) fail_here("an operator or ';'");
  Block steps;
  while (!here().is(")")) {
    if (!assigns()) fail_here("an assignment or ')'");
    add_step(steps, assignment());
    if (!accept(",")) break;
  }
  expect(")", open);
  if (!steps.steps.empty()) made.step = body_of(steps);
  close_with(block, made, turn);
}

// `turn`: what a condition that changes variables does first in each turn.
void Parser::close_with(Block& block, Loop loop, Block& turn) {
  if (turn.steps.empty()) return close(block, loop, branch());
  end_unless(loop.condition, loop.mark, turn);
  loop.condition = truth(loop.mark);
  const Block inner = branch();
  turn.ends = !inner.leads_on();
  add_step(turn, body_of(inner));
  breaks_ = true;
  close(block, loop, turn);
}

// for (const auto& x : list)
void Parser::range_loop(Block& block, const Type& type) {
  Loop made{.mark = token(at_).range};
  Item item{.type = type.name};
  bool is_reference = false;
  for (; at_ < type.end; ++at_) {
    if (here().is_name("const")) item.variable.fixed_as = "it is const";
    is_reference = is_reference || here().is("&") || here().is("&&");
  }
  item.mark = here().range;
  if (here().is("[")) {
    item.members = bound_names();
  } else {
    item.variable.name = take().text;
  }
  if (!accept(":")) fail_here("':'");
  const std::size_t begin = at_;
  const NodeIndex list = expression();
  if (!accept(")")) fail_here("an operator or ')'");
  std::optional<std::size_t> changes;
  if (is_reference && item.variable.fixed_as.empty()) {
    item.variable.fixed_as = "it is a reference to an item of something that cannot change";
    if (const auto named = find_variable(token(begin).text); named && at_ == begin + 2)
      item.variable.of = item_class(variables_[*named].of);
    changes = let_change(item.variable, list, begin, at_ - 1);
  }
  fix_variables(begin, at_ - 1, "a loop goes through it");
  go_through(block, std::move(made), std::move(item), list, changes, [this](Block& body) {
    const Block inner = branch();
    body.ends = !inner.leads_on();
    add_step(body, body_of(inner));
  });
}

// The variable whose items a loop can change that goes through these tokens, if there is one: it is a
// variable, a member of one, or another name of a part of one.
std::optional<std::size_t> Parser::let_change(Variable& item, NodeIndex list, std::size_t begin,
                                              std::size_t end) const {
  if (end == begin + 1 && is_changeable(token(begin))) return find_variable(token(begin).text);
  const auto name = find_variable(token(begin).text);
  const auto root = variable_of(list);
  if (!name || !root || *root < own_variables_ || end_of_target(begin) != end) return std::nullopt;
  for (std::size_t i = begin; i < end; ++i)
    if (token(i).is("[") || end_of_part(i) != i || (token(i).is("->") && !token(i - 1).is_name("this")))
      return std::nullopt;
  const Variable& alias = variables_[*name];
  const bool is_item = !alias.place.empty();  // a loop goes through the list, which it fixes
  if (!alias.fixed_as.empty() || !(is_item || variables_[*root].fixed_as.empty())) return std::nullopt;
  item.refers_to = list;
  return root;
}

// `changes`: the variable whose items the loop can change, if there is one.
void Parser::go_through(Block& block, Loop made, Item item, NodeIndex list,
                        std::optional<std::size_t> changes, const std::function<void(Block&)>& parse_body) {
  const TextRange mark = syntax_.nodes[list].whole;
  const std::string& list_name = hidden_.emplace_back(fmt::format("{} {}", loop_list, hidden_.size()));
  const std::string& place_name = hidden_.emplace_back(fmt::format("{} {}", loop_place, hidden_.size()));
  if (changes) {
    item.variable.list = *changes;
    item.variable.place = place_name;
    item.variable.fixed_as = {};
  }
  declare({.name = list_name}, {.value = list, .name = list_name, .type = "auto", .mark = mark}, block.steps);
  SyntaxNode zero = make(NodeKind::literal, mark);
  zero.value = make_constant<std::uint64_t>(1, 0);
  declare({.name = place_name},
          {.value = add(std::move(zero)), .name = place_name, .type = "auto", .mark = mark}, block.steps);

  SyntaxNode size = make(NodeKind::method, mark, {named(list_name, mark)});
  size.text = "size";
  SyntaxNode less = make(NodeKind::binary, mark, {named(place_name, mark), add(std::move(size))});
  less.text = "<";
  made.condition = add(std::move(less));

  SyntaxNode one = make(NodeKind::literal, mark);
  one.value = make_constant<std::uint64_t>(1, 1);
  SyntaxNode next = make(NodeKind::binary, mark, {named(place_name, mark), add(std::move(one))});
  next.text = "+";
  const NodeIndex place = named(place_name, mark);
  Block steps;
  add_step(steps, add(make(NodeKind::assignment, mark, {place, add(std::move(next))})));
  made.step = body_of(steps);

  Block body;
  if (changes && item.variable.refers_to) {
    const NodeIndex part = copy_of(*item.variable.refers_to, *changes, mark);
    item.variable.refers_to = add(make(NodeKind::subscript, mark, {part, named(place_name, mark)}));
  }
  const NodeIndex value =
      add(make(NodeKind::subscript, mark, {named(list_name, mark), named(place_name, mark)}));
  if (item.members.empty()) {
    const std::string name(item.variable.name);
    declare(item.variable, {.value = value, .name = name, .type = item.type, .mark = item.mark}, body.steps);
  } else {
    const std::string& object = hidden_.emplace_back(fmt::format("bound {}", hidden_.size()));
    declare({.name = object}, {.value = value, .name = object, .type = "auto", .mark = mark}, body.steps);
    if (changes) {
      refer_to_members(item, mark);
    } else {
      bind_members(item.variable, item.members, object, body.steps);
    }
  }
  parse_body(body);
  close(block, made, body);
}

// for (auto& [a, b] : list): names of the members of the item.
void Parser::refer_to_members(const Item& item, TextRange mark) {
  for (std::size_t i = 0; i < item.members.size(); ++i) {
    NodeIndex part = 0;
    if (item.variable.refers_to) {
      part = copy_of(*item.variable.refers_to, item.variable.list, mark);
    } else {
      const NodeIndex list = named(item.variable.list, mark);
      part = add(make(NodeKind::subscript, mark, {list, named(item.variable.place, mark)}));
    }
    Variable variable = item.variable;
    variable.name = item.members[i]->text;
    variable.refers_to = member_of(part, fmt::format("_{}", i), mark);
    variable.depth = syntax_[*variable.refers_to].depth;
    if (i == 0 && variables_[variable.list].is_map) variable.fixed_as = "keys of a map do not change";
    add_variable(variable, item.members[i]->range);
  }
}

void Parser::while_loop(Block& block) {
  Loop made{.mark = take().range};
  const std::size_t begin = at_;
  Block turn;
  made.condition = condition_with_effects(turn, made.mark);
  made.is_endless = at_ == begin + 3 && (token(begin + 1).is_name("true") || token(begin + 1).text == "1");
  close_with(block, made, turn);
}

void Parser::do_loop(Block& block) {
  Loop made{.mark = take().range, .kind = "do"};
  const Block body = branch();
  if (!here().is_name("while")) fail_here("'while'");
  take();
  made.condition = condition_in_brackets();
  if (!accept(";")) fail_here("';'");
  close(block, made, body);
}

void Parser::close(Block& block, Loop loop, const Block& body) {
  std::vector<NodeIndex> children = {loop.condition, body_of(body)};
  if (loop.step) children.push_back(*loop.step);
  SyntaxNode node = make(NodeKind::loop, loop.mark, std::move(children));
  node.text = loop.kind;
  node.whole = from(loop.mark);
  const NodeIndex made = add(std::move(node));
  // What it changes is taken from its result.
  for (Variable& variable : std::span(variables_).subspan(own_variables_))
    if (variable.fixed_as.empty()) variable.depth = std::max(variable.depth, syntax_.nodes[made].depth + 1);
  add_step(block, made);
  block.ends = loop.is_endless && !breaks_;
}

NodeIndex Parser::condition_in_brackets() {
  const Token& open = here();
  if (!accept("(")) fail_here("'('");
  const NodeIndex condition = expression();
  expect(")", open);
  return condition;
}

NodeIndex Parser::truth(TextRange mark) {
  SyntaxNode node = make(NodeKind::literal, mark);
  node.value = make_constant<bool>(1, true);
  return add(std::move(node));
}

NodeIndex Parser::falsehood(TextRange mark) {
  SyntaxNode node = make(NodeKind::literal, mark);
  node.value = make_constant<bool>(1, false);
  return add(std::move(node));
}

// if (!condition) break;
void Parser::end_unless(NodeIndex condition, TextRange mark, Block& block) {
  SyntaxNode jump = make(NodeKind::jump, mark);
  jump.text = "break";
  SyntaxNode none = make(NodeKind::unary, mark, {condition});
  none.text = "!";
  Block left;
  add_step(left, add(std::move(jump)));
  add_step(block, add(make(NodeKind::branch, mark, {add(std::move(none)), body_of(left)})));
}

void Parser::jump(Block& block) {
  const Token& word = take();
  if (++jumps_ > most_jumps) fail(word.range, fmt::format("more than {} jumps", most_jumps));
  const bool leaves_switch = in_switch_ && word.text == "break";
  if (loops_ == 0 && !leaves_switch) fail(word.range, fmt::format("'{}' stands in no loop", word.text));
  if (!accept(";")) fail_here("';'");
  (leaves_switch ? leaves_switch_ : breaks_) |= word.text == "break";
  SyntaxNode node = make(NodeKind::jump, word.range);
  node.text = leaves_switch ? std::string_view("switch") : word.text;
  add_step(block, add(std::move(node)));
  block.ends = true;
}

}  // namespace colonnade::frame
