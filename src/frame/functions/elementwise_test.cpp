// Broadcasting, constants, conversion in pieces, and errors with the entry.
#include "frame/functions/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

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

TEST(Elementwise, AddsScalars) {
  const auto sum = call("operator+", {values_of<double>({1, 2, 3}), values_of<double>({10, 20, 30})});
  EXPECT_EQ(rows_of<double>(*sum), (std::vector<double>{11, 22, 33}));
}

TEST(Elementwise, ConstantsStayConstants) {
  const auto sum = call("operator+", {constant_of<int>(1000, 1), constant_of<double>(1000, 0.5)});
  EXPECT_TRUE(sum->constant);
  EXPECT_EQ(sum->size, 1000u);
  EXPECT_EQ(*sum->as<double>(), 1.5);
}

TEST(Elementwise, ConstantsCountForEveryRow) {
  const auto difference = call("operator-", {constant_of<double>(4, 10), values_of<double>({1, 2, 3, 4})});
  EXPECT_FALSE(difference->constant);
  EXPECT_EQ(rows_of<double>(*difference), (std::vector<double>{9, 8, 7, 6}));
}

TEST(Elementwise, ListsKeepTheirShapeAndShareTheirOffsets) {
  const auto pt = values_of<std::vector<float>>({{1, 2}, {}, {3}});
  const auto sum = call("operator*", {pt, values_of<std::vector<float>>({{2, 2}, {}, {5}})});
  EXPECT_EQ(rows_of<std::vector<float>>(*sum), (Lists<float>{{2, 4}, {}, {15}}));
  EXPECT_EQ(sum->offsets, pt->offsets);
}

// With rows of no or one item.
ValuesPtr optionals(const Lists<double>& rows) {
  return as_type(values_of(rows), ValueType::optional(ElementType::float64));
}

Lists<double> rows_of_optionals(const Values& values) {
  EXPECT_TRUE(values.type.is_optional());
  return rows_of<std::vector<double>>(
      *as_type(std::make_shared<Values>(values), ValueType::list(ElementType::float64)));
}

TEST(Elementwise, OfSeveralOptionalsTheResultIsMissingWhereOneIs) {
  const auto a = optionals({{1}, {}, {3}, {}, {5}});
  const auto b = optionals({{10}, {20}, {}, {}, {50}});
  EXPECT_EQ(rows_of_optionals(*call("operator+", {a, b})), (Lists<double>{{11}, {}, {}, {}, {55}}));
  EXPECT_EQ(rows_of_optionals(*call("operator*", {a, a})), (Lists<double>{{1}, {}, {9}, {}, {25}}));
  EXPECT_EQ(rows_of_optionals(*call("operator-", {a, constant_of<double>(5, 1)})),
            (Lists<double>{{0}, {}, {2}, {}, {4}}));
  EXPECT_EQ(rows_of_optionals(*a), (Lists<double>{{1}, {}, {3}, {}, {5}})) << "arguments stay as they are";
}

TEST(Elementwise, OptionalsWithinListsAreAligned) {
  const auto within = [](ValuesPtr items) {
    const auto offsets = std::make_shared<std::vector<std::int64_t>>(std::vector<std::int64_t>{0, 2, 2, 4});
    return make_list(3, offsets->data(), std::move(items), offsets);
  };
  const auto sum =
      call("operator+", {within(optionals({{1}, {}, {3}, {4}})), within(optionals({{}, {2}, {3}, {5}}))});
  ASSERT_EQ(sum->size, 3u);
  EXPECT_EQ(sum->offsets[3], 4);
  EXPECT_EQ(rows_of_optionals(sum->items()), (Lists<double>{{}, {}, {6}, {9}}));
}

TEST(Elementwise, OptionalsAreNotCombinedWithListsItemByItem) {
  const auto optional = optionals({{1}, {}});
  const auto list = values_of<std::vector<double>>({{1}, {2}});
  const auto lists = values_of<Lists<double>>({{{1}}, {{2}}});
  const std::string why_not = "an optional and the items of a list do not combine";
  EXPECT_THAT(calls::bind("operator+", {optional, list}).why_not, HasSubstr(why_not));
  EXPECT_THAT(calls::bind("hypot", {lists, optional}).why_not, HasSubstr("x.value_or(0)"));
  EXPECT_NE(calls::bind("operator+", {optional, constant_of<double>(5, 1)}).kernel, nullptr);
  EXPECT_NE(calls::bind("operator+", {list, lists}).kernel, nullptr);
}

