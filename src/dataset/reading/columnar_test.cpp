// Whole arrays in and out: append() and fill() must store the same, arrays() must return any range and any
// subset of fields, and invalid arrays must be refused before anything is written.
#include <fmt/format.h>

#include <set>
#include <thread>

#include "base/interruption.h"
#include "dataset/test_round_trip.h"

namespace columnar_test {

enum class Kind : std::int16_t { none, some = 300 };
struct Point {
  float x = 0;
  std::vector<std::uint8_t> tags;
};

}  // namespace columnar_test

namespace colonnade {
namespace {

using columnar_test::Kind;
using columnar_test::Point;
using testing::error_of;
using testing::MemoryFile;

std::unique_ptr<Model> model_of_all() {
  auto model = Model::create();
  model->make_field<std::int32_t>("i");
  model->make_field<bool>("b");
  model->make_field<std::string>("s");
  model->make_field<std::vector<float>>("v");
  model->make_field<std::vector<std::vector<std::string>>>("vv");
  model->make_field<std::array<std::int8_t, 2>>("a");
  model->make_field<std::bitset<3>>("bits");
  model->make_field<std::optional<double>>("o");
  model->make_field<std::map<std::int16_t, std::string>>("m");
  model->make_field<std::variant<std::int32_t, std::vector<float>>>("var");
  model->make_field<Kind>("e");
  model->make_field<std::atomic<Kind>>("at");
  model->make_field<std::pair<char, Double32>>("p");
  model->make_field<std::vector<Point>>("r");
  return model;
}

// Three entries of it.
struct Arrays {
  std::vector<std::int32_t> i = {1, -2, 3};
  std::array<bool, 3> b = {true, false, true};
  std::vector<std::int64_t> s = {0, 2, 2, 5};
  std::string s_text = "abcde";
  std::vector<std::int64_t> v = {0, 0, 2, 3};
  std::vector<float> v_items = {1.5f, 2.5f, 3.5f};
  std::vector<std::int64_t> vv = {0, 1, 3, 3}, vv_items = {0, 2, 2, 3};
  std::vector<std::int64_t> vv_text = {0, 1, 1, 4};
  std::string vv_chars = "xyz!";
  std::vector<std::int8_t> a = {1, 2, 3, 4, 5, 6};
  std::array<bool, 9> bits = {true, false, false, false, true, false, true, true, true};
  std::vector<std::int64_t> o = {0, 1, 1, 2};
  std::vector<double> o_items = {0.5, -0.5};
  std::vector<std::int64_t> m = {0, 2, 2, 3};
  std::vector<std::int16_t> m_keys = {4, 5, 6};
  std::vector<std::int64_t> m_values = {0, 1, 2, 3};
  std::string m_text = "pqr";
  std::vector<std::int32_t> var = {2, 0, 1};
  std::vector<std::int32_t> var_ints = {77};
  std::vector<std::int64_t> var_lists = {0, 2};
  std::vector<float> var_items = {8.f, 9.f};
  std::vector<std::int16_t> e = {0, 300, 1};
  std::vector<std::int16_t> at = {300, 0, 0};
  std::string p_first = "klm";
  std::vector<double> p_second = {1, 2, 3};
  std::vector<std::int64_t> r = {0, 1, 1, 2};
  std::vector<float> r_x = {10.f, 20.f};
  std::vector<std::int64_t> r_tags = {0, 0, 2};
  std::vector<std::uint8_t> r_items = {1, 255};

