// Many threads use one object store at once, each through a queue of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "io/memory/fault_store.h"
#include "io/memory/memory_store.h"

namespace colonnade::io {
namespace {

std::shared_ptr<ObjectStore> fresh(const std::string& name) {
  remove_memory_store(name);
  return open_object_store("memory+obj:" + name, {.create = true});
}

void take_all(ObjectQueue& queue) {
  std::array<ObjectQueue::Completion, 4> some;
  while (const std::size_t count = queue.wait(some))
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(some[i].failure, nullptr);
}

// Every thread writes its own objects, then reads those of its neighbour.
TEST(ObjectQueues, OfManyThreadsUseOneStore) {
  const auto store = fresh("queue_threads");
  constexpr std::uint64_t threads = 4;
  constexpr std::uint64_t values = 30;
  const auto for_all = [](auto&& work) {
    std::vector<std::thread> all;
    for (std::uint64_t t = 0; t < threads; ++t) all.emplace_back(work, t);
    for (std::thread& thread : all) thread.join();
  };
  for_all([&](std::uint64_t t) {
    const Bytes value(1000, static_cast<std::byte>(t));
    const auto queue = store->open_queue(3);
    for (std::uint64_t i = 0; i < values; ++i) {
      const UpdateItem item{i, {value}};
      queue->submit_update(i, {1, t}, i % 4, {&item, 1});
    }
    take_all(*queue);
  });
  std::atomic<int> wrong = 0;
  for_all([&](std::uint64_t t) {
    const std::uint64_t other = (t + 1) % threads;
    std::vector<Bytes> into(values, Bytes(1000));
    const auto queue = store->open_queue(3);
    for (std::uint64_t i = 0; i < values; ++i) {
      const FetchItem item{i, 0, into[i]};
      queue->submit_fetch(i, {1, other}, i % 4, {&item, 1});
    }
    take_all(*queue);
    for (const Bytes& value : into) wrong += value == Bytes(1000, static_cast<std::byte>(other)) ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ObjectQueues, LeavingOneWhileThreadsWorkDoesNotCrash) {
  const auto store = fresh("queue_left");
  const Bytes value(20000, std::byte{1});
  for (int round = 0; round < 20; ++round) {
    Bytes into(20000);
    const auto queue = store->open_queue(3);
    const UpdateItem update{0, {value}};
    const FetchItem fetch{0, 0, into};
    queue->submit_update(0, {1, 1}, 1, {&update, 1});
    queue->submit_fetch(1, {1, 1}, 1, {&fetch, 1});
    queue->submit_update(2, {1, 2}, 1, {&update, 1});
  }
}

TEST(ObjectQueues, KeepToTheirDepth) {
  const auto faults = std::make_shared<StoreFaults>();
  const auto store = with_faults(fresh("queue_depth"), faults);
  faults->hold(StoreOperation::update);
  const auto queue = store->open_queue(3);
  const Bytes value(10);
  std::atomic<int> submitted = 0;
  std::thread owner([&] {
    for (std::uint64_t i = 0; i < 5; ++i) {
      const UpdateItem item{i, {value}};
      queue->submit_update(i, {1, 1}, 1, {&item, 1});
      ++submitted;
    }
    take_all(*queue);
  });
  faults->wait_until_held(StoreOperation::update, 3);
  EXPECT_LE(submitted, 3);
  EXPECT_EQ(faults->count(StoreOperation::update), 3u);
  faults->release(StoreOperation::update);
  owner.join();
  EXPECT_EQ(submitted, 5);
}

TEST(ObjectQueues, OfOneWorkWithoutAThread) {
  const auto store = fresh("queue_one");
  const auto queue = store->open_queue(1);
  const Bytes value(10);
  const UpdateItem item{1, {value}};
  queue->submit_update(1, {1, 1}, 1, {&item, 1});
  EXPECT_EQ(store->size({{1, 1}, 1, 1}), 10u);  // done before any thread waits
  take_all(*queue);
}

TEST(ObjectStores, LetOneOfManyWritersWin) {
  const auto store = fresh("race");
  std::atomic<int> winners = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] { winners += store->put_if({{0, 0}, 1, 0}, {}, std::nullopt) ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners, 1);
}

}  // namespace
}  // namespace colonnade::io
