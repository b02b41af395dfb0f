// What the cluster pool reads, and when: requests and bytes of columns that are read in order, here and
// there, and together; the memory budget; failures ahead of time.
#include "page/cluster_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/thread_pool.h"
#include "codec/column_codec.h"
#include "io/memory/fault_file.h"
#include "io/memory/memory_file.h"
#include "io/simulated_line.h"
#include "page/column_reader.h"
#include "page/page_sink.h"

namespace colonnade::page {
namespace {

constexpr std::uint32_t columns = 3;
constexpr std::uint64_t clusters = 4;
constexpr std::uint64_t pages_per_cluster = 8;
constexpr std::uint64_t per_page = 64;
constexpr std::uint64_t per_cluster = pages_per_cluster * per_page;
constexpr std::uint64_t page_bytes = per_page * 8;
constexpr std::uint64_t stored = page_bytes + 8;

std::uint64_t value_at(std::uint32_t column, std::uint64_t element) {
  return (std::uint64_t{column} << 32) + element * element;
}

// A file whose transport reads several requests at once.
class QueuedFile final : public io::RandomAccessFile {
 public:
  QueuedFile(std::unique_ptr<io::RandomAccessFile> file, const io::IoTraits& traits)
      : file_(std::move(file)), traits_(traits) {}
  const std::string& uri() const noexcept override { return file_->uri(); }
  std::uint64_t size() const override { return file_->size(); }
  io::IoTraits traits() const noexcept override { return traits_; }
  void read(std::uint64_t offset, MutableByteSpan into) const override { file_->read(offset, into); }

 private:
  std::unique_ptr<io::RandomAccessFile> file_;
  io::IoTraits traits_;
};

struct Way {
  bool helped;
  bool queued;
};

// Three columns of numbers of 64 bits, four clusters with eight pages of each, written as they are.
class ClusterPools : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override { write("none"); }
  void TearDown() override { io::remove_memory_file(uri); }

  struct Content {
    ColumnType type = ColumnType::uint64;
    bool is_equal = false;  // all columns have the same values
  };
  void write(const char* compression) { write(compression, {}); }
  void write(const char* compression, const Content& content) {
    WriteOptions options{
        .compression = compression, .initial_page_size = page_bytes, .max_page_size = page_bytes};
    PageSink sink(container::create_container(
                      uri, "Data", {.kind = container::ContainerKind::bare_file, .root_compression = 0}),
                  options);
    Descriptor& d = sink.descriptor();
    d.name = "Data";
    for (std::uint32_t i = 0; i < columns; ++i) {
      FieldDescriptor field;
      field.id = i;
      field.parent = i;
      field.name = std::string(1, static_cast<char>('a' + i));
      field.type_name = "std::uint64_t";
      ColumnDescriptor c;
      c.id = i;
      c.field = i;
      c.raw_type = static_cast<std::uint16_t>(content.type);
      c.encoding = default_encoding(content.type);
      field.representations = {{i}};
      d.fields.push_back(field);
      d.columns.push_back(c);
    }
    sink.start();
    std::vector<ColumnWriter*> writers;
    for (std::uint32_t i = 0; i < columns; ++i) writers.push_back(&sink.add_column(i, ElementType::uint64));
    for (std::uint64_t c = 0; c < clusters; ++c) {
      for (std::uint64_t i = 0; i < per_cluster; ++i)
        for (std::uint32_t k = 0; k < columns; ++k)
          writers[k]->append(value_at(content.is_equal ? 0 : k, c * per_cluster + i));
      sink.commit_cluster(per_cluster);
    }
    sink.commit_data_set();
    sink.close();
  }

  ReadOptions options(std::size_t read_ahead = 1 << 20, std::size_t budget = 1 << 20) const {
    return {.read_ahead = read_ahead, .memory_budget = budget, .parallel_decompression = GetParam().helped};
  }
  std::unique_ptr<PageSource> open(const ReadOptions& how, const io::Faults& faults = {},
                                   const io::IoTraits& traits = {.worthwhile_gap = 0, .concurrency = 4}) {
    auto file = io::with_faults(io::open_for_reading(uri), faults);
    const bool is_queued = GetParam().queued || traits.best_request > 0;
    if (is_queued) file = std::make_unique<QueuedFile>(std::move(file), traits);
    return PageSource::open(
        "Data", std::shared_ptr<container::ReadContainer>(container::open_container(std::move(file))), how);
  }

