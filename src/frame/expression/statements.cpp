// Statements: declarations, if and return; see parser.h. They become one expression: a declaration is a let
// around the rest of the body, "if (a) return b;" the conditional a ? b : rest.
#include <fmt/format.h>

#include "frame/expression/function.h"
#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

constexpr const char* no_statement =
    "only declarations, 'if' and 'return' are statements; if you need a loop or a variable that changes, "
    "define "
    "the column with a function";

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

// Up to but excluding the closing brace, or to the end of the text.
NodeIndex Parser::statements(bool in_braces) {
  const Token& first = here();
  std::vector<Step> steps;
  for (;;) {
    const Token& token = here();
    if (token.kind == Token::Kind::end || (in_braces && token.is("}"))) {
      fail(first.range, "not every path through these statements ends with a return");
    } else if (token.is_name("return")) {
      const NodeIndex last = result();
      if (!in_braces && here().kind != Token::Kind::end)
        fail(here().range, "nothing after the last return is reached");
      if (in_braces && !here().is("}")) fail_here("'}'");
      return assemble(steps, last);
    } else if (token.is_name("if")) {
      if (const auto last = condition(steps)) return assemble(steps, *last);
    } else if (const auto type = declared_type()) {
      declaration(*type, steps);
    } else {
      fail(token.range, no_statement);
    }
  }
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
  at_ = type.end;
  do {
    if (here().kind != Token::Kind::name) fail_here("the name of a variable");
    Step step;
    step.is_let = true;
    step.type = type.name;
    step.name = here().text;
    step.mark = take().range;
    if (accept("=")) {
      step.value = expression();
    } else if (here().is("{") || here().is("(")) {
      initializer(step);
    } else {
      fail(step.mark, fmt::format("'{}' needs a value where it is declared: {} {} = ...;", step.name,
                                  step.type, step.name));
    }
    steps.push_back(std::move(step));
  } while (accept(","));
  if (!accept(";")) fail_here("an operator or ';'");
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

// if (a) return b; else if (c) { ... } else return d; - the value of the last else, if there is one.
std::optional<NodeIndex> Parser::condition(std::vector<Step>& steps) {
  for (;;) {
    Step step;
    step.mark = take().range;
    const Token& open = here();
    if (!accept("(")) fail_here("'('");
    step.condition = expression();
    expect(")", open);
    step.value = branch();
    steps.push_back(std::move(step));
    if (!here().is_name("else")) return std::nullopt;
    take();
    if (!here().is_name("if")) return branch();
  }
}

NodeIndex Parser::branch() {
  if (here().is_name("return")) return result();
  const Token& open = here();
  if (!open.is("{"))
    fail(open.range,
         open.kind == Token::Kind::end ? "the text ends where 'return' or '{' should be" : no_statement);
  take();
  if (++nesting_ > 100) fail(open.range, "more than 100 nested blocks");
  const NodeIndex value = statements(true);
  expect("}", open);
  --nesting_;
  return value;
}

NodeIndex Parser::assemble(const std::vector<Step>& steps, NodeIndex last) {
  for (std::size_t i = steps.size(); i-- > 0;) {
    const Step& step = steps[i];
    if (step.is_let) {
      SyntaxNode node = make(NodeKind::let, step.mark, {step.value, last});
      node.text = step.name;
      node.type = step.type;
      last = add(std::move(node));
    } else {
      last = add(make(NodeKind::conditional, step.mark, {step.condition, step.value, last}));
    }
  }
  return last;
}

}  // namespace colonnade::frame
