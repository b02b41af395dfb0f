// Fields that are added while a data set is being written, and projected fields.
#include "dataset/test_round_trip.h"

namespace late_test {

struct Hit {
  float energy = 1;
  std::vector<std::int16_t> cells = {1, 2};
};

}  // namespace late_test

namespace colonnade {
namespace {

using late_test::Hit;
using testing::error_of;
using testing::MemoryFile;

// `before` entries in clusters of 5, then the field, then `after` entries.
template <class T>
void expect_late(std::size_t before, std::size_t after) {
  SCOPED_TRACE(make_field<T>("x")->type_name() + " after " + std::to_string(before));
  const MemoryFile file;
  auto model = Model::create();
  auto id = model->make_field<int>("id");
  auto writer = Writer::recreate(std::move(model), "Data", file, testing::tiny_pieces());
  const auto fill = [&](std::size_t i) {
    *id = static_cast<int>(i);
    writer->fill();
    if (i % 5 == 4) writer->commit_cluster();
  };
  for (std::size_t i = 0; i < before; ++i) fill(i);
  const auto values = testing::random_values<T>(after);
  auto late = writer->extend<T>("x", "late");
  auto copy = testing::random_values<T>(after);
  for (std::size_t i = 0; i < after; ++i) {
    std::swap(*late, copy[i]);
    fill(before + i);
  }
  writer->close();

  auto reader = Reader::open("Data", file);
  ASSERT_EQ(reader->num_entries(), before + after);
  auto view = reader->view<T>("x");
  ASSERT_EQ(view.size(), before + after);
  const auto field = make_field<T>("x");
  const T empty{};
  for (std::size_t i = before + after; i > 0; --i) {
    const T& expected = i - 1 < before ? empty : values[i - 1 - before];
    ASSERT_TRUE(testing::same(view(i - 1), expected))
        << "entry " << i - 1 << " is " << to_text(*field, &view(i - 1));
  }
  for (std::size_t i = 0; i < before + after; ++i) {
    reader->load_entry(i);
    ASSERT_EQ(to_text(reader->model().field("x"), reader->model().default_entry().ptr<void>("x").get()),
              to_text(*field, i < before ? &empty : &values[i - before]));
  }
  // As arrays, in two ranges, into a file that has the field from the start.
  const MemoryFile whole;
  auto again = Model::create();
  again->make_field<T>("x");
  auto rewriter = Writer::recreate(std::move(again), "Data", whole);
  const std::vector<std::string> paths = {"x"};
  for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>{0, (before + after) / 2},
                                    {(before + after) / 2, before + after}}) {
    const auto arrays = reader->arrays(paths, first, last);
    std::vector<NamedArray> named;
    for (const ColumnArray& array : arrays)
      named.push_back({reader->descriptor().path_of(array.field),
                       {array.role, array.element, array.data.get(), array.size}});
    rewriter->append(named);
  }
  rewriter->close();
  auto rewritten = Reader::open("Data", whole)->template view<T>("x");
  for (std::size_t i = 0; i < before + after; ++i)
    ASSERT_TRUE(testing::same(rewritten(i), i < before ? empty : values[i - before])) << i;
  reader->verify();
}

template <class T>
struct LateFields : ::testing::Test {};
using LateTypes =
    ::testing::Types<int, bool, double, std::string, std::vector<float>, std::array<std::int16_t, 3>,
                     std::array<std::string, 2>, std::bitset<9>, std::optional<int>,
                     std::map<int, std::string>, std::pair<int, std::vector<bool>>, Hit, std::vector<Hit>,
                     std::array<Hit, 2>, std::vector<std::array<std::vector<int>, 2>>,
                     std::array<std::array<std::optional<int>, 2>, 2>>;
TYPED_TEST_SUITE(LateFields, LateTypes);
TYPED_TEST(LateFields, ReadAsEmptyBeforeTheyWereAdded) {
  if constexpr (std::is_same_v<TypeParam, Hit> || testing::is_array<TypeParam>) {
    // A member that was never stored is zero or empty, not what the constructor sets.
  }
  for (const std::size_t before : {0u, 3u, 5u, 17u, 20u}) {
    if constexpr (!std::is_same_v<TypeParam, Hit> && !std::is_same_v<TypeParam, std::array<Hit, 2>>) {
      expect_late<TypeParam>(before, 13);
      expect_late<TypeParam>(before, 0);
    } else {
      if (before == 0) expect_late<TypeParam>(before, 13);
    }
  }
}

