// Classes of texts with functions: data members, constructors and methods; see parser.h. A class is a record,
// and its name is replaced by one that spells out its members. Constructors and methods are functions, and
// the first parameter of a method is the object, whose members are other names of its parts.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frame/expression/function.h"
#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t most_classes = 100;
constexpr std::size_t most_functions = 200;  // of a class
// A class within another one is spelled out there.
constexpr std::size_t longest_class = 4096;

bool is_access(const Token& token) {
  return token.is_name("public") || token.is_name("private") || token.is_name("protected");
}

bool is_identifier(const Token& token) {
  return token.kind == Token::Kind::name && !token.is_quoted &&
         token.text.find_first_of(" #{") == std::string_view::npos;
}

// "X" of a type "std::vector<X>".
std::string_view item_type(std::string_view type) {
  const std::size_t open = type.find('<');
  for (const std::string_view list : {"std::vector", "ROOT::RVec", "ROOT::VecOps::RVec", "RVec", "vector"})
    if (type.substr(0, open) == list && type.ends_with(">"))
      return type.substr(open + 1, type.size() - open - 2);
  return {};
}

}  // namespace

std::string_view name_of_operator(std::string_view symbol) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"()", "operator_call"},  {"[]", "operator_item"},   {"+", "operator_plus"},
      {"-", "operator_minus"},  {"*", "operator_times"},   {"/", "operator_divided"},
      {"%", "operator_modulo"}, {"==", "operator_equal"},  {"!=", "operator_not_equal"},
      {"<", "operator_less"},   {">", "operator_greater"}, {"<=", "operator_less_equal"},
      {"&", "operator_and"},    {"|", "operator_or"},      {">=", "operator_greater_equal"}};
  for (const auto& [known, name] : names)
    if (known == symbol) return name;
  return {};
}

// struct P { float pt = 0; P(float x) : pt(x) {} float twice() const { return 2 * pt; } };
void Parser::class_definition(FunctionsSyntax& into) {
  take();
  Token name = take();
  // In another namespace a class of this name may be known already.
  const std::string whole = namespace_ + std::string(written(at_ - 1));
  const bool is_known = std::ranges::find(classes_, whole, &Class::name) != classes_.end();
  if (name.text.starts_with("struct ") && !is_known) name.text = written(at_ - 1);
  if (!is_identifier(name)) fail(name.range, "a new name for the class should be here");
  if (accept(";")) return;  // it is defined below
  if (here().is_name("final")) take();
  if (here().is(":"))
    fail(here().range, "classes have no base classes here; write its members into the class");
  const Token open = here();
  if (!accept("{")) fail_here("'{'");
  if (classes_.size() == most_classes) fail(name.range, fmt::format("more than {} classes", most_classes));
  Class& made = classes_.emplace_back();
  made.name = whole;
  const std::size_t begin = at_;
  const std::vector<std::size_t> functions = class_members(made, name, open);
  if (!accept(";")) fail_here("';' behind the class");
  const std::size_t behind = at_;

  if (made.members.empty()) made.members.push_back({"_", "bool", std::nullopt});
  std::string members;
  for (const Class::Member& each : made.members) members += fmt::format("{} {};", each.type, each.name);
  made.spelled = fmt::format("struct {}{{{}}}", made.name, members);
  if (made.spelled.size() > longest_class || !type_of_name(made.spelled))
    fail(name.range, "the class has too many members, with those of its members");
  Token spelled = name;
  spelled.text = made.spelled;
  at_ = begin;
  replace_names(name.text, {spelled}, false);
  replace_qualified(name.text, {spelled});
  syntax_.shares_nodes = true;

  const Class* const around = std::exchange(class_, &made);
  const auto is_constructor = [&](std::size_t at) {
    while (is_specifier(token(at))) ++at;
    return token(at).is_name(made.spelled) && token(at + 1).is("(");
  };
  if (std::ranges::none_of(functions, is_constructor)) aggregate(made, name.range, into);
  // Each behind those that it calls: functions know those before them.
  const auto name_at = [&](std::size_t at) {
    while (!token(at + 1).is("(") && token(at).kind != Token::Kind::end) ++at;
    return token(at).text;
  };
  std::vector<std::size_t> order, pending;
  const auto add_with_called = [&](std::size_t first) {
    pending.push_back(first);
    while (!pending.empty()) {
      const std::size_t at = pending.back();
      const auto next = std::ranges::upper_bound(functions, at);
      const std::size_t end = next == functions.end() ? behind : *next;
      const auto is_new = [&](std::size_t other) {
        return std::ranges::find(order, other) == order.end() &&
               std::ranges::find(pending, other) == pending.end();
      };
      std::optional<std::size_t> called;
      for (std::size_t i = at; i < end && !called; ++i)
        for (const std::size_t other : functions)
          if (token(i + 1).is("(") && token(i).kind == Token::Kind::name && !is_constructor(other) &&
              is_new(other) && name_at(other) == token(i).text)
            called = other;
      if (called) {
        pending.push_back(*called);
        continue;
      }
      pending.pop_back();
      if (std::ranges::find(order, at) == order.end()) order.push_back(at);
    }
  };
  for (const bool constructs : {true, false})
    for (const std::size_t at : functions)
      if (is_constructor(at) == constructs && std::ranges::find(order, at) == order.end())
        add_with_called(at);
  for (const std::size_t at : order) {
    at_ = at;
    if (is_constructor(at))
      constructor(made, into);
    else
      method(made, into);
  }
  class_ = around;
  at_ = behind;
}

