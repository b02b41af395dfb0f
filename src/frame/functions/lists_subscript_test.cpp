// Subscripts and masks against plain C++ on jagged data.
#include <gmock/gmock.h>

#include "frame/functions/lists.h"
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

// ---- Subscripts

TEST(Subscript, TakesOneItem) {
  const auto lists = random_lists<float>(1, 2);
  expect_rows(result_of("operator[]", {values_of(lists), make_constant<int>(lists.size(), 1)}),
              [&](std::size_t row) { return lists[row][1]; });
  std::vector<Index> last;
  for (const auto& list : lists) last.push_back(list.size() - 1);
  expect_rows(result_of("operator[]", {values_of(lists), values_of(last)}),
              [&](std::size_t row) { return lists[row].back(); });
}

TEST(Subscript, NamesTheEntryOfABadIndex) {
  const auto lists = values_of(Lists<int>{{1, 2}, {3}, {}});
  EXPECT_EQ(problem_of("operator[]", {lists, values_of(std::vector<int>{1, 1, 0})}),
            "in entry 1001, the index 1 is beyond a list of 1 items");
  EXPECT_EQ(problem_of("operator[]", {lists, values_of(std::vector<int>{-1, 0, 0})}),
            "in entry 1000, the index -1 is negative (the list has 2 items)");
  EXPECT_THAT(problem_of(".at", {lists, make_constant<int>(3, 0)}), HasSubstr("in entry 1002"));
}

TEST(Subscript, TakesListsOfListsAndStrings) {
  const std::vector<Lists<int>> nested = {{{1, 2}, {3}}, {{}, {4, 5, 6}}};
  const auto second = result_of("operator[]", {values_of(nested), make_constant<int>(2, 1)});
  EXPECT_THAT(rows_of<std::vector<int>>(*second),
              ElementsAre(std::vector<int>{3}, std::vector<int>{4, 5, 6}));
  const auto letters =
      result_of("operator[]", {values_of(std::vector<std::string>{"abc", "xyz"}), make_constant<int>(2, 2)});
  EXPECT_THAT(rows_of<char>(*letters), ElementsAre('c', 'z'));
}

TEST(Subscript, MasksLists) {
  const auto lists = random_lists<double>(2);
  const auto expected = [&](const auto& mask) {
    return [&](std::size_t row) {
      std::vector<double> kept;
      for (std::size_t i = 0; i < lists[row].size(); ++i)
        if (mask[row][i]) kept.push_back(lists[row][i]);
      return kept;
    };
  };
  Lists<bool> flags;
  for (const auto& list : lists) {
    flags.emplace_back();
    for (const double item : list) flags.back().push_back(item > 0);
  }
  const auto integers = random_like<int>(lists, 3);
  const auto floats = random_like<float>(lists, 4);
  expect_rows(result_of("operator[]", {values_of(lists), values_of(flags)}), expected(flags));
  expect_rows(result_of("operator[]", {values_of(lists), values_of(integers)}), expected(integers));
  expect_rows(result_of("operator[]", {values_of(lists), values_of(floats)}), expected(floats));
}

TEST(Subscript, RefusesMasksOfOtherSizes) {
  EXPECT_EQ(
      problem_of("operator[]", {values_of(Lists<int>{{1}, {1, 2}}), values_of(Lists<bool>{{true}, {true}})}),
      "in entry 1001, a list and its mask have 2 and 1 items");
}

TEST(Subscript, MasksListsOfRecordsAndOfLists) {
  const auto items =
      make_record(ValueType::record("Hit", {{"x", ElementType::int32}, {"id", ElementType::uint8}}), 3,
                  {values_of(std::vector<int>{1, 2, 3}), values_of(std::vector<std::uint8_t>{7, 8, 9})});
  const auto offsets = std::make_shared<std::vector<std::int64_t>>(std::vector<std::int64_t>{0, 2, 3});
  const auto hits = make_list(2, offsets->data(), items, offsets);
  const auto kept = result_of("operator[]", {hits, values_of(Lists<bool>{{false, true}, {true}})});
  EXPECT_EQ(kept->offsets[2], 2);
  EXPECT_THAT(rows_of<int>(*kept->items().children[0]), ElementsAre(2, 3));
  EXPECT_THAT(rows_of<std::uint8_t>(*kept->items().children[1]), ElementsAre(8, 9));

  const std::vector<Lists<int>> nested = {{{1, 2}, {3}}, {{}}};
  const auto lists =
      result_of("operator[]", {values_of(nested), values_of(Lists<bool>{{false, true}, {true}})});
  EXPECT_THAT(rows_of<Lists<int>>(*lists), ElementsAre(Lists<int>{{3}}, Lists<int>{{}}));
}

TEST(Subscript, KnowsSizesAndEnds) {
  const auto lists = random_lists<int>(5, 1);
  const auto values = values_of(lists);
  expect_rows(result_of(".size", {values}), [&](std::size_t row) { return Index{lists[row].size()}; });
  expect_rows(result_of(".front", {values}), [&](std::size_t row) { return lists[row].front(); });
  expect_rows(result_of(".back", {values}), [&](std::size_t row) { return lists[row].back(); });
  expect_rows(result_of(".at", {values, make_constant<int>(lists.size(), 3),
                                make_constant<double>(lists.size(), -9.5)}),
              [&](std::size_t row) { return lists[row].size() > 3 ? lists[row][3] : -9; });
  EXPECT_THAT(rows_of<bool>(*result_of(".empty", {values_of(Lists<int>{{}, {1}})})),
              ElementsAre(true, false));
  EXPECT_EQ(problem_of(".back", {values_of(Lists<int>{{1}, {}})}),
            "in entry 1001, an empty list has no last item");
  EXPECT_THAT(rows_of<Index>(*result_of(".size", {values_of(std::vector<std::string>{"ab", ""})})),
              ElementsAre(2, 0));
}

TEST(Subscript, SaysWhatItNeeds) {
  const auto list = values_of(Lists<int>{{1}});
  EXPECT_EQ(why_not("operator[]", {make_constant<int>(1, 1), list}),
            "needs a list or a string as argument 1, got std::int32_t");
  EXPECT_EQ(why_not("operator[]", {list, make_constant<float>(1, 1)}),
            "needs an integer as index, got float");
  EXPECT_EQ(why_not(".size", {list, list}), "takes 1 argument, got 2");
}

}  // namespace
}  // namespace colonnade::frame
