// Calls that change variables: of lambdas that change what they capture, and of lambdas and functions that
// change what their parameters refer to. Such a call is a statement of its own, before the one that it stands
// in; its result is a variable. A parameter that is a reference begins with the value of the argument, which
// gets the last value of the parameter in the end: nothing can tell that from a reference, since the call may
// not reach the same variable in another way. See parser.h.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "frame/expression/function.h"
#include "frame/expression/parser.h"

namespace colonnade::frame {

// The lambda or function of this name, also as it is called from within its namespace.
const Parser::Closure* Parser::find_closure(std::string_view name) const {
  if (const auto found = find_variable(name)) return variables_[*found].closure;
  for (const std::string_view around : namespaces())
    if (const auto found = find_variable(fmt::format("{}{}", around, name)))
      return variables_[*found].closure;
  return nullptr;
}

// add(x); at this position.
bool Parser::invokes() const {
  if (changing_method() != nullptr) return true;
  const auto end = qualified_name_at(at_);
  if (!end || !token(*end).is("(") || here().is_quoted) return false;
  const Closure* const found = find_closure(spelled(at_, *end));
  return found != nullptr;
}

bool Parser::is_statement(const Token& name) const {
  return call_statement_ && &name == &token(*call_statement_);
}

void Parser::invocation_statement() {
  call_statement_ = changing_method() != nullptr ? end_of_target(at_) + 1 : at_;
  static_cast<void>(postfix());
  if (!accept(";")) fail_here("';'");
}

// The next token begins the arguments.
NodeIndex Parser::invocation(const Closure& closure, const Token& name, std::optional<Given> object) {
  const TextRange mark = name.range;
  const std::string_view text = name.text;
  if (effects_ == nullptr || effects_->conditions > 0)
    fail(mark, fmt::format("'{}' changes variables; call it in a statement of its own", text));
  const std::size_t first_read = reads_.size();
  const std::uint32_t depth = use(closure, text, mark);
  const Token& open = take();
  std::vector<Given> given;
  if (object) given.push_back(*object);
  const std::size_t before = given.size();
  std::vector<std::size_t> referred;  // variables that references to what does not change read
  while (!here().is(")")) {
    if (given.size() > before && !accept(",")) fail_here("',' or ')'");
    if (given.size() == closure.parameters.size())
      fail(mark, fmt::format("'{}' takes {} argument{}", text, given.size() - before,
                             given.size() - before == 1 ? "" : "s"));
    given.push_back(argument(closure.parameters[given.size()], text, referred));
  }
  expect(")", open);
  for (std::size_t i = given.size(); i < closure.parameters.size(); ++i) {
    if (!closure.parameters[i].preset)
      fail(mark, fmt::format("'{}' takes {} argument{}, got {}", text, closure.parameters.size() - before,
                             closure.parameters.size() - before == 1 ? "" : "s", given.size() - before));
    given.push_back({*closure.parameters[i].preset, std::nullopt});
  }
  require_own(closure, given, referred, text, mark);
  reads_.resize(first_read);  // before the call
  if (closure.returns_nothing && !(is_statement(name) && here().is(";")))
    fail(mark, fmt::format("'{}' returns nothing", text));
  return invoked(closure, given, mark, depth);
}

// What a parameter may change is a variable, or an item or member of one.
Parser::Given Parser::argument(const Parameter& parameter, std::string_view name,
                               std::vector<std::size_t>& referred) {
  const std::size_t first_read = reads_.size();
  if (!parameter.changes) {
    const Given given{expression(), std::nullopt};
    if (parameter.is_reference)
      referred.insert(referred.end(), reads_.begin() + static_cast<std::ptrdiff_t>(first_read), reads_.end());
    return given;
  }
  const std::size_t end = end_of_target(at_);
  if (end == at_ || (!token(end).is(",") && !token(end).is(")")))
    fail(here().range,
         fmt::format("'{}' changes this argument; a variable or an item of one should be here", name));
  const Target target = this->target(true);
  return {target.node, target.variable};
}

// Nothing that the call changes may be reached in two ways.
void Parser::require_own(const Closure& closure, const std::vector<Given>& given,
                         const std::vector<std::size_t>& referred, std::string_view name,
                         TextRange mark) const {
  std::vector<std::size_t> others = referred;
  others.insert(others.end(), closure.variables.begin(), closure.variables.end());
  for (const Given& each : given) {
    if (!each.variable) continue;
    if (std::ranges::find(others, *each.variable) != others.end())
      fail(mark, fmt::format("'{}' changes '{}', which it also has in another way", name,
                             variables_[*each.variable].name));
    others.push_back(*each.variable);
  }
  for (const std::size_t changed : closure.changes) {
    if (std::ranges::find(referred, changed) != referred.end())
      fail(mark, fmt::format("'{}' changes '{}', which it also has in another way", name,
                             variables_[changed].name));
    require_changeable(changed, mark);
  }
}

// The call becomes a statement; what stands for its result here is a variable.
NodeIndex Parser::invoked(const Closure& closure, const std::vector<Given>& given, TextRange mark,
                          std::uint32_t depth) {
  std::vector<NodeIndex> children = {closure.lambda};
  for (const Given& each : given) children.push_back(each.value);
  SyntaxNode call = make(NodeKind::application, mark, std::move(children));
  call.depth = std::max(call.depth, syntax_[closure.lambda].depth + depth);
  call.whole = from(mark);
  SyntaxNode node = make(NodeKind::invocation, mark, {add(std::move(call))});
  node.text = hidden_.emplace_back(fmt::format("call {}", hidden_.size()));
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].variable) continue;
    node.children.push_back(given[i].value);
    node.parameters.push_back(closure.parameters[i].node_name);
  }
  const std::string& result = hidden_.back();
  const std::uint32_t made_depth = node.depth;
  effects_->before.push_back(step_of(add(std::move(node))));
  for (const Given& each : given)
    if (each.variable) note_change(*each.variable, made_depth, mark);
  for (const std::size_t changed : closure.changes) note_change(changed, made_depth, mark);
  add_variable({.name = result, .depth = made_depth + 1}, mark);
  return named(variables_.size() - 1, mark);
}

