// How payloads above the maximum key size are split and joined, against the file that ROOT split.
#include "page/root_file_chunks.h"

#include <gtest/gtest.h>

#include "page/root_file_test_tools.h"

namespace colonnade::page {
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

// ROOT wrote this header in chunks of 1 KiB, uncompressed: joined it must be one envelope with a right
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

}  // namespace
}  // namespace colonnade::page
