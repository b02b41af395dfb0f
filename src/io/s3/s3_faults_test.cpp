// What the client does when the server, or the way to it, does not do what it should: answers that real
// servers do not give on demand come from a server within this program.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "base/test_errors.h"
#include "io/http/http_test_server.h"
#include "io/object_store.h"
#include "io/s3/s3_client.h"
#include "io/s3/s3_operations.h"

namespace colonnade::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* secret = "wJalrXUtnFEMI";
constexpr const char* token = "FwoGZXIvYXdzE";

S3Settings settings_for(const std::string& endpoint) {
  S3Settings settings;
  settings.endpoint = endpoint;
  settings.path_style = true;
  settings.credentials = S3Credentials{"AKIDEXAMPLE", Secret(secret), Secret(token)};
  settings.credentials_from = "the test";
  settings.timeout = std::chrono::seconds(10);
  return settings;
}

std::shared_ptr<const S3Client> client_of(const HttpTestServer& server) {
  return make_s3_client("bucket", settings_for(server.url()));
}

TestAnswer refusal(int status, const std::string& code, const std::string& message = "because") {
  return {.status = status,
          .headers = {{"x-amz-request-id", "REQUEST7"}},
          .body = "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + message +
                  "</Message><StringToSign>" + secret + "</StringToSign></Error>"};
}

