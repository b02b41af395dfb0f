// Page sinks over a file with injected faults: any failing write is reported, and earlier commits stay
// readable.
#include "page/page_sink.h"

#include <gtest/gtest.h>

#include "container/root_file/writer.h"
#include "io/memory/fault_file.h"
#include "io/memory/memory_file.h"
#include "page/column_reader.h"

namespace colonnade::page {
namespace {

const std::string uri = "memory:page-sink-test";

// Neighbouring values have nothing in common.
std::uint32_t number_of(std::uint32_t entry, std::uint32_t column) {
  std::uint64_t bits = (std::uint64_t{entry} << 16 | column) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
  return static_cast<std::uint32_t>(bits >> 16);
}

std::unique_ptr<PageSink> make_sink(const io::Faults& faults, const WriteOptions& options) {
  auto file = io::with_faults(io::open_for_writing(uri, io::OpenMode::create), faults);
  auto sink =
      std::make_unique<PageSink>(container::RootFileWriter::create(std::move(file), "Data", {}), options);
  Descriptor& d = sink->descriptor();
  d.name = "Data";
  FieldDescriptor field;
  field.id = field.parent = 0;
  field.name = "x";
  field.type_name = "std::uint32_t";
  field.representations = {{0}};
  d.fields.push_back(field);
  ColumnDescriptor column;
  column.id = column.field = 0;
  column.raw_type = static_cast<std::uint16_t>(ColumnType::uint32);
  column.encoding = default_encoding(ColumnType::uint32);
  d.columns.push_back(column);
  return sink;
}

// Two committed states: 100 entries, then 200.
void write_all(const io::Faults& faults, int& commits) {
  const auto sink = make_sink(faults, {.compression = "none", .initial_page_size = 64, .max_page_size = 64});
  sink->start();
  ColumnWriter& column = sink->add_column(0, ElementType::uint32);
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 100; ++i) column.append(100u * static_cast<std::uint32_t>(round) + i);
    sink->commit_cluster(100);
    sink->commit_data_set();
    ++commits;
  }
  sink->close();
}

std::uint64_t readable_entries() {
  const auto source = PageSource::open("Data", uri);
  ColumnReader reader(*source, {0}, ElementType::uint32);
  for (std::size_t c = 0; c < source->descriptor().clusters.size(); ++c)
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(reader.at<std::uint32_t>(c, i), 100 * c + i);
  return source->descriptor().entries();
}

void expect_state(int commits) {
  try {
    const std::uint64_t entries = readable_entries();
    // The failed commit may already have switched when the error occurred.
    EXPECT_GE(entries, 100u * static_cast<unsigned>(commits));
    EXPECT_EQ(entries % 100, 0u);
  } catch (const Error& error) {
    EXPECT_EQ(commits, 0) << error.what();
  }
}

TEST(PageSink, AnyWriteMayFail) {
  int failures = 0;
  for (std::uint64_t passing = 0;; ++passing) {
    int commits = 0;
    try {
      write_all({.writes = passing}, commits);
      break;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_EQ(error.context().uri, uri);
      EXPECT_EQ(error.problem(), "cannot write (injected fault)");
      ++failures;
    }
    expect_state(commits);
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(failures, 10);
  EXPECT_EQ(readable_entries(), 200u);
  io::remove_memory_file(uri);
}

TEST(PageSink, TheDeviceMayBeFullAtAnyByte) {
  for (std::uint64_t space = 0;; space += 13) {
    int commits = 0;
    try {
      write_all({.space = space}, commits);
      break;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
    }
    // A write that is cut in the middle of the head of the file may leave an invalid head; recovery relies on
    // the head being one small write, which devices perform atomically.
    try {
      EXPECT_EQ(readable_entries() % 100, 0u);
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::usage);
    }
    if (::testing::Test::HasFailure()) break;
  }
  io::remove_memory_file(uri);
}

TEST(PageSink, ClosingMayFail) {
  int commits = 0;
  try {
    write_all({.close_fails = true}, commits);
    ADD_FAILURE() << "the error was swallowed";
  } catch (const Error& error) {
    EXPECT_TRUE(
        error.problem().starts_with("cannot close (injected fault); what was committed is in its place"))
        << error.problem();
  }
  EXPECT_EQ(commits, 2);
  EXPECT_EQ(readable_entries(), 200u);
  io::remove_memory_file(uri);
}

