// For tests of results: columns, and passes over them in parts and blocks of any size, in any order.
#ifndef COLONNADE_FRAME_RESULTS_TEST_RESULTS_H
#define COLONNADE_FRAME_RESULTS_TEST_RESULTS_H

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/test_errors.h"
#include "frame/results/result.h"
#include "frame/values/values.h"

namespace colonnade::frame {

template <class T>
ValuesPtr column(std::vector<T> values) {
  auto kept = std::make_shared<std::vector<T>>(std::move(values));
  return make_scalars(element_of<T>(), kept->size(), kept->data(), kept);
}

template <class T>
ValuesPtr list_column(const std::vector<std::vector<T>>& lists) {
  auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
  std::vector<T> items;
  for (const auto& list : lists) {
    items.insert(items.end(), list.begin(), list.end());
    offsets->push_back(static_cast<std::int64_t>(items.size()));
  }
  return make_list(lists.size(), offsets->data(), column(std::move(items)), offsets);
}

inline ValuesPtr string_column(const std::vector<std::string>& texts) {
  auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
  std::vector<char> characters;
  for (const std::string& text : texts) {
    characters.insert(characters.end(), text.begin(), text.end());
    offsets->push_back(static_cast<std::int64_t>(characters.size()));
  }
  return make_string(texts.size(), offsets->data(), column(std::move(characters)), offsets);
}

class TestContext final : public PartContext {
 public:
  explicit TestContext(bool turn = true) : turn_(turn) {}
  bool is_my_turn() const noexcept override { return turn_; }
  void wait_for_turn() override { throw std::logic_error("nobody gives the turn in this test"); }

 private:
  bool turn_;
};

// How a pass processes the entries.
struct Way {
  std::size_t parts = 1;
  std::size_t block = 1024;
  bool all_at_once = false;  // parts are filled in reverse order, then merged
  bool saved = false;        // each part in an accumulator of its own, saved and merged
};

class Pass {
 public:
  Pass(ResultSpec spec, std::vector<ValuesPtr> columns)
      : spec_(std::move(spec)), columns_(std::move(columns)) {
    for (const ValuesPtr& column : columns_) types_.push_back(column->type);
    entries_ = columns_.empty() ? 0 : columns_.front()->size;
  }
  void set_entries(std::size_t entries) { entries_ = entries; }

  std::unique_ptr<ResultAccumulator> accumulate(const Way& way = {}) const {
    auto result = make_accumulator(spec_, types_);
    std::vector<std::unique_ptr<TestContext>> contexts;
    std::vector<std::unique_ptr<Partial>> partials(way.parts);
    for (std::size_t part = 0; part < way.parts; ++part) {
      if (way.saved) {
        auto of_part = result->empty_copy();
        TestContext context;
        auto partial = of_part->begin(context);
        fill(*partial, part, way);
        of_part->merge(std::move(partial));
        // In slices, if possible: from the last one on.
        const std::uint64_t slices = of_part->slices(part % 2 == 0 ? 100 : ~std::uint64_t{0});
        for (std::uint64_t slice = slices; slice > 0; --slice)
          result->merge_saved(of_part->save_slice(slice - 1, slices));
        continue;
      }
      contexts.push_back(std::make_unique<TestContext>(!way.all_at_once));
      partials[part] = result->begin(*contexts.back());
      if (way.all_at_once) continue;
      fill(*partials[part], part, way);
      result->merge(std::move(partials[part]));
    }
    if (way.all_at_once && !way.saved) {
      for (std::size_t part = way.parts; part > 0; --part) fill(*partials[part - 1], part - 1, way);
      for (auto& partial : partials) result->merge(std::move(partial));
    }
    result->finish();
    return result;
  }
  ResultValue value(const Way& way = {}) const { return accumulate(way)->value(); }
  template <class T>
  T get(const Way& way = {}) const {
    return std::get<T>(value(way));
  }

 private:
  void fill(Partial& partial, std::size_t part, const Way& way) const {
    const std::size_t first = entries_ * part / way.parts;
    const std::size_t last = entries_ * (part + 1) / way.parts;
    for (std::size_t begin = first; begin < last; begin += way.block) {
      const Rows rows{begin, std::min(way.block, last - begin)};
      std::vector<ValuesPtr> arguments;
      for (const ValuesPtr& column : columns_) arguments.push_back(slice(column, begin, rows.size, memory_));
      partial.add(rows, arguments);
    }
  }
  ResultSpec spec_;
  std::vector<ValuesPtr> columns_;
  std::vector<ValueType> types_;
  std::size_t entries_ = 0;
  mutable BlockMemory memory_;
};

inline std::vector<Way> ways() {
  return {{1, 1024}, {1, 7}, {3, 100}, {17, 33}, {4, 1000, true}, {9, 64, true}, {5, 128, false, true}};
}

inline std::vector<double> normal_numbers(std::size_t count, double mean, double width, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> distribution(mean, width);
  std::vector<double> numbers(count);
  for (double& number : numbers) number = distribution(random);
  return numbers;
}

// Expects an error of this kind, whose text has all of these words.
template <class Work>
void expect_error(Work&& work, ErrorKind kind, std::initializer_list<const char*> words) {
  const Error error = error_of(std::forward<Work>(work));
  EXPECT_EQ(error.kind(), kind) << error.what();
  for (const char* word : words)
    EXPECT_THAT(error.problem() + "; " + error.advice(), testing::HasSubstr(word));
}

}  // namespace colonnade::frame

#endif