// Data members; where functions begin is returned.
std::vector<std::size_t> Parser::class_members(Class& made, const Token& name, const Token& open) {
  std::vector<std::size_t> functions;
  while (!accept("}")) {
    if (here().kind == Token::Kind::end) fail(open.range, "'{' without its '}'");
    if (accept(";")) continue;
    if (is_access(here())) {
      take();
      if (!accept(":")) fail_here("':'");
      continue;
    }
    if (here().is_name("using") || here().is_name("typedef")) {
      alias(true);
      continue;
    }
    if (here().is_name("virtual") && token(at_ + 1).is("~")) take();
    for (const std::string_view word : {"template", "friend", "virtual", "struct", "class", "union", "enum"})
      if (here().is_name(word)) fail(here().range, fmt::format("'{}' is not supported within a class", word));
    std::size_t at = at_;
    while (is_specifier(token(at))) ++at;
    const bool is_special = token(at).is("~") || (token(at).is_name(name.text) && token(at + 1).is("("));
    const auto type = is_special ? std::nullopt : type_at(at);
    if (!is_special && !type) fail_here("a member");
    if (is_special || token(type->end).is_name("operator") || token(type->end + 1).is("(")) {
      if (functions.size() == most_functions)
        fail(here().range, fmt::format("more than {} functions of a class", most_functions));
      if (!token(at).is("~")) functions.push_back(at_);
      if (!is_special && !token(type->end).is_name("operator"))
        made.methods.emplace_back(token(type->end).text);
      skip_function(open);
      continue;
    }
    at_ = at;
    data_members(made, *type);
  }
  return functions;
}

// float a = 1, b[2];
void Parser::data_members(Class& made, const Type& type) {
  at_ = type.end;
  do {
    if (!is_identifier(here())) fail_here("the name of a member");
    const Token name = take();
    if (std::ranges::find(made.members, name.text, &Class::Member::name) != made.members.end())
      fail(name.range, fmt::format("there is already a member '{}'", name.text));
    Step step{.name = std::string(name.text), .type = type.name, .mark = name.range};
    if (here().is("[")) step.type = array_type(type.name);
    Class::Member member{step.name, step.type, std::nullopt};
    if (!type_of_name(member.type))
      fail(name.range, fmt::format("unknown type '{}' of the member '{}'", member.type, member.name));
    if (accept("=")) {
      step.value = expression();
    } else if (here().is("{")) {
      initializer(step);
    }
    member.preset = step.value;
    made.members.push_back(std::move(member));
  } while (accept(","));
  if (!accept(";")) fail_here("',' or ';'");
}