  std::vector<NamedArray> named() const {
    const auto ends = [](const std::vector<std::int64_t>& offsets) { return ArrayView::offsets(offsets); };
    return {{"i", i},
            {"b", b},
            {"s", ends(s)},
            {"s", s_text},
            {"v", ends(v)},
            {"v._0", v_items},
            {"vv", ends(vv)},
            {"vv._0", ends(vv_items)},
            {"vv._0._0", ends(vv_text)},
            {"vv._0._0", vv_chars},
            {"a._0", a},
            {"bits", bits},
            {"o", ends(o)},
            {"o._0", o_items},
            {"m", ends(m)},
            {"m._0._0", m_keys},
            {"m._0._1", ends(m_values)},
            {"m._0._1", m_text},
            {"var", ArrayView::tags(var)},
            {"var._0", var_ints},
            {"var._1", ends(var_lists)},
            {"var._1._0", var_items},
            {"e", e},
            {"at._0._0", at},
            {"p._0", p_first},
            {"p._1", p_second},
            {"r", ends(r)},
            {"r._0.x", r_x},
            {"r._0.tags", ends(r_tags)},
            {"r._0.tags._0", r_items}};
  }
};

const std::vector<std::string>& texts() {
  static const std::vector<std::string> expected = {
      R"({"i": 1, "b": true, "s": "ab", "v": [], "vv": [["x", ""]], "a": [1, 2], "bits": "001", "o": 0.5, "m": [[4, "p"], [5, "q"]], "var": [8, 9], "e": 0, "at": 300, "p": ["k", 1], "r": [{"x": 10, "tags": []}]})",
      R"({"i": -2, "b": false, "s": "", "v": [1.5, 2.5], "vv": [[], ["yz!"]], "a": [3, 4], "bits": "010", "o": null, "m": [], "var": null, "e": 300, "at": 0, "p": ["l", 2], "r": []})",
      R"({"i": 3, "b": true, "s": "cde", "v": [3.5], "vv": [], "a": [5, 6], "bits": "111", "o": -0.5, "m": [[6, "r"]], "var": 77, "e": 1, "at": 0, "p": ["m", 3], "r": [{"x": 20, "tags": [1, 255]}]})"};
  return expected;
}

void expect_texts(const std::string& uri, std::size_t times) {
  auto reader = Reader::open("Data", uri);
  ASSERT_EQ(reader->num_entries(), 3 * times);
  for (std::size_t i = 0; i < 3 * times; ++i) ASSERT_EQ(reader->entry_text(i), texts()[i % 3]) << i;
}

TEST(Append, StoresEveryKindOfArray) {
  const Arrays arrays;
  for (const WriteOptions& options : {WriteOptions{}, testing::tiny_pieces()}) {
    const MemoryFile file;
    auto writer = Writer::recreate(model_of_all(), "Data", file, options);
    for (int n = 0; n < 20; ++n) {
      writer->append(arrays.named());
      if (n % 8 == 5) writer->commit_cluster();
    }
    EXPECT_EQ(writer->num_entries(), 60u);
    writer->close();
    expect_texts(file, 20);
  }
}

TEST(Append, MixesWithFill) {
  const Arrays arrays;
  const MemoryFile source;
  auto first = Writer::recreate(model_of_all(), "Data", source);
  first->append(arrays.named());
  first->close();
  const MemoryFile file;
  // As stored, since only then a variant may have no value.
  auto reader = Reader::open("Data", source);
  auto model = Model::create();
  for (const auto& field : reader->model().fields()) model->add_field(field->clone(field->name()));
  auto writer = Writer::recreate(std::move(model), "Data", file, testing::tiny_pieces());
  auto entry = writer->make_entry();
  auto values = reader->make_entry();
  for (const std::string& name : entry->field_names()) {
    // The same memory, filled by the reader and stored by the writer.
    entry->bind(name, values->ptr<void>(name).get(), writer->model().field(name).type_name());
  }
  for (int n = 0; n < 10; ++n) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      reader->load_entry(i, *values);
      writer->fill(*entry);
    }
    writer->append(arrays.named());
    if (n % 4 == 2) writer->commit_cluster();
  }
  writer->close();
  expect_texts(file, 20);
}

