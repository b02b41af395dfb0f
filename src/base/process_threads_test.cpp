// PerProcess: one object for all threads of a process, another one in a forked child, even if a thread of the
// parent has it locked.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <mutex>
#include <thread>
#include <vector>

#include "base/process.h"

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

}  // namespace
}  // namespace colonnade
