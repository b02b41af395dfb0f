// Counts and reductions: against plain references, at the ends of their types, and for every split.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>

#include "base/test_errors.h"
#include "frame/results/reduction_loops.h"
#include "frame/results/test_results.h"

namespace colonnade::frame {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
T reduce(const std::string& kind, ValuesPtr values, const std::string& options = "{}") {
  return Pass({kind, {"x"}, options}, {std::move(values)}).get<T>();
}

// Bits, so that NaNs compare equal and signed zeros differ.
std::vector<std::uint64_t> bits_of(const ResultValue& value) {
  std::vector<std::uint64_t> bits;
  const auto add = [&](double x) { bits.push_back(std::bit_cast<std::uint64_t>(x)); };
  if (const auto* stats = std::get_if<StatsValue>(&value)) {
    bits.push_back(stats->count);
    for (const double x : {stats->sum, stats->mean, stats->stddev, stats->min, stats->max,
                           stats->sum_of_weights, stats->sum_of_squared_weights})
      add(x);
  } else if (const auto* number = std::get_if<double>(&value)) {
    add(*number);
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    bits.push_back(static_cast<std::uint64_t>(*whole));
  } else {
    bits.push_back(std::get<std::uint64_t>(value));
  }
  return bits;
}

TEST(Reductions, CountEntries) {
  Pass pass({"count", {}}, {});
  pass.set_entries(12345);
  for (const Way& way : ways()) EXPECT_EQ(pass.get<std::uint64_t>(way), 12345u);
}

TEST(Reductions, SumOfIntegersIsAnInteger) {
  EXPECT_EQ(reduce<std::int64_t>("sum", column<std::int8_t>({100, 100, -1})), 199);
  EXPECT_EQ(reduce<std::int64_t>("sum", column<char>({100, 100})), 200);
  EXPECT_EQ(reduce<std::uint64_t>("sum", column<std::uint16_t>({65535, 2})), 65537u);
  const bool flags[] = {true, false, true};
  EXPECT_EQ(reduce<std::int64_t>("sum", make_scalars(ElementType::boolean, 3, flags, nullptr)), 2);
  EXPECT_EQ(reduce<std::int64_t>("sum", column<std::int32_t>({1, 2}), R"({"start": -5})"), -2);
  EXPECT_EQ(reduce<double>("sum", column<std::int32_t>({1, 2}), R"({"start": 0.5})"), 3.5);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(reduce<std::int64_t>("sum", column<std::int64_t>({most, most, -most})), most);
  EXPECT_EQ(reduce<std::uint64_t>("sum", column<std::int64_t>({most, most})), ~std::uint64_t{0} - 1);
  EXPECT_EQ(reduce<double>("sum", column<std::int64_t>({most, most, 2})), 0x1p64);
  EXPECT_EQ(reduce<std::uint64_t>("sum", column<std::uint64_t>({~std::uint64_t{0} - 1, 1})),
            ~std::uint64_t{0});
  EXPECT_EQ(reduce<double>("sum", column<std::uint64_t>({~std::uint64_t{0}, 1})), 0x1p64);
  EXPECT_EQ(reduce<std::int64_t>("sum", column<std::uint32_t>({1}), R"({"start": -3})"), -2);
}

TEST(Reductions, SumOfRealsIsDouble) {
  EXPECT_EQ(reduce<double>("sum", column<float>({0.1f, 0.2f})), double{0.1f} + double{0.2f});
  EXPECT_EQ(reduce<double>("sum", column<double>({1e100, 1, -1e100}), R"({"start": 2})"), 3);
  EXPECT_EQ(reduce<double>("sum", column<double>({})), 0);
  EXPECT_EQ(reduce<double>("sum", column<double>({1, infinity})), infinity);
  EXPECT_TRUE(std::isnan(reduce<double>("sum", column<double>({infinity, -infinity}))));
}

TEST(Reductions, ListsCountPerItem) {
  const ValuesPtr lists = list_column<float>({{1, 2}, {}, {4, 5, 6}});
  EXPECT_EQ(reduce<double>("sum", lists), 18);
  EXPECT_EQ(reduce<double>("mean", lists), 3.6);
  EXPECT_EQ(reduce<double>("max", lists), 6);
  const auto offsets = std::make_shared<std::vector<std::int64_t>>(std::vector<std::int64_t>{0, 2, 2, 3});
  const ValuesPtr nested = make_list(3, offsets->data(), lists, offsets);
  EXPECT_EQ(reduce<double>("sum", nested), 18);
  EXPECT_EQ(std::get<StatsValue>(Pass({"stats", {"x"}}, {nested}).value({3, 1})).count, 5u);
}

TEST(Reductions, ConstantsCountForEveryRow) {
  EXPECT_EQ(reduce<double>("sum", make_constant<double>(1000, 0.5)), 500);
  EXPECT_EQ(reduce<std::int64_t>("sum", make_constant<std::int16_t>(7, -3)), -21);
  EXPECT_EQ(reduce<double>("mean", make_constant<float>(3, 2)), 2);
  EXPECT_EQ(reduce<std::int64_t>("min", make_constant<std::int32_t>(3, 2)), 2);
}

TEST(Reductions, ExtremesKeepTheTypeOfIntegers) {
  const std::int64_t big = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(reduce<std::int64_t>("max", column<std::int64_t>({-3, big, 5})), big);
  EXPECT_EQ(reduce<std::int64_t>("min", column<std::int64_t>({-big, big})), -big);
  EXPECT_EQ(reduce<std::uint64_t>("max", column<std::uint64_t>({1, ~std::uint64_t{0}})), ~std::uint64_t{0});
  EXPECT_EQ(reduce<double>("min", column<float>({2.5f, -0.25f})), -0.25);
}

TEST(Reductions, ExtremesLookAtNumbersOnly) {
  EXPECT_EQ(reduce<double>("min", column<double>({nan, 3, nan, 2, nan})), 2);
  EXPECT_EQ(reduce<double>("max", column<double>({nan, -3, nan})), -3);
  EXPECT_TRUE(std::isnan(reduce<double>("max", column<double>({nan, nan}))));
  EXPECT_EQ(reduce<double>("max", column<double>({-infinity})), -infinity);
  EXPECT_EQ(reduce<double>("min", column<double>({infinity})), infinity);
}

TEST(Reductions, WithoutValuesThereIsNoNumber) {
  for (const char* kind : {"min", "max", "mean", "stddev"})
    EXPECT_TRUE(std::isnan(reduce<double>(kind, column<float>({})))) << kind;
  EXPECT_TRUE(std::isnan(reduce<double>("min", column<std::int16_t>({}))));
  EXPECT_TRUE(std::isnan(reduce<double>("stddev", column<double>({4}))));
  const auto stats = reduce<StatsValue>("stats", column<double>({}));
  EXPECT_EQ(stats.count, 0u);
  EXPECT_EQ(stats.sum, 0);
  for (const double value : {stats.mean, stats.stddev, stats.min, stats.max}) EXPECT_TRUE(std::isnan(value));
}

TEST(Reductions, SpreadSurvivesALargeMean) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(1e9 + (i % 2 == 0 ? 0.25 : -0.25));
  EXPECT_DOUBLE_EQ(reduce<double>("stddev", column(values)), 0.25 * std::sqrt(1000. / 999));
  EXPECT_EQ(reduce<double>("mean", column(values)), 1e9);
}

