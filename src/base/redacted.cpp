// See redacted.h.
#include "base/redacted.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "base/lower_case.h"

namespace colonnade {
namespace {

constexpr std::string_view stars = "***";
constexpr std::size_t shortest_secret = 4;  // a shorter one would match everywhere

// Names in lower case, with "-" for "_".
constexpr std::array names_anywhere = {std::string_view("access-token"),
                                       std::string_view("authorization"),
                                       std::string_view("authz"),
                                       std::string_view("aws-access-key-id"),
                                       std::string_view("aws-secret-key"),
                                       std::string_view("aws-secret-access-key"),
                                       std::string_view("aws-session-token"),
                                       std::string_view("awsaccesskeyid"),
                                       std::string_view("client-secret"),
                                       std::string_view("cookie"),
                                       std::string_view("private-token"),
                                       std::string_view("proxy-authorization"),
                                       std::string_view("secret-access-key"),
                                       std::string_view("secret-key"),
                                       std::string_view("session-token"),
                                       std::string_view("set-cookie"),
                                       std::string_view("x-amz-credential"),
                                       std::string_view("x-amz-security-token"),
                                       std::string_view("x-amz-signature"),
                                       std::string_view("x-auth-token"),
                                       std::string_view("x-goog-credential"),
                                       std::string_view("x-goog-signature")};
// Followed by "=" only: "signature: wrong" is ordinary text.
constexpr std::array names_with_equals = {std::string_view("credential"), std::string_view("passwd"),
                                          std::string_view("password"), std::string_view("signature")};
// After "?" or "&" only.
constexpr std::array names_in_queries = {std::string_view("access-key"), std::string_view("api-key"),
                                         std::string_view("apikey"),     std::string_view("auth"),
                                         std::string_view("jwt"),        std::string_view("key"),
                                         std::string_view("macaroon"),   std::string_view("secret"),
                                         std::string_view("sig"),        std::string_view("token")};
// Their values may have blanks within: "Authorization: Bearer x".
constexpr std::array names_of_lines = {std::string_view("authorization"), std::string_view("authz"),
                                       std::string_view("cookie"), std::string_view("proxy-authorization"),
                                       std::string_view("set-cookie")};

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_name_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         std::string_view("-_.%").find(letter) != std::string_view::npos;
}

std::optional<unsigned char> decoded_at(std::string_view text, std::size_t at) {
  const auto digit = [&](std::size_t i) {
    const auto code = static_cast<unsigned char>(text[i]);
    if (std::isxdigit(code) == 0) return -1;
    return std::isdigit(code) != 0 ? code - '0' : std::tolower(code) - 'a' + 10;
  };
  if (text[at] != '%' || at + 2 >= text.size() || digit(at + 1) < 0 || digit(at + 2) < 0) return std::nullopt;
  return static_cast<unsigned char>(digit(at + 1) * 16 + digit(at + 2));
}

// The characters between name and value at `at`: "=", ":", "%3D"; 0: none.
std::size_t separator_at(std::string_view text, std::size_t at) {
  if (text[at] == '=' || text[at] == ':') return 1;
  return decoded_at(text, at) == '=' ? 3 : 0;
}

struct Name {
  std::string text;       // in lower case, decoded, with "-" for "_"
  bool in_query = false;  // after "?" or "&"
};

Name name_before(std::string_view text, std::size_t end) {
  while (end > 0 && (text[end - 1] == '"' || text[end - 1] == '\'' || text[end - 1] == ' ')) --end;
  std::size_t begin = end;
  while (begin > 0 && is_name_letter(text[begin - 1])) --begin;
  Name name;
  for (std::size_t i = begin; i < end; ++i) {
    const std::optional<unsigned char> code = decoded_at(text, i);
    const char letter = code ? static_cast<char>(*code) : text[i];
    name.text += letter == '_' ? '-' : lower_case(letter);
    if (code) i += 2;
  }
  name.in_query = begin > 0 && (text[begin - 1] == '?' || text[begin - 1] == '&');
  // "a%3D1%26key%3D2" holds two names.
  if (const std::size_t cut = name.text.find_last_of("=&?;"); cut != std::string::npos) {
    name.in_query = name.text[cut] == '&' || name.text[cut] == '?';
    name.text.erase(0, cut + 1);
  }
  return name;
}

bool is_secret(const Name& name, bool equals) {
  return is_one_of(names_anywhere, name.text) || (equals && is_one_of(names_with_equals, name.text)) ||
         (equals && name.in_query && is_one_of(names_in_queries, name.text));
}

std::size_t end_of_value(std::string_view text, std::size_t begin, bool line) {
  const std::string_view ends = line ? "\r\n\"'<>" : "&;, \t\r\n\"'<>)]}";
  for (std::size_t at = begin; at < text.size(); ++at)
    if (ends.find(text[at]) != std::string_view::npos || (!line && decoded_at(text, at) == '&')) return at;
  return text.size();
}

// The position of "@" in "://user:password@", if "://" is at `at`.
std::optional<std::size_t> user_end(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("://")) return std::nullopt;
  const std::size_t end = std::min(text.find_first_of("/ \t\r\n\"'<>", at + 3), text.size());
  const std::size_t sign = text.substr(0, end).rfind('@');
  if (sign == std::string_view::npos || sign < at + 3) return std::nullopt;
  return sign;
}

std::string without(std::string text, std::string_view secret) {
  if (secret.size() < shortest_secret) return text;
  for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + stars.size()))
    text.replace(at, secret.size(), stars);
  return text;
}

std::string without_named_secrets(std::string_view text) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    if (const auto sign = user_end(text, at)) {
      result.append("://").append(stars);
      at = *sign;
      continue;
    }
    const std::size_t separator = separator_at(text, at);
    if (separator == 0) {
      result += text[at++];
      continue;
    }
    const Name name = name_before(text, at);
    const bool secret = is_secret(name, text[at] != ':');
    result.append(text.substr(at, separator));
    at += separator;
    if (!secret) continue;
    while (at < text.size() && (text[at] == ' ' || text[at] == '"' || text[at] == '\'')) result += text[at++];
    const std::size_t end = end_of_value(text, at, is_one_of(names_of_lines, name.text));
    if (end > at) result.append(stars);
    at = end;
  }
  return result;
}

}  // namespace

std::string redacted(std::string_view text, std::initializer_list<std::string_view> known) {
  std::string result(text);
  for (const std::string_view secret : known) result = without(std::move(result), secret);
  if (result.find_first_of("=:%@") == std::string::npos) return result;
  return without_named_secrets(result);
}

}  // namespace colonnade
