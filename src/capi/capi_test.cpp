// What the C interface promises: what is handed over is released once, and what is wrong with it is an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "capi/capi_testing.h"

namespace colonnade::capi {
namespace {

using ::testing::HasSubstr;
using testing::MemoryDataSet;
using testing::Table;

// ---- What is handed over

colonnade_writer* writer_of(Table& table, const MemoryDataSet& data) {
  const auto options = MemoryDataSet::options();
  colonnade_writer* writer = nullptr;
  EXPECT_EQ(colonnade_writer_create("E", data.uri().c_str(), table.schema(), &options, &writer),
            COLONNADE_OK);
  return writer;
}

TEST(CInterfaceReleases, ArraysOnceWhateverBecomesOfThem) {
  const MemoryDataSet data("memory:capi-releases");
  Table table(10);
  colonnade_writer* writer = writer_of(table, data);
  EXPECT_EQ(colonnade_writer_append(writer, table.array()), COLONNADE_OK);
  EXPECT_EQ(table.released(), 1);
  table.array();
  table.ends()[5] = 1 << 20;
  table.ends()[6] = 2;
  ArrowArray* broken = table.array();
  EXPECT_EQ(colonnade_writer_append(writer, broken), COLONNADE_USAGE);
  EXPECT_EQ(table.released(), 2);
  EXPECT_EQ(colonnade_writer_append(writer, broken), COLONNADE_USAGE);  // it was released
  EXPECT_EQ(table.released(), 2);
  EXPECT_EQ(colonnade_writer_append(nullptr, table.array()), COLONNADE_USAGE);
  EXPECT_EQ(table.released(), 3);
  EXPECT_EQ(colonnade_writer_close(writer), COLONNADE_OK);
  EXPECT_EQ(colonnade_writer_append(writer, table.array()), COLONNADE_USAGE);
  EXPECT_EQ(table.released(), 4);
  colonnade_writer_release(writer);
  EXPECT_EQ(table.released(), 4);
}

TEST(CInterfaceReleases, StreamsOnceWhateverBecomesOfThem) {
  const MemoryDataSet data("memory:capi-releases-streams");
  const auto options = MemoryDataSet::options();
  Table table(10);
  EXPECT_EQ(colonnade_write_stream("E", data.uri().c_str(), table.stream(3), &options, nullptr),
            COLONNADE_OK);
  EXPECT_EQ(table.streams_released(), 1);
  EXPECT_EQ(table.released(), 3);
  EXPECT_EQ(colonnade_write_stream(nullptr, data.uri().c_str(), table.stream(3), &options, nullptr),
            COLONNADE_USAGE);
  EXPECT_EQ(table.streams_released(), 2);
  EXPECT_EQ(colonnade_write_stream("E", "/no/such/folder/f.root", table.stream(3), &options, nullptr),
            COLONNADE_NOT_FOUND);
  EXPECT_EQ(table.streams_released(), 3);
  EXPECT_EQ(table.released(), 3);
  ArrowArrayStream empty{};
  EXPECT_EQ(colonnade_write_stream("E", data.uri().c_str(), &empty, &options, nullptr), COLONNADE_USAGE);
}

// ---- Hostile arrays

struct Damage {
  const char* what;
  std::function<void(Table&, ArrowArray&)> make;
};

TEST(CInterfaceRefuses, DamagedArrays) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  static ArrowArray* no_children[2] = {nullptr, nullptr};
  static const void* no_buffers[3] = {nullptr, nullptr, nullptr};
  const Damage damages[] = {
      {"offsets that go backwards", [](Table& t, ArrowArray&) { t.ends()[4] = 0; }},
      {"negative offsets", [](Table& t, ArrowArray&) { t.ends()[0] = -5; }},
      {"a length that overflows", [](Table&, ArrowArray& a) { a.length = largest; }},
      {"a length below zero", [](Table&, ArrowArray& a) { a.length = -1; }},
      {"an offset that overflows", [](Table&, ArrowArray& a) { a.offset = largest; }},
      {"a longer struct than its columns", [](Table&, ArrowArray& a) { a.length = 11; }},
      {"a column with the length of nothing", [](Table& t, ArrowArray&) { t.column(1).length = 0; }},
      {"a column with an offset that overflows", [](Table& t, ArrowArray&) { t.column(0).offset = largest; }},
      {"no list of children", [](Table&, ArrowArray& a) { a.children = nullptr; }},
      {"children that are null", [](Table&, ArrowArray& a) { a.children = no_children; }},
      {"too few children", [](Table&, ArrowArray& a) { a.n_children = 1; }},
      {"children below zero", [](Table&, ArrowArray& a) { a.n_children = -1; }},
      {"no list of buffers", [](Table& t, ArrowArray&) { t.column(0).buffers = nullptr; }},
      {"buffers that are null", [](Table& t, ArrowArray&) { t.column(0).buffers = no_buffers; }},
      {"offsets that are null", [](Table& t, ArrowArray&) { t.column(1).buffers = no_buffers; }},
      {"too few buffers", [](Table& t, ArrowArray&) { t.column(1).n_buffers = 2; }},
      {"a column that was released", [](Table& t, ArrowArray&) { t.column(1).release = nullptr; }},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.what);
    const MemoryDataSet data("memory:capi-hostile");
    Table table(10);
    colonnade_writer* writer = writer_of(table, data);
    ArrowArray* array = table.array();
    damage.make(table, *array);
    EXPECT_EQ(colonnade_writer_append(writer, array), COLONNADE_USAGE);
    EXPECT_EQ(table.released(), 1);
    EXPECT_STRNE(colonnade_last_error()->problem, "");
    EXPECT_EQ(colonnade_writer_num_entries(writer), 0U);
    colonnade_writer_release(writer);
  }
}

