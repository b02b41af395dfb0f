// See http_url.h. URLs are taken apart by libcurl, as it will when it sends the request.
#include "io/http/http_url.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <memory>

#include "base/lower_case.h"
#include "colonnade/error.h"
#include "io/http/http_engine.h"

#ifdef COLONNADE_HAS_HTTP
#include <curl/curl.h>
#endif

namespace colonnade::io {

std::string url_encoded(std::string_view text, bool keep_slashes) {
  static constexpr char digits[] = "0123456789ABCDEF";
  constexpr std::string_view stay = "-_.~";
  std::string result;
  result.reserve(text.size());
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    const bool is_plain = code < 0x80 && std::isalnum(code) != 0;
    if (is_plain || stay.find(letter) != std::string_view::npos || (keep_slashes && letter == '/'))
      result.push_back(letter);
    else
      result.append({'%', digits[code >> 4], digits[code & 15]});
  }
  return result;
}

std::string url_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16).ptr == text.data() + i + 3) {
      result.push_back(static_cast<char>(code));
      i += 2;
    } else {
      result.push_back(text[i]);
    }
  }
  return result;
}

std::string in_one_line(std::string_view text) {
  constexpr std::size_t longest = 300;
  std::string result;
  for (const char letter : text.substr(0, longest))
    result.push_back(static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f ? ' ' : letter);
  return result;
}

bool is_this_machine(std::string host) {
  const std::size_t port = host.rfind(':');
  if (port != std::string::npos && host.find_first_not_of("0123456789", port + 1) == std::string::npos &&
      (host.find(':') == port || (port > 0 && host[port - 1] == ']')))
    host.resize(port);
  host = lower_case(host);
  if (host == "localhost" || host.ends_with(".localhost") || host == "[::1]") return true;
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

bool HttpUrl::is_same_server(const HttpUrl& other) const noexcept {
  return scheme == other.scheme && host == other.host && port == other.port;
}

std::string HttpUrl::server() const {
  const bool usual = port == (is_encrypted() ? "443" : "80");
  return usual ? fmt::format("{}://{}", scheme, host) : fmt::format("{}://{}:{}", scheme, host, port);
}

std::string HttpUrl::text() const {
  return query.empty() ? server() + path : fmt::format("{}{}?{}", server(), path, query);
}

#ifndef COLONNADE_HAS_HTTP

HttpUrl parse_http_url(const std::string&) {
  HttpEngine::shared();  // throws what is missing
  return {};
}
std::optional<HttpUrl> resolved(const HttpUrl&, const std::string&) {
  return std::nullopt;
}

#else

namespace {

using CurlUrl = std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)>;
constexpr unsigned how_to_parse = CURLU_URLENCODE | CURLU_PATH_AS_IS;

std::string part_of_url(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (::curl_url_get(url, part, &text, flags) != CURLUE_OK || text == nullptr) return {};
  const std::unique_ptr<char, decltype(&::curl_free)> owner(text, &::curl_free);
  return text;
}

std::optional<HttpUrl> parts_of_url(CURLU* url) {
  HttpUrl parts;
  parts.scheme = part_of_url(url, CURLUPART_SCHEME);
  parts.host = lower_case(part_of_url(url, CURLUPART_HOST));
  if ((parts.scheme != "http" && parts.scheme != "https") || parts.host.empty()) return std::nullopt;
  parts.port = part_of_url(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  parts.user = part_of_url(url, CURLUPART_USER, CURLU_URLDECODE);
  parts.password = part_of_url(url, CURLUPART_PASSWORD, CURLU_URLDECODE);
  parts.path = part_of_url(url, CURLUPART_PATH);
  parts.query = part_of_url(url, CURLUPART_QUERY);
  return parts;
}

}  // namespace

HttpUrl parse_http_url(const std::string& text) {
  const CurlUrl url(::curl_url(), &::curl_url_cleanup);
  if (url == nullptr) throw std::bad_alloc();
  std::optional<HttpUrl> parts;
  if (::curl_url_set(url.get(), CURLUPART_URL, text.c_str(), how_to_parse) == CURLUE_OK)
    parts = parts_of_url(url.get());
  if (!parts)
    throw Error(ErrorKind::usage, "this is not a URL", "https://host/folder/file.root", {.uri = text});
  return *std::move(parts);
}

std::optional<HttpUrl> resolved(const HttpUrl& base, const std::string& reference) {
  const CurlUrl url(::curl_url(), &::curl_url_cleanup);
  if (url == nullptr) throw std::bad_alloc();
  if (::curl_url_set(url.get(), CURLUPART_URL, base.text().c_str(), how_to_parse) != CURLUE_OK ||
      ::curl_url_set(url.get(), CURLUPART_URL, reference.c_str(), how_to_parse) != CURLUE_OK)
    return std::nullopt;
  return parts_of_url(url.get());
}

#endif

}  // namespace colonnade::io
