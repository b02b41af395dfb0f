// URLs as HTTP transports need them: their parts, where a redirection leads, names in paths.
#ifndef COLONNADE_IO_HTTP_HTTP_URL_H
#define COLONNADE_IO_HTTP_HTTP_URL_H

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace colonnade::io {

// "https://user:password@host:port/path?query"; a fragment is dropped.
struct HttpUrl {
  std::string scheme;  // "http" or "https"
  std::string user;    // decoded, as the password is
  std::string password;
  std::string host;   // as in the URL, "[::1]" with brackets
  std::string port;   // never empty
  std::string path;   // from the first slash on, encoded
  std::string query;  // encoded, without the question mark

  bool has_user() const noexcept { return !user.empty() || !password.empty(); }
  bool is_encrypted() const noexcept { return scheme == "https"; }
  bool is_same_server(const HttpUrl& other) const noexcept;
  std::string server() const;  // "https://host:port", the port only where it is not the usual one
  std::string text() const;    // without user and password
};

// Letters that may not stand in a URL are encoded; what is encoded stays. Throws ErrorKind::usage for what is
// none.
HttpUrl parse_http_url(const std::string& text);
// Where the reference leads ("../x", "//host/x", a whole URL); nullopt: nowhere that http or https reach.
std::optional<HttpUrl> resolved(const HttpUrl& base, const std::string& reference);

// Of a host as URLs have it, maybe with a port. Names are believed only where they cannot mean another
// machine.
bool is_this_machine(std::string host);

// Everything but letters, digits and "-_.~" as %XX; of a path the slashes stay.
std::string url_encoded(std::string_view text, bool keep_slashes);
std::string url_decoded(std::string_view text);

// For messages: one line, no control characters, not endless.
std::string in_one_line(std::string_view text);

}  // namespace colonnade::io

#endif
