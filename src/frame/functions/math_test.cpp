// Mathematical functions against <cmath>: bit by bit for exact functions, closely for those that each library
// rounds differently (kernels/mathematics_test.cpp compares with true values); their types; TMath against
// ROOT's formulas.
#include "frame/functions/math.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "frame/functions/test_kernels.h"

namespace colonnade::frame {
namespace {

using calls::call;
using calls::constant_of;
using calls::rows_of;
using calls::values_of;
using ::testing::HasSubstr;

template <class T>
std::vector<T> numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x{0,
                   -T{0},
                   1,
                   -1,
                   T(0.5),
                   T(-0.5),
                   T(1.5),
                   T(2.5),
                   T(3),
                   T(100),
                   T(7),
                   T(-7),
                   Limits::infinity(),
                   -Limits::infinity(),
                   Limits::quiet_NaN(),
                   Limits::denorm_min(),
                   Limits::max(),
                   Limits::epsilon()};
  std::mt19937 random(17);
  for (int i = 0; i < 300; ++i) x.push_back(std::uniform_real_distribution<T>(-20, 20)(random));
  for (int i = 0; i < 100; ++i) x.push_back(std::uniform_real_distribution<T>(-1, 1)(random));
  return x;
}

// Some functions of the C library are off by 4 units in the last place.
template <class T>
void expect_close(const std::vector<T>& got, const std::vector<T>& expected, const std::string& name) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(expected[i])) continue;
    if (got[i] == expected[i]) continue;
    const T room = 8 * std::numeric_limits<T>::epsilon() * std::max(std::abs(expected[i]), T(1e-6));
    EXPECT_NEAR(got[i], expected[i], room) << name << " at " << i;
  }
}

template <class T>
void expect_same_bits(const std::vector<T>& got, const std::vector<T>& expected, const std::string& name) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(got[i]) && std::isnan(expected[i])) continue;
      EXPECT_TRUE(got[i] == expected[i] && std::signbit(got[i]) == std::signbit(expected[i]))
          << name << " at " << i << ": " << got[i] << " instead of " << expected[i];
    } else {
      EXPECT_EQ(got[i], expected[i]) << name << " at " << i;
    }
  }
}

template <class T, class F>
void expect_unary(const std::string& name, F f, bool exact = true) {
  const std::vector<T> x = numbers<T>();
  using R = decltype(f(T{}));
  std::vector<R> expected;
  for (const T value : x) expected.push_back(f(value));
  const std::vector<R> got = rows_of<R>(*call(name, {values_of(x)}));
  if constexpr (std::is_same_v<R, T>) {
    if (!exact) return expect_close<R>(got, expected, name);
  }
  expect_same_bits<R>(got, expected, name);
}

template <class T, class F>
void expect_binary(const std::string& name, F f, bool exact = true) {
  const std::vector<T> x = numbers<T>();
  std::vector<T> y = x;
  std::mt19937 random(5);
  std::shuffle(y.begin(), y.end(), random);
  using R = decltype(f(T{}, T{}));
  std::vector<R> expected;
  for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(f(x[i], y[i]));
  const std::vector<R> got = rows_of<R>(*call(name, {values_of(x), values_of(y)}));
  exact ? expect_same_bits<R>(got, expected, name) : expect_close<R>(got, expected, name);
}

