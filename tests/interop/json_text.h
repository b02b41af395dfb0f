// JSON as tests/fixtures/README.md defines it, for the programs of this folder: exact numbers, bytes that are
// no text as {"hex": "..."}.
#ifndef COLONNADE_TESTS_INTEROP_JSON_TEXT_H
#define COLONNADE_TESTS_INTEROP_JSON_TEXT_H

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace interop {

// The number of bytes of the UTF-8 character that `text` starts with; 0 if it is invalid.
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool beyond = (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf4 && byte(1) > 0x8f);
  return overlong || beyond ? 0 : length;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

inline void append_hex(std::string& out, char byte) {
  out += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
  out += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
}

inline void append_text(std::string& out, std::string_view text) {
  if (!is_utf8(text)) {
    out += "{\"hex\": \"";
    for (const char byte : text) append_hex(out, byte);
    out += "\"}";
    return;
  }
  out += '"';
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      append_hex(out, c);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  out += '"';
}

inline void append_real(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "\"nan\"";
  } else if (std::isinf(value)) {
    out += value < 0 ? "\"-inf\"" : "\"inf\"";
  } else {
    char buffer[40];
    const std::string_view text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
    out += text;
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

// Writes the commas between the items of a list or object: `separate()` before each of them.
class Separator {
 public:
  explicit Separator(std::string& out) : out_(out) {}
  void operator()() {
    if (!first_) out_ += ", ";
    first_ = false;
  }

 private:
  std::string& out_;
  bool first_ = true;
};

}  // namespace interop

#endif
