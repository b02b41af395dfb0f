// Statements: declarations, assignments, if and return; see parser.h. Declarations and "if (a) return b;"
// alone become one expression: a declaration is a let around the rest of the body, and the other one the
// conditional a ? b : rest. Where variables change, or an if does not return, they stay statements of a body.
#include <fmt/format.h>

#include <algorithm>

#include "frame/expression/function.h"
#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

constexpr const char* no_statement =
    "only declarations, assignments to variables, 'if' and 'return' are statements; if you need a loop, "
    "define "
    "the column with a function";

constexpr unsigned most_nested_blocks = 100;
constexpr std::size_t most_variables = 1000;

// The operator in front of the '=' of an assignment; none for other tokens. Of ++ and -- as well.
std::optional<std::string_view> assigned_by(const Token& token) {
  if (token.kind != Token::Kind::symbol) return std::nullopt;
  if (token.is("++") || token.is("--")) return token.text.substr(1);
  for (const std::string_view symbol : {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
    if (token.is(symbol)) return symbol.substr(0, symbol.size() - 1);
  return std::nullopt;
}

bool is_reference(const Token& token) {
  return token.is("&") || token.is("&&");
}

bool is_step(const Token& token) {
  return token.is("++") || token.is("--");
}

}  // namespace

bool Parser::starts_statements() const {
  for (const std::string_view word : {"return", "if", "auto", "const", "for", "while", "do", "switch"})
    if (here().is_name(word)) return true;
  return declared_type().has_value();
}

// The type of a declaration at this position: a type, a name, and a token that proves a declaration.
std::optional<Parser::Type> Parser::declared_type() const {
  auto type = type_at(at_);
  if (!type || token(type->end).kind != Token::Kind::name) return std::nullopt;
  const Token& behind = token(type->end + 1);
  // "a < b > f(c)" are two comparisons, unless a<b> is a type.
  if (type->name.find('<') != std::string::npos && !behind.is("=") && !type_of_name(type->name))
    return std::nullopt;
  const bool declares =
      behind.is("=") || behind.is("{") || behind.is("(") || behind.is(";") || behind.is(",");
  return declares ? type : std::nullopt;
}

// Of a function, up to but excluding the closing brace, or to the end of the text.
NodeIndex Parser::statements(bool in_braces) {
  const Token& first = here();
  const Block found = block(in_braces);
  if (!found.last) fail(first.range, "not every path through these statements ends with a return");
  return assemble(found);
}

Parser::Block Parser::block(bool in_braces) {
  const std::size_t around = variables_.size();
  Block found;
  const auto is_at_end = [&] { return here().kind == Token::Kind::end || (in_braces && here().is("}")); };
  while (!found.last && !is_at_end()) {
    if (here().is_name("return")) {
      found.last = result();
    } else if (here().is_name("if")) {
      condition(found);
    } else if (const auto type = declared_type()) {
      declaration(*type, found.steps);
    } else if (assigns()) {
      assignment(found.steps);
    } else {
      fail(here().range, no_statement);
    }
  }
  if (!is_at_end()) fail(here().range, "nothing after the last return is reached");
  variables_.resize(around);
  return found;
}

NodeIndex Parser::result() {
  take();
  const NodeIndex value = expression();
  if (!accept(";")) {
    if (here().kind != Token::Kind::end) fail_here("an operator or ';'");
  }
  return value;
}

// float a = 1, b{2}, c(3);
void Parser::declaration(const Type& type, std::vector<Step>& steps) {
  Variable variable;
  for (; at_ < type.end; ++at_) {
    if (here().is_name("const")) variable.fixed_as = "it is const";
    if (is_reference(here()) && at_ + 1 == type.end) variable.fixed_as = "it is a reference";
  }
  do {
    if (here().kind != Token::Kind::name) fail_here("the name of a variable");
    Step step;
    step.type = type.name;
    step.name = variable.name = here().text;
    step.mark = take().range;
    const std::size_t begin = at_;
    if (accept("=")) {
      step.value = expression();
    } else if (here().is("{") || here().is("(")) {
      initializer(step);
    } else if (step.type == "auto" || !variable.fixed_as.empty()) {
      fail(step.mark, fmt::format("'{}' needs a value where it is declared: {} {} = ...;", step.name,
                                  step.type, step.name));
    }
    if (is_reference(token(type.end - 1))) fix_variables(begin);
    if (variables_.size() == most_variables)
      fail(step.mark, fmt::format("more than {} variables", most_variables));
    variable.depth = step.value ? syntax_.nodes[*step.value].depth + 1 : 1;
    variables_.push_back(variable);
    steps.push_back(std::move(step));
  } while (accept(","));
  if (!accept(";")) fail_here("an operator or ';'");
}

// Here a reference is the value that it refers to when it is declared. In C++ it follows the variables that
// its initializer names, which is between the token `begin` and this one: from now on they stay.
void Parser::fix_variables(std::size_t begin) {
  for (Variable& variable : variables_)
    for (std::size_t i = begin; i < at_; ++i)
      if (token(i).is_name(variable.name) && variable.fixed_as.empty())
        variable.fixed_as = "a reference to it was declared";
}

// a = 1; a += 2; ++a; a--;
bool Parser::assigns() const {
  const bool is_prefix = is_step(here());
  const Token& name = token(is_prefix ? at_ + 1 : at_);
  if (name.kind != Token::Kind::name || name.is_quoted) return false;
  return is_prefix ? token(at_ + 2).is(";") : assigned_by(token(at_ + 1)).has_value();
}

void Parser::assignment(std::vector<Step>& steps) {
  const bool is_prefix = is_step(here());
  const Token& name = token(is_prefix ? at_ + 1 : at_);
  const Token& symbol = token(is_prefix ? at_ : at_ + 1);
  at_ += 2;
  const std::size_t changed = variable(name);
  Step step;
  step.kind = NodeKind::assignment;
  step.name = name.text;
  step.mark = name.range;
  if (is_step(symbol)) {
    SyntaxNode one = make(NodeKind::literal, symbol.range);
    one.value = make_constant(1, 1);
    step.value = add(std::move(one));
  } else {
    step.value = expression();
  }
  if (const std::string_view by = *assigned_by(symbol); !by.empty()) {
    SyntaxNode before = make(NodeKind::name, name.range);
    before.text = name.text;
    before.depth = variables_[changed].depth;
    SyntaxNode node = make(NodeKind::binary, symbol.range, {add(std::move(before)), *step.value});
    node.text = by;
    step.value = add(std::move(node));
  }
  // Behind branches it is a choice between this value and the one before.
  std::uint32_t& depth = variables_[changed].depth;
  depth = std::max(depth + nesting_, syntax_.nodes[*step.value].depth) + 1;
  if (!accept(";")) fail_here("an operator or ';'");
  steps.push_back(std::move(step));
}

// The number of the one that this name means, if it can be changed.
std::size_t Parser::variable(const Token& name) const {
  for (std::size_t i = variables_.size(); i-- > 0;) {
    const Variable& known = variables_[i];
    if (known.name != name.text) continue;
    if (i < own_variables_)
      fail(name.range, fmt::format("a lambda cannot change '{}' around it", known.name));
    if (!known.fixed_as.empty())
      fail(name.range, fmt::format("'{}' cannot be changed: {}", known.name, known.fixed_as));
    return i;
  }
  fail(name.range,
       fmt::format("'{0}' cannot be changed: only variables that are declared in the text", name.text));
}

// The depth of the value that a name stands for: one is made of the values of others.
std::uint32_t Parser::depth_of_variable(std::string_view name) const {
  const auto found = std::ranges::find(variables_.rbegin(), variables_.rend(), name, &Variable::name);
  return found == variables_.rend() ? 1 : found->depth;
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
  const bool is_one = values.size() == 1;
  if (is_one && (!type || !type->is_list() || syntax_[values.front()].kind == NodeKind::list)) {
    step.value = values.front();
    return;
  }
  SyntaxNode node = make(NodeKind::call, step.mark, std::move(values));
  node.text = step.type;
  node.braces = braces;
  node.whole = from(step.mark);
  step.value = add(std::move(node));
  step.type = "auto";
}

// if (a) return b; else if (c) { ... } else return d;
void Parser::condition(Block& block) {
  for (;;) {
    Step step;
    step.mark = take().range;
    const Token& open = here();
    if (!accept("(")) fail_here("'('");
    step.condition = expression();
    expect(")", open);
    const Block yes = branch();
    const bool returns = yes.last.has_value();
    step.kind = returns ? NodeKind::conditional : NodeKind::branch;
    step.value = returns ? assemble(yes) : body_of(yes);
    const bool has_other = here().is_name("else");
    if (has_other) take();
    if (has_other && !returns) step.otherwise = body_of(branch());
    block.steps.push_back(std::move(step));
    if (!has_other || !returns) return;
    if (here().is_name("if")) continue;
    // What follows a return needs no condition.
    const TextRange mark = here().range;
    const Block no = branch();
    if (no.last)
      block.last = assemble(no);
    else
      block.steps.push_back({.kind = NodeKind::body, .value = body_of(no), .mark = mark});
    return;
  }
}

Parser::Block Parser::branch() {
  const Token& open = here();
  if (++nesting_ > most_nested_blocks)
    fail(open.range, fmt::format("more than {} nested blocks", most_nested_blocks));
  Block found;
  if (open.is_name("return")) {
    found.last = result();
  } else if (open.is_name("if")) {
    condition(found);
  } else if (assigns()) {
    assignment(found.steps);
  } else if (accept("{")) {
    found = block(true);
    expect("}", open);
  } else {
    fail(open.range,
         open.kind == Token::Kind::end ? "the text ends where 'return' or '{' should be" : no_statement);
  }
  --nesting_;
  return found;
}

NodeIndex Parser::assemble(const Block& block) {
  const bool is_expression = std::ranges::all_of(block.steps, [](const Step& step) {
    return step.kind == NodeKind::conditional || (step.kind == NodeKind::declaration && step.value);
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
  if (step.kind == NodeKind::body) return *step.value;
  if (step.kind == NodeKind::declaration || step.kind == NodeKind::assignment) {
    SyntaxNode node =
        make(step.kind, step.mark, step.value ? std::vector{*step.value} : std::vector<NodeIndex>());
    node.text = step.name;
    node.type = step.type;
    return add(std::move(node));
  }
  NodeIndex body = *step.value;
  if (step.kind == NodeKind::conditional)
    body = add(make(NodeKind::body, step.mark, {add(make(NodeKind::result, step.mark, {body}))}));
  std::vector<NodeIndex> children = {*step.condition, body};
  if (step.otherwise) children.push_back(*step.otherwise);
  return add(make(NodeKind::branch, step.mark, std::move(children)));
}

}  // namespace colonnade::frame
