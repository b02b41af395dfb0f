// Threads that read and replace values of one store in a folder share its open files and its pending
// flushes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "base/test_folder.h"
#include "io/local/local_store.h"
#include "io/object_store.h"

namespace colonnade::io {
namespace {

TEST(LocalStoreThreads, ReadAndReplaceTheSameValues) {
  const TestFolder folder;
  const auto store = open_object_store("obj://" + folder.path().string(), {.create = true});
  constexpr std::uint64_t values = 200;  // more than are kept open
  const auto put = [&](std::uint64_t akey, int seed) {
    const Bytes value(500, static_cast<std::byte>(seed));
    const UpdateItem item{akey, {value}};
    store->update({1, akey % 4}, 1, {&item, 1});
  };
  for (std::uint64_t akey = 0; akey < values; ++akey) put(akey, 0);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Bytes into(500);
      for (std::uint64_t i = 0; i < 300; ++i) {
        const std::uint64_t akey = (i * 7 + t * 13) % values;
        if (i % 5 == 0) put(akey, static_cast<int>(i));
        if (i % 100 == t) store->sync();
        const FetchItem item{akey, 0, into};
        store->will_need({{1, akey % 4}, 1, akey}, 0, 500);
        store->fetch({1, akey % 4}, 1, {&item, 1});
        wrong += std::count(into.begin(), into.end(), into.front()) == 500 ? 0 : 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// The values that one thread is flushing are among those that the other has written.
TEST(LocalStoreThreads, DoNotReturnFromSyncBeforeTheValuesAreOnTheDevice) {
  const TestFolder folder;
  std::shared_ptr<ObjectStore> store;
  std::future<void> other;
  bool may_wait = false;
  std::future_status status = std::future_status::ready;
  StoreCalls calls = StoreCalls::of_system();
  calls.fsync = [&](int) {
    if (may_wait && !other.valid()) {
      other = std::async(std::launch::async, [&] { store->sync(); });
      status = other.wait_for(std::chrono::milliseconds(100));  // it can't end: nothing has been flushed
    }
    return 0;
  };
  store = open_local_store("obj://" + folder.path().string(), {.create = true}, calls);
  store->sync();
  const Bytes value(5);
  const UpdateItem item{1, {value}};
  store->update({1, 2}, 3, {&item, 1});
  may_wait = true;
  store->sync();
  ASSERT_TRUE(other.valid());
  other.get();
  EXPECT_EQ(status, std::future_status::timeout);
}

}  // namespace
}  // namespace colonnade::io