TEST(Append, ManyEntriesAtOnceMakeSeveralClusters) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<std::vector<std::uint32_t>>("x");
  auto writer = Writer::recreate(
      std::move(model), "Data", file,
      {.compression = "none", .approximate_cluster_size = 100000, .max_uncompressed_cluster_size = 100000});
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::uint32_t> items;
  for (std::uint32_t i = 0; i < 100000; ++i) {
    for (std::uint32_t k = 0; k < i % 3; ++k) items.push_back(i);
    offsets.push_back(static_cast<std::int64_t>(items.size()));
  }
  writer->append({{"x", ArrayView::offsets(offsets)}, {"x._0", items}});
  writer->close();
  auto reader = Reader::open("Data", file);
  EXPECT_GT(reader->descriptor().clusters.size(), 5u);
  const std::vector<std::string> paths = {"x"};
  const auto arrays = reader->arrays(paths, 0, 100000);
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_TRUE(std::ranges::equal(arrays[0].view<std::int64_t>(), offsets));
  EXPECT_TRUE(std::ranges::equal(arrays[1].view<std::uint32_t>(), items));
}

TEST(Arrays, ManyPathsFindWhatEachFindsAlone) {
  const MemoryFile file;
  auto model = Model::create();
  std::vector<std::string> paths;
  for (int i = 0; i < 40; ++i) {
    *model->make_field<int>(paths.emplace_back(fmt::format("x{}", i))) = i;
    *model->make_field<std::pair<int, float>>(fmt::format("p{}", i)) = {1000 + i, 0.5f};
    paths.push_back(fmt::format("p{}._0", i));
  }
  auto writer = Writer::recreate(std::move(model), "Data", file);
  writer->fill();
  writer->close();
  auto reader = Reader::open("Data", file);
  std::set<std::uint32_t> together;
  for (const ColumnArray& array : reader->arrays(paths, 0, 1)) together.insert(array.field);
  std::set<std::uint32_t> alone;
  for (const std::string& path : paths)
    for (const ColumnArray& array : reader->arrays({&path, 1}, 0, 1)) alone.insert(array.field);
  EXPECT_EQ(together, alone);
  EXPECT_EQ(together.size(), paths.size());
  paths.emplace_back("x40");
  EXPECT_EQ(error_of([&] { reader->arrays(paths, 0, 1); }).context().field, "x40");
}

// Whole pages of uncompressed columns are written from the caller's memory, but only while append() runs.
void append_and_change_the_arrays(const WriteOptions& options) {
  MemoryFile file;
  constexpr std::size_t batch = 100'000, batches = 3;
  auto model = Model::create();
  model->make_field<double>("x");
  model->make_field<std::int32_t>("n");
  auto writer = Writer::recreate(std::move(model), "d", file, options);
  std::vector<double> x(batch);
  std::vector<std::int32_t> n(batch);
  for (std::size_t b = 0; b < batches; ++b) {
    for (std::size_t i = 0; i < batch; ++i) {
      x[i] = static_cast<double>(b * batch + i) / 3;
      n[i] = static_cast<std::int32_t>(b * batch + i);
    }
    writer->append({{"x", std::span(x)}, {"n", std::span(n)}});
    std::fill(x.begin(), x.end(), -1.0);
    std::fill(n.begin(), n.end(), -1);
  }
  writer->close();
  auto reader = Reader::open("d", file);
  ASSERT_EQ(reader->num_entries(), batch * batches);
  auto x_view = reader->view<double>("x");
  auto n_view = reader->view<std::int32_t>("n");
  for (const std::uint64_t i : reader->entries()) {
    ASSERT_EQ(x_view(i), static_cast<double>(i) / 3);
    ASSERT_EQ(n_view(i), static_cast<std::int32_t>(i));
  }
  reader->verify();
}

