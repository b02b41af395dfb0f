// Statements: declarations, if and return; see parser.h. Declarations and "if (a) return b;" alone become
// one expression: a declaration is a let around the rest of the body, and the other one the conditional
// a ? b : rest. Beside loops, variables that change, or an if that does not return, they stay statements of a
// body.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "frame/expression/function.h"
#include "frame/expression/function_table.h"
#include "frame/expression/maps.h"
#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

constexpr const char* no_statement =
    "only declarations, assignments to variables, loops, 'if' and 'return' are statements";

constexpr const char* no_output =
    "nothing is printed here; take the values as results, such as those of df.Display()";

constexpr unsigned most_nested_blocks = 100;

bool is_reference(const Token& token) {
  return token.is("&") || token.is("&&");
}

// A value of the type that it is written with.
bool has_own_type(const SyntaxNode& node) {
  if (node.kind == NodeKind::cast) return true;
  if (node.kind != NodeKind::call) return false;
  const std::string last = node.template_types.empty() ? std::string() : node.template_types.back();
  return type_of_name(last.empty() ? node.text : fmt::format("{}<{}>", node.text, last)).has_value();
}

bool is_item(const SyntaxNode& node) {
  if (node.kind == NodeKind::subscript) return true;
  return node.kind == NodeKind::method && (node.text == "at" || node.text == "front" || node.text == "back");
}

}  // namespace

bool is_map_name(std::string_view type) {
  type = without_namespace(type);
  return type.starts_with("map<") || type.starts_with("unordered_map<") || type.starts_with("set<") ||
         type.starts_with("unordered_set<");
}

bool Parser::starts_statements() const {
  for (const std::string_view word : {"return", "if", "auto", "const", "switch", "throw", "using", "typedef"})
    if (here().is_name(word)) return true;
  return starts_loop() || binding_type() || declared_type() || unknown_type();
}

// std::optional<int> x;
std::optional<Parser::Type> Parser::unknown_type() const {
  auto type = here().is_name("std") ? type_at(at_) : std::nullopt;
  const bool is_one = type && type->name.ends_with(">") && token(type->end).kind == Token::Kind::name &&
                      !type_of_name(type->name);
  return is_one ? type : std::nullopt;
}

// The type of a declaration at this position: a type, a name, and a token that proves a declaration.
std::optional<Parser::Type> Parser::declared_type() const {
  for (const std::string_view word :
       {"throw", "goto", "delete", "using", "typedef", "struct", "class", "enum"})
    if (here().is_name(word)) return std::nullopt;
  auto type = type_at(at_);
  if (!type || token(type->end).kind != Token::Kind::name) return std::nullopt;
  const Token& behind = token(type->end + 1);
  // "a < b > f(c)" are two comparisons, unless a<b> is a type.
  if (type->name.find('<') != std::string::npos && !behind.is("=") && !type_of_name(type->name))
    return std::nullopt;
  // "a && f(x)" and "a & v[i]" are operations, unless a is a type.
  if (is_reference(token(type->end - 1)) && !behind.is("=") && !here().is_name("const") &&
      type->name != "auto" && !type_of_name(type->name) && class_spelled(type->name).empty())
    return std::nullopt;
  const bool declares = behind.is("=") || behind.is("{") || behind.is("(") || behind.is(";") ||
                        behind.is(",") || behind.is("[");
  return declares ? type : std::nullopt;
}

// Of a function, up to but excluding the closing brace, or to the end of the text.
NodeIndex Parser::statements(bool in_braces) {
  const TextRange first = here().range;
  Block found = block(in_braces);
  const bool may_end = returns_ != nullptr && returns_->allows_nothing && !returns_->has_value;
  if (found.leads_on() && !may_end) fail(first, "not every path through these statements ends with a return");
  if (found.leads_on()) {
    returns_->has_nothing = true;
    found.last = falsehood(first);
  }
  return assemble(found);
}

Parser::Block Parser::block(bool in_braces) {
  const std::size_t around = variables_.size();
  Block found;
  const auto is_at_end = [&] { return here().kind == Token::Kind::end || (in_braces && here().is("}")); };
  while (found.leads_on() && !is_at_end()) statement(found);
  for (Block unreached; !is_at_end();) statement(unreached);
  leave_scope(around);
  return found;
}