TestAnswer part_of(const std::string& content, const TestRequest& request) {
  const std::string range = request.header("range");
  const std::size_t first = std::stoul(range.substr(6));
  const std::size_t last = std::min(std::stoul(range.substr(range.find('-') + 1)), content.size() - 1);
  return {.status = 206,
          .headers = {{"Content-Range", "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
                                            std::to_string(content.size())}},
          .body = content.substr(first, last - first + 1)};
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void expect_no_secret(const Error& error) {
  for (const char* hidden : {secret, token, "Signature=", "AWS4-HMAC"})
    EXPECT_THAT(std::string(error.what()), Not(HasSubstr(hidden)));
}

class S3Faults : public testing::Test {
 protected:
  void SetUp() override {
    if (!HttpEngine::is_built_in()) GTEST_FAIL() << "this build has no libcurl";
  }
  std::atomic<unsigned> count_{0};
};

TEST_F(S3Faults, PassWhereS3SaysSo) {
  HttpAnswer answer;
  answer.status = 400;
  EXPECT_TRUE(may_pass(answer, "RequestTimeout"));
  answer.status = 409;
  EXPECT_TRUE(may_pass(answer, "ConditionalRequestConflict"));
  EXPECT_FALSE(may_pass(answer, "BucketNotEmpty"));
  answer.failure = HttpFailure::tls;
  EXPECT_FALSE(may_pass(answer, "RequestTimeout"));
}

TEST_F(S3Faults, SignsAndEncodesRequests) {
  const HttpTestServer server([](const TestRequest& request) { return part_of("0123456789", request); });
  Bytes into(4);
  client_of(server)->get_range("a b/c+d/\xc3\xa9.bin", 3, into);
  EXPECT_EQ(text_of(into), "3456");
  const TestRequest request = server.requests().at(0);
  EXPECT_EQ(request.target, "/bucket/a%20b/c%2Bd/%C3%A9.bin");
  EXPECT_EQ(request.header("range"), "bytes=3-6");
  EXPECT_EQ(request.header("x-amz-security-token"), token);
  EXPECT_EQ(request.header("x-amz-content-sha256"),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_THAT(request.header("authorization"),
              AllOf(StartsWith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"),
                    HasSubstr("host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token"),
                    Not(HasSubstr(secret))));
}

TEST_F(S3Faults, SignsNothingWithoutKeys) {
  const HttpTestServer server([](const TestRequest& request) { return part_of("0123456789", request); });
  S3Settings settings = settings_for(server.url());
  settings.credentials.reset();
  Bytes into(4);
  make_s3_client("bucket", settings)->get_range("key", 0, into);
  EXPECT_EQ(server.requests().at(0).header("authorization"), "");
  EXPECT_EQ(server.requests().at(0).header("x-amz-date"), "");
}

// Without TLS nothing else protects a body on its way.
TEST_F(S3Faults, SignsBodiesThatTlsDoesNotProtect) {
  const HttpTestServer server([](const TestRequest&) { return TestAnswer{.headers = {{"ETag", "\"e\""}}}; });
  for (const std::size_t size : {0, 1, 65'536, 65'537, 3'000'000}) {
    const std::string body(size, 'x');
    const std::array parts{as_bytes(body).first(size / 3), as_bytes(body).subspan(size / 3)};
    client_of(server)->put("key", parts);
    const TestRequest request = server.requests().back();
    EXPECT_EQ(request.body.size(), size);
    EXPECT_EQ(request.header("x-amz-content-sha256"), hex(sha256(std::array{as_bytes(request.body)})));
  }
}

TEST_F(S3Faults, KeepTokensFromOpenNetworks) {
  const auto client = [](const std::string& endpoint, bool allowed = false) {
    S3Settings settings = settings_for(endpoint);
    settings.token_over_http = allowed;
    return make_s3_client("bucket", settings);
  };
  for (const char* host :
       {"s3.example.org", "10.0.0.1:9000", "127.0.0.1.example.org", "localhost.example.org", "[::2]:80",
        "[::ffff:1.2.3.4]", "2130706433", "0", "127.1", "localhost:1x", "[::1].org", ""}) {
    const Error error = error_of([&] { client(std::string("http://") + host); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << host;
    EXPECT_THAT(error.problem(), HasSubstr(host));
    EXPECT_THAT(error.advice(), HasSubstr("COLONNADE_S3_TOKEN_OVER_HTTP"));
    expect_no_secret(error);
    EXPECT_NO_THROW(client(std::string("http://") + host, true));
    EXPECT_NO_THROW(client(std::string("https://") + host));
  }
  for (const char* host :
       {"127.0.0.1", "127.9.8.7:1", "localhost:9000", "LocalHost", "s3.localhost", "[::1]:9000"})
    EXPECT_NO_THROW(client(std::string("http://") + host)) << host;
  S3Settings keys = settings_for("http://s3.example.org");
  keys.credentials->session_token = {};
  EXPECT_NO_THROW(make_s3_client("bucket", keys));
}

TEST_F(S3Faults, DoNotRepeatWhatServersSayOfKeys) {
  const HttpTestServer server([](const TestRequest& request) {
    const std::string said = "you sent " + request.header("authorization") + " and " +
                             request.header("x-amz-security-token") + ", not " + secret +
                             " of AKIDEXAMPLE; see " + "https://u:hidden@h/x?X-Amz-Signature=hidden &quot;" +
                             std::string(400, 'x') + secret;
    return TestAnswer{
        .status = 403,
        .body = "<Error><Code>Code " + std::string(token) + "</Code><Message>" + said + "</Message></Error>"};
  });
  Bytes into(1);
  const Error error = error_of([&] { client_of(server)->get_range("key", 0, into); });
  for (const char* hidden : {secret, token, "AKIDEXAMPLE", "hidden"})
    EXPECT_THAT(std::string(error.what()), Not(HasSubstr(hidden)));
  EXPECT_THAT(error.problem(), AllOf(HasSubstr("you sent"), HasSubstr("status 403")));
}

TEST_F(S3Faults, RefuseHeadersOfTwoLines) {
  const HttpTestServer server([](const TestRequest& request) { return part_of("0123456789", request); });
  Bytes into(1);
  const Error error =
      error_of([&] { client_of(server)->get_range("key", 0, into, "\"e\"\r\nx-amz-acl: public-read"); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.problem(), HasSubstr("if-match"));
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(S3Faults, KnowsVirtualHosts) {
  const HttpTestServer server([](const TestRequest& request) { return part_of("0123456789", request); });
  S3Settings settings = settings_for("http://localhost:" + server.port() + "/base");
  settings.path_style = false;
  Bytes into(1);
  make_s3_client("bucket", settings)->get_range("key", 9, into);
  make_s3_client("with.dots", settings)->get_range("key", 9, into);
  EXPECT_EQ(server.requests().at(0).target, "/base/key");
  EXPECT_EQ(server.requests().at(0).header("host"), "bucket.localhost:" + server.port());
  EXPECT_EQ(server.requests().at(1).target, "/base/with.dots/key");
  EXPECT_EQ(server.requests().at(1).header("host"), "localhost:" + server.port());
}

TEST_F(S3Faults, TriesAgainWhatMayPass) {
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    switch (count_++) {
      case 0:
        return refusal(503, "SlowDown");
      case 1:
        return {.status = 429, .headers = {{"Retry-After", "0"}}};
      case 2:
        return {.drops = true};
      case 3: {
        TestAnswer cut = part_of("0123456789", request);
        cut.sent = 2;
        return cut;
      }
      default:
        return part_of("0123456789", request);
    }
  });
  Bytes into(4);
  client_of(server)->get_range("key", 3, into);
  EXPECT_EQ(text_of(into), "3456");
  EXPECT_GE(server.requests().size(), 5u);
}

TEST_F(S3Faults, GivesUpAfterSomeAttempts) {
  const HttpTestServer server(
      [&](const TestRequest&) { return refusal(503, "SlowDown", "reduce your rate"); });
  S3Call call{.action = "read", .key = "key"};
  call.most_attempts = 3;
  const S3Caller caller("bucket", settings_for(server.url()));
  const S3Answer answer = caller.call(call);
  EXPECT_EQ(answer.attempts, 3u);
  EXPECT_EQ(server.requests().size(), 3u);
  const Error error = caller.error(call, answer);
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(),
              AllOf(HasSubstr("\"key\" of bucket \"bucket\""), HasSubstr("503 SlowDown"),
                    HasSubstr("reduce your rate"), HasSubstr("REQUEST7"), HasSubstr("after 3 attempts")));
  EXPECT_FALSE(error.advice().empty());
  expect_no_secret(error);
}

TEST_F(S3Faults, DoesNotWaitLongerThanItsTimeout) {
  const HttpTestServer server(
      [&](const TestRequest&) { return TestAnswer{.status = 503, .headers = {{"Retry-After", "3600"}}}; });
  Bytes into(4);
  const Error error = error_of([&] { client_of(server)->get_range("key", 3, into); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(S3Faults, EndsRequestsThatHang) {
  const HttpTestServer server([&](const TestRequest&) { return TestAnswer{.hangs = true}; });
  S3Settings settings = settings_for(server.url());
  settings.timeout = std::chrono::milliseconds(1500);
  Bytes into(4);
  const Error error = error_of([&] { make_s3_client("bucket", settings)->get_range("key", 3, into); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.advice(), HasSubstr("COLONNADE_S3_TIMEOUT"));
  expect_no_secret(error);
}

TEST_F(S3Faults, SaysThatNobodyListens) {
  std::string url;
  {
    const HttpTestServer server([](const TestRequest&) { return TestAnswer{}; });
    url = server.url();
  }
  const Error error = error_of([&] { make_s3_client("bucket", settings_for(url))->check_bucket(); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), AllOf(HasSubstr("bucket \"bucket\""), HasSubstr(url), HasSubstr("attempts")));
  EXPECT_THAT(error.advice(), HasSubstr("AWS_ENDPOINT_URL_S3"));
}

TEST_F(S3Faults, RefusesWholeObjectsForRanges) {
  const HttpTestServer server(
      [&](const TestRequest&) { return TestAnswer{.body = std::string(std::size_t{8} << 20, 'x')}; });
  const std::uint64_t before = HttpEngine::shared().counters().received;
  Bytes into(4);
  for (const std::uint64_t offset : {0u, 3u}) {
    const Error error = error_of([&] { client_of(server)->get_range("key", offset, into); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.problem(), HasSubstr("the whole object"));
    EXPECT_FALSE(error.advice().empty());
  }
  EXPECT_LE(HttpEngine::shared().counters().received - before, std::uint64_t{256} << 10);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(S3Faults, NamesOtherStatusThanThatOfRanges) {
  const HttpTestServer server([&](const TestRequest&) { return TestAnswer{.status = 204}; });
  Bytes into(4);
  const Error error = error_of([&] { client_of(server)->get_range("key", 3, into); });
  EXPECT_THAT(error.problem(), HasSubstr("with status 204 in place of 206 (partial content)"));
  EXPECT_THAT(error.problem(), Not(HasSubstr("whole object")));
}

TEST_F(S3Faults, TakesWholeObjectsThatAreTheRange) {
  const HttpTestServer server([&](const TestRequest&) { return TestAnswer{.body = "0123"}; });
  Bytes into(4);
  client_of(server)->get_range("key", 0, into);
  EXPECT_EQ(text_of(into), "0123");
  EXPECT_EQ(error_of([&] { client_of(server)->get_range("key", 2, into); }).kind(), ErrorKind::io);
}

TEST_F(S3Faults, RefusesWrongRanges) {
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    TestAnswer answer = part_of("0123456789", request);
    if (count_ == 0) answer.headers[0].second = "bytes 4-7/10";
    if (count_ == 1) answer.body += "more";
    if (count_ == 2) answer.headers.clear();
    if (count_ == 3) answer.body.pop_back();
    return answer;
  });
  Bytes into(4);
  for (; count_ < 4; ++count_)
    EXPECT_EQ(error_of([&] { client_of(server)->get_range("key", 3, into); }).kind(), ErrorKind::io)
        << count_;
  const Error error = error_of([&] { client_of(server)->get_range("key", 8, into); });
  EXPECT_EQ(error.kind(), ErrorKind::format);
  EXPECT_THAT(error.problem(), HasSubstr("ends at byte 10"));
  EXPECT_EQ(error_of([&] { client_of(server)->get_range("key", ~std::uint64_t{0} - 1, into); }).kind(),
            ErrorKind::format);
}

TEST_F(S3Faults, SeesChangesWhereIfMatchIsPassedOver) {
  const HttpTestServer server([](const TestRequest& request) {
    TestAnswer answer = part_of("0123456789", request);
    answer.headers.emplace_back("ETag", "\"two\"");
    return answer;
  });
  Bytes into(4);
  EXPECT_NO_THROW(client_of(server)->get_range("key", 3, into, "\"two\""));
  const Error error = error_of([&] { client_of(server)->get_range("key", 3, into, "\"one\""); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("its ETag was \"one\" and is \"two\""));
}

TEST_F(S3Faults, TellsErrorsApart) {
  std::string code;
  int status = 0;
  const HttpTestServer server([&](const TestRequest&) {
    TestAnswer answer = refusal(status, code);
    answer.headers.emplace_back("x-amz-bucket-region", "eu-west-3");
    return answer;
  });
  struct Case {
    int status;
    std::string code;
    ErrorKind kind;
    std::string problem;
    std::string advice;
  };
  const std::vector<Case> cases{
      {404, "NoSuchBucket", ErrorKind::not_found, "no such bucket", "create the bucket"},
      {404, "NoSuchKey", ErrorKind::not_found, "no such key", "check the key"},
      {403, "InvalidAccessKeyId", ErrorKind::io, "does not know the access key", "AWS_ACCESS_KEY_ID"},
      {404, "XAdminUserNotFound", ErrorKind::io, "does not know the access key", "came from the test"},
      {403, "SignatureDoesNotMatch", ErrorKind::io, "secret key", "AWS_SECRET_ACCESS_KEY"},
      {403, "AccessDenied", ErrorKind::io, "denied", "permission"},
      {400, "ExpiredToken", ErrorKind::io, "expired", "AWS_SESSION_TOKEN"},
      {403, "RequestTimeTooSkewed", ErrorKind::io, "clock", "clock"},
      {301, "PermanentRedirect", ErrorKind::io, "another region", "AWS_REGION to eu-west-3"},
      {400, "AuthorizationHeaderMalformed", ErrorKind::io, "another region", "AWS_REGION to eu-west-3"},
      {418, "Teapot", ErrorKind::io, "418 Teapot \"because\"", ""}};
  Bytes into(1);
  for (const Case& expected : cases) {
    status = expected.status;
    code = expected.code;
    const Error error = error_of([&] { client_of(server)->get_range("some/key", 0, into); });
    EXPECT_EQ(error.kind(), expected.kind) << code;
    EXPECT_THAT(error.problem(), AllOf(HasSubstr(expected.problem), HasSubstr("some/key"), HasSubstr(code),
                                       HasSubstr("REQUEST7")));
    EXPECT_THAT(error.advice(), HasSubstr(expected.advice));
    EXPECT_EQ(error.context().uri, "s3://bucket/some/key");
    expect_no_secret(error);
  }
  EXPECT_EQ(server.requests().size(), cases.size());
}

TEST_F(S3Faults, BoundsErrorBodies) {
  const HttpTestServer server([&](const TestRequest&) {
    return TestAnswer{.status = 403, .body = "<Error><Message>" + std::string(std::size_t{4} << 20, 'x')};
  });
  const std::uint64_t before = HttpEngine::shared().counters().received;
  Bytes into(1);
  const Error error = error_of([&] { client_of(server)->get_range("key", 0, into); });
  EXPECT_LT(error.problem().size(), 1000u);
  EXPECT_LE(HttpEngine::shared().counters().received - before, std::uint64_t{128} << 10);
}

// The first attempt is carried out, but its answer is lost: the second finds the condition broken, by the
// first.
TEST_F(S3Faults, RecognisesItsOwnConditionalPut) {
  for (const bool ours : {true, false}) {
    std::string written;
    const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
      if (request.method == "HEAD")
        return {.headers = {{"ETag", "\"e\""}, {"x-amz-meta-colonnade-put", ours ? written : "other"}}};
      if (!written.empty()) return refusal(412, "PreconditionFailed");
      written = request.header("x-amz-meta-colonnade-put");
      return {.drops = true};
    });
    const std::array parts{as_bytes("anchor")};
    const auto etag = client_of(server)->put("key", parts, {S3Condition::Kind::absent});
    EXPECT_EQ(etag.has_value(), ours);
    EXPECT_EQ(server.requests().at(0).header("if-none-match"), "*");
    EXPECT_EQ(server.requests().at(0).body, "anchor");
    EXPECT_EQ(server.requests().back().method, "HEAD");
  }
}

// libcurl silently repeats a request if a kept connection was closed, so a first attempt goes unnoticed.
TEST_F(S3Faults, RecognisesWhatWasRepeatedWithoutAWord) {
  std::string written;
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    if (request.method == "GET") {
      TestAnswer answer = part_of("0123456789", request);
      answer.stays = true;
      return answer;
    }
    if (request.method == "HEAD")
      return {.headers = {{"ETag", "\"e\""}, {"x-amz-meta-colonnade-put", written}}};
    if (!written.empty()) return refusal(412, "PreconditionFailed");
    written = request.header("x-amz-meta-colonnade-put");
    return {.drops = true};
  });
  const auto client = client_of(server);
  Bytes into(1);
  client->get_range("key", 3, into);
  const std::array parts{as_bytes("anchor")};
  EXPECT_EQ(client->put("key", parts, {S3Condition::Kind::etag, "\"v\""}), "\"e\"");
  EXPECT_EQ(server.requests().at(1).header("if-match"), "\"v\"");
}

TEST_F(S3Faults, RecognisesAnUploadThatWasCompletedWithoutAWord) {
  bool is_done = false;
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    if (request.method == "HEAD")
      return {.headers = {{"ETag", "\"e-1\""}, {"x-amz-meta-colonnade-put", "token"}}};
    if (request.method == "GET") {
      TestAnswer answer = part_of("0123456789", request);
      answer.stays = true;
      return answer;
    }
    if (is_done) return refusal(404, "NoSuchUpload");
    is_done = true;
    return {.drops = true};
  });
  const auto client = client_of(server);
  Bytes into(1);
  client->get_range("key", 3, into);
  const std::array parts{S3Part{1, "\"p\""}};
  EXPECT_EQ(client->complete_upload("key", "token/id", parts, {}), "\"e-1\"");
}

// All attempts to complete an upload fail, or their answers are no results: what is there tells.
TEST_F(S3Faults, LooksWhatBecameOfAnUpload) {
  const TestAnswer error{.status = 503};
  const TestAnswer lost{.drops = true};
  const TestAnswer late = refusal(200, "InternalError");
  const TestAnswer page{.body = "<html><body>Welcome</body></html>"};
  for (const TestAnswer& answer : {error, lost, late, page})
    for (const bool is_done : {true, false}) {
      bool is_aborted = false;
      const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
        if (request.method == "POST") return answer;
        if (request.method == "DELETE") is_aborted = true;
        if (!is_done) return {.status = 404};
        return {.headers = {{"ETag", "\"e-1\""}, {"x-amz-meta-colonnade-put", "token"}}};
      });
      S3Settings settings = settings_for(server.url());
      settings.timeout = std::chrono::milliseconds(1500);
      const auto client = make_s3_client("bucket", settings);
      const std::array parts{S3Part{1, "\"p\""}};
      if (is_done) {
        EXPECT_EQ(client->complete_upload("key", "token/id", parts, {}), "\"e-1\"");
      } else {
        const Error failure = error_of([&] { client->complete_upload("key", "token/id", parts, {}); });
        EXPECT_THAT(failure.problem(), HasSubstr("not known"));
      }
      EXPECT_FALSE(is_aborted);  // all of it is there, and the server may still be at it
    }
}

