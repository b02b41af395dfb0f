// Files in S3 without a server: how a file is cut into parts, what is kept and what is sent when, and what
// happens when sending fails.
#include "io/s3/s3_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <thread>

#include "base/test_child.h"
#include "base/test_errors.h"
#include "base/test_folder.h"
#include "colonnade/error.h"
#include "io/closing_again.h"
#include "io/s3/s3_file_reader.h"
#include "io/s3/s3_file_test_tools.h"
#include "io/s3/s3_file_writer.h"

namespace colonnade::io {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;

const std::string uri = "s3://bucket/file.root";
const std::string key = "file.root";
constexpr std::uint64_t tebibyte = std::uint64_t{1} << 40;

// Parts of 100, 200, 400, ... bytes, three of each.
constexpr S3WriteLimits small{.plan = {.first_size = 100, .parts_per_size = 3, .max_parts = 12},
                              .uploads = 4,
                              .bytes = 10'000,
                              .max_file = 100'000};

TEST(S3PartPlan, CoversTheLargestObjectsWithoutGaps) {
  const S3PartPlan plan;
  std::uint64_t end = 0;
  for (unsigned number = 1; number <= plan.max_parts; ++number) {
    const S3PartPlan::PartRange part = plan.numbered(number);
    ASSERT_EQ(part.begin, end) << number;
    ASSERT_EQ(plan.at(part.begin).number, number);
    ASSERT_EQ(plan.at(part.end() - 1).number, number);
    ASSERT_EQ(plan.at(part.end() - 1).begin, part.begin);
    end = part.end();
  }
  EXPECT_GE(end, 5 * tebibyte);
  EXPECT_EQ(plan.at(end).number, 0u);
  EXPECT_LE(plan.at(5 * tebibyte - 1).size, std::uint64_t{5} << 30);
  EXPECT_EQ(plan.at(0).size, std::uint64_t{16} << 20);
}

TEST(S3PartPlan, GrowsAsTheFileGrows) {
  for (const auto& [offset, number, begin, size] :
       std::vector<std::tuple<std::uint64_t, unsigned, std::uint64_t, std::uint64_t>>{{0, 1, 0, 100},
                                                                                      {99, 1, 0, 100},
                                                                                      {299, 3, 200, 100},
                                                                                      {300, 4, 300, 200},
                                                                                      {899, 6, 700, 200},
                                                                                      {900, 7, 900, 400}}) {
    const S3PartPlan::PartRange part = small.plan.at(offset);
    EXPECT_EQ(part.number, number) << offset;
    EXPECT_EQ(part.begin, begin) << offset;
    EXPECT_EQ(part.size, size) << offset;
  }
}

Bytes bytes_of(std::string_view text) {
  const ByteSpan bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

class S3Writing : public testing::Test {
 protected:
  void SetUp() override { ::setenv("TMPDIR", temporary_.path().c_str(), 1); }
  void TearDown() override { ::unsetenv("TMPDIR"); }
  // What the only kept file says of an upload whose parts stay in the bucket.
  nlohmann::json kept(const Error& error) const {
    std::vector<std::string> found;
    for (const auto& each : std::filesystem::directory_iterator(temporary_.path()))
      found.push_back(each.path().string());
    if (found.size() != 1) return fmt::format("{} files", found.size());
    EXPECT_THAT(error.problem(), HasSubstr("the parts of the complete file stay in the bucket"));
    EXPECT_THAT(error.advice(), HasSubstr("'file://" + found[0] + '\''));
    std::ifstream stream(found[0]);
    auto content = nlohmann::json::parse(stream);
    std::filesystem::remove(found[0]);
    return content;
  }
  const TestFolder temporary_;
  std::unique_ptr<WritableFile> open() { return make_s3_writer(uri, bucket_, key, bucket_->queue(4), small); }
  Bytes stored() const { return bucket_->object(key).value(); }

  const std::shared_ptr<FakeBucket> bucket_ = std::make_shared<FakeBucket>();
};

TEST_F(S3Writing, GivesBackWhatWasWrittenInAnyOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    const std::size_t size = 1 + random() % 4500;
    const Bytes content = pattern(size, random());
    std::vector<std::size_t> cuts{0, size};
    for (int i = 0; i < 20; ++i) cuts.push_back(random() % size);
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::size_t> order(cuts.size() - 1);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const auto file = open();
    for (const std::size_t i : order) {
      const ByteSpan piece = ByteSpan(content).subspan(cuts[i], cuts[i + 1] - cuts[i]);
      const std::size_t half = piece.size() / 2;
      const std::array<ByteSpan, 3> parts{piece.first(half), ByteSpan(), piece.subspan(half)};
      file->write_vector(cuts[i], parts);
    }
    EXPECT_EQ(file->size(), size);
    file->close();
    ASSERT_EQ(stored(), content) << round;
    EXPECT_THAT(bucket_->uploads(), IsEmpty());
  }
}

TEST_F(S3Writing, SendsFullPartsAtOnceAndKeepsTheFirst) {
  const auto file = open();
  file->write(0, pattern(250));
  EXPECT_THAT(bucket_->sent(), testing::ElementsAre(2));
  file->write(250, pattern(49));
  EXPECT_THAT(bucket_->sent(), testing::ElementsAre(2));
  file->write(299, pattern(1));
  EXPECT_THAT(bucket_->sent(), testing::ElementsAre(2, 3));
  file->write(0, as_bytes("head"));
  EXPECT_EQ(bucket_->object(key), std::nullopt);
  file->close();
  EXPECT_THAT(bucket_->sent(), testing::ElementsAre(2, 3, 1));
  EXPECT_EQ(stored().size(), 300u);
  Bytes head = stored();
  head.resize(4);
  EXPECT_EQ(head, bytes_of("head"));
}

TEST_F(S3Writing, SaysThatSentPartsCannotBeChangedOrRead) {
  const auto file = open();
  file->write(0, pattern(350));
  const Error write = error_of([&] { file->write(150, as_bytes("x")); });
  EXPECT_EQ(write.kind(), ErrorKind::unsupported);
  EXPECT_THAT(write.problem(), HasSubstr("the bytes from 100 to 200 were sent already"));
  EXPECT_EQ(write.context().uri, uri);
  Bytes into(100);
  EXPECT_EQ(error_of([&] {
              while (bucket_->running() > 0) file->flush();
              file->read(150, into);
            }).kind(),
            ErrorKind::unsupported);
  file->read(0, into);
  EXPECT_EQ(into, pattern(100));
  into.resize(50);
  file->read(300, into);
  EXPECT_TRUE(std::equal(into.begin(), into.end(), pattern(350).begin() + 300));
  file->close();
  EXPECT_EQ(stored(), pattern(350));
}

TEST_F(S3Writing, FillsHolesWithZeros) {
  const auto file = open();
  file->write(0, pattern(50));
  file->write(3000, as_bytes("x"));
  file->write(10, as_bytes("y"));
  Bytes into(200, std::byte{7});
  file->read(40, into);
  EXPECT_TRUE(std::equal(into.begin(), into.begin() + 10, pattern(50).begin() + 40));
  EXPECT_THAT(Bytes(into.begin() + 10, into.end()), Each(std::byte{0}));
  into.assign(100, std::byte{7});
  file->read(2901, into);
  EXPECT_THAT(Bytes(into.begin(), into.end() - 1), Each(std::byte{0}));
  file->close();
  Bytes expected(3001);
  std::copy_n(pattern(50).begin(), 50, expected.begin());
  expected[10] = std::byte{'y'};
  expected[3000] = std::byte{'x'};
  EXPECT_EQ(stored(), expected);
}

TEST_F(S3Writing, CutsWhatIsNotSent) {
  const auto file = open();
  file->write(0, pattern(1000));  // sent: 2 to 6; kept: 1 and the begin of 7
  file->truncate(950);
  EXPECT_EQ(file->size(), 950u);
  EXPECT_EQ(error_of([&] { file->truncate(400); }).kind(), ErrorKind::unsupported);
  file->truncate(500);  // what a part begins with
  file->write(500, pattern(700, 3));
  file->truncate(1150);
  file->close();
  Bytes expected = pattern(500);
  const Bytes more = pattern(700, 3);
  expected.insert(expected.end(), more.begin(), more.begin() + 650);
  EXPECT_EQ(stored(), expected);
}

TEST_F(S3Writing, CutsAndGrowsWithinTheFirstPart) {
  const auto file = open();
  file->write(0, pattern(250));
  file->truncate(0);
  file->truncate(40);
  file->write(20, pattern(10));
  file->close();
  Bytes expected(40);
  std::copy_n(pattern(10).begin(), 10, expected.begin() + 20);
  EXPECT_EQ(stored(), expected);
}

TEST_F(S3Writing, MakesEmptyFiles) {
  open()->close();
  EXPECT_EQ(stored(), Bytes());
  EXPECT_THAT(bucket_->uploads(), IsEmpty());
}

TEST_F(S3Writing, LeavesNothingUnlessItIsClosed) {
  bucket_->store(key, pattern(10));
  for (const bool discard : {true, false}) {
    const auto file = open();
    file->write(0, pattern(1000));
    EXPECT_EQ(bucket_->uploads().size(), 1u);
    if (discard) {
      file->discard();
      EXPECT_EQ(error_of([&] { file->write(0, pattern(1)); }).kind(), ErrorKind::usage);
      file->close();
    }
  }
  EXPECT_EQ(stored(), pattern(10));
  EXPECT_THAT(bucket_->uploads(), IsEmpty());
}

// Parts that the server did not take wait in memory, and go again with the next ones, or when the file is
// closed.
TEST_F(S3Writing, SendsAgainWhatFailed) {
  for (const bool is_back_before : {true, false}) {
    bucket_->store(key, pattern(10));
    const auto file = open();
    bucket_->fail_part(3);
    file->write(0, pattern(1500));
    while (bucket_->running() > 0) file->flush();
    if (is_back_before) bucket_->fail_part(0);
    for (std::size_t at = 1500; at < 4000; at += 500)
      file->write(at, ByteSpan(pattern(4000)).subspan(at, 500));
    if (!is_back_before) {
      for (int i = 0; i < 2; ++i) {
        const Error error = error_of([&] { file->close(); });
        EXPECT_EQ(error.kind(), ErrorKind::io);
        EXPECT_EQ(error.context().offset, 200u);
        EXPECT_EQ(error.context().uri, uri);
        EXPECT_TRUE(may_close_again(*file));
        EXPECT_EQ(stored(), pattern(10));
      }
      bucket_->fail_part(0);
    }
    file->close();
    EXPECT_FALSE(may_close_again(*file));
    EXPECT_EQ(stored(), pattern(4000));
    EXPECT_THAT(bucket_->uploads(), IsEmpty());
  }
}

// Any part may fail, any number of times, whatever is written and cut off meanwhile.
TEST_F(S3Writing, HasTheBytesWhateverFailed) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto file = open();
    Bytes content;
    while (content.size() < 2000) {
      if (random() % 2 == 0) bucket_->fail_part(random() % 8);
      const Bytes more = pattern(1 + random() % 300, random());
      file->write(content.size(), more);
      content.insert(content.end(), more.begin(), more.end());
      if (random() % 8 == 0) {
        const std::size_t size = content.size() - random() % more.size();
        try {
          file->truncate(size);
          content.resize(size);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::unsupported);  // it was sent already
        }
      }
    }
    for (int attempt = 0; attempt < 3; ++attempt) {
      try {
        file->close();
      } catch (const Error& error) {
        EXPECT_TRUE(may_close_again(*file)) << error.what();
      }
      bucket_->fail_part(attempt == 1 ? 0 : random() % 8);
    }
    ASSERT_EQ(stored(), content) << round;
    EXPECT_THAT(bucket_->uploads(), IsEmpty());
    bucket_->remove(key);
    bucket_->fail_part(0);
  }
}

