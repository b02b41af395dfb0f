// S3's client against a real server, and against connections to it that Toxiproxy spoils. The addresses are
// in the environment (tests/servers/README.md).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "base/test_errors.h"
#include "io/object_store.h"
#include "io/s3/s3_client.h"
#include "io/s3/s3_operations.h"

namespace colonnade::io {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Bytes pattern(std::size_t size, std::size_t seed = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) + seed * 37) & 0xff);
  return bytes;
}

class S3Server : public testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("AWS_ENDPOINT_URL_S3");
    ASSERT_NE(bucket(), "") << "there is no server: run this through tests/servers/run_with.py";
    settings_ = find_s3_settings();
    client_ = make_s3_client(bucket(), settings_);
    prefix_ = fmt::format("client/{}/", testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  static std::string bucket() { return variable("COLONNADE_TEST_S3_BUCKET"); }
  std::string key(const std::string& name) const { return prefix_ + name; }

  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    client_->list(prefix_, "", "", [&](S3Listing&& listing) {
      for (const S3Object& object : listing.objects) all.push_back(object.key.substr(prefix_.size()));
      return true;
    });
    return all;
  }

  S3Settings settings_;
  std::shared_ptr<const S3Client> client_;
  std::string prefix_;
};

TEST_F(S3Server, KeepsObjectsWithAnyName) {
  for (const std::string name :
       {"plain", "with blank", "a+b", "100%", "caf\xc3\xa9", "a/b/c", "<&>\"'", "x=1&y?#"}) {
    const Bytes content = pattern(1000, name.size());
    const std::array parts{ByteSpan(content).first(10), ByteSpan(), ByteSpan(content).subspan(10)};
    const auto etag = client_->put(key(name), parts, {});
    const auto found = client_->head(key(name));
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->size, 1000u);
    EXPECT_EQ(found->etag, etag);
    Bytes into(500);
    client_->get_range(key(name), 250, into, *etag);
    EXPECT_TRUE(std::equal(into.begin(), into.end(), content.begin() + 250)) << name;
    EXPECT_THAT(keys(), ElementsAre(name));
    client_->remove_all(std::array{key(name)});
    EXPECT_THAT(keys(), IsEmpty());
  }
}

