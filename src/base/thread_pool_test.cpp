// The shared pool after fork(); separate from the other tests of the pool, since ThreadSanitizer does not
// support it.
#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace colonnade {
namespace {

TEST(ThreadPool, TheSharedPoolWorksInAForkedChild) {
  TaskGroup before;
  before.run([] {});
  before.wait();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);
    std::atomic<int> done = 0;
    ThreadPool::shared().submit([&] { ++done; });
    while (done == 0) std::this_thread::yield();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace colonnade
