// Column readers over a data set written by column writers: addressing, page and cluster borders, and the
// requests made.
#include "page/column_reader.h"

#include <gtest/gtest.h>

#include "codec/compression.h"
#include "io/memory/memory_file.h"
#include "page/page_sink.h"

namespace colonnade::page {
namespace {

// One field "x" with an index column and one field "n" with numbers; `clusters` clusters of 40 elements each,
// 16 on a page.
class ColumnReaders : public ::testing::Test {
 protected:
  static constexpr std::uint64_t per_cluster = 40;
  void SetUp() override {
    WriteOptions options{.compression = "none", .initial_page_size = 128, .max_page_size = 128};
    PageSink sink(container::create_container(uri, "Data", {.root_compression = 0}), options);
    Descriptor& d = sink.descriptor();
    d.name = "Data";
    const auto add = [&](const char* name, const char* type, FieldRole role, std::uint32_t parent,
                         ColumnType column) {
      FieldDescriptor field;
      field.id = static_cast<std::uint32_t>(d.fields.size());
      field.parent = parent == invalid_id ? field.id : parent;
      field.role = role;
      field.raw_role = static_cast<std::uint16_t>(role);
      field.name = name;
      field.type_name = type;
      ColumnDescriptor c;
      c.id = static_cast<std::uint32_t>(d.columns.size());
      c.field = field.id;
      c.raw_type = static_cast<std::uint16_t>(column);
      c.encoding = default_encoding(column);
      field.representations = {{c.id}};
      if (parent != invalid_id) d.fields[parent].children.push_back(field.id);
      d.fields.push_back(field);
      d.columns.push_back(c);
    };
    add("n", "std::uint64_t", FieldRole::leaf, invalid_id, ColumnType::uint64);
    add("x", "std::vector<std::uint64_t>", FieldRole::collection, invalid_id, ColumnType::index64);
    add("_0", "std::uint64_t", FieldRole::leaf, 1, ColumnType::uint64);
    sink.start();
    ColumnWriter& numbers = sink.add_column(0, ElementType::uint64);
    ColumnWriter& ends = sink.add_column(1, ElementType::index);
    ColumnWriter& items = sink.add_column(2, ElementType::uint64);
    for (std::uint64_t c = 0; c < 3; ++c) {
      std::uint64_t end = 0;
      for (std::uint64_t i = 0; i < per_cluster; ++i) {
        numbers.append(1000 * c + i);
        for (std::uint64_t k = 0; k < i % 3; ++k) items.append(end++);
        ends.append(end);
      }
      EXPECT_EQ(numbers.in_cluster(), per_cluster);
      EXPECT_EQ(numbers.total(), per_cluster * (c + 1));
      sink.commit_cluster(per_cluster);
      EXPECT_EQ(numbers.in_cluster(), 0u);
    }
    sink.commit_data_set();
    sink.close();
    source_ = PageSource::open("Data", uri);
  }
  void TearDown() override { io::remove_memory_file(uri); }

  const std::string uri = "memory:column-reader-test";
  std::unique_ptr<PageSource> source_;
};

TEST_F(ColumnReaders, CountTheElementsOfClusters) {
  ColumnReader reader(*source_, {0}, ElementType::uint64);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(reader.elements(c), per_cluster);
    EXPECT_EQ(reader.first_global(c), per_cluster * c);
  }
  ColumnReader items(*source_, {2}, ElementType::uint64);
  EXPECT_EQ(items.elements(1), 39u);
  EXPECT_EQ(items.first_global(2), 78u);
  EXPECT_THROW(reader.elements(3), Error);
}

TEST_F(ColumnReaders, MapWholePages) {
  ColumnReader reader(*source_, {0}, ElementType::uint64);
  const auto first = reader.map(1, 5);
  EXPECT_EQ(first.first, 0u);
  EXPECT_EQ(first.count, 16u);
  EXPECT_EQ(static_cast<const std::uint64_t*>(first.data)[5], 1005u);
  const auto last = reader.map(1, 39);
  EXPECT_EQ(last.first, 32u);
  EXPECT_EQ(last.count, 8u);
  EXPECT_EQ(reader.map(1, 33).data, last.data) << "the same page stays";
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(last.data) % sizeof(std::uint64_t), 0u);
}

TEST_F(ColumnReaders, CopyAnyRange) {
  ColumnReader reader(*source_, {0}, ElementType::uint64);
  for (std::uint64_t first = 0; first < per_cluster; ++first)
    for (std::uint64_t count = 0; first + count <= per_cluster; ++count) {
      std::vector<std::uint64_t> out(count + 1, 77);
      reader.read(2, first, count, out.data());
      for (std::uint64_t k = 0; k < count; ++k) ASSERT_EQ(out[k], 2000 + first + k);
      ASSERT_EQ(out[count], 77u) << "nothing beyond the range is touched";
    }
}

