// New local files next to what they replace: names, links, permissions, leftovers of killed writers, and
// refusals.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "base/test_child.h"
#include "base/test_errors.h"
#include "base/test_folder.h"
#include "io/local/write_calls.h"
#include "io/local/write_test_tools.h"

namespace colonnade::io {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;

class NewFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  void store(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string text(const std::string& name) const {
    const Bytes bytes = testing_tools::content(path(name));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }
  static void write(const std::string& uri, const std::string& text) {
    const auto file = open_for_writing(uri, OpenMode::create);
    file->write(0, as_bytes(text));
    file->close();
  }

  TestFolder folder_;
};

class NewFiles : public NewFile, public testing::WithParamInterface<std::string> {};

// The maximum length of a name, with multi-byte characters and dots.
INSTANTIATE_TEST_SUITE_P(Names, NewFiles,
                         testing::Values("f.root", ".hidden", "a b.c.d", std::string(250, 'x') + ".root",
                                         std::string(200, 'y') + "\xc3\xa4\xc3\xa4.root", [] {
                                           std::string name;
                                           while (name.size() < 254) name += "\xe2\x82\xac";
                                           return name;
                                         }()));

TEST_P(NewFiles, TakesItsPlaceAndLeavesNothingBeside) {
  const std::string name = GetParam();
  for (const char* const words : {"first", "second"}) {
    {
      const auto file = open_for_writing(path(name), OpenMode::create);
      file->write(0, as_bytes("nothing"));
    }
    write(path(name), words);
    EXPECT_EQ(text(name), words);
    EXPECT_THAT(names(), testing::ElementsAre(name));
  }
}

TEST_P(NewFiles, RemovesWhatAKilledWriterLeft) {
  const std::string name = GetParam();
  store(name, "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto file = open_for_writing(path(name), OpenMode::create);
    file->write(0, as_bytes("half"));
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(names().size(), 2u);
  EXPECT_EQ(text(name), "old");
  store(".other.0123456789abcdef.part", "not ours");
  write(path(name), "new");
  EXPECT_EQ(text(name), "new");
  EXPECT_EQ(names().size(), 2u);
  EXPECT_EQ(text(".other.0123456789abcdef.part"), "not ours");
}

// Killed between the second link and the removal of the first, on file systems without another way to rename.
TEST_F(NewFile, ASecondNameThatAKilledWriterLeftKeepsNobodyOut) {
  store("f.root", "old");
  fs::create_hard_link(path("f.root"), path(".f.root.0123456789abcdef.part"));
  write(path("f.root"), "new");
  EXPECT_EQ(text("f.root"), "new");
  EXPECT_THAT(names(), testing::ElementsAre("f.root"));
}

TEST_F(NewFile, RemovesFoldersThatEarlierVersionsLeft) {
  for (const char* const folder :
       {".k2.root.4711-0", ".k2.root.4712-13", ".k2.root.1-x", ".k2.root.backup"}) {
    fs::create_directory(path(folder));
    store(std::string(folder) + "/k2.root", "half");
  }
  write(path("k2.root"), "new");
  EXPECT_THAT(names(), testing::ElementsAre(".k2.root.1-x", ".k2.root.backup", "k2.root"));
}

TEST_F(NewFile, ReplacesWhatALinkPointsTo) {
  fs::create_directory(path("far"));
  store("far/target.root", "old");
  fs::create_symlink("far/target.root", path("middle.root"));
  fs::create_symlink(path("middle.root"), path("link.root"));
  fs::create_symlink("far/missing.root", path("dangling.root"));
  write(path("link.root"), "new");
  write(path("dangling.root"), "made");
  EXPECT_TRUE(fs::is_symlink(path("link.root")));
  EXPECT_TRUE(fs::is_symlink(path("middle.root")));
  EXPECT_TRUE(fs::is_symlink(path("dangling.root")));
  EXPECT_EQ(text("far/target.root"), "new");
  EXPECT_EQ(text("far/missing.root"), "made");
  fs::create_symlink("loop", path("loop"));
  EXPECT_THAT(error_of([&] { open_for_writing(path("loop"), OpenMode::create); }).problem(),
              HasSubstr("Too many levels of symbolic links"));
}

TEST_F(NewFile, KeepsThePermissions) {
  store("f", "old");
  ASSERT_EQ(::chmod(path("f").c_str(), 0640), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path("f").c_str(), 65534, 12345), 0);
  }
  const mode_t mask = ::umask(077);
  write(path("f"), "new");
  ::umask(mask);
  struct stat status{};
  ASSERT_EQ(::stat(path("f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
  if (::geteuid() == 0) {
    EXPECT_EQ(status.st_uid, 65534u);
    EXPECT_EQ(status.st_gid, 12345u);
  }
}

// An access list as the kernel has it: a version, then a tag, rights and a user for each line.
std::string access_list(std::uint16_t rights_of_group, std::uint16_t rights_of_user, std::uint32_t user) {
  struct Line {
    std::uint16_t tag, rights;
    std::uint32_t id = 0xffffffff;
  };
  const std::array<Line, 5> lines = {
      {{1, 6}, {2, rights_of_user, user}, {4, rights_of_group}, {0x10, 6}, {0x20, 0}}};
  const std::uint32_t version = 2;
  std::string list(reinterpret_cast<const char*>(&version), sizeof version);
  return list.append(reinterpret_cast<const char*>(lines.data()), sizeof lines);
}

std::string access_list_of(const std::string& path) {
  std::string list(1000, ' ');
  const ssize_t size = ::getxattr(path.c_str(), "system.posix_acl_access", list.data(), list.size());
  list.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return list;
}

TEST_F(NewFile, KeepsTheAccessList) {
  const std::string list = access_list(4, 6, 12345);
  store("f", "old");
  const bool has_lists =
      ::setxattr(path("f").c_str(), "system.posix_acl_access", list.data(), list.size(), 0) == 0;
  write(path("f"), "new");
  EXPECT_EQ(access_list_of(path("f")), has_lists ? list : "");
  EXPECT_EQ(text("f"), "new");
}

TEST_F(NewFile, GetsNoAccessListFromItsFolder) {
  const std::string list = access_list(6, 6, 12345);
  store("f", "old");
  ASSERT_EQ(::chmod(path("f").c_str(), 0660), 0);
  const bool has_lists =
      ::setxattr(folder_.path().c_str(), "system.posix_acl_default", list.data(), list.size(), 0) == 0;
  write(path("f"), "new");
  EXPECT_EQ(access_list_of(path("f")), "");
  write(path("g"), "first");
  EXPECT_EQ(access_list_of(path("g")).empty(), !has_lists);  // as any new file there
}

TEST_F(NewFile, IsNotMadeForAnOpenFileWithoutAName) {
  store("f", "old");
  const int file = ::open(path("f").c_str(), O_RDWR | O_CLOEXEC);
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  ASSERT_TRUE(fs::is_symlink(link));
  write(link, "new");
  EXPECT_EQ(text("f"), "new");
  // The descriptor has the old file, which has no name any more.
  const Error error = error_of([&] { open_for_writing(link, OpenMode::create); });
  ::close(file);
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("without a name"));
  EXPECT_THAT(names(), testing::ElementsAre("f"));
}

TEST_F(NewFile, SaysThatItsFolderTakesNone) {
  store("f", "old");
  ASSERT_EQ(::chmod(path("f").c_str(), 0666), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0555), 0);
  const bool is_root = ::geteuid() == 0;  // root may write anywhere
  if (is_root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const Error error = error_of([&] { open_for_writing(path("f"), OpenMode::create); });
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  fs::permissions(folder_.path(), fs::perms::owner_all);
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("no file can be made in the folder \"" + folder_.path().string()));
  EXPECT_THAT(error.advice(), HasSubstr("choose another folder"));
  EXPECT_EQ(text("f"), "old");
}

TEST_F(NewFile, IsNoDeviceAndNoPipe) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& uri : {path("pipe"), std::string("/dev/null")})
    EXPECT_THAT(error_of([&] { open_for_writing(uri, OpenMode::create); }).problem(),
                HasSubstr("it is not a regular file"));
  EXPECT_THAT(names(), testing::ElementsAre("pipe"));
}