void Parser::statement(Block& block) {
  if (here().is_name("return")) {
    with_effects(block, [this](Block& inner) { inner.last = result(); });
  } else if (here().is_name("throw")) {
    with_effects(block, [this](Block& inner) { inner.last = exception(); });
  } else if (here().is_name("if")) {
    condition(block);
  } else if (starts_loop()) {
    loop(block);
  } else if (here().is_name("switch")) {
    selection(block);
  } else if (here().is("[") && token(at_ + 1).is("[")) {  // an attribute: [[fallthrough]]
    while (!here().is("]") && here().kind != Token::Kind::end) take();
    if (!accept("]") || !accept("]")) fail_here("']]'");
  } else if (here().is_name("break") || here().is_name("continue")) {
    jump(block);
  } else if (here().is("{")) {
    const Block inner = branch();
    block.ends = !inner.leads_on();
    add_step(block, body_of(inner));
  } else if (here().is_name("using") || here().is_name("typedef")) {
    alias(true);
  } else if (accept(";")) {
    return;
  } else if (const auto bound = binding_type()) {
    bindings(*bound, block.steps);
  } else if (const auto type = declared_type()) {
    with_effects(block, [&](Block& inner) { declaration(*type, inner.steps); });
  } else if (assigns()) {
    do with_effects(block, [this](Block& inner) { add_step(inner, assignment()); });
    while (here().is(",") && (take(), assigns()));
    if (!accept(";")) fail_here("an operator or ';'");
  } else if (invokes()) {
    with_effects(block, [this](Block&) { invocation_statement(); });
  } else if (exchanges()) {
    with_effects(block, [this](Block& inner) { exchange(inner); });
  } else if (ties()) {
    with_effects(block, [this](Block& inner) { tie(inner); });
  } else if (writes()) {
    with_effects(block, [this](Block& inner) { write_items(inner); });
  } else if (is_for_each()) {
    for_each(block);
  } else if (const auto code = exit_code()) {
    with_effects(block, [&](Block& inner) { inner.last = exit_of(*code); });
  } else if (functions_ != nullptr && prints()) {
    skip_output();
  } else {
    if (const auto unknown = unknown_type())
      fail(here().range, fmt::format("unknown type '{}'", unknown->name));
    fail(here().range, prints() ? no_output : no_statement);
  }
}

// std::cout << x; printf("%d", x);
bool Parser::prints() const {
  const Token& name = here().is_name("std") && token(at_ + 1).is("::") ? token(at_ + 2) : here();
  for (const std::string_view known : {"cout", "cerr", "clog", "printf", "fprintf", "puts"})
    if (name.is_name(known)) return true;
  return false;
}

// Functions of a text print nothing, and nothing may depend on what they would print.
void Parser::skip_output() {
  const TextRange mark = here().range;
  for (; !here().is(";"); take()) {
    const bool changes = assigned_by(here()) || assigns() || exchanges() || changing_method() != nullptr;
    const auto end = qualified_name_at(at_);
    const Closure* const called = end ? find_closure(spelled(at_, *end)) : nullptr;
    if (changes || here().kind == Token::Kind::end || (called != nullptr && called->has_effects()))
      fail(mark, no_output);
  }
  take();
}

// exit(1); std::abort(); The token of its bracket.
std::optional<std::size_t> Parser::exit_code() const {
  for (const std::string_view known : {"exit", "abort"})
    if (const auto inside = arguments_of_standard(known)) return *inside - 1;
  return std::nullopt;
}

// It ends the job like an exception.
NodeIndex Parser::exit_of(std::size_t bracket) {
  const std::size_t begin = bracket - 1;
  at_ = bracket;
  const TextRange mark = token(begin).range;
  const Token open = take();
  static_cast<void>(items(")", open));
  SyntaxNode text = make(NodeKind::literal, mark);
  text.value = make_constant_string(1, spelled(begin, at_));
  if (!accept(";")) fail_here("';'");
  return add(make(NodeKind::exception, mark, {add(std::move(text))}));
}

void Parser::add_step(Block& block, NodeIndex node) const {
  block.steps.push_back(step_of(node));
}

