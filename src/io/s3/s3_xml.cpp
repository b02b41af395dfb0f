// See s3_xml.h.
#include "io/s3/s3_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

namespace colonnade::io {
namespace {

constexpr unsigned deepest = 16;
constexpr std::size_t most_elements = 100'000;

void append_code_point(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text.push_back(static_cast<char>(code));
    return;
  }
  const unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
  text.push_back(static_cast<char>(lead[more] | code >> (6 * more)));
  for (unsigned i = more; i-- > 0;) text.push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3f)));
}

// "&#x41;" without its ends; what is not known stays as it is.
void append_entity(std::string& text, std::string_view name) {
  constexpr std::pair<std::string_view, char> known[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [word, letter] : known)
    if (name == word) return text.push_back(letter);
  if (name.starts_with('#')) {
    const bool is_hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
    const std::string_view digits = name.substr(is_hex ? 2 : 1);
    std::uint32_t code = 0;
    const auto [end, result] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, is_hex ? 16 : 10);
    if (result == std::errc() && end == digits.data() + digits.size() && code > 0 && code < 0x110000)
      return append_code_point(text, code);
  }
  text += fmt::format("&{};", name);
}

std::string unescaped(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  while (!raw.empty()) {
    const std::size_t ampersand = std::min(raw.find('&'), raw.size());
    text.append(raw.substr(0, ampersand));
    raw.remove_prefix(ampersand);
    if (raw.empty()) break;
    const std::size_t end = raw.find(';');
    if (end == std::string_view::npos || end > 12) {
      text.push_back('&');
      raw.remove_prefix(1);
    } else {
      append_entity(text, raw.substr(1, end - 1));
      raw.remove_prefix(end + 1);
    }
  }
  return text;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::optional<XmlElement> outermost() {
    if (!skip_to_tag() || rest_.starts_with("</")) return std::nullopt;
    XmlElement element;
    if (!parse(element, 0)) return std::nullopt;
    return element;
  }

 private:
  bool skip_past(std::string_view end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + end.size());
    return true;
  }
  // To the next tag that is neither a comment nor an instruction; what lies before it is in `text_`.
  bool skip_to_tag() {
    text_.clear();
    while (true) {
      const std::size_t at = rest_.find('<');
      if (at == std::string_view::npos) return false;
      text_ += unescaped(rest_.substr(0, at));
      rest_.remove_prefix(at);
      if (rest_.starts_with("<![CDATA[")) {
        rest_.remove_prefix(9);
        const std::size_t end = rest_.find("]]>");
        if (end == std::string_view::npos) return false;
        text_.append(rest_.substr(0, end));
        rest_.remove_prefix(end + 3);
        continue;
      }
      const bool comment = rest_.starts_with("<!--");
      if (!comment && !rest_.starts_with("<?") && !rest_.starts_with("<!")) return true;
      if (!skip_past(comment ? "-->" : ">")) return false;
    }
  }

  // At a start tag; to behind its end tag.
  bool parse(XmlElement& element, unsigned depth) {
    if (depth > deepest || ++elements_ > most_elements) return false;
    const std::size_t end = rest_.find('>');
    if (end == std::string_view::npos || end < 2) return false;
    const std::string_view inside = rest_.substr(1, end - 1);
    const bool is_empty = inside.ends_with('/');
    std::string_view name = inside.substr(0, std::min(inside.find_first_of(" \t\r\n/"), inside.size()));
    const std::string_view whole_name = name;
    if (const std::size_t colon = name.find(':'); colon != std::string_view::npos)
      name.remove_prefix(colon + 1);
    if (name.empty()) return false;
    element.name = name;
    rest_.remove_prefix(end + 1);
    if (is_empty) return true;
    while (skip_to_tag()) {
      if (!rest_.starts_with("</")) {
        if (!parse(element.children.emplace_back(), depth + 1)) return false;
        continue;
      }
      if (element.children.empty()) element.text = std::move(text_);
      rest_.remove_prefix(2);
      if (!rest_.starts_with(whole_name)) return false;
      return skip_past(">");
    }
    return false;
  }

  std::string_view rest_;
  std::string text_;
  std::size_t elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view child_name) const noexcept {
  const auto found = std::find_if(children.begin(), children.end(),
                                  [&](const XmlElement& element) { return element.name == child_name; });
  return found == children.end() ? nullptr : &*found;
}

std::string XmlElement::child_text(std::string_view child_name) const {
  const XmlElement* element = child(child_name);
  return element == nullptr ? std::string() : element->text;
}

std::optional<XmlElement> parse_xml(std::string_view text) {
  return Parser(text).outermost();
}

std::string xml_escaped(std::string_view text) {
  std::string result;
  for (char letter : text) {
    if (letter == '&')
      result += "&amp;";
    else if (letter == '<')
      result += "&lt;";
    else if (letter == '>')
      result += "&gt;";
    else if (letter == '"')
      result += "&quot;";
    else if (static_cast<unsigned char>(letter) < 0x20)
      result += fmt::format("&#{};", static_cast<unsigned>(letter));
    else
      result.push_back(letter);
  }
  return result;
}

}  // namespace colonnade::io
