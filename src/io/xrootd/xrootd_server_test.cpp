// Files on a real XRootD server: in the suite of all files, with and without TLS, and what only XRootD has.
// The server's address is in the environment (tests/servers/README.md).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/test_child.h"
#include "base/test_errors.h"
#include "io/conformance_test.h"
#include "io/transport.h"
#include "io/xrootd/xrootd_library.h"

namespace colonnade::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

std::string server(bool tls) {
  return variable(tls ? "COLONNADE_TEST_XROOTD_TLS" : "COLONNADE_TEST_XROOTD");
}

std::string fresh_uri(bool tls, const std::string& name) {
  static int count = 0;
  return fmt::format("{}{}-{}.root", server(tls), name, ++count);
}

// Where the server keeps it.
std::string path_of(const std::string& uri) {
  const bool tls = uri.starts_with("roots");
  return variable(tls ? "COLONNADE_TEST_XROOTD_TLS_DATA" : "COLONNADE_TEST_XROOTD_DATA") + "/" +
         uri.substr(server(tls).size());
}

// The server runs as another user than the tests.
void store(const std::string& uri, ByteSpan content) {
  const std::string path = path_of(uri);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  ::chmod(std::filesystem::path(path).parent_path().c_str(), 0777);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  file.close();
  ::chmod(path.c_str(), 0666);
}

Bytes content(const std::string& uri) {
  std::ifstream file(path_of(uri), std::ios::binary);
  EXPECT_TRUE(file) << uri;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const ByteSpan bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

const RegisterTransport plain({.name = "XrootdFile",
                               .fresh_uri = [](const std::string& name) { return fresh_uri(false, name); },
                               .store = store,
                               .content = content});
const RegisterTransport with_tls({.name = "XrootdFileWithTls",
                                  .fresh_uri = [](const std::string& name) { return fresh_uri(true, name); },
                                  .store = store,
                                  .content = content});

Bytes pattern(std::size_t size, unsigned seed = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) + (i >> 19) + seed) & 0xff);
  return bytes;
}

// Requests of a kind ("read", "readv", "open") that the plain server has logged.
int requests(const std::string& kind) {
  std::ifstream log(variable("COLONNADE_TEST_XROOTD_LOG"));
  int count = 0;
  for (std::string line; std::getline(log, line);)
    if (line.find(" req=" + kind + " ") != std::string::npos) ++count;
  return count;
}

std::vector<std::string> names_like(const std::string& uri) {
  const std::filesystem::path path = path_of(uri);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
    std::string name = entry.path().filename().string();
    if (name.find(path.filename().string()) != std::string::npos) names.push_back(std::move(name));
  }
  return names;
}

TEST(XrootdFiles, ManySmallRangesAreOneRequest) {
  const std::string uri = fresh_uri(false, "vector");
  const Bytes bytes = pattern(3'000'000);
  store(uri, bytes);
  const auto file = open_for_reading(uri);
  std::vector<Bytes> into(1000, Bytes(100));
  std::vector<ReadRequest> wanted;
  for (std::size_t i = 0; i < into.size(); ++i) wanted.push_back({i * 2900, into[i]});
  const int vectors = requests("readv");
  const int reads = requests("read");
  file->read_vector(wanted);
  for (std::size_t i = 0; i < into.size(); ++i)
    ASSERT_TRUE(
        std::equal(into[i].begin(), into[i].end(), bytes.begin() + static_cast<std::ptrdiff_t>(i * 2900)));
  EXPECT_EQ(requests("readv"), vectors + 1);
  EXPECT_EQ(requests("read"), reads);
}

TEST(XrootdFiles, LargeReadsAreCut) {
  const std::string uri = fresh_uri(false, "large");
  const Bytes bytes = pattern((std::size_t{9} << 20) + 17);
  store(uri, bytes);
  const auto file = open_for_reading(uri);
  Bytes into(bytes.size());
  const int reads = requests("read");
  file->read(0, into);
  EXPECT_TRUE(into == bytes);
  EXPECT_EQ(requests("read"), reads + 5);
}