TEST_F(NewFile, HasANameThatIsTooLong) {
  EXPECT_THAT(error_of([&] { open_for_writing(path(std::string(300, 'x')), OpenMode::create); }).problem(),
              HasSubstr("File name too long"));
}

TEST_F(NewFile, StaysAsideIfItCannotBeMoved) {
  store("f", "old");
  WriteCalls calls = WriteCalls::of_system();
  calls.rename = [](const char*, const char*) {
    errno = EIO;
    return -1;
  };
  const auto file = open_for_writing(local_file_system(calls), path("f"), OpenMode::create, {});
  file->write(0, as_bytes("new"));
  const Error error = error_of([&] { file->close(); });
  EXPECT_THAT(error.problem(), HasSubstr("cannot move the finished file"));
  file->discard();
  EXPECT_EQ(text("f"), "old");
  ASSERT_EQ(names().size(), 2u);
  EXPECT_THAT(error.problem(),
              EndsWith("unless it is there, the complete new file is \"" + names()[0] + '"'));
  EXPECT_EQ(text(names()[0]), "new");
}

TEST_F(NewFile, DoesNotReplaceAnotherOneThanTheOneThatItFound) {
  store("f", "old");
  const auto replacing = [&](const char* by) {
    const auto file = open_for_writing(path("f"), OpenMode::create);
    file->write(0, as_bytes("new"));
    store("g", by);
    fs::rename(path("g"), path("f"));
    return error_of([&] { file->close(); });
  };
  const Error error = replacing("of somebody else");
  EXPECT_THAT(error.problem(), HasSubstr("another program has created the file"));
  EXPECT_EQ(text("f"), "of somebody else");
  ASSERT_EQ(names().size(), 2u);
  const std::string kept = names()[1];
  EXPECT_THAT(error.problem(), EndsWith("the complete new file is kept as \"" + kept + '"'));
  // It is not one of the leftovers that the next writers remove.
  EXPECT_THAT(replacing("of somebody else again").problem(), HasSubstr("another program"));
  EXPECT_EQ(names().size(), 3u);
  EXPECT_EQ(text(kept), "new");
}