TEST_F(S3Faults, SaysThatItIsNotKnownWhatBecameOfAnUpload) {
  const HttpTestServer server([](const TestRequest& request) -> TestAnswer {
    return {.status = request.method == "POST" ? 504 : 403};
  });
  S3Settings settings = settings_for(server.url());
  settings.timeout = std::chrono::milliseconds(1500);
  const auto client = make_s3_client("bucket", settings);
  const std::array parts{S3Part{1, "\"p\""}};
  const Error error = error_of([&] { client->complete_upload("key", "token/id", parts, {}); });
  EXPECT_THAT(error.problem(), AllOf(HasSubstr("504"), HasSubstr("it is not known whether")));
  EXPECT_THAT(error.advice(), HasSubstr("colonnade verify"));
}

// A server that is not reached has completed nothing, one that refuses neither.
TEST_F(S3Faults, KnowsWhatWasNeverAsked) {
  std::string url;
  {
    const HttpTestServer server([](const TestRequest&) { return TestAnswer{}; });
    url = server.url();
  }
  const std::array parts{S3Part{1, "\"p\""}};
  const Error unreachable = error_of(
      [&] { make_s3_client("bucket", settings_for(url))->complete_upload("key", "token/id", parts, {}); });
  EXPECT_THAT(unreachable.problem(), Not(HasSubstr("not known")));
  const HttpTestServer server([](const TestRequest&) { return refusal(403, "AccessDenied"); });
  const Error denied = error_of([&] { client_of(server)->complete_upload("key", "token/id", parts, {}); });
  EXPECT_THAT(denied.problem(), AllOf(HasSubstr("access is denied"), Not(HasSubstr("not known"))));
  EXPECT_EQ(server.requests().size(), 1u);
}

