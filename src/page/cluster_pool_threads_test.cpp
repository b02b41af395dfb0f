// Pages that helpers decode ahead while readers use them, leave, fail and fork; pages are large enough for
// helpers to be called.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>
#include <thread>

#include "io/memory/memory_file.h"
#include "page/column_reader.h"
#include "page/page_sink.h"

// ThreadSanitizer does not follow a child of a process with threads.
#if defined(__SANITIZE_THREAD__)
#define COLONNADE_NO_FORKS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COLONNADE_NO_FORKS
#endif
#endif

namespace colonnade::page {
namespace {

constexpr std::uint32_t columns = 3;
constexpr std::uint64_t clusters = 3;
constexpr std::uint64_t per_page = 8192;
constexpr std::uint64_t per_cluster = 6 * per_page;
constexpr std::uint64_t elements = clusters * per_cluster;

std::uint64_t value_at(std::uint32_t column, std::uint64_t element) {
  return element / 7 + 1000 * column;
}

class HelpedClusterPools : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteOptions options{
        .compression = "zstd:1", .initial_page_size = per_page * 8, .max_page_size = per_page * 8};
    PageSink sink(container::create_container(
                      uri, "Data", {.kind = container::ContainerKind::bare_file, .root_compression = 501}),
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
      c.raw_type = static_cast<std::uint16_t>(ColumnType::split_uint64);
      c.encoding = default_encoding(ColumnType::split_uint64);
      field.representations = {{i}};
      d.fields.push_back(field);
      d.columns.push_back(c);
    }
    sink.start();
    std::vector<ColumnWriter*> writers;
    for (std::uint32_t i = 0; i < columns; ++i) writers.push_back(&sink.add_column(i, ElementType::uint64));
    for (std::uint64_t i = 0; i < elements; ++i) {
      for (std::uint32_t k = 0; k < columns; ++k) writers[k]->append(value_at(k, i));
      if ((i + 1) % per_cluster == 0) sink.commit_cluster(per_cluster);
    }
    sink.commit_data_set();
    sink.close();
  }
  void TearDown() override { io::remove_memory_file(uri); }

  // Reads the first `count` elements of all columns in order; how many were wrong.
  std::uint64_t wrong_values(PageSource& source, std::uint64_t count) const {
    std::vector<std::unique_ptr<ColumnReader>> readers;
    for (std::uint32_t k = 0; k < columns; ++k)
      readers.push_back(
          std::make_unique<ColumnReader>(source, std::vector<std::uint32_t>{k}, ElementType::uint64));
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < count; ++i)
      for (std::uint32_t k = 0; k < columns; ++k)
        wrong += readers[k]->at<std::uint64_t>(i / per_cluster, i % per_cluster) != value_at(k, i);
    return wrong;
  }

  const std::string uri = "memory:cluster-pool-threads-test";
};

TEST_F(HelpedClusterPools, ServeManyReadersAtOnce) {
  const std::shared_ptr<container::ReadContainer> container = container::open_container(uri);
  std::vector<std::uint64_t> wrong(4, 1);
  std::vector<std::thread> threads;
  for (std::uint64_t& result : wrong)
    threads.emplace_back([&] {
      const auto source = PageSource::open("Data", container);
      result = wrong_values(*source, elements);
      if (source->counters().pages != columns * elements / per_page) ++result;
      result += source->counters().prefetched_unused;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), std::uint64_t{0}), 0u);
}

TEST_F(HelpedClusterPools, AreLeftInTheMiddle) {
  for (std::uint64_t count = 1; count < elements; count += 3 * per_page + 11)
    EXPECT_EQ(wrong_values(*PageSource::open("Data", uri), count), 0u);
}

TEST_F(HelpedClusterPools, SpreadBulkReads) {
  const auto source = PageSource::open("Data", uri);
  ColumnReader reader(*source, {1}, ElementType::uint64);
  std::vector<std::uint64_t> out(per_cluster);
  for (std::size_t c = 0; c < clusters; ++c) {
    reader.read(c, 0, per_cluster, out.data());
    for (std::uint64_t i = 0; i < per_cluster; ++i) ASSERT_EQ(out[i], value_at(1, c * per_cluster + i));
  }
  EXPECT_EQ(source->counters().pages, elements / per_page);
}

#ifndef COLONNADE_NO_FORKS
TEST_F(HelpedClusterPools, WorkInAForkedChild) {
  const auto source = PageSource::open("Data", uri);
  ColumnReader reader(*source, {0}, ElementType::uint64);
  for (std::uint64_t i = 0; i < per_cluster / 2; ++i)
    ASSERT_EQ(reader.at<std::uint64_t>(0, i), value_at(0, i));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // rather than waiting for ever
    // The reader of the parent, and one of its own.
    bool good = wrong_values(*PageSource::open("Data", uri), elements) == 0;
    for (std::uint64_t i = 0; i < elements; ++i)
      good = good && reader.at<std::uint64_t>(i / per_cluster, i % per_cluster) == value_at(0, i);
    ::_exit(good ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (std::uint64_t i = 0; i < elements; ++i)
    ASSERT_EQ(reader.at<std::uint64_t>(i / per_cluster, i % per_cluster), value_at(0, i));
}
#endif

}  // namespace
}  // namespace colonnade::page
