// Plans by hand and at random; the scheduler over a file whose queue answers when the test lets it.
#include "io/read_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>

namespace colonnade::io {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t large_file = std::uint64_t{1} << 40;

std::vector<std::uint64_t> offsets(const ReadPlan& plan) {
  std::vector<std::uint64_t> all;
  for (const ReadExtent& extent : plan.extents) all.push_back(extent.offset);
  return all;
}

TEST(ReadPlan, JoinsOverSmallGapsOnly) {
  const std::vector<WantedRange> wanted{{0, 100}, {200, 100}, {401, 100}};
  const ReadPlan plan = plan_reads(wanted, {.worthwhile_gap = 100}, 10000, large_file);
  ASSERT_EQ(plan.extents.size(), 2u);
  EXPECT_EQ(plan.extents[0].offset, 0u);
  EXPECT_EQ(plan.extents[0].size, 300u);
  EXPECT_EQ(plan.extents[0].wanted, 200u);
  EXPECT_EQ(plan.extents[1].offset, 401u);
  EXPECT_EQ(plan.ranges[1].extent, 0u);
  EXPECT_EQ(plan.ranges[1].position, 200u);
  EXPECT_EQ(plan.ranges[2].extent, 1u);
}

TEST(ReadPlan, KeepsTheOrderOfNeed) {
  const std::vector<WantedRange> wanted{{50000, 10}, {0, 10}, {90000, 10}, {50010, 10}};
  const ReadPlan plan = plan_reads(wanted, {}, 10000, large_file);
  EXPECT_THAT(offsets(plan), ElementsAre(50000, 0, 90000));
  EXPECT_EQ(plan.ranges[3].extent, 0u);
}

TEST(ReadPlan, StaysWithinTheLargestExtentUnlessOneRangeIsLarger) {
  const std::vector<WantedRange> wanted{{0, 600}, {600, 400}, {1000, 1}, {1001, 5000}, {6001, 1}};
  const ReadPlan plan = plan_reads(wanted, {}, 1000, large_file);
  EXPECT_THAT(offsets(plan), ElementsAre(0, 1000, 1001, 6001));
  EXPECT_EQ(plan.extents[2].size, 5000u);
}

TEST(ReadPlan, AlignsExtentsExceptAtTheEndOfTheFile) {
  const std::vector<WantedRange> wanted{{5000, 10}, {20000, 400}};
  const ReadPlan plan = plan_reads(wanted, {.worthwhile_gap = 0, .alignment = 4096}, 10000, 20400);
  ASSERT_EQ(plan.extents.size(), 2u);
  EXPECT_EQ(plan.extents[0].offset, 4096u);
  EXPECT_EQ(plan.extents[0].size, 4096u);
  EXPECT_EQ(plan.ranges[0].position, 904u);
  EXPECT_EQ(plan.extents[1].offset, 16384u);
  EXPECT_EQ(plan.extents[1].size, 20400u - 16384u);
}

TEST(ReadPlan, SplitsLargeExtentsEvenlyAndAligned) {
  const std::vector<WantedRange> wanted{{0, 100000}};
  const ReadPlan plan = plan_reads(wanted, {.max_request = 40000, .alignment = 4096}, 1 << 20, large_file);
  const ReadExtent& extent = plan.extents.at(0);
  EXPECT_EQ(extent.size, 102400u);
  EXPECT_EQ(extent.requests(), 3u);
  EXPECT_EQ(extent.request_size, 36864u);
}

TEST(ReadPlan, CountsOverlappingAndRepeatedRangesOnce) {
  const std::vector<WantedRange> wanted{{100, 50}, {100, 50}, {120, 10}, {140, 60}, {100, 100}};
  const ReadPlan plan = plan_reads(wanted, {}, 10000, large_file);
  ASSERT_EQ(plan.extents.size(), 1u);
  EXPECT_EQ(plan.extents[0].size, 100u);
  EXPECT_EQ(plan.extents[0].wanted, 100u);
}

TEST(ReadPlan, LeavesOutWhatIsEmptyOrNotInTheFile) {
  const std::uint64_t end = 1000;
  const std::vector<WantedRange> wanted{
      {0, 0}, {990, 11}, {1001, 1}, {~std::uint64_t{0} - 1, 2}, {1, ~std::size_t{0}}, {990, 10}};
  const ReadPlan plan = plan_reads(wanted, {.alignment = 512}, 10000, end);
  ASSERT_EQ(plan.extents.size(), 1u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(plan.ranges[i].extent, ReadPlan::none) << i;
  EXPECT_EQ(plan.ranges[5].extent, 0u);
  EXPECT_TRUE(plan_reads({}, {}, 1, end).extents.empty());
}

TEST(ReadPlan, JoinsWhatBeginsInOneUnitAndNothingElse) {
  // 0 and 60 lie in one unit, the second reaching over its end; 100 touches it but begins in the next.
  const std::vector<WantedRange> wanted{{100, 30}, {0, 10}, {60, 40}, {140, 20}, {192, 500}, {700, 1}};
  const ReadPlan plan = plan_reads(wanted, {.worthwhile_gap = 60, .read_unit = 64}, 1, large_file);
  EXPECT_THAT(offsets(plan), ElementsAre(100, 0, 140, 192, 700));
  EXPECT_EQ(plan.ranges[2].extent, plan.ranges[1].extent);
  EXPECT_EQ(plan.extents[1].size, 100u) << "a unit may be larger than other extents";
  EXPECT_EQ(plan.extents[1].wanted, 50u);
}

TEST(ReadPlan, JoinsUnitsWithoutAGapUpToTheBestRequest) {
  const IoTraits traits{.best_request = 192, .worthwhile_gap = 60, .read_unit = 64};
  const std::vector<WantedRange> wanted{{0, 64}, {64, 40}, {104, 60}, {164, 92}, {256, 10}, {321, 5}};
  const ReadPlan plan = plan_reads(wanted, traits, 1, large_file);
  // What begins in a unit comes whole; the fourth range would make the request larger than is best; between
  // the last two there is a gap.
  EXPECT_THAT(offsets(plan), ElementsAre(0, 164, 321));
  EXPECT_EQ(plan.extents[0].size, 164u);
  EXPECT_EQ(plan.extents[1].size, 102u);
}

// Each extent of a file with units is one unit's or, without any gap, at most a best request.
void check_units(const std::vector<WantedRange>& wanted, const IoTraits& traits, std::uint64_t file_size) {
  const ReadPlan plan = plan_reads(wanted, traits, 1, file_size);
  std::vector<std::vector<WantedRange>> parts(plan.extents.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const ReadPlan::PlannedRange range = plan.ranges[i];
    ASSERT_LT(range.extent, plan.extents.size());
    ASSERT_EQ(plan.extents[range.extent].offset + range.position, wanted[i].offset);
    parts[range.extent].push_back(wanted[i]);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::sort(parts[i].begin(), parts[i].end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
    std::uint64_t end = parts[i].front().offset;
    std::uint64_t unit = end / traits.read_unit;
    for (const WantedRange& part : parts[i]) {
      const bool is_in_unit = part.offset / traits.read_unit == unit;
      EXPECT_TRUE(is_in_unit || part.offset <= end) << "a gap between units is read over";
      EXPECT_TRUE(is_in_unit || part.offset + part.size - plan.extents[i].offset <= traits.best_request);
      unit = part.offset / traits.read_unit;
      end = std::max(end, part.offset + part.size);
    }
  }
}

TEST(ReadPlan, JoinsUnitsAsItPromisesForRandomRanges) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const IoTraits traits{.best_request = random() % 4 == 0 ? 0 : random() % 20'000,
                          .worthwhile_gap = random() % 300,
                          .read_unit = std::uint64_t{1} << (4 + random() % 10)};
    std::vector<WantedRange> wanted;
    // Pages one after the other, some of them not wanted.
    for (std::uint64_t offset = random() % 1000; offset < 100'000;) {
      const std::size_t size = 1 + random() % 3000;
      if (random() % 5 != 0) wanted.push_back({offset, size});
      offset += size + (random() % 6 == 0 ? random() % 500 : 0);
    }
    std::shuffle(wanted.begin(), wanted.end(), random);
    check_units(wanted, traits, 200'000);
  }
}

// What a plan promises, for one random set of ranges.
void check_plan(const std::vector<WantedRange>& wanted, const IoTraits& traits, std::size_t max_extent,
                std::uint64_t file_size) {
  const ReadPlan plan = plan_reads(wanted, traits, max_extent, file_size);
  ASSERT_EQ(plan.ranges.size(), wanted.size());
  std::vector<std::size_t> first_need(plan.extents.size(), wanted.size());
  std::size_t largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const ReadPlan::PlannedRange range = plan.ranges[i];
    ASSERT_LT(range.extent, plan.extents.size());
    const ReadExtent& extent = plan.extents[range.extent];
    ASSERT_EQ(extent.offset + range.position, wanted[i].offset);
    ASSERT_LE(range.position + wanted[i].size, extent.size);
    first_need[range.extent] = std::min(first_need[range.extent], i);
    largest = std::max(largest, wanted[i].size);
  }
  EXPECT_TRUE(std::is_sorted(first_need.begin(), first_need.end()));
  for (const ReadExtent& extent : plan.extents) {
    EXPECT_EQ(extent.offset % traits.alignment, 0u);
    const std::uint64_t end = extent.offset + extent.size;
    EXPECT_TRUE(end == file_size || end % traits.alignment == 0) << end;
    EXPECT_LE(end, file_size);
    EXPECT_LE(extent.size, std::max(max_extent, largest + 2 * traits.alignment));
    EXPECT_LE(extent.wanted, extent.size);
    EXPECT_EQ(extent.request_size % traits.alignment == 0 || extent.requests() == 1, true);
    EXPECT_LE(extent.request_size, std::max(traits.max_request, traits.alignment));
  }
}

TEST(ReadPlan, KeepsItsPromisesForRandomRanges) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t file_size = 1 + random() % 2'000'000;
    IoTraits traits{.max_request = 1 + random() % 100'000,
                    .worthwhile_gap = random() % 20'000,
                    .alignment = std::size_t{1} << (random() % 13)};
    std::vector<WantedRange> wanted(random() % 300);
    for (WantedRange& range : wanted) {
      range.offset = random() % file_size;
      range.size = 1 + random() % std::min<std::uint64_t>(file_size - range.offset, 30'000);
    }
    check_plan(wanted, traits, 1 + random() % 200'000, file_size);
  }
}

// A file whose requests are answered one by one by the test. Byte i of it is i modulo 251.
class HeldFile final : public RandomAccessFile {
 public:
  struct Held {
    std::uint64_t id, offset;
    MutableByteSpan into;
  };
  explicit HeldFile(const IoTraits& traits) : traits_(traits) {}
  mutable std::vector<std::size_t> batches;  // how many requests came together
  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return large_file; }
  IoTraits traits() const noexcept override { return traits_; }
  void read(std::uint64_t offset, MutableByteSpan into) const override {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = static_cast<std::byte>((offset + i) % 251);
  }
  std::unique_ptr<ReadQueue> open_queue(unsigned depth) const override {
    EXPECT_EQ(depth, traits_.concurrency);
    if (opens_no_queue) throw Error(ErrorKind::usage, "no queue in this process");
    return std::make_unique<Queue>(*this);
  }
  std::vector<std::uint64_t> held_offsets() const {
    std::vector<std::uint64_t> all;
    for (const Held& request : held_) all.push_back(request.offset);
    return all;
  }
  // Lets the oldest request go, with the next poll.
  void answer(std::size_t count = 1) const { to_answer_ += count; }
  mutable std::vector<std::uint64_t> order;   // offsets, as they were submitted
  std::uint64_t bad_offset = large_file;      // a request that starts here fails
  std::uint64_t refused_offset = large_file;  // and one that starts here is not even taken
  bool opens_no_queue = false;

