// Types and values of operators, by C++'s rules on scalars and RVec's on lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "colonnade/error.h"
#include "frame/functions/test_kernels.h"

namespace colonnade::frame {
namespace {

using calls::call;
using calls::constant_of;
using calls::rows_of;
using calls::values_of;
using ::testing::HasSubstr;

template <class T>
using Lists = std::vector<std::vector<T>>;

// The expected elements of one operator, type-erased to keep compile times low.
struct Expected {
  ElementType element;
  std::vector<std::byte> bytes;

  template <class R>
  void add(R value) {
    element = element_of<R>();
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof value);
  }
};

void expect_result(const char* name, const std::vector<ValuesPtr>& arguments, const Expected& expected) {
  const ValuesPtr result = call(name, arguments);
  const std::string shown = arguments[0]->type.name() + " " + name + " " + arguments[1]->type.name();
  ASSERT_EQ(result->type, ValueType(expected.element)) << shown << " is " << result->type.name();
  EXPECT_EQ(std::memcmp(result->data, expected.bytes.data(), expected.bytes.size()), 0) << shown;
}

// C++'s result of a op b, for scalars of all types with all others.
template <class A, class B>
void expect_as_in_cpp() {
  const std::vector<ValuesPtr> arguments{values_of<A>({A(7), A(1)}), values_of<B>({B(2), B(3)})};
  const auto expect = [&arguments](const char* name, auto op) {
    Expected expected;
    expected.add(op(A(7), B(2)));
    expected.add(op(A(1), B(3)));
    expect_result(name, arguments, expected);
  };
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
  expect("operator+", [](A x, B y) { return x + y; });
  expect("operator-", [](A x, B y) { return x - y; });
  expect("operator/", [](A x, B y) { return x / y; });
  expect("operator<", [](A x, B y) { return x < y; });
  expect("operator==", [](A x, B y) { return x == y; });
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    expect("operator%", [](A x, B y) { return x % y; });
    expect("operator<<", [](A x, B y) { return x << y; });
  }
#pragma GCC diagnostic pop
}

template <class A, class... B>
void expect_with_all() {
  (expect_as_in_cpp<A, B>(), ...);
}

template <class... T>
void expect_all_pairs() {
  (expect_with_all<T, T...>(), ...);
}

TEST(Operators, AreThoseOfCppForAllTypes) {
  expect_all_pairs<bool, char, std::uint8_t, std::int16_t, std::int32_t, std::uint32_t, std::int64_t,
                   std::uint64_t, float, double>();
}

TEST(Operators, AllOfThem) {
  const std::vector<ValuesPtr> arguments{values_of<int>({7, -6, 3}), values_of<std::int64_t>({2, 4, 3})};
  const auto expect = [&arguments]<class R>(const char* name, const std::vector<R>& expected) {
    EXPECT_EQ(rows_of<R>(*call(name, arguments)), expected) << name;
  };
  expect("operator*", std::vector<std::int64_t>{14, -24, 9});
  expect("operator&", std::vector<std::int64_t>{2, 0, 3});
  expect("operator|", std::vector<std::int64_t>{7, -2, 3});
  expect("operator^", std::vector<std::int64_t>{5, -2, 0});
  expect("operator>>", std::vector<int>{1, -1, 0});
  expect("operator<=", std::vector<bool>{false, true, true});
  expect("operator>", std::vector<bool>{true, false, false});
  expect("operator>=", std::vector<bool>{true, false, true});
  expect("operator!=", std::vector<bool>{true, true, false});
  // -1 is large as an unsigned number, as in C++.
  EXPECT_EQ(rows_of<bool>(*call("operator<", {values_of<int>({-1}), values_of<unsigned>({1})})),
            (std::vector<bool>{false}));
}

TEST(Operators, OfOneOperandPromote) {
  EXPECT_EQ(rows_of<int>(*call("unary-", {values_of<std::uint8_t>({1, 255})})), (std::vector<int>{-1, -255}));
  EXPECT_EQ(rows_of<int>(*call("unary-", {values_of<bool>({true, false})})), (std::vector<int>{-1, 0}));
  EXPECT_EQ(rows_of<int>(*call("unary+", {values_of<char>({'a'})})), (std::vector<int>{97}));
  EXPECT_EQ(rows_of<int>(*call("unary~", {values_of<std::int16_t>({0, 5})})), (std::vector<int>{-1, -6}));
  EXPECT_EQ(rows_of<bool>(*call("unary!", {values_of<double>({0, 0.5, std::nan("")})})),
            (std::vector<bool>{true, false, false}));
  EXPECT_TRUE(std::signbit(rows_of<double>(*call("unary-", {values_of<double>({0.0})}))[0]));
}

