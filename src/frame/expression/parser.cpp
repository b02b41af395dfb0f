// Expressions; see parser.h.
#include "frame/expression/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

namespace colonnade::frame {
namespace {

constexpr std::uint32_t deepest = 1000;  // nested operators

// The precedence of a binary operator; 0 for any other token.
int precedence(const Token& token) {
  struct Level {
    std::string_view symbol;
    int level;
  };
  constexpr std::array<Level, 18> levels = {{{"*", 10},
                                             {"/", 10},
                                             {"%", 10},
                                             {"+", 9},
                                             {"-", 9},
                                             {"<<", 8},
                                             {">>", 8},
                                             {"<", 7},
                                             {"<=", 7},
                                             {">", 7},
                                             {">=", 7},
                                             {"==", 6},
                                             {"!=", 6},
                                             {"&", 5},
                                             {"^", 4},
                                             {"|", 3},
                                             {"&&", 2},
                                             {"||", 1}}};
  if (token.kind != Token::Kind::symbol) return 0;
  for (const Level& level : levels)
    if (level.symbol == token.text) return level.level;
  return 0;
}

bool is_logical(std::string_view symbol) {
  return symbol == "&&" || symbol == "||";
}

// An explanation for symbols that cannot continue an expression, but occur in practice.
std::string_view hint(std::string_view symbol) {
  if (symbol == "=") return "; to compare, write '=='";
  if (symbol.size() > 1 && symbol.back() == '=') return "; only a statement of its own changes a variable";
  if (symbol == "++" || symbol == "--") return "; only a statement of its own changes a variable";
  if (symbol == "->") return "; there are no pointers, write '.'";
  if (symbol == ")" || symbol == "]" || symbol == "}") return "; it closes nothing";
  if (symbol == "if" || symbol == "else") return "; to choose a value, write 'condition ? a : b'";
  return "";
}

}  // namespace

// ---- Tools

void Parser::fail(TextRange range, std::string_view problem) const {
  throw error_at(ErrorKind::usage, syntax_.text, mark_.value_or(range), problem);
}

void Parser::fail_here(std::string_view wanted) const {
  const Token& token = here();
  if (token.kind == Token::Kind::end)
    fail(token.range, fmt::format("the text ends where {} should be", wanted));
  if (token.is("->") && at_ > 0 && tokens_[at_ - 1].is_name("gRandom"))
    fail(token.range,
         "gRandom gives entries other numbers in each job; define the column with a Python callable that is "
         "seeded by rdfentry_");
  fail(token.range, fmt::format("expected {}, got '{}'{}", wanted, token.text, hint(token.text)));
}

bool Parser::accept(std::string_view symbol) {
  if (!here().is(symbol)) return false;
  ++at_;
  return true;
}

void Parser::expect(std::string_view symbol, const Token& open) {
  if (accept(symbol)) return;
  if (here().kind == Token::Kind::end)
    fail(open.range, fmt::format("'{}' without its '{}'", open.text, symbol));
  fail_here(fmt::format("an operator or '{}'", symbol));
}

SyntaxNode Parser::make(NodeKind kind, TextRange mark, std::vector<NodeIndex> children) const {
  SyntaxNode node;
  node.kind = kind;
  node.mark = node.whole = mark;
  for (const NodeIndex child : children) {
    const SyntaxNode& below = syntax_.nodes[child];
    node.depth = std::max(node.depth, below.depth + 1);
    node.whole.begin = std::min(node.whole.begin, below.whole.begin);
    node.whole.end = std::max(node.whole.end, below.whole.end);
  }
  node.children = std::move(children);
  return node;
}

NodeIndex Parser::add(SyntaxNode node) {
  if (node.depth > deepest) fail(node.mark, fmt::format("more than {} nested operations", deepest));
  if (mark_) node.mark = node.whole = *mark_;
  syntax_.nodes.push_back(std::move(node));
  return static_cast<NodeIndex>(syntax_.nodes.size() - 1);
}

// ---- Expressions

void Parser::run() {
  if (here().kind == Token::Kind::end) fail(here().range, "the expression is empty");
  if (starts_statements()) {
    syntax_.root = statements(false);
  } else {
    syntax_.root = expression();
    accept(";");
  }
  if (here().kind != Token::Kind::end) fail_here("an operator or the end");
}

// With ?:, whose chains are flat: "a ? 1 : b ? 2 : 3" is a list of arms and the remaining value.
NodeIndex Parser::expression() {
  // The text itself is the first one, without brackets.
  if (++nesting_ > most_nested + 1)
    fail(here().range, fmt::format("more than {} nested brackets", most_nested));
  std::vector<Arm> arms;
  std::vector<TextRange> marks;
  NodeIndex value = binary(1);
  while (here().is("?")) {
    const Token& question = take();
    if (effects_ != nullptr) ++effects_->conditions;
    const NodeIndex yes = expression();
    if (!accept(":")) fail(question.range, "'?' without its ':'");
    arms.push_back({value, yes});
    marks.push_back(question.range);
    value = binary(1);
  }
  if (effects_ != nullptr) effects_->conditions -= static_cast<unsigned>(arms.size());
  for (std::size_t i = arms.size(); i-- > 0;)
    value = add(make(NodeKind::conditional, marks[i], {arms[i].condition, arms[i].value, value}));
  --nesting_;
  return value;
}

NodeIndex Parser::binary(int lowest) {
  NodeIndex left = unary();
  for (int level = precedence(here()); level >= lowest; level = precedence(here())) {
    const Token& symbol = take();
    const bool is_condition = effects_ != nullptr && is_logical(symbol.text);
    if (is_condition) ++effects_->conditions;
    const NodeIndex right = binary(level + 1);
    if (is_condition) --effects_->conditions;
    SyntaxNode node = make(NodeKind::binary, symbol.range, {left, right});
    node.text = symbol.text;
    // An iterator plus or minus a number is one, the difference of two is a number.
    const bool moves = symbol.is("+") || symbol.is("-");
    if (moves && is_iterator(left) != is_iterator(right))
      node.list = syntax_[is_iterator(left) ? left : right].list;
    // Chains of && are parsed in a loop, however long they are.
    const SyntaxNode& below = syntax_.nodes[left];
    if (is_logical(node.text) && below.kind == NodeKind::binary && below.text == node.text)
      node.depth = std::max(below.depth, syntax_.nodes[right].depth + 1);
    left = add(std::move(node));
  }
  return left;
}

NodeIndex Parser::unary() {
  struct Prefix {
    std::string text;
    bool is_cast;
    TextRange mark;
  };
  std::vector<Prefix> prefixes;
  for (;;) {
    const Token& token = here();
    if (const auto type = c_cast_at(at_)) {
      at_ = type->end;
      prefixes.push_back({type->name, true, from(token.range)});
    } else if (token.is("*") && class_ != nullptr && this->token(at_ + 1).is_name("this")) {
      break;
    } else if (token.is("-") || token.is("+") || token.is("!") || token.is("~") || token.is("*")) {
      prefixes.push_back({std::string(token.text), false, take().range});
    } else {
      break;
    }
  }
  NodeIndex value = steps_within() ? stepped() : postfix();
  for (std::size_t i = prefixes.size(); i-- > 0;) {
    if (prefixes[i].text == "*") {
      value = item_at(value, prefixes[i].mark);
      continue;
    }
    SyntaxNode node = make(prefixes[i].is_cast ? NodeKind::cast : NodeKind::unary, prefixes[i].mark, {value});
    node.text = std::move(prefixes[i].text);
    value = add(std::move(node));
  }
  return value;
}

NodeIndex Parser::postfix() {
  const Closure* const changing = changing_method();
  NodeIndex value = changing != nullptr ? call_of_changing_method(*changing) : primary();
  for (;;) {
    const Token& token = here();
    if (token.is(".")) {
      value = member(value);
    } else if (token.is("->") && is_iterator(value)) {
      value = member(item_at(value, token.range));
    } else if (token.is("[")) {
      take();
      NodeIndex index = expression();
      if (here().is(",")) fail(here().range, "a subscript takes one index; write x[i][j]");
      expect("]", token);
      const bool is_known = insert_missing(value, index, from(token.range));
      SyntaxNode node = make(NodeKind::subscript, from(token.range), {value, index});
      if (is_known) node.text = inserts_nothing;
      node.whole.end = node.mark.end;
      value = add(std::move(node));
    } else if (token.is("(") && syntax_[value].kind == NodeKind::lambda) {
      value = application(value, syntax_[value].mark, 1);
    } else if (token.is("(") && syntax_[value].kind != NodeKind::literal &&
               syntax_[value].kind != NodeKind::list) {
      value = called_on(value, "operator()", syntax_[value].mark);
    } else if (token.is("(")) {
      fail(token.range, "only functions and methods can be called, by their names");
    } else {
      return value;
    }
  }
}

// A subscript of a map that can change inserts a key that is not there. False if a map may be where none is
// known.
bool Parser::insert_missing(NodeIndex object, NodeIndex& key, TextRange mark) {
  const auto number = variable_of(object);
  if (!number || !variables_[*number].fixed_as.empty() || is_iterator(key)) return true;
  if (syntax_[object].kind != NodeKind::name || !variables_[*number].is_map) return false;
  const bool is_own = *number >= own_variables_;
  if (!is_own || effects_ == nullptr || effects_->conditions > 0)
    fail(mark, "this subscript may insert a key; write at(), or a statement of its own");
  key = frozen(key);
  const Target target{object, *number};
  effects_->before.push_back(step_of(assigned(target, mark, {object, key}, "[]")));
  syntax_.shares_nodes = true;
  return true;
}

NodeIndex Parser::member(NodeIndex object) {
  take();
  if (here().kind != Token::Kind::name) fail_here("the name of a member or method");
  const std::size_t first = at_;
  const Token& name = take();
  if (here().is("::")) {  // of a base class: "object.Base::member"
    at_ = *qualified_name_at(first);
    SyntaxNode node = make(NodeKind::member, from(name.range), {object});
    node.text = spelled(first, at_);
    return add(std::move(node));
  }
  if (!here().is("(")) {
    SyntaxNode node = make(NodeKind::member, name.range, {object});
    node.text = name.text;
    return add(std::move(node));
  }
  const Token& open = take();
  std::vector<NodeIndex> children = items(")", open);
  if (children.empty() && (name.text == "begin" || name.text == "cbegin"))
    return iterator(object, false, name.range);
  if (children.empty() && (name.text == "end" || name.text == "cend"))
    return iterator(object, true, name.range);
  children.insert(children.begin(), object);
  const bool finds = children.size() == 2 &&
                     (name.text == "find" || name.text == "lower_bound" || name.text == "upper_bound");
  SyntaxNode node = make(NodeKind::method, name.range, std::move(children));
  node.text = name.text;
  if (finds) node.list = object;  // of a map it is an iterator
  node.whole = {node.whole.begin, token(at_ - 1).range.end};
  return add(std::move(node));
}

// Up to and including the closing bracket.
// An expression, or the name of a function of the text, which is a lambda that calls it.
NodeIndex Parser::argument() {
  const auto end = functions_ != nullptr && !here().is_quoted ? qualified_name_at(at_) : std::nullopt;
  if (!end || (!token(*end).is(",") && !token(*end).is(")"))) return expression();
  const std::string name = spelled(at_, *end);
  const auto is_it = [&](const FunctionSyntax& each) {
    return each.name == name || each.name == namespace_ + name;
  };
  const auto found = std::ranges::find_if(functions_->functions, is_it);
  if (found == functions_->functions.end() || found->parameters.empty() || found->has_effects ||
      find_variable(name))
    return expression();
  const TextRange mark = here().range;
  at_ = *end;
  return lambda_that_calls(found->name, found->parameters.size(), mark);
}

NodeIndex Parser::lambda_that_calls(std::string_view callee, std::size_t parameters, TextRange mark) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters; ++i) names.push_back(fmt::format("argument{}", i));
  const std::string& text = hidden_.emplace_back(fmt::format(
      "[](auto {}) {{ return {}({}); }}", fmt::join(names, ", auto "), callee, fmt::join(names, ", ")));
  // The callers hold references to tokens, which stay where they are.
  std::deque<Token> tokens = std::exchange(tokens_, queue_of(text));
  const std::size_t at = std::exchange(at_, 0);
  const auto around_mark = std::exchange(mark_, mark_.value_or(mark));
  const NodeIndex made = lambda();
  mark_ = around_mark;
  at_ = at;
  tokens_ = std::move(tokens);
  return made;
}

