// Merging files in C++: which data sets meet, what each mode makes of fields, what is appended, what is
// refused. Random schemas are in python/tests/test_merge.py.
#include "colonnade/merge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <regex>

#include "dataset/copying/provenance.h"
#include "dataset/test_hostile_files.h"
#include "dataset/test_round_trip.h"
#include "page/page_source.h"

namespace merge_test {

// Two versions of a class.
inline auto first_hit() {
  struct Hit {
    float x = 0;
    int gone = 7;
  };
  return Hit();
}
inline auto second_hit() {
  struct Hit {
    std::vector<int> added;
    float x = 0;
  };
  return Hit();
}

}  // namespace merge_test

namespace colonnade {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::IsEmpty;
using testing::MemoryFile;

void write(const std::string& uri, std::initializer_list<std::pair<const char*, const char*>> fields,
           int count, const WriteOptions& options = {}, int first = 0) {
  auto model = Model::create();
  std::vector<std::shared_ptr<float>> values;
  for (const auto& [name, type] : fields) {
    model->add_field(make_field(name, type));
    if (std::string_view(type) == "float") values.push_back(model->default_entry().ptr<float>(name));
  }
  const auto writer = Writer::recreate(std::move(model), "Data", uri, options);
  for (int i = 0; i < count; ++i) {
    for (const auto& value : values) *value = static_cast<float>(first + i);
    writer->fill();
    if (i % 3 == 2) writer->commit_cluster();
  }
  writer->close();
}

std::vector<std::string> texts(const std::string& uri) {
  const auto reader = Reader::open("Data", uri);
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < reader->num_entries(); ++i) all.push_back(reader->entry_text(i));
  return all;
}

MergeOptions with(MergeMode mode) {
  MergeOptions options;
  options.copying.fields = mode;
  options.copying.verify = CopyVerify::values;
  return options;
}

TEST(Merge, TakesTheFieldsThatTheModeSays) {
  const MemoryFile a, b, filtered, united;
  write(a, {{"x", "float"}, {"y", "float"}}, 2);
  write(b, {{"z", "std::vector<float>"}, {"x", "float"}}, 2);
  const std::vector<std::string> inputs = {a.uri(), b.uri()};
  EXPECT_EQ(error_of([&] { merge(inputs, filtered.uri()); }).kind(), ErrorKind::schema);
  EXPECT_TRUE(merge(inputs, filtered.uri(), with(MergeMode::filter)).data_sets.front().verified);
  EXPECT_EQ(texts(filtered),
            (std::vector<std::string>{R"({"x": 0})", R"({"x": 1})", R"({"x": 0})", R"({"x": 1})"}));
  const MergeReport report = merge(inputs, united.uri(), with(MergeMode::union_));
  EXPECT_EQ(report.data_sets.front().mode, CopyMode::pages);
  EXPECT_EQ(texts(united),
            (std::vector<std::string>{R"({"x": 0, "y": 0, "z": []})", R"({"x": 1, "y": 1, "z": []})",
                                      R"({"x": 0, "y": 0, "z": []})", R"({"x": 1, "y": 0, "z": []})"}));
}

TEST(Merge, KeepsPagesOfOtherEncodings) {
  const MemoryFile a, b, to;
  write(a, {{"x", "float"}}, 7, {.compression = "zstd:1"});
  write(b, {{"x", "float"}}, 5, {.compression = "none"});
  const MergeReport report = merge({a.uri(), b.uri()}, to.uri(), with(MergeMode::strict));
  EXPECT_EQ(report.data_sets.front().mode, CopyMode::pages);
  const auto reader = Reader::open("Data", to.uri());
  EXPECT_EQ(reader->descriptor().fields.front().representations.size(), 2U);
  std::vector<std::string> expected = texts(a);
  for (const std::string& text : texts(b)) expected.push_back(text);
  EXPECT_EQ(texts(to), expected);
}

