// "switch": its sections become branches, each taken by its labels or by what falls through from the one
// before. See parser.h.
#include <fmt/format.h>

#include <span>
#include <utility>

#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t most_labels = 500;

}  // namespace

// switch (selector) { case 1: case 2: ...; break; default: ... }
void Parser::selection(Block& block) {
  const TextRange mark = take().range;
  const NodeIndex selector = condition_in_brackets();
  const Token& open = here();
  if (!accept("{")) fail_here("'{'");
  const bool around_switch = std::exchange(in_switch_, true);
  const bool around_leaves = std::exchange(leaves_switch_, false);
  const std::size_t around = variables_.size();
  Block whole;
  const std::string& name = hidden_.emplace_back(fmt::format("switch {}", hidden_.size()));
  SyntaxNode promoted = make(NodeKind::unary, mark, {selector});
  promoted.text = "+";
  declare({.name = name}, {.value = add(std::move(promoted)), .name = name, .type = "auto", .mark = mark},
          whole.steps);

  std::vector<Section> sections;
  std::vector<NodeIndex> children = {0, selector};
  while (!accept("}")) {
    if (here().kind == Token::Kind::end) fail(open.range, "'{' without its '}'");
    sections.push_back(section());
    const Section& made = sections.back();
    children.insert(children.end(), made.labels.begin(), made.labels.end());
    if (children.size() > most_labels)
      fail(made.mark, fmt::format("more than {} labels in a switch", most_labels));
  }
  bool has_default = false;
  bool falls_through = false;
  bool ends = !leaves_switch_;
  std::string_view entered;  // whether the section before falls into this one
  for (std::size_t i = 0; i < sections.size(); ++i) {
    Section& section = sections[i];
    if (section.is_default && std::exchange(has_default, true))
      fail(section.mark, "a switch has one 'default'");
    std::vector<NodeIndex> conditions = {selects(sections, section, name)};
    if (falls_through) conditions.push_back(named(entered, section.mark));
    falls_through = section.body.leads_on() && !section.is_left;
    ends = ends && !section.is_left;
    const NodeIndex condition = any_of(conditions, section.mark);
    if (falls_through && i + 1 < sections.size()) {
      entered = hidden_.emplace_back(fmt::format("switch {}", hidden_.size()));
      SyntaxNode no = make(NodeKind::literal, section.mark);
      no.value = make_constant(1, false);
      declare(
          {.name = entered},
          {.value = add(std::move(no)), .name = std::string(entered), .type = "auto", .mark = section.mark},
          whole.steps);
      add_step(section.body, add(make(NodeKind::assignment, section.mark,
                                      {named(entered, section.mark), truth(section.mark)})));
    }
    add_step(whole, add(make(NodeKind::branch, section.mark, {condition, body_of(section.body)})));
  }
  leave_scope(around);
  in_switch_ = around_switch;
  leaves_switch_ = around_leaves;
  children[0] = body_of(whole);
  SyntaxNode node = make(NodeKind::selection, mark, std::move(children));
  const NodeIndex made = add(std::move(node));
  for (Variable& variable : std::span(variables_).subspan(own_variables_))
    if (variable.fixed_as.empty()) variable.depth = std::max(variable.depth, syntax_.nodes[made].depth + 1);
  add_step(block, made);
  block.ends = ends && has_default && !falls_through;
}

// Labels, and what follows up to the next ones.
Parser::Section Parser::section() {
  Section made;
  made.mark = here().range;
  while (here().is_name("case") || here().is_name("default")) {
    if (take().is_name("default")) {
      made.is_default = true;
    } else {
      made.labels.push_back(expression());
    }
    if (!accept(":")) fail_here("':'");
  }
  if (made.labels.empty() && !made.is_default) fail_here("'case' or 'default'");
  const auto is_at_end = [&] {
    return here().is_name("case") || here().is_name("default") || here().is("}") ||
           here().kind == Token::Kind::end;
  };
  const std::size_t around = variables_.size();
  while (made.body.leads_on() && !made.is_left && !is_at_end()) {
    if (here().is_name("break") && token(at_ + 1).is(";")) {
      at_ += 2;
      made.is_left = true;
    } else {
      statement(made.body);
    }
  }
  const bool leaves = leaves_switch_;
  for (Block unreached; !is_at_end();) statement(unreached);
  leaves_switch_ = leaves;
  leave_scope(around);
  return made;
}

// Whether the selector chooses a section by its labels.
NodeIndex Parser::selects(const std::vector<Section>& sections, const Section& section,
                          std::string_view selector) {
  std::vector<NodeIndex> conditions;
  for (const Section& each : sections) {
    if ((&each == &section) == section.is_default) continue;
    for (const NodeIndex label : each.labels) {
      SyntaxNode equal = make(NodeKind::binary, each.mark, {named(selector, each.mark), label});
      equal.text = "==";
      conditions.push_back(add(std::move(equal)));
    }
  }
  if (!section.is_default) return any_of(conditions, section.mark);
  if (conditions.empty()) return truth(section.mark);
  SyntaxNode none = make(NodeKind::unary, section.mark, {any_of(conditions, section.mark)});
  none.text = "!";
  return add(std::move(none));
}

NodeIndex Parser::any_of(const std::vector<NodeIndex>& conditions, TextRange mark) {
  NodeIndex any = conditions.front();
  for (const NodeIndex condition : std::span(conditions).subspan(1)) {
    const std::uint32_t depth = std::max(syntax_[any].depth, syntax_[condition].depth + 1);
    SyntaxNode node = make(NodeKind::binary, mark, {any, condition});
    node.text = "||";
    if (syntax_[any].text == "||") node.depth = depth;
    any = add(std::move(node));
  }
  return any;
}

}  // namespace colonnade::frame
