// Writing local files: direct I/O passes the conformance suite and equals a model in memory; refusals of the
// system are reported or worked around.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <random>

#include "base/test_errors.h"
#include "colonnade/warning.h"
#include "io/conformance_test.h"
#include "io/local/read_calls.h"
#include "io/local/write_calls.h"
#include "io/local/write_staging.h"
#include "io/local/write_test_tools.h"

namespace colonnade::io {
namespace {

using testing::HasSubstr;
using testing_tools::content;
using testing_tools::scrambled;
using testing_tools::scratch;

constexpr WriteFileOptions direct{.direct_io = true};
constexpr std::size_t window = WriteStaging::window_size;

// A path without a file.
std::string fresh(const std::string& name) {
  std::filesystem::remove(scratch() / name);
  return (scratch() / name).string();
}

const RegisterTransport direct_files({.name = "LocalDirect",
                                      .fresh_uri = fresh,
                                      .store =
                                          [](const std::string& uri, ByteSpan bytes) {
                                            std::ofstream(uri, std::ios::binary)
                                                .write(reinterpret_cast<const char*>(bytes.data()),
                                                       static_cast<std::streamsize>(bytes.size()));
                                          },
                                      .content = content,
                                      .write_options = direct});

// Collects the warnings during its lifetime.
class Warnings {
 public:
  Warnings()
      : before_(set_warning_handler([this](const std::string& text) {
          const std::lock_guard lock(mutex_);
          texts_.push_back(text);
        })) {}
  ~Warnings() { set_warning_handler(before_); }
  std::vector<std::string> texts() {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
  WarningHandler before_;
};

int failing(int code) {
  errno = code;
  return -1;
}

std::unique_ptr<WritableFile> create(const std::string& uri, WriteCalls calls,
                                     const WriteFileOptions& options = direct) {
  return open_for_writing(local_file_system(std::move(calls)), uri, OpenMode::create, options);
}

// ---- Equal to a model

// In one call: comparing vectors takes most of the time under a sanitizer.
bool are_same(ByteSpan one, ByteSpan other) {
  return one.size() == other.size() &&
         (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

void change_at_random(WritableFile& file, Bytes& model, std::mt19937& random) {
  const std::vector<std::size_t> most{10, 300, 5000, 70'000, 9'000'000};
  const auto kind = random() % 100;
  const std::size_t limit = most[std::discrete_distribution<std::size_t>{6, 6, 6, 3, 0.3}(random)];
  const std::size_t offset = random() % 3 == 0 ? model.size() : random() % (model.size() + 5000);
  if (kind < 90) {
    const Bytes bytes = scrambled(1 + random() % limit, random());
    model.resize(std::max(model.size(), offset + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), model.begin() + static_cast<std::ptrdiff_t>(offset));
    file.write(offset, bytes);
  } else if (kind < 92) {
    model.resize(random() % 4 == 0 ? random() % (model.size() + 1)
                                   : model.size() - std::min(model.size(), random() % 9000));
    file.truncate(model.size());
  } else if (kind < 94) {
    model.resize(model.size() + random() % 9000);
    file.truncate(model.size());
  } else if (kind < 96) {
    file.flush();
  } else {
    const std::size_t first = random() % (model.size() + 1);
    Bytes back(random() % (model.size() - first + 1));
    file.read(first, back);
    ASSERT_TRUE(are_same(back, ByteSpan(model).subspan(first, back.size())));
  }
  ASSERT_EQ(file.size(), model.size());
}

TEST(DirectFile, EqualsAModelAfterAnyWrites) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::string uri = fresh("model");
    Bytes model;
    for (int opening = 0; opening < 4; ++opening) {
      const auto file = open_for_writing(uri, opening == 0 ? OpenMode::create : OpenMode::update, direct);
      for (int step = 0; step < 150; ++step) {
        change_at_random(*file, model, random);
        if (HasFatalFailure()) return;
      }
      file->publish();
      file->flush();
      ASSERT_TRUE(are_same(content(uri), model));
      change_at_random(*file, model, random);
      if (opening == 2) continue;  // the destructor writes as well
      file->close();
      ASSERT_TRUE(are_same(content(uri), model));
      const int other = ::open(uri.c_str(), O_RDONLY | O_CLOEXEC);
      ::posix_fadvise(other, 0, 0, POSIX_FADV_DONTNEED);
      ::close(other);
      ASSERT_TRUE(are_same(content(uri), model));
    }
  }
}

// ---- How it writes

struct Request {
  std::uint64_t offset = 0;
  std::size_t count = 0;
};

// The system's calls, with a record of all writes.
WriteCalls recording(std::vector<Request>& requests, std::mutex& mutex) {
  WriteCalls calls = WriteCalls::of_system();
  calls.pwrite = [&](int file, const void* from, std::size_t count, off_t offset) {
    {
      const std::lock_guard lock(mutex);
      requests.push_back({static_cast<std::uint64_t>(offset), count});
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(from) % WriteStaging::block_size, 0u);
      EXPECT_EQ(static_cast<std::uint64_t>(offset) % WriteStaging::block_size, 0u);
      EXPECT_EQ(count % WriteStaging::block_size, 0u);
    }
    return ::pwrite(file, from, count, offset);
  };
  return calls;
}

TEST(DirectFile, JoinsSmallWritesIntoWholeWindows) {
  std::vector<Request> requests;
  std::mutex mutex;
  const auto file = create(fresh("joined"), recording(requests, mutex));
  const Bytes piece = scrambled(1000);
  constexpr std::size_t pieces = 5 * window / 1000;
  for (std::size_t i = 0; i < pieces; ++i) file->write(i * piece.size(), piece);
  file->flush();
  std::size_t whole = 0;
  for (const Request& request : requests) whole += request.count == window ? 1 : 0;
  EXPECT_EQ(whole, 4u);
  EXPECT_EQ(requests.size(), 6u);  // the rest, and its last block
}

TEST(DirectFile, WritesALargeArrayInAlignedPieces) {
  std::vector<Request> requests;
  std::mutex mutex;
  const std::string uri = fresh("array");
  const auto file = create(uri, recording(requests, mutex));
  const Bytes array = scrambled(3 * window);
  file->write(0, as_bytes("head"));
  file->write(4, array);
  file->close();
  EXPECT_EQ(requests.size(), 4u);
  const Bytes found = content(uri);
  ASSERT_EQ(found.size(), array.size() + 4);
  EXPECT_TRUE(std::equal(array.begin(), array.end(), found.begin() + 4));
}

TEST(DirectFile, IsSeenByOthersAfterFlushing) {
  const std::string uri = fresh("seen");
  const auto file = open_for_writing(uri, OpenMode::create, direct);
  file->write(0, as_bytes("first"));
  file->publish();
  EXPECT_EQ(content(uri).size(), 5u);
  file->write(5, as_bytes(" and second"));
  file->sync();
  EXPECT_EQ(content(uri).size(), 16u);
}

// ---- What the system may do

TEST(DirectFile, GoesOnAfterInterruptsAndShortWrites) {
  std::atomic<unsigned> call = 0;
  WriteCalls calls = WriteCalls::of_system();
  calls.pwrite = [&](int file, const void* from, std::size_t count, off_t offset) -> ssize_t {
    const unsigned number = call++;
    if (number % 3 == 0) return failing(EINTR);
    // Direct writes may be shortened like this, also within a block if the file cannot grow further.
    const std::size_t most = number % 3 == 1 ? 12345 : count;
    return ::pwrite(file, from, std::min(count, most) / 512 * 512, offset);
  };
  const std::string uri = fresh("short");
  const Bytes bytes = scrambled(2 * window + 777);
  const auto file = create(uri, calls);
  file->write(0, bytes);
  file->close();
  EXPECT_TRUE(content(uri) == bytes);
}

TEST(DirectFile, GoesThroughThePageCacheWhereItIsRefused) {
  const Bytes bytes = scrambled(window + 12345);
  WriteCalls at_opening = WriteCalls::of_system();
  at_opening.set_direct = [](int, bool on) { return on ? failing(EINVAL) : 0; };
  WriteCalls at_writing = WriteCalls::of_system();
  std::atomic<bool> is_direct = false;
  at_writing.set_direct = [&](int, bool on) {
    is_direct = on;
    return 0;
  };
  at_writing.pwrite = [&](int file, const void* from, std::size_t count, off_t offset) -> ssize_t {
    return is_direct ? failing(EINVAL) : ::pwrite(file, from, count, offset);
  };
  for (const WriteCalls& calls : {at_opening, at_writing}) {
    Warnings warnings;
    const std::string uri = fresh("refused");
    const auto file = create(uri, calls);
    file->write(0, bytes);
    file->write(bytes.size(), bytes);
    file->close();
    ASSERT_EQ(warnings.texts().size(), 1u);
    EXPECT_EQ(warnings.texts().front(),
              uri + ": the file system refuses direct I/O; writing goes through the page cache");
    const Bytes found = content(uri);
    ASSERT_EQ(found.size(), 2 * bytes.size());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), found.begin()));
  }
}