TEST(Append, ArraysMayChangeAfterwards) {
  WriteOptions options{
      .compression = "none", .approximate_cluster_size = 500'000, .max_page_size = std::size_t{32} << 10};
  append_and_change_the_arrays(options);
  options.max_key_size = std::size_t{40} << 10;  // a page and its checksum must stay together
  append_and_change_the_arrays(options);
  options.page_checksums = Checksums::off;
  append_and_change_the_arrays(options);
  options = {
      .compression = "none", .max_page_size = std::size_t{32} << 10, .container = Container::bare_file};
  append_and_change_the_arrays(options);
}

TEST(Append, ConvertsNumbersThatFit) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<std::int8_t>("i");
  model->make_field<float>("f");
  model->make_field<double>("d");
  model->make_field<bool>("b");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  const std::vector<std::int64_t> i = {-128, 127};
  const std::vector<double> f = {0.1, 1e300};
  const std::vector<float> d = {0.5f, 2.f};
  const std::vector<std::uint8_t> b = {0, 2};
  writer->append({{"i", i}, {"f", f}, {"d", d}, {"b", b}});
  writer->close();
  EXPECT_EQ(Reader::open("Data", file)->entry_text(0), R"({"i": -128, "f": 0.1, "d": 0.5, "b": false})");
  EXPECT_EQ(Reader::open("Data", file)->entry_text(1), R"({"i": 127, "f": inf, "d": 2, "b": true})");
}

TEST(Append, AValueThatDoesNotFitFailsTheWriter) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<std::int32_t>("first");
  model->make_field<std::int8_t>("i");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  const std::vector<std::int32_t> good = {1, 2, 3}, bad = {1, 2, 300};
  writer->append({{"first", good}, {"i", good}});
  writer->commit_data_set();
  const Error error = error_of([&] { writer->append({{"first", good}, {"i", bad}}); });
  EXPECT_EQ(error.kind(), ErrorKind::conversion);
  EXPECT_EQ(error.problem(), "element 2 of the page is 300, which int8 (-128 to 127) cannot hold");
  EXPECT_EQ(error.context().field, "i");
  EXPECT_EQ(error.context().data_set, "Data");
  EXPECT_EQ(error_of([&] { writer->append({{"first", good}, {"i", good}}); }).problem(),
            "an earlier write failed, so nothing can be added any more: " + error.problem());
  EXPECT_THROW(writer->fill(), Error);
  EXPECT_THROW(writer->close(), Error);
  writer.reset();
  EXPECT_EQ(Reader::open("Data", file)->num_entries(), 3u);
}