NodeIndex Parser::result() {
  const TextRange word = take().range;
  const bool is_empty = here().is(";") && returns_ != nullptr && returns_->allows_nothing;
  if (returns_ != nullptr) {
    (is_empty ? returns_->has_nothing : returns_->has_value) = true;
    if (returns_->has_nothing && returns_->has_value)
      fail(word, "one 'return' has a value, and another one has none");
  }
  const NodeIndex value = is_empty ? falsehood(word) : expression();
  if (!accept(";")) {
    if (here().kind != Token::Kind::end) fail_here("an operator or ';'");
  }
  return value;
}

// float a = 1, b{2}, c(3);
void Parser::declaration(const Type& type, std::vector<Step>& steps) {
  if (declares_lambda(type)) return lambda_declaration(type);
  Variable variable;
  bool is_const = false;
  for (; at_ < type.end; ++at_) {
    if (here().is_name("static")) variable.fixed_as = "it is static, and entries are computed in any order";
    is_const = is_const || here().is_name("const") || here().is_name("constexpr");
    if (is_const) variable.fixed_as = "it is const";
    if (is_reference(here()) && at_ + 1 == type.end)
      variable.fixed_as = is_const ? "it is a reference to what is const" : "it refers to what cannot change";
  }
  do {
    if (here().kind != Token::Kind::name) fail_here("the name of a variable");
    Step step;
    step.type = type.name;
    step.name = variable.name = here().text;
    variable.is_map = is_map_name(type.name);
    step.mark = take().range;
    const bool needs_size = here().is("[") && token(at_ + 1).is("]");
    if (here().is("[")) step.type = array_type(type.name);
    const std::size_t begin = at_;
    if (refers(type, is_const)) {
      refer(variable, step.mark);
      continue;
    }
    if (accept("=")) {
      step.value = expression();
    } else if (here().is("{") || here().is("(")) {
      initializer(step);
    } else if (!class_spelled(step.type).empty()) {
      SyntaxNode made = make(NodeKind::call, step.mark);
      made.text = step.type;
      step.value = add(std::move(made));
    } else if (step.type == "auto" || !variable.fixed_as.empty()) {
      fail(step.mark, fmt::format("'{}' needs a value where it is declared: {} {} = ...;", step.name,
                                  step.type, step.name));
    }
    if (needs_size) {
      if (!step.value || syntax_[*step.value].kind != NodeKind::list)
        fail(step.mark, "an array without a size needs its items in braces");
      step.type = fmt::format("std::array<{}, {}>", type.name, syntax_[*step.value].children.size());
    }
    // Here a reference is the value that it refers to when it is declared.
    if (is_reference(token(type.end - 1))) fix_variables(begin, at_, "a reference to it was declared");
    variable.iterates = step.type == "auto" && step.value ? syntax_[*step.value].list : std::nullopt;
    variable.digits = digits_of(variable, step);
    declare(variable, std::move(step), steps);
  } while (accept(","));
  if (!accept(";")) fail_here("an operator or ';'");
}

// The '=' of "auto& x = v[i]" is next, where v can change.
bool Parser::refers(const Type& type, bool is_const) const {
  const Token& last = token(type.end - 1);
  if (is_const || !(last.is("&") || (last.is("&&") && type.name == "auto")) || !here().is("=") ||
      effects_ == nullptr)
    return false;
  const std::size_t end = end_of_target(at_ + 1);
  if (end == at_ + 1 || !(token(end).is(";") || token(end).is(","))) return false;
  const bool is_item = token(at_ + 1).is("*");
  const auto number = find_variable(token(is_item ? at_ + 2 : at_ + 1).text);
  if (!number) return false;
  const Variable& root = variables_[*number];
  std::optional<std::size_t> changed = number;
  if (is_item || token(at_ + 2).is("->")) {
    changed = root.iterates ? variable_of(*root.iterates) : std::nullopt;
  } else if (!root.place.empty() || root.refers_to) {
    return root.list >= own_variables_ && root.fixed_as.empty() &&
           (!root.place.empty() || variables_[root.list].fixed_as.empty());
  }
  return changed && *changed >= own_variables_ && variables_[*changed].fixed_as.empty();
}