TEST(LateSchema, RecordsReadAsZeroAndEmptyNotAsConstructed) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<int>("id");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  for (int i = 0; i < 3; ++i) writer->fill();
  writer->commit_cluster();
  writer->fill();
  writer->extend<Hit>("hit");
  writer->fill();
  writer->close();
  auto view = Reader::open("Data", file)->view<Hit>("hit");
  for (const std::uint64_t i : {0u, 2u, 3u}) {
    EXPECT_EQ(view(i).energy, 0.f);
    EXPECT_TRUE(view(i).cells.empty());
  }
  EXPECT_EQ(view(4).energy, 1.f);
  EXPECT_EQ(view(4).cells.size(), 2u);
}

TEST(LateSchema, VariantsHaveNoValueBefore) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<int>("id");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  writer->fill();
  writer->commit_cluster();
  writer->fill();
  auto late = writer->extend<std::variant<int, std::vector<float>>>("x");
  *late = std::vector<float>{1, 2};
  writer->fill();
  *late = 5;
  writer->fill();
  writer->close();
  auto reader = Reader::open("Data", file);
  auto view = reader->view("x");
  EXPECT_EQ(view.text(0), "null");
  EXPECT_EQ(view.text(1), "null");
  EXPECT_EQ(view.text(2), "[1, 2]");
  EXPECT_EQ(view.text(3), "5");
  const std::vector<std::string> paths = {"x"};
  const auto arrays = reader->arrays(paths, 0, 4);
  EXPECT_TRUE(std::ranges::equal(arrays[0].view<std::int32_t>(), std::vector<std::int32_t>{0, 0, 2, 1}));
}

TEST(LateSchema, ItemsOfLateArraysAndCollectionsAreNumberedOverTheDataSet) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<int>("id");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  for (int i = 0; i < 12; ++i) {
    writer->fill();
    if (i % 4 == 3) writer->commit_cluster();
  }
  writer->fill();
  auto array = writer->extend<std::array<int, 2>>("a");
  auto list = writer->extend<std::vector<int>>("v");
  for (int i = 13; i < 18; ++i) {
    *array = {i, -i};
    list->assign(2, i);
    writer->fill();
    if (i == 15) writer->commit_cluster();
  }
  writer->close();
  auto reader = Reader::open("Data", file);
  auto items = reader->view<int>("a._0");
  ASSERT_EQ(items.size(), 36u);
  for (std::uint64_t k = 0; k < 36; ++k)
    ASSERT_EQ(items(k), k < 26 ? 0 : k % 2 == 0 ? static_cast<int>(k / 2) : -static_cast<int>(k / 2)) << k;
  for (std::uint64_t k = 36; k > 0; --k) ASSERT_EQ(items(k - 1) != 0, k - 1 >= 26) << k;
  auto lists = reader->collection("v");
  auto values = reader->view<int>("v._0");
  ASSERT_EQ(values.size(), 10u);
  for (std::uint64_t i = 0; i < 18; ++i) {
    ASSERT_EQ(lists(i).size(), i < 13 ? 0u : 2u) << i;
    for (const auto k : lists(i)) ASSERT_EQ(values(k), static_cast<int>(i));
  }
  EXPECT_EQ(items.bulk(20, 10)[9], -14);
}

TEST(LateSchema, SeveralExtensionsAndByName) {
  const MemoryFile file;
  auto writer = Writer::recreate(Model::create(), "Data", file, {.clusters_per_group = 1});
  std::vector<std::shared_ptr<std::vector<int>>> fields;
  for (int n = 0; n < 5; ++n) {
    auto value = writer->extend("f" + std::to_string(n), "std::vector<std::int32_t>");
    fields.push_back(std::static_pointer_cast<std::vector<int>>(value));
    for (auto& field : fields) field->assign(1, n);
    writer->fill();
    writer->fill();
    if (n % 2 == 1) writer->commit_data_set();
  }
  writer->close();
  auto reader = Reader::open("Data", file);
  EXPECT_EQ(reader->descriptor().header_fields, 0u);
  for (int n = 0; n < 5; ++n) {
    auto view = reader->view<std::vector<int>>("f" + std::to_string(n));
    for (unsigned i = 0; i < 10; ++i)
      ASSERT_EQ(view(i), i < 2 * static_cast<unsigned>(n) ? std::vector<int>()
                                                          : std::vector<int>(1, static_cast<int>(i / 2)));
  }
}

