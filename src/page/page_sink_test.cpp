// Page sinks over a file that fails on purpose: whichever write is the one that fails, the error comes out,
// and what was committed before is still there.
#include "page/page_sink.h"

#include <gtest/gtest.h>

#include "io/memory/fault_file.h"
#include "io/memory/memory_file.h"
#include "page/column_reader.h"
#include "page/root_file_writer.h"

namespace colonnade::page {
namespace {

const std::string uri = "memory:page-sink-test";

std::unique_ptr<PageSink> make_sink(const io::Faults& faults, const WriteOptions& options) {
  auto file = io::with_faults(io::open_for_writing(uri, io::OpenMode::create), faults);
  auto sink = std::make_unique<PageSink>(RootFileWriter::create(std::move(file), "Data", {}), options);
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
    // The commit that failed may have switched already when the error came.
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
    // A write that is cut in the middle of the head of the file may leave a head that is neither; that it is
    // one small write, which devices do whole, is what recovery rests on.
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
    EXPECT_EQ(error.problem(), "cannot close (injected fault)");
  }
  EXPECT_EQ(commits, 2);
  EXPECT_EQ(readable_entries(), 200u);
  io::remove_memory_file(uri);
}

TEST(PageSink, OpenPagesShareTheBudget) {
  const WriteOptions options{
      .compression = "none", .initial_page_size = 1024, .max_page_size = 4096, .page_buffer_budget = 20000};
  PageSink sink(create_container(uri, "Data", {}), options);
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

TEST(PageSink, ZerosAndBlocksOfValuesAppend) {
  const auto sink = make_sink({}, {.compression = "none", .initial_page_size = 8, .max_page_size = 64});
  sink->start();
  ColumnWriter& column = sink->add_column(0, ElementType::uint32);
  const std::vector<std::uint32_t> block = {1,  2,  3,  4,  5,  6,  7,  8,  9, 10,
                                            11, 12, 13, 14, 15, 16, 17, 18, 19};
  column.append(block.data(), block.size());
  column.append_zeros(21);
  column.append(block.data(), 1);
  EXPECT_EQ(column.in_cluster(), 41u);
  sink->commit_cluster(41);
  sink->commit_data_set();
  sink->close();
  const auto source = PageSource::open("Data", uri);
  ColumnReader reader(*source, {0}, ElementType::uint32);
  std::vector<std::uint32_t> read(41);
  reader.read(0, 0, 41, read.data());
  EXPECT_TRUE(std::equal(block.begin(), block.end(), read.begin()));
  EXPECT_EQ(std::vector<std::uint32_t>(read.begin() + 19, read.begin() + 40),
            std::vector<std::uint32_t>(21, 0));
  EXPECT_EQ(read[40], 1u);
  io::remove_memory_file(uri);
}

}  // namespace
}  // namespace colonnade::page
