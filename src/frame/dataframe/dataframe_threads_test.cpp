// The DataFrame of C++ with several threads, for ThreadSanitizer: functions, samples, slots, results.
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <set>

#include "frame/dataframe/test_tools.h"

namespace colonnade {
namespace {

// Parts are small, so that every worker gets some: more than can be in flight before the first is done.
class DataFrameThreadsTest : public DataFrameTest {
 protected:
  DataFrameThreadsTest() { ::setenv("COLONNADE_TEST_PART_ENTRIES", "20", 1); }
  ~DataFrameThreadsTest() override { ::unsetenv("COLONNADE_TEST_PART_ENTRIES"); }
};
INSTANTIATE_TEST_SUITE_P(Threads, DataFrameThreadsTest, ::testing::Values(2u, 4u, 7u));

// The first parts block until every worker has one, since a busy machine may start the last thread late.
TEST_P(DataFrameThreadsTest, AllWorkersWork) {
  std::mutex mutex;
  std::condition_variable arrived;
  std::set<unsigned> slots;
  const auto df = frame().define_slot("seen", [&](unsigned slot) {
    std::unique_lock lock(mutex);
    if (slots.insert(slot).second) arrived.notify_all();
    return arrived.wait_for(lock, std::chrono::minutes(1), [&] { return slots.size() == GetParam(); });
  });
  EXPECT_THAT(*df.take<bool>("seen"), ::testing::Each(true));
}

TEST_P(DataFrameThreadsTest, AllWorkersShareFunctionsAndResults) {
  const auto df =
      frame()
          .define_per_sample("sample", [](const SampleInfo& sample) { return sample.name; })
          .define("y", [](double x, Floats v) { return x + static_cast<double>(v.size()); }, {"x", "v"})
          .define("list",
                  [](const std::vector<Hit>& hits) {
                    std::vector<double> energies;
                    for (const Hit& hit : hits) energies.push_back(hit.energy);
                    return energies;
                  },
                  {"hits"})
          .vary("y", "{y - 1, y + 1}", {"down", "up"})
          .filter([](std::string_view sample, double y) { return !sample.empty() && y > 20; },
                  {"sample", "y"}, "cut");
  const auto sums = variations_for(df.sum("list"));
  const auto counts = variations_for(df.count());
  const auto histogram = df.histo1d({"h", "", 100, 0, 600}, "y");
  const auto joined =
      df.aggregate<std::string>([](std::string& all, std::string_view s) { all += s; },
                                [](std::string& all, const std::string& later) { all += later; }, "s");
  const auto report = df.report();
  std::string expected;
  double energy = 0;
  for (const Event& of : events)
    if (of.x + of.n > 20) {
      expected += of.s;
      for (const Hit& hit : of.hits) energy += hit.energy;
    }
  EXPECT_EQ(*joined, expected);
  EXPECT_EQ(sums["nominal"], energy);
  EXPECT_EQ((*report)["cut"].passed, counts["nominal"]);
  EXPECT_EQ(histogram->entries, counts["nominal"]);
  EXPECT_LT(counts["y:down"], counts["y:up"]);
}

TEST_P(DataFrameThreadsTest, ForeachAndSnapshots) {
  std::vector<double> seen;
  frame().foreach ([&seen](double x) { seen.push_back(x); }, {"x"});
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(seen.size(), events.size());
  std::vector<double> sums(GetParam());
  frame().foreach_slot([&sums](unsigned slot, double x) { sums[slot] += x; }, {"x"});
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0.0), std::accumulate(seen.begin(), seen.end(), 0.0));
  const testing::MemoryFile file_copy;
  const auto copy = frame().snapshot("Copy", file_copy.uri(), {"x", "hits", "s"});
  EXPECT_EQ(*copy.take<double>("x"), seen);
}

TEST_P(DataFrameThreadsTest, AnExceptionInOneWorker) {
  const auto df = frame();
  for (int i = 0; i < 20; ++i)
    EXPECT_ANY_THROW(df.foreach_slot(
        [i](unsigned, double x) {
          if (x == 17.0 * i) throw std::runtime_error("stop");
        },
        {"x"}));
  EXPECT_EQ(*df.count(), events.size());
}

}  // namespace
}  // namespace colonnade
