// Iterators, which are places in a list that the text names, and the algorithms of the standard library over
// them. An algorithm becomes the statements that C++ defines it by. See parser.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frame/expression/function_table.h"
#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

enum class Third : std::uint8_t { none, value, test, other };

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
    {"is_sorted", Third::none, false,
     "for (auto i = first + 1; i < last; ++i) if (list[i] < list[i - 1]) return false; return true;"},
    {"equal", Third::other, false,
     "for (; first != last; ++first, ++second) if (!(list[first] == other[second])) return false; return "
     "true;"},
    {"inner_product", Third::other, false,
     "auto sum = value; for (; first != last; ++first, ++second) sum = sum + list[first] * other[second]; "
     "return sum;"},
    {"lower_bound", Third::value, true,
     "for (; first != last; ++first) if (!(list[first] < value)) break; return first;"},
    {"upper_bound", Third::value, true,
     "for (; first != last; ++first) if (value < list[first]) break; return first;"}};

// Those that write into a list, as a statement: what makes the items. Behind "put", an item is appended to
// the list or assigned to the next place.
constexpr Algorithm writing[] = {
    {"copy", Third::none, false, "for (; first != last; ++first) put(list[first]);"},
    {"copy_if", Third::test, false,
     "for (; first != last; ++first) if (test(list[first])) put(list[first]);"},
    {"transform", Third::test, false, "for (; first != last; ++first) put(test(list[first]));"},
    {"transform", Third::other, false,
     "for (; first != last; ++first, ++second) put(test(list[first], other[second]));"},
    {"partial_sum", Third::none, false,
     "if (first != last) { auto sum = list[first]; put(sum); for (++first; first != last; ++first) { sum = "
     "sum + list[first]; put(sum); } }"},
    {"adjacent_difference", Third::none, false,
     "if (first != last) { put(list[first]); for (++first; first != last; ++first) put(list[first] - "
     "list[first - 1]); }"},
    {"unique_copy", Third::none, false,
     "for (auto i = first; i != last; ++i) if (i == first || !(list[i] == list[i - 1])) put(list[i]);"},
    {"reverse_copy", Third::none, false, "while (last != first) { --last; put(list[last]); }"}};

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
  const bool is_known = name == "distance" || name == "remove" || name == "remove_if" || name == "unique" ||
                        std::ranges::find(algorithms, name, &Algorithm::name) != std::end(algorithms);
  if (!is_known) return std::nullopt;
  if (!is_same(*syntax_[arguments[0]].list, *syntax_[arguments[1]].list))
    fail(mark, fmt::format("'{}' takes the begin and the end of one list", callee));
  if (name == "distance" && arguments.size() == 2) return moved("-", arguments[1], arguments[0]);
  const bool removes = (name == "remove_if" || name == "remove") && arguments.size() == 3;
  if (removes || (name == "unique" && arguments.size() == 2)) {  // for erase
    SyntaxNode node = make(NodeKind::call, mark, arguments);
    node.text = name;
    node.list = syntax_[arguments[0]].list;
    return add(std::move(node));
  }
  const bool has_third = arguments.size() >= 3;
  const bool has_test = has_third && syntax_[arguments.back()].kind == NodeKind::lambda;
  const bool has_other = has_third && is_iterator(arguments[2]);
  const Third third = has_other                           ? Third::other
                      : has_test && arguments.size() == 3 ? Third::test
                      : has_third                         ? Third::value
                                                          : Third::none;
  const auto* const found = std::ranges::find_if(
      algorithms, [&](const Algorithm& each) { return each.name == name && each.third == third; });
  const bool is_fold = name == "accumulate" && arguments.size() == 4 && has_test;
  const std::size_t most = name == "inner_product" ? 4 : 3;
  if (found == std::end(algorithms) || (arguments.size() > most && !is_fold)) return std::nullopt;
  if (has_other && (has_test || (name == "inner_product" && arguments.size() != 4))) return std::nullopt;

  const NodeIndex list = *syntax_[arguments[0]].list;
  Followed inside;
  name_in(inside, "list", list, mark);
  name_in(inside, "first", arguments[0], mark);
  name_in(inside, "last", arguments[1], mark);
  if (third == Third::value) name_in(inside, "value", arguments[2], mark);
  if (has_other) {
    name_in(inside, "other", *syntax_[arguments[2]].list, mark);
    name_in(inside, "second", arguments[2], mark);
    if (arguments.size() > 3) name_in(inside, "value", arguments[3], mark);
  }
  if (has_test) name_test(inside, arguments.back());
  const NodeIndex made = follow(is_fold ? folds : found->text, std::move(inside), mark);
  if (found->gives_iterator) syntax_.nodes[made].list = list;
  return made;
}