TEST(Append, RefusesWhatDoesNotFitTheModelAndWritesNothing) {
  const Arrays good;
  struct Case {
    std::string what;
    std::function<void(std::vector<NamedArray>&)> spoil;
    ErrorKind kind;
    std::string problem;
    std::string field;
  };
  const auto at = [](std::vector<NamedArray>& arrays, const std::string& path, ArrayRole role) -> ArrayView& {
    for (NamedArray& named : arrays)
      if (named.path == path && named.array.role == role) return named.array;
    throw std::logic_error(path);
  };
  const auto drop = [](const std::string& path, ArrayRole role) {
    return [=](std::vector<NamedArray>& arrays) {
      std::erase_if(arrays,
                    [&](const NamedArray& named) { return named.path == path && named.array.role == role; });
    };
  };
  static const std::vector<std::int64_t> down = {0, 2, 1, 3}, late = {1, 1, 2, 3}, negative = {-1, 0, 2, 3},
                                         two = {0, 2, 2, 2}, none;
  static const std::vector<std::int32_t> tag3 = {2, 0, 3}, tag_minus = {2, 0, -1}, one = {1};
  static const std::vector<std::uint64_t> unsigned_ends = {0, 0, 2, 3};
  static const std::vector<float> floats = {1, 2, 3};
  const auto values = ArrayRole::values;
  const auto offsets = ArrayRole::offsets;
  const auto set = [&](const std::string& path, ArrayRole role, ArrayView view) {
    return [=](std::vector<NamedArray>& arrays) { at(arrays, path, role) = view; };
  };
  const auto add = [](const std::string& path, ArrayView view) {
    return [=](std::vector<NamedArray>& arrays) { arrays.push_back({path, view}); };
  };
  const std::vector<Case> cases = {
      {"missing values", drop("i", values), ErrorKind::usage,
       "no array is given for this field of type std::int32_t", "i"},
      {"missing items", drop("v._0", values), ErrorKind::usage,
       "no array is given for this field of type float", "v._0"},
      {"missing offsets", drop("v", offsets), ErrorKind::usage,
       "no offsets are given for this field of type std::vector<float>", "v"},
      {"missing text", drop("s", values), ErrorKind::usage,
       "no array is given for this field of type std::string", "s"},
      {"missing tags", drop("var", ArrayRole::tags), ErrorKind::usage, "no tags are given for this variant",
       "var"},
      {"missing member", drop("r._0.x", values), ErrorKind::usage,
       "no array is given for this field of type float", "r._0.x"},
      {"missing enum", drop("e", values), ErrorKind::usage,
       "no array is given for this field of type std::int16_t", "e._0"},
      {"superfluous field", add("nothing", one), ErrorKind::usage,
       "the model has no such field, or none that takes an array here", "nothing"},
      {"values at a collection", add("v", floats), ErrorKind::usage,
       "the model has no such field, or none that takes an array here", "v"},
      {"offsets at a number", add("i", ArrayView::offsets(down)), ErrorKind::usage,
       "the model has no such field, or none that takes an array here", "i"},
      {"values at a record", add("p", floats), ErrorKind::usage,
       "the model has no such field, or none that takes an array here", "p"},
      {"twice", add("i", good.i), ErrorKind::usage, "two arrays of the same kind are given for the field",
       "i"},
      {"other length", set("b", values, ArrayView(std::span(good.b).first(2))), ErrorKind::usage,
       "2 values are given, but 3 are needed", "b"},
      {"other number of collections", set("v", offsets, ArrayView::offsets(std::span(good.v).first(3))),
       ErrorKind::usage, "3 values are given, but 2 are needed", "v._0"},
      {"too few items", set("v._0", values, ArrayView(std::span(good.v_items).first(2))), ErrorKind::usage,
       "2 values are given, but 3 are needed", "v._0"},
      {"too few characters", set("s", values, ArrayView(std::string_view("abcd"))), ErrorKind::usage,
       "the offsets end at 5 but 4 characters are given", "s"},
      {"no offsets at all", set("v", offsets, ArrayView::offsets(none)), ErrorKind::usage,
       "offsets need one number more than there are collections, so at least one", "v"},
      {"decreasing offsets", set("v", offsets, ArrayView::offsets(down)), ErrorKind::usage,
       "offset 2 is 1, less than the one before, 2", "v"},
      {"offsets from 1", set("v", offsets, ArrayView::offsets(late)), ErrorKind::usage,
       "the first offset is 1, not 0", "v"},
      {"negative offsets", set("v", offsets, ArrayView::offsets(negative)), ErrorKind::usage,
       "the first offset is -1, not 0", "v"},
      {"two items of an optional", set("o", offsets, ArrayView::offsets(two)), ErrorKind::usage,
       "value 0 has 2 items, but at most one is possible", "o"},
      {"a tag too large", set("var", ArrayRole::tags, ArrayView::tags(tag3)), ErrorKind::usage,
       "the tag 3 is not within 0 to 2", "var"},
      {"a negative tag", set("var", ArrayRole::tags, ArrayView::tags(tag_minus)), ErrorKind::usage,
       "the tag -1 is not within 0 to 2", "var"},
      {"alternatives too few", set("var._0", values, ArrayView(std::span(one).first(0))), ErrorKind::usage,
       "0 values are given, but 1 are needed", "var._0"},
      {"part of an array", set("a._0", values, ArrayView(std::span(good.a).first(5))), ErrorKind::usage,
       "5 values are given, but 6 are needed", "a._0"},
      {"part of a bitset", set("bits", values, ArrayView(std::span(good.bits).first(8))), ErrorKind::usage,
       "the number of elements, 8, is not a multiple of 3", "bits"},
      {"another element type", set("i", values, floats), ErrorKind::type,
       "an array of float32 cannot fill a field of type std::int32_t", "i"},
      {"numbers for text", set("s", values, floats), ErrorKind::type,
       "an array of float32 cannot fill a field of type std::string", "s"},
      {"unsigned offsets",
       set("v", offsets, ArrayView(offsets, ElementType::uint64, unsigned_ends.data(), 4)), ErrorKind::type,
       "an array of uint64 is given, but numbers of type int64 are needed", "v"},
      {"wide tags",
       set("var", ArrayRole::tags, ArrayView(ArrayRole::tags, ElementType::int64, down.data(), 3)),
       ErrorKind::type, "an array of int64 is given, but numbers of type int32 are needed", "var"},
  };
  const MemoryFile file;
  auto writer = Writer::recreate(model_of_all(), "Data", file);
  writer->append(good.named());
  for (const Case& c : cases) {
    auto arrays = good.named();
    c.spoil(arrays);
    const Error error = error_of([&] { writer->append(arrays); });
    EXPECT_EQ(error.kind(), c.kind) << c.what;
    EXPECT_EQ(error.problem(), c.problem) << c.what;
    EXPECT_EQ(error.context().field, c.field) << c.what;
    EXPECT_EQ(error.context().uri, file.uri());
    EXPECT_EQ(error.context().data_set, "Data");
    EXPECT_EQ(writer->num_entries(), 3u);
  }
  writer->append(good.named());
  writer->close();
  expect_texts(file, 2);
}

