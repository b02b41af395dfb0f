// Object stores in folders: the conformance suite, concurrent processes, crashes, and refusals of the system.
#include "io/local/local_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/test_errors.h"
#include "base/test_folder.h"
#include "io/object_store_conformance_test.h"

namespace colonnade::io {
namespace {

namespace fs = std::filesystem;

std::string fresh_path(const std::string& name) {
  static const TestFolder folder;
  const std::string path = (folder.path() / name).string();
  fs::remove_all(path);
  return path;
}

const RegisterStore local({.name = "Local",
                           .fresh_uri = [](const std::string& name) { return "obj://" + fresh_path(name); }});

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr ValueAddress somewhere{{1, 2}, 3, 4};

Bytes bytes_of(std::string_view text) {
  const ByteSpan bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

void put(ObjectStore& store, const ValueAddress& address, ByteSpan value) {
  const UpdateItem item{address.akey, {value}};
  store.update(address.object, address.dkey, {&item, 1});
}

Bytes read(const ObjectStore& store, const ValueAddress& address) {
  Bytes value(static_cast<std::size_t>(store.size(address).value_or(0)));
  const FetchItem item{address.akey, 0, value};
  store.fetch(address.object, address.dkey, {&item, 1});
  return value;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// A store in a fresh folder, and its files.
class LocalStore : public testing::Test {
 protected:
  std::shared_ptr<ObjectStore> open() const { return open_local_store(uri_, {.create = true}); }
  std::shared_ptr<ObjectStore> open(StoreCalls calls) const {
    return open_local_store(uri_, {.create = true}, std::move(calls));
  }

  const std::string path_ = fresh_path("store");
  const std::string uri_ = "obj://" + path_;
};

// ---- The folder

TEST_F(LocalStore, KeepsAFileForEachValue) {
  const auto store = open();
  put(*store, {{7, 42}, 3, 0}, as_bytes("first"));
  put(*store, {{7, 42}, 18446744073709551615U, 5}, as_bytes("second"));
  EXPECT_EQ(text_of(path_ + "/7/42/3-0"), "first");
  EXPECT_EQ(text_of(path_ + "/7/42/18446744073709551615-5"), "second");
  EXPECT_EQ(text_of(path_ + "/colonnade-store"), "Colonnade object store, layout 1\n");
  EXPECT_THAT(names_in(path_), ElementsAre("7", "colonnade-store"));
  EXPECT_THAT(names_in(path_ + "/7/42"), ElementsAre("18446744073709551615-5", "3-0"));
}

TEST_F(LocalStore, TakesPathsInEveryForm) {
  static_cast<void>(open());
  EXPECT_NO_THROW(open_object_store("obj:" + path_));
  EXPECT_NO_THROW(open_object_store("OBJ://localhost" + path_));
  EXPECT_NO_THROW(open_object_store("obj://" + fs::path(path_).parent_path().string() + "/%73tore"));
  EXPECT_EQ(error_of([&] { open_object_store("obj://host/path"); }).kind(), ErrorKind::usage);
}

TEST_F(LocalStore, TakesNoOtherFolderForAStore) {
  fs::create_directory(path_);
  Error error = error_of([&] { open_object_store(uri_); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.problem(), HasSubstr("there is no object store in \"" + path_ + "\""));
  EXPECT_FALSE(error.advice().empty());
  std::ofstream(path_ + "/letter.txt") << "Dear Sir";
  error = error_of([&] { open(); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.problem(), HasSubstr("the folder holds other things"));
  EXPECT_THAT(names_in(path_), ElementsAre("letter.txt"));
}

TEST_F(LocalStore, MakesAStoreAgainOfWhatRemainsOfOne) {
  put(*open(), somewhere, as_bytes("x"));
  const std::vector<std::string> remains = {"1", "claims"};
  const auto open_remains = [&] {
    return open_local_store(uri_, {.create = true}, StoreCalls::of_system(), remains);
  };
  fs::remove(path_ + "/colonnade-store");
  std::ofstream(path_ + "/claims") << "";
  std::ofstream(path_ + "/letter.txt") << "Dear Sir";
  EXPECT_EQ(error_of(open_remains).kind(), ErrorKind::not_found);
  fs::remove(path_ + "/letter.txt");
  EXPECT_EQ(open_remains()->size(somewhere), 1u);
  EXPECT_EQ(open_object_store(uri_)->size(somewhere), 1u);
}

TEST_F(LocalStore, MakesAStoreOfAnEmptyFolder) {
  fs::create_directory(path_);
  // The leftover of a process that died while it made a store.
  std::ofstream(path_ + "/.0123456789abcdef-1-0.tmp") << "Colo";
  put(*open(), somewhere, as_bytes("x"));
  EXPECT_EQ(open_object_store(uri_)->size(somewhere), 1u);
}

TEST_F(LocalStore, IsNotMadeWhereNoFolderIs) {
  const Error error =
      error_of([&] { open_object_store("obj://" + path_ + "/deeper/store", {.create = true}); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.problem(), HasSubstr("No such file or directory"));
}

TEST_F(LocalStore, IsNoFile) {
  std::ofstream(path_) << "a file";
  for (const bool create : {false, true}) {
    const Error error = error_of([&] { open_object_store(uri_, {.create = create}); });
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_THAT(error.problem(), HasSubstr("it is not a folder"));
  }
}

TEST_F(LocalStore, RefusesALayoutItDoesNotKnow) {
  static_cast<void>(open());
  for (const auto& [text, advice] :
       {std::pair("Colonnade object store, layout 2\n", "later version"), std::pair("", "is damaged"),
        std::pair("Colonnade object store, layout ", "is damaged"), std::pair("\1\2\3", "is damaged")}) {
    std::ofstream(path_ + "/colonnade-store") << text;
    const Error error = error_of([&] { open_object_store(uri_); });
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.problem(), HasSubstr("does not say \"Colonnade object store, layout 1\""));
    EXPECT_THAT(error.advice(), HasSubstr(advice));
  }
}

TEST_F(LocalStore, LeavesAloneWhatIsNotItsOwn) {
  const auto store = open();
  put(*store, somewhere, as_bytes("x"));
  std::ofstream(path_ + "/1/2/notes.txt") << "mine";
  std::ofstream(path_ + "/1/2/03-4") << "not as a key is written";
  fs::create_directory(path_ + "/1/notes");
  EXPECT_THAT(store->list_dkeys({1, 2}), ElementsAre(3u));
  EXPECT_THAT(store->list_akeys({1, 2}, 3), ElementsAre(4u));
  store->remove_objects(1, 0, 100);
  EXPECT_THAT(names_in(path_ + "/1/2"), ElementsAre("03-4", "notes.txt"));
  EXPECT_TRUE(fs::exists(path_ + "/1/notes"));
}

TEST_F(LocalStore, RemovesFoldersThatAreEmpty) {
  const auto store = open();
  for (std::uint64_t number = 1; number < 4; ++number) put(*store, {{1, number}, 0, 0}, {});
  store->remove_objects(1, 1, 2);
  EXPECT_THAT(names_in(path_ + "/1"), ElementsAre("3"));
  store->remove_objects(1, 0, ~std::uint64_t{0});
  EXPECT_THAT(names_in(path_), ElementsAre("colonnade-store"));
}

TEST_F(LocalStore, RemovesWhatDeadProcessesLeft) {
  const auto store = open();
  put(*store, somewhere, as_bytes("x"));
  std::ofstream(path_ + "/1/2/.0123456789abcdef-1-0.tmp") << "half a va";
  EXPECT_THAT(store->list_dkeys({1, 2}), ElementsAre(3u));
  EXPECT_THAT(store->list_akeys({1, 2}, 3), ElementsAre(4u));
  store->remove_objects(1, 2, 2);
  EXPECT_FALSE(fs::exists(path_ + "/1"));
}

TEST_F(LocalStore, GarbageCollectionRemovesUnfinishedValuesOfThoseWhoAreGone) {
  const auto store = open();
  put(*store, somewhere, as_bytes("x"));
  EXPECT_EQ(store->remove_leftovers(false), 0u);
  const std::vector<std::string> dead{"/.0123456789abcdef-1-0.tmp", "/1/2/.0123456789abcdef-1-1.tmp",
                                      "/1/2/.0123456789abcdef-12-34.tmp"};
  const std::string at_work = path_ + "/1/2/.fedcba9876543210-1-1.tmp";
  const std::vector<std::string> others{at_work, path_ + "/1/2/.0123456789abcdef-1.tmp",
                                        path_ + "/1/2/.something_of_somebody-1-1.tmp",
                                        path_ + "/1/.0123456789abcdef-1-1.tmp"};
  for (const std::string& name : dead) std::ofstream(path_ + name) << "half a va";
  for (const std::string& name : others) std::ofstream(name) << "half a va";
  const int file = ::open(at_work.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(file, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(store->remove_leftovers(true), 3u);
  EXPECT_EQ(store->remove_leftovers(false), 3u);
  for (const std::string& name : dead) EXPECT_FALSE(fs::exists(path_ + name)) << name;
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(name)) << name;
  ::close(file);
  EXPECT_EQ(store->remove_leftovers(false), 1u);
  EXPECT_EQ(store->get(somewhere)->value.size(), 1u);
}

// A value is locked while it has its temporary name.
TEST_F(LocalStore, GarbageCollectionLeavesValuesAloneThatAreBeingWritten) {
  open();
  StoreCalls calls = StoreCalls::of_system();
  std::uint64_t found = 99;
  const auto rename = calls.rename;
  calls.rename = [&](int folder, const char* from, const char* to, bool replace) {
    if (found == 99) found = open()->remove_leftovers(false);
    return rename(folder, from, to, replace);
  };
  const auto store = open_local_store(uri_, {}, std::move(calls));
  put(*store, somewhere, as_bytes("x"));
  EXPECT_EQ(found, 0u);
  EXPECT_TRUE(store->get(somewhere));
}

TEST_F(LocalStore, SaysWhatDoesNotBelongThere) {
  const auto store = open();
  fs::create_directories(path_ + "/1/2/3-4");
  const Error error = error_of([&] { static_cast<void>(store->get(somewhere)); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr(path_ + "/1/2/3-4\" is not a regular file"));
  EXPECT_EQ(error_of([&] { put(*store, somewhere, as_bytes("x")); }).kind(), ErrorKind::io);
  EXPECT_THAT(names_in(path_ + "/1/2"), ElementsAre("3-4"));
}

TEST_F(LocalStore, SaysThatAPartOfThePathIsAFile) {
  const auto store = open();
  std::ofstream(path_ + "/1") << "a file";
  for (const Error& error : {error_of([&] { put(*store, somewhere, as_bytes("x")); }),
                             error_of([&] { static_cast<void>(store->size(somewhere)); })}) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.problem(), HasSubstr("object 1:2"));
    EXPECT_THAT(error.problem(), HasSubstr(path_ + "/1/2"));
    EXPECT_THAT(error.problem(), HasSubstr("Not a directory"));
  }
}

// ---- Replacement

TEST_F(LocalStore, SaysThatItsFolderWasRemoved) {
  const auto store = open();
  put(*store, somewhere, as_bytes("x"));
  EXPECT_FALSE(store->is_gone());
  fs::remove_all(path_);
  EXPECT_TRUE(store->is_gone());
  static_cast<void>(open());  // another one in its place
  EXPECT_TRUE(store->is_gone());
  const Error error = error_of([&] { put(*store, somewhere, as_bytes("y")); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("the folder of the store was removed"));
  EXPECT_EQ(open_object_store(uri_)->size(somewhere), std::nullopt);
}

TEST_F(LocalStore, ServesNoOldBytes) {
  const auto store = open();
  const auto other = open();
  put(*store, somewhere, as_bytes("old"));
  EXPECT_EQ(read(*store, somewhere), bytes_of("old"));
  put(*other, somewhere, as_bytes("new"));  // while `store` has the file open
  EXPECT_EQ(read(*store, somewhere), bytes_of("new"));
  other->remove(somewhere);
  Bytes into(3);
  const FetchItem item{somewhere.akey, 0, into};
  EXPECT_EQ(error_of([&] { store->fetch(somewhere.object, somewhere.dkey, {&item, 1}); }).kind(),
            ErrorKind::not_found);
}

TEST_F(LocalStore, KeepsAFewFilesOpen) {
  int opened = 0;
  StoreCalls calls = StoreCalls::of_system();
  calls.open = [&opened, open = calls.open](int folder, const char* path, int flags) {
    ++opened;
    return open(folder, path, flags);
  };
  const auto store = open(calls);
  const auto in_use = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  for (std::uint64_t akey = 0; akey < 300; ++akey) put(*store, {{1, 1}, 1, akey}, as_bytes("x"));
  const auto before = in_use();
  Bytes into(1);
  const auto fetch = [&](std::uint64_t akey) {
    const FetchItem item{akey, 0, into};
    store->fetch({1, 1}, 1, {&item, 1});
  };
  for (std::uint64_t akey = 0; akey < 300; ++akey) fetch(akey);
  EXPECT_LE(in_use() - before, 128);
  opened = 0;
  for (int i = 0; i < 100; ++i) fetch(299);
  EXPECT_LE(opened, 10);  // one per second
}

TEST_F(LocalStore, ClosesFilesWhenTheProcessHasNoMore) {
  bool none_left = false;
  StoreCalls calls = StoreCalls::of_system();
  calls.open = [&none_left, open = calls.open](int folder, const char* path, int flags) {
    if (!std::exchange(none_left, false)) return open(folder, path, flags);
    errno = EMFILE;
    return -1;
  };
  const auto store = open(calls);
  put(*store, somewhere, as_bytes("x"));
  none_left = true;
  EXPECT_EQ(store->size(somewhere), 1u);
}

TEST_F(LocalStore, SyncsWhatAnotherHasWritten) {
  int flushed = 0;
  StoreCalls calls = StoreCalls::of_system();
  calls.fsync = [&flushed, fsync = calls.fsync](int file) {
    ++flushed;
    return fsync(file);
  };
  const auto store = open(calls);
  put(*open(), somewhere, as_bytes("x"));
  store->sync();
  flushed = 0;
  store->sync();
  EXPECT_EQ(flushed, 0);
  store->sync_with(somewhere);
  store->sync();
  EXPECT_GE(flushed, 3);  // the value, and the folders that its name is in
}

TEST_F(LocalStore, OnANetworkFileSystemKeepsTheOldValueIfTheNewOneIsRefusedLater) {
  put(*open(), somewhere, as_bytes("old"));
  StoreCalls calls = StoreCalls::of_system();
  calls.is_on_network = [](int) { return true; };
  calls.fsync = [](int) { return errno = EDQUOT, -1; };
  EXPECT_THAT(error_of([&] { put(*open(calls), somewhere, as_bytes("new")); }).problem(),
              HasSubstr("(Disk quota exceeded)"));
  EXPECT_EQ(read(*open(), somewhere), bytes_of("old"));
}

// A file system like FAT, without hard links and exclusive renames. No reader ever sees an empty
// value.
TEST_F(LocalStore, MakesRecordsWhereNothingTellsThatANameIsNew) {
  StoreCalls calls = StoreCalls::of_system();
  const auto rename = calls.rename;
  calls.rename = [&](int folder, const char* from, const char* to, bool replace) {
    EXPECT_FALSE(fs::exists(path_ + "/" + to) && fs::file_size(path_ + "/" + to) == 0);
    if (replace) return rename(folder, from, to, true);
    errno = ENOTSUP;
    return -1;
  };
  const auto store = open(calls);
  EXPECT_TRUE(store->put_if(somewhere, as_bytes("first"), std::nullopt));
  EXPECT_FALSE(store->put_if(somewhere, as_bytes("second"), std::nullopt));
  const auto found = store->get(somewhere);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->value.size(), 5u);
  EXPECT_TRUE(store->put_if(somewhere, as_bytes("second"), found->version));
  // Without locks, exclusive creation is impossible, and fails.
  calls.lock = [](int) {
    errno = ENOLCK;
    return -1;
  };
  const auto unlocked = open(calls);
  const ValueAddress other{{0, 0}, 5, 6};
  EXPECT_THROW(unlocked->put_if(other, as_bytes("first"), std::nullopt), Error);
  EXPECT_FALSE(unlocked->size(other));
}

TEST_F(LocalStore, KnowsAnOldVersionOfTheSameBytes) {
  const auto store = open();
  put(*store, somewhere, as_bytes("same"));
  std::vector<std::string> versions;
  for (int i = 0; i < 50; ++i) {  // the file system reuses inode numbers
    versions.push_back(store->get(somewhere)->version);
    put(*store, somewhere, as_bytes("same"));
  }
  for (const std::string& version : versions)
    EXPECT_FALSE(store->put_if(somewhere, as_bytes("new"), version));
}

// ---- What the system refuses

struct Refusal {
  int code;
  const char* text;
};

constexpr std::array refusals{Refusal{ENOSPC, "No space left on device"}, Refusal{EDQUOT, "quota"},
                              Refusal{EIO, "Input/output error"}, Refusal{EACCES, "Permission denied"},
                              Refusal{EROFS, "Read-only file system"}};

TEST_F(LocalStore, SaysWhyAValueCannotBeWritten) {
  for (const Refusal& refusal : refusals) {
    StoreCalls calls = StoreCalls::of_system();
    int writes = 0;
    calls.pwritev = [&](int file, const iovec* parts, int count, off_t offset) -> ssize_t {
      static_cast<void>(count);
      if (writes++ == 0) return ::pwrite(file, parts[0].iov_base, 2, offset);
      errno = refusal.code;
      return -1;
    };
    const auto good = open();
    put(*good, somewhere, as_bytes("old value"));
    const auto store = open(calls);
    const Error error = error_of([&] { put(*store, somewhere, as_bytes("new value")); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.problem(), HasSubstr("write object 1:2, distribution key 3, attribute key 4"));
    EXPECT_THAT(error.problem(), HasSubstr(path_ + "/1/2/3-4"));
    EXPECT_THAT(error.problem(), HasSubstr(refusal.text));
    EXPECT_FALSE(error.advice().empty());
    EXPECT_EQ(error.context().uri, uri_);
    // The old value stays, and the new one leaves no trace.
    EXPECT_EQ(read(*good, somewhere), bytes_of("old value"));
    EXPECT_THAT(names_in(path_ + "/1/2"), ElementsAre("3-4"));
  }
}

TEST_F(LocalStore, SaysWhyAFileCannotBeOpened) {
  put(*open(), somewhere, as_bytes("x"));
  for (const Refusal& refusal : refusals) {
    StoreCalls calls = StoreCalls::of_system();
    calls.open = [&, open = calls.open](int folder, const char* path, int flags) {
      if (!std::string_view(path).starts_with("1/")) return open(folder, path, flags);
      errno = refusal.code;
      return -1;
    };
    const auto store = open(calls);
    for (const Error& error : {error_of([&] { put(*store, somewhere, as_bytes("y")); }),
                               error_of([&] { static_cast<void>(store->get(somewhere)); })}) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_THAT(error.problem(), HasSubstr(refusal.text));
      EXPECT_THAT(error.problem(), HasSubstr(path_ + "/1/2/"));
    }
  }
}

TEST_F(LocalStore, SaysWhyAFolderCannotBeMade) {
  StoreCalls calls = StoreCalls::of_system();
  calls.make_folder = [make = calls.make_folder](int folder, const char* path) {
    if (!std::string_view(path).starts_with("1")) return make(folder, path);
    errno = ENOSPC;
    return -1;
  };
  const auto store = open(calls);
  const Error error = error_of([&] { put(*store, somewhere, as_bytes("y")); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("make a folder for object 1:2"));
  EXPECT_THAT(error.problem(), HasSubstr("No space left on device"));
}

TEST_F(LocalStore, SaysWhyAValueCannotBeRead) {
  StoreCalls calls = StoreCalls::of_system();
  bool fails = false;
  calls.preadv = [&](int file, const iovec* parts, int count, off_t offset) -> ssize_t {
    if (!fails) return ::preadv(file, parts, count, offset);
    errno = EIO;
    return -1;
  };
  const auto store = open(calls);
  put(*store, somewhere, as_bytes("x"));
  fails = true;
  const Error error = error_of([&] { read(*store, somewhere); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("read object 1:2, distribution key 3, attribute key 4"));
  EXPECT_THAT(error.problem(), HasSubstr("Input/output error"));
}

TEST_F(LocalStore, ContinuesAfterSignalsAndShortTransfers) {
  StoreCalls calls = StoreCalls::of_system();
  int calls_made = 0;
  calls.pwritev = [&](int file, const iovec* parts, int count, off_t offset) -> ssize_t {
    static_cast<void>(count);
    if (++calls_made % 2 == 0) return ::pwrite(file, parts[0].iov_base, 1, offset);
    errno = EINTR;
    return -1;
  };
  calls.preadv = [&](int file, const iovec* parts, int count, off_t offset) -> ssize_t {
    static_cast<void>(count);
    if (++calls_made % 2 == 0) return ::pread(file, parts[0].iov_base, 1, offset);
    errno = EINTR;
    return -1;
  };
  const UpdateItem item{4, {as_bytes("0123"), as_bytes("456"), {}, as_bytes("789")}};
  open(calls)->update(somewhere.object, somewhere.dkey, {&item, 1});  // makes the store
  EXPECT_EQ(read(*open(calls), somewhere), bytes_of("0123456789"));
}

TEST_F(LocalStore, SaysThatAFileWasCut) {
  const auto store = open();
  put(*store, somewhere, Bytes(1000));
  EXPECT_EQ(read(*store, somewhere).size(), 1000u);
  fs::resize_file(path_ + "/1/2/3-4", 10);
  Bytes into(1000);
  const FetchItem item{somewhere.akey, 0, into};
  const Error error = error_of([&] { store->fetch(somewhere.object, somewhere.dkey, {&item, 1}); });
  EXPECT_EQ(error.kind(), ErrorKind::format);
  EXPECT_THAT(error.problem(), HasSubstr("but the value has 10 bytes"));
}

TEST_F(LocalStore, NeedsLocksOnlyToReplace) {
  StoreCalls calls = StoreCalls::of_system();
  calls.lock = [](int) {
    errno = ENOLCK;
    return -1;
  };
  const auto store = open(calls);
  ASSERT_TRUE(store->put_if(somewhere, as_bytes("first"), std::nullopt));
  EXPECT_FALSE(store->put_if(somewhere, as_bytes("second"), std::nullopt));
  const std::string version = store->get(somewhere)->version;
  const Error error = error_of([&] { store->put_if(somewhere, as_bytes("second"), version); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("lock the store"));
  EXPECT_THAT(error.advice(), HasSubstr("a file system with locks"));
  EXPECT_EQ(read(*store, somewhere), bytes_of("first"));
}

// ---- Durability

TEST_F(LocalStore, BringsToTheDeviceWhatIsNew) {
  StoreCalls calls = StoreCalls::of_system();
  int flushed = 0;
  int all_flushed = 0;
  bool fails = false;
  bool cannot_open = false;
  calls.open = [&, open = calls.open](int folder, const char* path, int flags) {
    return cannot_open ? (errno = EMFILE, -1) : open(folder, path, flags);
  };
  calls.fsync = [&](int) {
    ++flushed;
    errno = EIO;
    return fails ? -1 : 0;
  };
  calls.syncfs = [&](int) {
    ++all_flushed;
    return 0;
  };
  const auto store = open(calls);
  store->sync();
  flushed = 0;
  put(*store, {{1, 2}, 3, 4}, as_bytes("x"));
  put(*store, {{1, 2}, 3, 5}, as_bytes("x"));
  ASSERT_TRUE(store->put_if({{0, 0}, 1, 0}, as_bytes("x"), std::nullopt));
  store->sync();
  // The record before its rename; values; the folders 1/2, 1, 0/0, 0 and that of the store.
  EXPECT_EQ(flushed, 1 + 3 + 5);
  store->sync();
  EXPECT_EQ(flushed, 1 + 3 + 5);
  put(*store, {{1, 2}, 3, 6}, as_bytes("x"));
  cannot_open = true;
  EXPECT_EQ(error_of([&] { store->sync(); }).kind(), ErrorKind::io);
  EXPECT_EQ(error_of([&] { store->sync(); }).kind(), ErrorKind::io);  // it is not flushed yet
  cannot_open = false;
  EXPECT_NO_THROW(store->sync());
  EXPECT_EQ(all_flushed, 0);
  for (std::uint64_t akey = 0; akey < 300; ++akey) put(*store, {{1, 2}, 4, akey}, {});
  flushed = 0;
  store->sync();
  EXPECT_EQ(flushed, 0);
  EXPECT_EQ(all_flushed, 1);
  // What a failed call could not write is lost, although the next one would succeed.
  put(*store, {{1, 2}, 3, 7}, as_bytes("x"));
  fails = true;
  EXPECT_EQ(error_of([&] { store->sync(); }).kind(), ErrorKind::io);
  fails = false;
  EXPECT_EQ(error_of([&] { store->sync(); }).kind(), ErrorKind::io);
}

// The process that made the store may have died before its marker was on the device: all values would be in a
// folder that is not a store.
TEST_F(LocalStore, WhatSaysThatItIsAStoreIsOnTheDeviceBeforeAnythingElseIsWritten) {
  open();
  std::vector<std::string> done;
  StoreCalls calls = StoreCalls::of_system();
  calls.fsync = [&](int file) {
    done.push_back("flush " + fs::read_symlink("/proc/self/fd/" + std::to_string(file)).filename().string());
    return 0;
  };
  calls.open = [&, open = calls.open](int folder, const char* path, int flags) {
    if ((flags & O_CREAT) != 0) done.emplace_back("make");
    return open(folder, path, flags);
  };
  const std::string folder = "flush " + fs::path(path_).filename().string();
  for (const bool conditional : {false, true}) {
    const auto store = open_local_store(uri_, {}, calls);
    EXPECT_FALSE(store->get(somewhere));
    EXPECT_TRUE(done.empty()) << "a reader waits for the device";
    if (conditional)
      EXPECT_TRUE(store->put_if(somewhere, as_bytes("x"), std::nullopt));
    else
      put(*store, somewhere, as_bytes("x"));
    ASSERT_FALSE(done.empty());
    EXPECT_EQ(done.front(), folder);
    EXPECT_EQ(std::count(done.begin(), done.end(), folder), 1);
    done.clear();
    store->remove(somewhere);
    done.clear();
  }
}

// ---- Several processes

// Runs `work` in another process; its result is the exit status.
template <class Work>
pid_t start_process(Work&& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int result = 99;
  try {
    result = work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in the child: %s\n", error.what());
  }
  ::_exit(result);
}

int end_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(LocalStore, LetsOneOfTwoProcessesWin) {
  const auto store = open();
  constexpr std::uint64_t rounds = 50;
  const auto race = [&](std::string_view name) {
    const auto mine = open_object_store(uri_);
    int won = 0;
    for (std::uint64_t i = 0; i < rounds; ++i)
      won += mine->put_if({{0, 0}, i, 0}, as_bytes(name), std::nullopt) ? 1 : 0;
    return won;
  };
  const pid_t one = start_process([&] { return race("one"); });
  const pid_t two = start_process([&] { return race("two"); });
  EXPECT_EQ(end_of(one) + end_of(two), static_cast<int>(rounds));
  EXPECT_EQ(store->list_dkeys({0, 0}).size(), rounds);
}

TEST_F(LocalStore, LosesNoIncrementOfSeveralProcesses) {
  const ValueAddress counter{{0, 0}, 1, 0};
  const auto store = open();
  ASSERT_TRUE(store->put_if(counter, Bytes(1), std::nullopt));
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i)
    children.push_back(start_process([&] {
      for (int done = 0; done < 20;) {  // with the store of the parent
        auto now = store->get(counter);
        now->value[0] = static_cast<std::byte>(static_cast<int>(now->value[0]) + 1);
        done += store->put_if(counter, now->value, now->version) ? 1 : 0;
      }
      return 0;
    }));
  for (const pid_t child : children) EXPECT_EQ(end_of(child), 0);
  EXPECT_EQ(store->get(counter)->value[0], std::byte{60});
}

TEST_F(LocalStore, IsUsableAfterAFork) {
  const auto store = open();
  put(*store, somewhere, as_bytes("of the parent"));
  EXPECT_EQ(read(*store, somewhere), bytes_of("of the parent"));
  const pid_t child = start_process([&] {
    if (read(*store, somewhere) != bytes_of("of the parent")) return 1;
    const auto queue = store->open_queue(2);
    const UpdateItem item{5, {as_bytes("of the child")}};
    queue->submit_update(1, {1, 2}, 3, {&item, 1});
    ObjectQueue::Completion completion;
    if (queue->wait({&completion, 1}) != 1 || completion.failure != nullptr) return 2;
    store->sync();
    return 0;
  });
  EXPECT_EQ(end_of(child), 0);
  EXPECT_EQ(read(*store, {{1, 2}, 3, 5}), bytes_of("of the child"));
}

// A process is killed while it replaces values: each is a whole old or new one, and other processes continue.
TEST_F(LocalStore, HoldsWholeValuesAfterAKill) {
  constexpr std::size_t size = 300000;
  const auto store = open();
  for (int round = 0; round < 10; ++round) {
    std::array<int, 2> begun{};
    ASSERT_EQ(::pipe(begun.data()), 0);
    const pid_t child = start_process([&] {
      const auto mine = open_object_store(uri_);
      for (unsigned i = 1;; ++i) {
        const Bytes value(size + i % 7, static_cast<std::byte>(i));
        put(*mine, {{1, 2}, i % 3, 0}, value);
        const auto now = mine->get({{0, 0}, 1, 0});
        mine->put_if({{0, 0}, 1, 0}, value, now ? std::optional(now->version) : std::nullopt);
        if (i == 3 && ::write(begun[1], "x", 1) != 1) return 1;
      }
    });
    char byte = 0;
    ASSERT_EQ(::read(begun[0], &byte, 1), 1);
    ::usleep(static_cast<useconds_t>(round) * 300);
    ::kill(child, SIGKILL);
    static_cast<void>(end_of(child));
    for (const int end : begun) ::close(end);
    for (const std::uint64_t dkey : {0u, 1u, 2u}) {
      const Bytes value = read(*store, {{1, 2}, dkey, 0});
      EXPECT_GE(value.size(), size);
      EXPECT_EQ(std::count(value.begin(), value.end(), value.front()),
                static_cast<std::ptrdiff_t>(value.size()));
    }
    const auto anchor = store->get({{0, 0}, 1, 0});
    ASSERT_TRUE(anchor.has_value());
    // All locks are released.
    EXPECT_TRUE(store->put_if({{0, 0}, 1, 0}, anchor->value, anchor->version));
  }
  EXPECT_THAT(store->list_dkeys({1, 2}), ElementsAre(0u, 1u, 2u));
  store->remove_objects(1, 2, 2);
  EXPECT_FALSE(fs::exists(path_ + "/1"));
}

}  // namespace
}  // namespace colonnade::io