TEST(Math, OfOneNumberIsThatOfTheLibrary) {
  const auto both = [](const char* name, auto f) {
    expect_unary<float>(name, f);
    expect_unary<double>(name, f);
  };
  const auto close = [](const char* name, auto f) {
    expect_unary<float>(name, f, false);
    expect_unary<double>(name, f, false);
  };
  both("abs", [](auto x) { return std::abs(x); });
  both("fabs", [](auto x) { return std::fabs(x); });
  both("sqrt", [](auto x) { return std::sqrt(x); });
  close("cbrt", [](auto x) { return std::cbrt(x); });
  close("exp", [](auto x) { return std::exp(x); });
  close("exp2", [](auto x) { return std::exp2(x); });
  close("expm1", [](auto x) { return std::expm1(x); });
  close("log", [](auto x) { return std::log(x); });
  close("log2", [](auto x) { return std::log2(x); });
  close("log10", [](auto x) { return std::log10(x); });
  close("log1p", [](auto x) { return std::log1p(x); });
  close("sin", [](auto x) { return std::sin(x); });
  close("cos", [](auto x) { return std::cos(x); });
  close("tan", [](auto x) { return std::tan(x); });
  close("asin", [](auto x) { return std::asin(x); });
  close("acos", [](auto x) { return std::acos(x); });
  close("atan", [](auto x) { return std::atan(x); });
  close("sinh", [](auto x) { return std::sinh(x); });
  close("cosh", [](auto x) { return std::cosh(x); });
  close("tanh", [](auto x) { return std::tanh(x); });
  close("asinh", [](auto x) { return std::asinh(x); });
  close("acosh", [](auto x) { return std::acosh(x); });
  close("atanh", [](auto x) { return std::atanh(x); });
  close("erf", [](auto x) { return std::erf(x); });
  close("erfc", [](auto x) { return std::erfc(x); });
  close("tgamma", [](auto x) { return std::tgamma(x); });
  close("lgamma", [](auto x) { return std::lgamma(x); });
  both("floor", [](auto x) { return std::floor(x); });
  both("ceil", [](auto x) { return std::ceil(x); });
  both("trunc", [](auto x) { return std::trunc(x); });
  both("round", [](auto x) { return std::round(x); });
  both("rint", [](auto x) { return std::rint(x); });
  both("isnan", [](auto x) { return std::isnan(x); });
  both("isinf", [](auto x) { return std::isinf(x); });
  both("isfinite", [](auto x) { return std::isfinite(x); });
  both("signbit", [](auto x) { return std::signbit(x); });
}

TEST(Math, OfTwoNumbersIsThatOfTheLibrary) {
  const auto both = [](const char* name, auto f) {
    expect_binary<float>(name, f);
    expect_binary<double>(name, f);
  };
  const auto close = [](const char* name, auto f) {
    expect_binary<float>(name, f, false);
    expect_binary<double>(name, f, false);
  };
  close("atan2", [](auto x, auto y) { return std::atan2(x, y); });
  close("pow", [](auto x, auto y) { return std::pow(x, y); });
  close("hypot", [](auto x, auto y) { return std::hypot(x, y); });
  both("fmod", [](auto x, auto y) { return std::fmod(x, y); });
  both("remainder", [](auto x, auto y) { return std::remainder(x, y); });
  both("fdim", [](auto x, auto y) { return std::fdim(x, y); });
  both("fmin", [](auto x, auto y) { return std::fmin(x, y); });
  both("fmax", [](auto x, auto y) { return std::fmax(x, y); });
  both("copysign", [](auto x, auto y) { return std::copysign(x, y); });
  both("min", [](auto x, auto y) { return std::min(x, y); });
  both("max", [](auto x, auto y) { return std::max(x, y); });
}

TEST(Math, OfThreeNumbersIsThatOfTheLibrary) {
  EXPECT_EQ(
      rows_of<double>(*call("hypot", {values_of<double>({2}), values_of<float>({3}), values_of<int>({6})})),
      (std::vector<double>{7}));
  EXPECT_EQ(
      rows_of<float>(*call("fma", {values_of<float>({2}), values_of<float>({3}), values_of<float>({1})})),
      (std::vector<float>{7}));
}

TEST(Math, IntegersCountAsDoubles) {
  EXPECT_EQ(rows_of<double>(*call("sqrt", {values_of<int>({4})})), (std::vector<double>{2}));
  EXPECT_EQ(rows_of<double>(*call("sin", {values_of<std::uint8_t>({1})})),
            (std::vector<double>{std::sin(1.0)}));
  EXPECT_EQ(rows_of<double>(*call("fabs", {values_of<int>({-4})})), (std::vector<double>{4}));
  EXPECT_EQ(rows_of<double>(*call("pow", {values_of<float>({3}), constant_of<int>(1, 2)})),
            (std::vector<double>{9}));
  EXPECT_EQ(rows_of<double>(*call("fmax", {values_of<float>({3}), constant_of<double>(1, 4)})),
            (std::vector<double>{4}));
  EXPECT_EQ(rows_of<float>(*call("ldexp", {values_of<float>({3}), constant_of<int>(1, 2)})),
            (std::vector<float>{12}));
}