std::vector<double> numbers(const std::string& uri) {
  const auto reader = Reader::open("Data", uri);
  auto view = reader->view<double>("x");
  std::vector<double> all(view.begin(), view.end());
  if (reader->descriptor().fields.front().type_name == "float")
    for (double& x : all) x = static_cast<float>(x);
  return all;
}

// Writes numbers that the encoding changes, and returns what is read.
std::vector<double> write_encoded(const std::string& uri, const char* type, const ColumnEncoding& encoding) {
  auto field = make_field("x", type);
  field->set_encodings({encoding});
  auto model = Model::create();
  model->add_field(std::move(field));
  const auto writer = Writer::recreate(std::move(model), "Data", uri);
  const auto value = writer->model().default_entry().ptr<void>("x");
  for (int i = 0; i < 40; ++i) {
    const double x = std::sin(i + encoding.bits);
    if (std::string_view(type) == "float")
      *static_cast<float*>(value.get()) = static_cast<float>(x);
    else
      *static_cast<double*>(value.get()) = x;
    writer->fill();
  }
  writer->close();
  return numbers(uri);
}

bool is_reduced(const ColumnDescriptor& column) {
  return column.encoding.type == ColumnType::real32_trunc || column.encoding.type == ColumnType::real32_quant;
}

// Columns with a range hold equidistant numbers, and zero may be none of them.
TEST(Merge, MissingNumbersAreZeroWhateverTheRange) {
  const ColumnEncoding ranged{ColumnType::real32_quant, 20, -1, 2};
  for (const char* type : {"float", "double"})
    for (const double least : {-1.0, 0.0, 1.0}) {
      SCOPED_TRACE(fmt::format("{} from {} on", type, least));
      const auto field = [&] {
        auto made = make_field("x", type);
        made->set_encodings({{ranged.type, ranged.bits, least, 2}});
        return made;
      };
      const auto fill = [&](Writer& writer, void* x) {
        for (int i = 0; i < 10; ++i) {
          if (std::string_view(type) == "float")
            *static_cast<float*>(x) = 1.25F;
          else
            *static_cast<double*>(x) = 1.25;
          writer.fill();
        }
        writer.close();
      };
      const MemoryFile all, none, late, merged, copied;
      auto model = Model::create();
      const auto x = model->add_field(field());
      fill(*Writer::recreate(std::move(model), "Data", all.uri()), x.get());
      write(none, {{"y", "float"}}, 5);
      const auto writer = Writer::recreate(Model::create(), "Data", late.uri());
      for (int i = 0; i < 5; ++i) writer->fill();
      fill(*writer, writer->extend(field()).get());

      std::vector<double> expected = numbers(all.uri());
      expected.insert(expected.end(), 5, 0);
      MergeOptions options = with(MergeMode::union_);
      const MergeReport report = merge({all.uri(), none.uri()}, merged.uri(), options);
      EXPECT_TRUE(report.data_sets.front().verified);
      EXPECT_EQ(report.data_sets.front().mode, least == 0 ? CopyMode::pages : CopyMode::decode);
      EXPECT_EQ(numbers(merged.uri()), expected);
      std::rotate(expected.begin(), expected.begin() + 10, expected.end());
      options.copying.approximate_cluster_size = 100'000;
      EXPECT_TRUE(copy({late.uri()}, {copied.uri()}, options.copying).verified);
      EXPECT_EQ(numbers(copied.uri()), expected);
    }
}

