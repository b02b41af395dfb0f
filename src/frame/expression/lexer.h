// Text to tokens, by the rules of C++.
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
  Place place;
  // A name as written, with "#" in front of one that asks for a size; a symbol, "&&" also for "and".
  std::string_view text;
  ValuesPtr value;           // of a literal: a constant of one row
  bool is_quoted = false;    // a name in backticks, which `text` is without
  bool is_string = false;    // a literal that may have another behind it
  std::string string_value;  // of such a literal

  bool is(std::string_view symbol) const noexcept { return kind == Kind::symbol && text == symbol; }
  bool is_name(std::string_view name) const noexcept {
    return kind == Kind::name && !is_quoted && text == name;
  }
};

// The tokens of `text`, which must outlive them, with one of kind `end` behind. Throws ErrorKind::usage.
std::vector<Token> tokens_of(std::string_view text);

// ---- Literals (literal.cpp)

// A number as C++ spells it: "1", "1.f", "0x1fu", "1'000ll", "1e3". Throws ErrorKind::usage, without a place.
ValuesPtr number_of(std::string_view text);
// What stands between the quotes of a string or character, with escapes resolved. Throws in the same way.
std::string unescaped(std::string_view text);

}  // namespace colonnade::frame

#endif