 private:
  class Queue final : public ReadQueue {
   public:
    explicit Queue(const HeldFile& file) : file_(&file) {}
    void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
      EXPECT_LT(file_->held_.size(), file_->traits_.concurrency);
      file_->order.push_back(offset);
      begin();
      file_->held_.push_back({id, offset, into});
    }
    void submit_batch(std::span<const QueuedRead> reads) override {
      file_->batches.push_back(reads.size());
      for (const QueuedRead& read : reads) {
        if (read.offset == file_->refused_offset) throw Error(ErrorKind::usage, "not in this process");
        submit(read.id, read.offset, read.into);
      }
    }

   private:
    void progress(bool block) override {
      for (; !file_->held_.empty() && (file_->to_answer_ > 0 || block); block = false) {
        const Held request = file_->held_.front();
        file_->held_.erase(file_->held_.begin());
        if (file_->to_answer_ > 0) --file_->to_answer_;
        if (request.offset == file_->bad_offset) {
          finish(request.id, std::make_exception_ptr(Error(ErrorKind::io, "the disk is on fire")));
        } else {
          file_->read(request.offset, request.into);
          finish(request.id);
        }
      }
    }

    const HeldFile* file_;
  };
  std::string uri_ = "held:";
  IoTraits traits_;
  mutable std::vector<Held> held_;
  mutable std::size_t to_answer_ = 0;
};