// Blanks keep the connection while the server works.
TEST_F(S3Faults, SeesErrorsBehindBlanks) {
  const HttpTestServer server([&](const TestRequest&) -> TestAnswer {
    TestAnswer answer = count_++ == 0 ? refusal(200, "InternalError") : TestAnswer{};
    if (count_ > 1)
      answer.body = "<CompleteMultipartUploadResult><ETag>\"x-1\"</ETag></CompleteMultipartUploadResult>";
    answer.body = "<?xml version=\"1.0\"?>" + std::string(5000, ' ') + answer.body;
    return answer;
  });
  const std::array parts{S3Part{1, "\"p\""}};
  EXPECT_EQ(client_of(server)->complete_upload("key", "token/id", parts, {}), "\"x-1\"");
  EXPECT_EQ(server.requests().size(), 2u);
}

// Some servers copy all parts of an upload when it is completed.
TEST_F(S3Faults, WaitsLongerForServersThatJoinMuch) {
  const HttpTestServer server([](const TestRequest&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    return TestAnswer{
        .body = "<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>"};
  });
  S3Settings settings = settings_for(server.url());
  settings.timeout = std::chrono::milliseconds(200);
  const auto client = make_s3_client("bucket", settings);
  const std::array parts{S3Part{1, "a", std::uint64_t{1} << 30}, S3Part{2, "b", std::uint64_t{1} << 30}};
  EXPECT_EQ(client->complete_upload("key", "upload", parts), "\"e\"");
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(S3Faults, WhatSomebodyElseAcceptedIsNotWritten) {
  const HttpTestServer server([&](const TestRequest&) { return TestAnswer{.body = "<html>log in</html>"}; });
  const std::array parts{as_bytes("value")};
  for (const auto kind : {S3Condition::Kind::none, S3Condition::Kind::absent}) {
    const Error error = error_of([&] { client_of(server)->put("key", parts, {kind}); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.problem(), HasSubstr("has no ETag"));
  }
}

TEST_F(S3Faults, KnowsWhoBrokeACondition) {
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    if (request.method == "HEAD") return {.headers = {{"ETag", "\"e\""}}};
    return refusal(412, "PreconditionFailed");
  });
  const std::array parts{as_bytes("anchor")};
  EXPECT_FALSE(client_of(server)->put("key", parts, {S3Condition::Kind::etag, "\"v\""}));
  EXPECT_EQ(server.requests().at(0).header("if-match"), "\"v\"");
}