TEST(Reductions, MeanAndSpreadKnowTheEndsOfTheirTypes) {
  const double greatest = std::numeric_limits<double>::max();
  EXPECT_EQ(reduce<double>("mean", column<double>({greatest, greatest})), greatest);
  EXPECT_EQ(reduce<double>("mean", column<double>({greatest, infinity})), infinity);
  for (const double x : {1e200, 1e-200, 1e-300}) {
    const ValuesPtr both = column<double>({x, -x});
    EXPECT_DOUBLE_EQ(reduce<double>("stddev", both), x * std::sqrt(2.));
    const auto stats = Pass({"stats", {"x", "w"}}, {both, column<double>({2, 2})}).get<StatsValue>();
    EXPECT_DOUBLE_EQ(stats.stddev, x * std::sqrt(2.));
  }
  const auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(reduce<double>("mean", column<std::int64_t>({most, -most - 1})), -0.5);
  const ValuesPtr near = column<std::int64_t>({most, most - 1});
  EXPECT_DOUBLE_EQ(reduce<double>("stddev", near), std::sqrt(0.5));
  EXPECT_EQ(reduce<StatsValue>("stats", near).sum, 2 * static_cast<double>(most));
  EXPECT_DOUBLE_EQ(reduce<double>("stddev", column<std::uint64_t>({~0ull, ~0ull - 2})), std::sqrt(2.));
}