TEST(Operators, OfOneListKeepItsItems) {
  EXPECT_EQ(
      rows_of<std::vector<std::uint8_t>>(*call("unary-", {values_of<std::vector<std::uint8_t>>({{1, 2}})})),
      (Lists<std::uint8_t>{{255, 254}}));
  EXPECT_EQ(rows_of<std::vector<float>>(*call("unary-", {values_of<std::vector<float>>({{1}, {}})})),
            (Lists<float>{{-1}, {}}));
  EXPECT_EQ(rows_of<std::vector<int>>(*call("unary~", {values_of<std::vector<int>>({{1}})})),
            (Lists<int>{{-2}}));
  EXPECT_EQ(rows_of<std::vector<bool>>(*call("unary!", {values_of<std::vector<float>>({{0, 2}})})),
            (Lists<bool>{{true, false}}));
}

TEST(Operators, OfListsPromoteAsScalarsDo) {
  const auto small = values_of<std::vector<std::uint8_t>>({{200, 100}});
  EXPECT_EQ(rows_of<std::vector<int>>(*call("operator+", {small, small})), (Lists<int>{{400, 200}}));
  const auto pt = values_of<std::vector<float>>({{1.5f, 0.1f}});
  EXPECT_EQ(rows_of<std::vector<float>>(*call("operator*", {pt, constant_of<float>(1, 2)})),
            (Lists<float>{{3, 0.2f}}));
  EXPECT_EQ(rows_of<std::vector<float>>(*call("operator*", {pt, constant_of<int>(1, 2)})),
            (Lists<float>{{3, 0.2f}}));
  EXPECT_EQ(rows_of<std::vector<double>>(*call("operator*", {pt, constant_of<double>(1, 2)})),
            (Lists<double>{{3, 2 * static_cast<double>(0.1f)}}));
}

TEST(Operators, ComparisonsAndLogicOfListsAreMasks) {
  const auto pt = values_of<std::vector<float>>({{10, 30}, {}, {50}});
  const auto eta = values_of<std::vector<float>>({{1, 1}, {}, {3}});
  const auto high = call("operator>", {pt, constant_of<int>(3, 20)});
  const auto central = call("operator<", {eta, constant_of<double>(3, 2.4)});
  EXPECT_EQ(rows_of<std::vector<bool>>(*high), (Lists<bool>{{false, true}, {}, {true}}));
  EXPECT_EQ(rows_of<std::vector<bool>>(*call("operator&&", {high, central})),
            (Lists<bool>{{false, true}, {}, {false}}));
  EXPECT_EQ(rows_of<std::vector<bool>>(*call("operator||", {high, values_of<int>({0, 2, 2})})),
            (Lists<bool>{{false, true}, {}, {true}}));
  // Masks count as 0 and 1.
  EXPECT_EQ(rows_of<std::vector<int>>(*call("operator+", {high, central})), (Lists<int>{{1, 2}, {}, {1}}));
}

// 0.1 is not a float: the nearest float is larger.
TEST(Operators, FloatsCompareWithDoublesAsDoubles) {
  const float above = 0.1f;
  const float below = std::nextafter(above, 0.f);
  const float nan = std::nanf("");
  const std::vector<float> x{below, above, nan, -std::numeric_limits<float>::infinity()};
  for (const double limit : {0.1, static_cast<double>(above), 1e300, -1e300, std::nan(""), 0.0,
                             std::numeric_limits<double>::infinity(), 1e-320}) {
    const auto expect = [&](const char* name, auto op) {
      std::vector<bool> expected;
      std::vector<bool> turned;
      for (const float value : x) {
        expected.push_back(op(value, limit));
        turned.push_back(op(limit, value));
      }
      const auto constant = constant_of<double>(x.size(), limit);
      EXPECT_EQ(rows_of<bool>(*call(name, {values_of(x), constant})), expected) << name << limit;
      EXPECT_EQ(rows_of<bool>(*call(name, {constant, values_of(x)})), turned) << name << limit;
      EXPECT_EQ(rows_of<std::vector<bool>>(
                    *call(name, {values_of(Lists<float>{x}), constant_of<double>(1, limit)})),
                Lists<bool>{expected});
    };
    expect("operator<", [](double a, double b) { return a < b; });
    expect("operator<=", [](double a, double b) { return a <= b; });
    expect("operator>", [](double a, double b) { return a > b; });
    expect("operator>=", [](double a, double b) { return a >= b; });
    expect("operator==", [](double a, double b) { return a == b; });
    expect("operator!=", [](double a, double b) { return a != b; });
  }
}