struct Started {
  Bytes buffer;
  ReadScheduler::Id id = 0;
};

Started start(ReadScheduler& scheduler, std::uint64_t offset, std::size_t size, std::size_t request_size,
              bool urgent = false) {
  Started result{Bytes(size), 0};
  result.id = scheduler.start({offset, size, size, request_size}, result.buffer, urgent);
  return result;
}

bool holds(const Started& extent, std::uint64_t offset) {
  for (std::size_t i = 0; i < extent.buffer.size(); ++i)
    if (extent.buffer[i] != static_cast<std::byte>((offset + i) % 251)) return false;
  return true;
}

TEST(ReadScheduler, SubmitsTogetherWhatWasHeld) {
  const HeldFile file({.concurrency = 4});
  ReadScheduler scheduler(file);
  const Started late = start(scheduler, 500, 40, 10);
  EXPECT_THAT(file.batches, ElementsAre(4));
  scheduler.hold();
  const Started first = start(scheduler, 0, 10, 10, true);
  const Started second = start(scheduler, 100, 20, 10, true);
  const Started third = start(scheduler, 200, 10, 10);
  file.answer(4);
  scheduler.poll();
  EXPECT_THAT(file.batches, ElementsAre(4));
  scheduler.release();
  EXPECT_THAT(file.batches, ElementsAre(4, 4));
  EXPECT_THAT(file.held_offsets(), ElementsAre(0, 100, 110, 200)) << "urgent ones in their order";
  scheduler.hold();
  scheduler.wait_for(third.id);  // ends whether or not anybody releases
  EXPECT_TRUE(holds(second, 100));
}