TEST(DirectFile, WarnsOfNothingWhereItWorks) {
  Warnings warnings;
  const auto file = create(fresh("quiet"), WriteCalls::of_system());
  file->write(0, scrambled(10000));
  file->close();
  EXPECT_LE(warnings.texts().size(), 1u);  // the folder for temporary files may be one that refuses
}

class FailingWrites : public testing::TestWithParam<int> {
 protected:
  // All calls from `first_bad` on fail.
  static WriteCalls calls(std::uint64_t first_bad) {
    WriteCalls calls = WriteCalls::of_system();
    calls.pwrite = [first_bad](int file, const void* from, std::size_t count, off_t offset) -> ssize_t {
      if (static_cast<std::uint64_t>(offset) + count > first_bad) return failing(GetParam());
      return ::pwrite(file, from, count, offset);
    };
    calls.pwritev = [first_bad](int file, const iovec* parts, int count, off_t offset) -> ssize_t {
      std::uint64_t end = static_cast<std::uint64_t>(offset);
      for (int i = 0; i < count; ++i) end += parts[i].iov_len;
      if (end > first_bad) return failing(GetParam());
      return ::pwritev(file, parts, count, offset);
    };
    return calls;
  }
  static void expect(const Error& error, const std::string& uri) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.problem(), HasSubstr(std::generic_category().message(GetParam())));
    EXPECT_FALSE(error.advice().empty());
    EXPECT_EQ(error.context().uri, uri);
    EXPECT_TRUE(error.context().offset.has_value());
  }
};

