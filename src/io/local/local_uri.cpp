// The path of a local URI.
#include <fmt/format.h>

#include <algorithm>

#include "io/local/local_file.h"

namespace colonnade::io {
namespace {

int hex_digit(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text, const std::string& uri) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0 || (high == 0 && low == 0))
      throw Error(ErrorKind::usage, fmt::format("the URI has a broken percent sequence at character {}", i),
                  "write a plain path, or %25 for a percent sign", {.uri = uri});
    result.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return result;
}

}  // namespace

std::string local_path(const std::string& uri) {
  return local_path(uri, "file:");
}

std::string local_path(const std::string& uri, std::string_view scheme) {
  std::string_view rest = uri;
  const bool is_uri = rest.size() >= scheme.size() &&
                      std::equal(scheme.begin(), scheme.end(), rest.begin(), [](char a, char b) {
                        return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
                      });
  if (!is_uri) {
    if (rest.find('\0') != std::string_view::npos)
      throw Error(ErrorKind::usage, "the path contains a zero byte", "check the path");
    return uri;
  }
  rest.remove_prefix(scheme.size());
  if (!rest.starts_with("//")) return std::string(rest);
  rest.remove_prefix(2);
  const std::size_t slash = rest.find('/');
  const std::string_view host = rest.substr(0, slash);
  if (slash == std::string_view::npos || (!host.empty() && host != "localhost"))
    throw Error(ErrorKind::usage,
                fmt::format("the URI names the host \"{}\" but {} is for local files", host, scheme),
                fmt::format("{}///absolute/path, with three slashes", scheme), {.uri = uri});
  return percent_decoded(rest.substr(slash), uri);
}

}  // namespace colonnade::io
