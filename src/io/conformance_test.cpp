// What users of io::RandomAccessFile and io::WritableFile may rely on, for every transport.
#include "io/conformance_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <numeric>
#include <thread>

#include "base/aligned_buffer.h"
#include "base/test_errors.h"
#include "io/read_scheduler.h"

namespace colonnade::io {

std::vector<TransportUnderTest>& transports_under_test() {
  static std::vector<TransportUnderTest> all;
  return all;
}

namespace {

using testing::HasSubstr;

Bytes pattern(std::size_t size, unsigned seed = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) + seed) & 0xff);
  return bytes;
}

class Transports : public testing::TestWithParam<TransportUnderTest> {
 protected:
  std::string fresh() const {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    return GetParam().fresh_uri(name.substr(0, name.find('/')));
  }
  std::string stored(ByteSpan content) const {
    const std::string uri = fresh();
    GetParam().store(uri, content);
    return uri;
  }
};

class WritingTransports : public Transports {
 protected:
  void SetUp() override { ASSERT_TRUE(GetParam().can_write); }
};

class UpdatingTransports : public WritingTransports {
 protected:
  void SetUp() override { ASSERT_TRUE(GetParam().can_update); }
};

TEST_P(Transports, ReadsAnyRange) {
  const Bytes content = pattern(100000);
  const auto file = open_for_reading(stored(content), GetParam().read_options);
  EXPECT_EQ(file->size(), content.size());
  for (const auto& [offset, count] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 100000}, {0, 1}, {99999, 1}, {4095, 2}, {17, 65536}}) {
    Bytes into(count);
    file->read(offset, into);
    EXPECT_TRUE(std::equal(into.begin(), into.end(), content.begin() + static_cast<std::ptrdiff_t>(offset)))
        << offset;
  }
}

TEST_P(Transports, ReadingNothingInsideDoesNotThrow) {
  const auto file = open_for_reading(stored(pattern(10)), GetParam().read_options);
  file->read(0, {});
  file->read(10, {});
  file->read_vector({});
}

TEST_P(Transports, OpensAnEmptyFile) {
  const auto file = open_for_reading(stored({}), GetParam().read_options);
  EXPECT_EQ(file->size(), 0u);
}

TEST_P(Transports, NamesItsUri) {
  const std::string uri = stored(pattern(1));
  EXPECT_EQ(open_for_reading(uri, GetParam().read_options)->uri(), uri);
}

TEST_P(Transports, DeclaresUsableNumbers) {
  const IoTraits traits = open_for_reading(stored(pattern(1)), GetParam().read_options)->traits();
  EXPECT_GE(traits.max_request, 4096u);
  EXPECT_GE(traits.concurrency, 1u);
}

TEST_P(Transports, RefusesToReadPastTheEnd) {
  const std::string uri = stored(pattern(100));
  const auto file = open_for_reading(uri, GetParam().read_options);
  Bytes into(50);
  for (const std::uint64_t offset :
       {std::uint64_t{51}, std::uint64_t{100}, std::uint64_t{1} << 40, ~std::uint64_t{0} - 10}) {
    const Error error = error_of([&] { file->read(offset, into); });
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_EQ(error.problem(), "50 bytes were requested beyond the end of the file (100 bytes)");
    EXPECT_EQ(error.context().uri, uri);
    EXPECT_EQ(error.context().offset, offset);
  }
  const ReadRequest beyond{90, into};
  EXPECT_EQ(error_of([&] { file->read_vector({&beyond, 1}); }).kind(), ErrorKind::format);
}

TEST_P(Transports, VectorReadsEqualSingleReads) {
  const Bytes content = pattern(300000);
  const auto file = open_for_reading(stored(content), GetParam().read_options);
  // Adjacent, overlapping, apart, empty, out of order.
  const std::vector<std::pair<std::size_t, std::size_t>> ranges{
      {5000, 100}, {0, 10},   {10, 4990},  {100000, 150000}, {99990, 20},
      {5100, 0},   {5100, 1}, {299999, 1}, {0, 300000},      {10, 10}};
  std::vector<Bytes> into;
  for (const auto& range : ranges) into.emplace_back(range.second);
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < ranges.size(); ++i) requests.push_back({ranges[i].first, into[i]});
  file->read_vector(requests);
  for (std::size_t i = 0; i < ranges.size(); ++i)
    EXPECT_TRUE(std::equal(into[i].begin(), into[i].end(),
                           content.begin() + static_cast<std::ptrdiff_t>(ranges[i].first)))
        << i;
}