TEST(XrootdFiles, OpeningIsARequestAndOneForBothEnds) {
  const std::string uri = fresh_uri(false, "opening");
  const Bytes bytes = pattern(1'000'000);
  store(uri, bytes);
  static_cast<void>(open_for_reading(uri));  // connects
  const int opens = requests("open");
  const int stats = requests("stat");
  const int reads = requests("readv");
  const auto file = open_for_reading(uri);
  Bytes into(1000);
  for (const std::size_t at : {std::size_t{0}, bytes.size() - into.size()}) {
    file->read(at, into);
    EXPECT_TRUE(std::ranges::equal(into, std::span(bytes).subspan(at, into.size())));
  }
  EXPECT_EQ(requests("open"), opens + 1);
  EXPECT_EQ(requests("stat"), stats);
  EXPECT_EQ(requests("readv"), reads + 1);
}

TEST(XrootdFiles, AreWrittenAsideAndLeaveNothing) {
  const std::string uri = fresh_uri(false, "aside");
  const Bytes bytes = pattern(20'000'000);
  {
    const auto file = open_for_writing(uri, OpenMode::create);
    file->write(0, bytes);
    file->flush();
    EXPECT_FALSE(std::filesystem::exists(path_of(uri)));
    EXPECT_EQ(names_like(uri).size(), 1u);
    file->close();
  }
  EXPECT_TRUE(content(uri) == bytes);
  EXPECT_EQ(names_like(uri).size(), 1u);
  open_for_writing(uri, OpenMode::create)->write(0, bytes);
  EXPECT_TRUE(content(uri) == bytes) << "a file that is not closed leaves nothing";
  EXPECT_EQ(names_like(uri).size(), 1u);
}

// Whether another thread of this process runs, or would if it had a processor.
bool is_another_thread_at_work() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::syscall(SYS_gettid))) continue;
    std::string line;
    std::getline(std::ifstream(task.path() / "stat"), line);
    const std::size_t end = line.rfind(')');
    if (end != std::string::npos && line.at(end + 2) == 'R') return true;
  }
  return false;
}

// XrdCl 6 hangs in fork() if one of its threads is letting go of a file, as after the last answer about it:
// both wait for each other.
template <class Work>
int status_of_quiet_child(Work&& work) {
  for (int quiet = 0; quiet < 10; quiet = is_another_thread_at_work() ? 0 : quiet + 1)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return status_of_child(std::forward<Work>(work));
}

TEST(XrootdFiles, WhatADeadWriterLeftIsRemoved) {
  const std::string uri = fresh_uri(false, "dead");
  const int status = status_of_quiet_child([&] {
    const auto file = open_for_writing(uri, OpenMode::create);
    file->write(0, pattern(1000));
    file->flush();
    ::_exit(names_like(uri).size() == 1 ? 0 : 1);  // the file is not closed
    return 2;
  });
  EXPECT_EQ(status, 0);
  ASSERT_EQ(names_like(uri).size(), 1u);
  // The server hears of it in its own time.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    try {
      open_for_writing(uri, OpenMode::create)->close();
      break;
    } catch (const Error&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  EXPECT_EQ(names_like(uri).size(), 1u);
  EXPECT_EQ(content(uri), Bytes());
}

TEST(XrootdFiles, FoldersAreMade) {
  const std::string uri = server(false) + "new/folder/f.root";
  open_for_writing(uri, OpenMode::create)->close();
  EXPECT_EQ(content(uri), Bytes());
}

