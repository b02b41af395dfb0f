// Assignments to variables and their items, and methods that change lists; see parser.h.
#include <fmt/format.h>

#include <algorithm>

#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

constexpr std::string_view setters_of_vectors[] = {
    "SetPt",    "SetEta",     "SetPhi",      "SetM",           "SetE",    "SetPx",    "SetPy",   "SetPz",
    "SetX",     "SetY",       "SetZ",        "SetT",           "SetVect", "RotateX",  "RotateY", "RotateZ",
    "SetVectM", "SetVectMag", "SetPtEtaPhi", "SetMagThetaPhi", "Set",     "SetMagPhi"};

bool is_step(const Token& token) {
  return token.is("++") || token.is("--");
}

}  // namespace

std::optional<std::string_view> assigned_by(const Token& token) {
  if (token.kind != Token::Kind::symbol) return std::nullopt;
  if (token.is("++") || token.is("--")) return token.text.substr(1);
  for (const std::string_view symbol : {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
    if (token.is(symbol)) return symbol.substr(0, symbol.size() - 1);
  return std::nullopt;
}

bool is_changing_method(const Token& method) {
  for (const std::string_view name : setters_of_vectors)
    if (method.is_name(name)) return true;
  for (const std::string_view name :
       {"push_back",  "emplace_back", "pop_back", "clear",  "resize",         "reserve",      "insert",
        "erase",      "emplace",      "assign",   "fill",   "append",         "SetPtEtaPhiM", "SetPtEtaPhiE",
        "SetPxPyPzE", "SetXYZT",      "SetXYZM",  "SetXYZ", "SetCoordinates", "Boost"})
    if (method.is_name(name)) return true;
  return false;
}

// Behind "name", "name[...].first" or "*iterator" at this token; the token itself if there is no such thing.
std::size_t Parser::end_of_target(std::size_t at) const {
  std::size_t end = at + 1;
  if (token(at).is("*") && token(end).kind == Token::Kind::name) return end + 1;
  if (token(at).kind != Token::Kind::name || token(at).is_quoted) return at;
  for (;;) {
    const bool is_member = token(end).is(".") || (token(end).is("->") && end == at + 1);
    if (is_member && token(end + 1).kind == Token::Kind::name && !token(end + 2).is("(") &&
        !token(end + 2).is("::")) {
      end += 2;
      continue;
    }
    if (const std::size_t behind = end_of_part(end); behind != end) {
      end = behind;
      continue;
    }
    if (!token(end).is("[")) return end;
    int open = 0;
    do {
      if (token(end).kind == Token::Kind::end) return at;
      if (token(end).is("[")) ++open;
      if (token(end).is("]")) --open;
      ++end;
    } while (open > 0);
  }
}

// Behind ".back()", ".front()" or ".at(i)" at this token, or the token itself.
std::size_t Parser::end_of_part(std::size_t at) const {
  if (!token(at).is(".") || !token(at + 2).is("(")) return at;
  const Token& name = token(at + 1);
  if (name.is_name("back") || name.is_name("front")) return token(at + 3).is(")") ? at + 4 : at;
  if (!name.is_name("at")) return at;
  int open = 0;
  for (std::size_t end = at + 2; token(end).kind != Token::Kind::end; ++end) {
    if (token(end).is("(")) ++open;
    if (token(end).is(")") && --open == 0) return end + 1;
  }
  return at;
}

// Of such a method, which is next.
NodeIndex Parser::part_by_method(NodeIndex object, bool is_frozen) {
  take();
  const Token& name = take();
  const Token& open = take();
  NodeIndex index = 0;
  if (name.text == "at") {
    index = expression();
  } else {
    SyntaxNode number = make(NodeKind::literal, name.range);
    number.value = make_constant<std::int64_t>(1, name.text == "back" ? 1 : 0);
    index = add(std::move(number));
  }
  if (name.text == "back") {
    SyntaxNode size = make(NodeKind::method, name.range, {object});
    size.text = "size";
    SyntaxNode last = make(NodeKind::binary, name.range, {add(std::move(size)), index});
    last.text = "-";
    index = add(std::move(last));
  }
  expect(")", open);
  if (is_frozen) index = frozen(index);
  SyntaxNode item = make(NodeKind::subscript, from(name.range), {object, index});
  item.text = name.text == "at" ? needs_key : inserts_nothing;
  item.whole.end = item.mark.end;
  return add(std::move(item));
}

// Behind the name of sort(x.begin(), ...) and similar ones at this position, or the token itself.
std::size_t Parser::name_of_rearrangement() const {
  const std::size_t name = here().is_name("std") && token(at_ + 1).is("::") ? at_ + 2 : at_;
  for (const std::string_view known :
       {"sort", "stable_sort", "reverse", "iota", "fill", "nth_element", "partial_sort"})
    if (token(name).is_name(known) && token(name + 1).is("(") && range_at(name + 2, false)) return name + 1;
  return at_;
}

// sort(x.begin(), x.end(), comparison): x = Sort(x, comparison)
NodeIndex Parser::rearrangement() {
  const std::size_t begin = at_;
  at_ = name_of_rearrangement();
  const std::string_view name = token(at_ - 1).text;
  const TextRange mark = token(at_ - 1).range;
  const Token& open = take();
  const Range first = *range_at(at_, false);
  at_ = first.first;
  const Target changed = target();
  if (at_ != first.last) fail(here().range, "a variable or an item of one should be here");
  at_ = first.end;
  if (!accept(",")) fail_here("','");
  if (name == "nth_element" || name == "partial_sort") {  // all items are in order then
    static_cast<void>(expression());
    if (!accept(",")) fail_here("','");
  }
  const auto last = range_at(at_, true);
  const std::string object = spelled(first.first, first.last);
  if (!last || last->is_reverse != first.is_reverse || spelled(last->first, last->last) != object)
    fail(here().range, fmt::format("'{}.{}()' should be here", object, first.is_reverse ? "rend" : "end"));
  at_ = last->end;
  const auto call = [&](std::string_view function, std::vector<NodeIndex> of) {
    SyntaxNode node = make(NodeKind::call, mark, std::move(of));
    node.text = function;
    return add(std::move(node));
  };
  if (name == "iota" || name == "fill") {
    if (!accept(",")) fail_here("','");
    const NodeIndex value = expression();
    expect(")", open);
    return assigned(changed, token(begin).range, {changed.node, value}, name);
  }
  std::vector<NodeIndex> arguments = {changed.node};
  if (first.is_reverse && name != "reverse") arguments[0] = call("Reverse", {changed.node});
  bool descends = false;
  if (name != "reverse" && accept(",")) {
    const auto end = qualified_name_at(at_);
    descends = end && token(*end - 1).is_name("greater");
    while (descends && !here().is(")")) {
      const bool opens = here().is("(");
      take();
      if (opens) expect(")", open);
    }
    if (!descends) arguments.push_back(comparison());
  }
  expect(")", open);
  NodeIndex value = call(name == "reverse" ? "Reverse" : "Sort", std::move(arguments));
  if (descends != (first.is_reverse && name != "reverse")) value = call("Reverse", {value});
  return assigned(changed, token(begin).range, {changed.node, value}, {});
}

// What orders two items: a lambda, a function, an object with operator(), or "order()" of its class.
NodeIndex Parser::comparison() {
  const Token& first = here();
  const bool is_object = first.kind == Token::Kind::name && token(at_ + 1).is(")") &&
                         find_variable(first.text) && find_closure(first.text) == nullptr;
  if (is_object) return lambda_that_calls(take().text, 2, first.range);
  const bool is_empty = (token(at_ + 1).is("(") && token(at_ + 2).is(")")) ||
                        (token(at_ + 1).is("{") && token(at_ + 2).is("}"));
  for (const Class& each : classes_)
    if (is_empty && first.is_name(each.spelled)) {
      at_ += 3;
      return lambda_that_calls(each.name + "()", 2, first.range);
    }
  return argument();
}

// a = 1; a[i] += 2; ++a; a--; a.push_back(3);
bool Parser::assigns() const {
  if (name_of_rearrangement() != at_) return true;
  const std::size_t begin = is_step(here()) ? at_ + 1 : at_;
  const std::size_t end = end_of_target(begin);
  if (end == begin) return false;
  const Token& behind = token(end);
  if (begin != at_) return behind.is(";") || behind.is(",") || behind.is(")");
  if (behind.is("."))
    return is_changing_method(token(end + 1)) && token(end + 2).is("(") && changing_method() == nullptr;
  return assigned_by(behind).has_value();
}

// `is_frozen`: it stays what it is now, whatever its indices depend on.
Parser::Target Parser::target(bool is_frozen) {
  Target found = begin_of_target();
  for (;;) {
    if (end_of_part(at_) != at_) {
      found.node = part_by_method(found.node, is_frozen);
      continue;
    }
    if (here().is(".") && !token(at_ + 2).is("(")) {
      take();
      const Token& name = take();
      found.node = member_of(found.node, name.text, name.range);
      continue;
    }
    if (!here().is("[")) return found;
    const Token& open = take();
    NodeIndex index = expression();
    expect("]", open);
    if (is_frozen) static_cast<void>(insert_missing(found.node, index, from(open.range)));
    if (is_frozen && !is_iterator(index)) index = frozen(index);
    SyntaxNode item = make(NodeKind::subscript, from(open.range), {found.node, index});
    item.text = inserts_nothing;  // but what is assigned
    item.whole.end = item.mark.end;
    found.node = add(std::move(item));
  }
}

// A variable, or what a reference or an iterator stands for.
Parser::Target Parser::begin_of_target() {
  const bool is_item = accept("*");
  const Token& name = take();
  const auto number = find_variable(name.text);
  const auto iterates = number ? variables_[*number].iterates : std::nullopt;
  if (!is_item && name.is_name("this") && accept("->")) {
    const std::size_t object = variable(name);
    const Token& member = take();
    return {member_of(named(object, name.range), member.text, member.range), object};
  }
  if (is_item || here().is("->")) {
    const auto changed = iterates ? variable_of(*iterates) : std::nullopt;
    if (!changed)
      fail(name.range, fmt::format("'{}' is no iterator of a variable that can change", name.text));
    require_changeable(*changed, name.range);
    const NodeIndex list = copy_of(*iterates, *changed, name.range);
    const NodeIndex place = frozen(named(*number, name.range));
    syntax_.nodes[place].list = iterates;
    NodeIndex item = add(make(NodeKind::subscript, name.range, {list, place}));
    if (accept("->")) {
      const Token& member = take();
      item = member_of(item, member.text, member.range);
    }
    return {item, *changed};
  }
  if (const auto alias = alias_of(name)) {
    require_changeable(*number, alias->variable, name.range);
    return *alias;
  }
  const std::size_t changed = variable(name);
  if (here().is("=")) stale_.erase(changed);
  return {named(changed, name.range), changed};
}

NodeIndex Parser::member_of(NodeIndex object, std::string_view name, TextRange mark) {
  SyntaxNode node = make(NodeKind::member, mark, {object});
  node.text = name;
  return add(std::move(node));
}

// The item of a list that the variable of "for (auto& x : list)" stands for, or what a reference refers to.
std::optional<Parser::Target> Parser::alias_of(const Token& name) {
  const auto found = find_variable(name.text);
  if (!found || name.is_quoted) return std::nullopt;
  const Variable& alias = variables_[*found];
  if (alias.place.empty() && !alias.refers_to) return std::nullopt;
  if (named_lambdas_ > 0) uses_.push_back({std::string(alias.name), found});
  const std::size_t variable = alias.list;
  return Target{
      alias.refers_to ? copy_of(*alias.refers_to, variable, name.range) : item_of(*found, name.range),
      variable};
}

NodeIndex Parser::item_of(std::size_t alias, TextRange mark) {
  const NodeIndex list = named(variables_[alias].list, mark);
  return add(make(NodeKind::subscript, mark, {list, named(variables_[alias].place, mark)}));
}

// The same part of a variable, as it is here.
NodeIndex Parser::copy_of(NodeIndex target, std::size_t variable, TextRange mark) {
  const SyntaxNode node = syntax_[target];
  syntax_.shares_nodes = true;
  if (node.kind == NodeKind::name) return named(variable, mark);
  const NodeIndex object = copy_of(node.children.front(), variable, mark);
  if (node.kind == NodeKind::member) return member_of(object, node.text, mark);
  SyntaxNode item = make(NodeKind::subscript, mark, {object, node.children[1]});
  item.text = node.text;
  return add(std::move(item));
}

// The variable that this is a part of.
std::optional<std::size_t> Parser::variable_of(NodeIndex target) const {
  while (syntax_[target].kind == NodeKind::subscript || syntax_[target].kind == NodeKind::member)
    target = syntax_[target].children.front();
  const SyntaxNode& root = syntax_[target];
  if (root.kind != NodeKind::name || root.quoted) return std::nullopt;
  for (std::size_t i = variables_.size(); i-- > 0;)
    if (variables_[i].node_name == root.text) return i;
  return std::nullopt;
}

// A variable or, if there is none of this name, a column or constant.
NodeIndex Parser::named(std::string_view name, TextRange mark) {
  if (const auto number = find_variable(name)) return named(*number, mark);
  if (named_lambdas_ > 0) uses_.push_back({std::string(name), std::nullopt});
  SyntaxNode node = make(NodeKind::name, mark);
  node.text = name;
  return add(std::move(node));
}

NodeIndex Parser::named(std::size_t number, TextRange mark) {
  const Variable& variable = variables_[number];
  if (stale_.contains(number))
    fail(mark,
         fmt::format("'{}' was set before keys of its map may have changed; find it again", variable.name));
  if (named_lambdas_ > 0) uses_.push_back({std::string(variable.name), number});
  reads_.push_back(number);
  SyntaxNode node = make(NodeKind::name, mark);
  node.depth = variable.depth;
  node.text = variable.node_name;
  node.list = variable.iterates;
  return add(std::move(node));
}

NodeIndex Parser::assignment() {
  if (name_of_rearrangement() != at_) return rearrangement();
  const std::size_t begin = at_;
  const bool is_prefix = is_step(here());
  if (is_prefix) take();
  const bool is_item = here().is("*");
  const Target changed = target();
  if (!is_prefix && !is_item && accept(".")) return changed_by_method(changed);
  const Token& symbol = is_prefix ? token(begin) : take();
  NodeIndex value = 0;
  if (is_step(symbol)) {
    SyntaxNode one = make(NodeKind::literal, symbol.range);
    one.value = make_constant(1, 1);
    value = add(std::move(one));
  } else if (const std::size_t end = end_of_target(at_); effects_ != nullptr && end != at_ &&
                                                         token(end).kind == Token::Kind::symbol &&
                                                         token(end).is("=")) {
    const NodeIndex inner = assignment();
    effects_->before.push_back(step_of(inner));
    value = syntax_.nodes[inner].children.front();
  } else {
    value = expression();
  }
  if (const std::string_view by = *assigned_by(symbol); !by.empty()) {
    SyntaxNode node = make(NodeKind::binary, symbol.range, {changed.node, value});
    node.text = by;
    value = add(std::move(node));
  }
  return assigned(changed, token(begin).range, {changed.node, value}, {});
}

// i++ or --i, where a statement allows it.
bool Parser::steps_within() const {
  if (effects_ == nullptr) return false;
  if (is_step(here())) return end_of_target(at_ + 1) != at_ + 1;
  const std::size_t end = end_of_target(at_);
  return end != at_ && is_step(token(end));
}

// Its value; the variable changes before the statement, or after it.
NodeIndex Parser::stepped() {
  const Token& first = here();
  const bool is_prefix = is_step(first);
  if (is_prefix) take();
  const Token& name = here();
  const Target changed = target();
  const Token& symbol = is_prefix ? first : take();
  if (effects_->conditions > 0)
    fail(symbol.range,
         fmt::format("'{}' stands behind a condition; write it as a statement of its own", symbol.text));
  SyntaxNode one = make(NodeKind::literal, symbol.range);
  one.value = make_constant(1, 1);
  SyntaxNode node = make(NodeKind::binary, symbol.range, {changed.node, add(std::move(one))});
  node.text = symbol.text.substr(1);
  const NodeIndex step = assigned(changed, symbol.range, {changed.node, add(std::move(node))}, {});
  (is_prefix ? effects_->before : effects_->after).push_back(step_of(step));
  effects_->names.push_back(&name);
  return changed.node;
}

// Iterators are places in the order of the keys, which move.
void Parser::leave_stale(std::size_t map, TextRange mark) {
  if (!variables_[map].is_map) return;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const auto& list = variables_[i].iterates;
    if (!list || variable_of(*list) != map) continue;
    if (variables_[i].loops < loops_)
      fail(mark, fmt::format("keys of '{}' may change in a loop, but '{}' was set before it",
                             variables_[map].name, variables_[i].name));
    stale_.insert(i);
  }
}

// Else the order of reading and changing would count.
void Parser::require_single_names(const Effects& effects, std::size_t begin) const {
  for (const Token* name : effects.names)
    for (std::size_t i = begin; i < at_; ++i)
      if (token(i).is_name(name->text) && &token(i) != name)
        fail(name->range,
             fmt::format("'{}' changes within a statement that names it twice; write two statements",
                         name->text));
}

// If it changes variables, it becomes a variable of the block.
NodeIndex Parser::condition_with_effects(Block& block, TextRange mark, bool in_brackets) {
  NodeIndex found = 0;
  bool has_effects = false;
  with_effects(block, [&](Block& inner) {
    found = in_brackets ? condition_in_brackets() : expression();
    has_effects = !effects_->before.empty() || !effects_->after.empty();
    if (!has_effects) return;
    SyntaxNode chosen = make(NodeKind::conditional, mark, {found, truth(mark), falsehood(mark)});
    const std::string& name = hidden_.emplace_back(fmt::format("condition {}", hidden_.size()));
    declare({.name = name}, {.value = add(std::move(chosen)), .name = name, .type = "auto", .mark = mark},
            inner.steps);
    found = named(name, mark);
  });
  return found;
}

NodeIndex Parser::changed_by_method(const Target& target) {
  const Token& method = take();
  const Token& open = take();
  std::vector<NodeIndex> children = items(")", open);
  if (method.text == "erase" || method.text == "insert") {
    const bool is_key = children.size() == 1 && !is_iterator(children[0]);  // of a map
    if (children.empty() ||
        (!is_key && (!is_iterator(children[0]) || !is_same(*syntax_[children[0]].list, target.node))))
      fail(method.range,
           fmt::format("'{}' takes an iterator of this list first, such as list.begin() + 1", method.text));
    if (method.text == "erase" && is_iterator(children[0]) && syntax_[children[0]].kind == NodeKind::call)
      return erased(target, children[0], method.range);
  }
  children.insert(children.begin(), target.node);
  return assigned(target, method.range, std::move(children), method.text);
}

NodeIndex Parser::assigned(const Target& target, TextRange mark, std::vector<NodeIndex> children,
                           std::string_view method) {
  SyntaxNode node = make(NodeKind::assignment, mark, std::move(children));
  node.text = method;
  node.type = variables_[target.variable].deduced;
  const NodeIndex made = add(std::move(node));
  changed_.push_back(target.variable);
  const SyntaxNode& part = syntax_[syntax_[made].children.front()];
  const bool keeps_keys =
      part.kind == NodeKind::member || (part.kind == NodeKind::subscript && is_iterator(part.children[1]));
  if (!keeps_keys) leave_stale(target.variable, mark);
  // Behind branches it is a choice between this value and the one before.
  std::uint32_t& depth = variables_[target.variable].depth;
  depth = std::max(depth + nesting_, syntax_.nodes[made].depth) + 1;
  return made;
}

}  // namespace colonnade::frame
