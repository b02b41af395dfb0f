// All types of fields in blocks of rows, against whole arrays of them.
#include <gmock/gmock.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <variant>

#include "base/test_fixtures.h"
#include "dataset/test_round_trip.h"
#include "frame/sources/source_test_tools.h"
#include "frame/values/values.h"

namespace source_test {

struct Hit {
  float x = 0;
  std::int16_t cell = 0;
};
struct Base {
  std::uint32_t flags = 0;
};
struct Jet : Base {
  double pt = 0;
  std::vector<Hit> hits;
  std::string name;
};
struct Root {
  std::int32_t id = 0;
  float weight = 0;
};
struct Left : Root {
  std::int32_t left = 0;
};
struct Right : Root {
  std::vector<std::int32_t> right;
};
struct Both : Left, Right {
  std::int64_t weight = 0;  // hides two others
  bool own = false;
};
struct Nothing {};
enum class Color : std::int8_t { red, green };
enum class Plain { first, second };

}  // namespace source_test

COLONNADE_DESCRIBE_STRUCT(source_test::Jet, (source_test::Base), pt, hits, name)
COLONNADE_DESCRIBE_STRUCT(source_test::Left, (source_test::Root), left)
COLONNADE_DESCRIBE_STRUCT(source_test::Right, (source_test::Root), right)
COLONNADE_DESCRIBE_STRUCT(source_test::Both, (source_test::Left, source_test::Right), weight, own)