TEST(Append, EmptyBatchesAddNothing) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<std::vector<int>>("x");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  const std::vector<std::int64_t> offsets = {0};
  writer->append({{"x", ArrayView::offsets(offsets)}, {"x._0", std::span<const int>()}});
  EXPECT_EQ(writer->num_entries(), 0u);
  writer->close();
  EXPECT_EQ(Reader::open("Data", file)->num_entries(), 0u);
}

TEST(Append, CardinalitiesTakeNoArray) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<std::vector<int>>("x");
  model->add_projected_field<Cardinality<std::uint32_t>>("n", {{"n", "x"}});
  auto writer = Writer::recreate(std::move(model), "Data", file);
  const std::vector<std::int64_t> offsets = {0, 2};
  const std::vector<int> items = {1, 2};
  EXPECT_THROW(writer->append({{"x", ArrayView::offsets(offsets)}, {"x._0", items}, {"n", items}}), Error);
  writer->append({{"x", ArrayView::offsets(offsets)}, {"x._0", items}});
  writer->close();
  auto reader = Reader::open("Data", file);
  const std::vector<std::string> paths = {"n"};
  const auto arrays = reader->arrays(paths, 0, 1);
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(arrays[0].role, ArrayRole::offsets);
  EXPECT_EQ(arrays[0].view<std::int64_t>()[1], 2);
}

// ---- Reading

class Columns : public ::testing::Test {
 protected:
  void SetUp() override {
    auto writer = Writer::recreate(model_of_all(), "Data", file_, testing::tiny_pieces());
    for (int n = 0; n < 12; ++n) {
      writer->append(Arrays().named());
      if (n == 2 || n == 3 || n == 9) writer->commit_cluster();
    }
    writer->close();
    reader_ = Reader::open("Data", file_);
  }
  MemoryFile file_;
  std::unique_ptr<Reader> reader_;
};

TEST_F(Columns, AnyRangeOfEntriesIsThatRange) {
  std::vector<std::string> names;
  const auto all = model_of_all();
  for (const auto& field : all->fields()) names.push_back(field->name());
  testing::Random random(4);
  for (int n = 0; n < 60; ++n) {
    const std::uint64_t first = random() % 37;
    const std::uint64_t last = first + random() % (37 - first);
    std::vector<std::string> paths;
    for (const std::string& name : names)
      if (random() % 3 != 0) paths.push_back(name);
    const auto arrays = reader_->arrays(paths, first, last);
    // Written into a new file, they must show the same entries.
    auto model = Model::create();
    auto source = model_of_all();
    for (const std::string& name : names)
      if (std::find(paths.begin(), paths.end(), name) != paths.end())
        model->add_field(source->field(name).clone(name));
    const MemoryFile copy;
    auto writer = Writer::recreate(std::move(model), "Data", copy);
    std::vector<NamedArray> named;
    for (const ColumnArray& array : arrays)
      named.push_back({reader_->descriptor().path_of(array.field),
                       {array.role, array.element, array.data.get(), array.size}});
    writer->append(named);
    writer->close();
    if (paths.empty()) continue;
    auto reread = Reader::open("Data", copy);
    ASSERT_EQ(reread->num_entries(), last - first);
    for (std::uint64_t i = first; i < last; ++i)
      ASSERT_EQ(reread->entry_text(i - first, paths), reader_->entry_text(i, paths));
  }
}

