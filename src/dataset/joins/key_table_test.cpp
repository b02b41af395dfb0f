// Tables of keys against a map of the standard library.
#include "dataset/joins/key_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <unordered_map>

#include "base/test_errors.h"
#include "base/test_folder.h"
#include "base/test_no_threads.h"
#include "codec/compression.h"

namespace colonnade::dataset {
namespace {

using Duplicates = KeyTable::Duplicates;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Up to three values, in an array: a vector for each of 150'000 keys takes most of the time under a
// sanitizer.
using Row = std::array<std::uint64_t, 3>;

// Columns that own their values.
struct Keys {
  std::vector<bool> are_signed;
  std::vector<std::vector<std::uint64_t>> values;

  std::vector<KeyColumn> columns() const {
    std::vector<KeyColumn> all;
    for (std::size_t k = 0; k < values.size(); ++k) all.push_back({are_signed[k], values[k]});
    return all;
  }
  Row row(std::size_t i) const {
    Row key{};
    for (std::size_t k = 0; k < values.size(); ++k) key[k] = values[k][i];
    return key;
  }
  void add(const Row& key) {
    for (std::size_t k = 0; k < values.size(); ++k) values[k].push_back(key[k]);
  }
  std::size_t size() const { return values.front().size(); }
};

Keys column(bool is_signed, std::vector<std::uint64_t> values) {
  return {{is_signed}, {std::move(values)}};
}

Keys signed_columns(std::size_t count) {
  return {std::vector<bool>(count, true), std::vector<std::vector<std::uint64_t>>(count)};
}

std::vector<PackedKeys> packed(const Keys& keys) {
  JoinMemory memory;
  std::vector<PackedKeys> all;
  for (const KeyColumn& column : keys.columns()) all.emplace_back(column, memory);
  return all;
}

KeyTable table_of(const Keys& keys, Duplicates duplicates, unsigned threads,
                  std::uint64_t budget = std::uint64_t{1} << 40) {
  static const std::vector<std::string> names = {"run", "event", "slot"};
  JoinMemory memory(budget);
  return {packed(keys), std::span(names).first(keys.values.size()), duplicates, threads, memory};
}

std::vector<std::int64_t> found(const KeyTable& table, const Keys& keys) {
  std::vector<std::int64_t> entries(keys.size());
  table.find(keys.columns(), entries.size(), entries.data());
  return entries;
}

struct RowHash {
  std::size_t operator()(const Row& row) const { return codec::xxh3(std::as_bytes(std::span(row))); }
};
using Map = std::unordered_map<Row, std::int64_t, RowHash>;

// Keys whose values are below `spread` or around zero, questions about them, and what a map answers.
struct Case {
  Keys keys, asked;
  std::vector<std::int64_t> answers;