namespace colonnade::frame {
namespace {

using namespace std::string_literals;
using source_test::Color;
using source_test::Hit;
using source_test::Jet;
using testing::error_of;
using ::testing::HasSubstr;
using testing::MemoryFile;

std::shared_ptr<Source> open(const std::string& uri) {
  return open_chain("Data", std::span(&uri, 1));
}

template <class T>
void expect_type(const ValueType& type) {
  SCOPED_TRACE(make_field<T>("x")->type_name());
  const MemoryFile file;
  testing::write_values<T>(file, testing::random_values<T>(90), testing::tiny_pieces());
  const auto source = open(file);
  const auto column = source->find("x");
  ASSERT_TRUE(column);
  EXPECT_EQ(source->type(*column), type) << source->type(*column).name();
  expect_same(*source, "x", entries_as_arrays(file, "x"));
}

using source_test::Both;
using source_test::Left;
using source_test::Right;

// A class that inherits names twice, and hides one: the same object in three places.
void write_both(const MemoryFile& file) {
  auto model = Model::create();
  const auto both = model->make_field<Both>("both");
  const auto list = model->make_field<std::vector<Both>>("list");
  const auto writer = Writer::recreate(std::move(model), "Data", file);
  for (std::int32_t i = 0; i < 10; ++i) {
    static_cast<Left&>(*both).id = i;
    static_cast<Right&>(*both).id = 100 + i;
    static_cast<Left&>(*both).weight = 0.5f * static_cast<float>(i);
    static_cast<Right&>(*both).weight = -1.5f * static_cast<float>(i);
    both->weight = 1000 * i;
    both->left = -i;
    both->right.assign(static_cast<std::size_t>(i % 3), i);
    both->own = i % 2 == 0;
    list->assign(static_cast<std::size_t>(i % 4), *both);
    writer->fill();
  }
  writer->close();
}

TEST(Source, TellsInheritedMembersApartByTheirBase) {
  const MemoryFile file;
  write_both(file);
  const auto source = open(file);
  const auto type = source->type(*source->find("both"));
  std::vector<std::string> names;
  for (const auto& [name, member] : type.members()) names.push_back(name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("source_test::Left::id", "source_test::Left::weight",
                                                     "left", "source_test::Right::id",
                                                     "source_test::Right::weight", "right", "weight", "own"));
  expect_same(*source, "both", entries_as_arrays(file, "both"));
  expect_same(*source, "list", entries_as_arrays(file, "list"));
  const auto reader = Reader::open("Data", file);
  auto left = reader->view<std::int32_t>("both.source_test::Left::id");
  auto right = reader->view<std::int32_t>("both.source_test::Right::id");
  auto own = reader->view<std::int64_t>("both.weight");
  for (std::int32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(left(static_cast<std::uint64_t>(i)), i);
    EXPECT_EQ(right(static_cast<std::uint64_t>(i)), 100 + i);
    EXPECT_EQ(own(static_cast<std::uint64_t>(i)), 1000 * i);
  }
  for (const char* path : {"both.id", "list.id"}) {
    for (const Error& error :
         {error_of([&] { source->find(path); }), error_of([&] { reader->view(path); })}) {
      EXPECT_EQ(error.kind(), ErrorKind::not_found);
      EXPECT_THAT(error.what(),
                  HasSubstr("'id' is inherited more than once; try: one of: source_test::Left::id, "
                            "source_test::Right::id"));
    }
  }
}

TEST(Source, ReadsNumbers) {
  expect_type<bool>(ElementType::boolean);
  expect_type<char>(ElementType::character);
  expect_type<std::byte>(ElementType::byte);
  expect_type<std::int8_t>(ElementType::int8);
  expect_type<std::uint16_t>(ElementType::uint16);
  expect_type<std::int32_t>(ElementType::int32);
  expect_type<std::uint64_t>(ElementType::uint64);
  expect_type<float>(ElementType::float32);
  expect_type<double>(ElementType::float64);
}

TEST(Source, ReadsDouble32AsDouble) {
  expect_type<Double32>(ElementType::float64);
}

TEST(Source, ReadsEnumsAndAtomicsAsTheirValue) {
  expect_type<Color>(ElementType::int8);
  expect_type<std::atomic<int>>(ElementType::int32);
}

TEST(Source, ReadsTextsAndLists) {
  expect_type<std::string>(ValueType::string());
  expect_type<std::vector<float>>(ValueType::list(ElementType::float32));
  expect_type<std::vector<bool>>(ValueType::list(ElementType::boolean));
  expect_type<RVec<std::int16_t>>(ValueType::list(ElementType::int16));
  expect_type<std::vector<std::string>>(ValueType::list(ValueType::string()));
  expect_type<std::vector<std::vector<std::vector<int>>>>(
      ValueType::list(ValueType::list(ValueType::list(ElementType::int32))));
  expect_type<std::set<std::uint8_t>>(ValueType::list(ElementType::uint8));
}

TEST(Source, ReadsArraysAndBitsetsAsLists) {
  expect_type<std::array<float, 3>>(ValueType::list(ElementType::float32));
  expect_type<std::array<std::vector<std::int64_t>, 2>>(ValueType::list(ValueType::list(ElementType::int64)));
  expect_type<std::vector<std::array<double, 2>>>(ValueType::list(ValueType::list(ElementType::float64)));
  expect_type<std::bitset<13>>(ValueType::list(ElementType::boolean));
  expect_type<std::vector<std::bitset<70>>>(ValueType::list(ValueType::list(ElementType::boolean)));
}

TEST(Source, ReadsOptionalsAsListsOfAtMostOneItem) {
  expect_type<std::optional<double>>(ValueType::list(ElementType::float64));
  expect_type<std::unique_ptr<int>>(ValueType::list(ElementType::int32));
}

TEST(Source, ReadsPairsTuplesAndMapsAsRecords) {
  const auto record = [](std::vector<ValueType::Member> members, const char* name) {
    return ValueType::record(name, std::move(members));
  };
  expect_type<std::pair<int, std::string>>(record({{"_0", ElementType::int32}, {"_1", ValueType::string()}},
                                                  "std::pair<std::int32_t,std::string>"));
  expect_type<std::tuple<float, std::vector<char>>>(
      record({{"_0", ElementType::float32}, {"_1", ValueType::list(ElementType::character)}},
             "std::tuple<float,std::vector<char>>"));
  expect_type<std::map<std::string, std::vector<float>>>(
      ValueType::list(record({{"_0", ValueType::string()}, {"_1", ValueType::list(ElementType::float32)}},
                             "std::pair<std::string,std::vector<float>>")));
}

// Elements have numbers: without an element, it is no pair, whose elements would be others.
TEST(Source, ReadsPairsAndTuplesThatLackAnElementAsTheRecordsOfTheOthers) {
  const auto expect_record = []<class T>(const T& value, std::string_view name,
                                         std::vector<ValueType::Member> members) {
    const MemoryFile file;
    testing::write_values<T>(file, {value}, testing::tiny_pieces());
    const auto source = open(file);
    EXPECT_EQ(source->type(source->find("x").value()),
              ValueType::record(std::string(name), std::move(members)));
  };
  using source_test::Nothing;
  expect_record(std::pair<Nothing, float>(), "{_1: float}", {{"_1", ElementType::float32}});
  expect_record(std::tuple<int, Nothing, bool>(), "{_0: std::int32_t, _2: bool}",
                {{"_0", ElementType::int32}, {"_2", ElementType::boolean}});
}

const ValueType hit_type =
    ValueType::record("source_test::Hit", {{"x", ElementType::float32}, {"cell", ElementType::int16}});

TEST(Source, ReadsRecordsAndListsOfThem) {
  expect_type<Hit>(hit_type);
  expect_type<std::vector<Hit>>(ValueType::list(hit_type));
  expect_type<std::vector<std::array<Hit, 2>>>(ValueType::list(ValueType::list(hit_type)));
}

const ValueType jet_type = ValueType::record("source_test::Jet", {{"flags", ElementType::uint32},
                                                                  {"pt", ElementType::float64},
                                                                  {"hits", ValueType::list(hit_type)},
                                                                  {"name", ValueType::string()}});

TEST(Source, ReadsMembersOfBaseClassesAsMembers) {
  expect_type<std::vector<Jet>>(ValueType::list(jet_type));
}

// ---- Paths

class Jets : public ::testing::Test {
 protected:
  Jets() : jets_(testing::random_values<std::vector<Jet>>(70)) {
    testing::write_values<std::vector<Jet>>(file_, jets_, testing::tiny_pieces());
    source_ = open(file_);
  }
  template <class Text>
  void expect(const std::string& path, const ValueType& type, Text&& text) {
    const auto column = source_->find(path);
    ASSERT_TRUE(column) << path;
    EXPECT_EQ(source_->type(*column), type);
    EXPECT_EQ(source_->path(*column), path);
    EXPECT_TRUE(source_->has(*column, 0));
    EXPECT_EQ(source_->find(path), column);
    std::vector<std::string> expected;
    for (const auto& jets : jets_) expected.push_back(text(jets));
    expect_same(*source_, path, expected);
  }
  template <class T>
  static std::string bits(const T& value) {
    return bits_of(*make_constant<T>(1, value), 0);
  }
  MemoryFile file_;
  std::deque<std::vector<Jet>> jets_;
  std::shared_ptr<Source> source_;
};

TEST_F(Jets, MembersOfListsOfRecordsAreLists) {
  const auto pts = [](const std::vector<Jet>& jets) {
    std::string text = "[";
    for (const Jet& jet : jets) text += bits(jet.pt);
    return text + "]";
  };
  expect("x.pt", ValueType::list(ElementType::float64), pts);
  expect("x._0.pt", ValueType::list(ElementType::float64), pts);
  expect("x.flags", ValueType::list(ElementType::uint32), [](const std::vector<Jet>& jets) {
    std::string text = "[";
    for (const Jet& jet : jets) text += bits(jet.flags);
    return text + "]";
  });
  expect("x.hits.cell", ValueType::list(ValueType::list(ElementType::int16)),
         [](const std::vector<Jet>& jets) {
           std::string text = "[";
           for (const Jet& jet : jets) {
             text += "[";
             for (const Hit& hit : jet.hits) text += bits(hit.cell);
             text += "]";
           }
           return text + "]";
         });
}

TEST_F(Jets, NumbersOfItemsAreColumns) {
  const auto count = [](const std::vector<Jet>& jets) { return bits(std::uint64_t{jets.size()}); };
  expect("#x", ElementType::uint64, count);
  expect("R_rdf_sizeof_x", ElementType::uint64, count);
  expect("#x.hits", ValueType::list(ElementType::uint64), [](const std::vector<Jet>& jets) {
    std::string text = "[";
    for (const Jet& jet : jets) text += bits(std::uint64_t{jet.hits.size()});
    return text + "]";
  });
}

TEST_F(Jets, NamesAreThePathsThatExist) {
  EXPECT_THAT(source_->names(),
              ::testing::ElementsAre("x", "x.flags", "x.pt", "x.hits", "x.hits.x", "x.hits.cell", "x.name"));
  for (const std::string& name : source_->names()) EXPECT_TRUE(source_->find(name)) << name;
  for (const char* none :
       {"", "y", "x.", "x.eta", "x.pt.z", "#", "#x.pt", "#y", "R_rdf_sizeof_", "x.hits.hits"})
    EXPECT_FALSE(source_->find(none)) << none;
}

TEST_F(Jets, OnlyWhatAPathNamesIsRead) {
  const auto bytes = [&](std::vector<std::string> paths) {
    std::vector<std::uint32_t> columns;
    for (const std::string& path : paths) columns.push_back(*source_->find(path));
    const auto cursor = source_->open();
    BlockMemory memory;
    for (const Part& part : source_->parts(0, source_->entries())) {
      cursor->start(part, {});
      for (const std::uint32_t column : columns)
        static_cast<void>(cursor->read(column, {part.first, part.last - part.first, nullptr}, memory));
    }
    return cursor->metrics().pages;
  };
  std::map<std::string, std::uint64_t> pages;
  const auto reader = Reader::open("Data", file_);
  for (const auto& cluster : reader->descriptor().clusters)
    for (const auto& range : cluster.columns)
      pages[reader->descriptor().path_of(reader->descriptor().columns[range.column].field)] +=
          range.pages.size();
  EXPECT_EQ(bytes({"x.pt"}), pages["x"] + pages["x._0.pt"]);
  EXPECT_EQ(bytes({"#x"}), pages["x"]);
  EXPECT_EQ(bytes({"x.hits.cell", "x.hits.x"}),
            pages["x"] + pages["x._0.hits"] + pages["x._0.hits._0.cell"] + pages["x._0.hits._0.x"]);
}

TEST_F(Jets, ColumnsWithTheSameEndsShareThem) {
  const std::uint32_t columns[] = {*source_->find("x.pt"), *source_->find("x.flags")};
  const auto cursor = source_->open();
  BlockMemory memory;
  const Part part = source_->parts(0, source_->entries()).front();
  cursor->start(part, {});
  const std::uint32_t wanted[] = {0, 2, 3};
  for (const auto& rows : {Rows{0, 5, nullptr}, Rows{0, 3, wanted}}) {
    const auto pts = cursor->read(columns[0], rows, memory);
    const auto flags = cursor->read(columns[1], rows, memory);
    EXPECT_EQ(pts->offsets, flags->offsets);
  }
}

// ---- Reads only what is needed

// One column of doubles in pages of 512, 4 pages in each of 3 clusters.
class Pages : public ::testing::Test {
 protected:
  static constexpr std::uint64_t per_page = 512;
  static constexpr std::uint64_t per_cluster = 4 * per_page;
  Pages() {
    auto model = Model::create();
    auto x = model->make_field<double>("x");
    auto writer = Writer::recreate(std::move(model), "Data", file_,
                                   {.compression = "none", .initial_page_size = 4096, .max_page_size = 4096});
    for (std::uint64_t i = 0; i < 3 * per_cluster; ++i) {
      *x = static_cast<double>(i) * 1.1;
      writer->fill();
      if (i % per_cluster == per_cluster - 1) writer->commit_cluster();
    }
    writer->close();
    source_ = open(file_);
    column_ = *source_->find("x");
    cursor_ = source_->open();
  }
  const double* read(std::uint64_t first, std::size_t size) {
    values_ = cursor_->read(column_, {first, size, nullptr}, memory_);
    return values_->as<double>();
  }
  MemoryFile file_;
  std::shared_ptr<Source> source_;
  std::uint32_t column_ = 0;
  std::unique_ptr<Cursor> cursor_;
  BlockMemory memory_;
  ValuesPtr values_;
};

TEST_F(Pages, BlocksWithinAPageAreNotCopied) {
  cursor_->start({0, per_cluster, 0}, {});
  const double* start = read(0, 100);
  const ValuesPtr first = values_;
  EXPECT_EQ(read(100, 100), start + 100);
  EXPECT_EQ(read(412, 100), start + 412);
  // There are no adjacent pages across the border.
  const double* across = read(500, 100);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(across[i], static_cast<double>(500 + i) * 1.1);
  // Values keep the page of the first block alive.
  for (std::uint64_t at = 600; at + 100 <= per_cluster; at += 100) read(at, 100);
  cursor_.reset();
  source_.reset();
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(first->as<double>()[i], static_cast<double>(i) * 1.1);
}

TEST_F(Pages, WithoutWantedRowsAreNotRead) {
  cursor_->start({0, per_cluster, 0}, {});
  const std::uint32_t wanted[] = {3, 7, 2 * per_page + 1};
  const auto values = cursor_->read(column_, {0, 3, wanted}, memory_);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(values->as<double>()[i], wanted[i] * 1.1);
  EXPECT_EQ(cursor_->metrics().pages, 2u);
}

TEST_F(Pages, AreDecodedOnceForAllRowsOfABlock) {
  cursor_->start({0, per_cluster, 0}, {});
  read(0, 1500);
  const std::uint32_t early[] = {1, 2};
  const std::uint32_t all_over[] = {0, 700, 1400};
  static_cast<void>(cursor_->read(column_, {0, 2, early}, memory_));
  static_cast<void>(cursor_->read(column_, {0, 3, all_over}, memory_));
  EXPECT_EQ(cursor_->metrics().pages, 3u);
  // The next block continues in the last of them.
  read(1500, 100);
  EXPECT_EQ(cursor_->metrics().pages, 4u);
}

TEST_F(Pages, NothingIsReadWithoutAColumn) {
  cursor_->start({0, per_cluster, 0}, {});
  cursor_->start({per_cluster, 2 * per_cluster, 0}, {});
  EXPECT_EQ(cursor_->metrics().bytes, 0u);
  EXPECT_EQ(cursor_->metrics().metadata_bytes, 0u);
}

TEST_F(Pages, ACursorReadsNoMetadataAgain) {
  cursor_->start({0, per_cluster, 0}, {});
  read(0, 10);
  EXPECT_EQ(cursor_->metrics().metadata_bytes, 0u);
}

// ---- Deferred and projected columns

TEST(Source, ReadsLateColumnsAsEmptyBefore) {
  for (const int before : {3, 10, 23}) {
    const MemoryFile file;
    auto model = Model::create();
    auto id = model->make_field<int>("id");
    auto writer = Writer::recreate(std::move(model), "Data", file, testing::tiny_pieces());
    const auto fill = [&](int from, int to) {
      for (int i = from; i < to; ++i) {
        *id = i;
        writer->fill();
        if (i % 7 == 6) writer->commit_cluster();
      }
    };
    fill(0, before);
    auto number = writer->extend<double>("number");
    auto list = writer->extend<std::vector<float>>("list");
    auto array = writer->extend<std::array<int, 3>>("array");
    auto text = writer->extend<std::string>("text");
    auto jets = writer->extend<std::vector<Jet>>("jets");
    testing::Random random(5);
    for (int i = before; i < before + 30; ++i) {
      testing::randomize(random, *number);
      testing::randomize(random, *list);
      testing::randomize(random, *array);
      testing::randomize(random, *text);
      testing::randomize(random, *jets);
      fill(i, i + 1);
    }
    writer->close();
    const auto source = open(file);
    for (const char* name : {"id", "number", "list", "array", "text", "jets"})
      expect_same(*source, name, entries_as_arrays(file, name));
  }
}

TEST(Source, ReadsProjectedFields) {
  const MemoryFile file;
  auto model = Model::create();
  auto hits = model->make_field<std::vector<Hit>>("Hit");
  model->add_projected_field<std::vector<float>>("Hit_x", {{"Hit_x", "Hit"}, {"Hit_x._0", "Hit.x"}});
  model->add_projected_field<Cardinality<std::uint32_t>>("nHit", {{"nHit", "Hit"}});
  auto writer = Writer::recreate(std::move(model), "Data", file, testing::tiny_pieces());
  testing::Random random(9);
  for (int i = 0; i < 60; ++i) {
    testing::randomize(random, *hits);
    writer->fill();
    if (i % 9 == 8) writer->commit_cluster();
  }
  writer->close();
  const auto source = open(file);
  EXPECT_EQ(source->type(*source->find("nHit")), ValueType(ElementType::int32));
  expect_same(*source, "nHit", entries_as_arrays(file, "nHit"));
  expect_same(*source, "Hit_x", entries_as_arrays(file, "Hit_x"));
  expect_same(*source, "Hit", entries_as_arrays(file, "Hit"));
}

// ---- Files written by ROOT

std::uint64_t elements_in(const Descriptor& descriptor) {
  std::uint64_t elements = 0;
  for (const ClusterDescriptor& cluster : descriptor.clusters)
    for (const ColumnRange& range : cluster.columns) elements += range.pages.elements();
  return elements;
}

TEST(Source, ReadsWhatRootWrote) {
  std::size_t columns = 0;
  for (const auto& file : std::filesystem::directory_iterator(test_fixtures())) {
    if (file.path().extension() != ".root") continue;
    const std::string path = file.path();
    for (const std::string& name : data_sets(path)) {
      const auto reader = Reader::open(name, path);
      if (elements_in(reader->descriptor()) > 50'000) continue;  // texts of so many elements take long
      const auto source = open_chain(name, std::span(&path, 1));
      for (const std::uint32_t id : reader->descriptor().top_level_fields()) {
        const std::string& field = reader->descriptor().fields[id].name;
        const auto paths = source->names();
        if (std::find(paths.begin(), paths.end(), field) == paths.end()) continue;
        const auto column = source->find(field);
        ASSERT_TRUE(column);
        // Members without a supported type are missing.
        if (source->type(*column).innermost().is_record()) continue;
        SCOPED_TRACE(path + " " + field);
        const auto expected = entries_as_arrays(path, field, name);
        for (const std::size_t block : {7, 500})
          expect_blocks(*source, std::span(&*column, 1), std::span(&expected, 1), block, 1);
        ++columns;
      }
    }
  }
  EXPECT_GT(columns, 100u);
}

// ---- Variants

using Variant = std::variant<int, std::string>;

// Random rows of a file with several clusters.
TEST(Source, VariantsAreOptionalsOfWhichOneIsThere) {
  const MemoryFile file;
  const std::deque<Variant> expected = testing::random_values<Variant>(500);
  testing::write_values<Variant>(file, expected, testing::tiny_pieces());
  const auto source = open(file);
  EXPECT_THAT(source->names(), ::testing::ElementsAre("x"));
  const std::uint32_t x = source->find("x").value();
  EXPECT_EQ(source->type(x).name(), "std::variant<std::int32_t,std::string>");
  EXPECT_EQ(source->type(x).members()[1].second.name(), "std::optional<std::string>");
  testing::Random random(3);
  BlockMemory memory;
  const auto cursor = source->open();
  for (const Part& part : source->parts(0, expected.size())) {
    cursor->start(part, {});
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < part.last - part.first; ++i)
      if (random() % 3 == 0) rows.push_back(i);
    if (rows.empty()) continue;
    const auto values = cursor->read(x, {part.first, rows.size(), rows.data()}, memory);
    const std::vector<std::int32_t> tags = tags_of(*values);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Variant& wanted = expected[part.first + rows[i]];
      ASSERT_EQ(tags[i], static_cast<std::int32_t>(wanted.index()) + 1);
      if (wanted.index() == 0) {
        EXPECT_EQ(text_of(*values, i), std::to_string(std::get<0>(wanted)));
      }
    }
  }
}

TEST(Source, DamagedTagsOfVariantsAreErrors) {
  const std::deque<Variant> expected = {1, "a", 2, "b"};
  // As they are stored: 8 bytes of the index and 4 of the tag.
  const auto packed = [](const SwitchElement& element) {
    std::string bytes(12, 0);
    std::memcpy(bytes.data(), &element.index, 8);
    std::memcpy(bytes.data() + 8, &element.tag, 4);
    return bytes;
  };
  const std::string good = packed({.index = 1, .tag = 1}) + packed({.index = 1, .tag = 2});
  for (const SwitchElement bad : {SwitchElement{.index = 0, .tag = 3}, SwitchElement{.index = 5, .tag = 1},
                                  SwitchElement{.index = ~std::uint64_t{0}, .tag = 2}}) {
    const MemoryFile file;
    testing::write_values<Variant>(file, expected, {.compression = "none", .page_checksums = Checksums::off});
    Bytes content = file.content();
    const std::string text(reinterpret_cast<const char*>(content.data()), content.size());
    const std::size_t at = text.find(good);
    ASSERT_NE(at, std::string::npos);
    const std::string damaged = packed(bad);
    std::memcpy(content.data() + at + damaged.size(), damaged.data(), damaged.size());
    const MemoryFile copy;
    copy.store(content);
    const auto source = open(copy);
    const std::uint32_t x = source->find("x").value();
    const auto cursor = source->open();
    cursor->start({0, 4, 0}, {});
    BlockMemory memory;
    const Error error = error_of([&] { cursor->read(x, {0, 4, nullptr}, memory); });
    EXPECT_EQ(error.kind(), ErrorKind::format) << error.what();
    EXPECT_EQ(error.context().uri, copy.uri());
  }
}

}  // namespace
}  // namespace colonnade::frame