// The name stands for that part of the variable, wherever it is written.
void Parser::refer(Variable variable, TextRange mark) {
  take();
  if (const auto of = find_variable(here().text); of && !here().is_quoted)
    variable.place = variables_[*of].place;  // within the loop over the list
  const Target target = this->target(true);
  variable.fixed_as = {};
  variable.list = target.variable;
  variable.refers_to = target.node;
  variable.depth = syntax_[target.node].depth;
  add_variable(variable, mark);
}

// [2][3]
std::string Parser::array_type(const std::string& item) {
  std::vector<std::string_view> sizes;
  while (here().is("[")) {
    const Token& open = take();
    const bool is_number = here().kind == Token::Kind::literal &&
                           here().text.find_first_not_of("0123456789") == std::string_view::npos;
    const auto known = here().kind == Token::Kind::name ? find_variable(here().text) : std::nullopt;
    if (here().is("]") && sizes.empty()) {
      sizes.emplace_back("0");
    } else if (known && !variables_[*known].digits.empty()) {
      take();
      sizes.push_back(variables_[*known].digits);
    } else if (!is_number) {
      fail(here().range, "the size of an array is a number here; use std::vector otherwise");
    } else {
      sizes.push_back(take().text);
    }
    expect("]", open);
  }
  std::string type = item;
  for (const std::string_view size : std::views::reverse(sizes))
    type = fmt::format("std::array<{}, {}>", type, size);
  return type;
}

// Of "const int n = 3".
std::string_view Parser::digits_of(const Variable& variable, const Step& step) {
  const bool is_outside = effects_ == nullptr && loops_ == 0;  // of functions, where nothing changes
  if ((variable.fixed_as != "it is const" && !is_outside) || !step.value) return {};
  const SyntaxNode& value = syntax_[*step.value];
  if (value.kind != NodeKind::literal || is_iterator(*step.value)) return {};
  const std::string_view digits =
      std::string_view(syntax_.text).substr(value.whole.begin, value.whole.end - value.whole.begin);
  return digits.find_first_not_of("0123456789") == std::string_view::npos ? digits : std::string_view();
}

void Parser::declare(Variable variable, Step step, std::vector<Step>& steps) {
  variable.depth = step.value ? syntax_.nodes[*step.value].depth + 1 : 1;
  const auto copied = step.value && step.type == "auto" && syntax_[*step.value].kind == NodeKind::name
                          ? variable_of(*step.value)
                          : std::nullopt;
  variable.is_map = variable.is_map || is_map_name(step.type) || (copied && variables_[*copied].is_map);
  variable.loops = loops_;
  if (variable.of.empty()) variable.of = with_class(step.type);
  if (step.value && step.type == "auto" && syntax_[*step.value].kind == NodeKind::call)
    variable.of = class_spelled(syntax_[*step.value].text);
  if (copied) variable.of = variables_[*copied].of;
  if (step.value && step.type == "auto" && !has_own_type(syntax_[*step.value]))
    variable.deduced = is_item(syntax_[*step.value]) ? deduced_item : deduced_type;
  step.name = add_variable(variable, step.mark);
  steps.push_back(std::move(step));
}

// Returns its name in nodes.
std::string_view Parser::add_variable(Variable variable, TextRange mark) {
  if (variables_.size() == most_variables) fail(mark, fmt::format("more than {} variables", most_variables));
  // The lambdas within algorithms may name columns.
  const bool hides = mark_.has_value() || find_variable(variable.name).has_value();
  variable.node_name =
      hides ? hidden_.emplace_back(fmt::format("{} {}", variable.name, hidden_.size())) : variable.name;
  variables_.push_back(variable);
  return variable.node_name;
}

std::optional<std::size_t> Parser::find_variable(std::string_view name) const {
  const auto found = std::ranges::find(variables_.rbegin(), variables_.rend(), name, &Variable::name);
  if (found == variables_.rend()) return std::nullopt;
  return static_cast<std::size_t>(variables_.rend() - found) - 1;
}

// What is named by the tokens from `begin` to `end`, but not as an index, stays until the scope ends.
void Parser::fix_variables(std::size_t begin, std::size_t end, std::string_view reason) {
  int indices = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (token(i).is("[")) ++indices;
    if (token(i).is("]")) --indices;
    if (indices > 0 || token(i).kind != Token::Kind::name) continue;
    if (const auto found = find_variable(token(i).text)) fix(*found, reason);
  }
}