void Parser::note_change(std::size_t number, std::uint32_t depth, TextRange mark) {
  changed_.push_back(number);
  leave_stale(number, mark);
  effects_->changes.push_back({number, mark});
  std::uint32_t& known = variables_[number].depth;
  known = std::max(known + nesting_, depth) + 1;
}

// The order of reading and changing would count.
void Parser::require_no_reads(const Effects& effects, std::size_t first_read) const {
  const auto reads = std::span(reads_).subspan(std::min(first_read, reads_.size()));
  for (const auto& [variable, mark] : effects.changes)
    if (std::ranges::find(reads, variable) != reads.end())
      fail(mark, fmt::format("this call changes '{}', which the rest of the statement names; write two "
                             "statements",
                             variables_[variable].name));
}

// The value of an index now; what it depends on may change.
NodeIndex Parser::frozen(NodeIndex index) {
  if (syntax_[index].kind == NodeKind::literal && !is_iterator(index)) return index;
  if (effects_ == nullptr || effects_->conditions > 0)
    fail(syntax_[index].whole, "this changes variables; write a statement of its own");
  const TextRange mark = syntax_[index].whole;
  const std::string& name = hidden_.emplace_back(fmt::format("index {}", hidden_.size()));
  declare({.name = name}, {.value = index, .name = name, .type = "auto", .mark = mark}, effects_->before);
  return named(name, mark);
}

// If a call of this function of the standard library begins here, with or without "std::": where its
// arguments do.
std::optional<std::size_t> Parser::arguments_of_standard(std::string_view function) const {
  const std::size_t name = here().is_name("std") && token(at_ + 1).is("::") ? at_ + 2 : at_;
  if (!token(name).is_name(function) || !token(name + 1).is("(")) return std::nullopt;
  return name + 2;
}

// std::for_each(v.begin(), v.end(), f);
bool Parser::is_for_each() const {
  return arguments_of_standard("for_each").has_value();
}

// for (auto& item : v) f(item);
void Parser::for_each(Block& block) {
  if (here().is_name("std")) at_ += 2;
  const TextRange mark = take().range;
  const Token open = take();
  const std::size_t begin = at_;
  const NodeIndex first = expression();
  const std::size_t end = at_;
  if (!accept(",")) fail_here("','");
  const NodeIndex last = expression();
  if (!accept(",")) fail_here("','");
  if (!is_begin_of(first) || !is_end_of(last) || !is_same(*syntax_[first].list, *syntax_[last].list))
    fail(mark, "'for_each' takes the begin and the end of one list, and a lambda");
  const auto range = range_at(begin, false);
  const std::size_t around = variables_.size();
  const Closure* called = nullptr;
  std::string_view name = "for_each";
  if (here().is("[")) {
    called = &closure_here();
  } else if (here().kind == Token::Kind::name) {
    name = here().text;
    called = find_closure(take().text);
  }
  if (called == nullptr || called->parameters.size() != 1)
    fail(mark, "'for_each' takes a lambda of one parameter, or the name of one");
  expect(")", open);
  if (!accept(";")) fail_here("';'");

  Item item{.variable = {.name = "each item"}, .type = "auto", .mark = mark};
  std::optional<std::size_t> changes;
  if (called->parameters[0].changes) {
    if (range && range->end == end)
      changes = let_change(item.variable, *syntax_[first].list, range->first, range->last);
    if (!changes) fail(mark, fmt::format("'{}' changes the items of what cannot change", name));
  } else {
    fix_variables(begin, end, "a loop goes through it");
  }
  Block whole;
  ++loops_;
  go_through(whole, {.mark = mark}, std::move(item), *syntax_[first].list, changes, [&](Block& body) {
    with_effects(body, [&](Block&) {
      const std::size_t first_read = reads_.size();
      const std::uint32_t depth = use(*called, name, mark);
      std::vector<std::size_t> referred;
      const std::size_t number = *find_variable("each item");
      Given given{named(number, mark), std::nullopt};
      if (changes)
        given = {variables_[number].refers_to ? copy_of(*variables_[number].refers_to, *changes, mark)
                                              : item_of(number, mark),
                 changes};
      require_own(*called, {given}, referred, name, mark);
      reads_.resize(first_read);
      static_cast<void>(invoked(*called, {given}, mark, depth));
    });
  });
  --loops_;
  leave_scope(around);
  add_step(block, body_of(whole));
}

