// The exact sum against long sums in other orders, and at the ends of the range of doubles.
#include "frame/results/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace colonnade::frame {
namespace {

TEST(ExactSum, KeepsWhatOrdinarySumsLose) {
  ExactSum<1> sum;
  for (const double x : {1e300, 1., 1e-300, -1e300, -1., 5e-324}) sum.add(x);
  EXPECT_EQ(sum.value(), 1e-300);
  sum.add(-1e-300);
  EXPECT_EQ(sum.value(), 5e-324);
  sum.add(-5e-324);
  EXPECT_EQ(sum.value(), 0);
}

TEST(ExactSum, RoundsToTheNearestTiesToEven) {
  const double ulp = std::ldexp(1., -52);
  const auto sum_of = [](std::initializer_list<double> terms) {
    ExactSum<1> sum;
    for (const double x : terms) sum.add(x);
    return sum.value();
  };
  EXPECT_EQ(sum_of({1, ulp / 2}), 1);
  EXPECT_EQ(sum_of({1, ulp / 2, 5e-324}), 1 + ulp);
  EXPECT_EQ(sum_of({1 + ulp, ulp / 2}), 1 + 2 * ulp);
  EXPECT_EQ(sum_of({-1, -ulp / 2, -5e-324}), -1 - ulp);
  const double greatest = std::numeric_limits<double>::max();
  EXPECT_EQ(sum_of({greatest, greatest}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sum_of({greatest, greatest, -greatest}), greatest);
  EXPECT_EQ(sum_of({-greatest, -greatest}), -std::numeric_limits<double>::infinity());
}

TEST(ExactSum, TakesOneRoundingOnly) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    // Integers of 60 bits at one scale: the true sum is known.
    const int scale = static_cast<int>(random() % 1500) - 900;
    Int128 truth = 0;
    ExactSum<1> sum;
    for (int i = 0; i < 3000; ++i) {
      const auto integer = static_cast<std::int64_t>(random()) >> 11;
      truth += integer;
      sum.add(std::ldexp(static_cast<double>(integer), scale));
    }
    ASSERT_EQ(sum.value(), std::ldexp(static_cast<double>(truth), scale)) << round;
  }
}

TEST(ExactSum, ProductsAreExact) {
  std::mt19937_64 random(4);
  ExactSum<2> squares;
  ExactSum<3> cubes;
  Int128 square = 0;
  Int128 cube = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::int64_t x = static_cast<std::int64_t>(random() % 2000001) - 1000000;
    const std::int64_t w = static_cast<std::int64_t>(random() % 101) - 50;
    const auto a = static_cast<double>(x);
    squares.add_product(a * 0x1p-500, a * 0x1p-400);
    cubes.add_product(static_cast<double>(w), a * 0x1p600, a * 0x1p-300);
    square += Int128{x} * x;
    cube += Int128{w} * x * x;
  }
  EXPECT_EQ(squares.value(), std::ldexp(static_cast<double>(square), -900));
  EXPECT_EQ(cubes.value(), std::ldexp(static_cast<double>(cube), 300));

  ExactSum<2> small;
  small.add_product(0x1p-1000, 0x1p-1000);
  EXPECT_EQ(small.value(), 0);  // below the least double
  small.add_product(0x1p-537, 0x1.8p-537);
  EXPECT_EQ(small.value(), 0x1p-1073);  // 1.5 * 2^-1074, and a bit more
}

TEST(ExactSum, OrderAndSplitDoNotMatter) {
  std::mt19937_64 random(5);
  std::vector<double> terms(20000);
  for (double& x : terms)
    x = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                   static_cast<int>(random() % 1900) - 1070);
  ExactSum<1> forward;
  for (const double x : terms) forward.add(x);
  std::shuffle(terms.begin(), terms.end(), random);
  ExactSum<1> parts[3];
  for (std::size_t i = 0; i < terms.size(); ++i) parts[i % 3].add(terms[i]);
  parts[2].add(parts[0]);
  parts[2].add(parts[1]);
  EXPECT_EQ(parts[2].value(), forward.value());
  EXPECT_EQ(parts[2].settled(), forward.settled());
}

TEST(ExactSum, PartsHoldMoreThanADouble) {
  ExactSum<1> sum;
  for (const double x : {1., 0x1p-80, 0x1p-160}) sum.add(x);
  EXPECT_EQ(sum.parts(), (Parts{1, 0x1p-80, 0x1p-160}));
}

TEST(ExactSum, SpecialValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  ExactSum<2> sum;
  sum.add(1);
  sum.add_product(infinity, -2.);
  EXPECT_EQ(sum.value(), -infinity);
  sum.add(-infinity);
  EXPECT_EQ(sum.value(), -infinity);
  sum.add(infinity);
  EXPECT_TRUE(std::isnan(sum.value()));
  ExactSum<2> product;
  product.add_product(infinity, 0.);
  EXPECT_TRUE(std::isnan(product.value()));
}

}  // namespace
}  // namespace colonnade::frame
