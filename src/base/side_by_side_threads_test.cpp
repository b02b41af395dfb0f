// Work in threads of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/side_by_side.h"
#include "base/test_no_threads.h"

namespace colonnade {
namespace {

TEST(SideBySide, RunsAllAtTheSameTime) {
  constexpr std::size_t count = 4;
  std::barrier all_run(count);
  std::vector<int> calls(count);
  run_side_by_side(count, [&](std::size_t i) {
    all_run.arrive_and_wait();
    ++calls[i];
  });
  EXPECT_EQ(calls, std::vector<int>(count, 1));
  run_side_by_side(0, [](std::size_t) { FAIL(); });
}

TEST(SideBySide, ThrowsTheFirstFailureWhenAllHaveEnded) {
  std::atomic<int> ended = 0;
  try {
    run_side_by_side(4, [&](std::size_t i) {
      ++ended;
      if (i > 0) throw std::runtime_error(std::to_string(i));
    });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "1");
  }
  EXPECT_EQ(ended, 4);
}

TEST(SideBySide, WithoutThreadsThisOneDoesAll) {
  const testing::NoThreads none;
  EXPECT_ANY_THROW(std::thread([] {}).join());
  std::vector<std::thread::id> ran_in(5);
  run_side_by_side(5, [&](std::size_t i) { ran_in[i] = std::this_thread::get_id(); });
  EXPECT_EQ(ran_in, std::vector<std::thread::id>(5, std::this_thread::get_id()));
}

}  // namespace
}  // namespace colonnade