TEST_F(S3Faults, SeesErrorsWithinSuccess) {
  const HttpTestServer server([&](const TestRequest&) -> TestAnswer {
    if (count_++ == 0) {
      TestAnswer answer = refusal(200, "InternalError");
      return answer;
    }
    return {.body = "<CompleteMultipartUploadResult><ETag>\"x-1\"</ETag></CompleteMultipartUploadResult>"};
  });
  const std::array parts{S3Part{1, "\"p\""}};
  EXPECT_EQ(client_of(server)->complete_upload("key", "token/id", parts, {}), "\"x-1\"");
  EXPECT_EQ(server.requests().at(0).target, "/bucket/key?uploadId=id");
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(S3Faults, GoesOnWithLongListings) {
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    const bool first = request.target.find("continuation-token=next%2F1") == std::string::npos;
    return {
        .body =
            first
                ? "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
                  "<Contents><Key>a%20b%2Bc</Key><Size>5</Size><ETag>\"e\"</ETag></Contents>"
                  "<NextContinuationToken>next/1</NextContinuationToken></ListBucketResult>"
                : "<ListBucketResult><Contents><Key>c%20</Key></Contents><CommonPrefixes><Prefix>p/</Prefix>"
                  "</CommonPrefixes></ListBucketResult>"};
  });
  std::vector<std::string> names;
  client_of(server)->list("p", "/", "after", [&](S3Listing&& listing) {
    for (const S3Object& object : listing.objects) names.push_back(object.key);
    for (const std::string& prefix : listing.prefixes) names.push_back(prefix);
    return true;
  });
  EXPECT_THAT(names, testing::ElementsAre("a b+c", "c%20", "p/"));
  EXPECT_THAT(server.requests().at(0).target,
              AllOf(HasSubstr("delimiter=%2F"), HasSubstr("start-after=after"), HasSubstr("list-type=2")));
}

