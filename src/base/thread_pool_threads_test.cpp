// The pool and its groups: every task runs once, errors reach the waiter, no deadlocks.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/interruption.h"
#include "base/test_errors.h"
#include "base/test_no_threads.h"
#include "base/thread_pool.h"

namespace colonnade {
namespace {

TEST(ThreadPool, RunsEveryTaskBeforeItEnds) {
  std::atomic<int> done = 0;
  {
    ThreadPool pool(3);
    for (int i = 0; i < 1000; ++i) pool.submit([&] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

TEST(ThreadPool, WithoutThreadsThoseWhoWaitWork) {
  std::optional<ThreadPool> pool;
  {
    const testing::NoThreads none;
    pool.emplace(2);
    const Error error = error_of([&] { pool->submit([] {}); });
    EXPECT_EQ(error.kind(), ErrorKind::resource);
    EXPECT_NE(error.advice().find("ulimit -u"), std::string::npos);
    TaskGroup group(*pool);
    std::thread::id ran_in;
    group.run([&] { ran_in = std::this_thread::get_id(); });
    group.wait();
    EXPECT_EQ(ran_in, std::this_thread::get_id());
  }
  std::atomic<int> done = 0;
  pool->submit([&] { ++done; });  // starts one
  pool.reset();
  EXPECT_EQ(done, 1);
}

TEST(TaskGroup, WaitsForAllOfItsTasks) {
  ThreadPool pool(2);
  TaskGroup group(pool);
  std::atomic<int> done = 0;
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 200; ++i) group.run([&] { ++done; });
    group.wait();
    EXPECT_EQ(done, 200 * round);
  }
}

TEST(TaskGroup, ThrowsTheEarliestFailureAndCanBeUsedAgain) {
  ThreadPool pool(2);
  TaskGroup group(pool);
  std::atomic<int> done = 0;
  for (int i = 0; i < 50; ++i)
    group.run([&, i] {
      ++done;
      if (i % 10 == 7) throw std::runtime_error(std::to_string(i));
    });
  try {
    group.wait();
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(done, 50);
  group.run([&] { ++done; });
  EXPECT_NO_THROW(group.wait());
  EXPECT_EQ(done, 51);
}

TEST(TaskGroup, TasksAreInterruptedWithTheThreadThatWaits) {
  ThreadPool pool(2);
  TaskGroup group(pool);
  std::atomic<int> waiting = 0;
  const auto wait_for_ever = [&] {
    ++waiting;
    while (true) {
      Interruption::check();
      std::this_thread::yield();
    }
  };
  for (int i = 0; i < 3; ++i) group.run(wait_for_ever);
  {
    const Interruption interruption([&] { return waiting == 3; });
    EXPECT_THROW(group.wait(), Interrupted);
  }
  group.run([&] {
    EXPECT_NO_THROW(Interruption::check());
    waiting = 0;
  });
  group.wait();
  EXPECT_EQ(waiting, 0);
}

TEST(Interruption, DoesNotReachWhatIsUninterruptible) {
  const Interruption interruption([] { return true; });
  EXPECT_THROW(Interruption::check(), Interrupted);
  {
    const Uninterruptible commit;
    EXPECT_NO_THROW(Interruption::check());
  }
  EXPECT_THROW(Interruption::check(), Interrupted);
}

TEST(TaskGroup, GroupsInsideTasksDoNotStandStill) {
  ThreadPool pool(1);
  TaskGroup outer(pool);
  std::atomic<int> done = 0;
  for (int i = 0; i < 8; ++i)
    outer.run([&] {
      TaskGroup inner(pool);
      for (int k = 0; k < 8; ++k) inner.run([&] { ++done; });
      inner.wait();
    });
  outer.wait();
  EXPECT_EQ(done, 64);
}

}  // namespace
}  // namespace colonnade
