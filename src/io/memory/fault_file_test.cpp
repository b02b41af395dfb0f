// The wrappers fail exactly where they are told to.
#include "io/memory/fault_file.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "io/memory/memory_file.h"

namespace colonnade::io {
namespace {

std::unique_ptr<RandomAccessFile> reader(const Faults& faults) {
  store_memory_file("memory:fault", Bytes(100));
  return with_faults(open_for_reading("memory:fault"), faults);
}

std::unique_ptr<WritableFile> writer(const Faults& faults) {
  remove_memory_file("memory:fault");
  return with_faults(open_for_writing("memory:fault", OpenMode::create), faults);
}

TEST(FaultFile, FailsToReadOneByte) {
  const auto file = reader({.read_error_at = 50});
  Bytes into(10);
  file->read(40, into);
  file->read(51, into);
  EXPECT_THROW(file->read(41, into), Error);
  EXPECT_THROW(file->read(50, into), Error);
}

TEST(FaultFile, CutsTheFile) {
  const auto file = reader({.size = 60});
  EXPECT_EQ(file->size(), 60u);
  Bytes into(10);
  file->read(50, into);
  EXPECT_THROW(file->read(51, into), Error);
}

TEST(FaultFile, ReadsAGivenNumberOfTimes) {
  const auto file = reader({.reads = 2});
  Bytes into(10);
  file->read(0, into);
  file->read(0, into);
  EXPECT_THROW(file->read(0, into), Error);
}

TEST(FaultFile, FailsOneRequestOfAQueue) {
  const auto file = reader({.read_error_at = 50, .size = 90});
  const auto queue = file->open_queue(4);
  std::vector<Bytes> into(10, Bytes(10));
  for (std::size_t i = 0; i < into.size(); ++i) queue->submit(i, 10 * i, into[i]);
  ReadQueue::Completion completion;
  while (queue->wait({&completion, 1}) == 1)
    EXPECT_EQ(completion.failure != nullptr, completion.id == 5 || completion.id == 9) << completion.id;
}

TEST(FaultFile, AnswersInReverseOrder) {
  for (const unsigned depth : {1u, 4u}) {
    const auto file = reader({.answers_reversed = true});
    const auto queue = file->open_queue(depth);
    std::vector<Bytes> into(5, Bytes(10));
    for (std::size_t i = 0; i < into.size(); ++i) queue->submit(i, 10 * i, into[i]);
    std::array<ReadQueue::Completion, 2> some;
    EXPECT_EQ(queue->wait(some, false), 0u);
    std::vector<std::uint64_t> order;
    while (const std::size_t count = queue->wait(some, true))
      for (std::size_t i = 0; i < count; ++i) order.push_back(some[i].id);
    EXPECT_EQ(order, (std::vector<std::uint64_t>{4, 3, 2, 1, 0}));
  }
}

TEST(FaultFile, WritesUntilSpaceIsUsedUp) {
  const auto file = writer({.space = 10});
  file->write(0, Bytes(8));
  EXPECT_THROW(file->write(8, Bytes(8)), Error);
  EXPECT_EQ(file->size(), 10u);
  EXPECT_THROW(file->write(0, Bytes(1)), Error);
}

TEST(FaultFile, WritesAGivenNumberOfTimes) {
  const auto file = writer({.writes = 2});
  file->write(0, Bytes(8));
  file->write(8, Bytes(8));
  EXPECT_THROW(file->write(16, Bytes(8)), Error);
  EXPECT_EQ(file->size(), 16u);
}

TEST(FaultFile, FailsToWriteOneByteToSyncAndToClose) {
  const auto file = writer({.write_error_at = 5, .syncs = 0, .close_fails = true});
  file->write(6, Bytes(8));
  EXPECT_THROW(file->write(0, Bytes(8)), Error);
  EXPECT_THROW(file->sync(), Error);
  EXPECT_THROW(file->close(), Error);
}

}  // namespace
}  // namespace colonnade::io
