// Definitions of functions and constants, "using" and "typedef"; see text_functions.h.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "frame/expression/function.h"
#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

// Lines of the preprocessor become spaces, so that positions stay; macros that are values are kept.
std::string without_directives(std::string text, std::vector<FunctionsSyntax::Macro>& macros) {
  constexpr std::string_view spaces = " \t\r";
  const std::string whole = text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::size_t first = std::min(text.find_first_not_of(spaces, begin), text.size());
    if (first < end && text[first] == '#') {
      std::string_view line = std::string_view(whole).substr(first, end - first);
      line = line.substr(0, line.find_last_not_of(spaces) + 1);
      if (line.starts_with("#define ")) {
        const std::size_t name = std::min(line.find_first_not_of(spaces, 8), line.size());
        const std::size_t behind = std::min(line.find_first_of(" \t(\\", name), line.size());
        if (line.substr(behind).starts_with("(") || line.ends_with("\\"))
          throw error_at(ErrorKind::usage, whole,
                         {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first + line.size())},
                         "macros with parameters or several lines are not expanded; write a function");
        macros.push_back({std::string(line.substr(name, behind - name)), std::string(line.substr(behind))});
      }
      std::fill(text.begin() + static_cast<std::ptrdiff_t>(first),
                text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    }
    begin = end + 1;
  }
  return text;
}