std::vector<NodeIndex> Parser::items(std::string_view close, const Token& open) {
  std::vector<NodeIndex> found;
  if (accept(close)) return found;
  do found.push_back(argument());
  while (accept(","));
  if (!accept(close)) {
    if (here().kind == Token::Kind::end)
      fail(open.range, fmt::format("'{}' without its '{}'", open.text, close));
    fail_here(fmt::format("',' or '{}'", close));
  }
  return found;
}

NodeIndex Parser::primary() {
  const Token& token = here();
  if (token.kind == Token::Kind::literal) return literal();
  if (token.kind == Token::Kind::name) return name();
  if (token.is("::")) {
    take();
    if (here().kind == Token::Kind::name) return name();
  }
  if (token.is("(")) {
    take();
    const NodeIndex value = expression();
    if (here().is(",")) fail(here().range, "the comma operator is not supported");
    expect(")", token);
    syntax_.nodes[value].whole = from(token.range);
    return value;
  }
  if (token.is("{")) return list();
  if (token.is("[")) return lambda();
  if (token.is("*")) {  // of this
    take();
    const auto object = find_variable("this");
    if (!object) fail(token.range, "'this' has a meaning only in methods");
    return named(*object, take().range);
  }
  if (token.is("&")) fail(token.range, "there are no pointers in expressions; for powers, write pow(x, y)");
  fail_here("a value");
}