TEST_P(FailingWrites, InTheBackgroundAreReportedByWhateverComesNext) {
  const Bytes bytes = scrambled(2 * window);
  const auto next = std::vector<std::function<void(WritableFile&)>>{
      [](WritableFile& file) { file.flush(); }, [](WritableFile& file) { file.sync(); },
      [](WritableFile& file) { file.close(); },
      [&](WritableFile& file) {
        Bytes into(10);
        file.read(0, into);
      },
      [&](WritableFile& file) {
        for (int i = 1; i < 100; ++i) file.write(static_cast<std::size_t>(i) * bytes.size(), bytes);
      }};
  for (const auto& call : next) {
    const std::string uri = fresh("failing");
    const auto file = create(uri, calls(window));
    file->write(0, bytes);
    expect(error_of([&] { call(*file); }), uri);
  }
}

TEST_P(FailingWrites, StayUntilTheLostBytesAreCutOff) {
  const std::string uri = fresh("failing");
  const auto file = create(uri, calls(window));
  file->write(0, scrambled(2 * window));
  for (int i = 0; i < 3; ++i) expect(error_of([&] { file->flush(); }), uri);
  expect(error_of([&] { file->write(0, as_bytes("x")); }), uri);
  file->truncate(100);
  file->write(100, as_bytes("more"));
  file->close();
  EXPECT_EQ(content(uri).size(), 104u);
}

TEST_P(FailingWrites, AreReportedByCloseThoughTheBytesWereCutOff) {
  const std::string uri = fresh("failing");
  const auto file = create(uri, calls(window));
  file->write(0, scrambled(3 * window));  // may return before anything was written
  file->truncate(window);
  // Whether the write was tried before the truncation is a matter of timing; what remains must be whole if
  // close() succeeds.
  try {
    file->close();
    EXPECT_TRUE(content(uri) == scrambled(window));
  } catch (const Error& error) {
    expect(error, uri);
  }
}

