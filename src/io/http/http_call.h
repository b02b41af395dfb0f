// One request to a web server, from its description to its last answer: with credentials for the server that
// it was meant for, along redirections, repeated while that may help, and turned into an error that says what
// to do.
#ifndef COLONNADE_IO_HTTP_HTTP_CALL_H
#define COLONNADE_IO_HTTP_HTTP_CALL_H

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "colonnade/error.h"
#include "io/http/http_attempts.h"
#include "io/http/http_credentials.h"
#include "io/http/http_url.h"

namespace colonnade::io {

struct HttpCall {
  std::string action;  // of messages: "read", "write"
  HttpUrl url;
  // Where an earlier request was sent on to: asked first, and left again if it refuses.
  std::optional<HttpUrl> shortcut = {};
  HttpMethod method = HttpMethod::get;
  HttpHeaders headers = {};  // names in lower case
  std::vector<ByteSpan> parts = {};
  MutableByteSpan into = {};
  std::size_t max_body = std::size_t{4} << 10;
  bool whole_body = false;
  bool answer_takes_long = false;  // the server may work for minutes before it answers
  unsigned most_attempts = HttpRetryPolicy{}.most_attempts;
};

struct HttpReply {
  HttpAnswer http;
  HttpUrl from;  // the answering server, after all redirections
  HttpOutcome outcome;
};

// Ways to one server. Constant, for any number of threads.
class HttpCaller {
 public:
  using Done = std::function<void(HttpReply&& reply)>;

  // Throws ErrorKind::usage for an invalid URI and contradictory settings, and
  // ErrorKind::unsupported where this build has no HTTP.
  explicit HttpCaller(const std::string& uri);

  const std::string& uri() const noexcept { return uri_; }
  const HttpUrl& url() const noexcept { return url_; }

  HttpReply call(HttpCall call) const;
  std::pair<HttpReply, HttpReply> call_both(HttpCall first, HttpCall second) const;  // at the same time
  // `done` as HttpEngine::start() has it; `this` must live until then, or until `owner` is cancelled there.
  void start(HttpEngine& engine, const void* owner, std::shared_ptr<const HttpCall> call, Done done) const;

  // What is wrong with a reply that is not good.
  Error error(const HttpCall& call, const HttpReply& reply) const;

 private:
  class Attempts;

  std::chrono::milliseconds transfer_time(const HttpCall& call) const noexcept;
  bool may_know_credentials(const HttpUrl& server) const;
  std::string advice(const HttpReply& reply) const;

  std::string uri_;
  HttpUrl url_;
  HttpCredentials credentials_;
  std::chrono::milliseconds timeout_{60'000};
};

}  // namespace colonnade::io

#endif