TEST_F(S3Faults, DoesNotFollowListingsThatTurnInCircles) {
  const HttpTestServer server([&](const TestRequest&) -> TestAnswer {
    return {.body =
                "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x"
                "</NextContinuationToken></ListBucketResult>"};
  });
  const auto all = [](S3Listing&&) { return true; };
  EXPECT_EQ(error_of([&] { client_of(server)->list("", "", "", all); }).kind(), ErrorKind::io);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(S3Faults, DoesNotFollowListingsWhoseTokensAlternate) {
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    const bool was_one = request.target.find("continuation-token=one") != std::string::npos;
    return {.body = fmt::format("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{}"
                                "</NextContinuationToken></ListBucketResult>",
                                was_one ? "two" : "one")};
  });
  int taken = 0;
  const auto some = [&](S3Listing&&) { return ++taken < 10; };
  const Error error = error_of([&] { client_of(server)->list("", "", "", some); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(S3Faults, RemovesOneByOneWhereBatchesAreNotKnown) {
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    if (request.method == "POST") return refusal(501, "NotImplemented");
    return {.status = 204};
  });
  const std::vector<std::string> keys{"a", "b"};
  client_of(server)->remove_all(keys);
  EXPECT_EQ(server.requests().size(), 3u);
  EXPECT_FALSE(server.requests().at(0).header("content-md5").empty());
}