// Every pair of encodings, as pages, with other clusters, appended, and copied once more.
TEST(Merge, KeepsNumbersOfOtherPrecision) {
  const std::vector<ColumnEncoding> encodings = {{ColumnType::real16, 16},
                                                 {ColumnType::split_real16, 16},
                                                 {ColumnType::real32, 32},
                                                 {ColumnType::split_real32, 32},
                                                 {ColumnType::real32_trunc, 12},
                                                 {ColumnType::real32_trunc, 17},
                                                 {ColumnType::real32_quant, 20, -1, 1},
                                                 {ColumnType::real32_quant, 20, -2, 3},
                                                 {ColumnType::real32_quant, 32, -1, 1},
                                                 {ColumnType::split_real64, 64}};
  for (const char* type : {"float", "double"})
    for (const ColumnEncoding& first : encodings)
      for (const ColumnEncoding& second : encodings) {
        if (type[0] == 'f' && (first.bits == 64 || second.bits == 64)) continue;
        SCOPED_TRACE(fmt::format("{} {}{} {}{}", type, name_of(first.type), first.bits, name_of(second.type),
                                 second.bits));
        const MemoryFile a, b, c, d, by_pages, by_values, copied, appended;
        std::vector<double> expected = write_encoded(a, type, first);
        for (const double x : write_encoded(b, type, second)) expected.push_back(x);
        MergeOptions options = with(MergeMode::strict);
        EXPECT_TRUE(merge({a.uri(), b.uri()}, by_pages, options).data_sets.front().verified);
        EXPECT_EQ(numbers(by_pages), expected);
        const auto columns = Reader::open("Data", by_pages)->descriptor().columns;
        EXPECT_TRUE(columns.size() == 1 || std::none_of(columns.begin(), columns.end(), is_reduced));
        options.copying.approximate_cluster_size = 100'000;
        EXPECT_TRUE(merge({a.uri(), b.uri()}, by_values, options).data_sets.front().verified);
        EXPECT_EQ(numbers(by_values), expected);
        EXPECT_TRUE(copy({by_pages}, {copied}, options.copying).verified);
        EXPECT_EQ(numbers(copied), expected);
        merge({a.uri()}, appended, options);
        options.copying.append = true;
        try {
          merge({a.uri(), b.uri()}, appended, options);
          EXPECT_EQ(numbers(appended), expected);
        } catch (const Error& error) {
          EXPECT_EQ(error.advice(), "merge all inputs into a new file");
          EXPECT_NE(Reader::open("Data", by_values)->descriptor().columns.front().encoding, first);
        }
        // Behind fields that may have several encodings.
        for (const double x : write_encoded(c, type, first)) expected.push_back(x);
        for (const double x : write_encoded(d, type, second)) expected.push_back(x);
        EXPECT_TRUE(
            merge({a.uri(), b.uri(), c.uri(), d.uri()}, by_pages, options).data_sets.front().verified);
        EXPECT_EQ(numbers(by_pages), expected);
      }
}

TEST(Merge, SaysWhereEntriesCameFrom) {
  const MemoryFile a, b, c, first, all;
  write(a, {{"x", "float"}}, 4);
  write(b, {{"x", "float"}}, 3);
  write(c, {{"x", "float"}}, 2);
  merge({a.uri(), b.uri()}, first.uri());
  merge({first.uri(), c.uri()}, all.uri());
  const auto source = page::PageSource::open("Data", all.uri());
  const auto inputs = dataset::read_provenance(*source);
  ASSERT_EQ(inputs.size(), 4U);
  const auto is = [&](std::size_t i, const std::string& uri, std::uint64_t begin, std::uint64_t entries,
                      std::uint64_t depth) {
    EXPECT_EQ(inputs[i].uri, uri);
    EXPECT_EQ(inputs[i].first_entry, begin);
    EXPECT_EQ(inputs[i].entries, entries);
    EXPECT_EQ(inputs[i].depth, depth);
  };
  is(0, first.uri(), 0, 7, 0);
  is(1, a.uri(), 0, 4, 1);
  is(2, b.uri(), 4, 3, 1);
  is(3, c.uri(), 7, 2, 0);
}

TEST(Merge, TellsInputsApartByLastingInodes) {
  dataset::InputRecord before;
  before.uri = "/a/f.root";
  before.version = "17-1.5-1.5";
  before.size = 100;
  dataset::InputRecord now = before;
  now.uri = "/b/f.root";
  now.version = "17-1.5-2.5";  // moved, which is a change
  EXPECT_NE(dataset::find_input({before}, now), nullptr);
  now.version = "18-1.5-2.5";
  EXPECT_EQ(dataset::find_input({before}, now), nullptr);
  // Without one, files that are equal in all else may be two.
  before.version = now.version = "0-1.5-1.5";
  EXPECT_EQ(dataset::find_input({before}, now), nullptr);
  now.uri = before.uri;
  EXPECT_NE(dataset::find_input({before}, now), nullptr);
}