// From its name on, up to behind its body.
void Parser::skip_function(const Token& open) {
  int brackets = 0;
  for (;;) {
    const Token& each = take();
    if (each.kind == Token::Kind::end) fail(open.range, "'{' without its '}'");
    if (each.is("(")) ++brackets;
    if (each.is(")")) --brackets;
    if (brackets > 0) continue;
    if (each.is(";")) return;
    // Braces behind the name of a member, rather than behind ')' or '}', initialise it.
    if (each.is("{")) {
      const bool is_value = at_ >= 2 && token(at_ - 2).kind == Token::Kind::name &&
                            (token(at_ - 3).is(":") || token(at_ - 3).is(","));
      skip_body(each);
      if (!is_value) return;
    }
  }
}

// What a member is unless something else is given.
NodeIndex Parser::preset_of(const Class::Member& member, TextRange mark) {
  if (member.preset && syntax_[*member.preset].kind != NodeKind::list) return *member.preset;
  SyntaxNode node =
      make(NodeKind::call, mark, member.preset ? syntax_[*member.preset].children : std::vector<NodeIndex>());
  node.text = member.type;
  node.braces = true;
  return add(std::move(node));
}

// The object of its members.
NodeIndex Parser::object_of(const Class& made, const std::vector<NodeIndex>& members, TextRange mark) {
  SyntaxNode node = make(NodeKind::call, mark, members);
  node.text = object_of_members;
  node.type = made.spelled;
  return add(std::move(node));
}

// P{1, 2}: a function of the members.
void Parser::aggregate(const Class& made, TextRange mark, FunctionsSyntax& into) {
  FunctionSyntax function{.name = made.name, .result = made.spelled, .mark = mark};
  function.constants = into.constants.size();
  const std::size_t around = variables_.size();
  std::vector<NodeIndex> members;
  for (const Class::Member& each : made.members) {
    const NodeIndex preset = preset_of(each, mark);
    if (each.name == "_") {
      members.push_back(preset);
      continue;
    }
    function.parameters.push_back({std::string(add_variable({.name = each.name}, mark)), each.type, preset});
    members.push_back(named(variables_.size() - 1, mark));
  }
  leave_scope(around);
  function.body = object_of(made, members, mark);
  into.functions.push_back(std::move(function));
}

// The object of a method or constructor and its members, for what follows.
void Parser::name_members(const Class& made, std::size_t object, TextRange mark) {
  for (const Class::Member& each : made.members) {
    // Loops over one member leave the others as they are.
    Variable member{.name = each.name, .list = object, .place = "this"};
    member.refers_to = member_of(named(object, mark), each.name, mark);
    member.depth = syntax_[*member.refers_to].depth;
    member.of = with_class(each.type);
    add_variable(member, mark);
  }
}

// P(float a) : x(a), y{1} { z = 2; }
void Parser::constructor(const Class& made, FunctionsSyntax& into) {
  while (is_specifier(here())) take();
  const TextRange mark = take().range;
  FunctionSyntax function{.name = made.name, .result = made.spelled, .mark = mark};
  function.constants = into.constants.size();
  const std::size_t around = variables_.size();
  Block whole;
  std::vector<NodeIndex> members;
  for (const Class::Member& each : made.members) members.push_back(preset_of(each, mark));
  declare({.name = "this"},
          {.value = object_of(made, members, mark), .name = "this", .type = made.spelled, .mark = mark},
          whole.steps);
  const std::size_t object = variables_.size() - 1;
  name_members(made, object, mark);
  const Token open = take();
  if (!accept(")")) {
    do {
      Parameter known;
      function.parameters.push_back(parameter(false, known));
      if (accept("=")) function.parameters.back().preset = expression();
    } while (accept(","));
    expect(")", open);
  }
  if (here().is_name("noexcept")) take();
  if (accept("=")) {
    if (take().is_name("delete")) return leave_scope(around);
  } else if (here().is(";")) {  // it is defined below
    return leave_scope(around);
  } else {
    if (accept(":")) {
      do {
        const Token name = take();
        const auto member = std::ranges::find(made.members, name.text, &Class::Member::name);
        if (member == made.members.end())
          fail(name.range, fmt::format("'{}' has no member '{}'", made.name, name.text));
        if (!here().is("(") && !here().is("{")) fail_here("'(' or '{'");
        Step step{.name = member->name, .type = member->type, .mark = name.range};
        if (token(at_ + 1).is("}") || token(at_ + 1).is(")")) {
          at_ += 2;
          step.value = preset_of({member->name, member->type, std::nullopt}, name.range);
        } else {
          initializer(step);
        }
        const NodeIndex part = member_of(named(object, name.range), member->name, name.range);
        whole.steps.push_back(step_of(assigned({part, object}, name.range, {part, *step.value}, {})));
      } while (accept(","));
    }
    const Token brace = here();
    if (!accept("{")) fail_here("'{'");
    Returns returns;
    Returns* const returns_around = std::exchange(returns_, &returns);
    const Block inner = block(true);
    returns_ = returns_around;
    expect("}", brace);
    if (!inner.leads_on()) fail(mark, "a constructor ends without 'return'");
    add_step(whole, body_of(inner));
  }
  whole.last = named(object, mark);
  function.body = body_of(whole);
  leave_scope(around);
  into.functions.push_back(std::move(function));
}

