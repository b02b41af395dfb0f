// Files in a real S3 server: in the suite of all files, with and without TLS, and what only S3 has. The
// server's address is in the environment (tests/servers/README.md).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/test_errors.h"
#include "io/conformance_test.h"
#include "io/http/http_engine.h"
#include "io/object_store.h"
#include "io/s3/s3_client.h"
#include "io/transport.h"

namespace colonnade::io {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void use_server(bool tls) {
  if (tls)
    ::setenv("AWS_ENDPOINT_URL_S3", variable("COLONNADE_TEST_S3_TLS_ENDPOINT").c_str(), 1);
  else
    ::unsetenv("AWS_ENDPOINT_URL_S3");
}

std::string fresh_uri(bool tls, const std::string& name) {
  static int count = 0;
  use_server(tls);
  return fmt::format("s3://{}/files/{}-{}.root", variable("COLONNADE_TEST_S3_BUCKET"), name, ++count);
}

std::string key_of(const std::string& uri) {
  return parse_s3_uri(uri).key;
}

void store(const std::string& uri, ByteSpan content) {
  S3Client::open(uri)->put(key_of(uri), {&content, 1});
}

Bytes content(const std::string& uri) {
  return S3Client::open(uri)->get_small(key_of(uri), std::size_t{1} << 30).value().value;
}

const RegisterTransport plain({.name = "S3File",
                               .fresh_uri = [](const std::string& name) { return fresh_uri(false, name); },
                               .store = store,
                               .content = content,
                               .can_update = false});
const RegisterTransport with_tls({.name = "S3FileWithTls",
                                  .fresh_uri = [](const std::string& name) { return fresh_uri(true, name); },
                                  .store = store,
                                  .content = content,
                                  .can_update = false});

Bytes pattern(std::size_t size, unsigned seed = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) + (i >> 19) + seed) & 0xff);
  return bytes;
}

TEST(S3Files, OfSeveralPartsAppearWhenTheyAreClosed) {
  const std::string uri = fresh_uri(false, "parts");
  const Bytes bytes = pattern((std::size_t{52} << 20) + 12345);
  const auto file = open_for_writing(uri, OpenMode::create);
  const std::size_t step = 3'000'001;
  for (std::size_t at = 0; at < bytes.size(); at += step)
    file->write(at, ByteSpan(bytes).subspan(at, std::min(step, bytes.size() - at)));
  file->write(10, as_bytes("the head is written last"));
  file->flush();
  EXPECT_EQ(S3Client::open(uri)->head(key_of(uri)), std::nullopt);
  EXPECT_EQ(S3Client::open(uri)->list_uploads("files/parts").size(), 1u);
  file->close();
  Bytes expected = bytes;
  std::copy_n(as_bytes("the head is written last").begin(), 24, expected.begin() + 10);
  EXPECT_TRUE(content(uri) == expected);
  EXPECT_THAT(S3Client::open(uri)->list_uploads("files/parts"), IsEmpty());

  const auto reader = open_for_reading(uri);
  Bytes back(expected.size());
  reader->read(0, back);
  EXPECT_TRUE(back == expected);
}

TEST(S3Files, ThatAreNotClosedLeaveNothing) {
  const std::string uri = fresh_uri(false, "left");
  store(uri, pattern(6));
  for (const bool by_name : {true, false}) {
    const auto file = open_for_writing(uri, OpenMode::create);
    file->write(0, pattern(std::size_t{40} << 20));
    if (by_name) file->discard();
  }
  EXPECT_EQ(content(uri), pattern(6));
  EXPECT_THAT(S3Client::open(uri)->list_uploads("files/left"), IsEmpty());
}

TEST(S3Files, AreListedByTheStartOfTheirNames) {
  const std::string first = fresh_uri(false, "listed/one");
  const std::string second = fresh_uri(false, "listed/two");
  store(second, pattern(3));
  store(first, pattern(3));
  const std::string folder = first.substr(0, first.rfind('/') + 1);
  EXPECT_THAT(list_files(folder), testing::ElementsAre(first, second));
  EXPECT_THAT(list_files(folder + "t"), testing::ElementsAre(second));
  EXPECT_THAT(list_files(folder + "three"), IsEmpty());
}

TEST(S3Files, AreFoundByPatternsWithTheirMark) {
  const std::string folder = fresh_uri(false, "matched") + ".d/";
  for (const char* name : {"a.dat", "b.dat", "c.txt"}) store(folder + name, pattern(3));
  EXPECT_THAT(match_files(folder + "*.dat?file"),
              testing::ElementsAre(folder + "a.dat?file", folder + "b.dat?file"));
}