TEST(XrootdFiles, AreListed) {
  for (const char* name : {"listed/one/a.root", "listed/one/b.root", "listed/two/a.root", "listed/a.root"})
    store(server(false) + name, pattern(3));
  const std::string folder = server(false) + "listed/";
  EXPECT_THAT(list_files(folder + "one/"), ElementsAre(folder + "one/a.root", folder + "one/b.root"));
  EXPECT_THAT(list_files(folder + "one/b"), ElementsAre(folder + "one/b.root"));
  EXPECT_THAT(match_files(folder + "one/*.root"), ElementsAre(folder + "one/a.root", folder + "one/b.root"));
  EXPECT_THAT(match_files(folder + "*/a.root"), ElementsAre(folder + "one/a.root", folder + "two/a.root"));
  EXPECT_THAT(match_files(folder + "t*/[a-b].root"), ElementsAre(folder + "two/a.root"));
  EXPECT_THAT(match_files(folder + "?.root"), ElementsAre(folder + "a.root"));
  EXPECT_THAT(match_files(folder + "*.root?x=1"), ElementsAre(folder + "a.root?x=1"));
  EXPECT_THAT(match_files(folder + "**/a.root"),
              ElementsAre(folder + "a.root", folder + "one/a.root", folder + "two/a.root"));
  EXPECT_THAT(match_files(folder + "no*"), IsEmpty());
  EXPECT_EQ(error_of([&] { match_files(server(false) + "nowhere/*.root"); }).kind(), ErrorKind::not_found);
}

TEST(XrootdFiles, SayThatTheyWereChangedWhileOpen) {
  const std::string uri = fresh_uri(false, "changed");
  store(uri, pattern(1000));
  const auto reader = open_for_reading(uri);
  Bytes into(100);
  reader->read(0, into);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  store(uri, pattern(1000, 1));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Error error(ErrorKind::usage, "none");
  while (error.kind() == ErrorKind::usage && std::chrono::steady_clock::now() < until) {
    try {
      reader->read(500, into);
    } catch (const Error& thrown) {
      error = thrown;
    }
  }
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("changed while it was open"));
  EXPECT_EQ(error.context().uri, uri);
  EXPECT_THROW(reader->read(0, into), Error) << "from then on";
}

TEST(XrootdFiles, ThatAreReplacedAreReadAsTheyWere) {
  const std::string uri = fresh_uri(false, "replaced");
  store(uri, pattern(1000));
  auto reader = open_for_reading(uri);
  const auto writer = open_for_writing(uri, OpenMode::create);
  writer->write(0, pattern(1000, 1));
  writer->close();
  EXPECT_EQ(content(uri), pattern(1000, 1));
  Bytes into(1000);
  reader->read(0, into);
  EXPECT_EQ(into, pattern(1000));
  reader.reset();
  open_for_reading(uri)->read(0, into);
  EXPECT_EQ(into, pattern(1000, 1));
}

TEST(XrootdFiles, AreReadWhileTheyAreWritten) {
  const std::string uri = fresh_uri(false, "live");
  const auto writer = open_for_writing(uri, OpenMode::create);
  writer->write(0, pattern(1000));
  writer->publish();
  const auto reader = open_for_reading(uri);
  Bytes into(1000);
  reader->read(0, into);
  EXPECT_EQ(into, pattern(1000));
  writer->close();
}

