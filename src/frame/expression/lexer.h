// Splits text into tokens by the rules of C++.
#ifndef COLONNADE_FRAME_EXPRESSION_LEXER_H
#define COLONNADE_FRAME_EXPRESSION_LEXER_H

#include <string>
#include <string_view>
#include <vector>

#include "colonnade/block.h"
#include "frame/expression/message.h"

namespace colonnade::frame {

struct Token {
  enum class Kind : std::uint8_t { name, literal, symbol, end };
  Kind kind = Kind::end;
  TextRange range;
  // A name as written, with "#" in front of a size query; a symbol, "&&" also for "and".
  std::string_view text;
  ValuesPtr value;           // of a literal: a constant of one row
  bool is_quoted = false;    // a name in backticks, which `text` excludes
  bool is_string = false;    // a literal that may be followed by another one
  std::string string_value;  // of such a literal

  bool is(std::string_view symbol) const noexcept { return kind == Kind::symbol && text == symbol; }
  bool is_name(std::string_view name) const noexcept {
    return kind == Kind::name && !is_quoted && text == name;
  }
};

// The tokens of `text`, which must outlive them, followed by one of kind `end`. Throws ErrorKind::usage.
std::vector<Token> tokens_of(std::string_view text);

// ---- Literals (literal.cpp)

// A number in C++ spelling: "1", "1.f", "0x1fu", "1'000ll", "1e3". Throws ErrorKind::usage, without
// position.
ValuesPtr number_of(std::string_view text);
// The text between the quotes of a string or character, with escapes resolved. Throws likewise.
std::string unescaped(std::string_view text);

}  // namespace colonnade::frame

#endif
