// What readers of files do when a web server, or the way to it, does not do what it should: answers that real
// servers do not give on demand come from a server within this program.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/test_errors.h"
#include "base/test_folder.h"
#include "io/closing_again.h"
#include "io/http/http_file.h"
#include "io/http/http_test_server.h"
#include "io/transport.h"

namespace colonnade::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HttpFaults : public testing::Test {
 protected:
  void SetUp() override { ::setenv("TMPDIR", temporary_.path().c_str(), 1); }
  void TearDown() override {
    ::unsetenv("TMPDIR");
    ::unsetenv("COLONNADE_HTTP_TIMEOUT");
  }
  // What is in the only file that was kept because it could not be sent.
  std::string kept(const Error& error) const {
    std::vector<std::string> found;
    for (const auto& each : std::filesystem::directory_iterator(temporary_.path()))
      found.push_back(each.path().string());
    if (found.size() != 1) return fmt::format("{} files", found.size());
    EXPECT_THAT(error.problem(), HasSubstr("kept here as \"" + found[0] + '"'));
    std::ifstream stream(found[0]);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // Where a server fails to the end.
  static void try_for_two_seconds() { ::setenv("COLONNADE_HTTP_TIMEOUT", "2", 1); }
  // Opens the file, then lets `spoil` change what comes back for the middle of it.
  template <class Spoil>
  Error error_after(HttpContent content, Spoil spoil) {
    std::atomic<bool> open = false;
    const HttpTestServer server([&](const TestRequest& request) {
      TestAnswer answer = content.answer_to(request);
      if (open) spoil(answer);
      return answer;
    });
    const auto file = open_for_reading(server.url() + "/f.root");
    EXPECT_EQ(file->size(), content.bytes.size());
    open = true;
    Bytes into(1000);
    return error_of([&] { file->read(100'000, into); });
  }
  static void set_header(TestAnswer& answer, const std::string& name, const std::string& value) {
    for (auto& header : answer.headers)
      if (header.first == name) header.second = value;
  }

  const TestFolder temporary_;
};

TEST_F(HttpFaults, ChangesAreSeenByTheTagWhereIfMatchIsPassedOver) {
  const Error error = error_after({}, [](TestAnswer& answer) { set_header(answer, "ETag", "\"two\""); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(error.problem(), "the file was changed since it was opened: its ETag was \"one\" and is \"two\"");
  EXPECT_EQ(error.context().offset, 100'000u);
}

TEST_F(HttpFaults, ChangesAreSeenByTheTimeWhereThereIsNoTag) {
  HttpContent content{.etag = "", .modified = "Sat, 01 Jan 2000 00:00:00 GMT"};
  const Error error = error_after(content, [](TestAnswer& answer) {
    set_header(answer, "Last-Modified", "Sun, 02 Jan 2000 00:00:00 GMT");
  });
  EXPECT_THAT(error.problem(), HasSubstr("it was of Sat, 01 Jan 2000 00:00:00 GMT and is of Sun, 02 Jan"));
}

TEST_F(HttpFaults, ChangesAreSeenByTheSizeWhereThereIsNothingElse) {
  const Error error = error_after({.etag = ""}, [](TestAnswer& answer) {
    set_header(answer, "Content-Range", "bytes 100000-100999/200001");
  });
  EXPECT_THAT(error.problem(), HasSubstr("it had 200000 bytes and has 200001"));
}

TEST_F(HttpFaults, FilesThatBecameShorterAreSaidToHaveChanged) {
  const Error error = error_after({}, [](TestAnswer& answer) { answer = {.status = 416}; });
  EXPECT_THAT(error.problem(), HasSubstr("it has become shorter"));
}

TEST_F(HttpFaults, TagsAreSentAsConditions) {
  const HttpContent content;
  const HttpTestServer server([&](const TestRequest& request) { return content.answer_to(request); });
  Bytes into(1000);
  open_for_reading(server.url() + "/f.root")->read(100'000, into);
  EXPECT_EQ(server.requests().back().header("if-match"), "\"one\"");
  EXPECT_EQ(server.requests().back().header("range"), "bytes=100000-100999");
}

TEST_F(HttpFaults, WeakTagsAreOnlyCompared) {
  const HttpContent content{.etag = "W/\"one\"", .modified = "Sat, 01 Jan 2000 00:00:00 GMT"};
  const HttpTestServer server([&](const TestRequest& request) { return content.answer_to(request); });
  Bytes into(1000);
  open_for_reading(server.url() + "/f.root")->read(100'000, into);
  EXPECT_EQ(server.requests().back().header("if-match"), "");
  EXPECT_EQ(server.requests().back().header("if-unmodified-since"), "Sat, 01 Jan 2000 00:00:00 GMT");
}

TEST_F(HttpFaults, OtherRangesThanWereAskedForAreRefused) {
  const Error error = error_after(
      {}, [](TestAnswer& answer) { set_header(answer, "Content-Range", "bytes 100001-101000/200000"); });
  EXPECT_THAT(
      error.problem(),
      HasSubstr("bytes 100000 to 101000 were requested, but the server sent 1000 and says \"bytes 100001-"));
}

TEST_F(HttpFaults, ShortAnswersAreRefused) {
  const Error error = error_after({}, [](TestAnswer& answer) { answer.body.resize(999); });
  EXPECT_THAT(error.problem(), HasSubstr("the server sent 999"));
}

TEST_F(HttpFaults, WholeFilesInPlaceOfRangesAreRefused) {
  const Error error = error_after(
      {}, [](TestAnswer& answer) { answer = {.status = 200, .body = std::string(200'000, 'x')}; });
  EXPECT_THAT(error.problem(), HasSubstr("status 200 and the whole file"));
}

TEST_F(HttpFaults, OtherStatusThanThatOfRangesIsNamed) {
  for (const int status : {202, 204}) {
    const Error error = error_after({}, [&](TestAnswer& answer) { answer = {.status = status}; });
    EXPECT_EQ(error.problem(),
              fmt::format("the server answered the request for a range with status {} in place of 206 "
                          "(partial content)",
                          status));
    const HttpTestServer server([&](const TestRequest&) { return TestAnswer{.status = status}; });
    const Error opening = error_of([&] { open_for_reading(server.url() + "/f.root"); });
    EXPECT_EQ(opening.problem(), error.problem());
    EXPECT_EQ(opening.advice(), "a server or proxy that serves ranges of files");
  }
}

TEST_F(HttpFaults, LongAnswersAreRefused) {
  const Error error = error_after({}, [](TestAnswer& answer) { answer.body.resize(1001); });
  EXPECT_THAT(error.problem(), HasSubstr("more than the 1000 bytes"));
}

TEST_F(HttpFaults, SeveralPartsAreRefused) {
  const Error error = error_after({}, [](TestAnswer& answer) {
    answer.headers = {{"Content-Type", "multipart/byteranges; boundary=X"}};
  });
  EXPECT_THAT(error.problem(), HasSubstr("says \"\""));
}

TEST_F(HttpFaults, AnswersThatBreakOffAreAskedForAgain) {
  const HttpContent content;
  std::atomic<int> count = 0;
  const HttpTestServer server([&](const TestRequest& request) {
    TestAnswer answer = content.answer_to(request);
    if (count++ % 3 == 0) answer.sent = answer.body.size() / 2;
    if (count % 5 == 0) answer = {.status = 503};
    return answer;
  });
  const auto file = open_for_reading(server.url() + "/f.root");
  Bytes into(1000);
  for (std::uint64_t at = 70'000; at < 110'000; at += 5000) {
    file->read(at, into);
    EXPECT_EQ(into, Bytes(1000, std::byte{'x'}));
  }
}

TEST_F(HttpFaults, HeadsThatBreakOffAreAskedForAgain) {
  for (const char* head :
       {"HTTP/1.1 206 Te", "HTTP/1.1 206 Test\r\n", "HTTP/1.1 206 Test\r\nETag: \"one\"\r\nX-O",
        "HTTP/1.1 103 Test\r\n\r\n", "HTTP/1.1 103 Test\r\n\r\nHTTP/1.1 206 Test\r\n"}) {
    const HttpContent content;
    std::atomic<int> count = 0;
    const HttpTestServer server([&](const TestRequest& request) {
      TestAnswer answer = content.answer_to(request);
      if (count++ % 2 == 0) answer.raw = head;
      return answer;
    });
    const auto file = open_for_reading(server.url() + "/f.root");
    Bytes into(1000);
    file->read(100'000, into);
    EXPECT_EQ(into, Bytes(1000, std::byte{'x'})) << head;
  }
}

TEST_F(HttpFaults, AnswersThatAreNotHttpAreAskedForAgain) {
  for (const char* garbage :
       {"\x17\x03 no answer\r\n", "HTTP/7.3 206 Test\r\n\r\n", "HTTP/1.1 no Test\r\n\r\n"}) {
    const HttpContent content;
    std::atomic<int> count = 0;
    const HttpTestServer server([&](const TestRequest& request) {
      TestAnswer answer = content.answer_to(request);
      if (count++ % 2 == 0) answer.raw = garbage;
      return answer;
    });
    const auto file = open_for_reading(server.url() + "/f.root");
    Bytes into(1000);
    file->read(100'000, into);
    EXPECT_EQ(into, Bytes(1000, std::byte{'x'}));
  }
}

TEST_F(HttpFaults, HeadsThatDoNotEndAreRefused) {
  const HttpTestServer server([](const TestRequest&) {
    return TestAnswer{.raw = "HTTP/1.1 206 Test\r\nX-Long: " + std::string(1'000'000, 'x')};
  });
  const Error error = error_of([&] { open_for_reading(server.url() + "/f.root"); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), testing::Not(HasSubstr("Out of memory")));
}

// Up to 64 MiB may come where a file is opened; an answer that refuses brings none of them.
TEST_F(HttpFaults, RefusalsAreNotAskedAgainForLongerThanTheTimeout) {
  try_for_two_seconds();
  const HttpTestServer server(
      [](const TestRequest&) { return TestAnswer{.status = 503, .headers = {{"Retry-After", "3"}}}; });
  const Error error = error_of([&] { open_for_reading(server.url() + "/f.root"); });
  EXPECT_THAT(error.problem(), AllOf(HasSubstr("status 503"), Not(HasSubstr("attempts"))));
}

// A port that nobody listens at: a server's that is gone.
std::string url_of_a_stopped_server() {
  return HttpTestServer([](const TestRequest&) { return TestAnswer{}; }).url();
}

TEST_F(HttpFaults, ServersThatNeverAnsweredAreGivenUpAfterAFewAttempts) {
  const std::string url = url_of_a_stopped_server() + "/f.root";
  const Error error = error_of([&] { open_for_reading(url); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.what(), HasSubstr("5 attempts"));
}

TEST_F(HttpFaults, AllKindsOfRedirectionsAreFollowed) {
  const HttpContent content;
  for (const int status : {301, 302, 303, 307, 308}) {
    const HttpTestServer server([&](const TestRequest& request) {
      if (request.target == "/there") return content.answer_to(request);
      return TestAnswer{.status = status, .headers = {{"Location", "/there"}}};
    });
    EXPECT_EQ(open_for_reading(server.url() + "/f")->size(), 200'000u) << status;
  }
}

TEST_F(HttpFaults, LoopsOfRedirectionsEnd) {
  const HttpTestServer server([](const TestRequest& request) {
    return TestAnswer{.status = 302, .headers = {{"Location", request.target + "x"}}};
  });
  const Error error = error_of([&] { open_for_reading(server.url() + "/f"); });
  EXPECT_THAT(error.problem(), HasSubstr("it is sent on and on"));
  EXPECT_LE(server.requests().size(), 22u);
}

TEST_F(HttpFaults, RedirectionsToOtherSchemesAreNotFollowed) {
  const HttpTestServer server([](const TestRequest&) {
    return TestAnswer{.status = 302, .headers = {{"Location", "file:///etc/passwd"}}};
  });
  const Error error = error_of([&] { open_for_reading(server.url() + "/f"); });
  EXPECT_THAT(error.problem(), HasSubstr("where HTTP does not reach"));
}

TEST_F(HttpFaults, APlaceThatARedirectionNamedMayBeGoneLater) {
  const HttpContent content;
  std::atomic<bool> gone = false;
  const HttpTestServer server([&](const TestRequest& request) {
    if (request.target == "/f")
      return TestAnswer{.status = 307, .headers = {{"Location", gone ? "/second" : "/first"}}};
    if (request.target == "/first" && gone) return TestAnswer{.status = 404};
    return content.answer_to(request);
  });
  const auto file = open_for_reading(server.url() + "/f");
  gone = true;
  Bytes into(1000);
  file->read(100'000, into);
  EXPECT_EQ(into, Bytes(1000, std::byte{'x'}));
}

TEST_F(HttpFaults, SizesAreAskedForByHeadWhereRangesDoNotTellThem) {
  const HttpContent content;
  const HttpTestServer server([&](const TestRequest& request) {
    TestAnswer answer = content.answer_to(request);
    if (request.method == "HEAD")
      return TestAnswer{.headers = {{"Content-Length", "200000"}, {"ETag", "\"one\""}}};
    set_header(answer, "Content-Range",
               answer.headers[0].second.substr(0, answer.headers[0].second.find('/')) + "/*");
    return answer;
  });
  const auto file = open_for_reading(server.url() + "/f.root");
  EXPECT_EQ(file->size(), 200'000u);
  Bytes into(1000);
  file->read(100'000, into);
}

TEST_F(HttpFaults, CompressedAnswersAreRefused) {
  const HttpTestServer server([](const TestRequest&) {
    return TestAnswer{.headers = {{"Content-Encoding", "gzip"}}, .body = "xyz"};
  });
  EXPECT_THAT(error_of([&] { open_for_reading(server.url() + "/f"); }).problem(),
              HasSubstr("only compressed (gzip)"));
}

TEST_F(HttpFaults, TokensDoNotGoToOtherMachinesInClear) {
  // The proxy is this program: it sees what would go to the other machine.
  const HttpTestServer proxy([](const TestRequest&) { return TestAnswer{.status = 401}; });
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  ::setenv("BEARER_TOKEN", "secret.token.text", 1);
  const Error error = error_of([] { open_for_reading("http://storage.example.org/f.root"); });
  EXPECT_THAT(error.advice(), HasSubstr("COLONNADE_HTTP_TOKEN_OVER_HTTP=1"));
  EXPECT_EQ(proxy.requests().at(0).header("authorization"), "");
  ::setenv("COLONNADE_HTTP_TOKEN_OVER_HTTP", "1", 1);
  error_of([] { open_for_reading("http://storage.example.org/f.root"); });
  EXPECT_EQ(proxy.requests().back().header("authorization"), "Bearer secret.token.text");
  for (const char* name : {"http_proxy", "BEARER_TOKEN", "COLONNADE_HTTP_TOKEN_OVER_HTTP"}) ::unsetenv(name);
}

// The file is just being written when it is first read, and others follow before they are used.
TEST_F(HttpFaults, TokensAreReadAgainAsOftenAsTheyAreRenewed) {
  const TestFolder folder;
  const std::string file = (folder.path() / "token").string();
  std::ofstream(file).close();
  ::setenv("BEARER_TOKEN_FILE", file.c_str(), 1);
  const HttpContent content;
  std::atomic<int> written = 0, good = 1;
  {
    const HttpTestServer server([&](const TestRequest& request) {
      if (request.header("authorization") == "Bearer token" + std::to_string(good))
        return content.answer_to(request);
      if (written < good) std::ofstream(file) << "token" << ++written;
      return TestAnswer{.status = 401};
    });
    const auto opened = open_for_reading(server.url() + "/f.root");
    good = 4;
    Bytes into(1000);
    opened->read(100'000, into);
    EXPECT_EQ(into, Bytes(1000, std::byte{'x'}));
    good = 1000;  // it does not go on for ever
    EXPECT_EQ(error_of([&] { opened->read(90'000, into); }).kind(), ErrorKind::io);
  }
  ::unsetenv("BEARER_TOKEN_FILE");
}

// One folder of three is not listed: not to be seen, or not answered.
TEST_F(HttpFaults, PatternsLoseNoFilesToFoldersThatAreNotAnswered) {
  std::atomic<int> status = 403;
  const HttpTestServer server([&](const TestRequest& request) {
    if (request.target == "/d/two/") return TestAnswer{.status = status};
    const bool is_top = request.target == "/d/";
    return TestAnswer{.headers = {{"Content-Type", "text/html"}},
                      .body = is_top ? R"(<a href="one/"></a><a href="two/"></a><a href="three/"></a>)"
                                     : R"(<a href="a.root"></a>)"};
  });
  const std::string folder = server.url() + "/d/";
  const auto others = testing::ElementsAre(folder + "one/a.root", folder + "three/a.root");
  EXPECT_THAT(match_files(folder + "*/*.root"), others);
  status = 404;
  EXPECT_THAT(match_files(folder + "*/*.root"), others);
  for (const int failing : {400, 401, 409}) {
    status = failing;
    const Error error = error_of([&] { match_files(folder + "*/*.root"); });
    EXPECT_EQ(error.kind(), ErrorKind::io) << failing;
    EXPECT_EQ(error.context().uri, folder + "two/");
  }
}

TEST_F(HttpFaults, NamesEndNowhereElseThanTheUserSees) {
  const Error error = error_of([] { open_for_writing("http://localhost:1/run#1.root", OpenMode::create); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.advice(), HasSubstr("%23"));
}

// A folder of a server with WebDAV.
class HttpFolder {
 public:
  TestAnswer answer_to(const TestRequest& request) {
    const auto file = files_.find(request.target);
    if (request.method == "PUT") {
      files_[request.target] = request.body;
      return {.status = 201};
    }
    if (file == files_.end()) return {.status = 404};
    if (request.method == "GET") return HttpContent{.bytes = file->second}.answer_to(request);
    if (request.method == "HEAD")
      return {.headers = {{"Content-Length", std::to_string(file->second.size())}}};
    if (request.method == "MOVE") {
      const std::string destination = request.header("destination");
      const std::string to = destination.substr(destination.find('/', 7));
      if (request.header("overwrite") == "F" && files_.contains(to)) return {.status = 412};
      files_[to] = file->second;
    }
    files_.erase(request.target);
    return {.status = 204};
  }
  const std::map<std::string, std::string>& files() const { return files_; }

 private:
  std::map<std::string, std::string> files_;
};

// Answers are lost after the request was carried out, with a word or without one: on a connection that was
// kept, libcurl repeats the request by itself.
TEST_F(HttpFaults, WhatWasRenamedBeforeAnAnswerWasLostIsRenamed) {
  for (const bool stays : {false, true})
    for (const int lost : {1, 2}) {
      HttpFolder folder;
      int moves = 0;
      {
        const HttpTestServer server([&](const TestRequest& request) {
          TestAnswer answer = folder.answer_to(request);
          answer.stays = stays;
          if (request.method == "MOVE" && ++moves == lost) answer.drops = true;
          return answer;
        });
        const auto file = open_for_writing(server.url() + "/f.root", OpenMode::create);
        file->write(0, as_bytes("1234567"));
        file->close();
        const auto methods = [&](const std::string& method) {
          const auto all = server.requests();
          return std::count_if(all.begin(), all.end(),
                               [&](const TestRequest& each) { return each.method == method; });
        };
        EXPECT_EQ(methods("MOVE"), 3);  // the file was renamed to its name, not written at it
      }
      EXPECT_THAT(folder.files(), testing::ElementsAre(testing::Pair("/f.root", "1234567")));
    }
}

// A server that renames, and answers with errors: what it has done tells.
TEST_F(HttpFaults, WhatWasRenamedBeforeAnErrorIsRenamed) {
  try_for_two_seconds();
  for (const bool is_done : {false, true}) {
    HttpFolder folder;
    int moves = 0;
    {
      const HttpTestServer server([&](const TestRequest& request) {
        if (request.method != "MOVE" || ++moves == 1) return folder.answer_to(request);
        if (is_done && moves == 2) folder.answer_to(request);
        return TestAnswer{.status = 504};
      });
      const auto file = open_for_writing(server.url() + "/f.root", OpenMode::create);
      file->write(0, as_bytes("1234567"));
      if (is_done)
        EXPECT_NO_THROW(file->close());
      else
        EXPECT_EQ(error_of([&] { file->close(); }).kind(), ErrorKind::io);
    }
    EXPECT_EQ(folder.files().contains("/f.root"), is_done);
    EXPECT_EQ(folder.files().size(), is_done ? 1u : 0u);
  }
}

// An answer of success that has a list of errors, or is to come, or comes from the page of a portal.
TEST_F(HttpFaults, WhatWasNotRenamedInSpiteOfSuccessIsNotRenamed) {
  for (const int status : {200, 202, 207})
    for (const int first : {1, 2}) {
      HttpFolder folder;
      int moves = 0;
      {
        const HttpTestServer server([&](const TestRequest& request) {
          if (request.method == "MOVE" && ++moves >= first) return TestAnswer{.status = status};
          return folder.answer_to(request);
        });
        const auto file = open_for_writing(server.url() + "/f.root", OpenMode::create);
        file->write(0, as_bytes("1234567"));
        if (first == 1)  // it cannot rename
          EXPECT_NO_THROW(file->close());
        else
          EXPECT_THAT(error_of([&] { file->close(); }).problem(), HasSubstr("cannot rename"));
      }
      EXPECT_EQ(folder.files().size(), first == 1 ? 1u : 0u);
    }
}

// A portal answers the request to rename, which never reaches the server.
TEST_F(HttpFaults, WhatAPortalAnswersToRenamingIsNotBelieved) {
  const std::map<std::string, std::string> problems{{"", "the server does not have the file"},
                                                    {"123", "but the server has 3"},
                                                    {"7654321", "an older one of its size"}};
  for (const auto& [old, problem] : problems) {
    HttpFolder folder;
    if (!old.empty()) folder.answer_to({.method = "PUT", .target = "/f.root", .head = {}, .body = old});
    int moves = 0;
    {
      const HttpTestServer server([&](const TestRequest& request) {
        if (request.method == "MOVE" && ++moves == 2) return TestAnswer{.status = 201};
        return folder.answer_to(request);
      });
      const auto file = open_for_writing(server.url() + "/f.root", OpenMode::create);
      file->write(0, as_bytes("1234567"));
      const Error error = error_of([&] { file->close(); });
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_THAT(error.problem(), HasSubstr(problem));
    }
    const std::map<std::string, std::string> expected{{"/f.root", old}};
    EXPECT_EQ(folder.files(), old.empty() ? decltype(expected){} : expected);
  }
}

// It answered nothing more after it was asked to rename.
TEST_F(HttpFaults, WhetherItWasRenamedMayRemainUnknown) {
  try_for_two_seconds();
  for (const int status : {504, 401}) {
    HttpFolder folder;
    int moves = 0;
    const HttpTestServer server([&](const TestRequest& request) {
      moves += request.method == "MOVE" ? 1 : 0;
      if (moves < 2) return folder.answer_to(request);
      return TestAnswer{.status = request.method == "MOVE" ? 504 : status};
    });
    const auto file = open_for_writing(server.url() + "/f.root", OpenMode::create);
    file->write(0, as_bytes("1234567"));
    const Error error = error_of([&] { file->close(); });
    EXPECT_THAT(error.problem(), AllOf(HasSubstr("cannot rename"), HasSubstr("it is not known whether")));
    EXPECT_EQ(error.context().uri, server.url() + "/f.root");
  }
}

// A server that cannot rename, and answers with errors: what it has tells.
TEST_F(HttpFaults, WhatWasWrittenBeforeAnErrorIsWritten) {
  try_for_two_seconds();
  const std::string old = "1", half = "123", all = "1234567";
  for (const std::string& kept : {std::string(), old, half, all}) {
    std::string there;
    const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
      if (request.method == "MOVE") return {.status = 405};
      const bool is_file = request.target == "/f.root";
      if (request.method == "DELETE" || (request.method == "PUT" && !is_file)) return {.status = 204};
      if (request.method == "PUT") {
        there = kept;
        return {.status = 502};
      }
      if (!is_file || there.empty()) return {.status = 404};
      return HttpContent{.bytes = there}.answer_to(request);
    });
    const auto file = open_for_writing(server.url() + "/f.root", OpenMode::create);
    file->write(0, as_bytes(all));
    if (kept == all) {
      EXPECT_NO_THROW(file->close());
      continue;
    }
    const Error error = error_of([&] { file->close(); });
    EXPECT_THAT(error.problem(), AllOf(HasSubstr("cannot write"), Not(HasSubstr("not known"))));
  }
}

// A server that cannot rename. The first answer to the file is lost, so that the repetition finds a file: the
// one that was sent, or another program's.
TEST_F(HttpFaults, WhatWasWrittenBeforeAnAnswerWasLostIsNotAnotherPrograms) {
  const std::string sent(5'000'000, 's');
  for (const bool is_ours : {true, false}) {
    std::string there;
    bool is_first = true;
    const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
      if (request.method == "MOVE") return {.status = 405};
      const bool is_file = request.target == "/f.root";
      if (request.method == "DELETE" || (request.method == "PUT" && !is_file)) return {.status = 204};
      if (request.method != "PUT") {
        if (!is_file || there.empty()) return {.status = 404};
        return HttpContent{.bytes = there}.answer_to(request);
      }
      if (!there.empty()) return {.status = 412};
      there = request.body;
      if (!is_ours) there.back() = 'x';
      return {.drops = std::exchange(is_first, false), .stays = is_ours};
    });
    const auto file = open_for_writing(server.url() + "/f.root", OpenMode::create_new);
    file->write(0, as_bytes(sent));
    if (is_ours)
      EXPECT_NO_THROW(file->close());
    else
      EXPECT_THAT(error_of([&] { file->close(); }).problem(), HasSubstr("another program"));
    EXPECT_EQ(there == sent, is_ours);
  }
}

// A portal answers writes with success, although they never reach the server; and files cannot be renamed.
TEST_F(HttpFaults, FilesThatSomebodyElseAcceptedAreNoticed) {
  for (const int status : {404, 410}) {
    const HttpTestServer server([&](const TestRequest& request) -> TestAnswer {
      if (request.method == "PUT" || request.method == "DELETE") return {.status = 200, .body = "<html>"};
      return {.status = request.method == "MOVE" ? 405 : status};
    });
    const auto file = open_for_writing(server.url() + "/f.root", OpenMode::create);
    file->write(0, as_bytes("1234567"));
    const Error error = error_of([&] { file->close(); });
    EXPECT_THAT(error.problem(),
                StartsWith("7 bytes were sent and accepted, but the server does not have the file; "));
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(kept(error), "1234567");
    std::filesystem::remove(std::filesystem::directory_iterator(temporary_.path())->path());
  }
}

TEST_F(HttpFaults, BytesThatAServerLostOnTheWayAreNoticed) {
  const HttpTestServer server([](const TestRequest& request) {
    if (request.method == "HEAD") return TestAnswer{.headers = {{"Content-Length", "5"}}};
    return TestAnswer{.status = 201};
  });
  const auto file = open_for_writing(server.url() + "/f.root", OpenMode::create);
  file->write(0, as_bytes("1234567"));
  // A second close() says the same: the file is not there.
  for (int k = 0; k < 2; ++k) {
    const Error error = error_of([&] { file->close(); });
    EXPECT_THAT(error.problem(), StartsWith("7 bytes were sent, but the server has 5; "));
    EXPECT_EQ(kept(error), "1234567");
  }
}

// The server refuses one kind of request for a while, before it does what it is asked, or after.
TEST_F(HttpFaults, AFileIsSentAgainWhenItIsClosedAgain) {
  for (const auto mode : {OpenMode::create, OpenMode::create_new})
    for (const std::string method : {"PUT", "HEAD", "MOVE"})
      for (const bool is_done : {false, true}) {
        SCOPED_TRACE(method + (is_done ? " done" : ""));
        HttpFolder folder;
        std::atomic<bool> fails = false;
        const HttpTestServer server([&](const TestRequest& request) {
          if (!fails || request.method != method) return folder.answer_to(request);
          if (is_done) folder.answer_to(request);
          return TestAnswer{.status = mode == OpenMode::create ? 507 : 403};
        });
        const auto file = open_for_writing(server.url() + "/f.root", mode);
        file->write(0, as_bytes("1234567"));
        EXPECT_FALSE(may_close_again(*file));
        fails = true;
        int failures = 0;
        for (int attempt = 0; attempt < 2; ++attempt) {
          try {
            file->close();
          } catch (const Error& error) {
            ++failures;
            EXPECT_EQ(kept(error), "1234567");
            EXPECT_TRUE(may_close_again(*file));
          }
        }
        fails = false;
        file->close();
        EXPECT_FALSE(may_close_again(*file));
        EXPECT_TRUE(std::filesystem::is_empty(temporary_.path()));
        const auto there = open_for_reading(server.url() + "/f.root");
        Bytes content(there->size());
        there->read(0, content);
        const ByteSpan sent = as_bytes("1234567");
        EXPECT_EQ(content, Bytes(sent.begin(), sent.end()));
        EXPECT_GT(failures + (method == "HEAD" ? 1 : 0) + (is_done ? 1 : 0), 0);
      }
}

// What was kept is a person's then.
TEST_F(HttpFaults, AFileThatIsGivenUpIsKept) {
  HttpFolder folder;
  std::atomic<bool> fails = false;
  const HttpTestServer server([&](const TestRequest& request) {
    return fails ? TestAnswer{.status = 507} : folder.answer_to(request);
  });
  auto file = open_for_writing(server.url() + "/f.root", OpenMode::create);
  file->write(0, as_bytes("1234567"));
  fails = true;
  const Error error = error_of([&] { file->close(); });
  file->discard();
  EXPECT_FALSE(may_close_again(*file));
  file.reset();
  EXPECT_EQ(kept(error), "1234567");
}

}  // namespace
}  // namespace colonnade::io
