// Batches that are written while the caller continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/object_store/test_tools.h"
#include "container/object_store/uploader.h"

namespace colonnade::container {
namespace {

using io::StoreOperation;

class Uploads : public testing::Test {
 protected:
  // One value of each of `count` objects from `first` on.
  std::vector<ObjectUpdate> updates(std::uint64_t first, std::uint64_t count = 1) {
    std::vector<ObjectUpdate> made;
    for (std::uint64_t i = first; i < first + count; ++i)
      made.push_back({.object = {1, i}, .dkey = 0, .items = {{.akey = 0, .parts = {bytes_}}}});
    return made;
  }

  Bytes bytes_ = page_bytes(100, 1);
  TestStore test_{TestStore::like_daos()};
  std::unique_ptr<ObjectUploader> uploader_ = std::make_unique<ObjectUploader>(test_.open());
};

TEST_F(Uploads, RunReturnsWhenAllIsThere) {
  uploader_->run(updates(1, 100));
  EXPECT_EQ(test_.addresses().size(), 100u);
  uploader_->run({});
}

TEST_F(Uploads, MemoryIsHeldAsLongAsItIsNeeded) {
  test_.faults().hold(StoreOperation::update);
  const auto memory = std::make_shared<int>();
  uploader_->begin(updates(1), memory);
  test_.faults().wait_until_held(StoreOperation::update, 1);
  EXPECT_GE(memory.use_count(), 2);
  EXPECT_TRUE(test_.addresses().empty());
  test_.faults().release(StoreOperation::update);
  uploader_->finish();
  EXPECT_EQ(test_.addresses().size(), 1u);
  EXPECT_EQ(memory.use_count(), 1);
}

TEST_F(Uploads, BatchesOverlap) {
  test_.faults().hold(StoreOperation::update);
  for (std::uint64_t i = 0; i < 4; ++i) uploader_->begin(updates(10 * i, 2), nullptr);
  test_.faults().wait_until_held(StoreOperation::update, 8);  // all in flight at once
  test_.faults().release(StoreOperation::update);
  uploader_->finish();
  EXPECT_EQ(test_.addresses().size(), 8u);
}

TEST_F(Uploads, AFailureShowsAtTheNextCallAndStays) {
  test_.faults().fail(StoreOperation::update);
  const auto memory = std::make_shared<int>();
  uploader_->begin(updates(1, 20), memory);
  EXPECT_EQ(error_of([&] { uploader_->finish(); }).kind(), ErrorKind::io);
  EXPECT_EQ(memory.use_count(), 1);
  EXPECT_TRUE(uploader_->failed());
  EXPECT_THROW(uploader_->begin(updates(30), memory), Error);
  EXPECT_THROW(uploader_->run(updates(30)), Error);
  EXPECT_THROW(uploader_->finish(), Error);
  EXPECT_EQ(memory.use_count(), 1);
}

TEST_F(Uploads, TheDestructorWaits) {
  test_.faults().delay(StoreOperation::update, std::chrono::milliseconds(5));
  const auto memory = std::make_shared<int>();
  uploader_->begin(updates(1, 3), memory);
  uploader_.reset();
  EXPECT_EQ(memory.use_count(), 1);
}

}  // namespace
}  // namespace colonnade::container
