// Reading local files when the system does not cooperate: short and interrupted reads, device errors, no
// direct I/O, no io_uring, files that are truncated or replaced while they are open.
#include "io/local/local_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/aligned_buffer.h"
#include "base/test_child.h"
#include "base/test_errors.h"
#include "colonnade/warning.h"
#include "io/local/uring_queue.h"
#include "io/local/write_test_tools.h"
#include "io/read_scheduler.h"

namespace colonnade::io {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_tools::scrambled;
using testing_tools::scratch;

std::string stored(const std::string& name, ByteSpan content) {
  const std::string path = (scratch() / name).string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  return path;
}

// Collects the warnings during its lifetime.
struct Warnings {
  std::vector<std::string> taken;
  WarningHandler before = set_warning_handler([this](const std::string& text) { taken.push_back(text); });
  ~Warnings() { set_warning_handler(before); }
};

// Reads the file through the scheduler, in extents of `step` bytes.
Bytes content_by_queue(const RandomAccessFile& file, std::size_t step = 65536) {
  ReadScheduler scheduler(file);
  std::vector<WantedRange> wanted;
  for (std::uint64_t at = 0; at < file.size(); at += step)
    wanted.push_back({at, static_cast<std::size_t>(std::min<std::uint64_t>(step, file.size() - at))});
  const ReadPlan plan = plan_reads(wanted, file.traits(), step, file.size());
  Bytes content;
  for (const ReadExtent& extent : plan.extents) {
    AlignedBuffer buffer(extent.size, std::max<std::size_t>(file.traits().alignment, 64));
    const auto id = scheduler.start(extent, buffer.span());
    scheduler.wait_for(id);
    scheduler.forget(id);
    content.insert(content.end(), buffer.data(), buffer.data() + extent.size);
  }
  return content;
}

Bytes content_of(const RandomAccessFile& file) {
  Bytes content(static_cast<std::size_t>(file.size()));
  file.read(0, content);
  return content;
}

struct Way {
  LocalIo method;
  bool direct;
};

class EveryWay : public testing::TestWithParam<Way> {
 protected:
  ReadFileOptions options() const { return {.local_io = GetParam().method, .direct_io = GetParam().direct}; }
};

TEST_P(EveryWay, GoesOnAfterShortAndInterruptedReads) {
  const Bytes content = scrambled(300001);
  const std::string uri = stored("short", content);
  ReadCalls calls = ReadCalls::of_system();
  std::atomic<int> turn = 0;
  calls.preadv = [&turn](int file, const iovec* parts, int count, off_t offset) -> ssize_t {
    const int now = turn++ % 3;
    if (now == 0) {
      errno = EINTR;
      return -1;
    }
    if (now == 1) return ::preadv(file, parts, count, offset);
    const iovec some{parts->iov_base, (parts->iov_len / 2 + 4095) / 4096 * 4096};
    return ::preadv(file, some.iov_len < parts->iov_len ? &some : parts, 1, offset);
  };
  std::atomic<int> completions = 0;
  calls.completion = [&completions](int result) {
    const std::array results{result, -EINTR, -EAGAIN, result / 2, 0};
    return results[static_cast<std::size_t>(completions++) % results.size()];
  };
  const auto file = open_local_for_reading(uri, options(), calls);
  EXPECT_EQ(content_of(*file), content);
  EXPECT_EQ(content_by_queue(*file, 8192), content);
  int code = 0;
  const bool has_ring = make_uring_queue(static_cast<const LocalFile&>(*file), 1, code) != nullptr;
  const bool asks_for_it = GetParam().method == LocalIo::io_uring ||
                           (GetParam().method == LocalIo::automatic && GetParam().direct);
  EXPECT_EQ(completions > 0, has_ring && asks_for_it);
}

TEST_P(EveryWay, ReportsErrorsOfTheDevice) {
  const Bytes content = scrambled(300000);
  const std::string uri = stored("broken", content);
  constexpr off_t bad = 100000;
  ReadCalls calls = ReadCalls::of_system();
  calls.preadv = [](int file, const iovec* parts, int count, off_t offset) -> ssize_t {
    if (offset <= bad && offset + static_cast<off_t>(parts->iov_len) > bad) {
      errno = EIO;
      return -1;
    }
    return ::preadv(file, parts, count, offset);
  };
  calls.completion = [](int) { return -EIO; };
  ReadFileOptions as_asked = options();
  if (as_asked.local_io == LocalIo::mmap) as_asked.local_io = LocalIo::pread;  // a mapping has no such call
  const auto file = open_local_for_reading(uri, as_asked, calls);
  Bytes into(10);
  file->read(0, into);
  EXPECT_TRUE(std::equal(into.begin(), into.end(), content.begin()));
  const Error error = error_of([&] { file->read(bad, into); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("(Input/output error)"));
  EXPECT_EQ(error.context().uri, uri);
  EXPECT_EQ(error_of([&] { content_by_queue(*file); }).kind(), ErrorKind::io);
}

TEST_P(EveryWay, SaysThatAnOpenFileWasTruncated) {
  const std::string uri = stored("truncated", scrambled(100000));
  const auto file = open_local_for_reading(uri, options());
  Bytes into(1000);
  file->read(98000, into);
  std::filesystem::resize_file(uri, 50000);
  file->read(49000, into);
  for (const auto& work :
       std::vector<std::function<void()>>{[&] { file->read(49500, into); }, [&] { file->read(90000, into); },
                                          [&] { content_by_queue(*file); }}) {
    const Error error = error_of(work);
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.problem(), HasSubstr("although it had 100000 bytes when it was opened"));
    EXPECT_EQ(error.context().uri, uri);
  }
  EXPECT_THAT(error_of([&] { file->read(49500, into); }).problem(), HasSubstr("the file ends at byte 50000"));
}

// A writer commits between the opening of the file and the reading of its page list.
TEST_P(EveryWay, ReadsWhatWasAddedBeforeTheDataSetWasOpened) {
  const Bytes content = scrambled(300000, 1);
  const std::string uri = stored("growing", ByteSpan(content).first(50000));
  const auto file = open_local_for_reading(uri, options());
  EXPECT_EQ(stored("growing", content), uri);
  EXPECT_EQ(file->size(), 50000u);
  file->opened();
  EXPECT_EQ(file->size(), content.size());
  EXPECT_EQ(content_of(*file), content);
  EXPECT_EQ(content_by_queue(*file), content);
}

TEST_P(EveryWay, ReadsTheOldContentOfAFileThatWasReplaced) {
  const Bytes content = scrambled(100000, 1);
  const std::string uri = stored("replaced", content);
  const auto file = open_local_for_reading(uri, options());
  std::filesystem::rename(stored("replacing", scrambled(10, 2)), uri);
  EXPECT_EQ(content_of(*file), content);
  EXPECT_EQ(content_by_queue(*file), content);
  std::filesystem::remove(uri);
  EXPECT_EQ(content_by_queue(*file), content);
}

std::string name_of_way(const testing::TestParamInfo<Way>& info) {
  constexpr std::array names{"Automatic", "Pread", "Threads", "IoUring", "Mmap"};
  return names[static_cast<std::size_t>(info.param.method)] + std::string(info.param.direct ? "Direct" : "");
}

INSTANTIATE_TEST_SUITE_P(All, EveryWay,
                         testing::Values(Way{LocalIo::automatic, false}, Way{LocalIo::pread, false},
                                         Way{LocalIo::threads, false}, Way{LocalIo::io_uring, false},
                                         Way{LocalIo::mmap, false}, Way{LocalIo::automatic, true},
                                         Way{LocalIo::pread, true}, Way{LocalIo::threads, true},
                                         Way{LocalIo::io_uring, true}),
                         name_of_way);

TEST(DirectReading, AlignsItsRequestsAndPadsThem) {
  const Bytes content = scrambled(100000);
  const std::string uri = stored("aligned", content);
  ReadCalls calls = ReadCalls::of_system();
  int asked = 0;
  calls.set_direct = [](int, bool) { return 0; };
  calls.preadv = [&asked](int file, const iovec* parts, int count, off_t offset) {
    ++asked;
    EXPECT_EQ(offset % 4096, 0);
    EXPECT_EQ(parts->iov_len % 4096, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parts->iov_base) % 4096, 0u);
    return ::preadv(file, parts, count, offset);
  };
  const auto file =
      open_local_for_reading(uri, {.local_io = LocalIo::pread, .direct_io = true}, std::move(calls));
  EXPECT_GE(file->traits().alignment, 4096u);
  for (const auto& [offset, count] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 100000}, {1, 1}, {4095, 2}, {4096, 4096}, {99999, 1}, {8191, 8194}}) {
    Bytes into(count);
    file->read(offset, into);
    EXPECT_TRUE(std::equal(into.begin(), into.end(), content.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
  EXPECT_GE(asked, 6);
}

TEST(DirectReading, FallsBackWithAWarningWhereTheFileSystemRefusesIt) {
  const Bytes content = scrambled(100000);
  const std::string uri = stored("refused", content);
  ReadCalls calls = ReadCalls::of_system();
  calls.set_direct = [](int, bool) {
    errno = EINVAL;
    return -1;
  };
  Warnings warnings;
  const auto file = open_local_for_reading(uri, {.direct_io = true}, std::move(calls));
  EXPECT_THAT(warnings.taken, ElementsAre("no direct I/O for " + uri +
                                          " (Invalid argument): reading it through the page cache"));
  EXPECT_EQ(file->traits().alignment, 1u);
  EXPECT_EQ(content_by_queue(*file), content);
}

TEST(DirectReading, FallsBackWithAWarningWhereReadingFails) {
  const Bytes content = scrambled(100000);
  const std::string uri = stored("failing", content);
  for (const LocalIo method : {LocalIo::pread, LocalIo::io_uring}) {
    ReadCalls calls = ReadCalls::of_system();
    bool direct = false;
    calls.set_direct = [&direct](int, bool on) {
      direct = on;
      return 0;
    };
    calls.preadv = [&direct](int file, const iovec* parts, int count, off_t offset) -> ssize_t {
      if (!direct) return ::preadv(file, parts, count, offset);
      errno = EINVAL;
      return -1;
    };
    calls.completion = [&direct](int result) { return direct ? -EINVAL : result; };
    Warnings warnings;
    const auto file = open_local_for_reading(uri, {.local_io = method, .direct_io = true}, std::move(calls));
    EXPECT_EQ(content_by_queue(*file), content);
    // Where there is no io_uring, a warning says so first.
    EXPECT_THAT(warnings.taken, Contains("direct I/O of " + uri +
                                         " failed (Invalid argument): reading it through the page cache"));
    EXPECT_FALSE(direct);
  }
}

constexpr int cannot_deny = 77;
#if defined(__x86_64__)
constexpr bool may_be_emulated = false;
#else
constexpr bool may_be_emulated = true;
#endif

// Reads the file in a child process that cannot use io_uring; returns its exit status.
int read_in_child_without_uring(const std::string& uri, const Bytes& content, LocalIo method, long call,
                                int code) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = cannot_deny;
    if (deny_call(call, code)) {
      Warnings warnings;
      const auto file =
          open_local_for_reading(uri, {.local_io = method, .direct_io = method == LocalIo::automatic});
      const bool right = content_by_queue(*file) == content && content_by_queue(*file) == content;
      const auto warned = std::count_if(
          warnings.taken.begin(), warnings.taken.end(),
          [](const std::string& text) { return text.starts_with("io_uring is not available"); });
      status = !right ? 2 : warned != (method == LocalIo::io_uring ? 1 : 0) ? 3 : 0;
    }
    ::_exit(status);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(IoUring, IsReplacedByThreadsWhereItIsDenied) {
  const Bytes content = scrambled(300000);
  const std::string uri = stored("denied", content);
  for (const long call : {SYS_io_uring_setup, SYS_io_uring_enter})
    for (const int code : {ENOSYS, EPERM, ENOMEM})
      for (const LocalIo method : {LocalIo::automatic, LocalIo::io_uring}) {
        const int status = read_in_child_without_uring(uri, content, method, call, code);
        if (status == cannot_deny && may_be_emulated) GTEST_SKIP() << "emulators cannot deny system calls";
        EXPECT_EQ(status, 0) << call << ' ' << code;
      }
}

TEST(ReadScheduler, GoesOnInAForkedChild) {
  const Bytes content = scrambled(300000);
  const std::string uri = stored("forked", content);
  for (const LocalIo method : {LocalIo::pread, LocalIo::threads, LocalIo::io_uring}) {
    const auto file = open_for_reading(uri, {.local_io = method});
    std::vector<Bytes> buffers(30, Bytes(10000));
    std::vector<ReadScheduler::Id> ids;
    ReadScheduler scheduler(*file);
    for (std::size_t i = 0; i < buffers.size(); ++i)
      ids.push_back(scheduler.start({10000 * i, 10000, 10000, 4096}, buffers[i]));
    const auto all_right = [&] {
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        scheduler.wait_for(ids[i]);
        const auto expected = ByteSpan(content).subspan(10000 * i, 10000);
        if (!std::equal(expected.begin(), expected.end(), buffers[i].begin(), buffers[i].end())) return false;
      }
      return scheduler.unsettled() == 0;
    };
    const pid_t child = ::fork();
    if (child == 0) ::_exit(all_right() ? 0 : 1);
    EXPECT_TRUE(all_right());
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

}  // namespace
}  // namespace colonnade::io