TEST(CInterfaceRefuses, SchemasWithHoles) {
  const MemoryDataSet data("memory:capi-hostile-schema");
  const std::pair<const char*, std::function<void(ArrowSchema&)>> damages[] = {
      {"released", [](ArrowSchema& s) { s.release = nullptr; }},
      {"no format", [](ArrowSchema& s) { s.format = nullptr; }},
      {"no struct", [](ArrowSchema& s) { s.format = "i"; }},
      {"no list of children", [](ArrowSchema& s) { s.children = nullptr; }},
      {"children below zero", [](ArrowSchema& s) { s.n_children = -2; }},
      {"a number of children that cannot be", [](ArrowSchema& s) { s.n_children = std::int64_t{1} << 60; }},
      {"a child that is null", [](ArrowSchema& s) { s.children[0] = nullptr; }},
      {"a child without format", [](ArrowSchema& s) { s.children[0]->format = nullptr; }},
      {"a format that is none", [](ArrowSchema& s) { s.children[0]->format = "?"; }},
      {"two fields of one name", [](ArrowSchema& s) { s.children[0]->name = "s"; }},
      {"a name with a dot", [](ArrowSchema& s) { s.children[0]->name = "a.b"; }},
      {"no name", [](ArrowSchema& s) { s.children[0]->name = nullptr; }},
      {"itself as a child", [](ArrowSchema& s) { s.children[0] = &s; }},
  };
  for (const auto& [what, make] : damages) {
    SCOPED_TRACE(what);
    Table table(1);
    ArrowSchema* schema = table.schema();
    make(*schema);
    const auto options = MemoryDataSet::options();
    colonnade_writer* writer = nullptr;
    const colonnade_status status =
        colonnade_writer_create("E", data.uri().c_str(), schema, &options, &writer);
    EXPECT_THAT(status, ::testing::AnyOf(COLONNADE_SCHEMA, COLONNADE_UNSUPPORTED));
    EXPECT_EQ(writer, nullptr);
  }
}

// A file without a name was written elsewhere, and could not get to its place.
TEST(CInterfaceRefuses, AnEmptyURIHoweverItIsWritten) {
  for (const auto mode : {COLONNADE_WRITE_CREATE, COLONNADE_WRITE_REPLACE, COLONNADE_WRITE_ADD}) {
    SCOPED_TRACE(mode);
    Table table(1);
    auto options = MemoryDataSet::options();
    options.mode = mode;
    colonnade_writer* writer = nullptr;
    EXPECT_EQ(colonnade_writer_create("E", "", table.schema(), &options, &writer), COLONNADE_USAGE);
    EXPECT_THAT(colonnade_last_error()->problem, HasSubstr("the name of the file is empty"));
    EXPECT_EQ(writer, nullptr);
  }
}

TEST(CInterfaceRefuses, NullPointersAndStructsOfNoSize) {
  colonnade_reader* reader = nullptr;
  EXPECT_EQ(colonnade_open(nullptr, nullptr, 1, nullptr, &reader), COLONNADE_USAGE);
  EXPECT_THAT(colonnade_last_error()->problem, HasSubstr("null pointer"));
  EXPECT_EQ(colonnade_open(nullptr, nullptr, 0, nullptr, &reader), COLONNADE_USAGE);
  const MemoryDataSet data("memory:capi-null", 1);
  ASSERT_EQ(data.status(), COLONNADE_OK);
  colonnade_read_options options{};
  EXPECT_EQ(colonnade_open("E", data.uris(), 1, &options, &reader), COLONNADE_USAGE);
  options.struct_size = sizeof(std::size_t) + sizeof(void*) / 2;  // ends within `cache`
  EXPECT_EQ(colonnade_open("E", data.uris(), 1, &options, &reader), COLONNADE_USAGE);
  options.struct_size = sizeof(std::size_t);  // of an older header
  ASSERT_EQ(colonnade_open("E", data.uris(), 1, &options, &reader), COLONNADE_OK);
  colonnade_reader_release(reader);
  reader = nullptr;
  options.struct_size = 3;
  EXPECT_EQ(colonnade_open("E", data.uris(), 1, &options, &reader), COLONNADE_USAGE);
  EXPECT_EQ(reader, nullptr);
  ASSERT_EQ(colonnade_open("E", data.uris(), 1, nullptr, &reader), COLONNADE_OK);
  ArrowArray array{};
  EXPECT_EQ(colonnade_reader_read(reader, nullptr, 2, 0, 1, &array), COLONNADE_USAGE);
  EXPECT_EQ(colonnade_reader_read(reader, nullptr, 0, 0, 1, nullptr), COLONNADE_USAGE);
  EXPECT_EQ(colonnade_reader_read(nullptr, nullptr, 0, 0, 1, &array), COLONNADE_USAGE);
  EXPECT_EQ(array.release, nullptr);
  colonnade_reader_release(reader);
  colonnade_reader_release(nullptr);
  colonnade_writer_release(nullptr);
  colonnade_frame_release(nullptr);
  colonnade_result_release(nullptr);
  colonnade_strings_release(nullptr);
  EXPECT_EQ(colonnade_reader_num_entries(nullptr), 0U);
  EXPECT_EQ(colonnade_writer_num_entries(nullptr), 0U);
}

}  // namespace
}  // namespace colonnade::capi
