// The wrapper fails exactly where it is told to.
#include "io/memory/fault_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "io/memory/memory_store.h"
#include "io/object_store_conformance_test.h"

namespace colonnade::io {
namespace {

using testing::HasSubstr;

// Without faults it behaves like any other store.
const RegisterStore faultless({.name = "Faultless", .fresh_uri = [](const std::string& name) {
                                 remove_memory_store("faultless" + name);
                                 if (name != "missing")
                                   wrap_memory_store("faultless" + name, [](auto store) {
                                     return with_faults(std::move(store), std::make_shared<StoreFaults>());
                                   });
                                 return "memory+obj:faultless" + name;
                               }});

class FaultStore : public testing::Test {
 protected:
  void SetUp() override {
    remove_memory_store("faulty");
    wrap_memory_store("faulty", [this](auto store) { return with_faults(std::move(store), faults_); });
    store_ = open_object_store("memory+obj:faulty");
  }
  void put(std::uint64_t akey, std::string_view value) {
    const UpdateItem item{akey, {as_bytes(value)}};
    store_->update({1, 1}, 1, {&item, 1});
  }
  std::string read(std::uint64_t akey) {
    const ValueAddress address{{1, 1}, 1, akey};
    std::string value(static_cast<std::size_t>(store_->size(address).value_or(0)), '?');
    const FetchItem item{akey, 0, {reinterpret_cast<std::byte*>(value.data()), value.size()}};
    store_->fetch({1, 1}, 1, {&item, 1});
    return value;
  }

  const std::shared_ptr<StoreFaults> faults_ = std::make_shared<StoreFaults>();
  std::shared_ptr<ObjectStore> store_;
};

TEST_F(FaultStore, FailsTheOperationsItIsTold) {
  faults_->fail(StoreOperation::update, 1, 2);
  put(0, "a");
  EXPECT_THROW(put(1, "b"), Error);
  EXPECT_THROW(put(2, "c"), Error);
  put(3, "d");
  EXPECT_EQ(read(3), "d");
  EXPECT_EQ(faults_->count(StoreOperation::update), 4u);
  EXPECT_EQ(memory_store_counts("faulty").updates, 2u);
  faults_->fail(StoreOperation::get, 0, 1, ErrorKind::resource);
  try {
    static_cast<void>(store_->get({{1, 1}, 1, 3}));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::resource);
    EXPECT_THAT(error.problem(), HasSubstr("object 1:1, distribution key 1, attribute key 3"));
    EXPECT_EQ(error.context().uri, "memory+obj:faulty");
  }
}

TEST_F(FaultStore, LosesAnswersOfWhatIsDone) {
  faults_->lose_answer(StoreOperation::put_if);
  EXPECT_THROW(store_->put_if({{1, 1}, 1, 0}, as_bytes("done"), std::nullopt), Error);
  EXPECT_EQ(read(0), "done");
}

TEST_F(FaultStore, LosesTheServerAndGetsItBack) {
  put(0, "a");
  faults_->lose_server(1);
  put(1, "b");
  EXPECT_THROW(put(2, "c"), Error);
  EXPECT_THROW(read(0), Error);
  EXPECT_THROW(store_->sync(), Error);
  EXPECT_THROW(store_->list_dkeys({1, 1}), Error);
  faults_->restore();
  EXPECT_EQ(read(1), "b");
}

TEST_F(FaultStore, CorruptsAByte) {
  put(5, "0123456789");
  faults_->corrupt({{1, 1}, 1, 5}, 3);
  EXPECT_EQ(read(5), "012#456789");
  Bytes part(2);
  const FetchItem item{5, 4, part};
  store_->fetch({1, 1}, 1, {&item, 1});
  EXPECT_EQ(part[0], std::byte{'4'});
  EXPECT_EQ(store_->get({{1, 1}, 1, 5})->value[3], std::byte{'#'});
}

TEST_F(FaultStore, RunsOutOfSpace) {
  faults_->limit_space(5);
  put(0, "abc");
  EXPECT_THROW(put(1, "def"), Error);
  put(1, "de");
  EXPECT_THROW(store_->put_if({{1, 1}, 1, 2}, as_bytes("f"), std::nullopt), Error);
}

TEST_F(FaultStore, FailsOneOperationOfAQueue) {
  for (const unsigned depth : {1u, 4u}) {
    faults_->fail(StoreOperation::update, 2);
    const auto queue = store_->open_queue(depth);
    for (std::uint64_t i = 0; i < 6; ++i) {
      const UpdateItem item{i, {as_bytes("x")}};
      queue->submit_update(i, {1, 1}, 1, {&item, 1});
    }
    ObjectQueue::Completion completion;
    int failed = 0;
    while (queue->wait({&completion, 1}) == 1) failed += completion.failure != nullptr ? 1 : 0;
    EXPECT_EQ(failed, 1);
  }
}

TEST_F(FaultStore, QueuesWaitForWhatIsBegunWhenTheyAreLeft) {
  put(0, "abc");
  faults_->hold(StoreOperation::fetch);
  std::array<Bytes, 2> into{Bytes(3), Bytes(3)};
  auto queue = store_->open_queue(2);
  for (std::uint64_t i = 0; i < 2; ++i) {
    const FetchItem item{0, 0, into[i]};
    queue->submit_fetch(i, {1, 1}, 1, {&item, 1});
  }
  faults_->wait_until_held(StoreOperation::fetch, 2);
  ObjectQueue::Completion completion;
  EXPECT_EQ(queue->wait({&completion, 1}, false), 0u);
  std::thread leaver([&] { queue.reset(); });
  faults_->release(StoreOperation::fetch);
  leaver.join();
  EXPECT_EQ(memory_store_counts("faulty").fetched_bytes, 6u);
  EXPECT_EQ(into[1][2], std::byte{'c'});
}

}  // namespace
}  // namespace colonnade::io