// Before the tests of servers that do not answer: children that are forked after those were seen to fail,
// hang or crash in XrdCl 5.5.
TEST(XrootdFiles, AreReadInAForkedChild) {
  const std::string uri = fresh_uri(false, "fork");
  const Bytes bytes = pattern(100'000);
  store(uri, bytes);
  const auto reader = open_for_reading(uri);
  Bytes into(1000);
  reader->read(0, into);
  const auto writer = open_for_writing(fresh_uri(false, "fork-written"), OpenMode::create);
  for (int round = 0; round < 5; ++round) {
    const int status = status_of_quiet_child([&] {
      int failures = 0;
      Bytes again(1000);
      reader->read(5000, again);
      if (!std::equal(again.begin(), again.end(), bytes.begin() + 5000)) ++failures;
      open_for_reading(uri)->read(7000, again);
      if (!std::equal(again.begin(), again.end(), bytes.begin() + 7000)) ++failures;
      if (error_of([&] { writer->write(0, again); }).kind() != ErrorKind::usage) ++failures;
      return failures;
    });
    EXPECT_EQ(status, 0);
    reader->read(9000, into);
    EXPECT_TRUE(std::equal(into.begin(), into.end(), bytes.begin() + 9000));
  }
}

TEST(XrootdFiles, AreReadInChildrenThatAreForkedWhileOtherThreadsRead) {
  const std::string uri = fresh_uri(false, "busy");
  const Bytes bytes = pattern(100'000);
  store(uri, bytes);
  const auto is_read = [&](std::uint64_t offset) {
    Bytes into(1000);
    open_for_reading(uri)->read(offset, into);
    return std::equal(into.begin(), into.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  ASSERT_TRUE(is_read(0));
  std::atomic<bool> stop = false;
  std::atomic<int> failures = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      while (!stop)
        if (!is_read(3000)) ++failures;
    });
  for (int round = 0; round < 50; ++round)
    EXPECT_EQ(status_of_child([&] { return is_read(7000) ? 0 : 1; }), 0);
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failures, 0);
}

TEST(XrootdFiles, CannotBeOpenedWhereThereIsNoServer) {
  const std::string uri = "root://127.0.0.1:9//f.root";
  ::setenv("COLONNADE_XROOTD_TIMEOUT", "3", 1);
  const auto begin = std::chrono::steady_clock::now();
  for (const Error& error : {error_of([&] { open_for_reading(uri); }),
                             error_of([&] { open_for_writing(uri, OpenMode::create); })}) {
    EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
    EXPECT_EQ(error.context().uri, uri);
    EXPECT_FALSE(error.advice().empty());
  }
  ::unsetenv("COLONNADE_XROOTD_TIMEOUT");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

// The server answers nothing while this lives, with its connections open.
class StoppedServer {
 public:
  StoppedServer() {
    EXPECT_EQ(::kill(process(), SIGSTOP), 0);
    while (state() != 'T') std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  StoppedServer(const StoppedServer&) = delete;
  StoppedServer& operator=(const StoppedServer&) = delete;
  ~StoppedServer() { ::kill(process(), SIGCONT); }

 private:
  static pid_t process() { return std::stoi(variable("COLONNADE_TEST_XROOTD_PID")); }
  static char state() {
    std::ifstream status(fmt::format("/proc/{}/stat", process()));
    std::string line;
    std::getline(status, line);
    const std::size_t end = line.rfind(')');
    return end == std::string::npos ? 'T' : line.at(end + 2);
  }
};

TEST(XrootdFiles, GiveUpOnAServerThatDoesNotAnswer) {
  ::setenv("COLONNADE_XROOTD_TIMEOUT", "2", 1);
  const std::string uri = fresh_uri(false, "silent");
  store(uri, pattern(300'000));
  const auto reader = open_for_reading(uri);
  Bytes into(100);
  {
    const StoppedServer stopped;
    const auto begin = std::chrono::steady_clock::now();
    const Error error = error_of([&] { reader->read(150'000, into); });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.context().offset, 150'000u);
    EXPECT_THAT(error.problem(), HasSubstr("cannot read 100 bytes"));
  }
  reader->read(150'000, into);
  ::unsetenv("COLONNADE_XROOTD_TIMEOUT");
}

TEST(XrootdFiles, ErrorsOfTheServerAreExplained) {
  const std::string uri = fresh_uri(false, "denied");
  store(uri, pattern(10));
  ::chmod(path_of(uri).c_str(), 0);
  const Error denied = error_of([&] { open_for_reading(uri + "?authz=Bearer%20verysecret"); });
  EXPECT_EQ(denied.kind(), ErrorKind::io);
  EXPECT_THAT(denied.what(), Not(HasSubstr("verysecret")));
  EXPECT_FALSE(denied.advice().empty());
  const Error folder = error_of([&] { open_for_reading(server(false) + "listed"); });
  EXPECT_FALSE(folder.advice().empty());
  const Error relative =
      error_of([&] { open_for_reading(server(false).substr(0, server(false).size() - 1) + "x"); });
  EXPECT_THAT(relative.advice(), HasSubstr("root://host//"));
}

}  // namespace
}  // namespace colonnade::io