TEST(Reductions, RangesAreThoseOfNumbersInWhateverPart) {
  for (const std::vector<std::string>& names : {std::vector<std::string>{"x"}, {"x", "x"}}) {
    std::vector<double> values(5000, nan);
    values[1] = 3;
    const ValuesPtr x = column(values);
    const Pass pass({"stats", names}, std::vector<ValuesPtr>(names.size(), x));
    for (const Way& way : ways()) {
      const auto stats = std::get<StatsValue>(pass.value(way));
      EXPECT_EQ(stats.min, 3);
      EXPECT_EQ(stats.max, 3);
    }
  }
  EXPECT_EQ(reduce<StatsValue>("stats", column<double>({infinity})).min, infinity);
  EXPECT_EQ(reduce<StatsValue>("stats", column<double>({-infinity, nan})).max, -infinity);
}

TEST(Reductions, WeightedStatsAreThoseOfTStatistic) {
  // ROOT 6.40's results for these values.
  const Pass pass({"stats", {"f", "i"}}, {column<float>({0.5, 1.5, 2.5}), column<std::int32_t>({0, 1, 2})});
  const auto stats = pass.get<StatsValue>();
  EXPECT_EQ(stats.count, 2u);
  EXPECT_EQ(stats.sum_of_weights, 3);
  EXPECT_EQ(stats.sum_of_squared_weights, 5);
  EXPECT_DOUBLE_EQ(stats.mean, 2.1666666666666665);
  EXPECT_DOUBLE_EQ(stats.stddev, 0.6666666666666666);
  EXPECT_EQ(stats.min, 1.5);
  EXPECT_EQ(stats.max, 2.5);
}

TEST(Reductions, SameBitsForEverySplit) {
  const ValuesPtr x = column(normal_numbers(5000, 3, 1e6));
  const ValuesPtr w = column(normal_numbers(5000, 1, 0.3, 2));
  for (const char* kind : {"sum", "mean", "min", "max", "stddev", "stats"}) {
    const Pass pass({kind, {"x"}}, {x});
    for (const Way& way : ways()) EXPECT_EQ(bits_of(pass.value(way)), bits_of(pass.value())) << kind;
  }
  const Pass weighted({"stats", {"x", "w"}}, {x, w});
  for (const Way& way : ways()) EXPECT_EQ(bits_of(weighted.value(way)), bits_of(weighted.value()));
  const Pass integers({"sum", {"x"}}, {column<std::int64_t>({1, -5, 1 << 20})});
  for (const Way& way : ways()) EXPECT_EQ(bits_of(integers.value(way)), bits_of(integers.value()));
}

// Whole chunks are summed in slices; nothing may be lost for numbers of any sizes.
TEST(Reductions, ChunksAreSummedExactly) {
  std::mt19937_64 random(7);
  const auto number = [&](int low, int high) {
    const auto size = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                                 low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
    return random() % 2 == 0 ? size : -size;
  };
  const auto has_bits = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  for (const auto& [low, high] : {std::pair(0, 0),
                                  {-20, 3},
                                  {-40, 40},
                                  {-200, 200},
                                  {-1074, 1000},
                                  {-500, -470},
                                  {-1074, -1000},
                                  {390, 420},
                                  {990, 1020}}) {
    for (const int special : {0, 1, 2}) {
      std::vector<double> values(3000);
      for (double& value : values) value = number(low, high);
      if (special > 0) values[1500] = special == 1 ? infinity : number(low + 30, low + 30);
      for (std::size_t i = 2000; i < 2200; ++i) values[i] = i % 3 == 0 ? 0. : -0.;
      std::vector<float> small(values.begin(), values.end());
      ExactSum<1> sum, sum_of_small;
      ExactSum<2> squares, expected_squares;
      for (std::size_t i = 0; i < values.size(); ++i) {
        sum.add(values[i]);
        sum_of_small.add(small[i]);
      }
      EXPECT_TRUE(has_bits(reduce<double>("sum", column(values)), sum.value())) << low << " " << high;
      EXPECT_TRUE(has_bits(reduce<double>("sum", column(small)), sum_of_small.value())) << low << " " << high;

      ExactSum<1> added;
      double limit = 0;
      for (std::size_t i = 0; i < values.size(); i += 1000)
        add_numbers_and_squares(&values[i], 1000, added, squares, limit);
      for (const double x : values) expected_squares.add_product(x, x);
      EXPECT_EQ(added.settled(), sum.settled()) << low << " " << high;
      EXPECT_EQ(squares.settled(), expected_squares.settled()) << low << " " << high;
      EXPECT_EQ(squares.special(), expected_squares.special());
    }
  }
}