TEST_P(FailingWrites, ThroughThePageCacheAreReportedAtOnce) {
  const std::string uri = fresh("failing");
  const auto file = create(uri, calls(1000), {});
  file->write(0, scrambled(1000));
  expect(error_of([&] { file->write(1000, as_bytes("x")); }), uri);
  file->close();
  EXPECT_EQ(content(uri), scrambled(1000));
}

INSTANTIATE_TEST_SUITE_P(All, FailingWrites, testing::Values(EIO, ENOSPC, EDQUOT));

TEST(LocalWritable, CloseReportsWhatTheSystemSays) {
  for (const WriteFileOptions& options : {direct, WriteFileOptions{}}) {
    WriteCalls bad_close = WriteCalls::of_system();
    bad_close.close = [](int file) {
      ::close(file);
      return failing(EDQUOT);
    };
    auto file = create(fresh("close"), bad_close, options);
    file->write(0, as_bytes("x"));
    EXPECT_THAT(error_of([&] { file->close(); }).problem(), HasSubstr("cannot close (Disk quota exceeded)"));
    EXPECT_NO_THROW(file->close());

    WriteCalls bad_sync = WriteCalls::of_system();
    bad_sync.fdatasync = [](int) { return failing(EIO); };
    file = create(fresh("sync"), bad_sync, options);
    file->write(0, as_bytes("x"));
    EXPECT_THAT(error_of([&] { file->sync(); }).problem(),
                HasSubstr("cannot flush to the device (Input/output error)"));

    WriteCalls bad_truncate = WriteCalls::of_system();
    bad_truncate.ftruncate = [](int, off_t) { return failing(EIO); };
    file = create(fresh("truncate"), bad_truncate, options);
    file->write(0, as_bytes("xyz"));
    EXPECT_THAT(error_of([&] { file->truncate(1); }).problem(), HasSubstr("cannot truncate to 1 bytes"));
  }
}

TEST(LocalWritable, OnANetworkFileSystemFlushingReportsWhatIsRefusedLater) {
  for (const WriteFileOptions& options : {direct, WriteFileOptions{}})
    for (const bool is_on_network : {false, true}) {
      WriteCalls calls = WriteCalls::of_system();
      calls.is_on_network = [is_on_network](int) { return is_on_network; };
      calls.fdatasync = [](int) { return failing(EDQUOT); };
      const auto file = create(fresh("network"), calls, options);
      file->write(0, as_bytes("x"));
      if (is_on_network)
        EXPECT_THAT(error_of([&] { file->flush(); }).problem(), HasSubstr("(Disk quota exceeded)"));
      else
        EXPECT_NO_THROW(file->flush());
    }
}

TEST(DirectFile, CloseReportsThatTheEndCouldNotBeCut) {
  WriteCalls calls = WriteCalls::of_system();
  calls.ftruncate = [](int, off_t) { return failing(EIO); };
  const auto file = create(fresh("cut"), calls);
  file->write(0, as_bytes("not a whole block"));
  EXPECT_EQ(error_of([&] { file->close(); }).kind(), ErrorKind::io);
}

// ---- Space ahead

TEST(LocalWritable, ReturnsTheRestAlsoAfterASignal) {
  const std::string uri = fresh("signal");
  unsigned cuts = 0;
  WriteCalls calls = WriteCalls::of_system();
  calls.ftruncate = [&](int file, off_t size) {
    return ++cuts == 1 ? failing(EINTR) : ::ftruncate(file, size);
  };
  const auto file = create(uri, calls, {});
  file->write(0, as_bytes("xyz"));
  file->preallocate(std::uint64_t{40} << 20);
  file->close();
  EXPECT_EQ(cuts, 2u);
  EXPECT_EQ(std::filesystem::file_size(uri), 3u);
}