TEST(ReadScheduler, FailsWhatTheQueueRefuses) {
  HeldFile file({.concurrency = 8});
  file.refused_offset = 110;
  ReadScheduler scheduler(file);
  scheduler.hold();
  const Started first = start(scheduler, 0, 10, 10);
  const Started second = start(scheduler, 100, 40, 10);
  const Started third = start(scheduler, 200, 10, 10);
  scheduler.release();
  scheduler.wait_for(first.id);
  EXPECT_TRUE(holds(first, 0));
  EXPECT_THROW(scheduler.wait_for(second.id), Error);
  EXPECT_THROW(scheduler.wait_for(third.id), Error) << "it came with the same batch";
  scheduler.forget(second.id);
  scheduler.forget(third.id);
  EXPECT_EQ(scheduler.unsettled(), 0u);
  const Started again = start(scheduler, 300, 10, 10);
  scheduler.wait_for(again.id);
  EXPECT_TRUE(holds(again, 300));
}

TEST(ReadScheduler, EndsWhereNoQueueCanBeOpened) {
  HeldFile file({.concurrency = 8});
  file.opens_no_queue = true;
  ReadScheduler scheduler(file);
  EXPECT_THROW(start(scheduler, 0, 10, 10), Error);
  scheduler.poll();
  EXPECT_EQ(scheduler.unsettled(), 0u);
}

