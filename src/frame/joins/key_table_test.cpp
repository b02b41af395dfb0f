// Tables of keys against std::map.
#include "frame/joins/key_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/test_errors.h"

namespace colonnade::frame {
namespace {

using Duplicates = KeyTable::Duplicates;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

KeyColumn column(bool is_signed, std::vector<std::uint64_t> values) {
  return {is_signed, std::move(values)};
}

std::vector<std::int64_t> found(const KeyTable& table, const std::vector<KeyColumn>& keys) {
  std::vector<std::int64_t> entries(keys.front().values.size());
  table.find(keys, entries.size(), entries.data());
  return entries;
}

const std::vector<std::string> names = {"run", "event", "slot"};

TEST(KeyTable, FindsWhatAMapFinds) {
  std::mt19937_64 random(7);
  for (const std::size_t columns : {1u, 2u, 3u}) {
    for (const std::size_t size : {0u, 1u, 40u, 1000u, 300'000u}) {
      for (const std::uint64_t spread : {std::uint64_t{10}, std::uint64_t{100'000}, ~std::uint64_t{0}}) {
        std::vector<KeyColumn> keys(columns), asked(columns);
        std::map<std::vector<std::uint64_t>, std::int64_t> expected;
        for (std::size_t i = 0; i < size; ++i) {
          std::vector<std::uint64_t> key;
          for (KeyColumn& each : keys) {
            each.values.push_back(random() % spread - spread / 2);
            key.push_back(each.values.back());
          }
          expected.emplace(key, static_cast<std::int64_t>(i));
        }
        const std::size_t questions = std::min<std::size_t>(size + 100, 20'000);
        std::vector<std::int64_t> answers;
        for (std::size_t i = 0; i < questions; ++i) {
          std::vector<std::uint64_t> key;
          const std::size_t like = size > 0 ? random() % size : 0;
          for (std::size_t k = 0; k < columns; ++k) {
            asked[k].values.push_back(size > 0 && i % 2 == 0 ? keys[k].values[like]
                                                             : random() % spread - spread / 2);
            key.push_back(asked[k].values.back());
          }
          const auto at = expected.find(key);
          answers.push_back(at == expected.end() ? KeyTable::none : at->second);
        }
        for (const unsigned threads : {1u, 5u})
          EXPECT_EQ(found(KeyTable(keys, std::span(names).first(columns), Duplicates::first, threads), asked),
                    answers)
              << columns << ' ' << size << ' ' << spread;
      }
    }
  }
}

TEST(KeyTable, TheSameBitsAreOtherNumbersWhereOneIsNegative) {
  const std::uint64_t minus_one = ~std::uint64_t{0};
  const KeyTable table({column(false, {minus_one, 5})}, std::span(names).first(1), Duplicates::error, 1);
  EXPECT_THAT(found(table, {column(true, {minus_one, 5})}), ElementsAre(-1, 1));
  EXPECT_THAT(found(table, {column(false, {minus_one, 5})}), ElementsAre(0, 1));
  const KeyTable other({column(true, {minus_one, 5})}, std::span(names).first(1), Duplicates::error, 1);
  EXPECT_THAT(found(other, {column(false, {minus_one, 5})}), ElementsAre(-1, 1));
}

TEST(KeyTable, TheFirstOfTheEntriesWithAKeyIsNamed) {
  std::vector<std::uint64_t> values(400'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i;
  values[300'000] = values[7];
  values[399'999] = values[2];
  for (const unsigned threads : {1u, 4u}) {
    const Error error = error_of(
        [&] { KeyTable({column(true, values)}, std::span(names).first(1), Duplicates::error, threads); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.problem(), HasSubstr("the entries 7 and 300000 have the same key (run = 7)"));
    const KeyTable first({column(true, values)}, std::span(names).first(1), Duplicates::first, threads);
    EXPECT_THAT(found(first, {column(true, {7, 2, 300'000})}), ElementsAre(7, 2, -1));
  }
}

TEST(KeyTable, TakesNoMoreThan24BytesForEachEntryWithTwoKeys) {
  std::mt19937_64 random(1);
  std::vector<KeyColumn> keys(2);
  for (std::size_t i = 0; i < 100'000; ++i) {
    keys[0].values.push_back(random());
    keys[1].values.push_back(random());
  }
  EXPECT_LE(KeyTable(keys, std::span(names).first(2), Duplicates::error, 2).bytes(), 24u * 100'000);
}

}  // namespace
}  // namespace colonnade::frame