// As in local folders.
TEST(S3Files, OfHiddenNamesAreFoundByTheirPeriod) {
  const std::string folder = fresh_uri(false, "hidden") + ".d/";
  for (const char* name : {"a.dat", ".b.dat", "c/d.dat", "c/.e.dat", ".f/g.dat"})
    store(folder + name, pattern(3));
  EXPECT_THAT(match_files(folder + "*.dat"), testing::ElementsAre(folder + "a.dat"));
  EXPECT_THAT(match_files(folder + ".*.dat"), testing::ElementsAre(folder + ".b.dat"));
  EXPECT_THAT(match_files(folder + "*/*.dat"), testing::ElementsAre(folder + "c/d.dat"));
  EXPECT_THAT(match_files(folder + "**/*.dat"), testing::ElementsAre(folder + "a.dat", folder + "c/d.dat"));
}

TEST(S3Files, SayThatTheyWereReplacedWhileOpen) {
  const std::string uri = fresh_uri(false, "replaced");
  store(uri, pattern(1'000'000));
  const auto reader = open_for_reading(uri);
  store(uri, pattern(1'000'000, 1));
  Bytes into(100);
  const Error error = error_of([&] { reader->read(500'000, into); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("replaced"));
  EXPECT_EQ(error.context().uri, uri);
  EXPECT_EQ(error.context().offset, 500'000u);
}

TEST(S3Files, SayThatTheyWereRemovedWhileOpen) {
  const std::string uri = fresh_uri(false, "removed");
  store(uri, pattern(1'000'000));
  const auto reader = open_for_reading(uri);
  S3Client::open(uri)->remove(key_of(uri));
  Bytes into(100);
  EXPECT_EQ(error_of([&] { reader->read(500'000, into); }).kind(), ErrorKind::not_found);
}

TEST(S3Files, AreOpenedWithTheirFirstAndLastBytes) {
  const std::string uri = fresh_uri(false, "windows");
  store(uri, pattern(1'000'000));
  const HttpCounters before = HttpEngine::shared().counters();
  const auto reader = open_for_reading(uri);
  Bytes into(1000);
  reader->read(0, into);
  reader->read(999'000, into);
  EXPECT_TRUE(std::equal(into.begin(), into.end(), pattern(1'000'000).begin() + 999'000));
  EXPECT_EQ(HttpEngine::shared().counters().requests - before.requests, 2u);
  reader->opened();
  reader->read(0, into);
  EXPECT_EQ(HttpEngine::shared().counters().requests - before.requests, 3u);
}

TEST(S3Files, MayHaveAnyNameIfTheyAreSaidToBeFiles) {
  for (const char* name : {"data.ROOT", "data.dat?file", "data?file"}) {
    const std::string uri = fresh_uri(false, "named") + "-" + name;
    EXPECT_FALSE(is_object_store(uri)) << uri;
    const auto file = open_for_writing(uri, OpenMode::create);
    file->write(0, pattern(100));
    file->close();
    EXPECT_EQ(content(uri.substr(0, uri.find('?'))), pattern(100));
    Bytes into(100);
    open_for_reading(uri)->read(0, into);
    EXPECT_EQ(into, pattern(100));
  }
}

TEST(S3Files, CannotBeChangedInPlace) {
  const std::string uri = fresh_uri(false, "updated");
  store(uri, pattern(10));
  const Error error = error_of([&] { open_for_writing(uri, OpenMode::update); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.advice(), HasSubstr("copy"));
}

TEST(S3Files, NeedABucket) {
  use_server(false);
  const std::string uri = "s3://colonnade-missing/file.root";
  for (const Error& error : {error_of([&] { open_for_writing(uri, OpenMode::create); }),
                             error_of([&] { open_for_reading(uri); })}) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_THAT(error.problem(), HasSubstr("bucket \"colonnade-missing\""));
    EXPECT_THAT(error.problem(), HasSubstr("NoSuchBucket"));
    EXPECT_FALSE(error.advice().empty());
  }
}

// Sets a variable for a while.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name), before_(variable(name)) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::setenv(name_, before_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

TEST(S3Files, NeedTheRightKeys) {
  const std::string uri = fresh_uri(false, "keys");
  store(uri, pattern(10));
  const std::string wrong = "this-secret-is-wrong";
  const Variable secret("AWS_SECRET_ACCESS_KEY", wrong);
  for (const Error& error : {error_of([&] { open_for_writing(uri, OpenMode::create); }),
                             error_of([&] { open_for_reading(uri); })}) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_FALSE(error.advice().empty());
    EXPECT_THAT(error.what(), Not(HasSubstr(wrong)));
  }
}

TEST(S3Files, GiveUpInBoundedTimeWithoutAServer) {
  const Variable endpoint("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9");
  const Variable timeout("COLONNADE_S3_TIMEOUT", "1");
  const std::string uri = "s3://bucket/file.root";
  for (const Error& error : {error_of([&] { open_for_writing(uri, OpenMode::create); }),
                             error_of([&] { open_for_reading(uri); })}) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.what(), HasSubstr("127.0.0.1:9"));
  }
}

}  // namespace
}  // namespace colonnade::io