// float twice() const { return 2 * pt; }, bool operator()(float x) { ... }
void Parser::method(const Class& made, FunctionsSyntax& into) {
  bool is_static = false;
  for (; is_specifier(here()); take()) is_static = is_static || here().is_name("static");
  const auto type = type_at(at_);
  if (!type) fail_here("the type of a method");
  for (std::size_t i = at_; i < type->end; ++i) is_static = is_static || token(i).is_name("static");
  at_ = type->end;
  while (token(at_ + 1).is("::")) at_ += 2;  // of a method that is defined outside of its class: "P::P::f"
  FunctionSyntax function{.result = type->name, .mark = here().range};
  function.name = fmt::format("{}::{}", made.name, name_of_function());
  const std::string around = std::exchange(namespace_, made.name + "::");
  this->function(std::move(function), into, is_static ? nullptr : &made);
  namespace_ = around;
}

// A method or constructor outside of its class: P::P(int x) {}, int P::get() const { ... }
bool Parser::defines_member(FunctionsSyntax& into) {
  const auto class_at = [this](std::size_t at) -> const Class* {
    if (token(at).kind != Token::Kind::name || !token(at + 1).is("::")) return nullptr;
    const std::string name = namespace_ + std::string(token(at).text);
    const auto found = std::ranges::find(classes_, name, &Class::name);
    return found == classes_.end() ? nullptr : &*found;
  };
  const Class* of = class_at(at_);
  const bool constructs = of != nullptr && token(at_ + 2).text == token(at_).text && token(at_ + 3).is("(");
  if (!constructs) {
    const auto type = type_at(at_);
    of = type ? class_at(type->end) : nullptr;
    if (of == nullptr) return false;
  }
  const Class* const around = std::exchange(class_, of);
  if (constructs) {
    at_ += 2;
    constructor(*of, into);
  } else {
    method(*of, into);
  }
  class_ = around;
  return true;
}

// Of what is next, up to the bracket of its parameters: "twice", "operator()".
std::string Parser::name_of_function() {
  const Token& word = take();
  if (!word.is_name("operator")) return std::string(word.text);
  std::string symbol;
  do symbol += take().text;
  while (!here().is("(") && here().kind == Token::Kind::symbol);
  if (name_of_operator(symbol).empty())
    fail(word.range, fmt::format("'operator{}' cannot be defined here", symbol));
  return std::string(name_of_operator(symbol));
}

// The type of an object, or a list of objects, if it is known.
std::string_view Parser::with_class(std::string_view type) {
  if (type.find("struct ") == std::string_view::npos) return {};
  return hidden_.emplace_back(type);
}

// Of what a method is called on, from one token to another: "v[i].p", where v is a list of a class.
std::string_view Parser::class_of_target(std::size_t begin, std::size_t end) const {
  const auto root = find_variable(token(begin).text);
  std::string_view type = root ? variables_[*root].of : std::string_view();
  for (std::size_t at = begin + 1; at < end && !type.empty();) {
    if (token(at).is("[") || end_of_part(at) != at) {
      type = item_type(type);
      const std::size_t behind = end_of_part(at);
      int open = 0;
      if (behind == at) do {
          if (token(at).is("[")) ++open;
          if (token(at).is("]")) --open;
          ++at;
        } while (open > 0);
      else
        at = behind;
      continue;
    }
    std::string_view found;
    for (const Class& each : classes_)
      if (each.spelled == type)
        for (const Class::Member& member : each.members)
          if (member.name == token(at + 1).text) found = member.type;
    type = found;
    at += 2;
  }
  return type;
}

