// See xrootd_place.h.
#include "io/xrootd/xrootd_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/lower_case.h"
#include "colonnade/error.h"

namespace colonnade::io {
namespace {

constexpr char separator = '\n';  // of the key: it is in no URI

bool is_name_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '_' ||
         letter == '-';
}

[[noreturn]] void refuse_uri(const std::string& uri, const char* problem) {
  throw Error(ErrorKind::usage, problem, "root://host//folder/name.root, with two slashes before the path",
              {.uri = uri});
}

}  // namespace

std::size_t xrootd_query_at(std::string_view uri) {
  for (std::size_t at = uri.find('?'); at != std::string_view::npos; at = uri.find('?', at + 1)) {
    std::size_t end = at + 1;
    while (end < uri.size() && is_name_letter(uri[end])) ++end;
    if (end > at + 1 && end < uri.size() && uri[end] == '=') return at;
  }
  return uri.size();
}

XrootdPlace parse_xrootd_uri(const std::string& uri) {
  const std::size_t colon = uri.find(':');
  for (const char letter : uri)
    if (static_cast<unsigned char>(letter) < 0x20) refuse_uri(uri, "the URI has a control character");
  if (colon == std::string::npos || uri.compare(colon, 3, "://") != 0)
    refuse_uri(uri, "the URI names no server");
  const std::size_t query = xrootd_query_at(uri);
  const std::size_t host = colon + 3;
  const std::size_t slash = uri.find('/', host);
  if (slash == host || slash == std::string::npos || slash >= query)
    refuse_uri(uri, "the URI names no server or no file");
  XrootdPlace place;
  place.server = uri.substr(0, slash);
  for (std::size_t i = 0; i < colon; ++i) place.server[i] = lower_case(place.server[i]);
  place.path = uri.substr(slash + 1, query - slash - 1);
  if (place.path.empty()) refuse_uri(uri, "the URI names no file");
  if (query < uri.size()) place.query = uri.substr(query + 1);
  return place;
}

std::string XrootdPlace::host() const {
  std::string_view rest = std::string_view(server).substr(server.find("://") + 3);
  rest.remove_prefix(std::min(rest.rfind('@') + 1, rest.size()));  // npos + 1 is nothing
  if (rest.starts_with('[')) return std::string(rest.substr(1, rest.find(']') - 1));
  return std::string(rest.substr(0, rest.find(':')));
}

std::string XrootdPlace::path_with_query() const {
  return query.empty() ? path : fmt::format("{}?{}", path, query);
}

std::string XrootdPlace::url() const {
  return fmt::format("{}/{}", server, path_with_query());
}

std::string XrootdPlace::key() const {
  // With a folder always, so that names beside it are made in the server's.
  const char* folder = path.find('/') == std::string::npos ? "./" : "";
  return fmt::format("{}{}{}{}{}{}", query, separator, server, separator, folder, path);
}

XrootdPlace XrootdPlace::of_key(std::string_view key) {
  const std::size_t first = key.find(separator);
  const std::size_t second = key.find(separator, first + 1);
  std::string_view path = key.substr(second + 1);
  if (path.starts_with("./")) path.remove_prefix(2);
  return {.server = std::string(key.substr(first + 1, second - first - 1)),
          .path = std::string(path),
          .query = std::string(key.substr(0, first))};
}

}  // namespace colonnade::io
