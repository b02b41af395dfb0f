// Lambdas, and calls of those that have names: auto f = [&](float x) { return x * scale; }; See parser.h. A
// call follows the body with the present values of variables, as capture by reference does; what a lambda
// holds a copy of cannot change after it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t most_repeated = std::size_t{1} << 16;  // nodes of the lambdas that a text calls

}  // namespace

// Captures need not be listed: a lambda sees its whole environment.
NodeIndex Parser::lambda() {
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
      FunctionSyntax::Parameter given = parameter();
      if (given.name.empty()) fail_here("the name of a parameter");
      head.template_types.push_back(std::move(given.type));
      head.parameters.push_back(std::move(given.name));
    } while (accept(","));
    expect(")", bracket);
  }
  if (accept("->")) {
    const auto type = type_at(at_);
    if (!type) fail_here("the type of the result");
    head.type = type->name;
    at_ = type->end;
  }
  const Token& brace = here();
  if (!accept("{")) fail_here("'{'");
  if (++nesting_ > most_nested) fail(brace.range, "lambdas are nested too deeply");
  const std::size_t own = std::exchange(own_variables_, around);
  const unsigned loops = std::exchange(loops_, 0);
  const bool in_switch = std::exchange(in_switch_, false);
  Effects* const effects = std::exchange(effects_, nullptr);
  const NodeIndex body = statements(true);
  expect("}", brace);
  --nesting_;
  leave_scope(around);
  own_variables_ = own;
  loops_ = loops;
  in_switch_ = in_switch;
  effects_ = effects;
  SyntaxNode node = make(NodeKind::lambda, from(open.range), {body});
  node.whole = node.mark;
  node.parameters = std::move(head.parameters);
  node.template_types = std::move(head.template_types);
  node.type = std::move(head.type);
  return add(std::move(node));
}

// auto f = [...](...) { ... };
bool Parser::declares_lambda(const Type& type) const {
  return type.name == "auto" && token(type.end).kind == Token::Kind::name && token(type.end + 1).is("=") &&
         token(type.end + 2).is("[");
}

void Parser::lambda_declaration(const Type& type) {
  at_ = type.end;
  const Token& name = take();
  take();
  std::size_t at = at_ + 1;
  const bool copies_all = token(at).is("=");
  std::vector<std::string_view> listed;  // as copies, or by reference if all others are copies
  for (; !token(at).is("]") && token(at).kind != Token::Kind::end; ++at)
    if (token(at).kind == Token::Kind::name && token(at - 1).is("&") == copies_all)
      listed.push_back(token(at).text);

  const std::size_t around = variables_.size();
  const std::size_t first_use = uses_.size();
  const std::size_t size = syntax_.nodes.size() + repeated_;
  ++named_lambdas_;
  Closure& made = closures_.emplace_back();
  made.lambda = lambda();
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
  if (named_lambdas_ == 0) uses_.clear();
  for (const std::size_t number : made.variables) {
    Variable& used = variables_[number];
    const bool is_listed = std::ranges::find(listed, used.name) != listed.end();
    if (is_listed == copies_all || !used.fixed_as.empty() || used.closure != nullptr) continue;
    used.fixed_as = "a lambda holds a copy of it";
    used.fixed_at = variables_.size() + 1;
  }
  add_variable({.name = name.text, .fixed_as = "it is a lambda", .closure = &made}, name.range);
  if (!accept(";")) fail_here("';'");
}

// Its call, or the lambda itself as an argument.
NodeIndex Parser::closure(const Closure& closure, const Token& name) {
  std::uint32_t depth = 1;
  for (const std::size_t number : closure.variables) {
    depth = std::max(depth, variables_[number].depth);
    if (named_lambdas_ > 0) uses_.push_back({std::string(variables_[number].name), number});
  }
  for (const std::string& unknown : closure.unknown) {
    if (find_variable(unknown))
      fail(name.range,
           fmt::format("'{}' is a variable here, but not where the lambda '{}' was declared; give it "
                       "another name",
                       unknown, name.text));
    if (named_lambdas_ > 0) uses_.push_back({unknown, std::nullopt});
  }
  repeated_ += closure.size;
  if (repeated_ > most_repeated)
    fail(name.range, fmt::format("more than {} operations in the lambdas that are called", most_repeated));
  syntax_.shares_nodes = true;
  return here().is("(") ? application(closure.lambda, name.range, depth) : closure.lambda;
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