std::string_view last_name(std::string_view name) {
  const std::size_t colons = name.rfind("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

constexpr std::string_view no_pointers =
    "there are no pointers here; lists are 'const ROOT::RVecF&', and histograms of factors are corrections, "
    "DataFrame.with_functions";

constexpr std::size_t most_tokens = std::size_t{1} << 18;
constexpr unsigned most_aliases = 1000;
constexpr unsigned most_nested_namespaces = 100;

}  // namespace

bool is_specifier(const Token& token) {
  for (const std::string_view word : {"inline", "static", "constexpr", "extern", "explicit"})
    if (token.is_name(word)) return true;
  return false;
}

FunctionsSyntax parse_functions(std::string text, const TemplateTypes* chosen) {
  FunctionsSyntax found;
  found.nodes.text = without_directives(std::move(text), found.macros);
  Parser(found.nodes).run(found, chosen);
  return found;
}

void Parser::run(FunctionsSyntax& into, const TemplateTypes* chosen) {
  template_types_ = chosen;
  functions_ = &into;
  expand_macros(into.macros);
  const auto is_made = [&] { return chosen != nullptr && into.functions.size() > chosen->function; };
  while (here().kind != Token::Kind::end && !is_made()) definition(into);
}

// A macro without a value, such as one that guards a header, is not named elsewhere. The others have one
// value each, since #undef and #if are not followed.
void Parser::expand_macros(const std::vector<FunctionsSyntax::Macro>& macros) {
  std::vector<std::pair<std::string_view, std::vector<Token>>> known;
  for (const auto& [name, value] : macros) {
    const std::vector<Token> written = tokens_of(hidden_.emplace_back(value));
    std::vector<Token> expanded;
    for (const Token& each : written) {
      if (each.kind == Token::Kind::end) break;
      const auto earlier =
          std::ranges::find_if(known, [&](const auto& of) { return each.is_name(of.first); });
      if (earlier == known.end())
        expanded.push_back(each);
      else
        expanded.insert(expanded.end(), earlier->second.begin(), earlier->second.end());
    }
    if (expanded.empty()) continue;
    const auto before = std::ranges::find_if(known, [&](const auto& of) { return of.first == name; });
    if (before != known.end() &&
        !std::ranges::equal(before->second, expanded, {}, &Token::text, &Token::text))
      fail({}, fmt::format("the macro '{}' has several values; give each a name of its own", name));
    if (++aliases_ > most_aliases || expanded.size() > most_template_tokens)
      fail({}, fmt::format("the macro '{}' is too long, or one of more than {}", name, most_aliases));
    replace_names(name, expanded, false);
    known.emplace_back(name, std::move(expanded));
  }
}

void Parser::definition(FunctionsSyntax& into) {
  if (accept(";")) return;
  if (here().is_name("using") || here().is_name("typedef")) return alias(false);
  if (here().is_name("namespace")) return name_space(into);
  if (here().is_name("enum")) return enumeration(into);
  FunctionSyntax made;
  if (here().is_name("template")) {
    made.templates = template_names(made.presets);
    if (template_types_ != nullptr && template_types_->function == into.functions.size()) {
      for (const auto& [name, type] : template_types_->types) {
        const std::string& spelled = into.types.emplace_back(type);
        std::vector<Token> by;
        if (type.find("struct ") != std::string::npos) {  // one that is a name as a whole
          by.push_back({.kind = Token::Kind::name, .text = spelled});
        } else {
          by = tokens_of(spelled);
          by.pop_back();  // the end
        }
        replace_names(name, by, false);
      }
      made.templates.clear();
    }
  }
  const bool is_template = at_ > 0 && token(at_ - 1).is(">");
  if (is_template && here().is_name("using")) return alias_template(made.templates);
  if (here().is_name("struct") || here().is_name("class")) {
    if (is_template) fail(here().range, "classes cannot be templates here");
    return class_definition(into);
  }
  if (here().is_name("union"))
    fail(here().range, "'union' is not supported: only functions, classes and constants can be defined");
  while (is_specifier(here())) take();
  if (!classes_.empty() && made.templates.empty() && defines_member(into)) return;
  const auto type = type_at(at_);
  if (!type) fail_here("the type of a function or a constant");
  const Token& name = token(type->end);
  if (name.is("*")) fail(name.range, no_pointers);
  if (name.kind != Token::Kind::name) {
    at_ = type->end;
    fail_here("the name of a function or a constant");
  }
  made.name = namespace_ + std::string(name.text);
  made.mark = name.range;
  made.result = type->name;
  if (name.is_name("operator")) {
    at_ = type->end;
    made.name = namespace_ + name_of_function();
    return function(std::move(made), into);
  }
  // "const A a(3);" is a constant.
  const bool has_value =
      token(type->end + 1).is("(") && !token(type->end + 2).is(")") && !type_at(type->end + 2);
  if (token(type->end + 1).is("(") && !has_value) {
    at_ = type->end + 1;
    return function(std::move(made), into);
  }
  if (token(type->end + 1).is("=") && token(type->end + 2).is("[")) {  // a lambda
    at_ = type->end + 2;
    const Token& open = take();
    while (here().is("&") || here().is("=")) take();
    expect("]", open);
    if (!here().is("(")) fail_here("'('");
    return function(std::move(made), into);
  }
  std::vector<Step> steps;
  const std::size_t first = variables_.size();
  declaration(*type, steps);
  for (const Step& step : steps) into.constants.push_back(node_of(step));
  if (!namespace_.empty())  // under its whole name, too
    for (std::size_t i = first, end = variables_.size(); i < end; ++i)
      constant(hidden_.emplace_back(fmt::format("{}{}", namespace_, variables_[i].name)), "auto",
               named(i, made.mark), made.mark, into);
  for (Variable& constant : variables_)
    if (constant.fixed_as.empty()) constant.fixed_as = "it is declared outside of the function";
}

void Parser::name_space(FunctionsSyntax& into) {
  const Token& word = take();
  if (++nesting_ > most_nested_namespaces)
    fail(word.range, fmt::format("more than {} nested namespaces", most_nested_namespaces));
  const std::string around = namespace_;
  if (const auto end = qualified_name_at(at_)) {
    namespace_ += spelled(at_, *end) + "::";
    at_ = *end;
  }
  const TextRange open = here().range;  // names for types move the tokens
  if (!accept("{")) fail_here("'{'");
  // Its classes, where another namespace has one of the same name, too.
  for (const Class& each : classes_) {
    const auto is_rival = [&](const Class& other) {
      return other.name != each.name && last_name(other.name) == last_name(each.name);
    };
    if (each.name != namespace_ + std::string(last_name(each.name)) ||
        std::ranges::none_of(classes_, is_rival))
      continue;
    if (++aliases_ > most_aliases) fail(open, fmt::format("more than {} names for types", most_aliases));
    replace_names(last_name(each.name), {{.kind = Token::Kind::name, .text = each.spelled}}, true);
  }
  while (!accept("}")) {
    if (here().kind == Token::Kind::end) fail(open, "'{' without its '}'");
    definition(into);
  }
  namespace_ = around;
  --nesting_;
}

// template <typename T, class U = int>
std::vector<std::string> Parser::template_names(std::vector<std::string>& presets) {
  std::vector<std::string> names;
  take();
  if (!accept("<")) fail_here("'<'");
  do {
    if (!here().is_name("typename") && !here().is_name("class")) fail_here("'typename'");
    take();
    if (here().kind != Token::Kind::name) fail_here("the name of a type");
    names.emplace_back(take().text);
    std::string& preset = presets.emplace_back();
    if (!accept("=")) continue;
    const auto type = type_at(at_);
    if (!type) fail_here("a type");
    preset = type->name;
    at_ = type->end;
  } while (accept(","));
  if (!accept(">")) fail_here("'>'");
  return names;
}

// From its parameters on.
void Parser::function(FunctionSyntax made, FunctionsSyntax& into, const Class* object) {
  made.constants = into.constants.size();
  const std::size_t around = variables_.size();
  const std::size_t first_change = changed_.size();
  const std::size_t first_node = syntax_.nodes.size() + repeated_;
  const bool may_change = made.templates.empty();
  std::vector<Parameter> parameters;
  if (object != nullptr) {
    add_variable({.name = "this", .of = object->spelled}, made.mark);
    parameters.push_back({.variable = around, .node_name = "this", .is_reference = true, .may_change = true});
    made.parameters.push_back({"this", object->spelled, std::nullopt});
    name_members(*object, around, made.mark);
  }
  const Token open = take();
  if (!accept(")")) {
    do {
      made.parameters.push_back(parameter(may_change, parameters.emplace_back()));
      if (accept("=")) made.parameters.back().preset = parameters.back().preset = expression();
    } while (accept(","));
    expect(")", open);
  }
  if (object != nullptr && here().is_name("const")) fix(around, "the method is const");
  for (const std::string_view word : {"const", "noexcept", "override", "final"})
    if (here().is_name(word)) take();
  if (object != nullptr && accept("=")) {  // default or delete
    take();
    return leave_scope(around);
  }
  if (accept("->")) {
    const auto type = type_at(at_);
    if (!type) fail_here("the type of the result");
    made.result = type->name;
    at_ = type->end;
  }
  if (accept(";")) return leave_scope(around);  // it is defined below
  const Token brace = here();
  if (!accept("{")) fail_here("'{'");
  if (made.templates.empty()) {
    Returns returns{.allows_nothing = made.result == "void" || made.result == "auto"};
    if (made.result == "void") returns.has_nothing = true;
    made.body = body_with_returns(returns);
    expect("}", brace);
    note_parameters(parameters, first_change);
    made.has_effects = returns.has_nothing || std::ranges::any_of(parameters, &Parameter::changes);
    if (returns.has_nothing) made.result = "void";
  } else {
    skip_body(brace);
  }
  leave_scope(around);
  const bool is_known =
      std::ranges::find(into.functions, made.name, &FunctionSyntax::name) != into.functions.end();
  if (is_known && (made.has_effects || find_closure(made.name) != nullptr))
    fail(made.mark,
         fmt::format("there is another function '{}'; what changes its arguments needs a name of its own",
                     made.name));
  if (made.has_effects)
    add_closure(made, std::move(parameters), syntax_.nodes.size() + repeated_ - first_node);
  into.functions.push_back(std::move(made));
}

// For the functions that follow, it is a lambda with a name.
void Parser::add_closure(const FunctionSyntax& made, std::vector<Parameter> parameters, std::size_t size) {
  SyntaxNode node = make(NodeKind::lambda, made.mark, {made.body});
  node.type = made.result;
  for (const auto& [name, type, preset] : made.parameters) {
    node.parameters.push_back(name);
    node.template_types.push_back(type);
  }
  Closure& closure = closures_.emplace_back();
  closure.lambda = add(std::move(node));
  closure.parameters = std::move(parameters);
  closure.returns_nothing = made.result == "void";
  closure.size = size;
  add_variable({.name = hidden_.emplace_back(made.name), .fixed_as = "it is a function", .closure = &closure},
               made.mark);
}

// What it means is known with its types.
void Parser::skip_body(const Token& brace) {
  for (int open = 1; open > 0;) {
    const Token& token = take();
    if (token.kind == Token::Kind::end) fail(brace.range, "'{' without its '}'");
    if (token.is("{")) ++open;
    if (token.is("}")) --open;
  }
}

// Those that are not const can change in the body; what references refer to only if it `may_change`.
FunctionSyntax::Parameter Parser::parameter(bool may_change, Parameter& known) {
  const auto type = type_at(at_);
  if (!type) fail_here("the type of a parameter");
  Variable variable;
  bool is_const = false;
  for (; at_ < type->end; ++at_) {
    is_const = is_const || here().is_name("const");
    known.is_reference = known.is_reference || here().is("&") || (here().is("&&") && type->name == "auto");
  }
  known.may_change = may_change && !is_const && known.is_reference;
  if (is_const) variable.fixed_as = "it is const";
  if (!is_const && known.is_reference && !may_change)
    variable.fixed_as = "it is a reference, and callers keep their values";
  FunctionSyntax::Parameter made;
  made.type = type->name;
  if (here().is("*")) fail(here().range, no_pointers);
  if (here().kind == Token::Kind::name) {
    const Token& name = take();
    variable.name = name.text;
    variable.is_map = is_map_name(made.type);
    variable.of = with_class(made.type);
    made.name = add_variable(variable, name.range);
    known.variable = variables_.size() - 1;
    known.node_name = made.name;
  }
  return made;
}

// using namespace a; using a::b; using name = type; typedef type name;
void Parser::alias(bool in_block) {
  const Token& word = take();
  const std::size_t begin = at_;
  std::size_t end = at_;
  while (!token(end).is(";") && token(end).kind != Token::Kind::end) ++end;
  if (token(end).kind == Token::Kind::end) fail(word.range, fmt::format("'{}' without its ';'", word.text));
  at_ = end + 1;
  if (token(begin).is_name("namespace")) return;  // std and those of ROOT are known without it
  const bool is_using = word.is_name("using");
  std::size_t name = is_using ? begin : end - 1;
  while (!is_using && name > begin && end_of_written(name - 1) == end) --name;
  const std::size_t behind = end_of_written(name);
  const bool is_name = is_using && !token(behind).is("=");  // its last name alone
  const std::size_t from = is_using && !is_name ? behind + 1 : begin;
  const std::size_t to = is_using ? end : name;
  const auto type = type_at(from);
  if (!type && is_name) return;  // a function, which is known without it
  if (!type || type->end != to) fail(token(from).range, "a type should be here");
  if (++aliases_ > most_aliases) fail(word.range, fmt::format("more than {} names for types", most_aliases));
  const std::string_view alias = is_name ? token(end - 1).text : written(name);
  if (is_name && type_of_name(alias)) return;
  const std::vector<Token> by(tokens_.begin() + static_cast<std::ptrdiff_t>(from),
                              tokens_.begin() + static_cast<std::ptrdiff_t>(to));
  replace_names(alias, by, in_block);
  if (!in_block) replace_qualified(alias, by);
}

// using name = type; behind template <typename T>
void Parser::alias_template(const std::vector<std::string>& parameters) {
  const Token& word = take();
  const Token name = take();
  if (name.kind != Token::Kind::name || !accept("=")) fail(word.range, "'using' without its name and '='");
  const auto type = type_at(at_);
  if (!type || !token(type->end).is(";")) fail_here("a type and ';'");
  if (++aliases_ > most_aliases) fail(word.range, fmt::format("more than {} names for types", most_aliases));
  const std::vector<Token> by(tokens_.begin() + static_cast<std::ptrdiff_t>(at_),
                              tokens_.begin() + static_cast<std::ptrdiff_t>(type->end));
  at_ = type->end + 1;
  replace_template(name.text, parameters, by);
}

// Each name<type, ...> in what follows.
void Parser::replace_template(std::string_view name, const std::vector<std::string>& parameters,
                              const std::vector<Token>& by) {
  std::vector<Token> rest;
  for (std::size_t i = at_; i < tokens_.size(); ++i) {
    const bool is_part =
        i > 0 && (tokens_[i - 1].is("::") || tokens_[i - 1].is(".") || tokens_[i - 1].is("->"));
    const bool is_it = tokens_[i].is_name(name) && !tokens_[i].is_quoted && !is_part;
    const auto arguments = is_it ? template_arguments_at(i + 1) : std::nullopt;
    if (!arguments || arguments->types.size() != parameters.size()) {
      rest.push_back(tokens_[i]);
      continue;
    }
    const auto put = [&](Token each) {
      each.range = tokens_[i].range;
      rest.push_back(each);
    };
    for (const Token& each : by) {
      const auto found = std::ranges::find(parameters, each.text);
      if (each.kind != Token::Kind::name || found == parameters.end()) {
        put(each);
        continue;
      }
      std::ranges::for_each(arguments->types[static_cast<std::size_t>(found - parameters.begin())], put);
    }
    i = arguments->last;
    if (arguments->shares_last) {  // the second one of ">>" is of what is around
      put(tokens_[i]);
      rest.back().text.remove_prefix(1);
    }
    if (rest.size() > most_tokens)
      fail(tokens_[i].range, "the text is too long once its names for types are written out");
  }
  tokens_.resize(at_);
  std::ranges::move(rest, std::back_inserter(tokens_));
}

// Of <int, std::vector<float>> at this token.
std::optional<Parser::TemplateArguments> Parser::template_arguments_at(std::size_t at) const {
  if (!token(at).is("<")) return std::nullopt;
  TemplateArguments found;
  found.types.emplace_back();
  int depth = 1;
  for (std::size_t i = at + 1; i < tokens_.size() && i - at <= most_template_tokens; ++i) {
    const Token& each = tokens_[i];
    if (each.is("<")) ++depth;
    if (each.is(">") || each.is(">>")) depth -= static_cast<int>(each.text.size());
    if (depth == 1 && each.is(",")) {
      found.types.emplace_back();
      continue;
    }
    if (depth > 0 || (depth == 0 && each.is(">>"))) found.types.back().push_back(each);
    if (depth > 0) continue;
    if (depth == 0 && each.is(">>")) found.types.back().back().text.remove_prefix(1);
    found.last = i;
    found.shares_last = depth < 0;
    return found;
  }
  return std::nullopt;
}

void Parser::constant(std::string_view name, std::string type, NodeIndex value, TextRange mark,
                      FunctionsSyntax& into) {
  std::vector<Step> steps;
  declare({.name = name, .fixed_as = "it is const"},
          {.value = value, .name = std::string(name), .type = std::move(type), .mark = mark}, steps);
  into.constants.push_back(node_of(steps.front()));
}

// enum class Kind { a, b = 5 }; Its values are constants of int.
void Parser::enumeration(FunctionsSyntax& into) {
  take();
  const bool is_class = here().is_name("class") || here().is_name("struct");
  if (is_class) take();
  std::string scope;
  if (here().kind == Token::Kind::name) scope = std::string(take().text);
  if (accept(":")) {
    const auto type = type_at(at_);
    if (!type) fail_here("a type");
    at_ = type->end;
  }
  const TextRange open = here().range;
  if (!accept("{")) fail_here("'{'");
  std::optional<std::size_t> last;
  while (!accept("}")) {
    if (here().kind != Token::Kind::name) fail_here("the name of a value");
    const Token& name = take();
    NodeIndex value = 0;
    if (accept("=")) {
      value = expression();
    } else {
      SyntaxNode next = make(NodeKind::literal, name.range);
      next.value = make_constant(1, last ? 1 : 0);
      value = add(std::move(next));
      if (last) {
        SyntaxNode sum = make(NodeKind::binary, name.range, {named(*last, name.range), value});
        sum.text = "+";
        value = add(std::move(sum));
      }
    }
    std::vector<std::string> names;  // of one value
    if (!is_class) names.emplace_back(name.text);
    if (!scope.empty()) names.push_back(fmt::format("{}::{}", scope, name.text));
    for (std::size_t i = 0, end = names.size(); i < end && !namespace_.empty(); ++i)
      names.push_back(namespace_ + names[i]);
    for (std::size_t i = 0; i < names.size(); ++i) {
      constant(hidden_.emplace_back(names[i]), "int", i == 0 ? value : named(*last, name.range), name.range,
               into);
      last = variables_.size() - 1;
    }
    if (!accept(",") && !here().is("}")) fail_here("',' or '}'");
  }
  if (!accept(";")) fail(open, "'enum' without its ';'");
  if (++aliases_ > most_aliases) fail(open, fmt::format("more than {} names for types", most_aliases));
  const std::vector<Token> integer = tokens_of("int");
  if (scope.empty()) return;
  replace_names(scope, {integer.begin(), integer.end() - 1}, false);
  replace_qualified(scope, {integer.begin(), integer.end() - 1});
}

// What the text has at a token, which may have been replaced by several.
std::string_view Parser::written(std::size_t at) const {
  const TextRange range = token(at).range;
  return std::string_view(syntax_.text).substr(range.begin, range.end - range.begin);
}

std::size_t Parser::end_of_written(std::size_t at) const {
  const TextRange range = token(at).range;
  const auto is_of_it = [&](const Token& each) {
    return each.range.begin == range.begin && each.range.end == range.end;
  };
  for (++at; at < tokens_.size() && is_of_it(tokens_[at]);) ++at;
  return at;
}

// In what follows, or in the rest of the block; but not as part of a longer name, or behind a dot.
void Parser::replace_names(std::string_view name, const std::vector<Token>& by, bool in_block) {
  std::vector<Token> rest;
  int blocks = 0;
  for (std::size_t i = at_; i < tokens_.size(); ++i) {
    if (tokens_[i].is("{")) ++blocks;
    if (tokens_[i].is("}")) --blocks;
    const bool is_outside = in_block && blocks < 0;
    const bool is_part =
        i > 0 && (tokens_[i - 1].is("::") || tokens_[i - 1].is(".") || tokens_[i - 1].is("->"));
    const std::size_t behind = end_of_written(i);
    const bool is_scope = behind < tokens_.size() && tokens_[behind].is("::");
    if (tokens_[i].is_quoted || written(i) != name || is_part || is_scope || is_outside) {
      rest.push_back(tokens_[i]);
      continue;
    }
    for (Token each : by) {
      each.range = tokens_[i].range;
      rest.push_back(std::move(each));
    }
    i = behind - 1;
    if (rest.size() > most_tokens)
      fail(tokens_[i].range, "the text is too long once its names for types are written out");
  }
  tokens_.resize(at_);
  std::ranges::move(rest, std::back_inserter(tokens_));
}

// The name with namespaces in front, "a::b::P" or "b::P", in what follows.
void Parser::replace_qualified(std::string_view name, const std::vector<Token>& by) {
  std::vector<std::string_view> around;  // the innermost first
  for (std::string_view rest = namespace_; !rest.empty();) {
    rest.remove_suffix(2);
    const std::size_t colons = rest.rfind("::");
    const std::size_t begin = colons == std::string_view::npos ? 0 : colons + 2;
    around.push_back(rest.substr(begin));
    rest = rest.substr(0, begin);
  }
  if (around.empty()) return;
  // "c::P" became that of the first namespace "c" already.
  const auto first = qualified_.try_emplace(fmt::format("{}::{}", around.front(), name), namespace_).first;
  for (std::size_t i = at_; i < tokens_.size() && first->second != namespace_; ++i)
    if (written(i) == first->first)
      fail(tokens_[i].range, fmt::format("'{}' may be that of '{}' or of '{}'; write all namespaces",
                                         first->first, first->second, namespace_));
  std::vector<Token> rest;
  const auto ends_with = [&](std::size_t from_end, std::string_view symbol) {
    return rest.size() >= from_end && rest[rest.size() - from_end].is(symbol);
  };
  for (std::size_t i = at_; i < tokens_.size(); ++i) {
    rest.push_back(tokens_[i]);
    if (!tokens_[i].is_name(name) || token(i + 1).is("::")) continue;
    std::size_t parts = 0;  // of the namespaces, in front of it
    while (parts < around.size() && ends_with(2 * parts + 2, "::") && rest.size() >= 2 * parts + 3 &&
           rest[rest.size() - 2 * parts - 3].is_name(around[parts]))
      ++parts;
    const bool is_global = ends_with(2 * parts + 2, "::");  // "::a::P", else "c::b::P"
    if (parts == 0 || (is_global && parts < around.size())) continue;
    const TextRange range{rest[rest.size() - 2 * parts - 1].range.begin, tokens_[i].range.end};
    rest.resize(rest.size() - 2 * parts - 1 - (is_global ? 1 : 0));
    for (Token each : by) {
      each.range = range;
      rest.push_back(std::move(each));
    }
    if (rest.size() > most_tokens)
      fail(range, "the text is too long once its names for types are written out");
  }
  tokens_.resize(at_);
  std::ranges::move(rest, std::back_inserter(tokens_));
}

}  // namespace colonnade::frame
