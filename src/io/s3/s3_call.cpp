// See s3_call.h.
#include "io/s3/s3_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/redacted.h"
#include "io/http/http_attempts.h"
#include "io/http/http_retry.h"
#include "io/s3/s3_client.h"
#include "io/s3/s3_xml.h"

namespace colonnade::io {
namespace {

// Bodies up to here are signed with their hash, larger ones only where TLS does not protect them: bytes.
constexpr std::size_t largest_hashed_body = std::size_t{64} << 10;
// A connection that moves less has not much longer than the timeout: bytes per second.
constexpr std::size_t slowest_rate = std::size_t{1} << 20;
// Servers on file systems copy the parts of an upload: bytes per second.
constexpr std::size_t slowest_joining = std::size_t{16} << 20;
constexpr std::size_t largest_error = std::size_t{64} << 10;  // bytes of an answer
constexpr std::chrono::milliseconds longest_connect{10'000};
constexpr std::chrono::milliseconds longest_stall{20'000};

// What an answer says of an error, with nothing else of it.
S3Answer error_in(const HttpAnswer& http) {
  S3Answer answer;
  // Some operations say that they failed after they have said 200, and blanks as long as they worked.
  if (http.failure != HttpFailure::none || http.body.empty()) return answer;
  const std::string_view text(reinterpret_cast<const char*>(http.body.data()), http.body.size());
  if (http.status < 300 && text.substr(0, largest_error).find("<Error") == std::string_view::npos)
    return answer;
  const auto document = parse_xml(text);
  if (!document || document->name != "Error") return answer;
  answer.code = document->child_text("Code");
  answer.message = document->child_text("Message");
  if (answer.code.empty()) answer.code = "Error";
  return answer;
}

bool is_bucket_name(std::string_view name) noexcept {
  return name.find('.') == std::string_view::npos;
}

// Host and port as browsers and libcurl write them: without the port that the scheme has anyway.
std::string host_header(std::string_view scheme, std::string host) {
  const std::string_view usual = scheme == "https" ? ":443" : ":80";
  if (host.ends_with(usual)) host.resize(host.size() - usual.size());
  return host;
}

void refuse_open_token(const S3Credentials& keys, const S3Settings& settings, const std::string& base,
                       const std::string& host) {
  if (keys.session_token.empty() || settings.token_over_http || is_this_machine(host)) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("the session token would go to {} without encryption, where anybody on the way can read it",
                  base),
      "an https:// endpoint, keys without a token, or COLONNADE_S3_TOKEN_OVER_HTTP=1 in a network that "
      "you trust");
}

std::string request_id(const HttpAnswer& answer) {
  const std::string* id = answer.header("x-amz-request-id");
  return id == nullptr || id->empty() ? "" : fmt::format(", request {}", in_one_line(*id));
}

// The session may have ended before its time, or by another clock than this machine's; the keys may have been
// replaced by others.
bool says_of_keys(std::string_view code) noexcept {
  constexpr std::array<std::string_view, 7> codes{
      "ExpiredToken",       "TokenRefreshRequired", "InvalidToken",         "InvalidTokenId",
      "InvalidAccessKeyId", "XAdminUserNotFound",   "SignatureDoesNotMatch"};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

bool may_pass(const HttpAnswer& answer, std::string_view code) noexcept {
  constexpr std::array<std::string_view, 8> codes{
      "SlowDown",         "RequestTimeout", "InternalError", "ServiceUnavailable",
      "OperationAborted", "IncompleteBody", "BadDigest",     "ConditionalRequestConflict"};
  return may_pass(answer) ||
         (answer.failure == HttpFailure::none && std::find(codes.begin(), codes.end(), code) != codes.end());
}

S3Caller::S3Caller(std::string bucket, S3Settings settings)
    : bucket_(std::move(bucket)), settings_(std::move(settings)) {
  const bool aws = settings_.endpoint.empty();
  std::string endpoint = settings_.endpoint;
  if (aws)
    endpoint = fmt::format("https://s3.{}.amazonaws.com{}", settings_.region,
                           settings_.region.starts_with("cn-") ? ".cn" : "");
  const std::size_t colon = endpoint.find("://");
  const std::string scheme = endpoint.substr(0, colon);
  std::string host = endpoint.substr(colon + 3);
  if (const std::size_t slash = host.find('/'); slash != std::string::npos) {
    path_prefix_ = host.substr(slash);
    host.resize(slash);
  }
  // A certificate for *.s3.amazonaws.com is none for a name with another dot.
  if (settings_.path_style || !is_bucket_name(bucket_)) {
    path_prefix_ += "/" + url_encoded(bucket_, false);
  } else {
    host = bucket_ + "." + host;
  }
  host_ = host_header(scheme, host);
  base_ = scheme + "://" + host;
  is_encrypted_ = scheme == "https";
  if (settings_.credentials) static_cast<void>(credentials());
}

std::optional<S3Credentials> S3Caller::credentials() const {
  std::optional<S3Credentials> keys = settings_.credentials;
  if (settings_.identity) keys = settings_.identity->current();
  if (keys && keys->access_key.empty()) return std::nullopt;
  if (keys && !is_encrypted_) refuse_open_token(*keys, settings_, base_, host_);
  return keys;
}

ErrorContext S3Caller::context(const std::string& key) const {
  return {.uri = fmt::format("s3://{}/{}", bucket_, key)};
}

std::chrono::milliseconds S3Caller::transfer_time(const S3Call& call) const noexcept {
  std::size_t size = call.into.size() + call.text.size();
  for (ByteSpan part : call.parts) size += part.size();
  return std::chrono::milliseconds(size / (slowest_rate / 1000) + call.joined / (slowest_joining / 1000));
}

// Takes as long as reading the body: never on the engine's thread.
std::string S3Caller::payload_hash(const S3Call& call) const {
  if (!settings_.credentials && !settings_.identity) return {};
  std::vector<ByteSpan> body{as_bytes(call.text)};
  body.insert(body.end(), call.parts.begin(), call.parts.end());
  std::size_t size = 0;
  for (ByteSpan part : body) size += part.size();
  return is_encrypted_ && size > largest_hashed_body ? unsigned_payload : hex(sha256(body));
}

HttpRequest S3Caller::request(const S3Call& call, const S3Credentials* keys, const std::string& payload_hash,
                              std::chrono::milliseconds time_left) const {
  const std::string path = path_prefix_ + "/" + url_encoded(call.key, true);
  const std::string query = canonical_query(call.query);
  HttpRequest request;
  request.method = call.method;
  request.url = base_ + path + (query.empty() ? "" : "?" + query);
  request.headers = call.headers;
  request.text = call.text;
  request.parts = call.parts;
  request.into = call.into;
  request.max_body = call.max_body;
  request.whole_body = call.whole_body;
  request.ca_file = settings_.ca_file;
  const auto third = std::max(settings_.timeout / 3, std::chrono::milliseconds(1));
  request.connect_timeout = std::min(third, longest_connect);
  request.stall_timeout = call.answer_takes_long ? time_left : std::min(third, longest_stall);
  request.timeout = time_left;
  if (keys != nullptr) sign(call, *keys, payload_hash, path, query, request);
  return request;
}

void S3Caller::sign(const S3Call& call, const S3Credentials& keys, const std::string& payload_hash,
                    const std::string& path, const std::string& query, HttpRequest& request) const {
  S3Signing signing{call.method, path, query, settings_.region};
  signing.time = std::time(nullptr);
  signing.payload_hash = payload_hash;

  request.headers.emplace_back("x-amz-content-sha256", signing.payload_hash);
  request.headers.emplace_back("x-amz-date", amz_date(signing.time));
  if (!keys.session_token.empty())
    request.headers.emplace_back("x-amz-security-token", keys.session_token.reveal());
  HttpHeaders to_sign = request.headers;
  to_sign.emplace_back("host", host_);
  request.headers.emplace_back("authorization", authorization(signing, std::move(to_sign), keys));
}

// The attempts of one call; each is signed anew.
class S3Caller::Attempts final : public HttpAttempts {
 public:
  Attempts(const S3Caller& caller, HttpEngine& engine, const void* owner, std::shared_ptr<const S3Call> call,
           Done done)
      : HttpAttempts(engine, owner,
                     {.timeout = caller.settings_.timeout,
                      .transfer = caller.transfer_time(*call),
                      .most_attempts = call->most_attempts}),
        caller_(&caller),
        call_(std::move(call)),
        done_(std::move(done)),
        keys_(caller.credentials()),
        payload_hash_(caller.payload_hash(*call_)) {}

 private:
  HttpRequest request(std::chrono::milliseconds time_left) override {
    return caller_->request(*call_, keys_ ? &*keys_ : nullptr, payload_hash_, time_left);
  }
  Verdict judge(const HttpAnswer& answer) override {
    told_ = error_in(answer);
    const bool is_good = answer.is_good() && told_.code.empty();
    return !is_good && may_pass(answer, told_.code) ? Verdict::pass : Verdict::final;
  }
  void finish(HttpAnswer&& http, const HttpOutcome& outcome) override {
    told_.http = std::move(http);
    told_.attempts = outcome.attempts;
    told_.took = outcome.took;
    told_.may_be_done = outcome.may_be_done;
    if (keys_ && caller_->settings_.identity && says_of_keys(told_.code)) renew_keys();
    done_(std::move(told_));
  }

  // Without the memory for it, the answer is that the keys were refused.
  void renew_keys() noexcept {
    try {
      caller_->settings_.identity->refuse(*keys_);
      told_.may_renew = true;
    } catch (const std::bad_alloc&) {
    }
  }

  const S3Caller* caller_;
  std::shared_ptr<const S3Call> call_;
  Done done_;
  const std::optional<S3Credentials> keys_;
  const std::string payload_hash_;
  S3Answer told_;
};

void S3Caller::start(HttpEngine& engine, const void* owner, std::shared_ptr<const S3Call> call,
                     Done done) const {
  std::make_shared<Attempts>(*this, engine, owner, std::move(call), std::move(done))->begin();
}

S3Answer S3Caller::call(S3Call call) const {
  HttpEngine& engine = HttpEngine::shared();
  const auto shared = std::make_shared<const S3Call>(std::move(call));
  const void* const owner = only_reads(shared->method) ? shared.get() : nullptr;
  const auto ask = [&] {
    return wait_for_answer<S3Answer>(engine, owner, [&](auto done) { start(engine, owner, shared, done); });
  };
  S3Answer answer = ask();
  return answer.may_renew ? ask() : std::move(answer);
}

std::pair<S3Answer, S3Answer> S3Caller::call_both(S3Call first, S3Call second) const {
  HttpEngine& engine = HttpEngine::shared();
  const auto one = std::make_shared<const S3Call>(std::move(first));
  const auto other = std::make_shared<const S3Call>(std::move(second));
  std::pair<S3Answer, S3Answer> answers;
  const auto ask = [&] {
    answers.first = wait_for_answer<S3Answer>(engine, &answers, [&](auto done) {
      answers.second = wait_for_answer<S3Answer>(engine, &answers, [&](auto other_done) {
        try {
          start(engine, &answers, one, done);
          start(engine, &answers, other, other_done);
        } catch (...) {
          engine.cancel(&answers);
          throw;
        }
      });
    });
  };
  ask();
  if (answers.first.may_renew || answers.second.may_renew) ask();
  return answers;
}

namespace {

struct KnownError {
  std::string_view code;
  ErrorKind kind;
  std::string_view problem;
  std::string_view advice;
};

constexpr std::string_view check_keys =
    "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or the profile (AWS_PROFILE), and that they belong to "
    "this endpoint";
constexpr std::string_view check_region = "set AWS_REGION to the region of the bucket";
constexpr std::string_view check_policy =
    "ask the bucket's owner for the permission, or use the keys of somebody who has it";

constexpr std::array known_errors{
    KnownError{"NoSuchBucket", ErrorKind::not_found, "there is no such bucket",
               "create the bucket, or correct its name or the endpoint"},
    KnownError{"NoSuchKey", ErrorKind::not_found, "there is no such key", "check the key"},
    KnownError{"NoSuchUpload", ErrorKind::io, upload_is_gone, "write it again"},
    KnownError{"InvalidAccessKeyId", ErrorKind::io, "the server does not know the access key", check_keys},
    KnownError{"XAdminUserNotFound", ErrorKind::io, "the server does not know the access key", check_keys},
    KnownError{"InvalidToken", ErrorKind::io, "the session token is not valid", "a new AWS_SESSION_TOKEN"},
    KnownError{"ExpiredToken", ErrorKind::io, "the session token has expired",
               "ask for new keys (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN)"},
    KnownError{"SignatureDoesNotMatch", ErrorKind::io, "the secret key does not belong to the access key",
               check_keys},
    KnownError{"RequestTimeTooSkewed", ErrorKind::io, "this machine's clock and the server's do not agree",
               "set the clock"},
    KnownError{"AuthorizationHeaderMalformed", ErrorKind::io, "the request was signed for another region",
               check_region},
    KnownError{"PermanentRedirect", ErrorKind::io, "the bucket is in another region or at another endpoint",
               check_region},
    KnownError{"TemporaryRedirect", ErrorKind::io, "the bucket is in another region or at another endpoint",
               check_region},
    KnownError{"IllegalLocationConstraintException", ErrorKind::io, "the bucket is in another region",
               check_region},
    KnownError{"AccessDenied", ErrorKind::io, "access is denied", check_policy},
    KnownError{"PreconditionFailed", ErrorKind::io, "the object was changed in the meantime",
               "open it again"},
    KnownError{"InvalidRange", ErrorKind::format, "the object ends before the range", ""},
    KnownError{"EntityTooLarge", ErrorKind::io, "the object is too large for the server", ""},
    KnownError{"QuotaExceeded", ErrorKind::io, "the quota is exhausted", "free some space"},
};

const KnownError* known_error(std::string_view code, int status) noexcept {
  constexpr std::pair<int, std::string_view> by_status[] = {
      {301, "PermanentRedirect"}, {307, "TemporaryRedirect"},  {403, "AccessDenied"},
      {404, "NoSuchKey"},         {412, "PreconditionFailed"}, {416, "InvalidRange"}};
  if (code.empty())
    for (const auto& [its_status, its_code] : by_status)
      if (its_status == status) code = its_code;
  const auto found = std::find_if(known_errors.begin(), known_errors.end(),
                                  [&](const KnownError& error) { return error.code == code; });
  return found == known_errors.end() ? nullptr : &*found;
}

std::string advice_after(const HttpAnswer& http) {
  switch (http.failure) {
    case HttpFailure::refused:
      return "check the endpoint (AWS_ENDPOINT_URL_S3), the network and that the server runs";
    case HttpFailure::dropped:
    case HttpFailure::timed_out:
      return "check the server and the network; COLONNADE_S3_TIMEOUT (seconds) says how long to try";
    case HttpFailure::tls:
      if (const auto text = certificate_advice(http.problem); !text.empty()) return std::string(text);
      return "set AWS_CA_BUNDLE to the certificates that vouch for the server; or http://, if it has no TLS";
    case HttpFailure::too_large:
      return "use a server or proxy that serves ranges of objects";
    case HttpFailure::other:
      return "check the endpoint (AWS_ENDPOINT_URL_S3) and the proxies between here and the server";
    default:
      return {};
  }
}

std::string attempts_text(const S3Answer& answer) {
  if (answer.attempts <= 1) return {};
  return fmt::format(", after {} attempts in {:.1f} s", answer.attempts,
                     static_cast<double>(answer.took.count()) / 1000);
}

}  // namespace

std::string S3Caller::advice(const S3Answer& answer) const {
  const KnownError* known = known_error(answer.code, answer.http.status);
  if (known == nullptr) {
    const bool is_passing = may_pass(answer.http, answer.code) || answer.http.status >= 500;
    return is_passing
               ? "try again later, or with less at a time"
               : "check the endpoint (AWS_ENDPOINT_URL_S3) and the proxies between here and the server";
  }
  if (known->advice == check_region) {
    const std::string* region = answer.http.header("x-amz-bucket-region");
    if (region != nullptr && *region != settings_.region)
      return fmt::format("set AWS_REGION to {} (it is {})", in_one_line(*region), settings_.region);
  }
  if (known->advice == check_policy && !settings_.credentials && !settings_.identity)
    return "give keys through AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a profile: this was asked "
           "without";
  std::string advice(known->advice);
  if (known->advice == check_keys) advice += fmt::format(" (they came from {})", settings_.credentials_from);
  return advice;
}

// What others said, without what they may have repeated of us.
std::string S3Caller::printable(std::string_view text) const {
  const auto ours = settings_.identity ? settings_.identity->last() : settings_.credentials;
  if (!ours) return in_one_line(redacted(text));
  return in_one_line(
      redacted(text, {ours->secret_key.reveal(), ours->session_token.reveal(), ours->access_key}));
}

Error S3Caller::error(const S3Call& call, const S3Answer& answer) const {
  const std::string what = call.key.empty()
                               ? fmt::format("cannot {} bucket \"{}\" at {}", call.action, bucket_, base_)
                               : fmt::format("cannot {} \"{}\" of bucket \"{}\" at {}", call.action,
                                             in_one_line(call.key), bucket_, base_);
  const HttpAnswer& http = answer.http;
  if (http.failure == HttpFailure::no_memory)
    return {ErrorKind::resource, what + ": there is no memory for the request", "", context(call.key)};
  if (http.failure != HttpFailure::none)
    return {ErrorKind::io, fmt::format("{}: {}{}", what, printable(http.problem), attempts_text(answer)),
            advice_after(http), context(call.key)};
  const KnownError* known = known_error(answer.code, http.status);
  std::string said = fmt::format("status {}", http.status);
  if (!answer.code.empty()) said += " " + printable(answer.code);
  if (!answer.message.empty()) said += fmt::format(" \"{}\"", printable(answer.message));
  said += request_id(http) + attempts_text(answer);
  const std::string problem = known != nullptr ? fmt::format("{}: {} ({})", what, known->problem, said)
                                               : fmt::format("{}: the server answered {}", what, said);
  return {known != nullptr ? known->kind : ErrorKind::io, problem, advice(answer), context(call.key)};
}

}  // namespace colonnade::io