void Parser::name_in(Followed& into, std::string_view name, NodeIndex value, TextRange mark) {
  const std::string_view kind = name == "list" || name == "other" ? loop_list : "algorithm";
  const std::string& hidden = hidden_.emplace_back(fmt::format("{} {}", kind, hidden_.size()));
  into.before.push_back({.value = value, .name = hidden, .type = "auto", .mark = mark});
  into.names.push_back({.name = name, .node_name = hidden, .depth = syntax_[value].depth + 1});
}

void Parser::name_test(Followed& into, NodeIndex lambda) {
  Closure& test = closures_.emplace_back();
  test.lambda = lambda;
  test.size = 1;
  into.names.push_back({.name = "test", .node_name = "algorithm test", .closure = &test});
}

// The value of statements that are not in the text but see these variables.
NodeIndex Parser::follow(std::string_view text, Followed inside, TextRange mark) {
  // The callers hold references to tokens, which stay where they are.
  std::deque<Token> tokens = std::exchange(tokens_, queue_of(text));
  const std::size_t at = std::exchange(at_, 0);
  const auto around_mark = std::exchange(mark_, mark_.value_or(mark));
  const std::size_t around = variables_.size();
  const std::size_t own = std::exchange(own_variables_, around);
  const unsigned lambdas = std::exchange(named_lambdas_, 0);
  Effects* const effects = std::exchange(effects_, nullptr);
  Returns* const returns = std::exchange(returns_, nullptr);
  if (around + inside.names.size() >= most_variables)
    fail(mark, fmt::format("more than {} variables", most_variables));
  variables_.insert(variables_.end(), inside.names.begin(), inside.names.end());
  Block made;
  made.steps = std::move(inside.before);
  const Block body = block(false);
  made.steps.insert(made.steps.end(), body.steps.begin(), body.steps.end());
  made.last = body.last;
  const NodeIndex value = body_of(made);
  leave_scope(around);
  own_variables_ = own;
  named_lambdas_ = lambdas;
  effects_ = effects;
  returns_ = returns;
  mark_ = around_mark;
  at_ = at;
  tokens_ = std::move(tokens);
  syntax_.shares_nodes = true;
  return value;
}

// std::transform(v.begin(), v.end(), std::back_inserter(w), f); and similar ones
bool Parser::writes() const {
  return std::ranges::any_of(
      writing, [this](const Algorithm& each) { return arguments_of_standard(each.name).has_value(); });
}

// The number of arguments up to the bracket that closes the call.
std::size_t Parser::arguments_ahead() const {
  std::size_t found = 1;
  int open = 0;
  for (std::size_t i = at_; token(i).kind != Token::Kind::end; ++i) {
    const Token& each = token(i);
    if (each.is("(") || each.is("[") || each.is("{")) ++open;
    if ((each.is(")") || each.is("]") || each.is("}")) && --open < 0) break;
    if (each.is(",") && open == 0) ++found;
  }
  return found;
}