TEST(LocalWritable, AsksForSpaceInGrowingStepsAndReturnsTheRest) {
  for (const WriteFileOptions& options : {direct, WriteFileOptions{}}) {
    const std::string uri = fresh("ahead");
    unsigned asked = 0;
    std::uint64_t end = 0;
    WriteCalls calls = WriteCalls::of_system();
    calls.fallocate = [&](int file, int mode, off_t offset, off_t count) {
      ++asked;
      EXPECT_EQ(mode, FALLOC_FL_KEEP_SIZE);
      end = static_cast<std::uint64_t>(offset + count);
      return ::fallocate(file, mode, offset, count);
    };
    const auto file = create(uri, calls, options);
    file->preallocate(1 << 20);
    EXPECT_EQ(asked, 0u) << "small files need none";
    for (std::uint64_t size = 1; size <= 1000; ++size) file->preallocate(size << 20);
    EXPECT_GE(end, std::uint64_t{1000} << 20);
    EXPECT_LE(asked, 6u);
    EXPECT_EQ(file->size(), 0u);
    file->write(0, as_bytes("little"));
    file->close();
    struct stat status{};
    ASSERT_EQ(::stat(uri.c_str(), &status), 0);
    EXPECT_EQ(status.st_size, 6);
    EXPECT_LE(status.st_blocks * 512, 1 << 20);
  }
}

TEST(LocalWritable, DoesWithoutSpaceAhead) {
  for (const int code : {EOPNOTSUPP, ENOSPC, ENOSYS, EINTR}) {
    WriteCalls calls = WriteCalls::of_system();
    calls.fallocate = [code](int, int, off_t, off_t) { return failing(code); };
    const std::string uri = fresh("without");
    const auto file = create(uri, calls);
    file->preallocate(std::uint64_t{100} << 20);
    file->write(0, as_bytes("content"));
    file->close();
    EXPECT_EQ(content(uri).size(), 7u);
  }
}

TEST(LocalWritable, TakesNoMemoryAhead) {
  const FileDescriptor file(::memfd_create("ahead", 0));  // a file in tmpfs
  ASSERT_GE(file.get(), 0);
  const auto blocks = [&] {
    struct stat status{};
    EXPECT_EQ(::fstat(file.get(), &status), 0);
    return status.st_blocks;
  };
  const WriteCalls calls = WriteCalls::of_system();
  EXPECT_EQ(calls.fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, 1 << 20), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(blocks(), 0);
  EXPECT_EQ(calls.fallocate(file.get(), 0, 0, 1 << 20), 0) << "space that the file itself has";
  EXPECT_GE(blocks(), (1 << 20) / 512);
}

// ---- Real limits

TEST(DirectFile, ReportsAFileSizeLimit) {
  const std::string uri = fresh("limit");
  const auto file = open_for_writing(uri, OpenMode::create, direct);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  file->write(5000, Bytes(20000));
  const std::string message = error_of([&] { file->flush(); }).what();
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(message, HasSubstr("(File too large); try: raise the limit of file sizes"));
}

// A disk of 2 MiB, in a namespace of a child process; where namespaces are not allowed, simulated calls of a
// file on a full disk.
WriteCalls calls_on_full_disk() {
  WriteCalls calls = WriteCalls::of_system();
  calls.pwrite = [](int file, const void* from, std::size_t count, off_t offset) -> ssize_t {
    constexpr off_t room = 2 << 20;
    if (offset >= room) return failing(ENOSPC);
    return ::pwrite(file, from, std::min<std::size_t>(count, static_cast<std::size_t>(room - offset)),
                    offset);
  };
  return calls;
}

bool fills_up_and_says_so(const std::string& uri, const WriteCalls& calls) {
  const auto file = create(uri, calls);
  const Bytes bytes = scrambled(1 << 20);
  file->write(0, bytes);
  file->flush();
  try {
    for (std::size_t i = 1; i < 8; ++i) file->write(i * bytes.size(), bytes);
    file->flush();
    return false;
  } catch (const Error& error) {
    if (std::string(error.what()).find("No space left on device); try: free space") == std::string::npos)
      return false;
  }
  file->truncate(bytes.size());
  file->close();
  return content(uri) == bytes;
}