TEST_F(S3Writing, GivesUpWhenTheMemoryForFailedPartsIsFull) {
  constexpr S3WriteLimits narrow{.plan = {.first_size = 100, .parts_per_size = 3, .max_parts = 12},
                                 .uploads = 4,
                                 .bytes = 150,
                                 .max_file = 100'000};
  auto file = make_s3_writer(uri, bucket_, key, bucket_->queue(4), narrow);
  bucket_->fail_part(2);
  file->write(0, pattern(200));
  const Error error = error_of([&] {
    for (std::size_t at = 200; at < 3000; at += 100) file->write(at, pattern(100));
  });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(error.context().offset, 100u);
  EXPECT_FALSE(may_close_again(*file));
  file.reset();
  EXPECT_EQ(bucket_->object(key), std::nullopt);
  EXPECT_THAT(bucket_->uploads(), IsEmpty());
}

// What the server refused once, and has taken since, is no reason to give up; nor to send one after the
// other.
TEST_F(S3Writing, SendsPartsThatAreLargerThanTheMemoryForThem) {
  constexpr S3WriteLimits narrow{.plan = {.first_size = 100, .parts_per_size = 3, .max_parts = 12},
                                 .uploads = 4,
                                 .bytes = 500,
                                 .max_file = 100'000};
  const auto file = make_s3_writer(uri, bucket_, key, bucket_->queue(4), narrow);
  const Bytes content = pattern(4500);
  bucket_->fail_part(2);
  for (std::size_t at = 0; at < 900; at += 50) file->write(at, ByteSpan(content).subspan(at, 50));
  bucket_->fail_part(0);
  file->write(900, ByteSpan(content).subspan(900));
  file->close();
  EXPECT_EQ(stored(), content);
  EXPECT_GT(bucket_->most_bytes(), 800u);  // one of the largest beside another
}

TEST_F(S3Writing, KeepsThePartsWhenTheyCannotBeJoined) {
  auto file = open();
  file->write(0, pattern(500));
  bucket_->fail_completion();
  const Error error = error_of([&] { file->close(); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  file.reset();
  EXPECT_EQ(bucket_->object(key), std::nullopt);
  const nlohmann::json request = kept(error);
  EXPECT_EQ(request.at("Bucket"), bucket_->bucket());
  std::vector<S3Part> parts;
  for (const auto& part : request.at("MultipartUpload").at("Parts"))
    parts.push_back({.number = part.at("PartNumber"), .etag = part.at("ETag")});
  EXPECT_EQ(parts.size(), 4u);
  bucket_->complete_upload(request.at("Key"), request.at("UploadId"), parts, {});
  EXPECT_EQ(stored(), pattern(500));
}

TEST_F(S3Writing, JoinsThePartsWhenItIsClosedAgain) {
  auto file = open();
  file->write(0, pattern(500));
  bucket_->fail_completion();
  EXPECT_EQ(error_of([&] { file->close(); }).kind(), ErrorKind::io);
  EXPECT_TRUE(may_close_again(*file));
  EXPECT_FALSE(std::filesystem::is_empty(temporary_.path()));
  file->close();
  EXPECT_EQ(stored(), pattern(500));
  EXPECT_EQ(bucket_->sent().size(), 4u);
  EXPECT_TRUE(std::filesystem::is_empty(temporary_.path()));
}

TEST_F(S3Writing, KeepsNothingOfAnUploadThatIsGone) {
  const auto file = open();
  file->write(0, pattern(500));
  bucket_->lose_upload();
  EXPECT_EQ(error_of([&] { file->close(); }).problem(), "there is no such upload");
  EXPECT_FALSE(may_close_again(*file));
  EXPECT_TRUE(std::filesystem::is_empty(temporary_.path()));
}

TEST_F(S3Writing, KeepsNothingOfAnUploadThatIsGoneWhenItIsClosedAgain) {
  const auto file = open();
  file->write(0, pattern(500));
  bucket_->fail_completion();
  EXPECT_EQ(error_of([&] { file->close(); }).kind(), ErrorKind::io);
  EXPECT_TRUE(may_close_again(*file));
  bucket_->lose_upload();
  EXPECT_EQ(error_of([&] { file->close(); }).problem(), "there is no such upload");
  EXPECT_FALSE(may_close_again(*file));
  EXPECT_TRUE(std::filesystem::is_empty(temporary_.path()));
}

// Parts that are missing cannot be added to it either.
TEST_F(S3Writing, IsNotClosedAgainWhenTheUploadIsGoneBeforeAllPartsAreSent) {
  for (const bool fails_before : {false, true}) {
    const auto file = open();
    file->write(0, pattern(500));
    if (fails_before) {
      bucket_->fail_part(1);
      EXPECT_EQ(error_of([&] { file->close(); }).problem(), "the server is gone");
      EXPECT_TRUE(may_close_again(*file));
      bucket_->fail_part(0);
    }
    bucket_->lose_uploads_now();
    const Error error = error_of([&] { file->close(); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.problem(), upload_is_gone);
    EXPECT_FALSE(may_close_again(*file));
    EXPECT_TRUE(std::filesystem::is_empty(temporary_.path()));
    file->close();  // nothing happens any more
  }
}

TEST_F(S3Writing, ReplacesNothingIfNothingMayBeThere) {
  const S3Condition absent{S3Condition::Kind::absent, {}};
  for (const std::string_view text : {"something", ""}) {
    const auto file = make_s3_writer(uri, bucket_, key, bucket_->queue(4), small, absent);
    file->write(0, as_bytes(text));
    bucket_->store(key, bytes_of("of somebody else"));
    const Error error = error_of([&] { file->close(); });
    EXPECT_THAT(error.problem(), HasSubstr("another program has created the object"));
    EXPECT_EQ(stored(), bytes_of("of somebody else"));
    if (text.empty()) {
      EXPECT_TRUE(bucket_->uploads().empty());
    } else {
      EXPECT_EQ(kept(error).at("UploadId"), bucket_->uploads().at(0));
      bucket_->abort_upload(key, bucket_->uploads().at(0));
    }
    bucket_->remove(key);
    const auto second = make_s3_writer(uri, bucket_, key, bucket_->queue(4), small, absent);
    second->write(0, as_bytes(text));
    second->close();
    EXPECT_EQ(stored(), bytes_of(text));
    bucket_->remove(key);
  }
}

TEST_F(S3Writing, BoundsWhatIsOnItsWay) {
  constexpr S3WriteLimits narrow{.plan = {.first_size = 100, .parts_per_size = 3, .max_parts = 12},
                                 .uploads = 4,
                                 .bytes = 700,
                                 .max_file = 100'000};
  const auto file = make_s3_writer(uri, bucket_, key, bucket_->queue(4), narrow);
  const Bytes content = pattern(4500);
  for (std::size_t at = 0; at < content.size(); at += 50) file->write(at, ByteSpan(content).subspan(at, 50));
  file->close();
  EXPECT_EQ(stored(), content);
  EXPECT_LE(bucket_->most_running(), 4u);
  EXPECT_LE(bucket_->most_bytes(), 1600u);  // two parts of 800 bytes in place of 700 bytes
}

TEST_F(S3Writing, RefusesWhatNoObjectHolds) {
  const auto file = open();
  for (const std::uint64_t offset : {std::uint64_t{100'000}, ~std::uint64_t{0} - 1}) {
    const Error error = error_of([&] { file->write(offset, pattern(4)); });
    EXPECT_EQ(error.kind(), ErrorKind::resource);
    EXPECT_EQ(error.context().offset, offset);
  }
  EXPECT_EQ(error_of([&] { file->truncate(100'001); }).kind(), ErrorKind::resource);
  EXPECT_EQ(error_of([&] { file->write(4500, pattern(1)); }).kind(), ErrorKind::resource);  // a 13th part
}

TEST_F(S3Writing, IsNotGivenUpByAForkedChild) {
  auto file = open();
  file->write(0, pattern(1000));
  const int status = status_of_child([&] {
    file.reset();
    return bucket_->uploads().size() == 1 ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  file->close();
  EXPECT_EQ(stored(), pattern(1000));
}

class S3Reading : public testing::Test {
 protected:
  std::unique_ptr<RandomAccessFile> open() {
    return make_s3_reader(uri, *bucket_->open_object(key),
                          [this](unsigned depth) { return bucket_->queue(depth); });
  }
  const std::shared_ptr<FakeBucket> bucket_ = std::make_shared<FakeBucket>();
};

TEST_F(S3Reading, AsksForLargeReadsInPiecesSideBySide) {
  const Bytes content = pattern(std::size_t{40} << 20);
  bucket_->store(key, content);
  const auto file = open();
  Bytes into(content.size() - 5);
  file->read(5, into);
  EXPECT_TRUE(std::equal(into.begin(), into.end(), content.begin() + 5));
  EXPECT_EQ(bucket_->gets(), 5u);
  EXPECT_GT(bucket_->most_running(), 1u);
}

TEST_F(S3Reading, JoinsSmallReadsThatLieClose) {
  const Bytes content = pattern(std::size_t{4} << 20);
  bucket_->store(key, content);
  const auto file = open();
  std::vector<Bytes> into(1000, Bytes(100));
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < into.size(); ++i) requests.push_back({i * 1000, into[i]});
  requests.push_back({content.size() - 7, MutableByteSpan(into[0]).first(7)});
  file->read_vector(requests);
  EXPECT_EQ(bucket_->gets(), 2u);
  for (std::size_t i = 1; i < into.size(); ++i)
    ASSERT_TRUE(
        std::equal(into[i].begin(), into[i].end(), content.begin() + static_cast<std::ptrdiff_t>(i * 1000)));
}

TEST_F(S3Reading, AlwaysMeansTheObjectOfTheOpening) {
  bucket_->store(key, pattern(1000));
  const auto file = open();
  const auto queue = file->open_queue(2);
  bucket_->store(key, pattern(1000, 1));
  Bytes into(10);
  EXPECT_EQ(error_of([&] { file->read(3, into); }).context().offset, 3u);
  queue->submit(77, 4, into);
  ReadQueue::Completion completion;
  ASSERT_EQ(queue->wait({&completion, 1}), 1u);
  EXPECT_EQ(completion.id, 77u);
  const Error error = error_of([&] { std::rethrow_exception(completion.failure); });
  EXPECT_EQ(error.context().offset, 4u);
  EXPECT_EQ(error.context().uri, uri);
}

TEST(S3Names, TellFilesFromStores) {
  EXPECT_TRUE(names_s3_file("s3://bucket/a/b.root"));
  EXPECT_TRUE(names_s3_file("s3://bucket/b.bare"));
  EXPECT_FALSE(names_s3_file("s3://bucket/b"));
  EXPECT_FALSE(names_s3_file("s3://bucket/b.root/"));
}

}  // namespace
}  // namespace colonnade::io
