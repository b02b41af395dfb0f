// A changed state is the standard one within a scope, and as before after it.
#include "base/floating_point.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <future>
#include <limits>

#include "base/thread_pool.h"

namespace colonnade {
namespace {

// Not known to the compiler.
double quotient(double of, double by) {
  const volatile double top = of;
  const volatile double bottom = by;
  return top / bottom;
}

class RoundedUp {
 public:
  RoundedUp() { std::fesetround(FE_UPWARD); }
  ~RoundedUp() { std::fesetround(FE_TONEAREST); }
};

TEST(StandardFloatingPoint, RoundsToNearestWithinItsScope) {
  const double nearest = quotient(1, 3);
  const RoundedUp up;
  ASSERT_GT(quotient(1, 3), nearest);
  {
    const StandardFloatingPoint state;
    EXPECT_EQ(quotient(1, 3), nearest);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    const StandardFloatingPoint again;
    EXPECT_EQ(quotient(1, 3), nearest);
  }
  EXPECT_GT(quotient(1, 3), nearest);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
}

TEST(StandardFloatingPoint, ThreadsOfPoolsDoNotInheritTheState) {
  const double nearest = quotient(1, 3);
  const RoundedUp up;
  ThreadPool pool(1);
  std::promise<double> found;
  pool.submit([&] { found.set_value(quotient(1, 3)); });
  EXPECT_EQ(found.get_future().get(), nearest);
}

#if defined(__SSE2__)
TEST(StandardFloatingPoint, KeepsSubnormalNumbersAndTrapsNothingWithinItsScope) {
  constexpr double least = std::numeric_limits<double>::denorm_min();
  constexpr unsigned zeros = 0x8040;
  constexpr unsigned no_trap_of_division = 0x200;
  const unsigned before = _mm_getcsr();
  _mm_setcsr((before | zeros) & ~no_trap_of_division);
  {
    const StandardFloatingPoint state;
    EXPECT_EQ(quotient(least * 4, 2), least * 2);
    EXPECT_EQ(quotient(1, 0), std::numeric_limits<double>::infinity());
  }
  const unsigned after = _mm_getcsr();
  const double lost = quotient(least, 1);
  _mm_setcsr(before);
  EXPECT_EQ(lost, 0);
  constexpr unsigned flags = 0x3f;
  EXPECT_EQ(after | flags, ((before | zeros) & ~no_trap_of_division) | flags);
}
#endif

}  // namespace
}  // namespace colonnade
