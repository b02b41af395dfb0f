// Memory that runs short in a test program: one allocation fails, or all that follow it, of one thread or of
// all. For one file of a program: operator new is defined here.
#ifndef COLONNADE_BASE_TEST_SHORT_MEMORY_H
#define COLONNADE_BASE_TEST_SHORT_MEMORY_H

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

#include "base/test_allocation.h"

namespace colonnade::testing {

struct Shortage {
  bool for_good = false;
  bool everywhere = false;
  std::size_t smallest = 0;  // smaller ones succeed, and are not counted
  long allocations = 0;      // that succeed before

  std::string text() const {
    return fmt::format("{} of {} bytes{}{}", allocations, smallest, for_good ? " for good" : "",
                       everywhere ? " everywhere" : "");
  }
};

class ShortMemory {
 public:
  explicit ShortMemory(const Shortage& shortage) {
    fails_on_ = shortage.for_good;
    failed_ = false;
    smallest_ = shortage.smallest;
    left_ = given_ = shortage.allocations;
    of_this_thread_ = true;
    of_all_threads_ = shortage.everywhere;
  }
  ~ShortMemory() { end(); }
  ShortMemory(const ShortMemory&) = delete;
  ShortMemory& operator=(const ShortMemory&) = delete;

  static void end() noexcept {
    of_this_thread_ = of_all_threads_ = fails_on_ = false;
    if (const long left = left_.exchange(never); left != never) used_ = given_ - left;
  }
  // Whether an allocation has failed since the last one was made.
  static bool failed() noexcept { return failed_; }
  // The allocations counted by the last shortage, if none of them failed.
  static long used() noexcept { return used_; }

  static void take(std::size_t size) {
    if ((!of_this_thread_ && !of_all_threads_) || size < smallest_ || left_ == never ||
        left_.fetch_sub(1) > 0)
      return;
    failed_ = true;
    if (!fails_on_) left_ = never;
    throw std::bad_alloc();
  }

 private:
  static constexpr long never = std::numeric_limits<long>::max();
  static inline thread_local bool of_this_thread_ = false;
  static inline std::atomic<bool> of_all_threads_ = false;
  static inline std::atomic<long> left_ = never;
  static inline std::atomic<std::size_t> smallest_ = 0;
  static inline long given_ = 0;
  static inline long used_ = 0;
  static inline std::atomic<bool> fails_on_ = false;
  static inline std::atomic<bool> failed_ = false;
};

}  // namespace colonnade::testing

void* colonnade::testing::allocate(std::size_t size, std::size_t alignment) {
  ShortMemory::take(size);
  void* const memory = system_memory(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void colonnade::testing::release(void* memory) noexcept {
  std::free(memory);
}

#endif
