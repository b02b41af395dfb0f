// Keys that are handed out for a while, by endpoints within this program that answer as those of AWS do.
#include "io/s3/s3_identity.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <map>

#include "base/test_errors.h"
#include "base/test_folder.h"
#include "io/http/http_test_server.h"
#include "io/s3/s3_client.h"
#include "io/s3/s3_credentials.h"
#include "io/s3/s3_operations.h"

namespace colonnade::io {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string iso_time(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string json_keys(const std::string& id, std::chrono::seconds lives = std::chrono::hours(1)) {
  return fmt::format(
      R"({{"Version":1,"Code":"Success","AccessKeyId":"{}","SecretAccessKey":"s","Token":"t","SessionToken":"t","Expiration":"{}"}})",
      id, iso_time(std::chrono::system_clock::now() + lives));
}

class Identities : public testing::Test {
 protected:
  // Files and variables of an imaginary machine, independent of the one that runs the tests.
  S3Settings settings() {
    S3Sources sources;
    sources.environment = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
    sources.file = [this](const std::string& path) -> std::optional<std::string> {
      const auto found = files_.find(path);
      return found == files_.end() ? std::nullopt : std::optional(found->second);
    };
    return find_s3_settings(sources);
  }
  std::string key_now() {
    const S3Settings found = settings();
    if (found.identity) return found.identity->current().access_key;
    return found.credentials ? found.credentials->access_key : "none";
  }
  std::string write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
    return (folder_.path() / name).string();
  }
  void SetUp() override {
    variables_["HOME"] = folder_.path().string();
    variables_["AWS_EC2_METADATA_DISABLED"] = "true";
  }
  TestFolder folder_;
  std::map<std::string, std::string> variables_;
  std::map<std::string, std::string> files_;
};

TEST_F(Identities, OfInstancesAreAskedForByTheSecondVersion) {
  const HttpTestServer server([](const TestRequest& request) -> TestAnswer {
    if (request.target == "/latest/api/token" && request.method == "PUT") return {.body = "a-token"};
    if (request.header("x-aws-ec2-metadata-token") != "a-token") return {.status = 401};
    if (request.target.ends_with("/security-credentials/")) return {.body = "the-role"};
    if (request.target.ends_with("/the-role")) return {.body = json_keys("INSTANCE")};
    return {.status = 404};
  });
  variables_.erase("AWS_EC2_METADATA_DISABLED");
  variables_["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = server.url();
  EXPECT_EQ(key_now(), "INSTANCE");
  EXPECT_EQ(key_now(), "INSTANCE");
  EXPECT_EQ(server.requests().size(), 3u) << "asked once for all files";
  variables_["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_EQ(key_now(), "none");
}

TEST_F(Identities, OfInstancesWithoutARoleAreNone) {
  const HttpTestServer server([](const TestRequest& request) -> TestAnswer {
    if (request.method == "PUT") return {.body = "a-token"};
    return {.status = 404};
  });
  variables_.erase("AWS_EC2_METADATA_DISABLED");
  variables_["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = server.url();
  EXPECT_EQ(key_now(), "");
  S3Settings anonymous = settings();
  anonymous.endpoint = server.url();
  anonymous.path_style = true;
  const auto client = make_s3_client("bucket", anonymous);
  EXPECT_FALSE(client->head("key"));
  EXPECT_EQ(server.requests().back().header("authorization"), "");
}

TEST_F(Identities, OfContainersAreAskedForWithTheirToken) {
  const HttpTestServer server([](const TestRequest& request) -> TestAnswer {
    if (request.header("authorization") != "pod-token") return {.status = 401};
    return {.body = json_keys("CONTAINER")};
  });
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url() + "/v1/credentials";
  variables_["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = write("token", "pod-token\n");
  EXPECT_EQ(key_now(), "CONTAINER");
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://169.254.1.1.example.org/x";
  EXPECT_THAT(error_of([&] { settings(); }).problem(), HasSubstr("on another machine"));
}

TEST_F(Identities, OfTheWebAreExchangedForARole) {
  const HttpTestServer server([](const TestRequest& request) -> TestAnswer {
    if (request.body.find("WebIdentityToken=jwt%2Btext") == std::string::npos) return {.status = 403};
    return {.body =
                "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
                "<AccessKeyId>WEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
                "<SessionToken>t</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration>"
                "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"};
  });
  variables_["AWS_ENDPOINT_URL_STS"] = server.url();
  variables_["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/x";
  variables_["AWS_WEB_IDENTITY_TOKEN_FILE"] = write("jwt", "jwt+text\n");
  EXPECT_EQ(key_now(), "WEB");
  EXPECT_THAT(server.requests().at(0).body, HasSubstr("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx"));
}

TEST_F(Identities, OfWhoHasSignedInAreAskedForWithTheCache) {
  const HttpTestServer server([](const TestRequest& request) -> TestAnswer {
    if (request.header("x-amz-sso_bearer_token") != "signed-in") return {.status = 401};
    return {
        .body =
            R"({"roleCredentials":{"accessKeyId":"SSO","secretAccessKey":"s","sessionToken":"t","expiration":4102444800000}})"};
  });
  variables_["AWS_ENDPOINT_URL_SSO"] = server.url();
  files_[folder_.path().string() + "/.aws/config"] =
      "[default]\nsso_session = work\nsso_account_id = 12\nsso_role_name = reader\n[sso-session work]\n"
      "sso_region = eu-west-1\n";
  const std::string cache = ".aws/sso/cache/" + sign_in_cache_name("work");
  EXPECT_THAT(error_of([&] { key_now(); }).advice(), HasSubstr("aws sso login"));
  write(cache, R"({"accessToken":"signed-in","expiresAt":"2001-01-01T00:00:00Z"})");
  EXPECT_THAT(error_of([&] { key_now(); }).problem(), HasSubstr("has expired"));
  write(cache, R"({"accessToken":"signed-in","expiresAt":"2100-01-01T00:00:00Z"})");
  EXPECT_EQ(key_now(), "SSO");
  EXPECT_EQ(server.requests().back().target, "/federation/credentials?role_name=reader&account_id=12");
}

TEST_F(Identities, OfProcessesAreRead) {
  const std::string file = write("keys.json", json_keys("PROCESS"));
  files_[folder_.path().string() + "/.aws/config"] = "[default]\ncredential_process = cat " + file + "\n";
  EXPECT_EQ(key_now(), "PROCESS");
  files_[folder_.path().string() + "/.aws/config"] = "[default]\ncredential_process = exit 3\n";
  EXPECT_THAT(error_of([&] { key_now(); }).problem(), HasSubstr("failed with status 3"));
  files_[folder_.path().string() + "/.aws/config"] = "[default]\ncredential_process = echo nothing\n";
  EXPECT_THAT(error_of([&] { key_now(); }).problem(), HasSubstr("returned no keys"));
}

TEST_F(Identities, ExpireWhateverTheClockOfTheirText) {
  const auto expiry = [](const std::string& text) {
    const std::string keys = R"({"AccessKeyId":"k","SecretAccessKey":"s","Expiration":")" + text + R"("})";
    return credentials_in_json(keys, "a test").expiry;
  };
  const auto expected = std::chrono::system_clock::from_time_t(1795382101);
  for (const char* text : {"2026-11-22T21:15:01Z", "2026-11-22T21:15:01", "2026-11-22T21:15:01.25+00:00",
                           "2026-11-22T23:15:01+02:00", "2026-11-22T15:45:01.5-0530"})
    EXPECT_EQ(expiry(text), expected) << text;
  // Beyond the times that the clock knows.
  EXPECT_GT(expiry("9999-12-31T23:59:59Z"), expected);
  EXPECT_LT(expiry("0001-01-01T00:00:00Z"), expected);
}

TEST_F(Identities, OfProcessesAreReadWhateverSignalsCome) {
  const std::string file = write("keys.json", json_keys("PROCESS"));
  files_[folder_.path().string() + "/.aws/config"] =
      "[default]\ncredential_process = sleep 0.3; cat " + file + "\n";
  struct sigaction ignoring{};
  ignoring.sa_handler = [](int) {};  // without SA_RESTART, as Python's
  struct sigaction before{};
  ::sigaction(SIGALRM, &ignoring, &before);
  const itimerval often{.it_interval = {0, 10'000}, .it_value = {0, 10'000}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  EXPECT_EQ(key_now(), "PROCESS");
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

// What comes later in the order of the AWS tools is there in every step.
TEST_F(Identities, AreTakenInTheOrderOfTheAwsTools) {
  const HttpTestServer server([](const TestRequest& request) -> TestAnswer {
    if (request.target == "/container") return {.body = json_keys("CONTAINER")};
    if (request.target == "/latest/api/token") return {.body = "t"};
    return {.body = request.target.ends_with("/") ? "role" : json_keys("INSTANCE")};
  });
  const std::string config = folder_.path().string() + "/.aws/config";
  const std::string shared = folder_.path().string() + "/.aws/credentials";
  variables_.erase("AWS_EC2_METADATA_DISABLED");
  variables_["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = server.url();
  EXPECT_EQ(key_now(), "INSTANCE");
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url() + "/container";
  EXPECT_EQ(key_now(), "CONTAINER");
  files_[config] = "[default]\naws_access_key_id = CONFIG\naws_secret_access_key = s\n";
  EXPECT_EQ(key_now(), "CONFIG");
  files_[config] += "credential_process = cat " + write("keys.json", json_keys("PROCESS")) + "\n";
  EXPECT_EQ(key_now(), "PROCESS");
  files_[shared] = "[default]\naws_access_key_id = SHARED\naws_secret_access_key = s\n";
  EXPECT_EQ(key_now(), "SHARED");
  variables_["AWS_ACCESS_KEY_ID"] = "ENVIRONMENT";
  variables_["AWS_SECRET_ACCESS_KEY"] = "s";
  EXPECT_EQ(key_now(), "ENVIRONMENT");
  variables_["AWS_NO_SIGN_REQUEST"] = "1";
  EXPECT_EQ(key_now(), "none");
}

TEST_F(Identities, AreRenewedBeforeTheyExpire) {
  std::atomic<int> count = 0;
  std::atomic<bool> fails = false;
  std::atomic<int> lives = 60;
  S3Identity identity([&]() -> S3TimedCredentials {
    if (fails) throw Error(ErrorKind::io, "nobody answers");
    return credentials_in_json(json_keys(fmt::format("KEY{}", ++count), std::chrono::seconds(lives)), "test");
  });
  EXPECT_EQ(identity.current().access_key, "KEY1");
  EXPECT_EQ(identity.current().access_key, "KEY2") << "a minute is too short";
  fails = true;
  EXPECT_EQ(identity.current().access_key, "KEY2") << "it still is good";
  fails = false;
  lives = 3600;
  EXPECT_EQ(identity.current().access_key, "KEY3");
  EXPECT_EQ(identity.current().access_key, "KEY3");
}

TEST_F(Identities, SignRequestsWithTheKeysOfTheMoment) {
  const HttpTestServer server(
      [](const TestRequest&) { return TestAnswer{.headers = {{"Content-Length", "5"}}}; });
  std::atomic<int> count = 0;
  S3Settings with_identity;
  with_identity.endpoint = server.url();
  with_identity.path_style = true;
  with_identity.identity = std::make_shared<S3Identity>([&] {
    return credentials_in_json(json_keys(fmt::format("KEY{}", ++count), std::chrono::seconds(30)), "test");
  });
  const auto client = make_s3_client("bucket", with_identity);
  client->head("key");
  client->head("key");
  EXPECT_THAT(server.requests().at(0).header("authorization"), HasSubstr("Credential=KEY1/"));
  EXPECT_THAT(server.requests().at(1).header("authorization"), HasSubstr("Credential=KEY2/"));
  EXPECT_EQ(server.requests().at(1).header("x-amz-security-token"), "t");
}

// Whatever their time says: the session was ended, or the clocks do not agree.
TEST_F(Identities, AreRenewedOnceWhereTheyAreRefused) {
  std::atomic<int> good = 0;  // the key that the server takes
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    const bool is_good =
        request.header("authorization").find(fmt::format("=KEY{}/", good.load())) != std::string::npos;
    const bool has_body = request.method != "HEAD";
    if (!is_good) return {.status = 400, .body = has_body ? "<Error><Code>ExpiredToken</Code></Error>" : ""};
    if (!has_body) return {.headers = {{"Content-Length", "5"}}};
    const std::string range = request.header("range");
    if (range.empty()) return {.body = "12345"};
    if (range == "bytes=2-3")
      return {.status = 206, .headers = {{"Content-Range", "bytes 2-3/5"}}, .body = "34"};
    if (range == "bytes=0-0")
      return {.status = 206, .headers = {{"Content-Range", "bytes 0-0/5"}}, .body = "1"};
    return {.status = 206, .headers = {{"Content-Range", "bytes 0-4/5"}}, .body = "12345"};
  });
  std::atomic<int> count = 0;
  S3Settings settings;
  settings.endpoint = server.url();
  settings.path_style = true;
  settings.identity = std::make_shared<S3Identity>([&] {
    return credentials_in_json(json_keys(fmt::format("KEY{}", ++count), std::chrono::hours(1)), "test");
  });
  const std::shared_ptr<const S3Client> client = make_s3_client("bucket", settings);
  Bytes into(2);
  good = 2;
  client->get_range("key", 2, into);
  good = 3;
  EXPECT_EQ(client->head("key")->size, 5u);
  good = 4;
  EXPECT_EQ(client->open_object("key")->object.size, 5u);
  good = 5;
  {
    const auto queue = S3Queue::open(client, 8);
    for (unsigned id = 0; id < 4; ++id) queue->get_range(id, "key", 2, into);
    queue->wait_for_all();
  }
  EXPECT_EQ(count, 5) << "what was refused together is renewed once";
  good = 0;
  EXPECT_THAT(error_of([&] { client->get_range("key", 2, into); }).problem(), HasSubstr("expired"));
  EXPECT_EQ(count, 6);
  const auto queue = S3Queue::open(client, 8);
  queue->get_range(1, "key", 2, into);
  EXPECT_THAT(error_of([&] { queue->wait_for_all(); }).problem(), HasSubstr("expired"));
}

// Another program replaces the keys while this one reads.
TEST_F(Identities, OfFilesAreReadAgainWhereTheyAreRefused) {
  std::atomic<const char*> good = "";
  std::atomic<const char*> code = "";
  const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
    if (request.header("authorization").find(fmt::format("={}/", good.load())) != std::string::npos)
      return {.status = 206, .headers = {{"Content-Range", "bytes 2-3/5"}}, .body = "34"};
    return {.status = 403, .body = fmt::format("<Error><Code>{}</Code></Error>", code.load())};
  });
  variables_["AWS_ENDPOINT_URL_S3"] = server.url();
  for (const char* name : {"credentials", "config"}) {
    const std::string path = folder_.path().string() + "/.aws/" + name;
    const auto write_key = [&](const char* id) {
      files_[path] = fmt::format("[default]\naws_access_key_id = {}\naws_secret_access_key = s\n", id);
    };
    write_key("FIRST");
    const auto client = make_s3_client("bucket", settings());
    Bytes into(2);
    const auto read = [&] { client->get_range("key", 2, into); };
    good = "FIRST";
    read();
    const std::size_t before = server.requests().size();
    for (const auto& [key, refusal] :
         {std::pair("SECOND", "InvalidAccessKeyId"), std::pair("THIRD", "XAdminUserNotFound"),
          std::pair("FOURTH", "SignatureDoesNotMatch")}) {
      good = key;
      code = refusal;
      write_key(key);
      read();
      read();
    }
    EXPECT_EQ(server.requests().size(), before + 9) << "one more where they are refused";
    good = "NOBODY";
    const std::string problem = error_of(read).problem();
    EXPECT_THAT(problem, HasSubstr("the secret key does not belong to the access key"));
    EXPECT_EQ(server.requests().size(), before + 11) << "once, also where the file has the same";
    files_.erase(path);
    EXPECT_EQ(error_of(read).problem(), problem) << "without the file, the error is that of the server";
    write_key("LATE");
    good = "LATE";
    read();
    files_.erase(path);
  }
}

}  // namespace
}  // namespace colonnade::io