TEST_F(S3Server, NoticesObjectsThatWereReplaced) {
  const std::array first{as_bytes("first")};
  const std::array second{as_bytes("second")};
  const std::string etag = client_->put(key("x"), first, {}).value();
  client_->put(key("x"), second, {});
  Bytes into(3);
  const Error error = error_of([&] { client_->get_range(key("x"), 0, into, etag); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("changed in the meantime"));
}

TEST_F(S3Server, PutsUnderConditions) {
  const std::array value{as_bytes("value")};
  const std::array other{as_bytes("other")};
  EXPECT_FALSE(client_->put(key("x"), value, {S3Condition::Kind::etag, "\"0\""}));
  const auto etag = client_->put(key("x"), value, {S3Condition::Kind::absent});
  ASSERT_TRUE(etag);
  EXPECT_FALSE(client_->put(key("x"), other, {S3Condition::Kind::absent}));
  EXPECT_TRUE(client_->put(key("x"), other, {S3Condition::Kind::etag, *etag}));
  EXPECT_FALSE(client_->put(key("x"), value, {S3Condition::Kind::etag, *etag}));
  EXPECT_EQ(client_->get_small(key("x"), 100)->value,
            Bytes(as_bytes("other").begin(), as_bytes("other").end()));
}

TEST_F(S3Server, BoundsSmallObjects) {
  const Bytes content = pattern(300'000);
  const std::array parts{ByteSpan(content)};
  client_->put(key("x"), parts, {});
  EXPECT_EQ(client_->get_small(key("x"), content.size())->value, content);
  EXPECT_EQ(error_of([&] { client_->get_small(key("x"), 299'999); }).kind(), ErrorKind::resource);
  EXPECT_EQ(client_->get_small(key("y"), 10), std::nullopt);
}

TEST_F(S3Server, JoinsUploadedParts) {
  const Bytes content = pattern(5 * mebibyte + 100);
  const std::string upload = client_->create_upload(key("x"));
  EXPECT_EQ(client_->list_uploads(prefix_).size(), 1u);
  const std::array large{ByteSpan(content).first(5 * mebibyte)};
  const std::array rest{ByteSpan(content).subspan(5 * mebibyte)};
  const S3Part last = client_->upload_part(key("x"), upload, 2, rest);
  const std::array parts{client_->upload_part(key("x"), upload, 1, large), last};
  EXPECT_EQ(client_->head(key("x")), std::nullopt);
  const auto etag = client_->complete_upload(key("x"), upload, parts, {});
  EXPECT_EQ(client_->head(key("x"))->etag, etag);
  EXPECT_EQ(client_->get_small(key("x"), 6 * mebibyte)->value, content);
  EXPECT_THAT(client_->list_uploads(prefix_), IsEmpty());
}

TEST_F(S3Server, ForgetsAbortedUploads) {
  const std::string upload = client_->create_upload(key("x"));
  const std::array parts{as_bytes("part")};
  client_->upload_part(key("x"), upload, 1, parts);
  const auto uploads = client_->list_uploads(prefix_);
  ASSERT_EQ(uploads.size(), 1u);
  EXPECT_EQ(uploads[0].first, key("x"));
  client_->abort_upload(key("x"), uploads[0].second);
  EXPECT_NO_THROW(client_->abort_upload(key("x"), upload));
  EXPECT_THAT(client_->list_uploads(prefix_), IsEmpty());
  EXPECT_EQ(client_->head(key("x")), std::nullopt);
}

TEST_F(S3Server, RemovesThousands) {
  const auto queue = S3Queue::open(client_, 16);
  std::array<S3Queue::Completion, 16> done;
  for (std::size_t i = 0; i < 1100; ++i) {
    if (queue->in_flight() == 16) queue->wait(done);
    queue->put(i, key(fmt::format("{:04}", i)), {});
  }
  while (queue->in_flight() > 0) queue->wait(done);
  EXPECT_EQ(keys().size(), 1100u);
  std::vector<std::string> all{key("not there")};
  for (const std::string& name : keys()) all.push_back(key(name));
  client_->remove_all(all);
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_F(S3Server, ReusesItsConnections) {
  const Bytes content = pattern(mebibyte);
  const std::array parts{ByteSpan(content)};
  client_->put(key("x"), parts, {});
  const std::uint64_t before = HttpEngine::shared().counters().connections;
  const auto queue = S3Queue::open(client_, 4);
  std::vector<Bytes> into(64, Bytes(10000));
  std::array<S3Queue::Completion, 4> done;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (queue->in_flight() == 4) taken += queue->wait(done);
    queue->get_range(i, key("x"), i * 10000, into[i]);
  }
  while (queue->in_flight() > 0) taken += queue->wait(done);
  EXPECT_EQ(taken, into.size());
  for (std::size_t i = 0; i < into.size(); ++i)
    EXPECT_TRUE(
        std::equal(into[i].begin(), into[i].end(), content.begin() + static_cast<std::ptrdiff_t>(i * 10000)));
  EXPECT_LE(HttpEngine::shared().counters().connections - before, 4u);
}

TEST_F(S3Server, TellsWhatIsWrongWithKeysAndBuckets) {
  S3Settings wrong = settings_;
  wrong.credentials->secret_key = Secret("not-the-secret");
  const Error secret = error_of([&] { make_s3_client(bucket(), wrong)->check_bucket(); });
  EXPECT_EQ(secret.kind(), ErrorKind::io);
  EXPECT_THAT(secret.problem(), HasSubstr("secret key"));
  EXPECT_THAT(secret.advice(), HasSubstr("AWS_SECRET_ACCESS_KEY"));
  EXPECT_THAT(std::string(secret.what()), Not(HasSubstr("not-the-secret")));

  wrong.credentials->access_key = "NOBODY";
  const Error access = error_of([&] { make_s3_client(bucket(), wrong)->check_bucket(); });
  EXPECT_EQ(access.kind(), ErrorKind::io);
  EXPECT_THAT(access.problem(), HasSubstr("access key"));

  wrong.credentials.reset();
  const Error anonymous = error_of([&] { make_s3_client(bucket(), wrong)->check_bucket(); });
  EXPECT_EQ(anonymous.kind(), ErrorKind::io);
  EXPECT_THAT(anonymous.advice(), HasSubstr("asked without"));

  const auto missing = make_s3_client("colonnade-missing", settings_);
  const Error no_bucket = error_of([&] { missing->check_bucket(); });
  EXPECT_EQ(no_bucket.kind(), ErrorKind::not_found);
  EXPECT_THAT(no_bucket.problem(), AllOf(HasSubstr("no such bucket"), HasSubstr("colonnade-missing")));

  Bytes into(1);
  const Error no_key = error_of([&] { client_->get_range(key("nothing"), 0, into); });
  EXPECT_EQ(no_key.kind(), ErrorKind::not_found);
  EXPECT_THAT(no_key.problem(), HasSubstr("no such key"));
}

TEST_F(S3Server, ChecksCertificates) {
  S3Settings tls = settings_;
  tls.endpoint = variable("COLONNADE_TEST_S3_TLS_ENDPOINT");
  EXPECT_NO_THROW(make_s3_client(bucket(), tls)->check_bucket());
  tls.ca_file = "/etc/ssl/certs/ca-certificates.crt";  // does not know the test's authority, or is not there
  const Error error = error_of([&] { make_s3_client(bucket(), tls)->check_bucket(); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.advice(), HasSubstr("AWS_CA_BUNDLE"));
}

TEST_F(S3Server, WritesLargeValuesInParts) {
  const std::string uri = fmt::format("s3://{}/client/large", bucket());
  const auto store = open_object_store(uri, {.create = true});
  const Bytes block = pattern(mebibyte);
  UpdateItem item{1, {}};
  for (std::size_t i = 0; i < 70; ++i) item.parts.emplace_back(block);
  store->update({1, 1}, 1, {&item, 1});
  EXPECT_EQ(store->size({{1, 1}, 1, 1}), 70 * mebibyte);
  EXPECT_THAT(client_->head("client/large/00000001/0000000000000001/0000000000000001/0000000000000001")->etag,
              HasSubstr("-5\""));  // five parts
  Bytes into(2 * mebibyte);
  const FetchItem fetched{1, 31 * mebibyte + 5, into};
  store->fetch({1, 1}, 1, {&fetched, 1});
  EXPECT_TRUE(std::equal(into.begin(), into.begin() + 100, block.begin() + 5));
  EXPECT_THAT(client_->list_uploads("client/large"), IsEmpty());
}

// ---- Connections that suffer

// A loopback port without a server: connections are accepted, counted and dropped.
class Deserted {
 public:
  explicit Deserted(const std::string& endpoint) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    const int yes = 1;
    EXPECT_EQ(::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << endpoint;
    EXPECT_EQ(::listen(socket_, 8), 0);
  }
  Deserted(const Deserted&) = delete;
  Deserted& operator=(const Deserted&) = delete;
  ~Deserted() {
    if (socket_ >= 0) ::close(socket_);
  }
  // So many connections; then the port is free.
  void drop(int connections) {
    for (int i = 0; i < connections; ++i) ::close(::accept(socket_, nullptr, nullptr));
    ::close(std::exchange(socket_, -1));
  }

 private:
  int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

class S3Toxics : public S3Server {
 protected:
  void SetUp() override {
    S3Server::SetUp();
    ASSERT_NE(variable("COLONNADE_TEST_TOXIPROXY"), "");
    content_ = pattern(4 * mebibyte);
    const std::array parts{ByteSpan(content_)};
    client_->put(key("x"), parts, {});
    settings_.endpoint = variable("COLONNADE_TEST_S3_PROXY_ENDPOINT");
    patient_ = make_s3_client(bucket(), settings_);
    settings_.timeout = std::chrono::seconds(3);
    impatient_ = make_s3_client(bucket(), settings_);
  }
  void TearDown() override {
    for (const std::string& name : toxics_) ask(HttpMethod::remove, "/toxics/" + name, "");
    enable(true);
  }
  void add_toxic(const std::string& type, const std::string& attributes,
                 const std::string& stream = "downstream") {
    const std::string name = type + "-" + stream;
    toxics_.push_back(name);
    ask(HttpMethod::post, "/toxics",
        fmt::format(R"({{"name":"{}","type":"{}","stream":"{}","attributes":{{{}}}}})", name, type, stream,
                    attributes));
  }
  static void enable(bool enabled) { ask(HttpMethod::post, "", fmt::format(R"({{"enabled":{}}})", enabled)); }
  static void ask(HttpMethod method, const std::string& path, const std::string& text) {
    HttpRequest request;
    request.method = method;
    request.url =
        variable("COLONNADE_TEST_TOXIPROXY") + "/proxies/" + variable("COLONNADE_TEST_S3_PROXY") + path;
    request.text = text;
    const auto [back, answer] = HttpEngine::shared().perform(std::move(request));
    EXPECT_TRUE(answer.status >= 200 && answer.status < 300) << answer.status << answer.problem;
  }
  void expect_all_ranges(const S3Client& client) const {
    for (const std::size_t offset : {std::size_t{0}, mebibyte + 17, 3 * mebibyte}) {
      Bytes into(mebibyte);
      client.get_range(key("x"), offset, into);
      EXPECT_TRUE(
          std::equal(into.begin(), into.end(), content_.begin() + static_cast<std::ptrdiff_t>(offset)));
    }
  }
  Error failure_to_read() const {
    Bytes into(mebibyte);
    return error_of([&] { impatient_->get_range(key("x"), 0, into); });
  }

  Bytes content_;
  std::shared_ptr<const S3Client> patient_;    // for what ends well
  std::shared_ptr<const S3Client> impatient_;  // for what does not
  std::vector<std::string> toxics_;
};

TEST_F(S3Toxics, ReadThroughLatency) {
  add_toxic("latency", R"("latency":50,"jitter":30)");
  expect_all_ranges(*patient_);
}

TEST_F(S3Toxics, ReadThroughNarrowPipes) {
  add_toxic("bandwidth", R"("rate":4000)");  // KB/s
  expect_all_ranges(*patient_);
}

TEST_F(S3Toxics, GiveUpWhereEveryAnswerIsCut) {
  add_toxic("limit_data", R"("bytes":100000)");
  const Error error = failure_to_read();
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), AllOf(HasSubstr(key("x")), HasSubstr("attempts")));
  EXPECT_FALSE(error.advice().empty());
}

TEST_F(S3Toxics, GiveUpWhereEveryConnectionIsReset) {
  add_toxic("reset_peer", R"("timeout":0)");
  EXPECT_EQ(failure_to_read().kind(), ErrorKind::io);
}

TEST_F(S3Toxics, GiveUpWhereNothingComes) {
  add_toxic("timeout", R"("timeout":0)");
  const Error error = failure_to_read();
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.advice(), HasSubstr("COLONNADE_S3_TIMEOUT"));
}

TEST_F(S3Toxics, GoOnWhenTheServerComesBack) {
  expect_all_ranges(*patient_);  // connections that the next ones will want to use
  enable(false);
  Deserted deserted(variable("COLONNADE_TEST_S3_PROXY_ENDPOINT"));
  std::thread repair([&] {
    deserted.drop(3);
    enable(true);
  });
  try {
    expect_all_ranges(*patient_);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
  repair.join();
}

TEST_F(S3Toxics, GiveUpWhereNobodyListens) {
  enable(false);
  const Error error = failure_to_read();
  EXPECT_EQ(error.kind(), ErrorKind::io);
  const std::array parts{as_bytes("x")};
  EXPECT_EQ(error_of([&] { impatient_->put(key("y"), parts); }).kind(), ErrorKind::io);
  EXPECT_EQ(client_->head(key("y")), std::nullopt);
}

TEST_F(S3Toxics, WriteThroughBadConnections) {
  add_toxic("latency", R"("latency":20)", "upstream");
  add_toxic("slicer", R"("average_size":1000,"size_variation":500,"delay":0)", "upstream");
  const std::array parts{ByteSpan(content_)};
  patient_->put(key("y"), parts);
  EXPECT_EQ(client_->get_small(key("y"), content_.size())->value, content_);
}

TEST_F(S3Toxics, NeverLeaveHalfAnObject) {
  add_toxic("limit_data", R"("bytes":1000000)", "upstream");
  const std::array parts{ByteSpan(content_)};
  EXPECT_EQ(error_of([&] { impatient_->put(key("y"), parts); }).kind(), ErrorKind::io);
  EXPECT_EQ(client_->head(key("y")), std::nullopt);
}

TEST_F(S3Toxics, QueuesReportAndGoOn) {
  const auto queue = S3Queue::open(impatient_, 4);
  enable(false);
  std::array<Bytes, 4> into;
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i].resize(1000);
    queue->get_range(i, key("x"), i * 1000, into[i]);
  }
  std::array<S3Queue::Completion, 4> done;
  std::size_t failed = 0;
  while (queue->in_flight() > 0) {
    const std::size_t count = queue->wait(done);
    for (std::size_t i = 0; i < count; ++i) failed += done[i].failure ? 1 : 0;
  }
  EXPECT_EQ(failed, into.size());
  enable(true);
  queue->get_range(9, key("x"), 5, into[0]);
  EXPECT_EQ(queue->wait(done), 1u);
  EXPECT_EQ(done[0].failure, nullptr);
  EXPECT_TRUE(std::equal(into[0].begin(), into[0].end(), content_.begin() + 5));
}

}  // namespace
}  // namespace colonnade::io