  Case(std::mt19937_64& random, std::size_t columns, std::size_t size, std::uint64_t spread)
      : keys(signed_columns(columns)), asked(signed_columns(columns)) {
    const auto any = [&] {
      Row key{};
      for (std::size_t k = 0; k < columns; ++k) key[k] = random() % spread - spread / 2;
      return key;
    };
    Map first;
    first.reserve(size);
    for (std::size_t i = 0; i < size; ++i) {
      keys.add(any());
      first.emplace(keys.row(i), static_cast<std::int64_t>(i));
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(size + 100, 20'000); ++i) {
      asked.add(size > 0 && i % 2 == 0 ? keys.row(random() % size) : any());
      const auto at = first.find(asked.row(i));
      answers.push_back(at == first.end() ? KeyTable::none : at->second);
    }
  }
};

constexpr std::uint64_t spreads[] = {10, 100'000, std::uint64_t{1} << 31, std::uint64_t{1} << 33,
                                     ~std::uint64_t{0}};

TEST(KeyTable, FindsWhatAMapFinds) {
  std::mt19937_64 random(7);
  for (const std::size_t columns : {1u, 2u, 3u})
    for (const std::size_t size : {0u, 1u, 40u, 1000u, 150'000u})  // the last one is enough for three threads
      for (const std::uint64_t spread : spreads) {
        const Case given(random, columns, size, spread);
        for (const unsigned threads : {1u, 3u})
          EXPECT_EQ(found(table_of(given.keys, Duplicates::first, threads), given.asked), given.answers)
              << columns << ' ' << size << ' ' << spread;
      }
}

TEST(KeyTable, IsMadeWithoutThreadsToo) {
  std::mt19937_64 random(9);
  const Case given(random, 1, 150'000, spreads[3]);
  const colonnade::testing::NoThreads none;
  EXPECT_EQ(found(table_of(given.keys, Duplicates::first, 3), given.asked), given.answers);
}

TEST(KeyTable, MayLieInAFile) {
  std::mt19937_64 random(8);
  for (const std::uint64_t spread : spreads) {
    const Case given(random, 1, 2000, spread);
    EXPECT_EQ(found(table_of(given.keys, Duplicates::first, 2, 0), given.asked), given.answers);
  }
}

TEST(JoinMemoryTest, WhatIsGivenBackIsUsedAgain) {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  JoinMemory memory(16 * mib);
  auto first = memory.allocate(8 * mib);
  std::byte* const place = first.get();
  EXPECT_EQ(memory.held(), 8 * mib);
  first.reset();
  EXPECT_EQ(memory.held(), 0u);
  EXPECT_NE(memory.allocate(mib).get(), place);  // that would waste the most of it
  first = memory.allocate(8 * mib);
  const auto second = memory.allocate(6 * mib);
  EXPECT_EQ(memory.held(), 14 * mib);
  EXPECT_EQ(memory.spilled(), 0u);
  std::fill_n(first.get(), 8 * mib, std::byte{1});
  std::fill_n(second.get(), 6 * mib, std::byte{2});
  EXPECT_EQ(first[8 * mib - 1], std::byte{1});
  const auto third = memory.allocate(3 * mib);
  EXPECT_EQ(memory.spilled(), 3 * mib);
  first.reset();
  const auto fourth = memory.allocate(7 * mib);
  EXPECT_EQ(memory.held(), 14 * mib);
  EXPECT_EQ(second[6 * mib - 1], std::byte{2});
}

TEST(KeyTable, TheSameBitsAreOtherNumbersWhereOneIsNegative) {
  const std::uint64_t minus_one = ~std::uint64_t{0};
  for (const std::uint64_t other : {std::uint64_t{5}, minus_one - 1}) {
    const KeyTable table = table_of(column(false, {minus_one, other}), Duplicates::error, 1);
    EXPECT_THAT(found(table, column(true, {minus_one, 5})), ElementsAre(-1, other == 5 ? 1 : -1));
    EXPECT_THAT(found(table, column(false, {minus_one, other})), ElementsAre(0, 1));
  }
  const KeyTable table = table_of(column(true, {minus_one, 5}), Duplicates::error, 1);
  EXPECT_THAT(found(table, column(false, {minus_one, 5})), ElementsAre(-1, 1));
  EXPECT_THAT(found(table, column(true, {minus_one, 5})), ElementsAre(0, 1));
}

TEST(KeyTable, TheFirstOfTheEntriesWithAKeyIsNamed) {
  for (const std::uint64_t step : {1u, 1000u, 3'000'000'000u}) {
    std::vector<std::uint64_t> values(400'000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * step;
    values[300'000] = values[7];
    values[399'999] = values[2];
    for (const unsigned threads : {1u, 4u}) {
      const Error error = error_of([&] { table_of(column(true, values), Duplicates::error, threads); });
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_EQ(error.problem(),
                "the entries 7 and 300000 have the same key (run = " + std::to_string(7 * step) + ")");
      const KeyTable first = table_of(column(true, values), Duplicates::first, threads);
      EXPECT_THAT(found(first, column(true, {7 * step, 2 * step, 300'000 * step})), ElementsAre(7, 2, -1));
    }
  }
}

TEST(KeyTable, TakesNoMoreThan24BytesForEachEntry) {
  std::mt19937_64 random(1);
  const std::vector<std::string> names = {"run", "event", "slot"};
  for (const std::size_t columns : {1u, 2u, 3u})
    for (const std::uint64_t spread : spreads) {
      Keys keys = signed_columns(columns);
      for (std::size_t i = 0; i < 100'000; ++i) {
        Row key{};
        for (std::size_t k = 0; k < columns; ++k) key[k] = random() % spread;
        keys.add(key);
      }
      JoinMemory memory;
      const KeyTable table(packed(keys), std::span(names).first(columns), Duplicates::first, 2, memory);
      EXPECT_LE(memory.held(), 24u * 100'000) << columns << " columns below " << spread;
    }
}

// Three keys that need all their bits: of two that differ in one bit, or in bits that cancel each other out
// in sums and differences, none is taken for the other.
TEST(KeyTable, WideKeysThatAreNearlyTheSame) {
  std::mt19937_64 random(11);
  for (const unsigned bits : {64u, 50u, 43u, 33u, 22u}) {
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
    Keys keys = signed_columns(3);
    keys.add({0, 0, 0});
    keys.add({mask, mask, mask});
    Keys asked = keys;
    for (std::size_t i = 0; i < 300; ++i) {
      Row key = {random() & mask, random() & mask, random() & mask};
      keys.add(key);
      key[i % 3] ^= std::uint64_t{1} << random() % bits;
      asked.add(key);
      std::swap(key[0], key[2]);
      asked.add(key);
      asked.add({key[0] + 1, key[1] - 1, key[2] + mask + 1});
    }
    for (const Row& outside : {Row{mask + 1, 0, 0}, Row{0, mask + 1, 0}, Row{0, 0, ~std::uint64_t{0}}})
      asked.add(outside);
    Map map;
    for (std::size_t i = 0; i < keys.size(); ++i) map.emplace(keys.row(i), static_cast<std::int64_t>(i));
    const std::vector<std::int64_t> entries = found(table_of(keys, Duplicates::error, 2), asked);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto at = map.find(asked.row(i));
      EXPECT_EQ(entries[i], at == map.end() ? KeyTable::none : at->second) << bits << " bits, key " << i;
    }
  }
}

// ---- Files

std::optional<KeyTable> load(const std::string& path, std::string_view identity = "these files") {
  JoinMemory memory;
  return KeyTable::load(path, identity, memory);
}

TEST(SavedKeyTable, FindsTheSame) {
  const TestFolder folder;
  std::mt19937_64 random(9);
  for (const std::size_t columns : {1u, 2u, 3u})
    for (const std::size_t size : {0u, 3000u})
      for (const std::uint64_t spread : spreads) {
        const Case given(random, columns, size, spread);
        const std::string path = (folder.path() / "keys").string();
        table_of(given.keys, Duplicates::first, 3).save(path, "these files");
        const auto loaded = load(path);
        ASSERT_TRUE(loaded.has_value());
        EXPECT_EQ(found(*loaded, given.asked), given.answers) << columns << ' ' << size << ' ' << spread;
        EXPECT_FALSE(load(path, "other files").has_value());
        EXPECT_FALSE(load((folder.path() / "nothing").string()).has_value());
      }
}

TEST(SavedKeyTable, ThatIsDamagedIsAnError) {
  const TestFolder folder;
  std::mt19937_64 random(10);
  for (const std::uint64_t spread : spreads) {
    const std::string path = (folder.path() / "keys").string();
    const Case given(random, 1, 500, spread);
    table_of(given.keys, Duplicates::first, 1).save(path, "these files");
    const auto size = std::filesystem::file_size(path);
    for (int n = 0; n < 200; ++n) {
      // The header's text, and the arrays.
      const std::uint64_t at = n % 2 == 0 ? random() % 400 : 65'536 + random() % (size - 65'536);
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const char before = static_cast<char>(file.get());
      const auto put = [&](char value) {
        file.seekp(static_cast<std::streamoff>(at));
        file.put(value);
        file.flush();
      };
      put(static_cast<char>(before ^ 1 << random() % 8));
      try {
        EXPECT_FALSE(load(path).has_value());  // of other files, it says then
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::format);
      }
      put(before);
    }
    std::filesystem::resize_file(path, size - 1);
    EXPECT_THAT(error_of([&] { load(path); }).problem(), HasSubstr("the file is too short"));
  }
  const std::string other = (folder.path() / "other").string();
  std::ofstream(other) << "not a table";
  EXPECT_EQ(error_of([&] { load(other); }).problem(), "the file is not a table of keys");
}

}  // namespace
}  // namespace colonnade::dataset