  std::unique_ptr<PageSource> open_far(io::SimulatedLine& line, const ReadOptions& how,
                                       const io::Faults& faults = {}) {
    auto file = std::make_unique<io::SimulatedFile>(io::with_faults(io::open_for_reading(uri), faults), line);
    return PageSource::open(
        "Data", std::shared_ptr<container::ReadContainer>(container::open_container(std::move(file))), how);
  }
  static void announce(PageSource& source, const std::vector<std::uint32_t>& of, std::uint64_t first,
                       std::uint64_t last) {
    std::vector<ClusterPool::Coming> coming;
    for (const std::uint32_t k : of)
      for (std::uint64_t c = first; c < last; ++c)
        coming.push_back({std::make_shared<const ColumnSegment>(open_segment(source, std::array{k}, c)), 0,
                          pages_per_cluster});
    source.pool().announce(std::move(coming));
  }
  static void announce_elements(PageSource& source, std::uint64_t first, std::uint64_t last) {
    std::vector<ClusterPool::Coming> coming;
    for (std::uint32_t k = 0; k < columns; ++k)
      for (std::uint64_t page = first / per_page; page * per_page < last; ++page)
        coming.push_back({std::make_shared<const ColumnSegment>(
                              open_segment(source, std::array{k}, page / pages_per_cluster)),
                          page % pages_per_cluster, 1});
    source.pool().announce(std::move(coming));
  }
  static void expect_read(PageSource& source, std::uint32_t column, std::uint64_t first, std::uint64_t last) {
    ColumnReader reader(source, {column}, ElementType::uint64);
    std::vector<std::uint64_t> values(per_cluster);
    for (std::uint64_t c = first; c < last; ++c) {
      reader.read(c, 0, per_cluster, values.data());
      for (std::uint64_t i = 0; i < per_cluster; ++i)
        ASSERT_EQ(values[i], value_at(column, c * per_cluster + i)) << c << " " << i;
    }
  }

  static void expect_value(ColumnReader& reader, std::uint32_t column, std::uint64_t element) {
    ASSERT_EQ(reader.at<std::uint64_t>(element / per_cluster, element % per_cluster),
              value_at(column, element));
  }