NodeIndex Parser::literal() {
  const Token& first = take();
  SyntaxNode node = make(NodeKind::literal, first.range);
  node.value = first.value;
  if (first.is_string && here().is_string) {
    std::string joined = first.string_value;
    while (here().is_string) joined += take().string_value;
    node.value = make_constant_string(1, joined);
    node.whole = node.mark = from(first.range);
  }
  return add(std::move(node));
}

NodeIndex Parser::list() {
  const Token& open = take();
  std::vector<NodeIndex> children = items("}", open);
  const TextRange mark = from(open.range);
  return add(make(NodeKind::list, mark, std::move(children)));
}

// ---- Names: of columns, functions, types

NodeIndex Parser::name() {
  const std::size_t first = at_;
  const TextRange begin = here().range;
  if (here().is_quoted) {
    SyntaxNode node = make(NodeKind::name, begin);
    node.text = take().text;
    node.quoted = true;
    return add(std::move(node));
  }
  if (here().is_name("true") || here().is_name("false")) {
    SyntaxNode node = make(NodeKind::literal, begin);
    node.value = make_constant<bool>(1, take().is_name("true"));
    return add(std::move(node));
  }
  if (here().is_name("static_cast")) return static_cast_of(first);
  if (here().is_name("this") && class_ != nullptr) return this_object();
  for (const std::string_view word :
       {"nullptr", "this", "new", "delete", "sizeof", "dynamic_cast", "const_cast", "reinterpret_cast",
        "auto", "return", "if", "else", "for", "while"})
    if (here().is_name(word)) fail(begin, fmt::format("'{}' cannot stand in an expression", word));
  if (const auto type = builtin_type_at(at_)) {
    at_ = type->end;
    if (!here().is("(") && !here().is("{"))
      fail(from(begin), fmt::format("'{}' is a type; a value should be here", type->name));
    return call(type->name, {}, from(begin));
  }
  at_ = *qualified_name_at(at_);
  std::string text = spelled(first, at_);
  if (here().is("<")) {
    if (auto types = template_types_at(at_, text)) {
      at_ = types->second;
      // A type may be followed by one of its functions: std::numeric_limits<float>::max().
      if (here().is("::") && token(at_ + 1).kind == Token::Kind::name) {
        at_ += 2;
        text += fmt::format("::{}", token(at_ - 1).text);
      }
      return call(whole_name(text), std::move(types->first), from(begin));
    }
  }
  const bool is_of_own_class = class_ != nullptr && at_ == first + 3 && is_own_name(token(first));
  if ((at_ == first + 1 || is_of_own_class) && here().is("(") && is_method_of_this(token(at_ - 1)))
    return method_of_this(token(at_ - 1));
  if (at_ == first + 1 || here().is("("))
    if (const Closure* const known = find_closure(text)) return closure(*known, token(first));
  const bool is_object =
      at_ == first + 1 && here().is("(") && find_variable(text);  // which has an operator()
  if (!is_object && (here().is("(") || here().is("{"))) return call(whole_name(text), {}, from(begin));
  if (at_ == first + 1)
    if (const auto alias = alias_of(token(first))) return alias->node;
  return named(text, from(begin));
}

