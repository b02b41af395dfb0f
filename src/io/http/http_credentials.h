// Who asks an HTTP server, found where grid tools and curl look, in this order (the first that says something
// counts):
//
//   user and password   in the URL
//   bearer token        BEARER_TOKEN; the file BEARER_TOKEN_FILE; $XDG_RUNTIME_DIR/bt_u<uid>; /tmp/bt_u<uid>,
//                       if it is the user's own (the WLCG's bearer token discovery)
//   user and password   of the host in NETRC or ~/.netrc
//
// and besides, for TLS, X509_USER_PROXY, or X509_USER_CERT with X509_USER_KEY, and the folder X509_CERT_DIR
// of certificate authorities. Nothing of it goes over plain HTTP to another machine, unless
// COLONNADE_HTTP_TOKEN_OVER_HTTP=1 allows it, and nothing to a server that a redirection names.
#ifndef COLONNADE_IO_HTTP_HTTP_CREDENTIALS_H
#define COLONNADE_IO_HTTP_HTTP_CREDENTIALS_H

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/secret.h"

namespace colonnade::io {

// When a token ends: "exp" of a JSON Web Token; nullopt for tokens of other kinds.
std::optional<std::chrono::system_clock::time_point> expiry_of_token(const std::string& token);

// A token that is read again when its file has changed or when it is about to expire. For any thread.
class BearerToken {
 public:
  static constexpr std::chrono::seconds margin{60};  // before it expires

  // Of the process's environment.
  static std::shared_ptr<BearerToken> discover();
  // Where the token comes from, for messages: "BEARER_TOKEN", a path; empty if there is none.
  std::string source() const;
  // Reads the file again if it has changed, or if the server has refused the last one.
  Secret current(bool was_refused = false);  // empty: none

 private:
  struct FoundToken {
    Secret token;
    std::string source;
    std::string file;  // empty: the environment
    std::int64_t changed = 0;
    std::optional<std::chrono::system_clock::time_point> expiry;
  };
  static FoundToken find();

  mutable std::mutex mutex_;
  FoundToken found_;
};

struct HttpCredentials {
  std::shared_ptr<BearerToken> token;  // never null
  std::string netrc_file;              // empty: none
  std::string certificate;             // of the client; empty: none
  std::string key;
  std::string authorities;       // a folder; empty: the system's
  bool may_go_in_clear = false;  // over plain HTTP to other machines
};
HttpCredentials find_http_credentials();

}  // namespace colonnade::io

#endif