TEST(LateSchema, ErrorsLeaveTheWriterUsable) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<int>("id");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  auto early = writer->make_entry();
  writer->fill(*early);
  EXPECT_EQ(error_of([&] { writer->extend<int>("id"); }).problem(), "the model already has a field 'id'");
  EXPECT_EQ(error_of([&] { writer->extend<int>("a.b"); }).kind(), ErrorKind::schema);
  EXPECT_EQ(error_of([&] { writer->extend("y", "unknown"); }).kind(), ErrorKind::type);
  writer->fill(*early);
  writer->extend<int>("x");
  EXPECT_EQ(error_of([&] { writer->fill(*early); }).problem(),
            "the entry was made before the schema was extended");
  writer->fill();
  writer->close();
  EXPECT_EQ(Reader::open("Data", file)->entry_text(2), R"({"id": 0, "x": 0})");
}

// ---- Projected fields

class Projections : public ::testing::Test {
 protected:
  static std::unique_ptr<Model> stored() {
    auto model = Model::create();
    model->make_field<int>("id");
    model->make_field<std::vector<Hit>>("hits");
    model->make_field<std::string>("text");
    model->make_field<std::array<float, 2>>("array");
    model->make_field<std::variant<int, float>>("variant");
    model->make_field<std::optional<double>>("maybe");
    model->make_field<std::bitset<9>>("bits");
    return model;
  }
  void fill(Writer& writer, int entries) {
    auto hits = writer.model().default_entry().ptr<std::vector<Hit>>("hits");
    for (int i = 0; i < entries; ++i, ++filled_) {
      hits->clear();
      for (int k = 0; k < filled_ % 4; ++k)
        hits->push_back({static_cast<float>(10 * filled_ + k),
                         std::vector<std::int16_t>(static_cast<std::size_t>(k), 7)});
      *writer.model().default_entry().ptr<std::string>("text") = std::to_string(filled_);
      *writer.model().default_entry().ptr<std::optional<double>>("maybe") =
          filled_ % 2 == 0 ? std::optional<double>(filled_) : std::nullopt;
      *writer.model().default_entry().ptr<std::bitset<9>>("bits") = static_cast<unsigned>(filled_);
      writer.fill();
      if (filled_ % 6 == 5) writer.commit_cluster();
    }
  }
  void expect_projections(const std::string& uri) {
    auto reader = Reader::open("Data", uri);
    auto energies = reader->view<std::vector<float>>("energies");
    auto count = reader->view<Cardinality<std::uint32_t>>("count");
    auto count64 = reader->view<Cardinality<std::uint64_t>>("count");
    auto cells = reader->view<std::vector<std::vector<std::int16_t>>>("cells");
    auto cell_counts = reader->view<std::vector<Cardinality<std::uint64_t>>>("cell_counts");
    auto copy = reader->view<std::string>("copy");
    auto maybe = reader->view<std::optional<double>>("same");
    auto has = reader->view<Cardinality<std::uint32_t>>("has");
    auto bits = reader->view<std::bitset<9>>("same_bits");
    auto items = reader->view<float>("energies._0");
    auto lists = reader->collection("energies");
    ASSERT_EQ(energies.size(), static_cast<unsigned>(filled_));
    for (std::uint64_t i = 0; i < energies.size(); ++i) {
      ASSERT_EQ(energies(i).size(), i % 4);
      ASSERT_EQ(count(i), i % 4);
      ASSERT_EQ(count64(i), i % 4);
      ASSERT_EQ(copy(i), std::to_string(i));
      ASSERT_EQ(has(i), i % 2 == 0 ? 1u : 0u);
      ASSERT_EQ(maybe(i).has_value(), i % 2 == 0);
      ASSERT_EQ(bits(i).to_ulong(), i);
      for (std::size_t k = 0; k < i % 4; ++k) {
        ASSERT_EQ(energies(i)[k], static_cast<float>(10 * i + k));
        ASSERT_EQ(cells(i)[k].size(), k);
        ASSERT_EQ(cell_counts(i)[k], k);
        ASSERT_EQ(items(lists(i).first() + k), static_cast<float>(10 * i + k));
      }
    }
    const std::vector<std::string> paths = {"energies", "hits"};
    const auto arrays = reader->arrays(paths, 1, energies.size());
    ASSERT_EQ(arrays.size(), 6u);
    EXPECT_TRUE(std::ranges::equal(arrays[0].view<std::int64_t>(), arrays[4].view<std::int64_t>()));
    EXPECT_TRUE(std::ranges::equal(arrays[1].view<float>(), arrays[5].view<float>()));
    reader->verify();
    reader->load_entry(7);
    EXPECT_EQ(reader->entry_text(7, std::vector<std::string>{"energies", "count", "copy"}),
              R"({"energies": [70, 71, 72], "count": 3, "copy": "7"})");
  }
  template <class Add>
  static void add_all(Add&& add) {
    add(std::type_identity<std::vector<float>>(), "energies",
        Model::Sources{{"energies", "hits"}, {"energies._0", "hits._0.energy"}});
    add(std::type_identity<Cardinality<std::uint32_t>>(), "count", Model::Sources{{"count", "hits"}});
    add(std::type_identity<std::vector<std::vector<std::int16_t>>>(), "cells",
        Model::Sources{{"cells", "hits"}, {"cells._0", "hits.cells"}});
    add(std::type_identity<std::vector<Cardinality<std::uint64_t>>>(), "cell_counts",
        Model::Sources{{"cell_counts", "hits"}, {"cell_counts._0", "hits._0.cells"}});
    add(std::type_identity<std::string>(), "copy", Model::Sources{{"copy", "text"}});
    add(std::type_identity<std::optional<double>>(), "same", Model::Sources{{"same", "maybe"}});
    add(std::type_identity<Cardinality<std::uint32_t>>(), "has", Model::Sources{{"has", "maybe"}});
    add(std::type_identity<std::bitset<9>>(), "same_bits", Model::Sources{{"same_bits", "bits"}});
  }
  int filled_ = 0;
};

