// See utf8.h.
#include "base/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace colonnade {

std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool bad = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f) ||
                   (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f);
  return bad ? 0 : length;
}

std::string shown_name(std::string_view stored) {
  std::string shown;
  while (!stored.empty()) {
    const std::size_t length = utf8_length(stored);
    if (length == 0)
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(stored.front()));
    else
      shown += stored.substr(0, length);
    stored.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

std::string stored_name(std::string_view shown) {
  std::string stored;
  while (!shown.empty()) {
    unsigned char byte = 0;
    const bool is_escaped =
        shown.starts_with("\\x") && shown.size() >= 4 &&
        std::from_chars(shown.data() + 2, shown.data() + 4, byte, 16).ptr == shown.data() + 4;
    stored += is_escaped ? static_cast<char>(byte) : shown.front();
    shown.remove_prefix(is_escaped ? 4 : 1);
  }
  return stored;
}

}  // namespace colonnade