// A variable and the other names of its parts; or such a name, and the variable.
void Parser::fix(std::size_t number, std::string_view reason) {
  const auto set = [&](Variable& variable) {
    if (!variable.fixed_as.empty()) return;
    variable.fixed_as = reason;
    variable.fixed_at = variables_.size() + 1;
  };
  const Variable& named = variables_[number];
  const std::size_t root = !named.place.empty() || named.refers_to ? named.list : number;
  set(variables_[root]);
  const auto member_of_this = [this](const Variable& variable) -> std::string_view {
    if (variable.place != "this" || !variable.refers_to) return {};
    NodeIndex part = *variable.refers_to;
    while (syntax_[syntax_[part].children.front()].kind != NodeKind::name)
      part = syntax_[part].children.front();
    return syntax_[part].text;
  };
  const std::string_view member = member_of_this(named);
  for (Variable& each : variables_) {
    const bool is_other = !member.empty() && member_of_this(each) != member;
    if ((!each.place.empty() || each.refers_to) && each.list == root && !is_other) set(each);
  }
}

void Parser::leave_scope(std::size_t around) {
  variables_.resize(around);
  stale_.erase(stale_.lower_bound(around), stale_.end());
  for (Variable& variable : variables_) {
    if (variable.fixed_at <= around) continue;
    variable.fixed_as = {};
    variable.fixed_at = 0;
  }
}

// The number of the one that this name means, if it can be changed.
std::size_t Parser::variable(const Token& name) const {
  for (std::size_t i = variables_.size(); i-- > 0;) {
    const Variable& known = variables_[i];
    if (known.name != name.text) continue;
    require_changeable(i, name.range);
    return i;
  }
  fail(name.range,
       fmt::format("'{0}' cannot be changed: only variables that are declared in the text", name.text));
}

void Parser::require_changeable(std::size_t number, TextRange mark) const {
  const Variable& known = variables_[number];
  if (number < own_variables_)
    fail(mark,
         fmt::format("a lambda cannot change '{}' around it, unless it is called by a name", known.name));
  if (!known.fixed_as.empty())
    fail(mark, fmt::format("'{}' cannot be changed: {}", known.name, known.fixed_as));
}

// Of another name for a part of a variable, which has a loop of its own go through it.
void Parser::require_changeable(std::size_t alias, std::size_t of, TextRange mark) const {
  if (of < own_variables_) require_changeable(of, mark);
  const std::string_view reason =
      variables_[alias].place.empty() ? variables_[of].fixed_as : variables_[alias].fixed_as;
  if (!reason.empty() || !variables_[alias].fixed_as.empty())
    fail(mark, fmt::format("'{}' cannot be changed: {}", variables_[alias].name,
                           reason.empty() ? variables_[alias].fixed_as : reason));
}

bool Parser::is_changeable(const Token& name) const {
  const auto found = find_variable(name.text);
  return found && variables_[*found].fixed_as.empty() && *found >= own_variables_ &&
         variables_[*found].closure == nullptr && variables_[*found].place.empty() &&
         !variables_[*found].refers_to;
}

// Of "auto [a, b]" at this position.
std::optional<Parser::Type> Parser::binding_type() const {
  auto type = type_at(at_);
  if (!type || type->name != "auto" || !token(type->end).is("[")) return std::nullopt;
  return type;
}

// auto [a, b] = pair;
void Parser::bindings(const Type& type, std::vector<Step>& steps) {
  Variable common;
  for (; at_ < type.end; ++at_) {
    if (here().is_name("const")) common.fixed_as = "it is const";
    if (is_reference(here())) common.fixed_as = "it is a reference";
  }
  const TextRange mark = here().range;
  const std::vector<const Token*> names = bound_names();
  const std::size_t begin = at_;
  if (!accept("=")) fail_here("'='");
  const NodeIndex value = expression();
  if (is_reference(token(type.end - 1))) fix_variables(begin, at_, "a reference to it was declared");
  if (!accept(";")) fail_here("an operator or ';'");
  const std::string& object = hidden_.emplace_back(fmt::format("bound {}", hidden_.size()));
  declare({.name = object}, {.value = value, .name = object, .type = "auto", .mark = mark}, steps);
  bind_members(common, names, object, steps);
}