TEST(Math, OfListsIsThatOfTheirItems) {
  const auto lists = values_of<std::vector<float>>({{1, 4}, {}, {9}});
  EXPECT_EQ(rows_of<std::vector<float>>(*call("sqrt", {lists})),
            (std::vector<std::vector<float>>{{1, 2}, {}, {3}}));
  EXPECT_EQ(rows_of<std::vector<float>>(*call("hypot", {lists, lists}))[0][0], std::hypot(1.f, 1.f));
  EXPECT_EQ(rows_of<std::vector<double>>(*call("pow", {lists, constant_of<int>(3, 2)})),
            (std::vector<std::vector<double>>{{1, 16}, {}, {81}}));
}

TEST(Math, AbsoluteValuesHaveTheTypesOfCppAndOfRVec) {
  EXPECT_EQ(rows_of<int>(*call("abs", {values_of<int>({-3, 3})})), (std::vector<int>{3, 3}));
  EXPECT_EQ(rows_of<int>(*call("abs", {values_of<bool>({true})})), (std::vector<int>{1}));
  EXPECT_EQ(rows_of<std::int64_t>(*call("abs", {values_of<std::int64_t>({-3})})),
            (std::vector<std::int64_t>{3}));
  EXPECT_EQ(rows_of<std::vector<double>>(*call("abs", {values_of<std::vector<int>>({{-13, 11}})})),
            (std::vector<std::vector<double>>{{13, 11}}));
  EXPECT_EQ(rows_of<std::vector<float>>(*call("abs", {values_of<std::vector<float>>({{-1}})})),
            (std::vector<std::vector<float>>{{1}}));
}

TEST(Math, RoundingToIntegersGivesIntegersOfScalarsOnly) {
  EXPECT_EQ(rows_of<std::int64_t>(*call("lround", {values_of<float>({2.5f, -2.5f})})),
            (std::vector<std::int64_t>{3, -3}));
  EXPECT_EQ(rows_of<std::int64_t>(*call("lrint", {values_of<double>({2.5})})),
            (std::vector<std::int64_t>{2}));
  EXPECT_EQ(rows_of<std::vector<float>>(*call("lround", {values_of<std::vector<float>>({{2.5f}})})),
            (std::vector<std::vector<float>>{{3}}));
}

TEST(Math, RoundingToIntegersGivesTheNearestOneLikeConversions) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min(),
                 most = std::numeric_limits<std::int64_t>::max();
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const char* const name : {"lround", "llround", "lrint", "llrint"}) {
    const auto given = values_of<double>({1e300, -1e300, infinity, -infinity, nan, 0x1p63, -0x1p63, 0x1p62});
    EXPECT_EQ(rows_of<std::int64_t>(*call(name, {given})),
              (std::vector<std::int64_t>{most, least, most, least, 0, most, least, std::int64_t{1} << 62}));
    EXPECT_EQ(rows_of<std::int64_t>(*call(name, {values_of<float>({1e30f, -1e30f})})),
              (std::vector<std::int64_t>{most, least}));
  }
}

TEST(Math, SmallerAndLargerTakeTheCommonType) {
  EXPECT_EQ(rows_of<double>(*call("max", {values_of<float>({1}), values_of<double>({2})})),
            (std::vector<double>{2}));
  EXPECT_EQ(rows_of<float>(*call("min", {values_of<float>({1}), values_of<int>({2})})),
            (std::vector<float>{1}));
  EXPECT_EQ(rows_of<std::int16_t>(*call("max", {values_of<std::int16_t>({1}), values_of<std::int16_t>({2})})),
            (std::vector<std::int16_t>{2}));
}

// pow(x, 2) equals the library's; with 2. it is x * x, as compilers do.
TEST(Math, SquaresAreProducts) {
  std::mt19937 random(3);
  std::vector<double> x = numbers<double>();
  for (int i = 0; i < 100000; ++i) {
    const double mantissa = std::uniform_real_distribution<double>(-2, 2)(random);
    x.push_back(std::ldexp(mantissa,
                           static_cast<int>(random() % (i % 2 == 0 ? 20 : 2000)) - (i % 2 == 0 ? 10 : 1000)));
    // Next to roots of powers of two, where the last place changes its width.
    if (i % 100 == 0)
      x.push_back(std::nextafter(std::sqrt(std::ldexp(1.0, i / 100 - 500)), mantissa * 1e300));
  }
  std::vector<double> squares;
  for (const double value : x) squares.push_back(value * value);
  expect_same_bits(rows_of<double>(*call("pow", {values_of(x), constant_of<int>(x.size(), 2)})), squares,
                   "pow(x, 2)");
  expect_same_bits(rows_of<double>(*call("pow", {values_of(x), constant_of<double>(x.size(), 2)})), squares,
                   "pow(x, 2.)");
}