// Of a function of the text that is called from within its namespace: the body may become part of a function
// elsewhere.
std::string Parser::whole_name(std::string_view name) const {
  if (functions_ == nullptr) return std::string(name);
  for (const std::string_view around : namespaces()) {
    const auto is_it = [&](const FunctionSyntax& each) {
      return each.name.size() == around.size() + name.size() && each.name.starts_with(around) &&
             each.name.ends_with(name);
    };
    if (std::ranges::any_of(functions_->functions, is_it)) return fmt::format("{}{}", around, name);
  }
  return std::string(name);
}

std::vector<std::string_view> Parser::namespaces() const {
  std::vector<std::string_view> found;
  for (std::string_view around = namespace_; !around.empty();) {
    found.push_back(around);
    const std::size_t colons = around.substr(0, around.size() - 2).rfind("::");
    around = colons == std::string_view::npos ? std::string_view() : around.substr(0, colons + 2);
  }
  return found;
}

// The next token begins the arguments.
NodeIndex Parser::call(std::string callee, std::vector<std::string> template_types, TextRange mark) {
  if (!here().is("(") && !here().is("{")) fail_here("'('");
  const Token& open = take();
  std::vector<NodeIndex> children = items(open.is("(") ? ")" : "}", open);
  if (open.is("(") && template_types.empty())
    if (const auto found = algorithm(callee, children, from(mark))) return *found;
  // Lists are values: the copy of one is itself.
  for (const std::string_view list : {"ROOT::RVec", "ROOT::VecOps::RVec", "RVec", "std::vector"})
    if (callee == list && template_types.empty() && children.size() == 1 && open.is("(")) return children[0];
  SyntaxNode node = make(NodeKind::call, mark, std::move(children));
  node.text = std::move(callee);
  node.template_types = std::move(template_types);
  node.braces = open.is("{");
  node.whole = from(mark);
  return add(std::move(node));
}

