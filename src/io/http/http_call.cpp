// See http_call.h.
#include "io/http/http_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/base64.h"
#include "base/redacted.h"
#include "io/http/http_retry.h"

namespace colonnade::io {
namespace {

// A connection that moves less has not much longer than the timeout: bytes per second.
constexpr std::size_t slowest_transfer = std::size_t{1} << 20;
constexpr std::chrono::milliseconds longest_to_connect{10'000};
constexpr std::chrono::milliseconds longest_standstill{20'000};
constexpr unsigned most_redirections = 10;
constexpr unsigned most_renewals = 5;  // of a token, for one request

std::chrono::milliseconds timeout_from_environment() {
  const char* text = std::getenv("COLONNADE_HTTP_TIMEOUT");
  if (text == nullptr || *text == '\0') return std::chrono::milliseconds(60'000);
  const std::string_view digits(text);
  double seconds = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (code != std::errc() || end != digits.data() + digits.size() || !(seconds > 0 && seconds <= 86400))
    throw Error(ErrorKind::usage, fmt::format("COLONNADE_HTTP_TIMEOUT is \"{}\"", digits),
                "a number of seconds up to 86400");
  return std::chrono::milliseconds(std::max<std::int64_t>(static_cast<std::int64_t>(seconds * 1000), 1));
}

// 303 names what to read instead; to a request that writes, it is an answer.
bool is_redirection(int status, HttpMethod method) noexcept {
  return status == 301 || status == 302 || status == 307 || status == 308 ||
         (status == 303 && only_reads(method));
}

// Of where a redirection led: it holds for a while, the place that it came from knows the next one.
bool has_lost_its_way(const HttpAnswer& answer) noexcept {
  constexpr std::array statuses{400, 401, 403, 404, 410};
  return answer.failure != HttpFailure::none ||
         std::find(statuses.begin(), statuses.end(), answer.status) != statuses.end();
}

}  // namespace

HttpCaller::HttpCaller(const std::string& uri)
    : uri_(uri),
      url_(parse_http_url(uri)),
      credentials_(find_http_credentials()),
      timeout_(timeout_from_environment()) {}

std::chrono::milliseconds HttpCaller::transfer_time(const HttpCall& call) const noexcept {
  std::size_t size = std::max(call.into.size(), call.max_body);
  for (const ByteSpan part : call.parts) size += part.size();
  return std::chrono::milliseconds(size / (slowest_transfer / 1000));
}

bool HttpCaller::may_know_credentials(const HttpUrl& server) const {
  return server.is_same_server(url_) &&
         (server.is_encrypted() || is_this_machine(server.host) || credentials_.may_go_in_clear);
}

class HttpCaller::Attempts final : public HttpAttempts {
 public:
  Attempts(const HttpCaller& caller, HttpEngine& engine, const void* owner,
           std::shared_ptr<const HttpCall> call, Done done)
      : HttpAttempts(engine, owner,
                     {.timeout = caller.timeout_,
                      .transfer = caller.transfer_time(*call),
                      .most_attempts = call->most_attempts}),
        caller_(&caller),
        call_(std::move(call)),
        done_(std::move(done)),
        url_(call_->shortcut.value_or(call_->url)) {}

 private:
  HttpRequest request(std::chrono::milliseconds time_left) override {
    HttpRequest request;
    request.method = call_->method;
    request.url = url_.text();
    request.headers = call_->headers;
    request.parts = call_->parts;
    request.waits_for_go_ahead = !call_->parts.empty();  // it may be sent on to another server
    request.into = call_->into;
    request.max_body = call_->max_body;
    request.whole_body = call_->whole_body;
    request.ca_folder = caller_->credentials_.authorities;
    const auto third = std::max(caller_->timeout_ / 3, std::chrono::milliseconds(1));
    request.connect_timeout = std::min(third, longest_to_connect);
    request.stall_timeout = call_->answer_takes_long ? time_left : std::min(third, longest_standstill);
    request.timeout = time_left;
    if (caller_->may_know_credentials(url_)) add_credentials(request);
    return request;
  }

  void add_credentials(HttpRequest& request) {
    const HttpCredentials& ours = caller_->credentials_;
    request.client_certificate = ours.certificate;
    request.client_key = ours.key;
    if (caller_->url_.has_user()) {
      const std::string pair = caller_->url_.user + ":" + caller_->url_.password;
      request.headers.emplace_back("authorization", "Basic " + to_base64(as_bytes(pair)));
      return;
    }
    token_ = ours.token->current().reveal();
    if (!token_.empty())
      request.headers.emplace_back("authorization", "Bearer " + token_);
    else
      request.netrc_file = ours.netrc_file;
  }

  Verdict judge(const HttpAnswer& answer) override {
    if (answer.failure == HttpFailure::none && is_redirection(answer.status, call_->method)) {
      const std::optional<HttpUrl> target = resolved(url_, answer.header_or_empty("location"));
      if (!target || ++redirections_ > most_redirections) return Verdict::final;
      url_ = *target;
      return Verdict::next;
    }
    if (call_->shortcut && !came_back_ && has_lost_its_way(answer)) {
      came_back_ = true;
      url_ = call_->url;
      return Verdict::next;
    }
    // Somebody may have renewed the token since it was read, and may do so again meanwhile.
    if (answer.has_status(401) && renewals_ < most_renewals && caller_->may_know_credentials(url_) &&
        !caller_->url_.has_user() && caller_->credentials_.token->current(true).reveal() != token_) {
      ++renewals_;
      return Verdict::next;
    }
    return may_pass(answer) ? Verdict::pass : Verdict::final;
  }

  void finish(HttpAnswer&& answer, const HttpOutcome& outcome) override {
    done_(HttpReply{std::move(answer), std::move(url_), outcome});
  }

  const HttpCaller* caller_;
  std::shared_ptr<const HttpCall> call_;
  Done done_;
  HttpUrl url_;
  std::string token_;  // that was sent last
  unsigned redirections_ = 0;
  bool came_back_ = false;
  unsigned renewals_ = 0;
};

void HttpCaller::start(HttpEngine& engine, const void* owner, std::shared_ptr<const HttpCall> call,
                       Done done) const {
  std::make_shared<Attempts>(*this, engine, owner, std::move(call), std::move(done))->begin();
}

HttpReply HttpCaller::call(HttpCall call) const {
  HttpEngine& engine = HttpEngine::shared();
  const void* const owner = only_reads(call.method) ? &call : nullptr;
  return wait_for_answer<HttpReply>(engine, owner, [&](auto done) {
    start(engine, owner, std::make_shared<const HttpCall>(std::move(call)), done);
  });
}

std::pair<HttpReply, HttpReply> HttpCaller::call_both(HttpCall first, HttpCall second) const {
  HttpEngine& engine = HttpEngine::shared();
  std::pair<HttpReply, HttpReply> replies;
  replies.first = wait_for_answer<HttpReply>(engine, &replies, [&](auto done) {
    replies.second = wait_for_answer<HttpReply>(engine, &replies, [&](auto other_done) {
      try {
        start(engine, &replies, std::make_shared<const HttpCall>(std::move(first)), done);
        start(engine, &replies, std::make_shared<const HttpCall>(std::move(second)), other_done);
      } catch (...) {
        engine.cancel(&replies);
        throw;
      }
    });
  });
  return replies;
}

std::string HttpCaller::advice(const HttpReply& reply) const {
  const HttpAnswer& http = reply.http;
  switch (http.failure) {
    case HttpFailure::refused:
      return "check the name of the server, and whether it is running";
    case HttpFailure::tls:
      if (const auto text = certificate_advice(http.problem); !text.empty()) return std::string(text);
      return "set X509_CERT_DIR or SSL_CERT_FILE to the certificates that vouch for the server, and "
             "X509_USER_PROXY to yours if it wants one; or http://, if it has no TLS";
    case HttpFailure::dropped:
    case HttpFailure::timed_out:
      return "try again later; COLONNADE_HTTP_TIMEOUT sets for how long it is tried";
    case HttpFailure::too_large:
    case HttpFailure::other:
      return "check the proxies between here and the server";
    default:
      break;
  }
  if (http.status == 401 || http.status == 403) {
    if (!may_know_credentials(url_) && (!credentials_.token->current().empty() || url_.has_user()))
      return "an https:// URL: credentials do not go over plain HTTP to another machine unless "
             "COLONNADE_HTTP_TOKEN_OVER_HTTP=1 allows it";
    const std::string source = credentials_.token->source();
    if (source.empty() || credentials_.token->current().empty())
      return fmt::format(
          "a token in BEARER_TOKEN or BEARER_TOKEN_FILE{}, a certificate in X509_USER_PROXY, or an "
          "entry in ~/.netrc",
          source.empty() ? "" : fmt::format(" ({})", source));
    return fmt::format("ask for a token that allows it (this one came from {})", source);
  }
  if (http.status == 404 || http.status == 410) return "check the path, upper and lower case included";
  if (http.status == 405 || http.status == 501)
    return "a server with WebDAV, or a local file that is copied to the server";
  if (http.status == 409) return "make the folder first";
  if (http.status == 413 || http.status == 507) return "several files, or more room on the server";
  if (may_pass(http) || http.status >= 500) return "try again later, or with less at a time";
  return "check the URL, and the proxies between here and the server";
}

Error HttpCaller::error(const HttpCall& call, const HttpReply& reply) const {
  const HttpAnswer& http = reply.http;
  std::string what = fmt::format("cannot {} the file at {}", call.action, url_.server());
  if (!reply.from.is_same_server(url_) && !reply.from.host.empty())
    what += fmt::format(" (it sent us on to {})", reply.from.server());
  std::string tries;
  if (reply.outcome.attempts > 1)
    tries = fmt::format(", after {} attempts in {:.1f} s", reply.outcome.attempts,
                        static_cast<double>(reply.outcome.took.count()) / 1000);
  const ErrorContext where{.uri = uri_};
  if (http.failure == HttpFailure::no_memory)
    return {ErrorKind::resource, what + ": there is no memory for the request", "", where};
  if (http.failure != HttpFailure::none) {
    const std::string token = credentials_.token->current().reveal();
    const std::string said = in_one_line(redacted(http.problem, {token, url_.password}));
    return {ErrorKind::io, fmt::format("{}: {}{}", what, said, tries), advice(reply), where};
  }
  std::string why = "the server refused";
  ErrorKind kind = ErrorKind::io;
  if (http.status == 404 || http.status == 410) {
    kind = ErrorKind::not_found;
    why = "there is no such file";
  } else if (http.status == 401) {
    why = "the server does not know who asks";
  } else if (http.status == 403) {
    why = "the server does not allow it";
  } else if (is_redirection(http.status, call.method)) {
    why = fmt::format("it is sent on and on, or to \"{}\", where HTTP does not reach",
                      in_one_line(redacted(http.header_or_empty("location"))));
  } else if (http.status == 405 || http.status == 501) {
    kind = ErrorKind::unsupported;
    why = "the server does not do that";
  } else if (http.status == 409) {
    why = "there is no such folder, or something else in its place";
  } else if (http.status == 413 || http.status == 507) {
    kind = ErrorKind::resource;
    why = "the server has no room for a file as large";
  } else if (http.status >= 500) {
    why = "the server failed";
  }
  return {kind, fmt::format("{}: {} (status {}{})", what, why, http.status, tries), advice(reply), where};
}

}  // namespace colonnade::io