// Of a server that pays no attention to the prefix of a listing.
TEST_F(S3Faults, RemovesNothingOutsideOfAStore) {
  const std::string rest = "/00000007/0000000000000001/0000000000000000/0000000000000000";
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    if (request.method == "POST") return {};
    std::string listing = "<ListBucketResult><IsTruncated>false</IsTruncated>";
    for (const std::string& key : {"other" + rest, "store" + rest, std::string("x")})
      listing += "<Contents><Key>" + key + "</Key></Contents>";
    return {.body = listing + "</ListBucketResult>"};
  });
  ::setenv("AWS_ENDPOINT_URL_S3", server.url().c_str(), 1);
  ::setenv("AWS_NO_SIGN_REQUEST", "1", 1);
  const auto store = open_object_store("s3://bucket.of.test/store");
  ::unsetenv("AWS_ENDPOINT_URL_S3");
  ::unsetenv("AWS_NO_SIGN_REQUEST");
  store->remove_objects(7, 0, 5);
  ASSERT_EQ(server.requests().size(), 2u);
  const std::string body = server.requests().at(1).body;
  EXPECT_THAT(body, HasSubstr("<Object><Key>store" + rest + "</Key></Object></Delete>"));
  EXPECT_THAT(body, Not(HasSubstr("other")));
}