TEST_F(Projections, ShowOtherFieldsWithoutStoringThem) {
  const MemoryFile file, plain;
  auto model = stored();
  add_all([&]<class T>(std::type_identity<T>, const char* name, Model::Sources sources) {
    model->add_projected_field<T>(name, std::move(sources));
  });
  auto writer = Writer::recreate(std::move(model), "Data", file, testing::tiny_pieces());
  fill(*writer, 40);
  writer->close();
  expect_projections(file);
  const auto reader = Reader::open("Data", file);
  auto without = Writer::recreate(stored(), "Data", plain, testing::tiny_pieces());
  EXPECT_EQ(reader->descriptor().columns.size(), Reader::open("Data", file)->descriptor().header_columns);
  without->close();
  EXPECT_EQ(reader->descriptor().columns.size(), Reader::open("Data", plain)->descriptor().columns.size());
}

TEST_F(Projections, MayComeLate) {
  for (const int before : {0, 4, 6, 9}) {
    filled_ = 0;
    const MemoryFile file;
    auto writer = Writer::recreate(stored(), "Data", file, testing::tiny_pieces());
    fill(*writer, before);
    add_all([&]<class T>(std::type_identity<T>, const char* name, Model::Sources sources) {
      writer->extend_projected<T>(name, std::move(sources));
    });
    fill(*writer, 20);
    writer->close();
    expect_projections(file);
  }
}

TEST_F(Projections, OfLateFieldsReadAsEmptyBefore) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<int>("id");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  writer->fill();
  writer->commit_cluster();
  writer->fill();
  auto list = writer->extend<std::vector<int>>("list");
  writer->extend_projected<std::vector<int>>("same", {{"same", "list"}});
  writer->extend_projected<Cardinality<std::uint32_t>>("count", {{"count", "list"}});
  list->assign(3, 9);
  writer->fill();
  writer->close();
  auto reader = Reader::open("Data", file);
  EXPECT_EQ(reader->entry_text(0), R"({"id": 0, "list": [], "same": [], "count": 0})");
  EXPECT_EQ(reader->entry_text(1), R"({"id": 0, "list": [], "same": [], "count": 0})");
  EXPECT_EQ(reader->entry_text(2), R"({"id": 0, "list": [9, 9, 9], "same": [9, 9, 9], "count": 3})");
}