  static void expect_elements(PageSource& source, std::uint32_t column, std::uint64_t first,
                              std::uint64_t last) {
    ColumnReader reader(source, {column}, ElementType::uint64);
    for (std::uint64_t cluster = first / per_cluster; cluster * per_cluster < last; ++cluster) {
      const std::uint64_t begin = std::max(first, cluster * per_cluster);
      std::vector<std::uint64_t> values(std::min(last, (cluster + 1) * per_cluster) - begin);
      reader.read(cluster, begin % per_cluster, values.size(), values.data());
      for (std::uint64_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(values[i], value_at(column, begin + i)) << begin + i;
    }
  }

  static io::IoTraits large_requests(std::size_t best) {
    return {.best_request = best, .worthwhile_gap = 0, .concurrency = 4};
  }
  // One way to use readers of some columns, with random numbers from `any`.
  template <class Any>
  static void use_somehow(PageSource& source, const std::vector<std::unique_ptr<ColumnReader>>& readers,
                          Any any) {
    constexpr std::uint64_t all = clusters * per_cluster;
    const std::uint64_t first = any(all);
    const std::uint64_t last = first + any(all - first) + 1;
    const std::uint64_t step = any(3) == 0 ? 1 + any(2 * per_page) : 1;
    switch (any(5)) {
      case 0:  // some entries of some columns, in order
        for (std::uint64_t i = first; i < last; i += step)
          for (std::uint32_t k = 0; k < columns; ++k)
            if ((first >> k) % 2 == 0) expect_value(*readers[k], k, i);
        break;
      case 1:  // here and there
        for (int i = 0; i < 20; ++i) {
          const auto k = static_cast<std::uint32_t>(any(columns));
          expect_value(*readers[k], k, any(all));
        }
        break;
      case 2:  // whole clusters
        expect_read(source, static_cast<std::uint32_t>(any(columns)), first / per_cluster,
                    (last - 1) / per_cluster + 1);
        break;
      case 3:  // in steps of new readers, maybe not to the end
        for (std::uint64_t i = first; i < last && any(20) != 0; i += step * 3) {
          const std::uint64_t end = std::min(i + step * 3, last);
          source.pool().keep_closed(end < last);
          for (std::uint32_t k = 0; k < columns; ++k)
            if ((first >> k) % 2 == 0) expect_elements(source, k, i, end);
          if (end == last) source.pool().keep_closed(false);
        }
        break;
      default: {  // within slices
        const double begin = static_cast<double>(any(8)) / 8;
        const std::uint64_t cluster = first / per_cluster;
        source.pool().keep_within({{.cluster = cluster, .begin = begin, .end = 1}});
        const auto begin_at = static_cast<std::uint64_t>(begin * per_cluster);
        for (std::uint64_t i = begin_at; i < per_cluster; ++i)
          for (std::uint32_t k = 0; k < columns; ++k) expect_value(*readers[k], k, cluster * per_cluster + i);
        source.pool().keep_within({});
      }
    }
  }

  const std::string uri = "memory:cluster-pool-test";
};

TEST_P(ClusterPools, ReadAColumnInOrderOnceInFewRequests) {
  const auto source = open(options());
  {
    ColumnReader reader(*source, {1}, ElementType::uint64);
    for (std::uint64_t i = 0; i < clusters * per_cluster; ++i) expect_value(reader, 1, i);
  }
  const ReadCounters counters = source->counters();
  // Its pages lie together in each cluster.
  EXPECT_EQ(counters.requests, clusters);
  EXPECT_EQ(counters.bytes, clusters * pages_per_cluster * stored);
  EXPECT_EQ(counters.pages, clusters * pages_per_cluster);
  EXPECT_EQ(counters.prefetched_used, clusters * pages_per_cluster - 1);
  EXPECT_EQ(counters.prefetched_unused, 0u);
}

TEST_P(ClusterPools, MakeRequestsLargeWhereTheTransportLikesThatOnceReadingGoesOn) {
  constexpr std::size_t best = 4 * stored;
  const auto source = open(options(stored, 64 * stored), {}, large_requests(best));
  {
    ColumnReader a(*source, {0}, ElementType::uint64);
    ColumnReader b(*source, {2}, ElementType::uint64);
    for (std::uint64_t i = 0; i < clusters * per_cluster; ++i) {
      expect_value(a, 0, i);
      expect_value(b, 2, i);
    }
  }
  const ReadCounters counters = source->counters();
  EXPECT_EQ(counters.bytes, 2 * clusters * pages_per_cluster * stored);
  EXPECT_EQ(counters.prefetched_unused, 0u);
  // Two of one page at first; then at most four pages come together, and none of another cluster.
  EXPECT_GE(counters.requests, 2 * clusters * pages_per_cluster / 4);
  EXPECT_LE(counters.requests, 2 * clusters * 3 + 2);
}

TEST_P(ClusterPools, ReadOnlyWhatIsAskedForAtFirstWhereRequestsAreBestLarge) {
  const auto source = open(options(stored, 64 * stored), {}, large_requests(8 * stored));
  ColumnReader reader(*source, {0}, ElementType::uint64);
  expect_value(reader, 0, 0);
  EXPECT_EQ(source->counters().bytes, 2 * stored)
      << "the page asked for, and as much ahead as the options say";
}

TEST_P(ClusterPools, ReadPagesThatColumnsShareOnce) {
  write("lz4", {.type = ColumnType::split_uint64, .is_equal = true});
  const auto source = open(options());
  {
    ColumnReader a(*source, {0}, ElementType::uint64);
    ColumnReader b(*source, {1}, ElementType::uint64);
    ColumnReader c(*source, {2}, ElementType::uint64);
    for (std::uint64_t i = 0; i < clusters * per_cluster; ++i)
      for (ColumnReader* reader : {&a, &b, &c}) expect_value(*reader, 0, i);
  }
  const ReadCounters counters = source->counters();
  EXPECT_EQ(counters.pages, clusters * pages_per_cluster);
  EXPECT_EQ(counters.prefetched_unused, 0u);
}

TEST_P(ClusterPools, SharePagesWithColumnsThatAreLeft) {
  write("lz4", {.type = ColumnType::split_uint64, .is_equal = true});
  const auto source = open(options());
  ColumnReader a(*source, {0}, ElementType::uint64);
  auto b = std::make_unique<ColumnReader>(*source, std::vector<std::uint32_t>{1}, ElementType::uint64);
  for (std::uint64_t i = 0; i < clusters * per_cluster; ++i) {
    // One column goes where the other has planned pages with it.
    if (b && i < per_cluster + 70) expect_value(*b, 0, i);
    if (i == per_cluster + 70) b.reset();
    expect_value(a, 0, i);
  }
}

TEST_P(ClusterPools, NameTheColumnWhereASharedPageCannotBeRead) {
  write("lz4", {.type = ColumnType::split_uint64, .is_equal = true});
  const auto whole = open(options());
  const std::uint64_t offset = whole->placed_pages(0, 0)[3].locator.offset;
  ASSERT_EQ(offset, whole->placed_pages(2, 0)[3].locator.offset);
  const auto source = open(options(), {.read_error_at = offset + 5});
  ColumnReader a(*source, {0}, ElementType::uint64);
  ColumnReader c(*source, {2}, ElementType::uint64);
  for (std::uint64_t i = 0; i < 3 * per_page; ++i) {
    expect_value(a, 0, i);
    expect_value(c, 0, i);
  }
  for (auto [reader, column] : {std::pair(&a, 0U), std::pair(&c, 2U)}) {
    try {
      reader->at<std::uint64_t>(0, 3 * per_page);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_EQ(error.context().column, column);
    }
  }
}

TEST_P(ClusterPools, LeavePagesInPartsToWhoLooksAtThem) {
  for (const char* compression : {"none", "lz4", "zstd"}) {
    SCOPED_TRACE(compression);
    write(compression, {.type = ColumnType::split_uint64});
    const auto source = open(options());
    ClusterPool& pool = source->pool();
    ClusterPool::Stream& stream = pool.open({1}, ElementType::uint64, ClusterPool::Form::parts);
    ClusterPool::Stream& whole = pool.open({1}, ElementType::uint64);
    for (std::size_t cluster = 0; cluster < clusters; ++cluster) {
      const std::uint32_t column[] = {1};
      const auto segment = std::make_shared<const ColumnSegment>(open_segment(*source, column, cluster));
      for (std::size_t page = 0; page < pages_per_cluster; ++page) {
        const ClusterPool::Page packed = pool.take(stream, segment, page);
        ASSERT_EQ(packed->elements, nullptr);
        std::uint64_t some[7];
        codec::decode_part(packed->encoding, packed->packed, per_page, 11, 7, some);
        for (std::uint64_t i = 0; i < 7; ++i)
          ASSERT_EQ(some[i], value_at(1, cluster * per_cluster + page * per_page + 11 + i));
        const ClusterPool::Page decoded = pool.take(whole, segment, page);
        ASSERT_EQ(decoded->packed, nullptr);
        ASSERT_EQ(std::memcmp(decoded->elements + 11 * sizeof(std::uint64_t), some, sizeof some), 0);
      }
    }
    // Whole pages, some of which were planned in parts, are decoded to where they are wanted.
    const std::uint32_t column[] = {1};
    const auto segment = std::make_shared<const ColumnSegment>(open_segment(*source, column, 0));
    static_cast<void>(pool.take(stream, segment, 0));
    std::vector<std::uint64_t> all((pages_per_cluster - 1) * per_page);
    pool.read(stream, segment, 1, pages_per_cluster - 1, reinterpret_cast<std::byte*>(all.data()));
    for (std::uint64_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], value_at(1, per_page + i));
    pool.close(stream);
    pool.close(whole);
  }
}

TEST_P(ClusterPools, ReadTwoColumnsTogether) {
  const auto source = open(options());
  {
    ColumnReader a(*source, {0}, ElementType::uint64);
    ColumnReader b(*source, {1}, ElementType::uint64);
    for (std::uint64_t i = 0; i < clusters * per_cluster; ++i) {
      expect_value(a, 0, i);
      expect_value(b, 1, i);
    }
  }
  const ReadCounters counters = source->counters();
  EXPECT_EQ(counters.bytes, 2 * clusters * pages_per_cluster * stored) << "nothing is read twice";
  EXPECT_EQ(counters.read_over_bytes, 0u);
  EXPECT_LE(counters.requests, 2 * clusters);
  EXPECT_EQ(counters.prefetched_unused, 0u);
}

TEST_P(ClusterPools, ReadOnlyThePageAskedForOutOfOrder) {
  const auto source = open(options());
  ColumnReader reader(*source, {2}, ElementType::uint64);
  std::uint64_t number = 0;
  for (const std::uint64_t page : {19u, 5u, 30u, 7u, 3u, 11u}) {
    expect_value(reader, 2, page * per_page + 3);
    ++number;
    EXPECT_EQ(source->counters().requests, number);
    EXPECT_EQ(source->counters().bytes, number * stored);
    EXPECT_EQ(source->counters().pages, number);
  }
  EXPECT_EQ(source->counters().prefetched_used + source->counters().prefetched_unused, 0u);
}

TEST_P(ClusterPools, BeginToReadAheadWhenASecondPageFollows) {
  const auto source = open(options());
  ColumnReader reader(*source, {0}, ElementType::uint64);
  expect_value(reader, 0, 2 * per_page);
  EXPECT_EQ(source->counters().bytes, stored);
  for (std::uint64_t i = 3 * per_page; i < 5 * per_page; ++i) expect_value(reader, 0, i);
  EXPECT_GT(source->counters().prefetched_used, 0u);
}

TEST_P(ClusterPools, ForgetColumnsThatAreNotUsedAnyMore) {
  // Room for some pages only, so that what is not used stands in the way.
  const auto source = open(options(4 * stored, 24 * stored));
  ColumnReader a(*source, {0}, ElementType::uint64);
  ColumnReader b(*source, {1}, ElementType::uint64);
  expect_value(b, 1, 0);
  for (std::uint64_t i = 0; i < clusters * per_cluster; ++i) expect_value(a, 0, i);
  const ReadCounters counters = source->counters();
  EXPECT_GT(counters.prefetched_unused, 0u);
  EXPECT_LT(counters.pages, (clusters + 3) * pages_per_cluster * 3 / 2);
  expect_value(b, 1, clusters * per_cluster - 1);
}

TEST_P(ClusterPools, ReadersOfOneColumnShareItsPages) {
  const auto source = open(options());
  ColumnReader first(*source, {0}, ElementType::uint64);
  ColumnReader second(*source, {0}, ElementType::uint64);
  for (std::uint64_t i = 0; i < clusters * per_cluster; ++i) {
    expect_value(first, 0, i);
    expect_value(second, 0, i);
  }
  EXPECT_EQ(source->counters().pages, clusters * pages_per_cluster);
  EXPECT_EQ(source->counters().bytes, clusters * pages_per_cluster * stored);
}

TEST_P(ClusterPools, StayWithinTheBudget) {
  for (const std::size_t budget : {std::size_t{0}, std::size_t{1}, 4 * stored, 16 * stored}) {
    const auto source = open(options(1 << 20, budget));
    std::vector<std::unique_ptr<ColumnReader>> readers;
    for (std::uint32_t k = 0; k < columns; ++k)
      readers.push_back(
          std::make_unique<ColumnReader>(*source, std::vector<std::uint32_t>{k}, ElementType::uint64));
    for (std::uint64_t i = 0; i < clusters * per_cluster; ++i)
      for (std::uint32_t k = 0; k < columns; ++k) expect_value(*readers[k], k, i);
    EXPECT_LE(source->counters().peak_ahead_bytes, budget);
    EXPECT_EQ(source->counters().pages, columns * clusters * pages_per_cluster);
  }
}

TEST_P(ClusterPools, DecodeWholePagesToTheirPlace) {
  const auto source = open(options());
  ColumnReader reader(*source, {2}, ElementType::uint64);
  std::vector<std::uint64_t> out(per_cluster + 1, 77);
  for (const auto& [first, count] : {std::pair<std::uint64_t, std::uint64_t>{0, per_cluster},
                                     {1, per_cluster - 1},
                                     {per_page, 3 * per_page},
                                     {per_page - 1, per_page + 2}}) {
    std::fill(out.begin(), out.end(), 77);
    reader.read(2, first, count, out.data());
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(out[i], value_at(2, 2 * per_cluster + first + i));
    ASSERT_EQ(out[count], 77u) << "nothing beyond the range is touched";
  }
}

TEST_P(ClusterPools, FailOnlyWhereThePageIsAskedFor) {
  write("zstd");
  std::uint64_t bad_offset = 0;
  {
    const auto source = open(options());
    bad_offset = source->descriptor().clusters[1].columns[0].pages[3].locator.offset + 20;
  }
  const auto source = open(options(), {.read_error_at = bad_offset});
  ColumnReader reader(*source, {0}, ElementType::uint64);
  const std::uint64_t bad = per_cluster + 3 * per_page;
  for (std::uint64_t i = 0; i < bad; ++i) expect_value(reader, 0, i);
  std::vector<std::uint64_t> out(per_cluster);
  for (int again = 0; again < 2; ++again) {
    try {
      again == 0 ? static_cast<void>(reader.map(1, 3 * per_page))
                 : reader.read(1, 0, per_cluster, out.data());
      ADD_FAILURE() << "the page cannot be read";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_EQ(error.context().field, "a");
      EXPECT_EQ(error.context().cluster, 1u);
      EXPECT_EQ(error.context().page, 3u);
    }
  }
  for (std::uint64_t i = bad + per_page; i < clusters * per_cluster; ++i) expect_value(reader, 0, i);
}

TEST_P(ClusterPools, AreLeftInTheMiddle) {
  for (std::uint64_t stop = 0; stop < 40; ++stop) {
    const auto source = open(options());
    ColumnReader a(*source, {0}, ElementType::uint64);
    ColumnReader b(*source, {1}, ElementType::uint16);
    for (std::uint64_t i = 0; i < stop * 40; ++i) expect_value(a, 0, i);
    EXPECT_EQ(b.elements(0), per_cluster);
  }
}

// ---- Far away

TEST_P(ClusterPools, BringTheFirstPagesOfExpectedColumnsInOneRoundTrip) {
  io::SimulatedLine line;
  const auto source = open_far(line, options());
  source->pool().keep_within({{0, 0, 1}, {1, 0, 1}});
  std::vector<std::unique_ptr<ColumnReader>> readers;
  for (std::uint32_t k = 0; k < columns; ++k) {
    source->pool().expect({k}, ElementType::uint64, ClusterPool::Form::elements, true);
    readers.push_back(std::make_unique<ColumnReader>(*source, std::vector{k}, ElementType::uint64));
  }
  const auto begin = line.now;
  for (std::uint64_t i = 0; i < 2 * per_cluster; ++i)
    for (std::uint32_t k = 0; k < columns; ++k) expect_value(*readers[k], k, i);
  EXPECT_LT(line.seconds_since(begin), 0.051);
  EXPECT_EQ(source->counters().bytes, columns * 2 * pages_per_cluster * stored);
}

TEST_P(ClusterPools, ReadOnePageOfAColumnThatIsExpectedInVain) {
  io::SimulatedLine line;
  const auto source = open_far(line, options());
  source->pool().keep_within({{0, 0, 1}, {1, 0, 1}});
  source->pool().expect({1}, ElementType::uint64, ClusterPool::Form::elements, false);
  ColumnReader reader(*source, {0}, ElementType::uint64);
  for (std::uint64_t i = 0; i < 2 * per_cluster; ++i) expect_value(reader, 0, i);
  EXPECT_EQ(source->counters().bytes, (2 * pages_per_cluster + 1) * stored);
  EXPECT_EQ(source->counters().prefetched_unused, 1u);
}

TEST_P(ClusterPools, WaitWithExpectedColumnsWhereAllOthersHaveEnded) {
  io::SimulatedLine line;
  const auto source = open_far(line, options());
  ColumnReader ended(*source, {0}, ElementType::uint64);
  for (std::uint64_t i = 0; i < clusters * per_cluster; ++i) expect_value(ended, 0, i);
  source->pool().expect({1}, ElementType::uint64, ClusterPool::Form::elements, true);
  source->pool().start_expected();
  EXPECT_EQ(source->counters().bytes, clusters * pages_per_cluster * stored);
  ColumnReader reader(*source, {1}, ElementType::uint64);
  for (std::uint64_t i = 0; i < clusters * per_cluster; ++i) expect_value(reader, 1, i);
  EXPECT_EQ(source->counters().bytes, 2 * clusters * pages_per_cluster * stored);
}

TEST_P(ClusterPools, DecodePagesOnceForStepsThatGoOn) {
  for (const bool is_far : {false, true}) {
    io::SimulatedLine line;
    const auto source = is_far ? open_far(line, options()) : open(options());
    constexpr std::uint64_t all = clusters * per_cluster;
    constexpr std::uint64_t step = per_page / 3;
    for (std::uint64_t i = 0; i < all; i += step) {
      source->pool().keep_closed(true);
      announce_elements(*source, i, std::min(i + 2 * step, all));
      for (std::uint32_t k = 0; k < columns; ++k) expect_elements(*source, k, i, std::min(i + step, all));
    }
    EXPECT_EQ(source->counters().pages, columns * clusters * pages_per_cluster);
    EXPECT_EQ(source->counters().bytes, columns * clusters * pages_per_cluster * stored);
    source->pool().keep_closed(false);
    EXPECT_EQ(source->counters().prefetched_unused, 0u);
  }
}

TEST_P(ClusterPools, KeepTheLastPagesOfClosedColumnsWithinAPartOfTheBudget) {
  write("none", {.type = ColumnType::split_uint64});
  const std::size_t of_a_page = std::make_shared<PageBuffers>(0)->lend(page_bytes).capacity();
  const auto source = open(options(0, 16 * 2 * of_a_page));  // of three columns, two have room
  const auto pages_of_a_round = [&](std::uint64_t entry) {
    const std::uint64_t before = source->counters().pages;
    for (std::uint32_t k = 0; k < columns; ++k) expect_elements(*source, k, entry, entry + 1);
    source->pool().keep_closed(false);
    return source->counters().pages - before;
  };
  EXPECT_EQ(pages_of_a_round(1), 3u);
  EXPECT_EQ(pages_of_a_round(2), 1u);
  EXPECT_EQ(pages_of_a_round(3), 1u);
  EXPECT_EQ(pages_of_a_round(per_page + 3), 3u);
  EXPECT_EQ(pages_of_a_round(per_page + 4), 1u);
  EXPECT_LE(source->pool().buffers().statistics().lent, 2 * of_a_page);
  // The pages of columns that stay closed are released after some rounds.
  for (int round = 0; round < 10; ++round) source->pool().keep_closed(false);
  EXPECT_EQ(source->pool().buffers().statistics().lent, 0u);
  EXPECT_EQ(pages_of_a_round(per_page + 5), 3u);
}

// Another iteration that was left: its columns may not take the room of what is read ahead.
TEST_P(ClusterPools, LeaveColumnsThatNoStepReadsAnyMore) {
  const auto source = open(options(stored, 8 * stored));
  source->pool().keep_closed(true);
  for (std::uint32_t k = 0; k < columns - 1; ++k) expect_elements(*source, k, 0, per_page + 1);
  for (std::uint64_t i = 0; i < clusters * per_cluster; i += per_page / 2) {
    source->pool().keep_closed(true);
    expect_elements(*source, columns - 1, i, i + per_page / 2);
  }
  const std::uint64_t unused = source->counters().prefetched_unused;
  source->pool().keep_closed(false);
  EXPECT_EQ(source->counters().prefetched_unused, unused);  // they had gone before
}

TEST_P(ClusterPools, BeginTogetherWhereReadingGoesBack) {
  io::SimulatedLine line;
  const auto source = open_far(line, options());
  std::vector<std::unique_ptr<ColumnReader>> readers;
  for (std::uint32_t k = 0; k < columns; ++k) {
    source->pool().expect({k}, ElementType::uint64, ClusterPool::Form::elements, true);
    readers.push_back(std::make_unique<ColumnReader>(*source, std::vector{k}, ElementType::uint64));
  }
  std::minstd_rand random(1);
  std::uint64_t cluster = 0;
  for (int round = 0; round < 50; ++round) {
    cluster = (cluster + 1 + random() % (clusters - 1)) % clusters;  // another one
    source->pool().keep_within({{cluster, 0, 1}});
    source->pool().start_expected();
    const auto begin = line.now;
    for (std::uint64_t i = cluster * per_cluster; i < (cluster + 1) * per_cluster; ++i)
      for (std::uint32_t k = 0; k < columns; ++k) expect_value(*readers[k], k, i);
    ASSERT_LT(line.seconds_since(begin), 0.051) << round;
  }
}

TEST_P(ClusterPools, BringAnnouncedPagesOfAllColumnsInOneRoundTrip) {
  io::SimulatedLine line;
  const auto source = open_far(line, options());
  const auto begin = line.now;
  announce(*source, {0, 1, 2}, 0, clusters);
  for (std::uint32_t k = 0; k < columns; ++k) expect_read(*source, k, 0, clusters);
  EXPECT_LT(line.seconds_since(begin), 0.051);
  const ReadCounters counters = source->counters();
  EXPECT_EQ(counters.bytes, columns * clusters * pages_per_cluster * stored);
  EXPECT_EQ(counters.pages, columns * clusters * pages_per_cluster);
  EXPECT_EQ(counters.prefetched_unused, 0u);
}

TEST_P(ClusterPools, KeepWhatIsAnnouncedTwiceAndLetGoOfTheRest) {
  io::SimulatedLine line;
  const auto source = open_far(line, options());
  announce(*source, {0, 1, 2}, 0, 1);
  announce(*source, {1}, 0, 2);
  expect_read(*source, 1, 0, 2);
  const ReadCounters counters = source->counters();
  EXPECT_EQ(counters.prefetched_unused, 2 * pages_per_cluster);
  EXPECT_EQ(counters.pages, 2 * pages_per_cluster);
  EXPECT_LE(counters.bytes, 4 * pages_per_cluster * stored);
}

TEST_P(ClusterPools, ReadOnlyWhatIsAskedForWhereNothingIsAnnounced) {
  io::SimulatedLine line;
  const auto source = open_far(line, options());
  ColumnReader reader(*source, {2}, ElementType::uint64);
  std::vector<std::uint64_t> values(per_page);
  const std::uint64_t before = line.bytes;
  reader.read(1, per_page, per_page, values.data());
  EXPECT_EQ(values.front(), value_at(2, per_cluster + per_page));
  EXPECT_EQ(line.bytes - before, stored);
}

TEST_P(ClusterPools, ReadAnnouncedPagesThatFailedOnceMore) {
  io::SimulatedLine line;
  const auto healthy = open(options());
  const std::uint64_t bad = healthy->placed_pages(1, 0)[3].locator.offset;
  const auto source = open_far(line, options(), {.read_error_at = bad + 5});
  announce(*source, {0, 1, 2}, 0, 1);
  expect_read(*source, 0, 0, 1);
  expect_read(*source, 2, 0, 1);
  ColumnReader reader(*source, {1}, ElementType::uint64);
  std::vector<std::uint64_t> values(per_cluster);
  EXPECT_THROW(reader.read(0, 0, per_cluster, values.data()), Error);
  reader.read(0, 0, 3 * per_page, values.data());
  EXPECT_EQ(values[3 * per_page - 1], value_at(1, 3 * per_page - 1));
}

// Any announcements, true or not, before any reads: the values are right and the memory is bounded.
TEST_P(ClusterPools, GiveTheValuesWhateverWasAnnounced) {
  std::mt19937_64 random(20'261'124);
  const auto any = [&](std::uint64_t below) { return random() % below; };
  for (int round = 0; round < 100; ++round) {
    io::SimulatedLine line{.round_trip = std::chrono::microseconds(1 + any(100'000)),
                           .rate = 1e5 * static_cast<double>(1 + any(1'000)),
                           .worthwhile_gap = any(2) * any(4'000)};
    const std::size_t budget = (4 + any(100)) * stored;
    const auto source = open_far(line, options(1 + any(4 * stored), budget));
    for (int step = 0; step < 20; ++step) {
      if (any(2) == 0) {
        const std::uint64_t first = any(clusters);
        std::vector<std::uint32_t> announced;
        for (std::uint32_t k = 0; k < columns; ++k)
          if (any(2) == 0) announced.push_back(k);
        announce(*source, announced, first, first + any(clusters - first) + 1);
      }
      const std::uint64_t first = any(clusters);
      expect_read(*source, static_cast<std::uint32_t>(any(columns)), first,
                  first + any(clusters - first) + 1);
      if (any(8) == 0) source->pool().announce({});
    }
    const std::size_t gaps = line.worthwhile_gap > 0 ? 2 : 1;
    EXPECT_LE(source->counters().peak_ahead_bytes, gaps * budget + 2 * stored) << round;
  }
}

TEST_P(ClusterPools, GiveTheValuesWhateverRequestsAreBest) {
  std::mt19937_64 random(17);
  const auto any = [&](std::uint64_t below) { return random() % below; };
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const io::IoTraits traits{.max_request = 1 + any(8 * stored),
                              .best_request = any(3) == 0 ? 0 : 1 + any(12 * stored),
                              .worthwhile_gap = any(2) * any(3 * stored),
                              .concurrency = 2 + static_cast<unsigned>(any(6)),
                              .read_unit = any(2) == 0 ? 1 : std::uint64_t{256} << any(6)};
    const auto source = open(options(1 + any(6 * stored), any(64 * stored)), {}, traits);
    std::vector<std::unique_ptr<ColumnReader>> readers;
    for (std::uint32_t k = 0; k < columns; ++k)
      readers.push_back(
          std::make_unique<ColumnReader>(*source, std::vector<std::uint32_t>{k}, ElementType::uint64));
    for (int use = 0; use < 4; ++use) use_somehow(*source, readers, any);
    readers.clear();
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ClusterPools,
                         ::testing::Values(Way{false, false}, Way{true, false}, Way{false, true},
                                           Way{true, true}),
                         [](const auto& way) {
                           return std::string(way.param.helped ? "Helped" : "Alone") +
                                  (way.param.queued ? "Queued" : "");
                         });

TEST(PageBuffersTest, TakeLittleMemoryForSmallPages) {
  const auto buffers = std::make_shared<PageBuffers>(std::size_t{8} << 20);
  std::vector<PageBuffers::Loan> many;
  for (int i = 0; i < 1000; ++i) many.push_back(buffers->lend(16));
  EXPECT_LE(buffers->statistics().lent, 1000u * 256);
}

TEST(PageBuffersTest, KeepBlocksOfRandomSizesApart) {
  const auto buffers = std::make_shared<PageBuffers>(std::size_t{64} << 20);
  std::mt19937_64 random(3);
  struct Lent {
    PageBuffers::Loan loan;
    std::size_t size;
    std::byte mark;
  };
  std::vector<Lent> all;
  for (int round = 0; round < 400; ++round) {
    const std::size_t size = 1 + (random() >> (40 + random() % 20));  // up to 16 MiB, small ones as often
    const std::size_t alignment = std::size_t{1} << (random() % 19);
    all.push_back({buffers->lend(size, alignment), size, std::byte(round)});
    ASSERT_GE(all.back().loan.capacity(), size);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(all.back().loan.data()) % std::max(alignment, std::size_t{64}),
              0u);
    std::fill_n(all.back().loan.data(), size, all.back().mark);
    if (random() % 3 == 0 || all.size() > 20) {
      const auto leaving = all.begin() + static_cast<std::ptrdiff_t>(random() % all.size());
      for (std::size_t i = 0; i < leaving->size; i += 1 + leaving->size / 1000)
        ASSERT_EQ(leaving->loan.data()[i], leaving->mark) << "another block has the same memory";
      all.erase(leaving);
    }
  }
  all.clear();
  EXPECT_EQ(buffers->statistics().lent, 0u);
}

TEST(PageBuffersTest, HandOutAgainWhatComesBack) {
  const auto buffers = std::make_shared<PageBuffers>(std::size_t{8} << 20);
  const std::byte* first = nullptr;
  {
    const PageBuffers::Loan loan = buffers->lend(1000, 4096);
    first = loan.data();
    EXPECT_GE(loan.capacity(), 1000u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 4096, 0u);
  }
  EXPECT_EQ(buffers->lend(3000).data(), first);
  EXPECT_EQ(buffers->statistics().allocations, 1u);
  EXPECT_EQ(buffers->statistics().lent, 0u);
  std::vector<PageBuffers::Loan> many;
  for (int i = 0; i < 32; ++i) {
    many.push_back(buffers->lend(std::size_t{1} << 20));
    std::fill_n(many.back().data(), many.back().capacity(), std::byte(i));
  }
  for (int i = 0; i < 32; ++i) EXPECT_EQ(many[static_cast<std::size_t>(i)].data()[1 << 19], std::byte(i));
  many.clear();
  EXPECT_LE(buffers->statistics().kept, std::size_t{8} << 20);
  EXPECT_EQ(buffers->statistics().lent, 0u);
}

}  // namespace
}  // namespace colonnade::page