TEST(Merge, KeepsNoSecretsOfUris) {
  const MemoryFile a, to;
  write(a, {{"x", "float"}}, 4);
  const std::string uri = a.uri() + "&token=hidden";
  io::store_memory_file(uri, a.content());
  MergeOptions options;
  options.copying.append = true;
  merge({uri}, to.uri(), options);
  EXPECT_EQ(merge({uri}, to.uri(), options).data_sets.front().known_sources, 1U);
  const auto inputs = dataset::read_provenance(*page::PageSource::open("Data", to.uri()));
  EXPECT_EQ(inputs.at(0).uri, a.uri() + "&token=***");
  io::remove_memory_file(uri);
}

TEST(Merge, AppendsWhatIsNew) {
  const MemoryFile a, b, to;
  write(a, {{"x", "float"}}, 4);
  write(b, {{"x", "float"}, {"y", "float"}}, 3);
  MergeOptions options = with(MergeMode::union_);
  options.copying.append = true;
  merge({a.uri()}, to.uri(), options);
  EXPECT_EQ(merge({a.uri(), b.uri()}, to.uri(), options).data_sets.front().known_sources, 1U);
  EXPECT_EQ(merge({a.uri(), b.uri()}, to.uri(), options).data_sets.front().known_sources, 2U);
  EXPECT_EQ(texts(to).size(), 7U);
  EXPECT_EQ(texts(to).at(3), R"({"x": 3, "y": 0})");
  EXPECT_EQ(texts(to).at(6), R"({"x": 2, "y": 2})");
}

TEST(Merge, NotesCopiesOfInputs) {
  const MemoryFile a, b, copy, to;
  write(a, {{"x", "float"}}, 4);
  write(b, {{"x", "float"}}, 4, {}, 1);
  copy.store(a.content());
  MergeOptions options;
  options.copying.append = true;
  EXPECT_THAT(merge({a.uri(), b.uri()}, to.uri(), options).data_sets.front().notes, IsEmpty());
  EXPECT_THAT(
      merge({a.uri(), copy.uri()}, to.uri(), options).data_sets.front().notes,
      ElementsAre(copy.uri() + " seems to be a copy of " + a.uri() + "; the entries of both are there"));
  EXPECT_EQ(texts(to).size(), 12U);
}