TEST(PageSink, OpenPagesShareTheBudget) {
  const WriteOptions options{
      .compression = "none", .initial_page_size = 1024, .max_page_size = 4096, .page_buffer_budget = 20000};
  PageSink sink(container::create_container(uri, "Data", {}), options);
  Descriptor& d = sink.descriptor();
  d.name = "Data";
  constexpr std::uint32_t columns = 50;
  for (std::uint32_t i = 0; i < columns; ++i) {
    FieldDescriptor field;
    field.id = field.parent = i;
    field.name = "x" + std::to_string(i);
    field.type_name = "std::uint32_t";
    field.representations = {{i}};
    d.fields.push_back(field);
    ColumnDescriptor column;
    column.id = column.field = i;
    column.raw_type = static_cast<std::uint16_t>(ColumnType::uint32);
    column.encoding = default_encoding(ColumnType::uint32);
    d.columns.push_back(column);
  }
  sink.start();
  std::vector<ColumnWriter*> writers;
  for (std::uint32_t i = 0; i < columns; ++i) writers.push_back(&sink.add_column(i, ElementType::uint32));
  for (std::uint32_t n = 0; n < 2000; ++n) {
    for (ColumnWriter* writer : writers) writer->append(n);
    ASSERT_LE(sink.open_bytes(), 20000 + 4096u);
  }
  sink.commit_cluster(2000);
  sink.commit_data_set();
  sink.close();
  const auto source = PageSource::open("Data", uri);
  for (std::uint32_t i = 0; i < columns; ++i) {
    ColumnReader reader(*source, {i}, ElementType::uint32);
    for (std::uint32_t n = 0; n < 2000; ++n) ASSERT_EQ(reader.at<std::uint32_t>(0, n), n);
  }
  io::remove_memory_file(uri);
}

TEST(PageSink, BlocksOfValuesAppend) {
  const auto sink = make_sink({}, {.compression = "none", .initial_page_size = 8, .max_page_size = 64});
  sink->start();
  ColumnWriter& column = sink->add_column(0, ElementType::uint32);
  const std::vector<std::uint32_t> block = {1,  2,  3,  4,  5,  6,  7,  8,  9, 10,
                                            11, 12, 13, 14, 15, 16, 17, 18, 19};
  column.append(block.data(), block.size());
  column.append(block.data(), 17);
  column.append(block.data(), 1);
  EXPECT_EQ(column.in_cluster(), 37u);
  sink->commit_cluster(37);
  sink->commit_data_set();
  sink->close();
  const auto source = PageSource::open("Data", uri);
  ColumnReader reader(*source, {0}, ElementType::uint32);
  std::vector<std::uint32_t> read(37);
  reader.read(0, 0, 37, read.data());
  EXPECT_TRUE(std::equal(block.begin(), block.end(), read.begin()));
  EXPECT_TRUE(std::equal(read.begin() + 19, read.begin() + 36, block.begin()));
  EXPECT_EQ(read[36], 1u);
  io::remove_memory_file(uri);
}

// Columns of 32-bit numbers, filled at the same pace with incompressible numbers, as `entries` of one
// cluster; returns the peak memory.
std::size_t peak_memory(PageSink& sink, std::uint32_t columns, std::uint32_t entries) {
  Descriptor& d = sink.descriptor();
  d.name = "Data";
  for (std::uint32_t i = 0; i < columns; ++i) {
    FieldDescriptor field;
    field.id = field.parent = i;
    field.name = "x" + std::to_string(i);
    field.type_name = "std::uint32_t";
    field.representations = {{i}};
    d.fields.push_back(field);
    ColumnDescriptor column;
    column.id = column.field = i;
    column.raw_type = static_cast<std::uint16_t>(ColumnType::uint32);
    column.encoding = default_encoding(ColumnType::uint32);
    d.columns.push_back(column);
  }
  sink.start();
  std::vector<ColumnWriter*> writers;
  for (std::uint32_t i = 0; i < columns; ++i) writers.push_back(&sink.add_column(i, ElementType::uint32));
  std::size_t peak = 0;
  for (std::uint32_t n = 0; n < entries; ++n) {
    for (std::uint32_t i = 0; i < columns; ++i) writers[i]->append(number_of(n, i));
    peak = std::max(peak, sink.open_memory() + sink.waiting_bytes());
  }
  sink.commit_cluster(entries);
  sink.commit_data_set();
  sink.close();
  return peak;
}

