// take and display: unchanged rows, for all types and partitions.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>

#include "frame/results/arrays.h"
#include "frame/results/test_results.h"

namespace colonnade::frame {
namespace {

struct Table {
  std::vector<ValuesPtr> columns;
  std::vector<std::string> names = {"number", "list", "text", "record", "constant"};
};

Table make_table(std::size_t rows) {
  std::vector<std::int32_t> numbers;
  std::vector<std::vector<float>> lists;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < rows; ++i) {
    numbers.push_back(static_cast<std::int32_t>(i));
    lists.emplace_back(i % 4, static_cast<float>(i));
    texts.push_back(std::string(i % 3, 'a') + std::to_string(i));
  }
  Table table;
  table.columns = {column(numbers), list_column(lists), string_column(texts)};
  const ValueType record = ValueType::record("P", {{"a", ElementType::int32}, {"b", table.columns[1]->type}});
  table.columns.push_back(make_record(record, rows, {table.columns[0], table.columns[1]}));
  table.columns.push_back(make_constant<double>(rows, 2.5));
  return table;
}

// All rows as text.
std::vector<std::string> text_of_rows(const std::vector<ValuesPtr>& columns, std::size_t rows) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < rows; ++i) {
    std::string line;
    for (const ValuesPtr& column : columns) line += text_of(*column, i) + " ";
    lines.push_back(line);
  }
  return lines;
}
std::vector<std::string> text_of_value(const ResultValue& value) {
  std::vector<ValuesPtr> columns;
  for (const NamedValues& named : std::get<ArraysValue>(value).columns) columns.push_back(named.values);
  return text_of_rows(columns, columns.front()->size);
}

// In the heap, and from a MiB on in mappings of their own.
TEST(GrowingBytes, KeepWhatWasAppended) {
  GrowingBytes bytes;
  std::string expected;
  const auto text = [&] { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); };
  const auto append = [&](std::size_t count) {
    const std::string more(count, static_cast<char>('a' + expected.size() % 26));
    std::memcpy(bytes.grow(count), more.data(), count);
    expected += more;
  };
  for (const std::size_t count : std::array<std::size_t, 7>{1, 1000, 400000, 200000, 3000000, 1, 9000000}) {
    append(count);
    ASSERT_EQ(text(), expected);
    if (count % 2 == 1) bytes.shrink();
    bytes.reserve(expected.size() + count / 2);
    ASSERT_EQ(text(), expected);
  }
  const std::size_t before = bytes.capacity();
  bytes.reserve(std::numeric_limits<std::size_t>::max());
  EXPECT_GT(bytes.capacity(), before);
  EXPECT_LT(bytes.capacity(), before + (std::size_t{64} << 20));
  EXPECT_EQ(text(), expected);
  GrowingBytes moved = std::move(bytes);
  bytes = std::move(moved);
  bytes.clear();
  expected.clear();
  append(10);
  bytes.shrink();
  append(100);
  EXPECT_EQ(text(), expected);
}

TEST(Take, AllRowsInEntryOrder) {
  const Table table = make_table(3000);
  const Pass pass({"take", table.names}, table.columns);
  for (const Way& way : ways()) {
    const ResultValue value = pass.value(way);
    EXPECT_EQ(text_of_value(value), text_of_rows(table.columns, 3000));
    EXPECT_EQ(std::get<ArraysValue>(value).columns[2].name, "text");
  }
}

TEST(Take, TakesTheMemoryOfTheResult) {
  const std::size_t rows = 200000;
  const ValuesPtr numbers = column(normal_numbers(rows, 0, 1));
  const auto value =
      Pass({"take", {"x"}, R"({"names": ["y"]})"}, {numbers}).get<ArraysValue>({7, 1000, true});
  EXPECT_EQ(value.columns[0].name, "y");
  EXPECT_EQ(byte_count(*value.columns[0].values), rows * sizeof(double));
  EXPECT_EQ(std::memcmp(value.columns[0].values->data, numbers->data, rows * sizeof(double)), 0);
}

// A part's memory is reserved as its first block suggests, whatever comes then.
TEST(Take, PartsThatDoNotGoOnAsTheyBegin) {
  const std::size_t rows = 50000;
  const std::size_t block = 500;
  for (const bool few_first : {false, true}) {
    std::vector<std::vector<float>> lists;
    for (std::size_t i = 0; i < rows; ++i)
      lists.emplace_back((i < block) == few_first ? i % 2 : i % 40, static_cast<float>(i));
    const ValuesPtr values = list_column(lists);
    for (const bool turn : {false, true}) {
      const auto result = make_accumulator({"take", {"x"}}, std::vector{values->type});
      TestContext context(turn);
      context.last = rows;
      auto partial = result->begin(context);
      BlockMemory memory;
      for (std::size_t at = 0; at < rows; at += block)
        partial->add(Rows{at, block}, std::vector{slice(values, at, block, memory)});
      result->merge(std::move(partial));
      result->finish();
      EXPECT_EQ(text_of_value(result->value()), text_of_rows({values}, rows));
    }
  }
}

TEST(Take, AValueStaysAsItIs) {
  const auto result = Pass({"take", {"x"}}, {column<std::int32_t>({1, 2, 3})}).accumulate();
  const ResultValue before = result->value();
  result->merge_saved(result->save());
  EXPECT_EQ(text_of_value(before), (std::vector<std::string>{"1 ", "2 ", "3 "}));
  EXPECT_EQ(text_of_value(result->value()), (std::vector<std::string>{"1 ", "2 ", "3 ", "1 ", "2 ", "3 "}));
}

TEST(Take, NothingTaken) {
  const Table table = make_table(0);
  EXPECT_TRUE(text_of_value(Pass({"take", table.names}, table.columns).value()).empty());
}

TEST(Display, FirstRowsOnly) {
  const Table table = make_table(1000);
  const auto all = text_of_rows(table.columns, 1000);
  for (const std::size_t rows : {0, 1, 5, 30, 2000}) {
    const Pass pass({"display", table.names, R"({"rows": )" + std::to_string(rows) + "}"}, table.columns);
    const std::vector<std::string> expected(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(rows, all.size())));
    for (const Way& way : ways()) EXPECT_EQ(text_of_value(pass.value(way)), expected);
  }
  EXPECT_EQ(text_of_value(Pass({"display", table.names}, table.columns).value()).size(), 5u);
}

TEST(Take, SaysWhatDoesNotFit) {
  const std::vector<ValueType> one = {ElementType::int32};
  expect_error([&] { make_accumulator({"take", {}}, {}); }, ErrorKind::usage, {"0 arguments"});
  expect_error([&] { make_accumulator({"take", {"x"}, R"({"names": ["a", "b"]})"}, one); }, ErrorKind::usage,
               {"'names'"});
  expect_error([&] { make_accumulator({"display", {"x"}, R"({"rows": -1})"}, one); }, ErrorKind::usage,
               {"'rows'", "-1"});
}

}  // namespace
}  // namespace colonnade::frame
