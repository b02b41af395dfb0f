// Names of types among tokens: casts, template arguments, declarations; see parser.h.
#include <fmt/format.h>

#include <algorithm>

#include "frame/expression/function.h"
#include "frame/expression/parser.h"

namespace colonnade::frame {
namespace {

bool is_word(const Token& token) {
  return (token.kind == Token::Kind::name && !token.is_quoted) || token.kind == Token::Kind::literal;
}

bool is_builtin(const Token& token) {
  for (const std::string_view word :
       {"bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double"})
    if (token.is_name(word)) return true;
  return false;
}

// True if a token may begin the operand of a cast. "(x) - 1" is not a cast of -1, unless x is a type.
bool starts_operand(const Token& token) {
  return is_word(token) || token.is("(") || token.is("!") || token.is("~") || token.is("-") ||
         token.is("+") || token.is("::");
}

// Functions whose template arguments need not look like types.
bool takes_template_arguments(std::string_view callee) {
  return callee == "static_cast" || callee == "get" || callee == "Construct" ||
         callee.find("::") != std::string_view::npos;
}

}  // namespace

// "unsigned int", "std::vector<float>": in common C++ spelling.
std::string Parser::spelled(std::size_t begin, std::size_t end) const {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    if (i > begin && is_word(token(i)) && is_word(token(i - 1))) text += ' ';
    text += token(i).text;
    if (token(i).is(",")) text += ' ';
  }
  return text;
}

std::optional<Parser::Type> Parser::builtin_type_at(std::size_t at) const {
  std::size_t end = at;
  while (is_builtin(token(end))) ++end;
  if (end == at) return std::nullopt;
  return Type{spelled(at, end), end};
}

// The end of name::name::name.
std::optional<std::size_t> Parser::qualified_name_at(std::size_t at) const {
  if (token(at).kind != Token::Kind::name) return std::nullopt;
  ++at;
  while (token(at).is("::") && token(at + 1).kind == Token::Kind::name) at += 2;
  return at;
}

// const and & are ignored: everything is a value here.
std::optional<Parser::Type> Parser::type_at(std::size_t at) const {
  while (token(at).is_name("const") || token(at).is_name("constexpr") || token(at).is_name("static")) ++at;
  std::optional<Type> type = builtin_type_at(at);
  if (type && type->name == "char" && token(type->end).is("*")) type = Type{"std::string", type->end + 1};
  if (!type) {
    const auto end = qualified_name_at(at);
    if (!end) return std::nullopt;
    type = Type{spelled(at, *end), *end};
    if (token(*end).is("<")) {
      const auto types = template_types_at(*end, "static_cast");
      if (!types) return std::nullopt;
      type = Type{fmt::format("{}<{}>", type->name, fmt::join(types->first, ", ")), types->second};
      if (token(types->second).is("::")) type = member_type(types->second + 1);
      if (!type) return std::nullopt;
    } else if (type->name.ends_with("string::size_type")) {
      type->name = "std::size_t";
    }
  }
  while (token(type->end).is_name("const") || token(type->end).is("&") || token(type->end).is("&&"))
    ++type->end;
  return type;
}

// Of a list: what an iterator is follows from its value.
std::optional<Parser::Type> Parser::member_type(std::size_t at) const {
  if (token(at).is_name("size_type")) return Type{"std::size_t", at + 1};
  if (token(at).is_name("difference_type")) return Type{"std::ptrdiff_t", at + 1};
  if (token(at).is_name("iterator") || token(at).is_name("const_iterator")) return Type{"auto", at + 1};
  return std::nullopt;
}

// (float), (const std::vector<int>&) followed by an operand.
std::optional<Parser::Type> Parser::c_cast_at(std::size_t at) const {
  if (!token(at).is("(") || token(at + 1).kind != Token::Kind::name) return std::nullopt;
  auto type = type_at(at + 1);
  if (!type || !token(type->end).is(")") || !starts_operand(token(type->end + 1))) return std::nullopt;
  if (!type_of_name(type->name)) return std::nullopt;
  ++type->end;
  return type;
}

std::optional<std::pair<std::vector<std::string>, std::size_t>> Parser::template_types_at(
    std::size_t at, std::string_view callee) const {
  std::vector<std::string> types;
  std::size_t begin = at + 1;
  std::size_t i = begin;
  for (int depth = 1; depth > 0; ++i) {
    if (i - at > most_template_tokens) return std::nullopt;
    const Token& token = this->token(i);
    const bool ends_item = depth == 1 && (token.is(",") || token.is(">"));
    if (ends_item || (depth == 2 && token.is(">>"))) {
      types.push_back(spelled(begin, i) + (token.is(">>") ? ">" : ""));
      if (types.back().empty()) return std::nullopt;
      begin = i + 1;
    }
    if (token.is("<")) {
      ++depth;
    } else if (token.is(">") || token.is(">>")) {
      depth -= static_cast<int>(token.text.size());
    } else if (!is_word(token) && !token.is("::") && !token.is(",") && !token.is("&") && !token.is("*")) {
      return std::nullopt;
    }
    if (depth < 0) return std::nullopt;
  }
  if (callee == "static_cast") return std::pair(std::move(types), i);
  // "a < b, c > (d)" are two comparisons, unless a is called with types.
  if (!token(i).is("(") && !token(i).is("{") && !token(i).is("::")) return std::nullopt;
  const bool fits =
      takes_template_arguments(callee) || std::ranges::all_of(types, [](const std::string& type) {
        return type.find("::") != std::string::npos || type_of_name(type);
      });
  if (!fits) return std::nullopt;
  return std::pair(std::move(types), i);
}

}  // namespace colonnade::frame