// [a, b]
std::vector<const Token*> Parser::bound_names() {
  const Token& open = take();
  std::vector<const Token*> names;
  do {
    if (here().kind != Token::Kind::name) fail_here("the name of a variable");
    names.push_back(&take());
  } while (accept(","));
  expect("]", open);
  return names;
}

void Parser::bind_members(const Variable& common, const std::vector<const Token*>& names,
                          std::string_view object, std::vector<Step>& steps) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const TextRange mark = names[i]->range;
    SyntaxNode member = make(NodeKind::member, mark, {named(object, mark)});
    member.text = fmt::format("_{}", i);
    Variable variable = common;
    variable.name = names[i]->text;
    declare(
        variable,
        {.value = add(std::move(member)), .name = std::string(variable.name), .type = "auto", .mark = mark},
        steps);
  }
}

// {1, 2} or (3, 4) of a declaration. Lists and classes are made of it, as by T{1, 2}; one value is converted.
void Parser::initializer(Step& step) {
  const Token& open = take();
  const bool braces = open.is("{");
  std::vector<NodeIndex> values;
  if (step.type == "auto") {
    values.push_back(expression());
    expect(braces ? "}" : ")", open);
  } else {
    values = items(braces ? "}" : ")", open);
  }
  const auto type = type_of_name(step.type);
  const bool is_made = (type && is_map(*type)) || !class_spelled(step.type).empty();
  const bool is_one = values.size() == 1 && !is_made;
  if (is_one && (!type || !type->is_list() || syntax_[values.front()].kind == NodeKind::list)) {
    step.value = values.front();
    return;
  }
  SyntaxNode node = make(NodeKind::call, step.mark, std::move(values));
  node.text = step.type;
  const std::size_t system = step.type.find('<') + 1;  // LorentzVector<system>
  if (std::string_view(step.type).substr(0, system).ends_with("LorentzVector<")) {
    node.template_types = {step.type.substr(system, step.type.size() - system - 1)};
    node.text.resize(system - 1);
  }
  node.braces = braces && node.template_types.empty();
  node.whole = from(step.mark);
  step.value = add(std::move(node));
  step.type = "auto";
}

// if (a) return b; else if (c) { ... } else return d;
void Parser::condition(Block& block) {
  at_ += 2;
  const auto type = token(at_ - 1).is("(") ? declared_type() : std::nullopt;
  at_ -= 2;
  if (!type) return branches(block, std::nullopt);
  const std::size_t around = variables_.size();
  Block whole;
  const TextRange mark = take().range;
  const Token open = take();
  NodeIndex chosen = 0;
  with_effects(whole, [&](Block& inner) { chosen = declared_condition(*type, mark, inner); });
  expect(")", open);
  branches(whole, chosen);
  leave_scope(around);
  block.ends = !whole.leads_on();
  add_step(block, body_of(whole));
}

// "int n = f(); n > 2" or "int n = f()".
NodeIndex Parser::declared_condition(const Type& type, TextRange mark, Block& inner) {
  int open = 0;
  std::size_t end = at_;
  for (; open >= 0 && token(end).kind != Token::Kind::end && !(open == 0 && token(end).is(";")); ++end) {
    if (token(end).is("(") || token(end).is("{") || token(end).is("[")) ++open;
    if (token(end).is(")") || token(end).is("}") || token(end).is("]")) --open;
  }
  if (open == 0 && token(end).is(";")) {
    declaration(type, inner.steps);
    return condition_with_effects(inner, mark, false);
  }
  at_ = type.end;
  const Token name = take();
  if (!accept("=")) fail_here("'='");
  const NodeIndex value = expression();
  declare({.name = name.text},
          {.value = value, .name = std::string(name.text), .type = type.name, .mark = mark}, inner.steps);
  return named(name.text, mark);
}