TEST(TMath, TakesAndGivesDoubles) {
  EXPECT_EQ(rows_of<double>(*call("TMath::Sqrt", {values_of<float>({2})})),
            (std::vector<double>{std::sqrt(2.0)}));
  EXPECT_EQ(rows_of<double>(*call("TMath::Power", {values_of<float>({3}), constant_of<int>(1, 3)})),
            (std::vector<double>{27}));
  EXPECT_EQ(rows_of<double>(*call("TMath::ATan2", {values_of<int>({0, 1, -1}), values_of<int>({0, 0, 0})})),
            (std::vector<double>{0, std::acos(0.0), -std::acos(0.0)}));
}

TEST(TMath, HasItsOwnLogarithm) {
  EXPECT_EQ(rows_of<double>(*call("TMath::Log2", {values_of<double>({8, 10})})),
            (std::vector<double>{std::log(8.0) / std::log(2.0), std::log(10.0) / std::log(2.0)}));
}

TEST(TMath, TakesTheSecondOneBesideNan) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  const auto a = values_of<double>({nan, 1, 1, 2}), b = values_of<double>({0, nan, 2, 1});
  const auto least = rows_of<double>(*call("TMath::Min", {a, b}));
  const auto most = rows_of<double>(*call("TMath::Max", {a, b}));
  EXPECT_EQ(least[0], 0);
  EXPECT_EQ(most[0], 0);
  EXPECT_TRUE(std::isnan(least[1]) && std::isnan(most[1]));
  EXPECT_EQ((std::vector(least.begin() + 2, least.end())), (std::vector<double>{1, 1}));
  EXPECT_EQ((std::vector(most.begin() + 2, most.end())), (std::vector<double>{2, 2}));
  const auto zeros =
      rows_of<float>(*call("TMath::Min", {values_of<float>({-0.f, 0}), values_of<float>({0, -0.f})}));
  EXPECT_TRUE(std::signbit(zeros[0]) && !std::signbit(zeros[1]));
}

TEST(TMath, KeepsIntegersWhereRootDoes) {
  EXPECT_EQ(rows_of<int>(*call("TMath::Abs", {values_of<int>({-3})})), (std::vector<int>{3}));
  EXPECT_EQ(rows_of<int>(*call("TMath::Max", {values_of<int>({-3}), constant_of<int>(1, 2)})),
            (std::vector<int>{2}));
  EXPECT_EQ(rows_of<int>(*call("TMath::Sign", {values_of<int>({3, -3, 0}), values_of<double>({-1, 2, -1})})),
            (std::vector<int>{-3, 3, 0}));
  EXPECT_EQ(rows_of<float>(*call("TMath::Sign", {values_of<float>({3}), values_of<float>({-0.f})})),
            (std::vector<float>{-3}));
  EXPECT_EQ(rows_of<int>(*call("TMath::Range",
                               {constant_of<int>(3, 0), constant_of<int>(3, 5), values_of<int>({-1, 3, 9})})),
            (std::vector<int>{0, 3, 5}));
  EXPECT_EQ(rows_of<bool>(*call("TMath::Even", {values_of<int>({2, -1})})), (std::vector<bool>{true, false}));
  EXPECT_EQ(rows_of<bool>(*call("TMath::Odd", {values_of<std::int64_t>({2, -1})})),
            (std::vector<bool>{false, true}));
}

TEST(TMath, RoundsHalvesToEven) {
  EXPECT_EQ(
      rows_of<int>(*call("TMath::Nint",
                         {values_of<double>({0.5, 1.5, 2.5, -0.5, -1.5, 2.4, 1e10, -1e300, std::nan("")})})),
      (std::vector<int>{0, 2, 2, 0, -2, 2, std::numeric_limits<int>::max(), std::numeric_limits<int>::min(),
                        0}));
  EXPECT_EQ(rows_of<int>(*call("TMath::FloorNint", {values_of<float>({-0.5f})})), (std::vector<int>{-1}));
  EXPECT_EQ(rows_of<int>(*call("TMath::CeilNint", {values_of<float>({0.5f})})), (std::vector<int>{1}));
}

