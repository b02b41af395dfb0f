// Numbers and escapes; see lexer.h.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "frame/expression/lexer.h"

namespace colonnade::frame {
namespace {

[[noreturn]] void fail(std::string problem) {
  throw Error(ErrorKind::usage, std::move(problem));
}

bool any_of(std::string_view text, std::string_view characters) {
  return text.find_first_of(characters) != std::string_view::npos;
}

struct Base {
  unsigned base = 10;
  std::string_view digits;  // without the prefix
};

Base split_base(std::string_view text) {
  if (text.size() > 1 && text[0] == '0') {
    if (text[1] == 'x' || text[1] == 'X') return {16, text.substr(2)};
    if (text[1] == 'b' || text[1] == 'B') return {2, text.substr(2)};
    if (!any_of(text, ".eEfF")) return {8, text.substr(1)};
  }
  return {10, text};
}

template <class T>
ValuesPtr floating(std::string_view digits, bool hexadecimal, std::string_view text) {
  T value = 0;
  const auto [end, failure] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value,
                      hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (failure == std::errc::result_out_of_range)
    fail(fmt::format("{} does not fit in a {}", text, sizeof(T) == 4 ? "float" : "double"));
  if (failure != std::errc() || end != digits.data() + digits.size())
    fail(fmt::format("'{}' is not a number", text));
  return make_constant<T>(1, value);
}

ValuesPtr floating_of(Base base, std::string_view text) {
  std::string_view digits = base.digits;
  char suffix = '\0';
  if (!digits.empty() && any_of(digits.substr(digits.size() - 1), "fFlL")) {
    suffix = digits.back();
    digits.remove_suffix(1);
  }
  const bool single = suffix == 'f' || suffix == 'F';
  return single ? floating<float>(digits, base.base == 16, text)
                : floating<double>(digits, base.base == 16, text);
}

struct Suffix {
  bool is_unsigned = false;
  bool is_long = false;
};

// u, l, ll, ul, lu, ull, llu in either case.
Suffix suffix_of(std::string_view letters, std::string_view text) {
  std::string lower(letters);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c == 'U' ? 'u' : c == 'L' ? 'l' : c;
  });
  for (const std::string_view known : {"", "u", "l", "ll", "ul", "lu", "ull", "llu", "z", "uz", "zu"})
    if (lower == known) return {any_of(lower, "u"), any_of(lower, "lz")};
  fail(fmt::format("'{}' is not a number: '{}' is not a suffix", text, letters));
}

template <class T>
bool fits(std::uint64_t value) {
  return value <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
}

// The first type that holds the value, in C++'s order: unsigned ones only if requested, or for digits that
// are not decimal.
ValuesPtr integer(std::uint64_t value, Suffix suffix, bool decimal, std::string_view text) {
  const bool may_be_signed = !suffix.is_unsigned;
  const bool may_be_unsigned = suffix.is_unsigned || !decimal;
  if (!suffix.is_long) {
    if (may_be_signed && fits<std::int32_t>(value))
      return make_constant<std::int32_t>(1, static_cast<std::int32_t>(value));
    if (may_be_unsigned && fits<std::uint32_t>(value))
      return make_constant<std::uint32_t>(1, static_cast<std::uint32_t>(value));
  }
  if (may_be_signed && fits<std::int64_t>(value))
    return make_constant<std::int64_t>(1, static_cast<std::int64_t>(value));
  if (!may_be_unsigned)
    fail(fmt::format("{} does not fit in a 64-bit integer with a sign; append 'u'", text));
  return make_constant<std::uint64_t>(1, value);
}

ValuesPtr integer_of(Base base, std::string_view text) {
  std::uint64_t value = 0;
  const char* const first = base.digits.data();
  const char* const last = first + base.digits.size();
  const auto [end, failure] = std::from_chars(first, last, value, static_cast<int>(base.base));
  if (failure == std::errc::result_out_of_range)
    fail(fmt::format("{} does not fit in a 64-bit integer", text));
  const std::string_view rest(end, static_cast<std::size_t>(last - end));
  // "0" alone is an octal number without digits.
  if (failure != std::errc() && base.base != 8) fail(fmt::format("'{}' is not a number", text));
  if (base.base == 8 && !rest.empty() && rest[0] >= '0' && rest[0] <= '9')
    fail(fmt::format("'{}' is not a number: a leading 0 makes it octal", text));
  return integer(value, suffix_of(rest, text), base.base == 10, text);
}

char escaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
    case '?':
      return c;
    default:
      fail(fmt::format("'\\{}' is not an escape sequence", c));
  }
}

// \x41 and \101: reads digits from `at` on, which are any number in C++ if they are hexadecimal.
char numbered(std::string_view text, std::size_t& at, int base, std::size_t most) {
  unsigned value = 0;
  const std::string_view digits = text.substr(at, most);
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (failure != std::errc() || value > 255) fail("an escape sequence that is not a character");
  at += static_cast<std::size_t>(end - digits.data());
  return static_cast<char>(value);
}

}  // namespace

ValuesPtr number_of(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '\'');
  const Base base = split_base(plain);
  const bool is_floating =
      base.base == 16 ? any_of(base.digits, ".pP") : base.base == 10 && any_of(plain, ".eEfF");
  return is_floating ? floating_of(base, text) : integer_of(base, text);
}

std::string unescaped(std::string_view text) {
  std::string value;
  value.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at++];
    if (c != '\\' || at >= text.size()) {
      value += c;
    } else if (text[at] == 'x') {
      value += numbered(text, ++at, 16, std::string_view::npos);
    } else if (text[at] >= '0' && text[at] <= '7') {
      value += numbered(text, at, 8, 3);
    } else {
      value += escaped(text[at++]);
    }
  }
  return value;
}

}  // namespace colonnade::frame
