// Results that several threads fill concurrently, with parts merged in entry order.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "frame/results/memory_budget.h"
#include "frame/results/test_results.h"

namespace colonnade::frame {
namespace {

// Gives parts to threads and merges them in order, like a pass.
class Line {
 public:
  class Context final : public PartContext {
   public:
    Context(Line& line, std::size_t part) : line_(line), part_(part) {}
    bool is_my_turn() const noexcept override {
      return line_.merged_.load(std::memory_order_acquire) == part_;
    }
    void wait_for_turn() override {
      ++line_.waits_;
      std::unique_lock lock(line_.mutex_);
      line_.wakes_.wait(lock, [&] { return is_my_turn(); });
    }

   private:
    Line& line_;
    std::size_t part_;
  };

  Line(ResultAccumulator& result, std::size_t parts, std::vector<ValuesPtr> block, std::size_t blocks)
      : result_(result), parts_(parts), block_(std::move(block)), blocks_(blocks) {}

  void run(unsigned threads) {
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
    for (std::thread& worker : workers) worker.join();
    result_.finish();
  }
  unsigned waits() const { return waits_; }
  // Announces that all parts before this one are merged.
  void pass_on(std::size_t part) {
    const std::lock_guard lock(mutex_);
    merged_.store(part, std::memory_order_release);
    wakes_.notify_all();
  }

 private:
  void work() {
    for (std::size_t part = next_++; part < parts_; part = next_++) {
      Context context(*this, part);
      auto partial = result_.begin(context);
      for (std::size_t i = 0; i < blocks_; ++i)
        partial->add({part * blocks_ + i, block_.front()->size}, block_);
      std::unique_lock lock(mutex_);
      wakes_.wait(lock, [&] { return context.is_my_turn(); });
      result_.merge(std::move(partial));
      lock.unlock();
      pass_on(part + 1);
    }
  }