TEST(ReadScheduler, KeepsTheDeclaredNumberInFlightInOrder) {
  const HeldFile file({.concurrency = 2});
  ReadScheduler scheduler(file);
  const Started first = start(scheduler, 0, 30, 10);
  const Started second = start(scheduler, 100, 10, 10);
  EXPECT_THAT(file.held_offsets(), ElementsAre(0, 10));
  file.answer();
  scheduler.poll();
  EXPECT_THAT(file.held_offsets(), ElementsAre(10, 20));
  EXPECT_FALSE(scheduler.settled(first.id));
  EXPECT_EQ(scheduler.unsettled(), 2u);
  file.answer(3);
  scheduler.poll();
  EXPECT_TRUE(scheduler.settled(first.id));
  scheduler.wait_for(second.id);
  EXPECT_THAT(file.order, ElementsAre(0, 10, 20, 100));
  EXPECT_TRUE(holds(first, 0));
  EXPECT_TRUE(holds(second, 100));
  EXPECT_EQ(scheduler.unsettled(), 0u);
  EXPECT_EQ(scheduler.counters().requests, 4u);
  EXPECT_EQ(scheduler.counters().bytes, 40u);
}

TEST(ReadScheduler, CountsWaitsAndBytesReadOver) {
  const HeldFile file({.concurrency = 1});
  ReadScheduler scheduler(file);
  Bytes buffer(20);
  const auto id = scheduler.start({.offset = 5, .size = 20, .wanted = 15, .request_size = 20}, buffer);
  scheduler.wait_for(id);
  scheduler.wait_for(id);
  EXPECT_EQ(scheduler.counters().waits, 1u);
  EXPECT_EQ(scheduler.counters().read_over_bytes, 5u);
  EXPECT_GE(scheduler.counters().seconds_waiting, 0);
}

TEST(ReadScheduler, UrgentOnesJumpTheLine) {
  const HeldFile file({.concurrency = 1});
  ReadScheduler scheduler(file);
  const Started a = start(scheduler, 0, 20, 10);
  const Started b = start(scheduler, 100, 10, 10);
  const Started c = start(scheduler, 200, 10, 10);
  const Started d = start(scheduler, 300, 10, 10, true);
  scheduler.wait_for(c.id);
  scheduler.wait_for(b.id);
  scheduler.wait_for(a.id);
  scheduler.wait_for(d.id);
  EXPECT_THAT(file.order, ElementsAre(0, 200, 300, 100, 10));
  EXPECT_TRUE(holds(c, 200));
}

TEST(ReadScheduler, CancelsWhatWasNotSubmitted) {
  const HeldFile file({.concurrency = 1});
  ReadScheduler scheduler(file);
  const Started a = start(scheduler, 0, 20, 10);
  const Started b = start(scheduler, 100, 10, 10);
  scheduler.cancel(b.id);
  EXPECT_TRUE(scheduler.settled(b.id));
  scheduler.cancel(a.id);
  EXPECT_FALSE(scheduler.settled(a.id));
  file.answer(10);
  scheduler.poll();
  EXPECT_TRUE(scheduler.settled(a.id));
  EXPECT_EQ(scheduler.unsettled(), 0u);
  EXPECT_THAT(file.order, ElementsAre(0));
  EXPECT_THROW(scheduler.wait_for(a.id), Error);
}

TEST(ReadScheduler, ForgetsOnlyWhenTheBufferIsFree) {
  const HeldFile file({.concurrency = 4});
  ReadScheduler scheduler(file);
  const Started a = start(scheduler, 0, 30, 10);
  scheduler.forget(a.id);
  EXPECT_TRUE(file.held_offsets().empty());
  EXPECT_THROW(scheduler.settled(a.id), Error);
}