NodeIndex Parser::static_cast_of(std::size_t name) {
  const TextRange begin = token(name).range;
  at_ = name + 1;
  if (!here().is("<")) fail_here("'<'");
  const auto types = template_types_at(at_, "static_cast");
  if (!types || types->first.size() != 1) fail(here().range, "static_cast needs one type in < >");
  at_ = types->second;
  const TextRange mark = from(begin);
  const Token& open = here();
  if (!accept("(")) fail_here("'('");
  const NodeIndex value = expression();
  expect(")", open);
  SyntaxNode node = make(NodeKind::cast, mark, {value});
  node.text = types->first.front();
  node.whole = from(begin);
  return add(std::move(node));
}

Formula::Syntax parse(std::string text) {
  Formula::Syntax syntax;
  syntax.text = std::move(text);
  Parser(syntax).run();
  return syntax;
}

std::string dotted_path(const Formula::Syntax& syntax, NodeIndex index) {
  std::vector<std::string_view> parts;
  const SyntaxNode* node = &syntax[index];
  for (; node->kind == NodeKind::member; node = &syntax[node->children.front()]) parts.push_back(node->text);
  if (node->kind != NodeKind::name) return {};
  std::string path = node->text;
  for (const std::string_view part : std::views::reverse(parts)) path += fmt::format(".{}", part);
  return path;
}

}  // namespace colonnade::frame