TEST_P(Transports, VectorReadsTakeThousandsOfRequests) {
  const Bytes content = pattern(5000);
  const auto file = open_for_reading(stored(content), GetParam().read_options);
  Bytes into(content.size());
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < into.size(); ++i) requests.push_back({i, MutableByteSpan(into).subspan(i, 1)});
  file->read_vector(requests);
  EXPECT_EQ(into, content);
}

TEST_P(Transports, ManyThreadsReadOneFile) {
  const Bytes content = pattern(200000);
  const auto file = open_for_reading(stored(content), GetParam().read_options);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t offset = t; offset + 1000 < content.size(); offset += 977) {
        Bytes into(1000);
        file->read(offset, into);
        if (!std::equal(into.begin(), into.end(), content.begin() + static_cast<std::ptrdiff_t>(offset)))
          ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Fills buffers through a queue and records the failure of each id.
struct Answers {
  std::map<std::uint64_t, std::exception_ptr> by_id;
  void take_from(ReadQueue& queue, bool block) {
    std::array<ReadQueue::Completion, 3> some;
    const std::size_t count = queue.wait(some, block);
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_TRUE(by_id.emplace(some[i].id, some[i].failure).second) << some[i].id << " came back twice";
  }
  void take_all_from(ReadQueue& queue) {
    while (queue.in_flight() > 0) take_from(queue, true);
  }
};

TEST_P(Transports, QueuesReturnEveryRequestOnce) {
  const Bytes content = pattern(300000);
  const auto file = open_for_reading(stored(content), GetParam().read_options);
  for (const unsigned depth : {1u, 4u, 16u}) {
    const std::unique_ptr<ReadQueue> queue = file->open_queue(depth);
    std::vector<Bytes> into;
    Answers answers;
    for (std::size_t i = 0; i < 200; ++i) {
      into.emplace_back(i * 331 % 5000);
      queue->submit(1000 + i, i * 1451, into.back());
      if (i % 3 == 0) answers.take_from(*queue, i % 2 == 0);
      EXPECT_EQ(queue->in_flight() + answers.by_id.size(), i + 1);
    }
    answers.take_all_from(*queue);
    EXPECT_EQ(answers.by_id.size(), 200u);
    for (std::size_t i = 0; i < 200; ++i) {
      EXPECT_EQ(answers.by_id.count(1000 + i), 1u);
      EXPECT_EQ(answers.by_id[1000 + i], nullptr);
      EXPECT_TRUE(
          std::equal(into[i].begin(), into[i].end(), content.begin() + static_cast<std::ptrdiff_t>(i * 1451)))
          << i;
    }
  }
}

TEST_P(Transports, QueuesTakeAlignedRequests) {
  const Bytes content = pattern(1000000);
  const auto file = open_for_reading(stored(content), GetParam().read_options);
  const std::size_t step = 16 * std::max<std::size_t>(file->traits().alignment, 512);
  AlignedBuffer into(content.size(), file->traits().alignment > 64 ? file->traits().alignment : 64);
  const std::unique_ptr<ReadQueue> queue = file->open_queue(8);
  for (std::size_t at = 0; at < content.size(); at += step)
    queue->submit(at, at, into.span().subspan(at, std::min(step, content.size() - at)));
  Answers answers;
  answers.take_all_from(*queue);
  for (const auto& [id, failure] : answers.by_id) EXPECT_EQ(failure, nullptr) << id;
  EXPECT_TRUE(std::equal(content.begin(), content.end(), into.data()));
}

TEST_P(Transports, QueuesReportTheFailureOfEachRequest) {
  const Bytes content = pattern(10000);
  const std::string uri = stored(content);
  const auto file = open_for_reading(uri, GetParam().read_options);
  const std::unique_ptr<ReadQueue> queue = file->open_queue(4);
  std::vector<Bytes> into(40, Bytes(500));
  for (std::size_t i = 0; i < into.size(); ++i) queue->submit(i, i * 400, into[i]);
  Answers answers;
  answers.take_all_from(*queue);
  ASSERT_EQ(answers.by_id.size(), into.size());
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (i * 400 + 500 <= content.size()) {
      EXPECT_EQ(answers.by_id[i], nullptr) << i;
      EXPECT_TRUE(
          std::equal(into[i].begin(), into[i].end(), content.begin() + static_cast<std::ptrdiff_t>(i * 400)));
      continue;
    }
    ASSERT_NE(answers.by_id[i], nullptr) << i;
    const Error error = error_of([&] { std::rethrow_exception(answers.by_id[i]); });
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_EQ(error.context().uri, uri);
    EXPECT_EQ(error.context().offset, i * 400);
  }
}