TEST(Reductions, WeightedStatsAreThoseOfExactSums) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  for (const int range : {0, 20, 150, 700}) {
    const auto number = [&] {
      return std::ldexp(normal(random),
                        static_cast<int>(random() % (2u * static_cast<unsigned>(range) + 1)) - range);
    };
    for (const double odd : {1., infinity, nan}) {
      std::vector<double> numbers(3000), weights(3000);
      std::ranges::generate(numbers, number);
      std::ranges::generate(weights, [&] { return random() % 8 == 0 ? 0. : number(); });
      numbers[1500] = odd;
      weights[1500] = 0;
      ExactSum<2> sum, expected_sum;
      ExactSum<3> squares, expected_squares;
      double limit = 0;
      for (std::size_t i = 0; i < numbers.size(); i += 1000) {
        ExactSum<1> of_weights;
        ExactSum<2> squared;
        double largest = 0;
        add_numbers_and_squares(&weights[i], 1000, of_weights, squared, largest);
        add_weighted_numbers(&numbers[i], &weights[i], 1000, largest, sum, squares, limit);
      }
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (weights[i] == 0) continue;
        expected_sum.add_product(weights[i], numbers[i]);
        expected_squares.add_product(weights[i], numbers[i], numbers[i]);
      }
      EXPECT_EQ(sum.settled(), expected_sum.settled()) << range;
      EXPECT_EQ(squares.settled(), expected_squares.settled()) << range;
      EXPECT_EQ(sum.special() | squares.special(), 0);
    }
  }
}

TEST(Reductions, MeansAndSpreadsOfIntegersAreExact) {
  std::mt19937_64 random(8);
  const auto check = [&]<class T>(std::type_identity<T>) {
    std::vector<T> values(3000);
    for (T& value : values) value = static_cast<T>(random());
    ExactSum<1> sum;
    Int128 total = 0;
    for (const T value : values) total += static_cast<Int128>(value);
    sum.add_scaled(total, 0);
    EXPECT_EQ(reduce<double>("mean", column(values)), sum.value() / 3000);
    if constexpr (sizeof(T) < 8) {
      const std::vector<double> same(values.begin(), values.end());
      EXPECT_EQ(reduce<double>("stddev", column(values)), reduce<double>("stddev", column(same)));
      using Sum = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      EXPECT_EQ(static_cast<Int128>(reduce<Sum>("sum", column(values), R"({"start": 1})")), total + 1);
    }
  };
  check(std::type_identity<std::int8_t>());
  check(std::type_identity<std::uint16_t>());
  check(std::type_identity<std::int32_t>());
  check(std::type_identity<std::uint32_t>());
  check(std::type_identity<std::int64_t>());
  check(std::type_identity<std::uint64_t>());
}

TEST(Reductions, SaysWhatDoesNotFit) {
  const ValueType number = ElementType::float64;
  const auto make = [](const ResultSpec& spec, std::vector<ValueType> types) {
    return [=] { make_accumulator(spec, types); };
  };
  expect_error(make({"maen", {"x"}}, {number}), ErrorKind::usage, {"'maen'", "mean"});
  expect_error(make({"mean", {}}, {}), ErrorKind::usage, {"0 arguments", "one argument"});
  expect_error(make({"mean", {"name"}}, {ValueType::string()}), ErrorKind::type, {"'name'", "std::string"});
  expect_error(make({"sum", {"x"}, R"({"strat": 1})"}, {number}), ErrorKind::usage, {"'strat'", "start"});
  expect_error(make({"sum", {"x"}, R"({"start": "1"})"}, {number}), ErrorKind::usage, {"'start'", "number"});
  expect_error(make({"sum", {"x"}, "{"}, {number}), ErrorKind::usage, {"JSON"});
  expect_error(make({"count", {"x"}}, {number}), ErrorKind::usage, {"no arguments"});
}

}  // namespace
}  // namespace colonnade::frame