// Which of many could not be removed, whatever the first one was; what may pass is tried again.
TEST_F(S3Faults, SeesWhatABatchDidNotRemove) {
  std::string rest;
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    if (request.method == "DELETE") return {.status = 204};
    return {.body =
                "<DeleteResult><Error><Key>a</Key><Code>NoSuchKey</Code></Error>"
                "<Error><Key>b</Key><Code>InternalError</Code></Error>" +
                rest + "</DeleteResult>"};
  });
  const std::vector<std::string> keys{"a", "b", "c"};
  client_of(server)->remove_all(keys);
  EXPECT_EQ(server.requests().back().method, "DELETE");
  EXPECT_EQ(server.requests().back().target, "/bucket/b");
  rest = "<Error><Key>c</Key><Code>AccessDenied</Code></Error>";
  const Error error = error_of([&] { client_of(server)->remove_all(keys); });
  EXPECT_THAT(error.problem(), AllOf(HasSubstr("\"c\""), HasSubstr("access is denied")));
}

// The page of a portal that wants a password, say: nothing was listed, and nothing removed.
TEST_F(S3Faults, RefusesPagesInPlaceOfListings) {
  const HttpTestServer server(
      [&](const TestRequest&) -> TestAnswer { return {.body = "<html><body>Welcome</body></html>"}; });
  const auto all = [](S3Listing&&) { return true; };
  EXPECT_THAT(error_of([&] { client_of(server)->list("", "", "", all); }).problem(), HasSubstr("no listing"));
  const std::vector<std::string> keys{"a"};
  EXPECT_THAT(error_of([&] { client_of(server)->remove_all(keys); }).problem(), HasSubstr("no result"));
}

TEST_F(S3Faults, QueuesCancelWhatHangs) {
  const HttpTestServer server([&](const TestRequest&) { return TestAnswer{.hangs = true}; });
  Bytes into(8, std::byte{1});
  {
    const auto queue = S3Queue::open(client_of(server), 8);
    for (std::size_t i = 0; i < 8; ++i) queue->get_range(i, "key", i, MutableByteSpan(into).subspan(i, 1));
    EXPECT_EQ(queue->in_flight(), 8u);
  }
  EXPECT_EQ(into, Bytes(8, std::byte{1}));
}

TEST_F(S3Faults, ChildrenMakeConnectionsOfTheirOwn) {
  const HttpTestServer server([](const TestRequest& request) { return part_of("0123456789", request); });
  const auto client = client_of(server);
  Bytes into(2);
  client->get_range("key", 0, into);
  const auto queue = S3Queue::open(client, 2);
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      queue->get_range(1, "key", 0, into);
    } catch (const Error& error) {
      code = error.kind() == ErrorKind::usage ? 0 : 2;
    }
    try {
      client->get_range("key", 5, into);
      code += text_of(into) == "56" ? 0 : 4;
    } catch (...) {
      code += 8;
    }
    ::_exit(code);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  queue->get_range(1, "key", 2, into);
  std::array<S3Queue::Completion, 1> done;
  EXPECT_EQ(queue->wait(done), 1u);
  EXPECT_EQ(done[0].failure, nullptr);
  EXPECT_EQ(text_of(into), "23");
}

TEST(S3Uris, NameBucketAndKey) {
  EXPECT_EQ(parse_s3_uri("s3://bucket/a/b.root").bucket, "bucket");
  EXPECT_EQ(parse_s3_uri("s3://bucket/a/b.root").key, "a/b.root");
  EXPECT_EQ(parse_s3_uri("s3://bucket").key, "");
  EXPECT_EQ(parse_s3_uri("s3://bucket/").key, "");
  for (const char* uri : {"s3://", "s3:///key", "s3:bucket", "s3://user:secret@bucket/key", "s3://a b/c"})
    EXPECT_EQ(error_of([&] { parse_s3_uri(uri); }).kind(), ErrorKind::usage) << uri;
}

}  // namespace
}  // namespace colonnade::io