TEST_P(Transports, LeavingAQueueWithRequestsInFlightDoesNotCrash) {
  const auto file = open_for_reading(stored(pattern(1000000)), GetParam().read_options);
  for (int round = 0; round < 10; ++round) {
    Bytes into(1000000);
    const std::unique_ptr<ReadQueue> queue = file->open_queue(8);
    for (std::size_t i = 0; i < 8; ++i)
      queue->submit(i, i * 125000, MutableByteSpan(into).subspan(i * 125000, 125000));
  }
}

TEST_P(Transports, QueuesDoNotWaitForNothing) {
  const auto file = open_for_reading(stored(pattern(1000)), GetParam().read_options);
  const std::unique_ptr<ReadQueue> queue = file->open_queue(2);
  std::array<ReadQueue::Completion, 2> some;
  EXPECT_EQ(queue->wait(some, true), 0u);
  EXPECT_EQ(queue->wait(some, false), 0u);
  Bytes into(10);
  queue->submit(1, 5, into);
  EXPECT_EQ(queue->wait({}, true), 0u);
  EXPECT_EQ(queue->in_flight(), 1u);
  EXPECT_EQ(queue->wait(some, true), 1u);
  EXPECT_EQ(queue->in_flight(), 0u);
}

TEST_P(Transports, TheSchedulerReadsWhatIsPlanned) {
  const Bytes content = pattern(500000);
  const auto file = open_for_reading(stored(content), GetParam().read_options);
  std::vector<WantedRange> wanted;
  for (std::size_t i = 0; i < 100; ++i) wanted.push_back({i * 7919 % 490000, 1 + i * 97});
  wanted.push_back({499990, 10});
  const ReadPlan plan = plan_reads(wanted, file->traits(), 65536, file->size());
  ReadScheduler scheduler(*file);
  std::vector<AlignedBuffer> buffers;
  std::vector<ReadScheduler::Id> ids;
  for (const ReadExtent& extent : plan.extents) {
    buffers.emplace_back(extent.size, std::max<std::size_t>(file->traits().alignment, 64));
    ids.push_back(scheduler.start(extent, buffers.back().span()));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const ReadPlan::PlannedRange range = plan.ranges[i];
    scheduler.wait_for(ids[range.extent]);
    const std::byte* bytes = buffers[range.extent].data() + range.position;
    EXPECT_TRUE(std::equal(bytes, bytes + wanted[i].size,
                           content.begin() + static_cast<std::ptrdiff_t>(wanted[i].offset)))
        << i;
  }
}

TEST_P(Transports, SaysThatAFileIsMissing) {
  const std::string uri = GetParam().fresh_uri("missing");
  const Error error = error_of([&] { open_for_reading(uri, GetParam().read_options); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.context().uri, uri);
  EXPECT_FALSE(error.advice().empty());
}

TEST_P(WritingTransports, WritesInAnyOrder) {
  const std::string uri = fresh();
  const Bytes content = pattern(50000);
  const auto file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
  file->write(30000, ByteSpan(content).subspan(30000));
  file->write(0, ByteSpan(content).first(10000));
  file->write(10000, ByteSpan(content).subspan(10000, 20000));
  EXPECT_EQ(file->size(), content.size());
  Bytes back(100);
  file->read(12345, back);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), content.begin() + 12345));
  file->close();
  EXPECT_EQ(GetParam().content(uri), content);
}

TEST_P(WritingTransports, WritesManyPartsAtOnce) {
  const std::string uri = fresh();
  const Bytes content = pattern(9000);
  std::vector<ByteSpan> parts{{}};
  for (std::size_t i = 0; i < 3000; ++i) parts.push_back(ByteSpan(content).subspan(3 * i, 3));
  parts.emplace_back();
  const auto file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
  file->write(0, as_bytes("head"));
  file->write_vector(4, parts);
  file->write_vector(4, {});
  file->close();
  const Bytes all = GetParam().content(uri);
  ASSERT_EQ(all.size(), 9004u);
  EXPECT_TRUE(std::equal(content.begin(), content.end(), all.begin() + 4));
}