// From "if" on, or, if the first condition is known, from what it decides.
void Parser::branches(Block& block, std::optional<NodeIndex> known) {
  for (bool is_first = true;; is_first = false) {
    const TextRange mark = is_first && known ? syntax_[*known].mark : take().range;
    const NodeIndex condition = !is_first ? condition_in_brackets()
                                : known   ? *known
                                          : condition_with_effects(block, mark);
    const std::set<std::size_t> stale = stale_;
    const Block yes = branch();
    std::set<std::size_t> stale_after = std::exchange(stale_, stale);
    if (!yes.leads_on()) stale_after.clear();
    const bool has_other = here().is_name("else");
    if (has_other) take();
    if (!yes.last) {
      std::vector<NodeIndex> children = {condition, body_of(yes)};
      bool leads_on = true;
      if (has_other) {
        const Block no = branch();
        children.push_back(body_of(no));
        leads_on = yes.leads_on() || no.leads_on();
      }
      stale_.merge(stale_after);
      block.ends = !leads_on;
      return add_step(block, add(make(NodeKind::branch, mark, std::move(children))));
    }
    Step step{.kind = NodeKind::conditional, .condition = condition, .mark = mark};
    step.value = assemble(yes);
    block.steps.push_back(std::move(step));
    if (!has_other) return;
    if (here().is_name("if")) continue;
    // What follows a return needs no condition.
    const Block no = branch();
    if (no.last) {
      block.last = assemble(no);
    } else {
      block.ends = no.ends;
      add_step(block, body_of(no));
    }
    return;
  }
}

// A statement, or several in braces, in a scope of their own.
Parser::Block Parser::branch() {
  const Token& open = here();
  if (++nesting_ > most_nested_blocks)
    fail(open.range, fmt::format("more than {} nested blocks", most_nested_blocks));
  if (open.kind == Token::Kind::end) fail(open.range, "the text ends where 'return' or '{' should be");
  Block found;
  if (accept("{")) {
    found = block(true);
    expect("}", open);
  } else {
    const std::size_t around = variables_.size();
    statement(found);
    leave_scope(around);
  }
  --nesting_;
  return found;
}

NodeIndex Parser::assemble(const Block& block) {
  // What a function changes before it returns, or throws, is more than its result.
  const auto is_more = [this](NodeIndex value) {
    return returns_ != nullptr &&
           (syntax_[value].kind == NodeKind::body || syntax_[value].kind == NodeKind::exception);
  };
  const bool is_expression = block.last && std::ranges::all_of(block.steps, [&](const Step& step) {
                               if (step.kind != NodeKind::conditional)
                                 return step.kind == NodeKind::declaration && step.value;
                               return !is_more(*step.value);
                             });
  if (!is_expression) return body_of(block);
  NodeIndex last = *block.last;
  for (std::size_t i = block.steps.size(); i-- > 0;) {
    const Step& step = block.steps[i];
    if (step.kind == NodeKind::declaration) {
      SyntaxNode node = make(NodeKind::let, step.mark, {*step.value, last});
      node.text = step.name;
      node.type = step.type;
      last = add(std::move(node));
    } else {
      last = add(make(NodeKind::conditional, step.mark, {*step.condition, *step.value, last}));
    }
  }
  return last;
}

NodeIndex Parser::body_of(const Block& block) {
  std::vector<NodeIndex> nodes;
  for (const Step& step : block.steps) nodes.push_back(node_of(step));
  if (block.last)
    nodes.push_back(add(make(NodeKind::result, syntax_.nodes[*block.last].mark, {*block.last})));
  SyntaxNode body =
      make(NodeKind::body, nodes.empty() ? here().range : syntax_.nodes[nodes.front()].mark, nodes);
  body.depth += static_cast<std::uint32_t>(nodes.size());  // returns become choices between each other
  return add(std::move(body));
}

NodeIndex Parser::node_of(const Step& step) {
  if (step.kind == NodeKind::declaration) {
    SyntaxNode node =
        make(step.kind, step.mark, step.value ? std::vector{*step.value} : std::vector<NodeIndex>());
    node.text = step.name;
    node.type = step.type;
    return add(std::move(node));
  }
  if (step.kind != NodeKind::conditional) return *step.value;
  const NodeIndex result = add(make(NodeKind::result, step.mark, {*step.value}));
  return add(
      make(NodeKind::branch, step.mark, {*step.condition, add(make(NodeKind::body, step.mark, {result}))}));
}

}  // namespace colonnade::frame