TEST(Merge, RefusesWhatMakesNoSense) {
  const MemoryFile a, to;
  write(a, {{"x", "float"}}, 4);
  EXPECT_EQ(error_of([&] { merge({}, to.uri()); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { merge({a.uri(), a.uri()}, to.uri()); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { merge({a.uri()}, a.uri()); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { static_cast<void>(to.content()); }).kind(), ErrorKind::not_found);
}

// The pages of a damaged field would be given to other entries.
TEST(Merge, RefusesFieldsThatContradictTheirSchema) {
  const MemoryFile good, damaged, to;
  write(good, {{"x", "float"}, {"y", "float"}}, 4, {.container = Container::bare_file});
  const testing::HostileFiles source("Data", good.content());
  damaged.store(source.make_with([](Descriptor& d) { d.clusters[1].columns[1].pages.clear(); }));
  MergeOptions options;
  const auto error = error_of([&] { merge({good.uri(), damaged.uri()}, to.uri(), options); });
  EXPECT_EQ(error.kind(), ErrorKind::format);
  EXPECT_EQ(error.problem(), "column 1 in cluster 1: 0 elements, but 1 entries need 1");
  EXPECT_EQ(error.context().uri, damaged.uri());
  EXPECT_EQ(error.context().field, "y");
  EXPECT_EQ(error_of([&] { static_cast<void>(to.content()); }).kind(), ErrorKind::not_found);
  options.copying.columns = {"x"};
  merge({good.uri(), damaged.uri()}, to.uri(), options);
  EXPECT_EQ(texts(to).size(), 8U);
}

TEST(Merge, SaysWhichPropertyDiffers) {
  const MemoryFile first, other, to;
  write(first, {{"x", "float"}}, 4, {.container = Container::bare_file});
  const testing::HostileFiles source("Data", first.content());
  const auto problem = [&](const std::function<void(FieldDescriptor&)>& change) {
    other.store(source.make_with([&](Descriptor& d) { change(d.fields[0]); }));
    const auto error = error_of([&] { merge({first.uri(), other.uri()}, to.uri()); });
    EXPECT_EQ(error.kind(), ErrorKind::schema);
    EXPECT_EQ(error.context().field, "x");
    return error.problem();
  };
  const std::string start = "the sources have different schemas: in this one the field 'x' ";
  EXPECT_EQ(problem([](FieldDescriptor& x) { x.type_version = 3; }),
            start + "has version 3 of the type 'float', not 0");
  EXPECT_EQ(problem([](FieldDescriptor& x) { x.type_checksum = 0xabcd; }),
            start + "has the type 'float' with the checksum 0x0000abcd, not none");
  EXPECT_EQ(problem([](FieldDescriptor& x) { x.field_version = 1; }),
            start + "has the field version 1, not 0");
  EXPECT_EQ(problem([](FieldDescriptor& x) { x.type_alias = "Length"; }),
            start + "has the type alias 'Length', not none");
}

template <class Hit>
void write_nested(const std::string& uri, int count) {
  auto model = Model::create();
  const auto pair = model->make_field<std::pair<int, Hit>>("pair");
  const auto map = model->make_field<std::map<int, Hit>>("map");
  const auto maybe = model->make_field<std::vector<std::variant<int, Hit, std::vector<Hit>>>>("maybe");
  const auto tuple = model->make_field<std::tuple<std::array<Hit, 2>, int>>("tuple");
  const auto writer = Writer::recreate(std::move(model), "Data", uri, {.compression = "zstd:1"});
  for (int i = 0; i < count; ++i) {
    const auto hit = [&](int k) {
      Hit made;
      made.x = static_cast<float>(10 * i + k);
      return made;
    };
    *pair = {i, hit(0)};
    map->clear();
    for (int k = 0; k < i % 4; ++k) map->emplace(k, hit(k));
    *maybe = {i, hit(1), std::vector<Hit>(static_cast<std::size_t>(i % 3), hit(2)), hit(3)};
    maybe->resize(static_cast<std::size_t>(i % 5));
    *tuple = {{hit(4), hit(5)}, i};
    writer->fill();
    if (i % 3 == 2) writer->commit_cluster();
  }
  writer->close();
}

// The types of pairs, maps and variants name a class, of which the inputs have several versions.
TEST(Merge, TakesClassesThatChangedWhereverTheyAre) {
  using First = decltype(merge_test::first_hit());
  using Second = decltype(merge_test::second_hit());
  const MemoryFile first, second;
  write_nested<First>(first, 13);
  write_nested<Second>(second, 11);
  const std::vector<std::string> inputs = {first.uri(), second.uri()};
  for (const MergeMode mode : {MergeMode::union_, MergeMode::filter})
    for (const bool is_decoded : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(mode), is_decoded));
      const bool has_all = mode == MergeMode::union_;
      std::vector<std::string> expected;
      for (const std::string& text : texts(first))
        expected.push_back(std::regex_replace(text, std::regex(R"(, "gone": 7\})"),
                                              has_all ? R"(, "gone": 7, "added": []})" : "}"));
      for (const std::string& text : texts(second))
        expected.push_back(
            std::regex_replace(text, std::regex(R"(\{"added": \[\], "x": (\d+)\})"),
                               has_all ? R"({"x": $1, "gone": 0, "added": []})" : R"({"x": $1})"));
      MergeOptions options = with(mode);
      if (is_decoded) options.copying.approximate_cluster_size = 100'000;
      const MemoryFile to;
      const auto report = merge(inputs, to.uri(), options).data_sets.front();
      EXPECT_TRUE(report.verified);
      EXPECT_EQ(report.mode, is_decoded ? CopyMode::decode : CopyMode::pages);
      EXPECT_EQ(texts(to), expected);
    }
  EXPECT_EQ(error_of([&] { merge(inputs, MemoryFile().uri()); }).kind(), ErrorKind::schema);
}

// A class whose member became a Double32_t, as ROOT calls a double that is stored as a float.
TEST(Merge, TakesOtherNamesOfTheSameType) {
  const MemoryFile exact, rounded;
  const auto fill = [](const std::string& uri, const char* type) {
    auto model = Model::create();
    model->add_field(make_field("x", type));
    model->add_field(make_field("many", fmt::format("std::vector<{}>", type)));
    const auto writer = Writer::recreate(std::move(model), "Data", uri, {.compression = "zstd:1"});
    for (int i = 0; i < 5; ++i) {
      *writer->model().default_entry().ptr<double>("x") = i + 0.1;
      *writer->model().default_entry().ptr<std::vector<double>>("many") = {i + 0.1, 2.5};
      writer->fill();
    }
    writer->close();
  };
  fill(exact.uri(), "double");
  fill(rounded.uri(), "Double32_t");
  const MemoryFile* const inputs[] = {&exact, &rounded};
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    const std::vector<std::string> uris = {inputs[first]->uri(), inputs[1 - first]->uri()};
    std::vector<std::string> expected = texts(uris[0]);
    for (const std::string& text : texts(uris[1])) expected.push_back(text);
    for (const MergeMode mode : {MergeMode::union_, MergeMode::filter})
      for (const bool is_decoded : {false, true}) {
        const MemoryFile to;
        MergeOptions options = with(mode);
        if (is_decoded) options.copying.approximate_cluster_size = 100'000;
        EXPECT_TRUE(merge(uris, to.uri(), options).data_sets.front().verified);
        EXPECT_EQ(texts(to), expected);
        EXPECT_EQ(Reader::open("Data", to.uri())->descriptor().fields[0].type_alias,
                  first == 0 ? "" : "Double32_t");
      }
    const auto error = error_of([&] { merge(uris, MemoryFile().uri()); });
    EXPECT_THAT(error.problem(), ::testing::HasSubstr("the type alias"));
    EXPECT_THAT(error.advice(), ::testing::StartsWith("take the fields that all have"));
  }
}