TEST_P(WritingTransports, LeavesZerosInHoles) {
  const std::string uri = fresh();
  const auto file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
  file->write(1000, as_bytes("x"));
  file->close();
  const Bytes all = GetParam().content(uri);
  ASSERT_EQ(all.size(), 1001u);
  EXPECT_EQ(std::accumulate(all.begin(), all.end() - 1, 0,
                            [](int sum, std::byte b) { return sum + static_cast<int>(b); }),
            0);
}

TEST_P(WritingTransports, CreateReplacesWhatWasThere) {
  const std::string uri = stored(pattern(100));
  const auto file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
  EXPECT_EQ(file->size(), 0u);
  file->write(0, pattern(50, 7));
  file->close();
  EXPECT_EQ(GetParam().content(uri), pattern(50, 7));
}

TEST_P(WritingTransports, WritesAnEmptyFile) {
  const std::string uri = stored(pattern(100));
  open_for_writing(uri, OpenMode::create, GetParam().write_options)->close();
  EXPECT_EQ(GetParam().content(uri), Bytes());
}

TEST_P(WritingTransports, WhatIsThereStaysUntilTheNewFileIsComplete) {
  const std::string uri = stored(pattern(100));
  auto file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
  file->write(0, pattern(70, 7));
  file->flush();
  EXPECT_EQ(GetParam().content(uri), pattern(100));
  file->discard();
  file.reset();
  EXPECT_EQ(GetParam().content(uri), pattern(100));
  file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
  file->write(0, pattern(70, 7));
  file.reset();
  EXPECT_EQ(GetParam().content(uri), pattern(100));
}

