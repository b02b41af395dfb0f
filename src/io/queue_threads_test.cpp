// Many threads read one file at once, each through a queue or a scheduler of its own, in every way of
// reading.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <thread>

#include "base/aligned_buffer.h"
#include "base/test_child.h"
#include "base/test_folder.h"
#include "io/memory/memory_file.h"
#include "io/read_scheduler.h"
#include "io/thread_queue.h"

namespace colonnade::io {
namespace {

Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8)) & 0xff);
  return bytes;
}

bool holds(ByteSpan bytes, std::uint64_t offset) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != static_cast<std::byte>(((offset + i) * 131 + ((offset + i) >> 8)) & 0xff)) return false;
  return true;
}

constexpr std::size_t file_size = 400000;

// Reads random ranges through a scheduler; returns the number of wrong ones.
int read_ranges(const RandomAccessFile& file, std::size_t seed) {
  std::vector<WantedRange> wanted;
  for (std::size_t i = 0; i < 60; ++i)
    wanted.push_back({(seed * 7919 + i * 104729) % (file_size - 5000), 1 + (i * 977 + seed) % 5000});
  const ReadPlan plan = plan_reads(wanted, file.traits(), 20000, file.size());
  std::vector<AlignedBuffer> buffers;
  std::vector<ReadScheduler::Id> ids;
  ReadScheduler scheduler(file);
  for (const ReadExtent& extent : plan.extents) {
    buffers.emplace_back(extent.size, std::max<std::size_t>(file.traits().alignment, 64));
    ids.push_back(scheduler.start(extent, buffers.back().span()));
  }
  int wrong = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const ReadPlan::PlannedRange range = plan.ranges[i];
    scheduler.wait_for(ids[range.extent]);
    const ByteSpan bytes = buffers[range.extent].span();
    if (!holds(bytes.subspan(range.position, wanted[i].size), wanted[i].offset)) ++wrong;
  }
  return wrong;
}

void read_in_threads(const RandomAccessFile& file) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t round = 0; round < 3; ++round) wrong += read_ranges(file, 10 * round + t);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ReadQueues, OfManyThreadsReadOneLocalFile) {
  const TestFolder folder;
  const std::string uri = (folder.path() / "file").string();
  const Bytes content = pattern(file_size);
  std::ofstream(uri, std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  for (const LocalIo method :
       {LocalIo::automatic, LocalIo::pread, LocalIo::threads, LocalIo::io_uring, LocalIo::mmap})
    for (const bool direct : {false, true})
      read_in_threads(*open_for_reading(uri, {.local_io = method, .direct_io = direct}));
}

TEST(ReadQueues, OfManyThreadsReadOneFileInMemory) {
  store_memory_file("memory:queue_threads", pattern(file_size));
  const auto file = open_for_reading("memory:queue_threads");
  read_in_threads(*file);
}

// Counts concurrent reads.
class CountingFile final : public RandomAccessFile {
 public:
  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return file_size; }
  IoTraits traits() const noexcept override { return {.concurrency = 3}; }
  void read(std::uint64_t offset, MutableByteSpan into) const override {
    const int now = ++reading_;
    int most = most_;
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
    std::this_thread::yield();
    if (offset == 13) throw Error(ErrorKind::io, "an unlucky offset");
    std::fill(into.begin(), into.end(), static_cast<std::byte>(offset));
    --reading_;
  }
  int most() const { return most_; }

 private:
  std::string uri_ = "counting:";
  mutable std::atomic<int> reading_ = 0;
  mutable std::atomic<int> most_ = 0;
};

TEST(ThreadQueue, KeepsToItsDepth) {
  const CountingFile file;
  const auto queue = file.open_queue(3);
  std::vector<Bytes> into(300, Bytes(1));
  for (std::size_t i = 0; i < into.size(); ++i) queue->submit(i, i + 100, into[i]);
  std::array<ReadQueue::Completion, 16> some;
  while (queue->wait(some) > 0) {
  }
  EXPECT_LE(file.most(), 3);
  EXPECT_GE(file.most(), 1);
  for (std::size_t i = 0; i < into.size(); ++i) EXPECT_EQ(into[i][0], static_cast<std::byte>(i + 100));
}

TEST(ThreadQueue, LeavingItWhileThreadsReadDoesNotCrash) {
  const CountingFile file;
  for (int round = 0; round < 20; ++round) {
    std::vector<Bytes> into(5, Bytes(1000));
    const auto queue = file.open_queue(3);
    for (std::size_t i = 0; i < into.size(); ++i) queue->submit(i, i + 100, into[i]);
  }
}

TEST(ThreadQueue, BringsExceptionsToItsOwner) {
  const CountingFile file;
  const auto queue = make_thread_queue(file, 2);
  Bytes into(1);
  queue->submit(1, 13, into);
  ReadQueue::Completion completion;
  ASSERT_EQ(queue->wait({&completion, 1}), 1u);
  EXPECT_THROW(std::rethrow_exception(completion.failure), Error);
}

// Another thread may be about to open a queue when the process is forked.
TEST(ReadQueues, OfAForkedChildAreItsOwn) {
  const TestFolder folder;
  const std::string path = (folder.path() / "data").string();
  const Bytes content = pattern(5000);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  const auto file = open_for_reading(path, {.local_io = LocalIo::io_uring});
  const auto reads = [&] {
    Bytes bytes(1000);
    const auto queue = file->open_queue(4);
    queue->submit(1, 3000, bytes);
    queue->wait_for_all();
    return holds(bytes, 3000);
  };
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) EXPECT_TRUE(reads());
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of_child([&] { return reads() ? 0 : 1; }), 0);
  ends = true;
  other.join();
}

TEST(MemoryFiles, AreReadAndWrittenByAForkedChild) {
  const auto works = [](const std::string& own) {
    store_memory_file(own, pattern(5000));
    Bytes bytes(1000);
    open_for_reading(own)->read(3000, bytes);
    remove_memory_file(own);
    return holds(bytes, 3000);
  };
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) EXPECT_TRUE(works("memory:of_the_parent"));
  });
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(status_of_child([&] { return works("memory:of_a_child") ? 0 : 1; }), 0);
  ends = true;
  other.join();
}

}  // namespace
}  // namespace colonnade::io
