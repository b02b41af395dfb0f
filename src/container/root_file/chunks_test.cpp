// Splitting and joining payloads above the maximum key size, compared with a file that ROOT split.
#include "container/root_file/chunks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "container/root_file/test_tools.h"

namespace colonnade::container {
namespace {

TEST(Chunks, OfASmallPayloadAreOne) {
  for (const std::uint64_t size : {0u, 1u, 100u}) {
    const ChunkPlan plan = plan_chunks(size, 100, ErrorKind::usage);
    EXPECT_EQ(plan.chunks, 1u);
    EXPECT_EQ(plan.first_data, size);
    EXPECT_EQ(plan.offset_bytes, 0u);
  }
  EXPECT_EQ(plan_chunks(~std::uint64_t{0}, 0, ErrorKind::usage).chunks, 1u);
}

// The fewest chunks that hold payload and offsets: n * most >= size + 8 * (n - 1).
TEST(Chunks, AreAsFewAsPossible) {
  for (const std::uint64_t most : {64u, 100u, 128u, 1000u})
    for (std::uint64_t size = most + 1; size < most * (most / 8); ++size) {
      std::uint64_t expected = 2;
      while (expected * most < size + 8 * (expected - 1)) ++expected;
      if (8 * (expected - 1) > most) break;
      const ChunkPlan plan = plan_chunks(size, most, ErrorKind::usage);
      ASSERT_EQ(plan.chunks, expected) << size << " in " << most;
      ASSERT_EQ(plan.first_data + plan.offset_bytes, most);
      ASSERT_EQ(plan.offset_bytes, 8 * (expected - 1));
    }
}

TEST(Chunks, AreRefusedWhereTheFirstCannotListThem) {
  EXPECT_EQ(error_of([] { plan_chunks(10000, 64, ErrorKind::format); }).kind(), ErrorKind::format);
  EXPECT_EQ(error_of([] { plan_chunks(~std::uint64_t{0}, 1, ErrorKind::format); }).kind(), ErrorKind::format);
  EXPECT_EQ(error_of([] { plan_chunks(9, 8, ErrorKind::usage); }).kind(), ErrorKind::usage);
}

// ROOT wrote this header in chunks of 1 KiB, uncompressed: joined, it must be one envelope with a valid
// checksum.
TEST(Chunks, OfRootAreJoined) {
  const auto container = open_container(fixture("max_key_size.root"));
  const Anchor anchor = container->anchor("SmallKeys");
  ASSERT_GT(anchor.header_size, anchor.max_key_size);
  Bytes header(anchor.header_size);
  container->read_blob({.size = anchor.header_size, .offset = anchor.header_offset}, anchor.max_key_size,
                       header);
  const auto length = load_le<std::uint64_t>(header.data()) >> 16;
  EXPECT_EQ(length, header.size());
  EXPECT_EQ(load_le<std::uint64_t>(header.data()) & 0xffff, 1u);
}

class ChunkReading : public testing::Test {
 protected:
  void SetUp() override {
    const auto container = create_container(uri_, "Events", {.max_key_size = 128});
    locator_ = container->write_blob(payload(1000, 1), 1000);
    FakeDataSet(*container).write(1);
    container->close();
  }
  Error error_reading(const Locator& locator, std::size_t size, std::uint64_t most = 128) const {
    return error_of([&] {
      Bytes into(size);
      open_container(uri_)->read_blob(locator, most, into);
    });
  }
  const std::string uri_ = "memory:chunks.root";
  Locator locator_;
};

TEST_F(ChunkReading, RefusesAnOffsetOutsideOfTheFile) {
  Bytes bytes = io::memory_file_content(uri_);
  store_le(bytes.data() + locator_.offset + 128 - 8, ~std::uint64_t{0} - 5);
  io::store_memory_file(uri_, bytes);
  const Error error = error_reading(locator_, 1000);
  EXPECT_EQ(error.kind(), ErrorKind::format);
  EXPECT_EQ(error.context().uri, uri_);
}

TEST_F(ChunkReading, RefusesALocatorBehindTheFile) {
  EXPECT_EQ(error_reading({.size = 1000, .offset = 1u << 30}, 1000).kind(), ErrorKind::format);
  EXPECT_EQ(error_reading({.size = 10, .offset = ~std::uint64_t{0}}, 10).kind(), ErrorKind::format);
}

TEST_F(ChunkReading, RefusesABufferOfAnotherSize) {
  EXPECT_EQ(error_reading(locator_, 999).kind(), ErrorKind::usage);
}

TEST_F(ChunkReading, RefusesLocatorsThatAreNotForFiles) {
  Locator other = locator_;
  other.kind = Locator::Kind::object64;
  other.raw_type = 2;
  const Error error = error_reading(other, 1000);
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.problem(), "a locator of type 0x02 cannot be followed in a file");
}

// A remote file: completes requests in wait(), and counts them.
class DistantFile final : public io::RandomAccessFile {
 public:
  explicit DistantFile(Bytes content) : content_(std::move(content)) {}
  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return content_.size(); }
  io::IoTraits traits() const noexcept override { return {.worthwhile_gap = 4096, .concurrency = 16}; }
  void read(std::uint64_t offset, MutableByteSpan into) const override {
    ++alone;
    copy(offset, into);
  }
  std::unique_ptr<io::ReadQueue> open_queue(unsigned) const override {
    return std::make_unique<Queue>(*this);
  }

  mutable unsigned alone = 0;      // requests outside of queues
  mutable unsigned requests = 0;   // requests in queues
  mutable unsigned in_flight = 0;  // most in flight at once

 private:
  class Queue final : public io::ReadQueue {
   public:
    explicit Queue(const DistantFile& file) : file_(file) {}
    void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
      begin();
      waiting_.push_back({id, offset, into});
      ++file_.requests;
      file_.in_flight = std::max(file_.in_flight, static_cast<unsigned>(waiting_.size()));
    }

   private:
    void progress(bool) override {
      for (; !waiting_.empty(); waiting_.pop_back()) {
        file_.copy(waiting_.back().offset, waiting_.back().into);
        finish(waiting_.back().id);
      }
    }

    const DistantFile& file_;
    std::vector<io::QueuedRead> waiting_;
  };

  void copy(std::uint64_t offset, MutableByteSpan into) const {
    std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
  }

  std::string uri_ = "far";
  Bytes content_;
};

TEST(Chunks, ManyBlobsAreReadTogether) {
  Bytes content(std::size_t{40} * 100'000);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::byte>(i * 7 + (i >> 10));
  for (const std::size_t distance : {std::size_t{200}, std::size_t{100'000}}) {
    const DistantFile file(content);
    std::vector<Bytes> found(40, Bytes(150));
    std::vector<ReadContainer::BlobRead> reads;
    for (std::size_t i = 0; i < found.size(); ++i)
      reads.push_back({{.size = 150, .offset = i * distance}, found[i]});
    read_chunked_blobs(file, reads, 0);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(std::equal(found[i].begin(), found[i].end(),
                             content.begin() + static_cast<std::ptrdiff_t>(i * distance)));
    EXPECT_EQ(file.alone, 0u);
    EXPECT_EQ(file.requests, distance == 200 ? 1u : 40u);
    EXPECT_EQ(file.in_flight, distance == 200 ? 1u : 16u);
  }
}

}  // namespace
}  // namespace colonnade::container
