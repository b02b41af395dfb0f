// Iterators, which are places in a list that the text names, and the algorithms of the standard library over
// them. An algorithm becomes the statements that C++ defines it by. See parser.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frame/expression/function_table.h"
#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

enum class Third : std::uint8_t { none, value, test };

struct Algorithm {
  std::string_view name;
  Third third;
  bool gives_iterator;
  std::string_view text;  // of list, first and last, and the third argument
};

constexpr Algorithm algorithms[] = {
    {"find", Third::value, true,
     "for (; first != last; ++first) if (list[first] == value) break; return first;"},
    {"find_if", Third::test, true,
     "for (; first != last; ++first) if (test(list[first])) break; return first;"},
    {"find_if_not", Third::test, true,
     "for (; first != last; ++first) if (!test(list[first])) break; return first;"},
    {"any_of", Third::test, false,
     "for (; first != last; ++first) if (test(list[first])) return true; return false;"},
    {"all_of", Third::test, false,
     "for (; first != last; ++first) if (!test(list[first])) return false; return true;"},
    {"none_of", Third::test, false,
     "for (; first != last; ++first) if (test(list[first])) return false; return true;"},
    {"count", Third::value, false,
     "long n = 0; for (; first != last; ++first) if (list[first] == value) ++n; return n;"},
    {"count_if", Third::test, false,
     "long n = 0; for (; first != last; ++first) if (test(list[first])) ++n; return n;"},
    {"accumulate", Third::value, false,
     "auto sum = value; for (; first != last; ++first) sum = sum + list[first]; return sum;"},
    {"max_element", Third::none, true,
     "auto best = first; for (; first != last; ++first) if (list[best] < list[first]) best = first; return "
     "best;"},
    {"min_element", Third::none, true,
     "auto best = first; for (; first != last; ++first) if (list[first] < list[best]) best = first; return "
     "best;"},
    {"max_element", Third::test, true,
     "auto best = first; for (; first != last; ++first) if (test(list[best], list[first])) best = first; "
     "return best;"},
    {"min_element", Third::test, true,
     "auto best = first; for (; first != last; ++first) if (test(list[first], list[best])) best = first; "
     "return best;"},
    {"lower_bound", Third::value, true,
     "for (; first != last; ++first) if (!(list[first] < value)) break; return first;"},
    {"upper_bound", Third::value, true,
     "for (; first != last; ++first) if (value < list[first]) break; return first;"}};

constexpr std::string_view folds =
    "auto sum = value; for (; first != last; ++first) sum = test(sum, list[first]); return sum;";

}  // namespace

NodeIndex Parser::iterator(NodeIndex list, bool is_end, TextRange mark) {
  SyntaxNode node = make(NodeKind::literal, mark);
  node.value = make_constant<std::int64_t>(1, 0);
  if (is_end) {
    SyntaxNode size = make(NodeKind::method, mark, {list});
    size.text = "size";
    node = make(NodeKind::cast, mark, {add(std::move(size))});
    node.text = "std::int64_t";
  }
  node.whole.begin = std::min(node.whole.begin, syntax_[list].whole.begin);
  node.list = list;
  return add(std::move(node));
}

bool Parser::is_begin_of(NodeIndex node) const {
  return is_iterator(node) && syntax_[node].kind == NodeKind::literal;
}

bool Parser::is_end_of(NodeIndex node) const {
  return is_iterator(node) && syntax_[node].kind == NodeKind::cast;
}

// As they are written.
bool Parser::is_same(NodeIndex a, NodeIndex b) const {
  const SyntaxNode& left = syntax_[a];
  const SyntaxNode& right = syntax_[b];
  if (a == b) return true;
  if (left.kind != right.kind || left.text != right.text || left.quoted != right.quoted ||
      left.children.size() != right.children.size())
    return false;
  if (left.kind == NodeKind::literal) {
    const auto text = [this](const TextRange& of) {
      return std::string_view(syntax_.text).substr(of.begin, of.end - of.begin);
    };
    if (text(left.whole) != text(right.whole)) return false;
  }
  return std::ranges::equal(left.children, right.children,
                            [this](NodeIndex x, NodeIndex y) { return is_same(x, y); });
}

