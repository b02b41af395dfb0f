// The executor with several threads: identical bits, errors, cancelling, turns.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <thread>

#include "frame/executor/test_tools.h"
#include "frame/executor/threads.h"

namespace colonnade::frame {
namespace {

// Numbers whose sum depends on the order of addition.
std::shared_ptr<FakeSource> awkward_numbers(std::uint64_t entries = 20000, std::uint64_t part_size = 137) {
  return std::make_shared<FakeSource>(entries, part_size, [](std::uint32_t column, std::uint64_t entry) {
    const double x = std::sin(static_cast<double>(entry * 4 + column) * 12.9898) * 43758.5453;
    return std::exp(x - std::floor(x)) * (entry % 3 == 0 ? 1e9 : 1e-3);
  });
}

struct Analysis {
  explicit Analysis(std::uint64_t entries = 20000, std::uint64_t part_size = 137)
      : p(awkward_numbers(entries, part_size)) {
    const auto large = condition([](auto x) { return x[0] > 1; });
    const auto root = function([](auto x) { return std::sqrt(x[0]) * x[1]; }, true);
    const ExpressionId value = p.call(root, {p.column(0), p.column(1)});
    const SelectionId s = p.filter(0, p.call(large, {p.column(0)}));
    outputs = {p.output(0, {p.column(2)}), p.output(s, {value}),
               p.output(p.filter(s, p.call(large, {p.column(3)})), {value}),
               p.output(p.range(s, 100, 4000, 3), {value})};
  }
  TestProgram p;
  std::vector<std::shared_ptr<Recorder>> outputs;
};

TEST(ExecutorThreads, ResultsAreTheSameBitByBit) {
  Analysis reference;
  reference.p.run(1);
  for (const unsigned threads : {2u, 3u, 7u}) {
    for (const bool in_turn : {false, true}) {
      Analysis analysis;
      analysis.p.source->ahead = in_turn ? 8 : threads;
      for (const auto& out : analysis.outputs) out->waits_for_turn = in_turn;
      const RunReport report = analysis.p.run(threads);
      EXPECT_EQ(report.threads, threads);
      EXPECT_EQ(report.metrics.requests, threads);
      for (std::size_t i = 0; i < analysis.outputs.size(); ++i) {
        EXPECT_EQ(analysis.outputs[i]->sum, reference.outputs[i]->sum) << i;
        EXPECT_EQ(analysis.outputs[i]->records, reference.outputs[i]->records) << i;
      }
    }
  }
}

TEST(ExecutorThreads, EveryPartIsDoneOnceWhenWorkersAreUnequal) {
  auto source = awkward_numbers(4000, 100);
  TestProgram p(source);
  std::atomic<bool> slept{false};
  const auto slow_once = function([&](auto x) {
    if (!slept.exchange(true)) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return x[0];
  });
  const auto out = p.output(0, {p.call(slow_once, {p.column(0)})});
  p.run(3);
  EXPECT_EQ(source->parts_started, 40u);
  ASSERT_EQ(out->records.size(), 4000u);
  for (std::uint64_t i = 0; i < 4000; ++i) EXPECT_EQ(out->records[i].entry, i);
}

TEST(ExecutorThreads, TheNextPartsAreKnownAhead) {
  auto source = awkward_numbers(40'000, 100);
  source->ahead = 8;
  TestProgram p(source);
  const auto out = p.output(0, {p.column(0)});
  p.run(3);
  EXPECT_EQ(source->parts_started, 400u);
  EXPECT_GT(source->parts_told, 4 * source->parts_started);
  EXPECT_EQ(out->records.size(), 40'000u);
}

// A worker that is far ahead of the merged parts helps the one that they wait for.
TEST(ExecutorThreads, WorkersThatAreAheadTakeFromSlowOnes) {
  std::atomic<int> parts_done{0};
  const auto waits_for_others = function([&](auto x) {
    if (x[0] == 0)  // of the first part, while seven more wait for its worker
      for (int i = 0; i < 10000 && parts_done < 25; ++i)  // all within the window
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (static_cast<int>(x[0]) % 100 == 99) ++parts_done;
    return x[0];
  });
  auto source = std::make_shared<FakeSource>(
      10'000, 100, [](std::uint32_t, std::uint64_t entry) { return static_cast<double>(entry); });
  source->ahead = 8;
  TestProgram p(source);
  p.output(0, {p.call(waits_for_others, {p.column(0)})});
  p.run(2);
  EXPECT_GE(parts_done, 100);
}

// An idle worker takes the next part of a blocked one.
TEST(ExecutorThreads, IdleWorkersTakeFromBusyOnes) {
  std::atomic<int> parts_done{0};
  const auto waits_for_others = function([&](auto x) {
    if (x[1] == 0)
      for (int i = 0; i < 10000 && parts_done < 3; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (x[1] == 399 || x[1] == 299 || x[1] == 199) ++parts_done;
    return x[0];
  });
  auto source = std::make_shared<FakeSource>(  // four parts: two are current, two are next
      400, 100, [](std::uint32_t, std::uint64_t entry) { return static_cast<double>(entry); });
  TestProgram p(source);
  p.output(0, {p.call(waits_for_others, {p.column(0), p.column(1)})});
  p.run(2);
  EXPECT_EQ(parts_done, 3);
}

TEST(ExecutorThreads, TheFirstErrorInEntryOrderIsThrown) {
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i) {
    const std::uint64_t first = random() % 20000, second = random() % 20000;
    auto source = std::make_shared<FakeSource>(
        20000, 200, [](std::uint32_t, std::uint64_t entry) { return static_cast<double>(entry); });
    TestProgram p(source);
    const auto fails = function([=](auto x) -> double {
      const auto entry = static_cast<std::uint64_t>(x[0]);
      if (entry == first || entry == second) throw Error(ErrorKind::usage, std::to_string(entry));
      return x[0];
    });
    const auto out = p.output(0, {p.call(fails, {p.column(0)})});
    out->waits_for_turn = i % 2 == 0;
    try {
      p.run(1 + i % 5);
      FAIL() << "nothing thrown";
    } catch (const Error& error) {
      EXPECT_TRUE(error.problem().starts_with(std::to_string(std::min(first, second)) + " (in"))
          << error.problem() << ' ' << first << ' ' << second;
    }
    EXPECT_EQ(out->finished, 0);
  }
}

TEST(ExecutorThreads, ErrorsWhileMergingEndThePass) {
  Analysis analysis;
  int merges = 0;
  analysis.outputs[1]->on_merge = [&] {
    if (++merges == 20) throw std::runtime_error("full");
  };
  EXPECT_THROW(analysis.p.run(3), std::runtime_error);
  EXPECT_EQ(merges, 20);
}

TEST(ExecutorThreads, CancellingEndsThePass) {
  for (const unsigned threads : {1u, 2u, 5u}) {
    TestProgram p(awkward_numbers(100000, 50));
    const auto slow = function([](auto x) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      return x[0];
    });
    const auto out = p.output(0, {p.call(slow, {p.column(0)})});
    try {
      run({&p.program, 1}, {.threads = threads, .progress = [](const PassProgress&) { return false; }});
      FAIL() << "nothing thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_EQ(error.problem(), "cancelled");
    }
    EXPECT_LT(out->records.size(), 100000u);
    EXPECT_EQ(out->finished, 0);
  }
}

TEST(ExecutorThreads, ExceptionsOfTheCallbackPass) {
  for (const unsigned threads : {1u, 3u}) {
    Analysis analysis;
    EXPECT_THROW(run({&analysis.p.program, 1},
                     {.threads = threads,
                      .progress = [](const PassProgress&) -> bool { throw std::logic_error("no"); }}),
                 std::logic_error);
  }
}

TEST(ExecutorThreads, RangesEndThePassEarly) {
  for (const unsigned threads : {2u, 7u}) {
    TestProgram p(awkward_numbers(1000000, 100));
    const SelectionId s = p.filter(0, p.call(condition([](auto x) { return x[0] > 1; }), {p.column(0)}));
    const auto out = p.output(p.range(s, 0, 500));
    p.run(threads);
    EXPECT_EQ(out->records.size(), 500u);
    EXPECT_LT(p.source->parts_started, 200u);
  }
}

TEST(ExecutorThreads, ManyProgramsShareTheWorkers) {
  std::vector<std::unique_ptr<Analysis>> analyses;
  std::vector<Program> programs;
  for (int i = 0; i < 5; ++i) {
    analyses.push_back(std::make_unique<Analysis>(3000, 100 + i));
    programs.push_back(analyses.back()->p.program);
  }
  run(programs, {.threads = 3});
  for (int i = 0; i < 5; ++i) {
    Analysis reference(3000, 100 + i);
    reference.p.run(1);
    for (std::size_t o = 0; o < reference.outputs.size(); ++o)
      EXPECT_EQ(analyses[i]->outputs[o]->records, reference.outputs[o]->records);
  }
}

TEST(ExecutorThreads, UsesTheProcessorsThatItMay) {
  EXPECT_GE(usable_processors(), 1u);
  EXPECT_LE(usable_processors(), std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace colonnade::frame