// By a writer that does not take the lock.
TEST_P(WritingTransports, AFileThatCameMeanwhileIsNotReplacedByANewOne) {
  const std::string uri = fresh();
  {
    const auto file = open_for_writing(uri, OpenMode::create_new, GetParam().write_options);
    file->write(0, pattern(100));
    GetParam().store(uri, pattern(50, 7));
    const Error error = error_of([&] { file->close(); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.problem(), HasSubstr("another program has created the"));
    EXPECT_EQ(error.context().uri, uri);
  }
  EXPECT_EQ(GetParam().content(uri), pattern(50, 7));
  const Error error =
      error_of([&] { open_for_writing(uri, OpenMode::create_new, GetParam().write_options); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.problem(), HasSubstr("already exists, but a new one was to be created"));
  EXPECT_EQ(GetParam().content(uri), pattern(50, 7));
}

TEST_P(UpdatingTransports, NorByOneThatMayReplace) {
  const std::string uri = fresh();
  {
    const auto file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
    file->write(0, pattern(100));
    GetParam().store(uri, pattern(50, 7));
    EXPECT_EQ(error_of([&] { file->publish(); }).kind(), ErrorKind::io);
    EXPECT_FALSE(file->is_published());
    EXPECT_EQ(error_of([&] { file->close(); }).kind(), ErrorKind::io);
  }
  EXPECT_EQ(GetParam().content(uri), pattern(50, 7));
}

TEST_P(UpdatingTransports, AFileThatIsPublishedIsSeenAndGoesOn) {
  const std::string uri = stored(pattern(100));
  const auto before = open_for_reading(uri, GetParam().read_options);
  const auto file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
  file->write(0, pattern(50, 7));
  EXPECT_TRUE(file->replaces());
  EXPECT_FALSE(file->is_published());
  EXPECT_TRUE(file->publish());
  EXPECT_FALSE(file->publish());
  EXPECT_TRUE(file->is_published());
  EXPECT_FALSE(file->replaces());
  EXPECT_EQ(GetParam().content(uri), pattern(50, 7));
  file->write(50, as_bytes("more"));
  file->flush();
  EXPECT_EQ(GetParam().content(uri).size(), 54u);
  EXPECT_EQ(error_of([&] { open_for_writing(uri, OpenMode::update, GetParam().write_options); }).problem(),
            "cannot open for writing: another writer has it open");
  file->close();
  Bytes old(100);
  before->read(0, old);
  EXPECT_EQ(old, pattern(100)) << "readers keep the file that they opened";
}

TEST_P(UpdatingTransports, TwoNewFilesOfOneNameAreNotBegun) {
  for (const bool there : {false, true}) {
    const std::string uri = there ? stored(pattern(100)) : fresh();
    auto first = open_for_writing(uri, OpenMode::create, GetParam().write_options);
    first->write(0, pattern(10));
    EXPECT_EQ(error_of([&] { open_for_writing(uri, OpenMode::create, GetParam().write_options); }).problem(),
              "cannot open for writing: another writer has it open");
    first->close();
    EXPECT_EQ(GetParam().content(uri), pattern(10));
  }
}

TEST_P(UpdatingTransports, CreateEmptiesAndUpdateKeeps) {
  const std::string uri = stored(pattern(100));
  auto file = open_for_writing(uri, OpenMode::update, GetParam().write_options);
  EXPECT_EQ(file->size(), 100u);
  file->write(0, as_bytes("new"));
  file->close();
  Bytes expected = pattern(100);
  std::copy_n(as_bytes("new").begin(), 3, expected.begin());
  EXPECT_EQ(GetParam().content(uri), expected);
  file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
  EXPECT_EQ(file->size(), 0u);
}

TEST_P(UpdatingTransports, UpdateNeedsAFile) {
  EXPECT_EQ(error_of([&] {
              open_for_writing(GetParam().fresh_uri("missing"), OpenMode::update, GetParam().write_options);
            }).kind(),
            ErrorKind::not_found);
}

TEST_P(WritingTransports, TruncatesAndGrows) {
  const std::string uri = fresh();
  const auto file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
  file->write(0, pattern(100));
  file->truncate(40);
  EXPECT_EQ(file->size(), 40u);
  file->sync();
  file->close();
  EXPECT_EQ(GetParam().content(uri), pattern(40));
}

TEST_P(UpdatingTransports, RefusesASecondWriterAndKeepsTheFile) {
  const std::string uri = stored(pattern(100));
  auto first = open_for_writing(uri, OpenMode::update, GetParam().write_options);
  for (const OpenMode mode : {OpenMode::update, OpenMode::create}) {
    const Error error = error_of([&] { open_for_writing(uri, mode, GetParam().write_options); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.problem(), "cannot open for writing: another writer has it open");
  }
  EXPECT_EQ(GetParam().content(uri), pattern(100));
  first->close();
  EXPECT_NO_THROW(open_for_writing(uri, OpenMode::update, GetParam().write_options));
  first = open_for_writing(uri, OpenMode::update, GetParam().write_options);
  first.reset();
  EXPECT_NO_THROW(open_for_writing(uri, OpenMode::update, GetParam().write_options));
}

TEST_P(WritingTransports, RefusesUseAfterClose) {
  const std::string uri = fresh();
  const auto file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
  file->close();
  file->close();
  EXPECT_EQ(error_of([&] { file->write(0, as_bytes("x")); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { static_cast<void>(file->size()); }).kind(), ErrorKind::usage);
}

TEST_P(WritingTransports, ThreadsWriteAtDifferentOffsets) {
  const std::string uri = fresh();
  const Bytes content = pattern(400000);
  const auto file = open_for_writing(uri, OpenMode::create, GetParam().write_options);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t offset = t * 1000; offset < content.size(); offset += 4000)
        file->write(offset, ByteSpan(content).subspan(offset, 1000));
    });
  for (std::thread& thread : threads) thread.join();
  file->close();
  EXPECT_EQ(GetParam().content(uri), content);
}

TEST_P(UpdatingTransports, SaysThatAnOpenFileWasTruncated) {
  const std::string uri = stored(pattern(10000));
  const auto reader = open_for_reading(uri, GetParam().read_options);
  reader->opened();
  open_for_writing(uri, OpenMode::update, GetParam().write_options)->truncate(5000);
  Bytes into(1000);
  reader->read(4000, into);
  const Error error = error_of([&] { reader->read(4500, into); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(),
              HasSubstr("the file ends at byte 5000 although it had 10000 bytes when it was opened"));
  EXPECT_EQ(error.context().uri, uri);
}

std::vector<TransportUnderTest> those_that(bool TransportUnderTest::* can) {
  std::vector<TransportUnderTest> some;
  for (const TransportUnderTest& transport : transports_under_test())
    if (transport.can_write && transport.*can) some.push_back(transport);
  return some;
}

std::string name_of_param(const testing::TestParamInfo<TransportUnderTest>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, Transports, testing::ValuesIn(transports_under_test()), name_of_param);
INSTANTIATE_TEST_SUITE_P(All, WritingTransports,
                         testing::ValuesIn(those_that(&TransportUnderTest::can_write)), name_of_param);
INSTANTIATE_TEST_SUITE_P(All, UpdatingTransports,
                         testing::ValuesIn(those_that(&TransportUnderTest::can_update)), name_of_param);
// A program may have no such transport: files in S3 cannot be changed in place.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UpdatingTransports);

}  // namespace
}  // namespace colonnade::io
