// Functions over lists against plain C++ on jagged data.
#include "frame/functions/lists.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "frame/functions/lists_testing.h"

namespace colonnade::frame {
namespace {

using calls::rows_of;
using calls::values_of;
using expression_testing::expect_rows;
using expression_testing::Lists;
using expression_testing::problem_of;
using expression_testing::random_like;
using expression_testing::random_lists;
using expression_testing::result_of;
using expression_testing::why_not;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Index = std::uint64_t;

// ---- Reductions

TEST(Reductions, SumFromLeftToRightInTheTypeOfTheItems) {
  const auto floats = random_lists<float>(6);
  expect_rows(result_of("Sum", {values_of(floats)}),
              [&](std::size_t row) { return std::accumulate(floats[row].begin(), floats[row].end(), 0.f); });
  expect_rows(result_of("Sum", {values_of(floats), make_constant<double>(floats.size(), 2.5)}),
              [&](std::size_t row) { return std::accumulate(floats[row].begin(), floats[row].end(), 2.5f); });
  expect_rows(result_of("Product", {values_of(floats)}), [&](std::size_t row) {
    return std::accumulate(floats[row].begin(), floats[row].end(), 1.f, std::multiplies<>());
  });
  const Lists<std::int16_t> shorts = {{30000, 30000}, {}, {-5}};
  EXPECT_THAT(rows_of<std::int16_t>(*result_of("Sum", {values_of(shorts)})), ElementsAre(-5536, 0, -5));
}

TEST(Reductions, CountMasksAsInt) {
  const auto masks = values_of(Lists<bool>{{true, false, true}, {}, {false}});
  EXPECT_THAT(rows_of<int>(*result_of("Sum", {masks})), ElementsAre(2, 0, 0));
  EXPECT_THAT(rows_of<int>(*result_of("Product", {masks})), ElementsAre(0, 1, 0));
  EXPECT_THAT(rows_of<bool>(*result_of("Any", {masks})), ElementsAre(true, false, false));
  EXPECT_THAT(rows_of<bool>(*result_of("All", {masks})), ElementsAre(false, true, false));
  EXPECT_THAT(rows_of<double>(*result_of("Var", {masks})), ElementsAre(1. / 2 * (2 - 4. / 3), 0, 0));
}

TEST(Reductions, ComputeMomentsAsRootDoes) {
  const auto lists = random_lists<float>(7);
  const auto variance = [&](std::size_t row) {
    float squares = 0;
    float sum = 0;
    for (const float x : lists[row]) {
      squares += x * x;
      sum += x;
    }
    sum *= sum;
    const auto size = static_cast<double>(lists[row].size());
    return size < 2 ? 0. : 1. / (size - 1.) * (squares - sum / size);
  };
  expect_rows(result_of("Mean", {values_of(lists)}), [&](std::size_t row) {
    const float sum = std::accumulate(lists[row].begin(), lists[row].end(), 0.f);
    return lists[row].empty() ? 0. : double{sum} / static_cast<double>(lists[row].size());
  });
  expect_rows(result_of("Mean", {values_of(lists), make_constant<float>(lists.size(), 7)}),
              [&](std::size_t row) {
                const float sum = std::accumulate(lists[row].begin(), lists[row].end(), 7.f);
                return lists[row].empty() ? 7.f : sum / static_cast<float>(lists[row].size());
              });
  expect_rows(result_of("Var", {values_of(lists)}), variance);
  expect_rows(result_of("StdDev", {values_of(lists)}),
              [&](std::size_t row) { return std::sqrt(variance(row)); });
}

TEST(Reductions, FindExtremes) {
  const auto lists = random_lists<std::uint8_t>(8, 1);
  const auto values = values_of(lists);
  expect_rows(result_of("Max", {values}),
              [&](std::size_t row) { return *std::ranges::max_element(lists[row]); });
  expect_rows(result_of("Min", {values}),
              [&](std::size_t row) { return *std::ranges::min_element(lists[row]); });
  expect_rows(result_of("ArgMax", {values}), [&](std::size_t row) {
    return static_cast<Index>(std::ranges::max_element(lists[row]) - lists[row].begin());
  });
  expect_rows(result_of("ArgMin", {values}), [&](std::size_t row) {
    return static_cast<Index>(std::ranges::min_element(lists[row]) - lists[row].begin());
  });
  EXPECT_EQ(problem_of("Max", {values_of(Lists<int>{{1}, {}})}), "in entry 1001, Max of an empty list");
  EXPECT_THAT(rows_of<Index>(*result_of("ArgMin", {values_of(Lists<int>{{}})})), ElementsAre(0));
}

TEST(Reductions, Dot) {
  const auto floats = random_lists<float>(9);
  const auto doubles = random_like<double>(floats, 10);
  expect_rows(result_of("Dot", {values_of(floats), values_of(doubles)}), [&](std::size_t row) {
    return std::inner_product(floats[row].begin(), floats[row].end(), doubles[row].begin(), 0.);
  });
  EXPECT_EQ(problem_of("Dot", {values_of(Lists<int>{{1}}), values_of(Lists<int>{{}})}),
            "in entry 1000, the lists of Dot have 1 and 0 items");
}

TEST(Reductions, RefuseWhatIsNoListOfNumbers) {
  EXPECT_EQ(why_not("Max", {make_constant<float>(1, 1)}), "needs a list of numbers, got float");
  EXPECT_EQ(why_not("Sum", {values_of(std::vector<Lists<int>>{{{1}}})}),
            "needs a list of numbers, got std::vector<std::vector<std::int32_t>>");
}

// ---- Order

template <class T>
std::vector<Index> stable_order(const std::vector<T>& list) {
  std::vector<Index> order(list.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order,
                    [&](Index a, Index b) { return list[a] < list[b] || (list[a] == list[b] && a < b); });
  return order;
}

TEST(Order, Sorts) {
  const auto lists = random_lists<double>(11);
  const auto sorted = [&](std::size_t row) {
    auto list = lists[row];
    std::ranges::sort(list);
    return list;
  };
  expect_rows(result_of("Sort", {values_of(lists)}), sorted);
  expect_rows(result_of("StableSort", {values_of(lists)}), sorted);
  expect_rows(result_of("Argsort", {values_of(lists)}),
              [&](std::size_t row) { return stable_order(lists[row]); });
  const auto integers = random_lists<std::int8_t>(12);
  expect_rows(result_of("StableArgsort", {values_of(integers)}),
              [&](std::size_t row) { return stable_order(integers[row]); });
  expect_rows(result_of("Reverse", {values_of(integers)}), [&](std::size_t row) {
    return std::vector<std::int8_t>(integers[row].rbegin(), integers[row].rend());
  });
}

// The result for equal items is that of std::sort: a permutation that sorts.
TEST(Order, ArgsortsManyEqualItems) {
  const auto lists = random_lists<int>(13, 100);
  const auto orders = rows_of<std::vector<Index>>(*result_of("Argsort", {values_of(lists)}));
  for (std::size_t row = 0; row < lists.size(); ++row) {
    EXPECT_EQ(std::set<Index>(orders[row].begin(), orders[row].end()).size(), lists[row].size());
    EXPECT_TRUE(std::ranges::is_sorted(orders[row], {}, [&](Index i) { return lists[row][i]; }));
  }
}

TEST(Order, SortsManyEqualItemsStably) {
  auto lists = random_lists<float>(23, 60);
  for (auto& list : lists)
    for (auto& item : list) item = std::trunc(item / 3);  // with 0 and -0
  expect_rows(result_of("StableArgsort", {values_of(lists)}),
              [&](std::size_t row) { return stable_order(lists[row]); });
  expect_rows(result_of("StableSort", {values_of(lists)}), [&](std::size_t row) {
    std::vector<float> sorted;
    for (const Index i : stable_order(lists[row])) sorted.push_back(lists[row][i]);
    return sorted;
  });
}

TEST(Order, PutsNanLast) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Lists<double> lists = {{nan, 2, nan, 1}, {nan}, {}};
  for (int i = 0; i < 100; ++i) lists[2].push_back(i % 3 == 0 ? nan : -i);
  const auto sorted = rows_of<std::vector<double>>(*result_of("Sort", {values_of(lists)}));
  EXPECT_TRUE(expression_testing::same(sorted[0], {1, 2, nan, nan}));
  EXPECT_TRUE(std::is_sorted(sorted[2].begin(), sorted[2].begin() + 66));
  EXPECT_TRUE(std::ranges::all_of(sorted[2].begin() + 66, sorted[2].end(), [](double x) { return x != x; }));
  const auto order = rows_of<std::vector<Index>>(*result_of("Argsort", {values_of(lists)}));
  EXPECT_THAT(order[0], ElementsAre(3, 1, 0, 2));
  EXPECT_EQ(order[2].front(), 98U);
  EXPECT_EQ(order[2].back(), 99U);
}

// ---- Selection

TEST(Take, TakesTheFirstAndTheLast) {
  const auto lists = random_lists<float>(14, 3);
  expect_rows(
      result_of("Take", {values_of(lists), make_constant<int>(lists.size(), 2)}),
      [&](std::size_t row) { return std::vector<float>(lists[row].begin(), lists[row].begin() + 2); });
  expect_rows(result_of("Take", {values_of(lists), make_constant<int>(lists.size(), -3)}),
              [&](std::size_t row) { return std::vector<float>(lists[row].end() - 3, lists[row].end()); });
  EXPECT_EQ(problem_of("Take", {values_of(Lists<int>{{1}}), make_constant<int>(1, -2)}),
            "in entry 1000, Take asks for 2 items of a list of 1");
}

TEST(Take, FillsWithADefault) {
  const auto lists = values_of(Lists<int>{{1, 2}, {}, {1, 2, 3, 4}});
  const auto three = result_of("Take", {lists, make_constant<int>(3, 3), make_constant<double>(3, -1)});
  EXPECT_THAT(rows_of<std::vector<int>>(*three),
              ElementsAre(ElementsAre(1, 2, -1), ElementsAre(-1, -1, -1), ElementsAre(1, 2, 3)));
  const auto last = result_of("Take", {lists, make_constant<int>(3, -3), make_constant<int>(3, -1)});
  EXPECT_THAT(rows_of<std::vector<int>>(*last),
              ElementsAre(ElementsAre(-1, 1, 2), ElementsAre(-1, -1, -1), ElementsAre(2, 3, 4)));
  const auto places =
      result_of("Take", {lists, values_of(Lists<int>{{1, 7, -1}, {0}, {}}), make_constant<int>(3, 9)});
  EXPECT_THAT(rows_of<std::vector<int>>(*places),
              ElementsAre(ElementsAre(2, 9, 9), ElementsAre(9), ElementsAre()));
}

TEST(Take, TakesPlaces) {
  const auto lists = random_lists<double>(15);
  const auto order = result_of("Argsort", {values_of(lists)});
  expect_rows(result_of("Take", {values_of(lists), order}), [&](std::size_t row) {
    auto sorted = lists[row];
    std::ranges::sort(sorted);
    return sorted;
  });
  EXPECT_EQ(problem_of("Take", {values_of(Lists<int>{{1}}), values_of(Lists<int>{{0, 1}})}),
            "in entry 1000, Take asks for the item 1 of a list of 1 items");
  EXPECT_THAT(problem_of("Take", {values_of(Lists<int>{{1}}), values_of(Lists<int>{{-1}})}),
              HasSubstr("the item -1"));
}

TEST(Selection, DropsAndFindsNonzero) {
  const auto lists = values_of(Lists<int>{{5, 0, 7}, {}, {0, 1}});
  const auto dropped = result_of("Drop", {lists, values_of(Lists<int>{{1, 1, 9}, {0}, {-1, 0}})});
  EXPECT_THAT(rows_of<std::vector<int>>(*dropped),
              ElementsAre(ElementsAre(5, 7), ElementsAre(), ElementsAre(1)));
  EXPECT_THAT(rows_of<std::vector<Index>>(*result_of("Nonzero", {lists})),
              ElementsAre(ElementsAre(0, 2), ElementsAre(), ElementsAre(1)));
}

TEST(Selection, ChoosesItemByItem) {
  const auto lists = random_lists<float>(16);
  const auto condition = random_like<int>(lists, 17);
  const auto others = random_like<double>(lists, 18);
  expect_rows(result_of("Where", {values_of(condition), values_of(lists), values_of(others)}),
              [&](std::size_t row) {
                std::vector<double> chosen;
                for (std::size_t i = 0; i < lists[row].size(); ++i)
                  chosen.push_back(condition[row][i] != 0 ? double{lists[row][i]} : others[row][i]);
                return chosen;
              });
  expect_rows(
      result_of("Where", {values_of(condition), values_of(lists), make_constant<double>(lists.size(), 0.1)}),
      [&](std::size_t row) {
        std::vector<float> chosen;
        for (std::size_t i = 0; i < lists[row].size(); ++i)
          chosen.push_back(condition[row][i] != 0 ? lists[row][i] : 0.1f);
        return chosen;
      });
  expect_rows(result_of("Where", {values_of(condition), make_constant<int>(lists.size(), 1),
                                  make_constant<int>(lists.size(), 2)}),
              [&](std::size_t row) {
                std::vector<int> chosen;
                for (const int flag : condition[row]) chosen.push_back(flag != 0 ? 1 : 2);
                return chosen;
              });
  EXPECT_THAT(
      problem_of("Where", {values_of(Lists<int>{{1}}), values_of(Lists<int>{{}}), make_constant<int>(1, 1)}),
      HasSubstr("have 1 and 0 items"));
}

TEST(Selection, Intersects) {
  const auto a = random_lists<std::int16_t>(19);
  const auto b = random_lists<std::int16_t>(20);
  expect_rows(result_of("Intersect", {values_of(a), values_of(b)}), [&](std::size_t row) {
    std::vector<std::int16_t> common;
    for (const auto item : a[row])
      if (std::ranges::count(b[row], item) > 0) common.push_back(item);
    return common;
  });
}

// ---- Creation

TEST(Creation, Ranges) {
  const auto of = [](std::vector<std::int64_t> bounds) {
    expression_testing::Arguments arguments;
    for (const auto bound : bounds) arguments.push_back(values_of(std::vector<std::int64_t>{bound}));
    return result_of("Range", arguments);
  };
  EXPECT_THAT(rows_of<std::vector<Index>>(*of({3})), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(rows_of<std::vector<Index>>(*of({2, 5})), ElementsAre(ElementsAre(2, 3, 4)));
  EXPECT_THAT(rows_of<std::vector<Index>>(*of({5, 2})), ElementsAre(ElementsAre()));
  EXPECT_THAT(rows_of<std::vector<std::int64_t>>(*of({-3, 4, 3})), ElementsAre(ElementsAre(-3, 0, 3)));
  EXPECT_THAT(rows_of<std::vector<std::int64_t>>(*of({1, -6, -3})), ElementsAre(ElementsAre(1, -2, -5)));
  EXPECT_THAT(rows_of<std::vector<std::int64_t>>(*of({1, 4, -1})), ElementsAre(ElementsAre()));
  const auto extremes = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(rows_of<std::vector<std::int64_t>>(*of({extremes - 1, extremes, 7})),
              ElementsAre(ElementsAre(extremes - 1)));
  EXPECT_THROW(of({-1}), Error);
  EXPECT_THROW(of({1, 2, 0}), Error);
  EXPECT_THROW(of({-extremes, extremes, 1}), Error);
  EXPECT_THAT(rows_of<std::vector<Index>>(*result_of("Enumerate", {values_of(Lists<float>{{1, 1}, {}})})),
              ElementsAre(ElementsAre(0, 1), ElementsAre()));
}

TEST(Creation, Concatenates) {
  const auto a = random_lists<float>(21);
  const auto b = random_lists<int>(22);
  expect_rows(result_of("Concatenate", {values_of(a), values_of(b)}), [&](std::size_t row) {
    std::vector<float> both = a[row];
    for (const int item : b[row]) both.push_back(static_cast<float>(item));
    return both;
  });
  const std::vector<std::vector<std::string>> words = {{"a"}, {}};
  EXPECT_THAT(
      rows_of<std::vector<std::string>>(*result_of("Concatenate", {values_of(words), values_of(words)})),
      ElementsAre(ElementsAre("a", "a"), ElementsAre()));
}

TEST(Creation, MakesListsOfItems) {
  const auto list =
      result_of("make_list", {values_of(std::vector<int>{1, 2}), make_constant<double>(2, 0.5)});
  EXPECT_THAT(rows_of<std::vector<double>>(*list), ElementsAre(ElementsAre(1, 0.5), ElementsAre(2, 0.5)));
  const auto nested =
      result_of("make_list", {values_of(Lists<int>{{1}, {}}), values_of(Lists<float>{{2, 3}, {4}})});
  EXPECT_THAT(rows_of<Lists<float>>(*nested), ElementsAre(Lists<float>{{1}, {2, 3}}, Lists<float>{{}, {4}}));
  EXPECT_EQ(why_not("make_list", {make_constant<int>(1, 1), values_of(Lists<int>{{1}})}),
            "needs items of one type, got std::int32_t and std::vector<std::int32_t>");
}

// ---- Combinations

TEST(Combinations, OfOneList) {
  const auto lists = values_of(Lists<int>{{7, 8, 9}, {1, 2}});
  EXPECT_THAT(rows_of<Lists<Index>>(*result_of("Combinations", {lists, make_constant<int>(2, 2)})),
              ElementsAre(Lists<Index>{{0, 0, 1}, {1, 2, 2}}, Lists<Index>{{0}, {1}}));
  const auto five = values_of(Lists<int>{{1, 2, 3, 4, 5}});
  EXPECT_THAT(
      rows_of<Lists<Index>>(*result_of("Combinations", {five, make_constant<int>(1, 3)})),
      ElementsAre(Lists<Index>{
          {0, 0, 0, 0, 0, 0, 1, 1, 1, 2}, {1, 1, 1, 2, 2, 3, 2, 2, 3, 3}, {2, 3, 4, 3, 4, 4, 3, 4, 4, 4}}));
  EXPECT_THAT(rows_of<Lists<Index>>(*result_of("Combinations", {five, make_constant<int>(1, 5)})),
              ElementsAre(Lists<Index>{{0}, {1}, {2}, {3}, {4}}));
  EXPECT_THAT(rows_of<Lists<Index>>(*result_of("Combinations", {five, make_constant<int>(1, 0)})),
              ElementsAre(Lists<Index>{}));
}

TEST(Combinations, RefuseWhatThereIsNot) {
  const auto lists = values_of(Lists<int>{{7, 8, 9}, {1}});
  EXPECT_EQ(problem_of("Combinations", {lists, make_constant<int>(2, 2)}),
            "in entry 1001, there are no combinations of 2 items of a list of 1");
  EXPECT_THAT(problem_of("Combinations", {lists, make_constant<int>(2, -1)}), HasSubstr("in entry 1000"));
  const auto many = values_of(Lists<int>{std::vector<int>(60)});
  EXPECT_THAT(problem_of("Combinations", {many, make_constant<int>(1, 30)}),
              HasSubstr("more than 100000000"));
  const auto huge = values_of(std::vector<std::int64_t>{std::int64_t{1} << 40});
  EXPECT_THAT(problem_of("Combinations", {huge, huge}), HasSubstr("more than 100000000"));
}

TEST(Combinations, OfTwoListsOrSizes) {
  const auto a = values_of(Lists<int>{{7, 8}, {}});
  const auto b = values_of(Lists<float>{{1, 2, 3}, {1}});
  const auto expected =
      ElementsAre(Lists<Index>{{0, 0, 0, 1, 1, 1}, {0, 1, 2, 0, 1, 2}}, Lists<Index>{{}, {}});
  EXPECT_THAT(rows_of<Lists<Index>>(*result_of("Combinations", {a, b})), expected);
  EXPECT_THAT(
      rows_of<Lists<Index>>(*result_of("Combinations", {result_of(".size", {a}), result_of(".size", {b})})),
      expected);
}

TEST(Lists, SortTextsByTheirBytes) {
  const Lists<std::string> lists = {{"b", "a", "", "ab", "a"}, {}, {"x"}};
  Lists<std::string> sorted = lists;
  for (auto& list : sorted) std::ranges::sort(list);
  for (const char* name : {"Sort", "StableSort"})
    EXPECT_EQ(rows_of<std::vector<std::string>>(*result_of(name, {values_of(lists)})), sorted) << name;
  const Lists<Index> places = {{2, 1, 4, 3, 0}, {}, {0}};
  for (const char* name : {"Argsort", "StableArgsort"})
    EXPECT_EQ(rows_of<std::vector<Index>>(*result_of(name, {values_of(lists)})), places) << name;
}

// ---- Constants and empty blocks

// A list that is the same for all rows, next to one that is not.
ValuesPtr constant_list(std::size_t rows, const std::vector<int>& items) {
  auto values = std::make_shared<Values>(*values_of(Lists<int>{items}));
  values->size = rows;
  values->constant = true;
  return values;
}

TEST(Constants, StandForEveryRow) {
  const auto constant = constant_list(3, {4, 5});
  const auto lists = values_of(Lists<int>{{1, 0}, {0, 0}, {1, 1}});
  EXPECT_THAT(rows_of<std::vector<int>>(*result_of("operator[]", {constant, lists})),
              ElementsAre(ElementsAre(4), ElementsAre(), ElementsAre(4, 5)));
  EXPECT_THAT(rows_of<std::vector<int>>(*result_of("Concatenate", {constant, lists})),
              ElementsAre(ElementsAre(4, 5, 1, 0), ElementsAre(4, 5, 0, 0), ElementsAre(4, 5, 1, 1)));
  EXPECT_THAT(rows_of<std::vector<int>>(*result_of("Where", {lists, constant, lists})),
              ElementsAre(ElementsAre(4, 0), ElementsAre(0, 0), ElementsAre(4, 5)));
  EXPECT_THAT(rows_of<int>(*result_of("operator[]", {constant, values_of(std::vector<int>{1, 0, 1})})),
              ElementsAre(5, 4, 5));
  EXPECT_THAT(rows_of<int>(*result_of("Dot", {constant, lists})), ElementsAre(4, 0, 9));
  EXPECT_THAT(rows_of<int>(*result_of("Dot", {lists, constant})), ElementsAre(4, 0, 9));
}

TEST(Constants, GiveConstants) {
  const auto sum = result_of("Sum", {constant_list(1000, {4, 5})});
  EXPECT_TRUE(sum->constant);
  EXPECT_EQ(sum->size, 1000U);
  EXPECT_EQ(*sum->as<int>(), 9);
  const auto sorted = result_of("Sort", {constant_list(1000, {5, 4})});
  EXPECT_TRUE(sorted->constant);
  EXPECT_THAT(rows_of<std::vector<int>>(*sorted)[999], ElementsAre(4, 5));
}

TEST(Constants, CallsOnNoRowsGiveNoRows) {
  const auto none = values_of(Lists<float>{});
  const auto flags = values_of(Lists<int>{});
  for (const char* name :
       {"Sum", "Max", "Mean", "Sort", "Argsort", "Reverse", "Nonzero", ".size", ".front", "Enumerate"})
    EXPECT_EQ(result_of(name, {none})->size, 0U) << name;
  for (const char* name : {"operator[]", "Take", "Drop", "Intersect", "Concatenate", "Combinations", "Dot"})
    EXPECT_EQ(result_of(name, {none, flags})->size, 0U) << name;
}

}  // namespace
}  // namespace colonnade::frame
