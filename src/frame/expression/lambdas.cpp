// Lambdas, and calls of those that have names: auto f = [&](float x) { return x * scale; }; See parser.h. A
// call follows the body with the present values of variables, as capture by reference does; what a lambda
// holds a copy of cannot change after it. See invocations.cpp for those that change variables.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t most_repeated = std::size_t{1} << 16;  // nodes of the lambdas that a text calls

}  // namespace

// Captures need not be listed: a lambda sees its whole environment. One that gets a name, `made`, may change
// it.
NodeIndex Parser::lambda(Closure* made) {
  const Token& open = take();
  while (here().kind == Token::Kind::name || here().is("&") || here().is("=") || here().is(",")) {
    if (here().is("=") && token(at_ - 1).kind == Token::Kind::name)
      fail(here().range, "a lambda captures variables by their names; declare one before it");
    take();
  }
  expect("]", open);
  SyntaxNode head;
  const std::size_t around = variables_.size();
  const Token& bracket = here();
  if (accept("(") && !accept(")")) {
    do {
      Parameter known;
      FunctionSyntax::Parameter given = parameter(made != nullptr, known);
      if (given.name.empty()) fail_here("the name of a parameter");
      if (made != nullptr) made->parameters.push_back(known);
      head.template_types.push_back(std::move(given.type));
      head.parameters.push_back(std::move(given.name));
    } while (accept(","));
    expect(")", bracket);
  }
  if (here().is_name("mutable"))
    fail(here().range,
         "a lambda has no variables of its own here; declare one before it, and capture it by [&]");
  if (accept("->")) {
    const auto type = type_at(at_);
    if (!type) fail_here("the type of the result");
    head.type = type->name;
    at_ = type->end;
  }
  const Token& brace = here();
  if (!accept("{")) fail_here("'{'");
  if (++nesting_ > most_nested) fail(brace.range, "lambdas are nested too deeply");
  const std::size_t own = std::exchange(own_variables_, made != nullptr ? own_variables_ : around);
  const std::size_t first_change = changed_.size();
  Returns returns{.allows_nothing = made != nullptr};
  const NodeIndex body = body_with_returns(returns);
  expect("}", brace);
  --nesting_;
  if (made != nullptr) {
    made->returns_nothing = returns.has_nothing;
    note_parameters(made->parameters, first_change);
  }
  leave_scope(around);
  own_variables_ = own;
  SyntaxNode node = make(NodeKind::lambda, from(open.range), {body});
  node.whole = node.mark;
  node.parameters = std::move(head.parameters);
  node.template_types = std::move(head.template_types);
  node.type = std::move(head.type);
  return add(std::move(node));
}

// What is outside of a function or lambda, such as loops, is not outside of its body.
NodeIndex Parser::body_with_returns(Returns& returns) {
  Returns* const around = std::exchange(returns_, &returns);
  const unsigned loops = std::exchange(loops_, 0);
  const bool in_switch = std::exchange(in_switch_, false);
  Effects* const effects = std::exchange(effects_, nullptr);
  const NodeIndex body = statements(true);
  returns_ = around;
  loops_ = loops;
  in_switch_ = in_switch;
  effects_ = effects;
  return body;
}

// Which parameters the body has changed.
void Parser::note_parameters(std::vector<Parameter>& parameters, std::size_t first_change) const {
  const auto changed = std::span(changed_).subspan(first_change);
  for (Parameter& each : parameters)
    each.changes = each.may_change && std::ranges::find(changed, each.variable) != changed.end();
}

// auto f = [...](...) { ... };
bool Parser::declares_lambda(const Type& type) const {
  return type.name == "auto" && token(type.end).kind == Token::Kind::name && token(type.end + 1).is("=") &&
         token(type.end + 2).is("[");
}

void Parser::lambda_declaration(const Type& type) {
  at_ = type.end;
  const Token name = take();
  take();
  const Closure& made = closure_here();
  add_variable({.name = name.text, .fixed_as = "it is a lambda", .closure = &made}, name.range);
  if (!accept(";")) fail_here("';'");
}