// *iterator
NodeIndex Parser::item_at(NodeIndex iterator, TextRange mark) {
  if (!is_iterator(iterator)) fail(mark, "there are no pointers in expressions; for powers, write pow(x, y)");
  const NodeIndex list = *syntax_[iterator].list;
  SyntaxNode node = make(NodeKind::subscript, mark, {list, iterator});
  // The list may have changed since it was named.
  NodeIndex root = list;
  std::uint32_t parts = 1;
  for (; syntax_[root].kind == NodeKind::subscript || syntax_[root].kind == NodeKind::member; ++parts)
    root = syntax_[root].children.front();
  for (const Variable& variable : variables_)
    if (syntax_[root].kind == NodeKind::name && variable.node_name == syntax_[root].text)
      node.depth = std::max(node.depth, variable.depth + parts);
  syntax_.shares_nodes = true;
  return add(std::move(node));
}

// None if this is another function.
std::optional<NodeIndex> Parser::algorithm(std::string_view callee, const std::vector<NodeIndex>& arguments,
                                           TextRange mark) {
  const std::string_view name = without_namespace(callee);
  if (arguments.size() == 1 && !is_iterator(arguments[0]) &&
      (callee.starts_with("std::") || callee == name)) {
    if (name == "begin" || name == "cbegin") return iterator(arguments[0], false, mark);
    if (name == "end" || name == "cend") return iterator(arguments[0], true, mark);
  }
  if (arguments.empty() || !is_iterator(arguments[0])) return std::nullopt;
  const auto moved = [&](std::string_view by, NodeIndex from, NodeIndex distance) {
    SyntaxNode node = make(NodeKind::binary, mark, {from, distance});
    node.text = by;
    if (!is_iterator(distance)) node.list = syntax_[from].list;
    return add(std::move(node));
  };
  if ((name == "next" || name == "prev") && arguments.size() <= 2) {
    SyntaxNode one = make(NodeKind::literal, mark);
    one.value = make_constant<std::int64_t>(1, 1);
    return moved(name == "next" ? "+" : "-", arguments[0],
                 arguments.size() == 2 ? arguments[1] : add(std::move(one)));
  }
  if (arguments.size() < 2 || !is_iterator(arguments[1])) return std::nullopt;
  const bool is_known = name == "distance" || name == "remove" || name == "remove_if" ||
                        std::ranges::find(algorithms, name, &Algorithm::name) != std::end(algorithms);
  if (!is_known) return std::nullopt;
  if (!is_same(*syntax_[arguments[0]].list, *syntax_[arguments[1]].list))
    fail(mark, fmt::format("'{}' takes the begin and the end of one list", callee));
  if (name == "distance" && arguments.size() == 2) return moved("-", arguments[1], arguments[0]);
  if ((name == "remove_if" || name == "remove") && arguments.size() == 3) {  // for erase
    SyntaxNode node = make(NodeKind::call, mark, arguments);
    node.text = name;
    node.list = syntax_[arguments[0]].list;
    return add(std::move(node));
  }
  const bool has_third = arguments.size() >= 3;
  const bool has_test = has_third && syntax_[arguments.back()].kind == NodeKind::lambda;
  const Third third = has_test && arguments.size() == 3 ? Third::test
                      : has_third                       ? Third::value
                                                        : Third::none;
  const auto* const found = std::ranges::find_if(
      algorithms, [&](const Algorithm& each) { return each.name == name && each.third == third; });
  const bool is_fold = name == "accumulate" && arguments.size() == 4 && has_test;
  if (found == std::end(algorithms) || (arguments.size() > 3 && !is_fold)) return std::nullopt;

  const NodeIndex list = *syntax_[arguments[0]].list;
  std::vector<Step> before;
  std::vector<Variable> names;
  const auto declare_as = [&](std::string_view variable, NodeIndex value) {
    const std::string_view kind = variable == "list" ? loop_list : "algorithm";
    const std::string& hidden = hidden_.emplace_back(fmt::format("{} {}", kind, hidden_.size()));
    before.push_back({.value = value, .name = hidden, .type = "auto", .mark = mark});
    names.push_back({.name = variable, .node_name = hidden, .depth = syntax_[value].depth + 1});
  };
  declare_as("list", list);
  declare_as("first", arguments[0]);
  declare_as("last", arguments[1]);
  if (third == Third::value) declare_as("value", arguments[2]);
  if (has_test) {
    Closure& test = closures_.emplace_back();
    test.lambda = arguments.back();
    test.size = 1;
    names.push_back({.name = "test", .node_name = "algorithm test", .closure = &test});
  }
  const NodeIndex made = follow(is_fold ? folds : found->text, std::move(before), names, mark);
  if (found->gives_iterator) syntax_.nodes[made].list = list;
  return made;
}