TEST_F(NewFile, MayTakeItsPlaceLater) {
  const auto file = open_for_writing(path("f"), OpenMode::create);
  file->write(0, as_bytes("new"));
  store("f", "of somebody else");
  EXPECT_THAT(error_of([&] { file->publish(); }).problem(), HasSubstr("is kept as"));
  EXPECT_THAT(error_of([&] { file->publish(); }).problem(), HasSubstr("is kept as"));
  fs::remove(path("f"));
  file->close();
  EXPECT_EQ(text("f"), "new");
  EXPECT_THAT(names(), testing::ElementsAre("f"));
}

TEST_F(NewFile, TakesThePlaceOfOneThatWasRemovedMeanwhile) {
  store("f", "old");
  const auto file = open_for_writing(path("f"), OpenMode::create);
  file->write(0, as_bytes("new"));
  fs::remove(path("f"));
  file->close();
  EXPECT_EQ(text("f"), "new");
}

// Processes that create the same new file at the same moment: one of them succeeds.
TEST_F(NewFile, IsMadeByOneOfMany) {
  for (int round = 0; round < 30; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        try {
          const auto file = open_for_writing(path("f"), OpenMode::create_new);
          file->write(0, as_bytes(std::to_string(i)));
          file->close();
          ::_exit(i + 1);
        } catch (const Error&) {
          ::_exit(0);
        }
      }
      children.push_back(child);
    }
    std::vector<int> makers;
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status));
      if (WEXITSTATUS(status) != 0) makers.push_back(WEXITSTATUS(status) - 1);
    }
    ASSERT_LE(makers.size(), 1u);
    if (!makers.empty()) {
      EXPECT_EQ(text("f"), std::to_string(makers.front()));
    }
    EXPECT_EQ(names().size(), makers.size());
    fs::remove(path("f"));
  }
}

// The order of flushes to the device: the file, its new name, the folder.
TEST_F(NewFile, WaitsForTheDeviceBeforeItReplaces) {
  for (const bool there : {false, true}) {
    if (there) store("f", "old");
    std::vector<std::string> done;
    WriteCalls calls = WriteCalls::of_system();
    calls.fdatasync = [&](int file) {
      done.emplace_back("file");
      return ::fdatasync(file);
    };
    calls.fsync = [&](int folder) {
      done.emplace_back("folder");
      return ::fsync(folder);
    };
    calls.rename = calls.rename_new = [&](const char* from, const char* to) {
      done.emplace_back("rename");
      return ::rename(from, to);
    };
    const auto file = open_for_writing(local_file_system(calls), path("f"), OpenMode::create, {});
    file->write(0, as_bytes("new"));
    file->publish();
    if (there)
      EXPECT_THAT(done, testing::ElementsAre("file", "rename", "file", "folder"));
    else
      EXPECT_THAT(done, testing::ElementsAre("rename"));
    done.clear();
    file->sync();
    file->sync();
    if (there)
      EXPECT_THAT(done, testing::ElementsAre("file", "file"));
    else
      EXPECT_THAT(done, testing::ElementsAre("file", "folder", "file"));
    fs::remove(path("f"));
  }
}

