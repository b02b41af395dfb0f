// Batches that are written while the caller continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

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
  const auto memory = std::make_shared<PageBytes>();
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

TEST_F(Uploads, AFailureStaysUntilItIsRepeated) {
  test_.faults().fail(StoreOperation::update);
  const auto memory = std::make_shared<PageBytes>();
  uploader_->begin(updates(1, 20), memory);
  EXPECT_EQ(error_of([&] { uploader_->finish(); }).kind(), ErrorKind::io);
  EXPECT_EQ(memory.use_count(), 2);
  EXPECT_THROW(uploader_->finish(), Error);
  EXPECT_THROW(uploader_->begin(updates(30), memory), Error);
  EXPECT_THROW(uploader_->run(updates(30)), Error);
  EXPECT_EQ(memory.use_count(), 2);
  test_.faults().fail(StoreOperation::update, 3);
  uploader_->retry(true);
  EXPECT_THROW(uploader_->finish(), Error);
  uploader_->retry(false);
  uploader_->finish();
  EXPECT_EQ(memory.use_count(), 1);
  EXPECT_EQ(test_.addresses().size(), 20u);
}

TEST_F(Uploads, WhatTheCallerOwnsIsNotRepeated) {
  test_.faults().fail(StoreOperation::update);
  EXPECT_THROW(uploader_->run(updates(1)), Error);
  EXPECT_TRUE(uploader_->lost());
  uploader_->retry(true);
  EXPECT_THROW(uploader_->finish(), Error);
}

// Lets no further thread of this process begin, as where a limit is reached.
bool deny_threads() {
  const std::array program{sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
                           sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
                           sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
                           sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{static_cast<unsigned short>(program.size()),
                          const_cast<sock_filter*>(program.data())};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST_F(Uploads, TheCallerWritesWhereThereCanBeNoThread) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!deny_threads()) ::_exit(2);
    try {
      uploader_->begin(updates(1, 3), nullptr);
      uploader_->finish();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(test_.addresses().size() == 3 ? 0 : 3);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Uploads, TheDestructorWaits) {
  test_.faults().delay(StoreOperation::update, std::chrono::milliseconds(5));
  const auto memory = std::make_shared<PageBytes>();
  uploader_->begin(updates(1, 3), memory);
  uploader_.reset();
  EXPECT_EQ(memory.use_count(), 1);
}

}  // namespace
}  // namespace colonnade::container