// The first page of a cluster is no sign that all of it is read.
TEST_F(Columns, NothingIsReadBehindTheEntriesThatAreAskedFor) {
  const std::vector<std::string> paths = {"i", "b", "e"};
  for (std::uint64_t i = 0; i < 36; ++i) {
    EXPECT_EQ(reader_->arrays(paths, i, i + 1)[0].view<std::int32_t>()[0], Arrays().i[i % 3]);
    EXPECT_EQ(reader_->metrics().prefetched_unused, 0u) << i;
  }
}

// Also where no server is waited for.
TEST_F(Columns, InterruptedReadsCanBeRepeated) {
  const std::vector<std::string> paths = {"i", "v", "r"};
  {
    const Interruption interruption([] { return true; });
    std::this_thread::sleep_for(Interruption::interval);
    EXPECT_THROW(reader_->arrays(paths, 0, 36), Interrupted);
  }
  EXPECT_EQ(reader_->arrays(paths, 0, 36)[0].view<std::int32_t>()[35], 3);
}

TEST_F(Columns, PathsChooseFieldsAndTheCollectionsAboveThem) {
  const auto fields_of = [&](const std::vector<std::string>& paths) {
    std::vector<std::string> found;
    for (const ColumnArray& array : reader_->arrays(paths, 2, 30))
      found.push_back(reader_->descriptor().path_of(array.field) + (array.role == ArrayRole::values ? ""
                                                                    : array.role == ArrayRole::tags
                                                                        ? " tags"
                                                                        : " offsets"));
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(fields_of({"r.x"}), (Names{"r offsets", "r._0.x"}));
  EXPECT_EQ(fields_of({"r._0.tags._0"}), (Names{"r offsets", "r._0.tags offsets", "r._0.tags._0"}));
  EXPECT_EQ(fields_of({"r"}), (Names{"r offsets", "r._0.x", "r._0.tags offsets", "r._0.tags._0"}));
  EXPECT_EQ(fields_of({"m._0._1", "i"}), (Names{"i", "m offsets", "m._0._1 offsets", "m._0._1"}));
  EXPECT_EQ(fields_of({"var._1"}), (Names{"var tags", "var._1 offsets", "var._1._0"}));
  EXPECT_EQ(fields_of({"i", "i"}), (Names{"i"}));
  EXPECT_EQ(fields_of({}), Names{});
}

TEST_F(Columns, ArraysAreAlignedAndOffsetsStartAtZero) {
  const std::vector<std::string> paths = {"v", "vv"};
  for (const ColumnArray& array : reader_->arrays(paths, 4, 33)) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data.get()) % 64, 0u);
    if (array.role == ArrayRole::offsets) {
      EXPECT_EQ(array.view<std::int64_t>()[0], 0);
    }
  }
}

TEST_F(Columns, WrongRangesAndPathsAreRefused) {
  const std::vector<std::string> paths = {"i"}, wrong = {"j"};
  const Error error = error_of([&] { reader_->arrays(paths, 5, 37); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_EQ(error.problem(), "entries 5 to 37 are beyond the 36 entries of the data set");
  EXPECT_THROW(reader_->arrays(paths, 6, 5), Error);
  EXPECT_EQ(error_of([&] { reader_->arrays(wrong, 0, 1); }).kind(), ErrorKind::not_found);
  EXPECT_EQ(reader_->arrays(paths, 36, 36)[0].size, 0u);
}

}  // namespace
}  // namespace colonnade
