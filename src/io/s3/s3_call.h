// One request to a bucket, from its description to its last answer: signed anew for each attempt, repeated
// while that may help, and turned into an error that says what to do.
#ifndef COLONNADE_IO_S3_S3_CALL_H
#define COLONNADE_IO_S3_S3_CALL_H

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "io/http/http_engine.h"
#include "io/http/http_retry.h"
#include "io/s3/s3_credentials.h"
#include "io/s3/s3_signing.h"

namespace colonnade::io {

struct S3Call {
  std::string action;  // of messages: "read", "write"
  HttpMethod method = HttpMethod::get;
  std::string key;  // empty: the bucket
  S3Query query;
  HttpHeaders headers;  // names in lower case; not those of the signature
  std::string text;     // see HttpRequest
  std::vector<ByteSpan> parts;
  MutableByteSpan into;
  std::size_t max_body = std::size_t{64} << 10;
  bool whole_body = false;
  bool answer_takes_long = false;  // the server may work for minutes before it answers
  std::uint64_t joined = 0;        // bytes that the server puts together before it answers
  unsigned most_attempts = HttpRetryPolicy{}.most_attempts;
};

struct S3Answer {
  HttpAnswer http;
  std::string code;     // of an error: "NoSuchKey"
  std::string message;  // of the server, as it came
  unsigned attempts = 1;
  std::chrono::milliseconds took{0};
  bool may_be_done = false;  // see HttpOutcome
  // The server refused keys that can be renewed: the same call gets others.
  bool may_renew = false;

  bool is_good() const noexcept { return http.is_good() && code.empty(); }
  bool has_status(int status) const noexcept { return http.has_status(status); }
};
// Whether the same request may succeed later. `code` is what S3 calls the error, empty if there is none.
bool may_pass(const HttpAnswer& answer, std::string_view code) noexcept;

// Ways to one bucket. Constant, for any number of threads.
class S3Caller {
 public:
  using Done = std::function<void(S3Answer&& answer)>;

  // Throws as credentials() does.
  S3Caller(std::string bucket, S3Settings settings);

  const std::string& bucket() const noexcept { return bucket_; }

  S3Answer call(S3Call call) const;
  std::pair<S3Answer, S3Answer> call_both(S3Call first, S3Call second) const;  // at the same time
  // Where an answer says that keys may be renewed, the call may be started once more, not on the engine's
  // thread. `done` as HttpEngine::start() has it; `this` must live until then, or until `owner` is cancelled
  // there.
  void start(HttpEngine& engine, const void* owner, std::shared_ptr<const S3Call> call, Done done) const;

  // What is wrong with an answer that is not good.
  Error error(const S3Call& call, const S3Answer& answer) const;
  ErrorContext context(const std::string& key) const;

 private:
  class Attempts;

  // Throws ErrorKind::usage for a session token that would go over plain HTTP to another machine.
  std::optional<S3Credentials> credentials() const;
  HttpRequest request(const S3Call& call, const S3Credentials* keys, const std::string& payload_hash,
                      std::chrono::milliseconds time_left) const;
  void sign(const S3Call& call, const S3Credentials& keys, const std::string& payload_hash,
            const std::string& path, const std::string& query, HttpRequest& request) const;
  std::string payload_hash(const S3Call& call) const;
  std::string printable(std::string_view text) const;
  std::chrono::milliseconds transfer_time(const S3Call& call) const noexcept;
  std::string advice(const S3Answer& answer) const;

  std::string bucket_;
  S3Settings settings_;
  std::string base_;  // "https://host:port/bucket" or "https://bucket.host"
  std::string host_;  // as the header has it
  bool is_encrypted_ = false;
  std::string path_prefix_;  // of the URL's path, encoded, without a slash at the end
};

}  // namespace colonnade::io

#endif