void expect_numbers(std::uint32_t columns, std::uint32_t entries) {
  const auto source = PageSource::open("Data", uri);
  ASSERT_EQ(source->descriptor().clusters.size(), 1u);
  for (std::uint32_t i = 0; i < columns; ++i) {
    ColumnReader reader(*source, {i}, ElementType::uint32);
    for (std::uint32_t n = 0; n < entries; ++n)
      ASSERT_EQ(reader.at<std::uint32_t>(0, n), number_of(n, i)) << "column " << i << " entry " << n;
  }
}

// The number of contiguous ranges of the file that a column's pages form.
std::size_t stretches(std::uint32_t column) {
  const auto source = PageSource::open("Data", uri);
  std::size_t count = 0;
  std::uint64_t end = 0;
  for (const PageDescriptor& page : source->descriptor().clusters[0].columns[column].pages) {
    if (page.locator.offset != end) ++count;
    end = page.locator.offset + page.locator.size + sizeof(std::uint64_t);
  }
  return count;
}

TEST(PageSink, AClusterLargerThanTheBudgetIsWrittenInPieces) {
  constexpr std::size_t budget = 200000;
  for (const char* compression : {"none", "zstd:1"})
    for (const auto merging : {SamePageMerging::off, SamePageMerging::on}) {
      const WriteOptions options{.compression = compression,
                                 .max_page_size = 4096,
                                 .page_buffer_budget = budget,
                                 .same_page_merging = merging};
      PageSink sink(container::create_container(uri, "Data", {}), options);
      // A page may be sealed before the lack of room for it is noticed.
      EXPECT_LE(peak_memory(sink, 40, 20000), budget + 2 * 4096) << compression;
      expect_numbers(40, 20000);
      // 3.2 MB, in pieces of half of the budget at least.
      EXPECT_GT(stretches(7), 10u);
      EXPECT_LE(stretches(7), 33u);
    }
  io::remove_memory_file(uri);
}

TEST(PageSink, AClusterOfFewColumnsIsWrittenAsAWhole) {
  const WriteOptions options{.compression = "none", .max_page_size = 4096, .page_buffer_budget = 200000};
  PageSink sink(container::create_container(uri, "Data", {}), options);
  EXPECT_LE(peak_memory(sink, 4, 12000), 250000u);
  expect_numbers(4, 12000);
  EXPECT_EQ(stretches(2), 1u);
  io::remove_memory_file(uri);
}

TEST(PageSink, ValuesOfWholePagesAreSealedWhereTheyAre) {
  const auto sink = make_sink({}, {.compression = "none", .max_page_size = 4096});
  sink->start();
  ColumnWriter& column = sink->add_column(0, ElementType::uint32);
  std::vector<std::uint32_t> numbers(10000);
  for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = number_of(i, 0);
  const std::vector<std::uint32_t> expected = numbers;
  column.append(numbers.data(), numbers.size());
  EXPECT_EQ(column.in_cluster(), 10000u);
  EXPECT_EQ(column.buffered_bytes(), 10000u * 4 % 4096);  // nothing else was copied to an open page
  std::fill(numbers.begin(), numbers.end(), 0);           // the caller may reuse its memory
  sink->commit_cluster(10000);
  sink->commit_data_set();
  sink->close();
  const auto source = PageSource::open("Data", uri);
  ColumnReader reader(*source, {0}, ElementType::uint32);
  std::vector<std::uint32_t> read(10000);
  reader.read(0, 0, read.size(), read.data());
  EXPECT_EQ(read, expected);
  io::remove_memory_file(uri);
}

}  // namespace
}  // namespace colonnade::page