// Of a lambda that begins here.
Parser::Closure& Parser::closure_here() {
  const std::size_t open = at_;
  const std::size_t around = variables_.size();
  const std::size_t first_use = uses_.size();
  const std::size_t first_change = changed_.size();
  const std::size_t size = syntax_.nodes.size() + repeated_;
  ++named_lambdas_;
  Closure& made = closures_.emplace_back();
  made.lambda = lambda(&made);
  --named_lambdas_;
  made.size = syntax_.nodes.size() + repeated_ - size;
  for (const Use& use : std::span(uses_).subspan(first_use)) {
    if (!use.variable) {
      if (std::ranges::find(made.unknown, use.name) == made.unknown.end()) made.unknown.push_back(use.name);
    } else if (*use.variable < around &&
               std::ranges::find(made.variables, *use.variable) == made.variables.end()) {
      made.variables.push_back(*use.variable);
    }
  }
  for (const std::size_t number : std::span(changed_).subspan(first_change))
    if (number < around && std::ranges::find(made.changes, number) == made.changes.end())
      made.changes.push_back(number);
  if (named_lambdas_ == 0) uses_.clear();
  fix_copies(made, open);
  return made;
}

// What the lambda whose '[' is the token `open` captures as a copy.
void Parser::fix_copies(const Closure& made, std::size_t open) {
  std::size_t at = open + 1;
  const bool copies_all = token(at).is("=");
  std::vector<std::string_view> listed;  // as copies, or by reference if all others are copies
  for (; !token(at).is("]") && token(at).kind != Token::Kind::end; ++at)
    if (token(at).kind == Token::Kind::name && token(at - 1).is("&") == copies_all)
      listed.push_back(token(at).text);
  for (const std::size_t number : made.variables) {
    const Variable& used = variables_[number];
    const bool is_listed = std::ranges::find(listed, used.name) != listed.end();
    if (is_listed == copies_all || used.closure != nullptr) continue;
    if (std::ranges::find(made.changes, number) != made.changes.end())
      fail(token(open).range,
           fmt::format("this lambda has a copy of '{}', which it cannot change; capture it by reference",
                       used.name));
    fix(number, "a lambda holds a copy of it");
  }
}

// Its call, or the lambda itself as an argument.
NodeIndex Parser::closure(const Closure& closure, const Token& name) {
  if (!here().is("(") && closure.has_effects())
    fail(name.range, fmt::format("'{}' changes variables, so that it can only be called", name.text));
  if (closure.has_effects() || is_statement(name)) return invocation(closure, name);
  const std::uint32_t depth = use(closure, name.text, name.range);
  return here().is("(") ? application(closure.lambda, name.range, depth) : closure.lambda;
}

// Returns the depth of the variables that it uses.
std::uint32_t Parser::use(const Closure& closure, std::string_view name, TextRange mark) {
  std::uint32_t depth = 1;
  for (const std::size_t number : closure.variables) {
    depth = std::max(depth, variables_[number].depth);
    reads_.push_back(number);
    if (named_lambdas_ > 0) uses_.push_back({std::string(variables_[number].name), number});
  }
  for (const std::string& unknown : closure.unknown) {
    if (find_variable(unknown))
      fail(mark, fmt::format("'{}' is a variable here, but not where the lambda '{}' was declared; give it "
                             "another name",
                             unknown, name));
    if (named_lambdas_ > 0) uses_.push_back({unknown, std::nullopt});
  }
  repeated_ += closure.size;
  if (repeated_ > most_repeated)
    fail(mark, fmt::format("more than {} operations in the lambdas that are called", most_repeated));
  syntax_.shares_nodes = true;
  return depth;
}

// The next token begins the arguments. `depth`: of the variables that it uses.
NodeIndex Parser::application(NodeIndex lambda, TextRange mark, std::uint32_t depth) {
  const Token& open = take();
  std::vector<NodeIndex> children = items(")", open);
  children.insert(children.begin(), lambda);
  const std::uint32_t depth_of_lambda = syntax_[lambda].depth;
  SyntaxNode node = make(NodeKind::application, mark, std::move(children));
  node.depth = std::max(node.depth, depth_of_lambda + depth);
  node.mark = mark;
  node.whole = {mark.begin, token(at_ - 1).range.end};
  return add(std::move(node));
}

}  // namespace colonnade::frame
