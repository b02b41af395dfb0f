// HTTP for the transports that need it: requests and answers over libcurl's multi interface. An engine has
// one thread, started at its first request, which moves all bytes: bodies are read from where the caller has
// them and answers are written to where the caller wants them.
//
//   caller's threads                      the engine's thread
//   start(request, done) ----inbox---->   at most `max_active` transfers in libcurl, the others wait in order
//   cancel(owner)        ----inbox---->   done(request, answer): may start the request again
//
// It knows nothing of any service: no signatures, no retries, no redirects. Certificates are always checked,
// against the file of SSL_CERT_FILE or CURL_CA_BUNDLE or the folder of SSL_CERT_DIR where those are set;
// proxies are taken from the environment as curl does (http_proxy, https_proxy, all_proxy, no_proxy).
#ifndef COLONNADE_IO_HTTP_HTTP_ENGINE_H
#define COLONNADE_IO_HTTP_HTTP_ENGINE_H

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace colonnade::io {

enum class HttpMethod { get, head, put, post, remove, move };
constexpr bool only_reads(HttpMethod method) noexcept {
  return method == HttpMethod::get || method == HttpMethod::head;
}
const char* name_of(HttpMethod method) noexcept;  // "GET"

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  HttpMethod method = HttpMethod::get;
  std::string url;              // http: or https:, encoded
  HttpHeaders headers;          // sent besides Host and Content-Length
  std::string text;             // the body of put and post, followed by
  std::vector<ByteSpan> parts;  // these, whose memory must stay

  // The body of an answer with the status `into_status` (or of a 200 with exactly as many bytes, when
  // `into_status` is 206) is written here, and is an error if it is longer. Any other body goes to
  // HttpAnswer::body and is cut off after `max_body` bytes.
  MutableByteSpan into;
  int into_status = 206;
  std::size_t max_body = std::size_t{1} << 20;
  bool whole_body = false;  // nothing is read of a body that says to be longer than `max_body`

  std::string ca_file;             // instead of the environment's
  std::string ca_folder;           // the same
  std::string client_certificate;  // a file in PEM form, with the whole chain
  std::string client_key;
  // Names and passwords of servers are looked up in this file (netrc), for requests that bring none.
  std::string netrc_file;
  bool direct = false;                 // through no proxy
  bool waits_for_go_ahead = false;     // before a body is sent ("Expect: 100-continue")
  std::chrono::milliseconds delay{0};  // before it begins, at the earliest
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds stall_timeout{20'000};  // without (nearly) any byte moved
  std::chrono::milliseconds timeout{300'000};       // all in all, from the moment it begins
};

enum class HttpFailure {
  none,       // there is an answer, with whatever status
  refused,    // no connection: name not known, connection refused
  dropped,    // the connection was lost before the answer was complete
  timed_out,  // one of the three timeouts
  too_large,  // the answer is larger than was asked for
  tls,        // the certificate or the handshake
  cancelled,
  no_memory,  // here
  other
};

struct HttpAnswer {
  HttpFailure failure = HttpFailure::none;
  std::string problem;                // of a failure, for people
  int status = 0;                     // 0: there was none
  HttpHeaders headers;                // names in lower case
  Bytes body;                         // what did not go to `into`
  bool cut_off = false;               // of `body`
  std::size_t written = 0;            // bytes in `into`
  std::size_t sent = 0;               // bytes of the request's body
  bool was_asked = false;             // the server may have seen the request
  std::chrono::milliseconds took{0};  // from the moment it began

  const std::string* header(std::string_view lower_case_name) const noexcept;
  std::string header_or_empty(std::string_view lower_case_name) const;
  bool has_status(int which) const noexcept { return failure == HttpFailure::none && status == which; }
  bool is_good() const noexcept { return failure == HttpFailure::none && status >= 200 && status < 300; }
};

struct HttpCounters {
  std::uint64_t requests = 0;     // begun
  std::uint64_t connections = 0;  // opened
  std::uint64_t received = 0;     // bytes of bodies
};

class HttpEngine {
 public:
  // Gets the request back, so that it can be started again. Runs on the engine's thread: short, never waits,
  // never throws.
  using Done = std::function<void(HttpRequest&& request, HttpAnswer&& answer)>;

  HttpEngine();
  explicit HttpEngine(unsigned max_active);
  ~HttpEngine();  // cancels what is left; nothing is called any more
  HttpEngine(const HttpEngine&) = delete;
  HttpEngine& operator=(const HttpEngine&) = delete;

  // The process's engine; a forked child gets its own. Throws ErrorKind::unsupported without libcurl.
  static HttpEngine& shared();
  static bool is_built_in() noexcept;

  // From any thread; `done` is called once, unless `owner` is cancelled first. Throws ErrorKind::resource if
  // there can be no thread, ErrorKind::usage in a child of the process that made the engine and for headers
  // of several lines.
  void start(HttpRequest request, const void* owner, Done done);
  // Ends all requests of `owner`: afterwards their memory is not touched, and their `done` is not called.
  // Meanwhile only their `done` may start others for `owner`. Must not be called from within a `done`.
  void cancel(const void* owner) noexcept;
  // start() and wait.
  std::pair<HttpRequest, HttpAnswer> perform(HttpRequest request);

  HttpCounters counters() const noexcept;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace colonnade::io

#endif