TEST(ReadScheduler, ReportsTheFailureOfItsExtentAndGoesOn) {
  HeldFile file({.concurrency = 2});
  file.bad_offset = 0;
  ReadScheduler scheduler(file);
  const Started a = start(scheduler, 0, 50, 10);
  const Started b = start(scheduler, 100, 10, 10);
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      scheduler.wait_for(a.id);
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.problem(), "the disk is on fire");
    }
  }
  scheduler.wait_for(b.id);
  EXPECT_TRUE(holds(b, 100));
  EXPECT_EQ(scheduler.unsettled(), 0u);
  EXPECT_LT(file.order.size(), 6u);  // the rest of what failed is not read
}

TEST(ReadScheduler, ReadsNothingEarlyWhereReadingBlocks) {
  const std::string uri = "memory:read_scheduler";
  auto writer = open_for_writing(uri, OpenMode::create);
  writer->write(0, Bytes(1000, std::byte{7}));
  writer->close();
  const auto file = open_for_reading(uri);
  ReadScheduler scheduler(*file);
  const Started a = start(scheduler, 0, 100, 10);
  const Started b = start(scheduler, 500, 100, 10);
  scheduler.poll();
  EXPECT_EQ(scheduler.counters().requests, 0u);
  scheduler.wait_for(b.id);
  EXPECT_EQ(b.buffer, Bytes(100, std::byte{7}));
  EXPECT_EQ(scheduler.counters().requests, 10u);
  EXPECT_FALSE(scheduler.settled(a.id));
  scheduler.forget(a.id);
}

// Bytes that can be computed from their offset. Reads over `broken` fail.
class ComputedFile final : public RandomAccessFile {
 public:
  static constexpr std::uint64_t file_size = 100000;
  static std::byte at(std::uint64_t offset) { return static_cast<std::byte>(offset * 7 % 251); }

  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return file_size; }
  IoTraits traits() const noexcept override {
    return {.max_request = 3000, .worthwhile_gap = 50, .concurrency = 4};
  }
  void read(std::uint64_t offset, MutableByteSpan into) const override {
    ++requests;
    if (broken >= offset && broken < offset + into.size()) throw Error(ErrorKind::io, "a bad sector");
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = at(offset + i);
  }

  std::uint64_t broken = ~std::uint64_t{0};
  mutable std::atomic<unsigned> requests = 0;

 private:
  std::string uri_ = "computed";
};

TEST(ReadRanges, FillsRandomRanges) {
  std::mt19937 random(1);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const ComputedFile file;
    std::vector<WantedRange> wanted(random() % 30);
    std::vector<Bytes> memory;
    std::vector<ReadRequest> requests;
    memory.reserve(wanted.size());
    for (WantedRange& range : wanted) {
      range = {.offset = random() % ComputedFile::file_size, .size = random() % 200};
      range.size = std::min<std::size_t>(range.size, ComputedFile::file_size - range.offset);
      memory.emplace_back(range.size);
      requests.push_back({range.offset, memory.back()});
    }
    read_ranges(file, requests, 5000);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      for (std::size_t k = 0; k < wanted[i].size; ++k)
        ASSERT_EQ(memory[i][k], ComputedFile::at(wanted[i].offset + k)) << i << ", " << k;
  }
}

TEST(ReadRanges, ReadsNeighboursTogether) {
  const ComputedFile file;
  std::array<std::array<std::byte, 100>, 10> memory{};
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < memory.size(); ++i) requests.push_back({1000 + i * 120, memory[i]});
  read_ranges(file, requests, 5000);
  EXPECT_EQ(file.requests, 1u);
}

TEST(ReadRanges, NamesTheRangeThatCannotBeRead) {
  ComputedFile file;
  file.broken = 1250;
  std::array<std::array<std::byte, 100>, 4> memory{};
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < memory.size(); ++i) requests.push_back({1000 + i * 100, memory[i]});
  try {
    read_ranges(file, requests, 5000);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.problem(), "a bad sector");
    EXPECT_EQ(error.context().offset, 1200u);
  }
  EXPECT_EQ(memory[1][99], ComputedFile::at(1199));
}

}  // namespace
}  // namespace colonnade::io