// What write() accepted may be refused when it is flushed: the name would be that of an incomplete file.
TEST_F(NewFile, OnANetworkFileSystemIsFlushedBeforeItGetsItsName) {
  WriteCalls calls = WriteCalls::of_system();
  calls.is_on_network = [](int) { return true; };
  calls.fdatasync = [](int) { return errno = EDQUOT, -1; };
  for (const bool there : {false, true}) {
    if (there) store("f", "old");
    const auto file = open_for_writing(local_file_system(calls), path("f"), OpenMode::create, {});
    file->write(0, as_bytes("new"));
    EXPECT_THAT(error_of([&] { file->close(); }).problem(), HasSubstr("(Disk quota exceeded)"));
    EXPECT_EQ(fs::exists(path("f")), there);
    EXPECT_EQ(there ? text("f") : "old", "old");
  }
}

TEST_F(NewFile, OfAnExistingFileTheNameIsFlushedOnce) {
  store("f", "old");
  int folders = 0;
  WriteCalls calls = WriteCalls::of_system();
  calls.fsync = [&](int) { return ++folders, 0; };
  const auto file = open_for_writing(local_file_system(calls), path("f"), OpenMode::update, {});
  file->sync();
  file->sync();
  EXPECT_EQ(folders, 1);
}

TEST_F(NewFile, SaysThatItsFolderCannotBeFlushed) {
  WriteCalls calls = WriteCalls::of_system();
  int code = EIO;
  calls.fsync = [&](int) {
    errno = code;
    return -1;
  };
  const auto file = open_for_writing(local_file_system(calls), path("f"), OpenMode::create, {});
  file->publish();
  EXPECT_THAT(error_of([&] { file->sync(); }).problem(), HasSubstr("cannot flush the folder"));
  code = EINVAL;  // a file system that needs no flush
  EXPECT_NO_THROW(file->sync());
}

TEST_F(NewFile, ReplacesWhereNothingCanBeFlushed) {
  for (const int code : {EINVAL, ENOTSUP, ENOSYS}) {
    store("f", "old");
    WriteCalls calls = WriteCalls::of_system();
    calls.fdatasync = calls.fsync = [code](int) {
      errno = code;
      return -1;
    };
    const auto file = open_for_writing(local_file_system(calls), path("f"), OpenMode::create, {});
    file->write(0, as_bytes("new"));
    file->close();
    EXPECT_EQ(text("f"), "new");
  }
}

// A container that does not let calls through says EPERM.
TEST_F(NewFile, GetsItsNameWhereCallsAreRefused) {
  EXPECT_EQ(status_of_child([&] {
              if (!deny_call(SYS_renameat2, EPERM) || !deny_call(SYS_flock, EPERM)) return 0;
              write(path("linked"), "new");
              if (!deny_call(SYS_linkat, EPERM)) return 0;
              write(path("renamed"), "new");
              return 0;
            }),
            0);
  for (const std::string& name : names()) EXPECT_EQ(text(name), "new") << name;
}

// The first writer's new file is renamed into place between the second's opening of the old one and its lock.
TEST_F(NewFile, IsWhatASecondWriterGets) {
  store("f", "old");
  const auto files = local_file_system(WriteCalls::of_system());
  for (int round = 0; round < 200; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        write(path("f"), "new" + std::to_string(round));
      } catch (const Error&) {  // refused
      }
      ::_exit(0);
    }
    try {
      const auto file = open_for_writing(files, path("f"), OpenMode::update, {});
      file->write(100, as_bytes("mine"));
      file->flush();  // the first writer may replace the file as soon as it is closed
      EXPECT_EQ(text("f").size(), 104u) << "written to a file that has no name any more";
    } catch (const Error& error) {
      EXPECT_THAT(error.problem(), HasSubstr("another writer has it open"));
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }
}

}  // namespace
}  // namespace colonnade::io
