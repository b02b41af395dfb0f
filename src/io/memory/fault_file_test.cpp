// The wrappers fail where they are told to, and only there.
#include "io/memory/fault_file.h"

#include <gtest/gtest.h>

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
  const auto file = writer({.write_error_at = 5, .sync_fails = true, .close_fails = true});
  file->write(6, Bytes(8));
  EXPECT_THROW(file->write(0, Bytes(8)), Error);
  EXPECT_THROW(file->sync(), Error);
  EXPECT_THROW(file->close(), Error);
}

}  // namespace
}  // namespace colonnade::io