// w = what it is with the items that are written into it
void Parser::write_items(Block& block) {
  if (here().is_name("std")) at_ += 2;
  const Token name = take();
  const Token open = take();
  const bool has_test = name.text == "copy_if" || name.text == "transform";
  const bool has_other = name.text == "transform" && arguments_ahead() == 5;
  Followed inside;
  std::vector<NodeIndex> from;
  for (std::size_t i = 0; i < (has_other ? 3U : 2U); ++i) {
    from.push_back(expression());
    if (!accept(",")) fail_here("','");
  }
  if (!std::ranges::all_of(from, [this](NodeIndex each) { return is_iterator(each); }) ||
      !is_same(*syntax_[from[0]].list, *syntax_[from[1]].list))
    fail(name.range, fmt::format("'{}' takes the begin and the end of one list", name.text));
  name_in(inside, "list", *syntax_[from[0]].list, name.range);
  name_in(inside, "first", from[0], name.range);
  name_in(inside, "last", from[1], name.range);
  if (has_other) {
    name_in(inside, "other", *syntax_[from[2]].list, name.range);
    name_in(inside, "second", from[2], name.range);
  }

  std::string_view put = "made[place++] = (";
  Target into;
  if (const auto appended = arguments_of_standard("back_inserter")) {
    put = "made.push_back(";
    const Token& bracket = token(*appended - 1);
    at_ = *appended;
    into = target(true);
    expect(")", bracket);
  } else if (const auto inserted = arguments_of_standard("inserter")) {
    put = "made.insert(";
    const Token& bracket = token(*inserted - 1);
    at_ = *inserted;
    into = target(true);
    if (accept(",")) static_cast<void>(expression());
    expect(")", bracket);
  } else {
    const auto range = range_at(at_, false);
    if (!range || range->is_reverse)
      fail(here().range,
           fmt::format("'{}' writes into std::back_inserter(list) or from list.begin() on here", name.text));
    at_ = range->first;
    into = target(true);
    at_ = range->end;
    NodeIndex place = iterator(into.node, false, name.range);
    if (accept("+")) place = expression();
    syntax_.nodes[place].list = std::nullopt;
    name_in(inside, "place", place, name.range);
  }
  name_in(inside, "out", into.node, name.range);
  inside.names.back().is_map = variables_[into.variable].is_map;
  if (has_test) {
    if (!accept(",")) fail_here("','");
    const NodeIndex test = expression();
    if (syntax_[test].kind != NodeKind::lambda)
      fail(syntax_[test].whole, fmt::format("a lambda should be the last argument of '{}'", name.text));
    name_test(inside, test);
  }
  expect(")", open);
  if (!accept(";")) fail_here("an operator or ';'");
  const Third third = has_other ? Third::other : has_test ? Third::test : Third::none;
  const auto* const found = std::ranges::find_if(
      writing, [&](const Algorithm& each) { return each.name == name.text && each.third == third; });
  const NodeIndex value = follow_writing(found->text, put, "auto made = out;", std::move(inside), name.range);
  add_step(block, assigned(into, name.range, {into.node, value}, {}));
}

NodeIndex Parser::follow_writing(std::string_view algorithm, std::string_view put, std::string_view begin,
                                 Followed inside, TextRange mark) {
  std::string text = fmt::format("{} {} return made;", begin, algorithm);
  for (std::size_t at = text.find("put("); at != std::string::npos; at = text.find("put(", at + put.size()))
    text.replace(at, 4, put);
  return follow(hidden_.emplace_back(std::move(text)), std::move(inside), mark);
}

// The items that differ from those before them.
NodeIndex Parser::unique(NodeIndex list, TextRange mark) {
  Followed inside;
  name_in(inside, "list", list, mark);
  name_in(inside, "first", iterator(list, false, mark), mark);
  name_in(inside, "last", iterator(list, true, mark), mark);
  const auto* const found = std::ranges::find(writing, "unique_copy", &Algorithm::name);
  return follow_writing(found->text, "made.push_back(", "auto made = list; made.clear();", std::move(inside),
                        mark);
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
  if (call.text == "unique" && is_begin_of(call.children[0]) && is_end_of(call.children[1]))
    return assigned(target, mark, {target.node, unique(target.node, mark)}, {});
  const bool is_lambda = call.children.size() > 2 && syntax_[call.children[2]].kind == NodeKind::lambda;
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