TEST_F(ColumnReaders, SayWhereARangeLeavesTheColumn) {
  ColumnReader reader(*source_, {0}, ElementType::uint64);
  std::uint64_t out[64];
  for (const auto& [first, count] : {std::pair<std::uint64_t, std::uint64_t>{40, 1},
                                     {39, 2},
                                     {~std::uint64_t{0}, 1},
                                     {1, ~std::uint64_t{0}}}) {
    try {
      reader.read(1, first, count, out);
      ADD_FAILURE() << first << " " << count;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format);
      EXPECT_EQ(error.context().field, "n");
      EXPECT_EQ(error.context().cluster, 1u);
    }
  }
  EXPECT_THROW(reader.map(1, 40), Error);
  EXPECT_EQ(reader.at<std::uint64_t>(1, 39), 1039u) << "and works on";
}

TEST_F(ColumnReaders, GiveCollectionsAcrossPages) {
  ColumnReader reader(*source_, {1}, ElementType::index);
  const auto expect = [&](std::size_t cluster, std::uint64_t i) {
    const auto range = reader.collection(cluster, i);
    ASSERT_EQ(range.end - range.begin, i % 3) << i;
    ASSERT_EQ(range.begin, i / 3 * 3 + (i % 3 == 2 ? 1 : 0)) << i;
  };
  for (std::size_t c = 0; c < 3; ++c)
    for (std::uint64_t i = 0; i < per_cluster; ++i) expect(c, i);
  for (std::uint64_t i = per_cluster; i > 0; --i) expect(1, i - 1);
  for (std::uint64_t i = 0; i < 200; ++i) expect(i % 3, (i * 17) % per_cluster);
}

TEST_F(ColumnReaders, ReadAheadOnlyInOrder) {
  const auto requests = [&](std::initializer_list<std::uint64_t> indices) {
    const auto source = PageSource::open("Data", uri);
    ColumnReader reader(*source, {0}, ElementType::uint64);
    for (const std::uint64_t i : indices) EXPECT_EQ(reader.at<std::uint64_t>(0, i), i);
    return source->counters().requests;
  };
  EXPECT_EQ(requests({0, 16, 32}), 1u);
  EXPECT_EQ(requests({32, 16, 0}), 3u);
  EXPECT_EQ(requests({5}), 1u);
}

TEST_F(ColumnReaders, BeginWithThePageThatTheLastOneHad) {
  const auto expect = [&](std::initializer_list<std::uint64_t> indices, std::uint64_t requests,
                          std::uint64_t pages) {
    const ReadCounters before = source_->counters();
    {
      ColumnReader reader(*source_, {0}, ElementType::uint64);
      for (const std::uint64_t i : indices) EXPECT_EQ(reader.at<std::uint64_t>(0, i), i);
    }
    const ReadCounters after = source_->counters();
    EXPECT_EQ(after.requests - before.requests, requests);
    EXPECT_EQ(after.pages - before.pages, pages);
  };
  expect({5}, 1, 1);
  expect({6, 0, 15}, 0, 0);
  expect({3, 16, 32}, 1, 2);  // what follows is read in order
  expect({39}, 0, 0);
  expect({17}, 1, 1);
}

TEST_F(ColumnReaders, TheReadAheadIsLimited) {
  auto limited = PageSource::open("Data", uri, {.read_ahead = 2 * (128 + 8)});
  ColumnReader reader(*limited, {0}, ElementType::uint64);
  for (std::uint64_t i = 0; i < per_cluster; ++i) EXPECT_EQ(reader.at<std::uint64_t>(0, i), i);
  EXPECT_EQ(limited->counters().requests, 2u);
  EXPECT_EQ(limited->counters().bytes, 40 * 8 + 3 * 8u);
}

TEST_F(ColumnReaders, ConvertWhileDecoding) {
  ColumnReader reader(*source_, {0}, ElementType::int16);
  EXPECT_EQ(reader.at<std::int16_t>(2, 39), 2039);
  ColumnReader narrow(*source_, {0}, ElementType::uint8);
  EXPECT_EQ(narrow.at<std::uint8_t>(0, 39), 39);
  EXPECT_THROW(static_cast<void>(narrow.at<std::uint8_t>(1, 0)), Error);
  EXPECT_EQ(narrow.at<std::uint8_t>(0, 3), 3);
}

TEST(PlausibleLength, FollowsTheDensestCodec) {
  EXPECT_TRUE(is_plausible_length(0, 0));
  EXPECT_FALSE(is_plausible_length(0, 1));
  EXPECT_FALSE(is_plausible_length(10, 9));
  EXPECT_TRUE(is_plausible_length(10, 10));
  EXPECT_TRUE(is_plausible_length(10, 10 * 32768));
  EXPECT_FALSE(is_plausible_length(10, 11 * 32768));
  EXPECT_FALSE(is_plausible_length(~std::uint64_t{0} / 2, 5));
}

TEST(PlausibleLength, HoldsForZerosInEveryCodec) {
  const Bytes zeros(std::size_t{32} << 20);
  for (const char* setting : {"zstd:9", "zstd:1", "lzma:9", "zlib:9", "lz4:9"}) {
    AlignedBuffer block;
    const std::size_t size = codec::compress(codec::CompressionSettings::parse(setting), zeros, block);
    EXPECT_TRUE(is_plausible_length(size, zeros.size())) << setting << " " << size;
  }
}

}  // namespace
}  // namespace colonnade::page