// std::swap(a, b); a.swap(b);
bool Parser::exchanges() const {
  const std::size_t end = end_of_target(at_);
  if (end != at_ && token(end).is(".") && token(end + 1).is_name("swap") && token(end + 2).is("("))
    return end_of_target(end + 3) != end + 3;
  const auto arguments = arguments_of_standard("swap");
  return arguments && end_of_target(*arguments) != *arguments;
}

void Parser::exchange(Block& block) {
  const bool is_function = arguments_of_standard("swap").has_value();
  if (is_function && here().is_name("std")) at_ += 2;
  std::optional<Target> object;
  if (!is_function) {
    object = target(true);
    take();
  }
  const TextRange mark = take().range;
  const Token open = take();
  const Target first = object ? *object : target(true);
  if (is_function && !accept(",")) fail_here("','");
  const Target second = target(true);
  expect(")", open);
  if (!accept(";")) fail_here("';'");
  const std::string& kept = hidden_.emplace_back(fmt::format("swap {}", hidden_.size()));
  declare({.name = kept}, {.value = first.node, .name = kept, .type = "auto", .mark = mark}, block.steps);
  add_step(block, assigned(first, mark, {first.node, second.node}, {}));
  add_step(block, assigned(second, mark, {second.node, named(kept, mark)}, {}));
  syntax_.shares_nodes = true;
}

// std::tie(a, std::ignore) = pair;
bool Parser::ties() const {
  return arguments_of_standard("tie").has_value();
}

void Parser::tie(Block& block) {
  if (here().is_name("std")) at_ += 2;
  const TextRange mark = take().range;
  const Token open = take();
  std::vector<std::optional<Target>> targets;
  do {
    const std::size_t ignore = here().is_name("std") ? at_ + 2 : at_;
    const bool is_ignored = token(ignore).is_name("ignore");
    if (is_ignored) at_ = ignore + 1;
    targets.push_back(is_ignored ? std::nullopt : std::optional(target(true)));
  } while (accept(","));
  expect(")", open);
  if (!accept("=")) fail_here("'='");
  const NodeIndex value = expression();
  if (!accept(";")) fail_here("an operator or ';'");
  const std::string& object = hidden_.emplace_back(fmt::format("tied {}", hidden_.size()));
  declare({.name = object}, {.value = value, .name = object, .type = "auto", .mark = mark}, block.steps);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i]) continue;
    const NodeIndex member = member_of(named(object, mark), fmt::format("_{}", i), mark);
    add_step(block, assigned(*targets[i], mark, {targets[i]->node, member}, {}));
  }
}

// throw std::runtime_error("text");
NodeIndex Parser::exception() {
  const TextRange word = take().range;
  const auto end = qualified_name_at(at_);
  const bool is_class =
      end && token(*end - 1).text != "string" && (token(*end).is("(") || token(*end).is("{"));
  if (is_class) at_ = *end;
  NodeIndex message = 0;
  if (is_class) {
    const Token open = take();
    const std::vector<NodeIndex> arguments = items(open.is("(") ? ")" : "}", open);
    if (arguments.size() > 1) fail(word, "what is thrown is made of one text");
    if (arguments.empty()) {
      SyntaxNode text = make(NodeKind::literal, word);
      text.value = make_constant_string(1, "an exception");
      message = add(std::move(text));
    } else {
      message = arguments.front();
    }
  } else {
    message = expression();
  }
  if (!accept(";")) fail_here("';'");
  SyntaxNode node = make(NodeKind::exception, word, {message});
  return add(std::move(node));
}

}  // namespace colonnade::frame
