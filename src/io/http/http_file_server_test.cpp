// Files on a real web server: in the suite of all files, plainly and with TLS, and what only HTTP has: who
// may read, redirections, servers without ranges or without renaming. The server's addresses, its folder and
// the log of its requests are in the environment (tests/servers/README.md).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "base/test_child.h"
#include "base/test_errors.h"
#include "io/conformance_test.h"
#include "io/http/http_file.h"
#include "io/transport.h"

namespace colonnade::io {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

struct WebServer {
  std::string name;  // of the variables

  std::string url() const { return variable(name); }
  std::filesystem::path file(const std::string& uri) const {
    return variable(name + "_DATA") + uri.substr(uri.rfind('/'));
  }
  std::string fresh_uri(const std::string& stem, const std::string& folder = "files") const {
    static int count = 0;
    return fmt::format("{}/{}/{}-{}.root", url(), folder, stem, ++count);
  }
  // Renamed into its place, as a server does it.
  void store(const std::string& uri, ByteSpan content) const {
    const auto path = file(uri);
    const std::filesystem::path aside = path.string() + ".new";
    std::ofstream stream(aside, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    stream.close();
    std::filesystem::rename(aside, path);
  }
  Bytes content(const std::string& uri) const {
    std::ifstream stream(file(uri), std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    const std::string all = text.str();
    const ByteSpan bytes = as_bytes(all);
    return {bytes.begin(), bytes.end()};
  }
  // Lines of the log about paths that end so: "GET /files/x.root 206 "bytes=0-9" ...".
  std::vector<std::string> requests(const std::string& uri) const {
    await_log();
    return lines_of(uri.substr(uri.rfind('/')));
  }

 private:
  std::vector<std::string> lines_of(const std::string& name_of_file) const {
    std::ifstream stream(variable(name + "_LOG"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);)
      if (line.find(name_of_file + " ") != std::string::npos) lines.push_back(line);
    return lines;
  }
  // The server logs a request after its answer; once it has logged one more, all before that are there.
  void await_log() const {
    static std::atomic<int> count = 0;
    const std::string last = fmt::format("/logged-{}-{}", ::getpid(), ++count);
    static_cast<void>(error_of([&] { open_for_reading(url() + "/files" + last); }));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (lines_of(last).empty() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

const WebServer plain{"COLONNADE_TEST_HTTP"};
const WebServer encrypted{"COLONNADE_TEST_HTTPS"};

TransportUnderTest under_test(const std::string& name, const WebServer& server,
                              const std::string& folder = "files") {
  return {.name = name,
          .fresh_uri = [=](const std::string& stem) { return server.fresh_uri(stem, folder); },
          .store = [=](const std::string& uri, ByteSpan content) { server.store(uri, content); },
          .content = [=](const std::string& uri) { return server.content(uri); },
          .can_write = folder == "files" || folder == "nomove",
          .can_update = false};
}

const RegisterTransport http_files(under_test("Http", plain));
const RegisterTransport https_files(under_test("HttpWithTls", encrypted));
const RegisterTransport without_ranges(under_test("HttpWithoutRanges", plain, "noranges"));
const RegisterTransport without_tail(under_test("HttpWithoutLastBytes", plain, "notail"));
const RegisterTransport without_moves(under_test("HttpWithoutMoves", plain, "nomove"));
const RegisterTransport sent_on(under_test("HttpSentOn", plain, "moved"));

Bytes http_pattern(std::size_t size, unsigned seed = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) + (i >> 19) + seed) & 0xff);
  return bytes;
}

Bytes read_all(const std::string& uri) {
  const auto file = open_for_reading(uri);
  Bytes into(static_cast<std::size_t>(file->size()));
  file->read(0, into);
  return into;
}

// Variables that are set while the test runs.
class HttpFiles : public testing::Test {
 protected:
  void set(const std::string& name, const std::string& value) {
    before_.emplace_back(name, variable(name));
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  void TearDown() override {
    while (!before_.empty()) {
      const auto& [name, value] = before_.back();
      value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
      before_.pop_back();
    }
  }
  std::vector<std::pair<std::string, std::string>> before_;
};

TEST_F(HttpFiles, OpenWithTwoRequestsAtOnce) {
  const std::string uri = plain.fresh_uri("opening");
  const Bytes bytes = http_pattern(1'000'000);
  plain.store(uri, bytes);
  const auto file = open_for_reading(uri);
  EXPECT_THAT(plain.requests(uri),
              UnorderedElementsAre(HasSubstr("206 \"bytes=0-65535\""), HasSubstr("206 \"bytes=-65536\"")));
  // What came with the opening is not asked for again until it is over.
  Bytes into(1000);
  for (const std::uint64_t offset : {0, 64'000, 940'000, 999'000}) {
    file->read(offset, into);
    EXPECT_TRUE(std::equal(into.begin(), into.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
  EXPECT_THAT(plain.requests(uri), SizeIs(2));
  file->opened();
  file->read(0, into);
  EXPECT_THAT(plain.requests(uri), SizeIs(3));
  EXPECT_THAT(plain.requests(uri)[2], AllOf(HasSubstr("\"bytes=0-999\""), HasSubstr("127.0.0.1 \\x22")))
      << "the version of the opening is named (If-Match)";
}

TEST_F(HttpFiles, OfAFewBytesAreReadByTheirOpening) {
  const std::string uri = plain.fresh_uri("small");
  plain.store(uri, http_pattern(60'000));
  const auto file = open_for_reading(uri);
  file->opened();
  Bytes into(60'000);
  file->read(0, into);
  EXPECT_EQ(into, http_pattern(60'000));
  EXPECT_THAT(plain.requests(uri), SizeIs(2));
}

TEST_F(HttpFiles, UseHttp2WhereItIsOffered) {
  const std::string uri = encrypted.fresh_uri("http2");
  encrypted.store(uri, http_pattern(3'000'000));
  EXPECT_EQ(read_all(uri), http_pattern(3'000'000));
  EXPECT_THAT(encrypted.requests(uri), Each(HasSubstr("HTTP/2.0")));
}

TEST_F(HttpFiles, SayThatTheyWereChangedWhileOpen) {
  for (const WebServer& server : {plain, encrypted}) {
    const std::string uri = server.fresh_uri("changed");
    server.store(uri, http_pattern(500'000));
    const auto file = open_for_reading(uri);
    server.store(uri, http_pattern(500'001, 1));
    Bytes into(100);
    const Error error = error_of([&] { file->read(250'000, into); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.problem(), "the file was changed since it was opened: the server says so");
    EXPECT_EQ(error.advice(), "open it again");
    EXPECT_EQ(error.context().offset, 250'000u);
  }
}

TEST_F(HttpFiles, AreReadAsAWholeWhereThereAreNoRanges) {
  const std::string uri = plain.fresh_uri("whole", "noranges");
  plain.store(uri, http_pattern(5'000'000));
  EXPECT_EQ(read_all(uri), http_pattern(5'000'000));
  EXPECT_THAT(plain.requests(uri), SizeIs(2));
  std::filesystem::resize_file(plain.file(uri), (std::uintmax_t{64} << 20) + 1);
  const Error error = error_of([&] { open_for_reading(uri); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.problem(), "the server gives files only as a whole, and this one has 67108865 bytes");
  EXPECT_THAT(error.advice(), HasSubstr("copy it"));
}

TEST_F(HttpFiles, FollowRedirectionsOnce) {
  const std::string uri = plain.fresh_uri("sent", "moved");
  plain.store(uri, http_pattern(1'000'000));
  EXPECT_EQ(read_all(uri), http_pattern(1'000'000));
  std::vector<std::string> asked_first;
  for (const std::string& line : plain.requests(uri))
    if (line.starts_with("GET /moved/")) asked_first.push_back(line);
  EXPECT_THAT(asked_first, SizeIs(2)) << "only the opening";
}

TEST_F(HttpFiles, AreReadWithAPassword) {
  const std::string path = plain.fresh_uri("basic", "basic").substr(plain.url().size());
  const std::string uri =
      fmt::format("http://{}@{}{}", variable("COLONNADE_TEST_HTTP_USER"), plain.url().substr(7), path);
  plain.store(uri, http_pattern(100));
  EXPECT_EQ(read_all(uri), http_pattern(100));
  const Error error = error_of([&] { open_for_reading(plain.url() + path); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("the server does not know who asks (status 401)"));
  EXPECT_THAT(error.advice(),
              AllOf(HasSubstr("BEARER_TOKEN"), HasSubstr("X509_USER_PROXY"), HasSubstr("netrc")));
  const Error wrong = error_of([&] { open_for_reading("http://me:hidden@" + plain.url().substr(7) + path); });
  EXPECT_THAT(std::string(wrong.what()), Not(HasSubstr("hidden")));
}

TEST_F(HttpFiles, AreReadWithAnEntryInNetrc) {
  const std::string uri = plain.fresh_uri("netrc", "basic");
  plain.store(uri, http_pattern(100));
  const std::string user = variable("COLONNADE_TEST_HTTP_USER");
  const std::size_t colon = user.find(':');
  const std::filesystem::path file = plain.file("/netrc");
  std::ofstream(file) << fmt::format("machine 127.0.0.1 login {} password {}\n", user.substr(0, colon),
                                     user.substr(colon + 1));
  set("NETRC", file.string());
  EXPECT_EQ(read_all(uri), http_pattern(100));
}

TEST_F(HttpFiles, AreReadWithAToken) {
  const std::string uri = encrypted.fresh_uri("token", "bearer");
  encrypted.store(uri, http_pattern(200'000));
  EXPECT_THAT(error_of([&] { open_for_reading(uri); }).problem(), HasSubstr("(status 401)"));
  set("BEARER_TOKEN", "wrong.token.text");
  const Error error = error_of([&] { open_for_reading(uri); });
  EXPECT_EQ(error.advice(), "ask for a token that allows it (this one came from BEARER_TOKEN)");
  EXPECT_THAT(std::string(error.what()), Not(HasSubstr("wrong.token.text")));
  set("BEARER_TOKEN", variable("COLONNADE_TEST_HTTP_TOKEN"));
  EXPECT_EQ(read_all(uri), http_pattern(200'000));
}

TEST_F(HttpFiles, ReadATokenAgainWhenItsFileChanges) {
  const std::string uri = encrypted.fresh_uri("renewed", "bearer");
  encrypted.store(uri, http_pattern(200'000));
  const std::filesystem::path file = encrypted.file("/token");
  set("BEARER_TOKEN_FILE", file.string());
  EXPECT_THAT(error_of([&] { open_for_reading(uri); }).advice(), HasSubstr("token, which does not exist"));
  std::ofstream(file) << variable("COLONNADE_TEST_HTTP_TOKEN") << "\n";
  const auto reader = open_for_reading(uri);
  std::ofstream(file) << "an.old.one";
  Bytes into(10);
  const Error error = error_of([&] { reader->read(100'000, into); });
  EXPECT_THAT(error.problem(), HasSubstr("(status 401)"));
  std::ofstream(file) << variable("COLONNADE_TEST_HTTP_TOKEN");
  reader->read(100'000, into);
  EXPECT_TRUE(std::equal(into.begin(), into.end(), http_pattern(200'000).begin() + 100'000));
}

TEST_F(HttpFiles, KeepTokensFromOtherServers) {
  set("BEARER_TOKEN", variable("COLONNADE_TEST_HTTP_TOKEN"));
  const std::string uri = encrypted.fresh_uri("kept", "movedbearer");
  encrypted.store(uri, http_pattern(100));
  const Error error = error_of([&] { open_for_reading(uri); });
  EXPECT_THAT(error.problem(),
              AllOf(HasSubstr("it sent us on to https://localhost:"), HasSubstr("(status 401)")));
  for (const std::string& line : encrypted.requests(uri))
    EXPECT_EQ(line.find("Bearer") != std::string::npos, line.starts_with("GET /movedbearer/")) << line;
}

TEST_F(HttpFiles, AreReadWithACertificate) {
  const std::string uri = encrypted.fresh_uri("cert", "cert");
  encrypted.store(uri, http_pattern(100));
  EXPECT_THAT(error_of([&] { open_for_reading(uri); }).problem(),
              HasSubstr("the server does not allow it (status 403)"));
  set("X509_USER_PROXY", variable("COLONNADE_TEST_CLIENT_CERTIFICATE"));
  EXPECT_EQ(read_all(uri), http_pattern(100));
}

TEST_F(HttpFiles, OfAServerThatNobodyVouchesForAreNotRead) {
  const std::string uri = encrypted.fresh_uri("unknown");
  set("X509_CERT_DIR", "/nonexistent");
  const Error error = error_of([&] { open_for_reading(uri); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("certificate"));
  EXPECT_THAT(error.advice(), HasSubstr("X509_CERT_DIR"));
}

TEST_F(HttpFiles, AppearWhenTheyAreClosedAndLeaveNothingElse) {
  const std::string uri = plain.fresh_uri("written");
  const Bytes bytes = http_pattern(7'000'000);
  {
    const auto file = open_for_writing(uri, OpenMode::create);
    file->write(100, ByteSpan(bytes).subspan(100));
    file->write(0, ByteSpan(bytes).first(100));
    EXPECT_FALSE(std::filesystem::exists(plain.file(uri)));
    // A forked child sends nothing of its parent's.
    const int status = status_of_child([&] {
      const Error error = error_of([&] { file->close(); });
      return error.problem() == "the file was opened by another process" ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(std::filesystem::exists(plain.file(uri)));
    file->close();
  }
  EXPECT_EQ(plain.content(uri), bytes);
  const auto parts = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(plain.file(uri).parent_path()))
      if (entry.path().extension() == ".part") names.push_back(entry.path().filename());
    return names;
  };
  EXPECT_THAT(parts(), IsEmpty());
  open_for_writing(uri, OpenMode::create)->write(0, as_bytes("never"));
  EXPECT_THAT(parts(), IsEmpty());
  EXPECT_EQ(plain.content(uri), bytes);
}

TEST_F(HttpFiles, AreNotWrittenWhereTheServerTakesNone) {
  const Error error = error_of([] { open_for_writing(plain.fresh_uri("x", "readonly"), OpenMode::create); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.problem(), HasSubstr("the server does not do that (status 405)"));
  EXPECT_THAT(error.advice(), HasSubstr("WebDAV"));
  const Error missing =
      error_of([] { open_for_writing(plain.url() + "/files/no-such-folder/x.root", OpenMode::create); });
  EXPECT_EQ(missing.kind(), ErrorKind::io);  // nginx says no more than that it failed
  const Error update = error_of([] { open_for_writing(plain.fresh_uri("x"), OpenMode::update); });
  EXPECT_EQ(update.kind(), ErrorKind::unsupported);
}

TEST_F(HttpFiles, AreListedByTheIndexPage) {
  const std::filesystem::path folder = plain.file("/listed");
  std::filesystem::create_directories(folder / "sub");
  for (const char* name : {"a.root", "b c&d.root", "x#y.root"}) std::ofstream(folder / name) << "x";
  const std::string uri = plain.url() + "/files/listed/";
  EXPECT_THAT(list_http_folder(uri),
              UnorderedElementsAre(uri + "a.root", uri + "b%20c%26d.root", uri + "x%23y.root", uri + "sub/"));
  const Error error = error_of([] { list_http_folder(plain.url() + "/readonly/listed/"); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.problem(), "the server has no index page for this folder");
}

TEST_F(HttpFiles, CanBeOpenedInAFork) {
  const std::string uri = plain.fresh_uri("fork");
  plain.store(uri, http_pattern(500'000));
  const auto file = open_for_reading(uri);
  const auto queue = file->open_queue(2);
  Bytes into(10);
  queue->submit(1, 250'000, into);
  const int status = status_of_child([&] {
    bool right = error_of([&] { queue->submit(2, 250'000, into); }).kind() == ErrorKind::usage;
    file->read(300'000, into);
    right = right && std::equal(into.begin(), into.end(), http_pattern(500'000).begin() + 300'000);
    return right ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(HttpFiles, AreFoundByPatternsInTheirFolders) {
  const std::filesystem::path folder = plain.file("/patterns");
  for (const char* part : {"one", "two"}) {
    std::filesystem::create_directories(folder / part);
    for (const char* name : {"a.root", "b.root", "c.txt"}) std::ofstream(folder / part / name) << "x";
  }
  const std::string uri = plain.url() + "/files/patterns/";
  EXPECT_THAT(match_files(uri + "*/[ab].root"),
              ElementsAre(uri + "one/a.root", uri + "one/b.root", uri + "two/a.root", uri + "two/b.root"));
  EXPECT_THAT(match_files(uri + "two/*.root"), ElementsAre(uri + "two/a.root", uri + "two/b.root"));
  EXPECT_THAT(match_files(uri + "**/a.root"), ElementsAre(uri + "one/a.root", uri + "two/a.root"));
}

// What Toxiproxy does to connections is done with curl's words: POST and DELETE of its interface.
class HttpWithFaults : public HttpFiles {
 protected:
  void SetUp() override {
    path_ = plain.fresh_uri("faults").substr(plain.url().size());
    plain.store(path_, http_pattern(2'000'000));
    uri_ = variable("COLONNADE_TEST_HTTP_PROXIED") + path_;
  }
  void TearDown() override {
    if (!toxic_.empty()) tell("DELETE", "/toxics/" + toxic_, "");
    HttpFiles::TearDown();
  }
  void add(const std::string& type, const std::string& attributes, double toxicity = 1) {
    toxic_ = type + "_downstream";
    tell("POST", "/toxics",
         fmt::format(R"({{"type":"{}","stream":"downstream","toxicity":{},"attributes":{{{}}}}})", type,
                     toxicity, attributes));
  }
  static void tell(const std::string& method, const std::string& path, const std::string& body) {
    const std::string command =
        fmt::format("curl -sf -o /dev/null -X {} --data '{}' {}/proxies/{}{}", method, body,
                    variable("COLONNADE_TEST_TOXIPROXY"), variable("COLONNADE_TEST_HTTP_PROXY"), path);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  std::string path_;
  std::string uri_;
  std::string toxic_;
};

TEST_F(HttpWithFaults, SlowConnectionsCarryManyRequestsAtOnce) {
  add("latency", R"("latency":50)");
  const auto begin = std::chrono::steady_clock::now();
  const auto file = open_for_reading(uri_);
  file->opened();
  Bytes into(2'000'000);
  std::vector<ReadRequest> requests;
  for (std::size_t at = 0; at < 16; ++at)
    requests.push_back({at * 125'000, MutableByteSpan(into).subspan(at * 125'000, 1000)});
  file->read_vector(requests);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_THAT(plain.requests(path_), SizeIs(testing::Le(18u)));
}

TEST_F(HttpWithFaults, ConnectionsThatAreCutAreTriedAgain) {
  set("COLONNADE_HTTP_TIMEOUT", "30");
  add("limit_data", R"("bytes":300000)", 0.5);
  EXPECT_EQ(read_all(uri_), http_pattern(2'000'000));
}

TEST_F(HttpWithFaults, ServersThatAnswerNothingAreGivenUp) {
  set("COLONNADE_HTTP_TIMEOUT", "2");
  add("timeout", R"("timeout":0)");
  const Error error = error_of([&] { open_for_reading(uri_); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("attempts in"));
  EXPECT_THAT(error.advice(), HasSubstr("COLONNADE_HTTP_TIMEOUT"));
}

}  // namespace
}  // namespace colonnade::io