  ResultAccumulator& result_;
  const std::size_t parts_;
  const std::vector<ValuesPtr> block_;
  const std::size_t blocks_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> merged_ = 0;
  std::atomic<unsigned> waits_ = 0;
  std::mutex mutex_;
  std::condition_variable wakes_;
};

std::vector<ValueType> types_of(const std::vector<ValuesPtr>& columns) {
  std::vector<ValueType> types;
  for (const ValuesPtr& column : columns) types.push_back(column->type);
  return types;
}

ResultValue run(const ResultSpec& spec, const std::vector<ValuesPtr>& block, unsigned threads,
                std::size_t parts = 40, std::size_t blocks = 5) {
  auto result = make_accumulator(spec, types_of(block));
  Line(*result, parts, block, blocks).run(threads);
  return result->value();
}

std::vector<double> numbers_of(const Moments& moments) {
  std::vector<double> numbers = {moments.sum_w, moments.sum_w2};
  for (const auto* sums : {&moments.sum_wx, &moments.sum_wxx})
    numbers.insert(numbers.end(), sums->begin(), sums->end());
  return numbers;
}

TEST(ResultThreads, SharedCounts) {
  const ResultSpec spec{"histogram", {"x"}, R"({"axes": [{"bins": 100, "low": -3, "high": 3}]})"};
  const std::vector<ValuesPtr> block = {column(normal_numbers(2500, 0, 1))};
  const auto one = std::get<HistogramValue>(run(spec, block, 1));
  EXPECT_EQ(one.entries, 40 * 5 * 2500u);
  for (const unsigned threads : {2, 3, 7}) {
    const auto several = std::get<HistogramValue>(run(spec, block, threads));
    EXPECT_EQ(several.values, one.values);
    EXPECT_EQ(numbers_of(several.moments), numbers_of(one.moments));
  }
}

TEST(ResultThreads, WeightsInAnyOrder) {
  const std::vector<ValuesPtr> block = {column(normal_numbers(2500, 0, 1)),
                                        column(normal_numbers(2500, 1, 0.1, 2))};
  const ResultSpec specs[] = {
      {"histogram", {"x", "w"}, R"({"axes": [{"bins": 10, "low": -3, "high": 3}], "weighted": true})"},
      {"histogram", {"x", "w"}, R"({"axes": [{"bins": 10}], "weighted": true})"},
      {"profile", {"x", "w"}, R"({"axes": [{"bins": 10, "low": -3, "high": 3}]})"}};
  for (const ResultSpec& spec : specs) {
    const auto numbers = [&](unsigned threads) {
      const ResultValue value = run(spec, block, threads);
      if (const auto* h = std::get_if<HistogramValue>(&value)) {
        std::vector<double> all = numbers_of(h->moments);
        all.insert(all.end(), h->values.begin(), h->values.end());
        return all;
      }
      return std::get<ProfileValue>(value).sum_wyy;
    };
    const auto one = numbers(1);
    for (const unsigned threads : {2, 3, 7}) EXPECT_EQ(numbers(threads), one);
  }
  EXPECT_EQ(MemoryBudget::of_fills().used(), 0u);
}

TEST(ResultThreads, WaitsForItsTurnRatherThanForMemory) {
  const ResultSpec spec{"graph", {"x", "y"}};
  const std::vector<ValuesPtr> block = {column(normal_numbers(2500, 0, 1)),
                                        column(normal_numbers(2500, 1, 0.1, 2))};
  const auto one = std::get<GraphValue>(run(spec, block, 1, 2, 1));
  // Another user has taken the whole budget.
  MemoryBudget::Share all(MemoryBudget::of_fills());
  all.set(std::size_t{64} << 20);
  auto result = make_accumulator(spec, types_of(block));
  Line line(*result, 40, block, 5);
  Line::Context first(line, 0);
  Line::Context second(line, 1);
  auto earlier = result->begin(first);
  auto later = result->begin(second);
  std::thread worker([&] { later->add({2500, 2500}, block); });
  while (line.waits() == 0) std::this_thread::yield();
  earlier->add({0, 2500}, block);
  result->merge(std::move(earlier));
  line.pass_on(1);
  worker.join();
  result->merge(std::move(later));
  EXPECT_EQ(std::get<GraphValue>(result->value()).y, one.y);
}

TEST(ResultThreads, NobodyWaitsToFill) {
  const ResultSpec spec{
      "histogram", {"x", "w"}, R"({"axes": [{"bins": 10, "low": -3, "high": 3}], "weighted": true})"};
  const std::vector<ValuesPtr> block = {column(normal_numbers(2500, 0, 1)),
                                        column(normal_numbers(2500, 1, 0.1, 2))};
  auto result = make_accumulator(spec, types_of(block));
  Line line(*result, 2, block, 1);
  Line::Context first(line, 0);
  Line::Context second(line, 1);
  // The later part ends before the earlier one begins.
  auto later = result->begin(second);
  later->add({2500, 2500}, block);
  auto earlier = result->begin(first);
  earlier->add({0, 2500}, block);
  result->merge(std::move(earlier));
  line.pass_on(1);
  result->merge(std::move(later));
  EXPECT_EQ(line.waits(), 0u);
  EXPECT_EQ(std::get<HistogramValue>(result->value()).values,
            std::get<HistogramValue>(run(spec, block, 1, 2, 1)).values);
}

TEST(ResultThreads, ArraysInEntryOrder) {
  const std::vector<ValuesPtr> block = {list_column<float>({{1, 2}, {}, {3}})};
  const ResultSpec spec{"take", {"x"}};
  const auto items_of = [](const ResultValue& value) {
    const Values& lists = *std::get<ArraysValue>(value).columns.front().values;
    const float* items = lists.items().as<float>();
    return std::vector<float>(items, items + lists.items().size);
  };
  EXPECT_EQ(items_of(run(spec, block, 4)), items_of(run(spec, block, 1)));
}

TEST(ResultThreads, SumsAndSnapshots) {
  const std::vector<ValuesPtr> block = {column(normal_numbers(1000, 0, 1))};
  EXPECT_EQ(std::get<double>(run({"sum", {"x"}}, block, 1)), std::get<double>(run({"sum", {"x"}}, block, 4)));
  const ResultSpec snapshot{"snapshot", {"x"}, R"({"uri": "memory:results_threads.root", "name": "E"})"};
  EXPECT_EQ(std::get<SnapshotValue>(run(snapshot, block, 4)).entries, 40 * 5 * 1000u);
}

}  // namespace
}  // namespace colonnade::frame
