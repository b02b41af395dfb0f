// What is learnt of a line by requests whose times the test makes up, and what the scheduler makes of it: how
// many requests are on their way over lines of all kinds, and how close it comes to the line's rate.
#include "io/line_estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "io/read_scheduler.h"
#include "io/simulated_line.h"

namespace colonnade::io {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t mib = std::size_t{1} << 20;
const LineEstimate::Time start{seconds(5)};

TEST(LineEstimates, KnowsNothingAtFirst) {
  const LineEstimate line;
  EXPECT_EQ(line.product(), 0u);
  EXPECT_EQ(line.mean_request(), 0u);
}

TEST(LineEstimates, TakesALineOfWhichOnlyTheRoundTripIsKnownForAFastOne) {
  const LineEstimate line(milliseconds(50));
  EXPECT_EQ(line.product(), 25'000'000u);
}

TEST(LineEstimates, IsTheProductOfTheLeastTimeAndTheBestRate) {
  LineEstimate line;
  const auto a = line.depart(1000, start);
  const auto b = line.depart(3000, start);
  line.arrive(a, start + milliseconds(20));
  line.arrive(b, start + milliseconds(40));
  EXPECT_EQ(line.round_trip(), milliseconds(20));
  EXPECT_DOUBLE_EQ(line.rate(), 4000 / 0.040);
  EXPECT_EQ(line.product(), 2000u);
  EXPECT_EQ(line.mean_request(), 2000u);
}

TEST(LineEstimates, DoesNotCountTheTimeInWhichNothingWasAskedFor) {
  LineEstimate line;
  line.arrive(line.depart(1000, start), start + milliseconds(10));
  line.arrive(line.depart(1000, start + seconds(1)), start + seconds(1) + milliseconds(10));
  EXPECT_DOUBLE_EQ(line.rate(), 100'000);
}

TEST(LineEstimates, ForgetsWhatWasNotSeenForAWhile) {
  LineEstimate line;
  line.arrive(line.depart(1'000'000, start), start + milliseconds(1));
  auto now = start;
  for (int i = 0; i < 110; ++i, now += milliseconds(100))
    line.arrive(line.depart(1000, now), now + milliseconds(100));
  EXPECT_NEAR(line.rate(), 10'000, 1);
  EXPECT_EQ(line.round_trip(), std::chrono::microseconds(1250));
  for (int i = 0; i < 3000; ++i, now += milliseconds(100))
    line.arrive(line.depart(1000, now), now + milliseconds(100));
  EXPECT_EQ(line.round_trip(), milliseconds(100));
}

TEST(LineEstimates, FailuresSayNothing) {
  LineEstimate line;
  static_cast<void>(line.depart(1000, start));
  line.lose();
  EXPECT_EQ(line.product(), 0u);
}

// A file in which no byte is read: only times are of interest.
class EmptyFile final : public RandomAccessFile {
 public:
  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return std::uint64_t{1} << 50; }
  IoTraits traits() const noexcept override { return {}; }
  void read(std::uint64_t /*offset*/, MutableByteSpan /*into*/) const override {}

 private:
  std::string uri_ = "nowhere";
};

// Reads so many extents in order, with `ahead` of them started, and returns the simulated seconds.
double read_in_order(SimulatedLine& line, std::size_t extents, std::size_t size, std::size_t ahead) {
  const SimulatedFile file(std::make_unique<EmptyFile>(), line);
  Bytes memory(size);
  const auto begin = line.now;
  ReadScheduler scheduler(file);
  std::deque<ReadScheduler::Id> started;
  for (std::size_t next = 0, done = 0; done < extents; ++done) {
    for (; next < extents && started.size() < ahead; ++next)
      started.push_back(scheduler.start(
          {.offset = next * size, .size = size, .wanted = size, .request_size = size}, memory));
    scheduler.wait_for(started.front());
    scheduler.forget(started.front());
    started.pop_front();
  }
  return line.seconds_since(begin);
}

TEST(FarScheduler, FillsALongLineWithinFewRoundTrips) {
  SimulatedLine line{.round_trip = milliseconds(50), .rate = 400e6};  // the product is 20 MB
  const double seconds = read_in_order(line, 1000, mib, 200);
  const double least = 1000.0 * mib / line.rate + 0.05;
  EXPECT_LT(seconds, 1.15 * least);
  EXPECT_GE(line.most_in_flight, 20u);
  EXPECT_LE(line.most_in_flight, line.most_concurrency);
}

TEST(FarScheduler, AsksForMoreSmallRequestsThanLargeOnes) {
  SimulatedLine small{.round_trip = milliseconds(50), .rate = 100e6};
  SimulatedLine large{.round_trip = milliseconds(50), .rate = 100e6};
  read_in_order(small, 2000, mib / 8, 200);
  read_in_order(large, 500, 4 * mib, 200);
  EXPECT_EQ(small.most_in_flight, small.most_concurrency);
  EXPECT_LT(large.most_in_flight, 16u);
}

TEST(FarScheduler, AsksForNoMoreWhereTheLineIsShort) {
  SimulatedLine line{.round_trip = std::chrono::microseconds(200), .rate = 400e6};
  read_in_order(line, 1000, mib, 200);
  EXPECT_EQ(line.most_in_flight, line.concurrency);
}

TEST(FarScheduler, ComesCloseToTheRateOfRandomLines) {
  std::mt19937_64 random(20'261'124);
  const auto between = [&](double low, double high) {
    return low * std::exp(std::uniform_real_distribution<double>(0, std::log(high / low))(random));
  };
  for (int round = 0; round < 100; ++round) {
    SimulatedLine line{.round_trip = std::chrono::microseconds(static_cast<int>(between(100, 200'000))),
                       .rate = between(5e6, 2e9)};
    const auto size = static_cast<std::size_t>(between(64 << 10, 4 << 20));
    const double round_trip = std::chrono::duration<double>(line.round_trip).count();
    const std::size_t extents = 300 + static_cast<std::size_t>(20 * line.rate * round_trip) / size;
    const double seconds = read_in_order(line, extents, size, 500);
    const double bytes = static_cast<double>(extents * size);
    // With all requests that are allowed the line may still be too long.
    const double at_most = static_cast<double>(line.most_concurrency * size) /
                           (round_trip + static_cast<double>(size) / line.rate);
    const double least = bytes / std::min(line.rate, at_most) + 5 * round_trip;
    EXPECT_LT(seconds, 1.3 * least) << "round trip " << round_trip << " s, " << line.rate << " B/s, "
                                    << extents << " requests of " << size;
    EXPECT_EQ(line.requests, extents);
    EXPECT_LE(line.most_in_flight, line.most_concurrency);
  }
}

}  // namespace
}  // namespace colonnade::io