TEST(Elementwise, ResultsOutliveTheirArguments) {
  ValuesPtr doubled;
  {
    auto pt = values_of<std::vector<float>>({{1, 2}, {}, {3}});
    doubled = call("operator*", {pt, constant_of<float>(3, 2)});
  }
  EXPECT_EQ(rows_of<std::vector<float>>(*doubled), (Lists<float>{{2, 4}, {}, {6}}));
}

TEST(Elementwise, ScalarsCountForTheItemsOfTheirRow) {
  const auto pt = values_of<std::vector<float>>({{1, 2}, {}, {3, 4, 5}, {6}});
  const auto scale = values_of<float>({10, 20, 30, 40});
  EXPECT_EQ(rows_of<std::vector<float>>(*call("operator*", {pt, scale})),
            (Lists<float>{{10, 20}, {}, {90, 120, 150}, {240}}));
  EXPECT_EQ(rows_of<std::vector<float>>(*call("operator-", {scale, pt})),
            (Lists<float>{{9, 8}, {}, {27, 26, 25}, {34}}));
}

TEST(Elementwise, ScalarsAndListsCountWithinListsOfLists) {
  const auto hits = values_of<Lists<double>>({{{1, 2}, {}}, {}, {{3}, {4, 5, 6}}});
  EXPECT_EQ(rows_of<Lists<double>>(*call("operator+", {hits, values_of<int>({10, 20, 30})})),
            (std::vector<Lists<double>>{{{11, 12}, {}}, {}, {{33}, {34, 35, 36}}}));
  EXPECT_EQ(rows_of<Lists<double>>(
                *call("operator+", {values_of<std::vector<int>>({{10, 20}, {}, {30, 40}}), hits})),
            (std::vector<Lists<double>>{{{11, 12}, {}}, {}, {{33}, {44, 45, 46}}}));
}

TEST(Elementwise, ListsOfOtherSizesAreErrorsWithTheEntry) {
  const auto a = values_of<std::vector<int>>({{1, 2}, {3}, {4}});
  const auto b = values_of<std::vector<int>>({{1, 2}, {3}, {4, 5}});
  try {
    call("operator+", {a, b});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.problem(), HasSubstr("entry 1002"));
    EXPECT_THAT(error.problem(), HasSubstr("lists of 1 and 2 items"));
  }
}

TEST(Elementwise, SizesWithinListsOfListsAreErrorsWithTheEntry) {
  const auto a = values_of<Lists<int>>({{{1}, {2}}, {{}, {3, 4}}});
  const auto b = values_of<Lists<int>>({{{1}, {2}}, {{}, {3}}});
  try {
    call("operator+", {a, b});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.problem(), HasSubstr("entry 1001"));
  }
}

TEST(Elementwise, MayFailOnlyWhereListsMeet) {
  const auto list = values_of<std::vector<int>>({{1}});
  const auto scalar = values_of<int>({1});
  EXPECT_TRUE(calls::bind("operator+", {list, list}).kernel->only_where_needed());
  EXPECT_FALSE(calls::bind("operator+", {list, scalar}).kernel->only_where_needed());
}

TEST(Elementwise, FaultsNameTheEntryOfTheItem) {
  const auto a = values_of<std::vector<int>>({{1, 2}, {}, {3, 4}, {5}});
  const auto b = values_of<std::vector<int>>({{1, 2}, {}, {3, 0}, {0}});
  try {
    call("operator/", {a, b});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.problem(), HasSubstr("entry 1002"));
    EXPECT_THAT(error.problem(), HasSubstr("division by zero"));
  }
}