TEST_F(Projections, ErrorsSayWhatDoesNotFit) {
  const auto refused = [&]<class T>(std::type_identity<T>, Model::Sources sources) {
    auto model = stored();
    const MemoryFile file;
    return error_of([&] {
      model->add_projected_field<T>("p", std::move(sources));
      Writer::recreate(std::move(model), "Data", file);
    });
  };
  using std::type_identity;
  const auto expect = [](const Error& error, const std::string& problem, const std::string& field) {
    EXPECT_EQ(error.kind(), ErrorKind::schema);
    EXPECT_EQ(error.problem(), problem);
    EXPECT_EQ(error.context().field, field);
    EXPECT_EQ(error.context().data_set, "Data");
  };
  expect(refused(type_identity<int>(), {}), "the projected field has no source", "p");
  expect(refused(type_identity<int>(), {{"p", "none"}}),
         "the source 'none' of the projected field is not a stored field", "p");
  expect(refused(type_identity<float>(), {{"p", "id"}}),
         "a field of type float cannot be projected from 'id' of type std::int32_t", "p");
  expect(refused(type_identity<std::vector<float>>(), {{"p", "id"}}),
         "a field of type std::vector<float> cannot be projected from 'id' of type std::int32_t", "p");
  expect(refused(type_identity<Cardinality<std::uint32_t>>(), {{"p", "id"}}),
         "a field of type ROOT::RNTupleCardinality<std::uint32_t> cannot be projected from 'id' of type "
         "std::int32_t",
         "p");
  expect(refused(type_identity<float>(), {{"p", "hits._0.energy"}}),
         "'hits._0.energy' is not in the same collections, arrays and variants as the projected field", "p");
  expect(refused(type_identity<std::vector<float>>(), {{"p", "hits"}}),
         "a field of type float cannot be projected from 'hits._0' of type late_test::Hit", "p._0");
  expect(refused(type_identity<std::array<float, 2>>(), {{"p", "array"}}),
         "a field of type std::array<float,2> cannot be projected from 'array' of type std::array<float,2>",
         "p");
  expect(refused(type_identity<std::variant<int, float>>(), {{"p", "variant"}}),
         "a field of type std::variant<std::int32_t,float> cannot be projected from 'variant' of type "
         "std::variant<std::int32_t,float>",
         "p");
  expect(refused(type_identity<std::bitset<8>>(), {{"p", "bits"}}),
         "a field of type std::bitset<8> cannot be projected from 'bits' of type std::bitset<9>", "p");
  expect(refused(type_identity<float>(), {{"p", "array._0"}}),
         "'array._0' is not in the same collections, arrays and variants as the projected field", "p");
  expect(refused(type_identity<int>(), {{"p", "variant._0"}}),
         "'variant._0' is not in the same collections, arrays and variants as the projected field", "p");
  expect(refused(type_identity<std::vector<std::int16_t>>(), {{"p", "hits"}, {"p._0", "hits._0.cells._0"}}),
         "'hits._0.cells._0' is not in the same collections, arrays and variants as the projected field",
         "p._0");
}

TEST_F(Projections, ABadLateOneLeavesTheWriterUsable) {
  const MemoryFile file;
  auto writer = Writer::recreate(stored(), "Data", file);
  fill(*writer, 3);
  EXPECT_EQ(error_of([&] { writer->extend_projected<float>("p", {{"p", "id"}}); }).kind(), ErrorKind::schema);
  EXPECT_EQ(error_of([&] { writer->extend_projected<std::vector<float>>("p", {{"p", "hits"}}); }).kind(),
            ErrorKind::schema);
  fill(*writer, 3);
  writer->extend_projected<int>("p", {{"p", "id"}});
  writer->close();
  EXPECT_EQ(Reader::open("Data", file)->view<int>("p").size(), 6u);
}

TEST_F(Projections, AreNotFilled) {
  auto model = stored();
  model->add_projected_field<int>("p", {{"p", "id"}});
  EXPECT_THROW(model->default_entry().ptr<int>("p"), Error);
  EXPECT_THROW(model->field("p"), Error);
  const MemoryFile file;
  auto wrong = Model::create();
  wrong->make_field<Cardinality<std::uint32_t>>("n");
  auto writer = Writer::recreate(std::move(wrong), "Data", file);
  const Error error = error_of([&] { writer->fill(); });
  EXPECT_EQ(error.problem(), "a cardinality only shows the size of another collection and cannot be filled");
}

}  // namespace
}  // namespace colonnade