// No other mode merges fields of different types or sources.
TEST(Merge, AdvisesModesOnlyWhereTheyHelp) {
  const MemoryFile first, wider, more, projected, to;
  write(first, {{"x", "float"}, {"y", "float"}}, 4, {.container = Container::bare_file});
  write(wider, {{"x", "float"}, {"y", "double"}}, 4, {.container = Container::bare_file});
  write(more, {{"x", "float"}, {"y", "float"}, {"z", "float"}}, 4, {.container = Container::bare_file});
  {
    auto model = Model::create();
    model->make_field<float>("x");
    model->add_projected_field(make_field("y", "float"), {{"y", "x"}});
    Writer::recreate(std::move(model), "Data", projected.uri(), {.container = Container::bare_file})->close();
  }
  const auto error = [&](const MemoryFile& second, MergeMode mode) {
    return error_of([&] { merge({first.uri(), second.uri()}, to.uri(), with(mode)); });
  };
  const std::string leave_out = "name the columns to merge, without this one";
  for (const MergeMode mode : {MergeMode::strict, MergeMode::filter, MergeMode::union_}) {
    EXPECT_EQ(error(wider, mode).advice(), leave_out);
    EXPECT_EQ(error(projected, mode).advice(), leave_out);
    EXPECT_EQ(
        error(projected, mode).problem(),
        "the sources have different schemas: in this one the field 'y' is projected from 'x', not stored "
        "itself");
  }
  EXPECT_EQ(
      error(more, MergeMode::strict).advice(),
      "take the fields that all have (filter), those that any has (union), or name the columns that all "
      "have");
}

}  // namespace
}  // namespace colonnade