TEST(Elementwise, FaultsNameTheEntryBehindSelectedRows) {
  BlockMemory memory;
  const std::vector<std::uint32_t> indices{3, 5, 9};
  const Rows rows{200, 3, indices.data()};
  const std::vector<ValuesPtr> arguments{values_of<int>({1, 2, 3}), values_of<int>({1, 0, 3})};
  const auto kernel = calls::bind("operator%", arguments).kernel;
  try {
    kernel->run(CallContext{memory, rows}, arguments);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.problem(), HasSubstr("entry 205"));
  }
}

// Values that need conversion go through buffers of 1024 elements.
TEST(Elementwise, PiecesFitTogether) {
  std::mt19937 random(3);
  for (const std::size_t rows : {1u, 1023u, 1024u, 1025u, 5000u}) {
    std::vector<std::vector<float>> lists(rows);
    std::vector<std::int16_t> scalars(rows);
    std::vector<std::vector<double>> expected(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      // Occasionally more items than a piece has.
      lists[i].resize(i % 700 == 5 ? 3000 : random() % 4);
      for (float& item : lists[i]) item = static_cast<float>(random() % 1000);
      scalars[i] = static_cast<std::int16_t>(random());
      for (const float item : lists[i]) expected[i].push_back(static_cast<double>(item) * 0.1 + scalars[i]);
    }
    const auto product = call("operator*", {values_of(lists), constant_of<double>(rows, 0.1)});
    EXPECT_EQ(rows_of<std::vector<double>>(*call("operator+", {product, values_of(scalars)})), expected);
  }
}

TEST(Elementwise, FaultsInLaterPiecesNameTheirEntry) {
  std::vector<std::int64_t> numbers(3000, 1);
  numbers[2500] = 0;
  const std::vector<int> ones(3000, 1);
  try {
    call("operator/", {values_of(ones), values_of(numbers)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.problem(), HasSubstr("entry 3500"));
  }
}

// A list that is the same for all rows, as from a literal.
ValuesPtr constant_list(std::size_t rows, const std::vector<int>& items) {
  auto list = std::make_shared<Values>(*values_of<std::vector<int>>({items}));
  list->constant = true;
  list->size = rows;
  return list;
}

TEST(Elementwise, ConstantListsStayConstants) {
  const auto sum = call("operator+", {constant_list(50, {1, 2, 3}), constant_of<int>(50, 1)});
  EXPECT_TRUE(sum->constant);
  EXPECT_EQ(sum->size, 50u);
  EXPECT_EQ(rows_of<std::vector<int>>(*sum), (Lists<int>(50, {2, 3, 4})));
}

TEST(Elementwise, ConstantListsCountForEveryRow) {
  EXPECT_EQ(
      rows_of<std::vector<int>>(*call("operator*", {constant_list(3, {1, 2}), values_of<int>({1, 10, 100})})),
      (Lists<int>{{1, 2}, {10, 20}, {100, 200}}));
  EXPECT_EQ(rows_of<std::vector<int>>(*call(
                "operator*", {values_of<std::vector<int>>({{1, 2}, {3, 4}}), constant_list(2, {5, 6})})),
            (Lists<int>{{5, 12}, {15, 24}}));
  EXPECT_THROW(call("operator*", {values_of<std::vector<int>>({{1, 2}, {3}}), constant_list(2, {5, 6})}),
               Error);
}

TEST(Elementwise, NoRowsGiveNothing) {
  EXPECT_EQ(call("operator+", {values_of<double>({}), constant_of<double>(0, 1)})->size, 0u);
  EXPECT_EQ(call("operator+", {values_of<std::vector<double>>({}), values_of<double>({})})->size, 0u);
  EXPECT_EQ(call("operator/", {constant_of<int>(0, 1), constant_of<int>(0, 0)})->size, 0u);
}

TEST(Elementwise, OtherTypesHaveNoKernel) {
  const std::vector<ValueType> types{ValueType::string()};
  EXPECT_EQ(elementwise("f", {ElementType::float64, {ElementType::float64}, nullptr}, types), nullptr);
  EXPECT_EQ(elementwise("f", {ElementType::float64, {}, nullptr}, types), nullptr);
}

}  // namespace
}  // namespace colonnade::frame
