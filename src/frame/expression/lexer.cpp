// See lexer.h.
#include "frame/expression/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t longest_text = std::size_t{1} << 20;

// Longer ones first: the first match is taken.
constexpr std::array<std::string_view, 49> symbols = {
    "<<=", ">>=", "->*", "...", "::", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=",  "*=",  "/=",  "%=",  "&=", "|=", "^=", ".*", "+",  "-",  "*",  "/",  "%",  "^",  "&",  "|",  "~",
    "!",   "<",   ">",   "=",   "?",  ":",  ";",  ",",  ".",  "(",  ")",  "[",  "]",  "{",  "}"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> words = {{{"and", "&&"},
                                                                                  {"or", "||"},
                                                                                  {"not", "!"},
                                                                                  {"xor", "^"},
                                                                                  {"bitand", "&"},
                                                                                  {"bitor", "|"},
                                                                                  {"compl", "~"},
                                                                                  {"not_eq", "!="},
                                                                                  {"and_eq", "&="},
                                                                                  {"or_eq", "|="},
                                                                                  {"xor_eq", "^="}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool continues_name(char c) {
  return starts_name(c) || is_digit(c);
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

void require_text(std::string_view text) {
  if (text.size() > longest_text)
    throw Error(ErrorKind::usage, fmt::format("an expression of {} characters is longer than the {} allowed",
                                              text.size(), longest_text));
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0 || text[i] == '\0')
      throw Error(ErrorKind::usage, fmt::format("the expression is not UTF-8 text: byte {:#04x} at offset {}",
                                                static_cast<unsigned char>(text[i]), i));
    i += length;
  }
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    for (skip_space(); at_ < text_.size(); skip_space()) tokens_.push_back(next());
    Token end;
    end.range = {position(text_.size()), position(text_.size())};
    tokens_.push_back(std::move(end));
    return std::move(tokens_);
  }

 private:
  static std::uint32_t position(std::size_t at) { return static_cast<std::uint32_t>(at); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  [[noreturn]] void fail(std::size_t begin, std::size_t end, std::string_view problem) const {
    throw error_at(ErrorKind::usage, text_, {position(begin), position(end)}, problem);
  }

  void skip_space() {
    while (at_ < text_.size()) {
      if (is_space(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t close = text_.find("*/", at_ + 2);
        if (close == std::string_view::npos) fail(at_, at_ + 2, "a comment without its end, '*/'");
        at_ = close + 2;
      } else {
        return;
      }
    }
  }

  Token token(Token::Kind kind, std::size_t begin) const {
    Token made;
    made.kind = kind;
    made.range = {position(begin), position(at_)};
    made.text = text_.substr(begin, at_ - begin);
    return made;
  }

  Token next() {
    const char c = peek();
    if (c == '"' || (c == 'R' && peek(1) == '"')) return string();
    if (c == '\'') return character();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (starts_name(c) || (c == '#' && starts_name(peek(1)))) return name();
    if (c == '`') return quoted_name();
    return symbol();
  }

  Token name() {
    const std::size_t begin = at_++;
    while (continues_name(peek())) ++at_;
    Token made = token(Token::Kind::name, begin);
    for (const auto& [word, meant] : words)
      if (made.text == word) {
        made.kind = Token::Kind::symbol;
        made.text = meant;
      }
    return made;
  }

  // `any text`: the column of this name.
  Token quoted_name() {
    const std::size_t begin = at_;
    const std::size_t end = text_.find('`', begin + 1);
    if (end == std::string_view::npos || end == begin + 1)
      fail(begin, begin + 1, "a quoted name stands between two '`'");
    at_ = end + 1;
    Token made = token(Token::Kind::name, begin);
    made.text = text_.substr(begin + 1, end - begin - 1);
    made.is_quoted = true;
    return made;
  }

  Token symbol() {
    for (const std::string_view candidate : symbols) {
      if (!text_.substr(at_).starts_with(candidate)) continue;
      const std::size_t begin = at_;
      at_ += candidate.size();
      return token(Token::Kind::symbol, begin);
    }
    fail(at_, at_ + 1, fmt::format("'{}' has no meaning here", text_[at_]));
  }

  // All characters that a number may contain; the whole is validated later.
  Token number() {
    const std::size_t begin = at_;
    const bool hexadecimal = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
    while (at_ < text_.size()) {
      const char c = peek();
      const bool exponent = hexadecimal ? c == 'p' || c == 'P' : c == 'e' || c == 'E';
      if (exponent && (peek(1) == '+' || peek(1) == '-'))
        at_ += 2;
      else if (continues_name(c) || c == '.' || (c == '\'' && continues_name(peek(1))))
        ++at_;
      else
        break;
    }
    Token made = token(Token::Kind::literal, begin);
    try {
      made.value = number_of(made.text);
    } catch (const Error& error) {
      fail(begin, at_, error.problem());
    }
    return made;
  }

  // The text from a quote to the next unescaped one.
  std::string_view quoted(char quote) {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && peek() != quote && peek() != '\n') at_ += peek() == '\\' ? 2 : 1;
    if (peek() != quote)
      fail(begin, begin + 1, fmt::format("a {} without its end", quote == '"' ? "string" : "character"));
    ++at_;
    return text_.substr(begin + 1, at_ - begin - 2);
  }

  std::string unescape(std::size_t begin, std::string_view inside) const {
    try {
      return unescaped(inside);
    } catch (const Error& error) {
      fail(begin, at_, error.problem());
    }
  }

  Token string() {
    const std::size_t begin = at_;
    std::string value = peek() == 'R' ? raw() : unescape(begin, quoted('"'));
    if (peek() == 's' && !continues_name(peek(1))) ++at_;
    Token made = token(Token::Kind::literal, begin);
    made.value = make_constant_string(1, value);
    made.is_string = true;
    made.string_value = std::move(value);
    return made;
  }

  // R"mark(...)mark"
  std::string raw() {
    const std::size_t begin = at_;
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 18)
      fail(begin, begin + 2, "a raw string without its '('");
    const std::string close = fmt::format("){}\"", text_.substr(at_ + 2, open - at_ - 2));
    const std::size_t end = text_.find(close, open);
    if (end == std::string_view::npos) fail(begin, begin + 2, "a raw string without its end");
    at_ = end + close.size();
    return std::string(text_.substr(open + 1, end - open - 1));
  }

  Token character() {
    const std::size_t begin = at_;
    const std::string value = unescape(begin, quoted('\''));
    if (value.size() != 1)
      fail(begin, at_, "a character literal holds one character; strings stand in double quotes");
    Token made = token(Token::Kind::literal, begin);
    made.value = make_constant<char>(1, value[0]);
    return made;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
  require_text(text);
  return Lexer(text).run();
}

}  // namespace colonnade::frame