TEST(Angles, AreWithinATurn) {
  constexpr double pi = 3.14159265358979323846;
  const auto turned = [](const char* name, std::vector<double> angles) {
    return rows_of<double>(*call(name, {values_of<double>(std::move(angles))}));
  };
  // The values of ROOT 6.40: TVector2's turn is open above, that of ROOT::Math below.
  const std::vector<double> angles = {pi, -pi, 4, -4, 0.5, 1000};
  EXPECT_EQ(turned("TVector2::Phi_mpi_pi", angles),
            (std::vector<double>{-pi, -pi, 4 - 2 * pi, 2 * pi - 4, 0.5, 0.9735361584480913}));
  EXPECT_EQ(turned("ROOT::Math::VectorUtil::Phi_mpi_pi", angles),
            (std::vector<double>{pi, pi, 4 - 2 * pi, 2 * pi - 4, 0.5, 0.9735361584457678}));
  EXPECT_EQ(turned("TVector2::Phi_0_2pi", {-1, 0, 2 * pi, 7}),
            (std::vector<double>{2 * pi - 1, 0, 0, 7 - 2 * pi}));
  // Without end in ROOT.
  EXPECT_LE(std::abs(turned("TVector2::Phi_mpi_pi", {1e300}).front()), pi);
  EXPECT_TRUE(std::isnan(turned("TVector2::Phi_mpi_pi", {std::numeric_limits<double>::infinity()}).front()));
}

TEST(TMath, HasConstants) {
  const auto turn = call("TMath::TwoPi", {});
  EXPECT_TRUE(turn->constant);
  EXPECT_EQ(*turn->as<double>(), 2 * std::acos(-1.0));
  EXPECT_NE(calls::bind("TMath::Pi", {}).kernel->key(), calls::bind("TMath::E", {}).kernel->key());
  EXPECT_EQ(calls::bind("TMath::Pi", {values_of<int>({1})}).kernel, nullptr);
}

TEST(TMath, HasGaussianAndBreitWigner) {
  EXPECT_EQ(rows_of<double>(*call("TMath::Gaus", {values_of<double>({0, 1, 40})})),
            (std::vector<double>{1, std::exp(-0.5), 0}));
  EXPECT_EQ(rows_of<double>(*call("TMath::Gaus", {values_of<double>({1}), constant_of<int>(1, 1),
                                                  constant_of<double>(1, 2), constant_of<bool>(1, true)})),
            (std::vector<double>{1 / (2.50662827463100024 * 2)}));
  EXPECT_EQ(rows_of<double>(*call("TMath::BreitWigner", {values_of<double>({0})})),
            (std::vector<double>{4 / (2 * std::acos(-1.0))}));
}

TEST(Math, SaysWhatItNeeds) {
  EXPECT_THAT(calls::bind("sqrt", {}).why_not, HasSubstr("1 argument"));
  EXPECT_THAT(calls::bind("hypot", {values_of<int>({1})}).why_not, HasSubstr("argument"));
  EXPECT_THAT(calls::bind("sqrt", {values_of<std::string>({"a"})}).why_not, HasSubstr("std::string"));
  EXPECT_THAT(calls::bind("TMath::Even", {values_of<double>({1})}).why_not, HasSubstr("integer"));
}

TEST(Tables, HaveEveryNameOnceWithASignature) {
  std::set<std::string> names;
  for (const auto& table : {operator_functions(), math_functions(), string_functions()})
    for (const Function& function : table) {
      EXPECT_TRUE(names.insert(function.name).second) << function.name;
      EXPECT_FALSE(function.signature.empty()) << function.name;
    }
}

TEST(Math, ClampsAsTheStandardLibrary) {
  const std::vector<double> x = numbers<double>();
  std::vector<double> expected;
  for (const double each : x) expected.push_back(std::clamp(each, -1.0, 2.5));
  const auto clamped = call("clamp", {values_of(x), constant_of(x.size(), -1.0), constant_of(x.size(), 2.5)});
  expect_same_bits(rows_of<double>(*clamped), expected, "clamp");
  const auto lists = call("clamp", {values_of<std::vector<int>>({{1, 5}, {}, {9}}),
                                    values_of(std::vector<int>{2, 2, 2}), constant_of(3, 7)});
  EXPECT_EQ(rows_of<std::vector<int>>(*lists), (std::vector<std::vector<int>>{{2, 5}, {}, {7}}));
  EXPECT_THAT(calls::bind("clamp", {values_of(x), values_of(x)}).why_not, HasSubstr("3"));
}

}  // namespace
}  // namespace colonnade::frame
