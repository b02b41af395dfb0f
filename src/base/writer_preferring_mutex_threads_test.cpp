// WriterPreferringMutex: shared locks overlap, exclusive ones exclude all others and are not starved.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <latch>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "base/writer_preferring_mutex.h"

namespace colonnade {
namespace {

TEST(WriterPreferringMutex, SharedLocksOverlap) {
  WriterPreferringMutex mutex;
  std::latch inside(2);
  const auto enter = [&] {
    const std::shared_lock lock(mutex);
    inside.arrive_and_wait();  // hangs unless both are inside
  };
  std::jthread first(enter);
  std::jthread second(enter);
}

TEST(WriterPreferringMutex, ExclusiveLocksExcludeAll) {
  WriterPreferringMutex mutex;
  std::int64_t balance = 0;  // not atomic: ThreadSanitizer reports a lock that does not exclude
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 2000; ++i) {
          if ((i + t) % 3 == 0) {
            const std::unique_lock lock(mutex);
            ++balance;
            --balance;
          } else {
            const std::shared_lock lock(mutex);
            if (balance != 0) ++wrong;
          }
        }
      });
  }
  EXPECT_EQ(wrong, 0);
}

// This thread holds a shared lock, so the other one can only wait; from then on no shared lock is given out.
TEST(WriterPreferringMutex, AWaitingExclusiveLockKeepsLaterSharedLocksOut) {
  WriterPreferringMutex mutex;
  std::atomic<bool> is_done = false;
  mutex.lock_shared();
  std::jthread writer([&] {
    const std::unique_lock lock(mutex);
    is_done = true;
  });
  while (mutex.try_lock_shared()) {
    mutex.unlock_shared();
    std::this_thread::yield();
  }
  EXPECT_FALSE(is_done);
  mutex.unlock_shared();
  writer.join();
  EXPECT_TRUE(is_done);
  EXPECT_TRUE(mutex.try_lock_shared());
  mutex.unlock_shared();
}

}  // namespace
}  // namespace colonnade