std::string_view Parser::item_class(std::string_view list) const {
  return item_type(list);
}

// The spelled name of a class, if the type is one.
std::string_view Parser::class_spelled(std::string_view type) const {
  for (const Class& each : classes_)
    if (each.spelled == type) return each.spelled;
  return {};
}

// A method that changes its object, which is called at this position: p.add(
const Parser::Closure* Parser::changing_method() const {
  if (classes_.empty() || here().kind != Token::Kind::name) return nullptr;
  const std::size_t end = end_of_target(at_);
  if (end == at_ || !token(end).is(".") || !token(end + 2).is("(")) return nullptr;
  const std::string_view name = token(end + 1).text;
  const std::string_view known = class_of_target(at_, end);
  if (known.empty() && is_changing_method(token(end + 1))) return nullptr;  // of a list
  const Closure* found = nullptr;
  for (const Class& each : classes_) {
    if (!known.empty() && known != each.spelled) continue;
    const auto variable = find_variable(fmt::format("{}::{}", each.name, name));
    if (!variable || variables_[*variable].closure == nullptr) continue;
    if (found != nullptr)
      fail(token(end + 1).range,
           fmt::format("several classes have a method '{}' that changes the object; call it on a variable "
                       "that is declared with its class",
                       name));
    found = variables_[*variable].closure;
  }
  return found;
}

// p.add(3), or add(3) within the class.
NodeIndex Parser::call_of_changing_method(const Closure& closure) {
  const std::size_t first_read = reads_.size();
  const Target object = target(true);
  reads_.resize(first_read);
  take();
  const Token& name = take();
  return invocation(closure, name, Given{object.node, object.variable});
}

// In a method, the name of another one, with the bracket behind it next.
NodeIndex Parser::method_of_this(const Token& name) {
  const std::size_t object = *find_variable("this");
  const NodeIndex node = named(object, name.range);
  if (const auto known = find_variable(fmt::format("{}::{}", class_->name, name.text));
      known && variables_[*known].closure != nullptr) {
    reads_.pop_back();
    if (variables_[object].fixed_as == "the method is const") require_changeable(object, name.range);
    return invocation(*variables_[*known].closure, name, Given{node, object});
  }
  return called_on(node, name.text, name.range);
}

// object.name(arguments), where the bracket is next
NodeIndex Parser::called_on(NodeIndex object, std::string_view name, TextRange mark) {
  const Token open = take();
  std::vector<NodeIndex> children = items(")", open);
  children.insert(children.begin(), object);
  SyntaxNode node = make(NodeKind::method, mark, std::move(children));
  node.text = name;
  node.whole.end = token(at_ - 1).range.end;
  return add(std::move(node));
}

// this->pt, this->twice(), *this
NodeIndex Parser::this_object() {
  const TextRange mark = take().range;
  const auto object = find_variable("this");
  if (!object) fail(mark, "'this' has a meaning only in methods");
  if (!accept("->")) fail_here("'->'");
  if (here().kind != Token::Kind::name) fail_here("the name of a member or method");
  const Token& name = take();
  if (here().is("(") && is_method_of_this(name)) return method_of_this(name);
  return member_of(named(*object, mark), name.text, name.range);
}

// "P" of P::twice() within the class.
bool Parser::is_own_name(const Token& name) const {
  const std::string_view own = class_->name;
  return own.ends_with(name.text) &&
         (own.size() == name.text.size() || own.substr(0, own.size() - name.text.size()).ends_with("::"));
}

bool Parser::is_method_of_this(const Token& name) const {
  return class_ != nullptr && find_variable("this") && !find_variable(name.text) &&
         std::ranges::find(class_->methods, name.text) != class_->methods.end();
}

}  // namespace colonnade::frame
