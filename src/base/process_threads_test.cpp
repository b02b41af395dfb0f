// What children need that are forked while other threads work. PerProcess: one object for all threads of a
// process, another one in a child, even if a thread of the parent has it locked. MadeOnce: an object that a
// thread of the parent may be making. ForkPause: a fork waits.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fork_pause.h"
#include "base/made_once.h"
#include "base/process.h"
#include "base/test_child.h"

namespace colonnade {
namespace {

struct Registry {
  std::mutex mutex;
  int value = 0;
};

TEST(PerProcess, IsOneForAllThreads) {
  static PerProcess<Registry> registry;  // never destroyed
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        Registry& mine = registry.get();
        const std::lock_guard lock(mine.mutex);
        ++mine.value;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.get().value, 800);
}

TEST(PerProcess, IsAnotherOneInAForkedChild) {
  static PerProcess<Registry> registry;  // never destroyed
  const Process here;
  registry.get().value = 5;
  const std::lock_guard lock(registry.get().mutex);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    Registry& own = registry.get();
    const std::lock_guard free(own.mutex);
    ::_exit(own.value == 0 && !here.is_current() && Process().is_current() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(registry.get().value, 5);
  EXPECT_TRUE(here.is_current());
}

TEST(MadeOnce, IsMadeByAChildWhileAThreadOfItsParentMakesIt) {
  static MadeOnce<int> made;
  std::latch begun(1);
  std::latch ends(1);
  std::thread other([&] {
    EXPECT_EQ(made.get([&] {
      begun.count_down();
      ends.wait();
      return 1;
    }),
              1);
  });
  begun.wait();
  EXPECT_EQ(status_of_child([] { return made.get([] { return 2; }); }), 2);
  ends.count_down();
  other.join();
  EXPECT_EQ(made.get([] { return 3; }), 1);
}

TEST(ForkPause, IsWaitedForByForks) {
  std::latch begun(1);
  std::latch ends(1);
  std::atomic<bool> is_inside = true;
  std::thread other([&] {
    {
      const ForkPause pause;
      begun.count_down();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      is_inside = false;
    }
    ends.wait();  // one that has ended, but was not joined, is a leak of the child for ThreadSanitizer
  });
  begun.wait();
  const auto was_inside = [&] {
    const ForkPause own;
    return is_inside ? 1 : 0;
  };
  EXPECT_EQ(status_of_child(was_inside), 0);
  ends.count_down();
  other.join();
  EXPECT_EQ(status_of_child(was_inside), 0);
}

TEST(ForkPause, DoesNotKeepForksFromHappening) {
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!ends) const ForkPause pause;
    });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of_child([] { return 0; }), 0);
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace colonnade