TEST(Operators, DivisionOfFloatsIsThatOfIeee) {
  const auto quotients =
      rows_of<double>(*call("operator/", {values_of<double>({1, -1, 0}), constant_of<double>(3, 0)}));
  EXPECT_EQ(quotients[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(quotients[1], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(quotients[2]));
}

TEST(Operators, MayFailOnlyWithDivisorsAndShiftsThatAreNotKnown) {
  const auto number = values_of<int>({1});
  EXPECT_TRUE(calls::bind("operator/", {number, number}).kernel->only_where_needed());
  EXPECT_FALSE(calls::bind("operator/", {number, constant_of<int>(1, 2)}).kernel->only_where_needed());
  EXPECT_TRUE(calls::bind("operator%", {number, constant_of<int>(1, 0)}).kernel->only_where_needed());
  EXPECT_FALSE(calls::bind("operator/", {number, values_of<double>({0})}).kernel->only_where_needed());
  EXPECT_FALSE(calls::bind("operator<<", {number, constant_of<int>(1, 31)}).kernel->only_where_needed());
  EXPECT_TRUE(calls::bind("operator<<", {number, constant_of<int>(1, 32)}).kernel->only_where_needed());
}

TEST(Operators, ShiftsBeyondTheWidthAreErrors) {
  EXPECT_THROW(call("operator<<", {values_of<int>({1}), values_of<int>({32})}), Error);
  EXPECT_THROW(call("operator>>", {values_of<std::int64_t>({1}), values_of<int>({-1})}), Error);
  EXPECT_EQ(rows_of<std::int64_t>(*call("operator<<", {values_of<std::int64_t>({1}), values_of<int>({40})})),
            (std::vector<std::int64_t>{std::int64_t{1} << 40}));
}

TEST(Operators, SayWhatTheyNeed) {
  const auto refusal = [](const char* name, const std::vector<ValuesPtr>& arguments) {
    const Bound bound = calls::bind(name, arguments);
    EXPECT_EQ(bound.kernel, nullptr);
    return bound.why_not;
  };
  EXPECT_THAT(refusal("operator%", {values_of<double>({1}), values_of<int>({1})}), HasSubstr("fmod"));
  EXPECT_THAT(refusal("operator&", {values_of<float>({1}), values_of<int>({1})}), HasSubstr("integers"));
  EXPECT_THAT(refusal("operator<<", {values_of<float>({1}), values_of<int>({1})}), HasSubstr("integers"));
  EXPECT_THAT(refusal("unary~", {values_of<float>({1})}), HasSubstr("integer"));
  EXPECT_THAT(refusal("operator+", {values_of<int>({1}), values_of<std::string>({"a"})}),
              HasSubstr("text + text"));
}

TEST(Casts, ConvertNumbersAndItemsOfLists) {
  EXPECT_EQ(rows_of<int>(*call("cast", {values_of<double>({1.9, -1.9})}, {"int"})),
            (std::vector<int>{1, -1}));
  EXPECT_EQ(rows_of<float>(*call("cast", {values_of<int>({3})}, {"Float_t"})), (std::vector<float>{3}));
  EXPECT_EQ(rows_of<bool>(*call("cast", {values_of<double>({0.1, 0})}, {"bool"})),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(
      rows_of<std::vector<double>>(*call("cast", {values_of<std::vector<int>>({{1}, {}})}, {"ROOT::RVecD"})),
      (Lists<double>{{1}, {}}));
  const auto same = values_of<std::string>({"a"});
  EXPECT_EQ(call("cast", {same}, {"std::string"}), same);
}

TEST(Casts, RefuseWhatCppRefuses) {
  EXPECT_THAT(calls::bind("cast", {values_of<int>({1})}, {"std::string"}).why_not,
              HasSubstr("cannot be converted"));
  EXPECT_THAT(calls::bind("cast", {values_of<int>({1})}, {"TH1D"}).why_not, HasSubstr("not a type"));
  EXPECT_EQ(calls::bind("cast", {values_of<std::vector<int>>({{1}})}, {"int"}).kernel, nullptr);
}

TEST(Casts, ToDifferentTypesAreDifferentKernels) {
  const auto number = values_of<double>({1});
  EXPECT_NE(calls::bind("cast", {number}, {"int"}).kernel->key(),
            calls::bind("cast", {number}, {"float"}).kernel->key());
}

}  // namespace
}  // namespace colonnade::frame
