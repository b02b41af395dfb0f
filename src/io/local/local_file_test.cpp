// Local files: the conformance suite, and failures particular to file systems.
#include "io/local/local_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/test_folder.h"
#include "io/conformance_test.h"

namespace colonnade::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::map<std::string, LocalIo> ways_to_read{{"Automatic", LocalIo::automatic},
                                                  {"Pread", LocalIo::pread},
                                                  {"Threads", LocalIo::threads},
                                                  {"IoUring", LocalIo::io_uring},
                                                  {"Mmap", LocalIo::mmap}};

// A folder of this process, removed with it.
const fs::path& scratch() {
  static const TestFolder folder;
  return folder.path();
}

void store(const std::string& uri, ByteSpan content) {
  std::ofstream(local_path(uri), std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
}

Bytes content(const std::string& uri) {
  std::ifstream in(local_path(uri), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  return {as_bytes(text).begin(), as_bytes(text).end()};
}

const RegisterTransport by_path({.name = "LocalPath",
                                 .fresh_uri =
                                     [](const std::string& name) { return (scratch() / name).string(); },
                                 .store = store,
                                 .content = content});
const RegisterTransport by_uri({.name = "LocalUri",
                                .fresh_uri =
                                    [](const std::string& name) {
                                      fs::create_directory(scratch() / "a folder");
                                      return "file://" + scratch().string() + "/a%20folder/" + name;
                                    },
                                .store = store,
                                .content = content});

// Every way of reading must pass the same tests.
const bool every_way = [] {
  const auto add = [](const std::string& name, LocalIo method, bool direct) {
    RegisterTransport(
        {.name = name,
         .fresh_uri = [name](const std::string& file) { return (scratch() / (name + file)).string(); },
         .store = store,
         .content = content,
         .can_write = false,
         .read_options = {.local_io = method, .direct_io = direct}});
  };
  for (const bool direct : {false, true})
    for (const auto& [name, method] : ways_to_read) add(direct ? name + "Direct" : name, method, direct);
  return true;
}();

std::string message_of(const std::function<void()>& work, ErrorKind kind = ErrorKind::io) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

TEST(LocalFile, UnderstandsItsUris) {
  EXPECT_EQ(local_path("dir/f.root"), "dir/f.root");
  EXPECT_EQ(local_path("run:1.root"), "run:1.root");
  EXPECT_EQ(local_path("file:dir/f.root"), "dir/f.root");
  EXPECT_EQ(local_path("file:///dir/a%20b%C3%A9"), "/dir/a b\xc3\xa9");
  EXPECT_EQ(local_path("FILE://localhost/x"), "/x");
  EXPECT_THAT(message_of([] { local_path("file://server/x"); }, ErrorKind::usage),
              HasSubstr("the host \"server\""));
  EXPECT_THAT(message_of([] { local_path("file:///a%2"); }, ErrorKind::usage),
              HasSubstr("broken percent sequence"));
  EXPECT_THAT(message_of([] { local_path("file:///a%zz"); }, ErrorKind::usage),
              HasSubstr("broken percent sequence"));
  EXPECT_THAT(message_of([] { local_path("file:///a%00"); }, ErrorKind::usage),
              HasSubstr("broken percent sequence"));
  EXPECT_THAT(message_of([] { local_path(std::string("a\0b", 3)); }, ErrorKind::usage),
              HasSubstr("zero byte"));
}

TEST(LocalFile, RefusesFoldersPipesAndDevices) {
  EXPECT_THAT(message_of([] { open_for_reading(scratch().string()); }),
              HasSubstr("it is a directory; try: name a file inside it"));
  EXPECT_THAT(message_of([] { open_for_writing(scratch().string(), OpenMode::create); }),
              HasSubstr("it is a directory"));
  const std::string pipe = (scratch() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(message_of([&] { open_for_reading(pipe); }), HasSubstr("it is not a regular file"));
  EXPECT_THAT(message_of([] { open_for_reading("/dev/zero"); }), HasSubstr("it is not a regular file"));
}

TEST(LocalFile, SaysWhatIsMissing) {
  EXPECT_THAT(message_of([] { open_for_reading((scratch() / "no" / "f").string()); }, ErrorKind::not_found),
              HasSubstr("cannot open (No such file or directory); try: check the path"));
  EXPECT_THAT(message_of([] { open_for_reading((scratch() / "f.root\r").string()); }, ErrorKind::not_found),
              HasSubstr("try: the name without the white space around it"));
  EXPECT_THAT(message_of([] { open_for_reading("~/f.root"); }, ErrorKind::not_found),
              HasSubstr("path in full"));
  EXPECT_THAT(message_of([] { open_for_writing((scratch() / "no" / "f").string(), OpenMode::create); },
                         ErrorKind::not_found),
              HasSubstr("cannot open for writing (No such file or directory)"));
  const std::string file = (scratch() / "file").string();
  store(file, {});
  EXPECT_THAT(message_of([&] { open_for_reading(file + "/Events"); }, ErrorKind::not_found),
              HasSubstr("(Not a directory); try: check the path, of which a part is a file"));
}

TEST(LocalFile, SaysThatPermissionIsMissing) {
  const std::string uri = (scratch() / "locked").string();
  store(uri, {});
  fs::permissions(uri, fs::perms::none);
  constexpr uid_t nobody = 65534;
  const bool is_root = ::geteuid() == 0;  // root may open anything
  if (is_root) {
    ASSERT_EQ(::seteuid(nobody), 0);
  }
  const std::string message = message_of([&] { open_for_writing(uri, OpenMode::update); });
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_THAT(message, HasSubstr("cannot open for writing (Permission denied)"));
  EXPECT_THAT(message, HasSubstr("check the permissions of the file and of its folder"));
}

TEST(LocalFile, IsNotInheritedByOtherPrograms) {
  const std::string uri = (scratch() / "cloexec").string();
  const auto file = open_for_writing(uri, OpenMode::create);
  int seen = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (!fs::read_symlink(entry.path(), gone).filename().string().starts_with(".cloexec.")) continue;
    ++seen;
    EXPECT_NE(::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(seen, 1);
}

TEST(LocalFile, ReportsAFileSizeLimit) {
  const std::string uri = (scratch() / "limit").string();
  const auto file = open_for_writing(uri, OpenMode::create);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = message_of([&] { file->write(5000, Bytes(20000)); });
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(message, HasSubstr("(File too large); try: raise the limit of file sizes"));
  EXPECT_THAT(message, HasSubstr("offset=10000"));  // the part that fitted was written
}

TEST(LocalFile, ReadsBeyondFourGigabytesInASparseFile) {
  const std::string uri = (scratch() / "sparse").string();
  constexpr std::uint64_t far = 5'000'000'000;
  const auto file = open_for_writing(uri, OpenMode::create);
  file->write(far, as_bytes("far"));
  file->close();
  const auto reader = open_for_reading(uri);
  EXPECT_EQ(reader->size(), far + 3);
  Bytes into(5);
  reader->read(far - 2, into);
  EXPECT_EQ(into, (Bytes{std::byte{0}, std::byte{0}, std::byte{'f'}, std::byte{'a'}, std::byte{'r'}}));
}

}  // namespace
}  // namespace colonnade::io