// The value of statements that are not in the text but see these variables.
NodeIndex Parser::follow(std::string_view text, std::vector<Step> before, const std::vector<Variable>& names,
                         TextRange mark) {
  // The callers hold references to tokens, which stay where they are.
  std::deque<Token> tokens = std::exchange(tokens_, queue_of(text));
  const std::size_t at = std::exchange(at_, 0);
  const auto around_mark = std::exchange(mark_, mark_.value_or(mark));
  const std::size_t around = variables_.size();
  const std::size_t own = std::exchange(own_variables_, around);
  const unsigned lambdas = std::exchange(named_lambdas_, 0);
  Effects* const effects = std::exchange(effects_, nullptr);
  Returns* const returns = std::exchange(returns_, nullptr);
  if (around + names.size() >= most_variables)
    fail(mark, fmt::format("more than {} variables", most_variables));
  variables_.insert(variables_.end(), names.begin(), names.end());
  Block made;
  made.steps = std::move(before);
  const Block inner = block(false);
  made.steps.insert(made.steps.end(), inner.steps.begin(), inner.steps.end());
  made.last = inner.last;
  const NodeIndex body = body_of(made);
  leave_scope(around);
  own_variables_ = own;
  named_lambdas_ = lambdas;
  effects_ = effects;
  returns_ = returns;
  mark_ = around_mark;
  at_ = at;
  tokens_ = std::move(tokens);
  syntax_.shares_nodes = true;
  return body;
}

// x.begin(), std::begin(x), or the end of it; also those in reverse.
std::optional<Parser::Range> Parser::range_at(std::size_t at, bool is_end) const {
  const auto is_side = [&](const Token& name) {
    return is_end ? name.is_name("end") || name.is_name("cend") || name.is_name("rend")
                  : name.is_name("begin") || name.is_name("cbegin") || name.is_name("rbegin");
  };
  Range found;
  const std::size_t name = token(at).is_name("std") && token(at + 1).is("::") ? at + 2 : at;
  if (is_side(token(name)) && token(name + 1).is("(")) {
    found.first = name + 2;
    found.last = end_of_target(name + 2);
    found.end = found.last + 1;
    found.is_reverse = token(name).text.starts_with('r');
    if (found.last == found.first || !token(found.last).is(")")) return std::nullopt;
    return found;
  }
  found.first = at;
  found.last = end_of_target(at);
  found.end = found.last + 4;
  if (found.last == at || !token(found.last).is(".") || !is_side(token(found.last + 1)) ||
      !token(found.last + 2).is("(") || !token(found.last + 3).is(")"))
    return std::nullopt;
  found.is_reverse = token(found.last + 1).text.starts_with('r');
  return found;
}

// x.erase(std::remove_if(x.begin(), x.end(), test), x.end()): x = x[!Map(x, test)]
NodeIndex Parser::erased(const Target& target, NodeIndex removed, TextRange mark) {
  const SyntaxNode call = syntax_[removed];
  const bool is_lambda = syntax_[call.children[2]].kind == NodeKind::lambda;
  if (!is_begin_of(call.children[0]) || !is_end_of(call.children[1]) ||
      is_lambda != (call.text == "remove_if"))
    fail(mark, fmt::format("'{}' takes the begin and the end of the list, and {}", call.text,
                           call.text == "remove" ? "a value" : "a lambda"));
  NodeIndex mask = 0;
  if (is_lambda) {
    SyntaxNode map = make(NodeKind::call, mark, {target.node, call.children[2]});
    map.text = "Map";
    SyntaxNode kept = make(NodeKind::unary, mark, {add(std::move(map))});
    kept.text = "!";
    mask = add(std::move(kept));
  } else {
    SyntaxNode kept = make(NodeKind::binary, mark, {target.node, call.children[2]});
    kept.text = "!=";
    mask = add(std::move(kept));
  }
  const NodeIndex value = add(make(NodeKind::subscript, mark, {target.node, mask}));
  return assigned(target, mark, {target.node, value}, {});
}

}  // namespace colonnade::frame