TEST(DirectFile, ReportsAFullDiskAndKeepsWhatWasFlushed) {
  const std::string folder = fresh("disk");
  std::filesystem::create_directory(folder);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool own = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    const bool mounted = own && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=2m") == 0;
    const WriteCalls calls = mounted ? WriteCalls::of_system() : calls_on_full_disk();
    ::_exit(fills_up_and_says_so(folder + "/f", calls) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// ---- Copies by the system

// What was asked of the system, and how it answers.
struct Copying {
  std::vector<Request> shared, copied, reserved;
  int refuses_sharing = EOPNOTSUPP;  // 0: it shares
  int refuses_copying = 0;
  std::size_t most = std::size_t{1} << 30;  // bytes that one call copies

  WriteCalls calls() {
    WriteCalls all = WriteCalls::of_system();
    all.share_range = [this](int from, off_t begin, int file, off_t offset, std::uint64_t count) {
      shared.push_back({static_cast<std::uint64_t>(begin), count});
      EXPECT_EQ(begin % 4096, 0);
      EXPECT_EQ(offset % 4096, 0);
      EXPECT_EQ(count % 4096, 0u);
      if (refuses_sharing != 0) {
        errno = refuses_sharing;
        return -1;
      }
      Bytes bytes(count);
      return ::pread(from, bytes.data(), count, begin) == static_cast<ssize_t>(count) &&
                     ::pwrite(file, bytes.data(), count, offset) == static_cast<ssize_t>(count)
                 ? 0
                 : -1;
    };
    all.fallocate = [this](int file, int mode, off_t begin, off_t count) {
      reserved.push_back({static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(count)});
      return ::fallocate(file, mode, begin, count);
    };
    all.copy_range = [this](int from, off_t* begin, int file, off_t* offset, std::size_t count) -> ssize_t {
      copied.push_back({static_cast<std::uint64_t>(*begin), count});
      if (refuses_copying != 0) {
        errno = refuses_copying;
        return -1;
      }
      return ::copy_file_range(from, begin, file, offset, std::min(count, most), 0);
    };
    return all;
  }
};

struct CopyPlan {
  std::uint64_t begin, size, offset;
};

class SystemCopies : public testing::Test {
 protected:
  SystemCopies() {
    std::ofstream(from_, std::ios::binary)
        .write(reinterpret_cast<const char*>(all_.data()), static_cast<std::streamsize>(all_.size()));
    source_ = open_for_reading(from_);
  }

  std::uint64_t copy(Copying& how, const CopyPlan& plan) {
    to_ = fresh("copied");
    const auto file = create(to_, how.calls(), {});
    file->write(0, as_bytes("head"));
    EXPECT_TRUE(file->can_copy(*source_));
    const std::uint64_t shared = file->copy(plan.offset, *source_, plan.begin, plan.size);
    may_go_on_ = file->can_copy(*source_);
    file->close();
    return shared;
  }
  void expect_copied(const CopyPlan& plan) const {
    const Bytes found = content(to_);
    ASSERT_EQ(found.size(), plan.offset + plan.size);
    EXPECT_TRUE(std::equal(all_.begin() + static_cast<std::ptrdiff_t>(plan.begin),
                           all_.begin() + static_cast<std::ptrdiff_t>(plan.begin + plan.size),
                           found.begin() + static_cast<std::ptrdiff_t>(plan.offset)));
    EXPECT_EQ(to_string_view(ByteSpan(found).first(4)), "head");
  }
  static std::string_view to_string_view(ByteSpan bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  const Bytes all_ = scrambled(300'000);
  const std::string from_ = fresh("copied-from");
  std::string to_;
  std::unique_ptr<RandomAccessFile> source_;
  bool may_go_on_ = false;
};

TEST_F(SystemCopies, AreOfTheSameBytesInPiecesOfAnySize) {
  std::mt19937 random(3);
  for (int n = 0; n < 60; ++n) {
    const std::uint64_t begin = random() % all_.size();
    const CopyPlan plan{begin, random() % (all_.size() - begin) + 1, 4 + random() % 20'000};
    Copying how{.refuses_sharing = n % 3 == 0 ? 0 : EOPNOTSUPP, .most = 1 + random() % 50'000};
    EXPECT_EQ(copy(how, plan), how.refuses_sharing == 0 && !how.shared.empty() ? how.shared[0].count : 0);
    expect_copied(plan);
    EXPECT_TRUE(may_go_on_);
  }
}

TEST_F(SystemCopies, GoUpToABorderOf64KiBFirst) {
  constexpr std::uint64_t border = 65'536;
  for (const CopyPlan& plan : {CopyPlan{5000, 200'000, 3 * 4096 + 904}, CopyPlan{0, 200'000, border - 1},
                               CopyPlan{4096, 200'000, 2 * border}, CopyPlan{7, 50'000, border + 100}}) {
    Copying how;
    copy(how, plan);
    expect_copied(plan);
    const std::uint64_t up_to = (plan.offset + border - 1) / border * border - plan.offset;
    const bool is_cut = up_to > 0 && up_to < plan.size;
    ASSERT_EQ(how.copied.size(), is_cut ? 2u : 1u);
    EXPECT_EQ(how.copied[0].count, is_cut ? up_to : plan.size);
    EXPECT_EQ(how.copied.back().count, is_cut ? plan.size - up_to : plan.size);
  }
}

TEST_F(SystemCopies, ReserveSpaceWhereTheyShareNothing) {
  constexpr std::uint64_t far = std::uint64_t{40} << 20;
  Copying how;
  copy(how, {4096, 100'000, far});
  expect_copied({4096, 100'000, far});
  ASSERT_EQ(how.reserved.size(), 1u);
  EXPECT_EQ(how.reserved[0].offset, far + 100'000);
  Copying sharing{.refuses_sharing = 0};
  copy(sharing, {4096, 100'000, far});
  EXPECT_TRUE(sharing.reserved.empty());
}

TEST_F(SystemCopies, ShareWholeBlocksThatHaveTheSamePlaceInBlocks) {
  const CopyPlan plan{5000, 40'000, 8192 + 5000 % 4096};
  Copying how{.refuses_sharing = 0};
  EXPECT_EQ(copy(how, plan), 45'000 / 4096 * 4096 - 8192);
  expect_copied(plan);
  ASSERT_EQ(how.shared.size(), 1u);
  EXPECT_EQ(how.shared[0].offset, 8192u);
  EXPECT_EQ(how.copied.size(), 2u);
  for (const CopyPlan& other : {CopyPlan{5000, 40'000, 8193}, CopyPlan{5000, 4096, 5000}}) {
    Copying never{.refuses_sharing = 0};
    EXPECT_EQ(copy(never, other), 0u);
    expect_copied(other);
    EXPECT_TRUE(never.shared.empty());
  }
}

TEST_F(SystemCopies, WhatTheSystemDoesNotCopyIsReadAndWritten) {
  for (const int refusal : {EXDEV, ENOSYS, EOPNOTSUPP, EINVAL, EBADF}) {
    Copying how{.refuses_copying = refusal};
    const CopyPlan plan{100, 250'000, 4196};
    EXPECT_EQ(copy(how, plan), 0u);
    expect_copied(plan);
    EXPECT_FALSE(may_go_on_);  // it is not asked again
    EXPECT_EQ(how.copied.size(), 1u);
    EXPECT_EQ(how.shared.size(), 1u);
  }
}

// The system does not say which of the two files is damaged.
TEST_F(SystemCopies, AnErrorOfADeviceIsThatOfTheFileThatHasIt) {
  const CopyPlan plan{100, 250'000, 4196};
  Copying how{.refuses_copying = EIO};
  copy(how, plan);
  expect_copied(plan);
  EXPECT_TRUE(may_go_on_);
  ReadCalls reads = ReadCalls::of_system();
  reads.preadv = [](int, const iovec*, int, off_t) -> ssize_t {
    errno = EIO;
    return -1;
  };
  source_ = open_local_for_reading(from_, {}, reads);
  EXPECT_EQ(error_of([&] { copy(how, plan); }).context().uri, from_);
}

TEST_F(SystemCopies, WhatFailsIsAnError) {
  for (const int failure : {ENOSPC, EFBIG, EDQUOT}) {
    Copying how{.refuses_copying = failure};
    const Error error = error_of([&] { copy(how, {100, 250'000, 4}); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.problem(), HasSubstr("copy 250000 bytes"));
  }
  Copying how;
  EXPECT_EQ(error_of([&] { copy(how, {299'000, 2000, 4}); }).kind(), ErrorKind::format);
  std::filesystem::resize_file(from_, 200'000);
  EXPECT_THAT(error_of([&] { copy(how, {100, 250'000, 4}); }).what(), HasSubstr("copied-from"));
}

}  // namespace
}  // namespace colonnade::io
