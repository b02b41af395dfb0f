// Many threads on one DAOS store: calls, queues and object handles that come and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "io/daos/daos_store.h"
#include "io/daos/daos_test_tools.h"

namespace colonnade::io::daos {
namespace {

TEST(DaosThreads, ShareAStore) {
  const auto store = open_object_store(fresh_daos_uri("threads"), {.create = true});
  std::atomic<int> wrong = 0;
  const auto work = [&](std::uint64_t thread) {
    const auto queue = store->open_queue(4);
    for (std::uint64_t i = 0; i < 150; ++i) {
      const ObjectId object{static_cast<std::uint32_t>(1 + i % 3), i + thread % 2};  // shared by two threads
      const std::string text = std::to_string(thread) + ":" + std::to_string(i);
      const UpdateItem item{thread, {as_bytes(text)}};
      if (i % 3 == 0) {
        store->update(object, 0, {&item, 1});
      } else {
        queue->submit_update(i, object, 0, {&item, 1});
        std::array<ObjectQueue::Completion, 1> done;
        if (queue->wait(done) != 1 || done[0].failure) ++wrong;
      }
      Bytes into(text.size());
      const FetchItem fetched{thread, 0, into};
      store->fetch(object, 0, {&fetched, 1});
      const ByteSpan expected = as_bytes(text);
      if (!std::equal(into.begin(), into.end(), expected.begin(), expected.end())) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace colonnade::io::daos
