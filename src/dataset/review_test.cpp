// Regressions: well-formed files with false claims, failures in the middle of an operation, and invalid
// calls. Each of these once was a crash, a hang, or a wrong value without an error.
#include "dataset/test_round_trip.h"
#include "page/page_sink.h"

namespace review_test {

// Wider than the stored enumeration in the files of these tests.
enum class Level : std::int64_t { low, high };

struct alignas(128) Aligned {
  float x = 0;
};

}  // namespace review_test

namespace colonnade {
namespace {

using review_test::Aligned;
using review_test::Level;
using testing::error_of;
using testing::MemoryFile;

// Writes data sets with any schema, including some that no Writer makes.
class Forge {
 public:
  explicit Forge(const std::string& uri, std::uint32_t clusters_per_group = 1024)
      : sink_(container::create_container(uri, "Data", {.root_compression = 0}),
              {.compression = "none",
               .initial_page_size = 64,
               .max_page_size = 64,
               .clusters_per_group = clusters_per_group}) {
    sink_.descriptor().name = "Data";
  }
  std::uint32_t field(const char* name, const char* type, FieldRole role, std::uint32_t parent = invalid_id,
                      std::uint64_t array_size = 0) {
    FieldDescriptor f;
    f.id = static_cast<std::uint32_t>(d().fields.size());
    f.parent = parent == invalid_id ? f.id : parent;
    f.role = role;
    f.raw_role = static_cast<std::uint16_t>(role);
    f.name = name;
    f.type_name = type;
    f.array_size = array_size;
    d().fields.push_back(f);
    return f.id;
  }
  // `first` > 0: a deferred column.
  std::uint32_t column(std::uint32_t field, ColumnType type, std::uint64_t first = 0,
                       std::uint16_t representation = 0) {
    ColumnDescriptor c;
    c.id = static_cast<std::uint32_t>(d().columns.size());
    c.field = field;
    c.raw_type = static_cast<std::uint16_t>(type);
    c.encoding = default_encoding(type);
    c.representation = representation;
    c.first_element = first;
    c.deferred = first > 0;
    c.deferred_suppressed = representation > 0;
    d().columns.push_back(c);
    return c.id;
  }
  page::ColumnWriter& writer(std::uint32_t column, ElementType element) {
    return sink_.add_column(column, element);
  }
  Descriptor& d() { return sink_.descriptor(); }
  page::PageSink& sink() { return sink_; }
  void finish() {
    sink_.commit_data_set();
    sink_.close();
  }

 private:
  page::PageSink sink_;
};

std::vector<ColumnArray> all_arrays(Reader& reader, const std::string& path) {
  const std::vector<std::string> paths = {path};
  return reader.arrays(paths, 0, reader.num_entries());
}

// ---- Failures in the middle

TEST(Review, AViewShowsTheRightValuesAfterABulkReadFailed) {
  const MemoryFile file;
  {
    auto model = Model::create();
    auto x = model->make_field<std::int64_t>("x");
    auto writer = Writer::recreate(std::move(model), "Data", file,
                                   {.compression = "none", .initial_page_size = 64, .max_page_size = 64});
    for (int i = 0; i < 32; ++i) {
      *x = i == 21 ? std::int64_t{1} << 40 : i;
      writer->fill();
    }
    writer->close();
  }
  auto view = Reader::open("Data", file)->view<std::int32_t>("x");
  EXPECT_EQ(view(1), 1);
  // Ends in the middle of the third page, whose sixth number is too large.
  EXPECT_EQ(error_of([&] { view.bulk(1, 21); }).kind(), ErrorKind::conversion);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(view(static_cast<std::uint64_t>(i)), i);
}

TEST(Review, ABulkReadOfMoreThanThereIsWritesNothing) {
  const MemoryFile file;
  testing::write_values<double>(file, {1, 2, 3}, {});
  auto view = Reader::open("Data", file)->view<double>("x");
  // The product with the size of a double is 8.
  EXPECT_EQ(error_of([&] { view.bulk(0, (std::uint64_t{1} << 61) + 1); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { view.bulk(2, 2); }).kind(), ErrorKind::usage);
  EXPECT_EQ(view.bulk(1, 2)[1], 3);
}

// ---- Invalid calls

TEST(Review, AMissingModelIsRefusedBeforeTheFileIsTouched) {
  const MemoryFile file;
  testing::write_values<int>(file, {1}, {});
  EXPECT_EQ(error_of([&] { Writer::recreate(nullptr, "Data", file); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { Writer::add_to(nullptr, "More", file); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { Reader::open(nullptr, "Data", file); }).kind(), ErrorKind::usage);
  EXPECT_EQ(Reader::open("Data", file)->view<int>("x")(0), 1);
}

TEST(Review, AModelThatIsInUseTakesNoFields) {
  const MemoryFile file;
  auto model = Model::create();
  EXPECT_EQ(error_of([&] { model->add_field(nullptr); }).kind(), ErrorKind::usage);
  auto x = model->make_field<int>("x");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  EXPECT_EQ(error_of([&] { writer->model().make_field<int>("y"); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { writer->model().add_projected_field<int>("y", {{"y", "x"}}); }).kind(),
            ErrorKind::usage);
  EXPECT_EQ(error_of([&] { writer->extend(std::unique_ptr<Field>()); }).kind(), ErrorKind::usage);
  *x = 5;
  writer->fill();
  *writer->extend<int>("y") = 6;
  writer->extend_projected<int>("z", {{"z", "x"}});
  EXPECT_EQ(error_of([&] { writer->model().make_field<int>("w"); }).kind(), ErrorKind::usage);
  writer->fill();
  writer->close();

  auto reader = Reader::open("Data", file);
  EXPECT_EQ(error_of([&] { reader->model().make_field<int>("w"); }).kind(), ErrorKind::usage);
  reader->load_entry(1);
  EXPECT_EQ(*reader->model().default_entry().ptr<int>("y"), 6);
}

TEST(Review, ANullPointerIsNotBound) {
  auto model = Model::create();
  model->make_field<int>("x");
  auto entry = model->make_entry();
  EXPECT_EQ(error_of([&] { entry->bind<int>("x", nullptr); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { entry->bind("x", nullptr, "std::int32_t"); }).kind(), ErrorKind::usage);
}

// The stored enumeration has two bytes, the program's eight.
TEST(Review, AnEnumerationAsStoredIsNotTheOneOfTheProgram) {
  const MemoryFile file;
  {
    Forge forge(file);
    const auto level = forge.field("x", "review_test::Level", FieldRole::leaf);
    const auto inner =
        forge.column(forge.field("_0", "std::int16_t", FieldRole::leaf, level), ColumnType::int16);
    forge.sink().start();
    forge.writer(inner, ElementType::int16).append(std::int16_t{1});
    forge.sink().commit_cluster(1);
    forge.finish();
  }
  auto reader = Reader::open("Data", file);
  const auto entry = reader->make_entry();
  reader->load_entry(0, *entry);
  EXPECT_EQ(error_of([&] { entry->ptr<Level>("x"); }).kind(), ErrorKind::type);
  EXPECT_EQ(error_of([&] { reader->view("x").as<Level>(0); }).kind(), ErrorKind::type);
  EXPECT_EQ(reader->view<Level>("x")(0), Level::high);
}

TEST(Review, ItemsKnownAtRunTimeKeepTheirAlignment) {
  const MemoryFile file;
  const auto make_model = [] {
    auto model = Model::create();
    model->add_field(make_collection_field("v", make_field<Aligned>("_0")));
    return model;
  };
  auto writer = Writer::recreate(make_model(), "Data", file);
  const std::vector<std::int64_t> offsets = {0, 1, 3, 8};
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7};
  writer->append({{"v", ArrayView::offsets(offsets)}, {"v._0.x", x}});
  writer->close();
  auto reader = Reader::open(make_model(), "Data", file);
  for (std::size_t i = 0; i < 3; ++i) {
    reader->load_entry(i);
    const auto items =
        *std::static_pointer_cast<const Aligned*>(reader->model().default_entry().ptr<void>("v"));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(items) % alignof(Aligned), 0u);
    EXPECT_EQ(items->x, static_cast<float>(offsets[i]));
  }
}

// ---- Files with false claims

// No data are stored for entries before a field was added, so a few bytes may claim any number of them.
TEST(Review, ClaimsOfManyMissingElementsCostNothing) {
  const MemoryFile file;
  constexpr std::uint64_t entries = std::uint64_t{1} << 55;
  constexpr std::uint64_t many = 64;
  {
    Forge forge(file);
    forge.sink().start();
    const auto array = forge.field("a", "std::array<double,64>", FieldRole::leaf, invalid_id, 64);
    // 2^61 numbers of 8 bytes: the product overflows to zero.
    forge.column(forge.field("_0", "double", FieldRole::leaf, array), ColumnType::real64, entries * 64);
    const auto vector = forge.field("v", "std::vector<float>", FieldRole::collection);
    forge.column(vector, ColumnType::index64, entries);
    forge.column(forge.field("_0", "float", FieldRole::leaf, vector), ColumnType::real32);

    const auto wide = forge.field("w", "std::array<float,64>", FieldRole::leaf, invalid_id, many);
    forge.column(forge.field("_0", "float", FieldRole::leaf, wide), ColumnType::real32, entries * many);
    forge.sink().commit_cluster(entries);
    forge.finish();
  }
  auto reader = Reader::open("Data", file);
  EXPECT_EQ(error_of([&] { all_arrays(*reader, "a"); }).kind(), ErrorKind::resource);
  EXPECT_EQ(error_of([&] { all_arrays(*reader, "v"); }).kind(), ErrorKind::resource);
  EXPECT_EQ((reader->view<std::array<double, 64>>("a")(entries - 1)[63]), 0);
  EXPECT_TRUE(reader->view<std::vector<float>>("v")(entries / 2).empty());
  EXPECT_EQ(reader->view<std::vector<float>>("w")(1).size(), many);
  reader->verify();
}

TEST(Review, AnArrayTooLargeForAValueIsNoVectorEither) {
  const MemoryFile file;
  {
    Forge forge(file);
    forge.sink().start();
    constexpr std::uint64_t size = std::uint64_t{1} << 40;
    const auto array = forge.field("a", "std::array<float,1099511627776>", FieldRole::leaf, invalid_id, size);
    forge.column(forge.field("_0", "float", FieldRole::leaf, array), ColumnType::real32, size);
    forge.sink().commit_cluster(1);
    forge.finish();
  }
  auto reader = Reader::open("Data", file);
  EXPECT_EQ(error_of([&] { reader->view<std::vector<float>>("a"); }).kind(), ErrorKind::unsupported);
}

TEST(Review, ArraySizesWhoseProductIsZeroDivideNothing) {
  const MemoryFile file;
  {
    Forge forge(file);
    constexpr std::uint64_t size = std::uint64_t{1} << 32;
    const auto vector = forge.field("v", "std::vector<X>", FieldRole::collection);
    const auto ends = forge.column(vector, ColumnType::index64);
    const auto outer = forge.field("_0", "std::array<Y,4294967296>", FieldRole::leaf, vector, size);
    const auto inner = forge.field("_0", "std::array<float,4294967296>", FieldRole::leaf, outer, size);
    const auto items = forge.column(forge.field("_0", "float", FieldRole::leaf, inner), ColumnType::real32);
    forge.sink().start();
    forge.writer(ends, ElementType::index).append(std::uint64_t{1});
    forge.writer(items, ElementType::float32).append(1.f);
    forge.sink().commit_cluster(1);
    forge.finish();
  }
  auto reader = Reader::open("Data", file);
  error_of([&] { reader->collection("v")(0); });
  for (const std::uint32_t id : reader->descriptor().top_level_fields())
    if (reader->descriptor().fields[id].unreadable.empty()) error_of([&] { reader->verify(); });
}

TEST(Review, AStringOrVariantWithoutItsPartsIsAnError) {
  const MemoryFile file;
  {
    Forge forge(file);
    forge.field("nothing", "std::string", FieldRole::leaf);
    const auto ends = forge.column(forge.field("half", "std::string", FieldRole::leaf), ColumnType::index64);
    forge.field("count", "ROOT::RNTupleCardinality<std::uint64_t>", FieldRole::leaf);
    const auto tags =
        forge.column(forge.field("none", "std::variant<>", FieldRole::variant), ColumnType::switch_);
    const auto many = forge.field("many", "std::variant<>", FieldRole::variant);
    const auto more_tags = forge.column(many, ColumnType::switch_);
    for (int i = 0; i < 300; ++i)
      forge.column(forge.field(("_" + std::to_string(i)).c_str(), "bool", FieldRole::leaf, many),
                   ColumnType::bit);
    forge.sink().start();
    forge.writer(ends, ElementType::index).append(std::uint64_t{0});
    for (const auto column : {tags, more_tags})
      forge.writer(column, ElementType::switch_).append(SwitchElement{});
    for (std::uint32_t c = more_tags + 1; c < forge.d().columns.size(); ++c)
      forge.writer(c, ElementType::boolean);
    forge.sink().commit_cluster(1);
    forge.finish();
  }
  auto reader = Reader::open("Data", file);
  for (const char* path : {"nothing", "half", "count"}) {
    error_of([&] { all_arrays(*reader, path); });
    error_of([&] { reader->view(path).text(0); });
  }
  for (const char* path : {"none", "many"}) error_of([&] { reader->view(path).text(0); });
}

TEST(Review, APageOutsideOfTheFileMakesNoRoomForItself) {
  const std::pair<std::uint64_t, std::uint64_t> places[] = {
      {(std::uint64_t{1} << 34) - 8, 300},  // far more bytes than the file has
      {64, ~std::uint64_t{0}},              // offset and size overflow to a small number
      {64, std::uint64_t{0} - 64}};         // ... or to zero
  for (const auto& [size, offset] : places) {
    SCOPED_TRACE(offset);
    const MemoryFile file;
    const std::uint64_t elements = size / 8;
    {
      Forge forge(file);
      forge.column(forge.field("x", "double", FieldRole::leaf), ColumnType::real64);
      forge.sink().start();
      forge.writer(0, ElementType::float64);
      forge.sink().commit_cluster(elements);
      forge.d().clusters[0].columns[0].pages = {{.elements = static_cast<std::uint32_t>(elements),
                                                 .has_checksum = false,
                                                 .locator = {.size = size, .offset = offset}}};
      forge.finish();
    }
    const Error error = error_of([&] { Reader::open("Data", file)->view<double>("x")(0); });
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_NE(error.problem().find("beyond the end of the file"), std::string::npos) << error.what();
  }
}

TEST(Review, PageListsAreNotReadOverAndOver) {
  const MemoryFile file;
  {
    Forge forge(file, 1);  // closing merges no groups
    forge.column(forge.field("x", "double", FieldRole::leaf), ColumnType::real64);
    forge.sink().start();
    forge.writer(0, ElementType::float64);
    forge.sink().commit_cluster(0);
    forge.sink().commit_data_set();
    forge.d().cluster_groups.resize(1000, forge.d().cluster_groups.front());
    forge.finish();
  }
  const Error error = error_of([&] { Reader::open("Data", file); });
  EXPECT_NE(error.problem().find("page lists together"), std::string::npos) << error.what();
}

// A second representation of a string begins in the second cluster. Its text is complete anyway.
TEST(Review, TextOfALateRepresentationHasNoZerosInFront) {
  const MemoryFile file;
  {
    Forge forge(file);
    const auto text = forge.field("s", "std::string", FieldRole::leaf);
    forge.column(text, ColumnType::index64);
    forge.column(text, ColumnType::character);
    forge.sink().start();
    auto& ends = forge.writer(0, ElementType::index);
    auto& characters = forge.writer(1, ElementType::character);
    for (std::uint64_t end = 1; end <= 3; ++end) {
      ends.append(end);
      characters.append('a');
    }
    forge.sink().commit_cluster(3);
    forge.column(text, ColumnType::index32, 3, 1);
    forge.column(text, ColumnType::character, 3, 1);
    auto& late_ends = forge.writer(2, ElementType::index);
    auto& late_characters = forge.writer(3, ElementType::character);
    for (const std::uint64_t end : {0, 0, 1}) late_ends.append(end);
    late_characters.append('b');
    forge.sink().commit_cluster(3);
    for (std::size_t c = 0; c < 2; ++c) forge.d().clusters[1].columns[c].suppressed = true;
    forge.finish();
  }
  auto reader = Reader::open("Data", file);
  auto view = reader->view<std::string>("s");
  EXPECT_EQ(view(2), "a");
  EXPECT_EQ(view(4), "");
  EXPECT_EQ(view(5), "b");
}

// One member of a record has wrong numbers; another one gives the number of items.
TEST(Review, ItemsAreCountedByReadableMembers) {
  const MemoryFile file;
  {
    Forge forge(file);
    const auto vector = forge.field("v", "", FieldRole::collection);
    forge.column(vector, ColumnType::index64);
    const auto item = forge.field("_0", "", FieldRole::record, vector);
    forge.column(forge.field("a", "std::int32_t", FieldRole::leaf, item), ColumnType::int32);
    forge.column(forge.field("b", "std::int32_t", FieldRole::leaf, item), ColumnType::int32);
    forge.sink().start();
    auto& ends = forge.writer(0, ElementType::index);
    auto& a = forge.writer(1, ElementType::int32);
    auto& b = forge.writer(2, ElementType::int32);
    for (std::int32_t cluster = 0; cluster < 2; ++cluster) {
      ends.append(std::uint64_t{2});
      for (const std::int32_t k : {0, 1}) {
        a.append(k);
        b.append(10 * cluster + k);
      }
      forge.sink().commit_cluster(1);
    }
    forge.d().clusters[1].columns[1].first_element += 5;
    forge.finish();
  }
  auto reader = Reader::open("Data", file);
  const IndexRange items = reader->collection("v")(1);
  EXPECT_EQ(items.first(), 2u);
  EXPECT_EQ(items.size(), 2u);
  EXPECT_EQ(reader->view<std::int32_t>("v.b")(items.first()), 10);
  auto view = reader->view("v._0");
  EXPECT_EQ(view.size(), 4u);
  EXPECT_EQ(view.text(3), R"({"b": 11})");
}

TEST(Review, AStringThatEndsBehindItsTextIsFoundByVerify) {
  for (const std::uint64_t second : {3, 4}) {
    const MemoryFile file;
    {
      Forge forge(file);
      const auto text = forge.field("s", "std::string", FieldRole::leaf);
      forge.column(text, ColumnType::index64);
      forge.column(text, ColumnType::character);
      forge.sink().start();
      auto& ends = forge.writer(0, ElementType::index);
      auto& characters = forge.writer(1, ElementType::character);
      ends.append(std::uint64_t{1});
      ends.append(second);
      for (const char letter : {'a', 'b', 'c'}) characters.append(letter);
      forge.sink().commit_cluster(2);
      forge.finish();
    }
    auto reader = Reader::open("Data", file);
    if (second == 3) {
      reader->verify();
    } else {
      EXPECT_EQ(error_of([&] { reader->verify(); }).kind(), ErrorKind::format);
    }
  }
}

// Every entry has two of the records; one per entry would mix up entries.
TEST(Review, ARecordThatRepeatsIsNotReadAsOne) {
  const MemoryFile file;
  {
    Forge forge(file);
    const auto record = forge.field("r", "", FieldRole::record, invalid_id, 2);
    forge.column(forge.field("x", "std::int32_t", FieldRole::leaf, record), ColumnType::int32);
    forge.sink().start();
    auto& numbers = forge.writer(0, ElementType::int32);
    for (const std::int32_t number : {1, 2, 3, 4}) numbers.append(number);
    forge.sink().commit_cluster(2);
    forge.finish();
  }
  auto reader = Reader::open("Data", file);
  EXPECT_EQ(error_of([&] { reader->view("r").text(1); }).kind(), ErrorKind::unsupported);
}

// The index of an alternative's value has 64 bits, and an array multiplies it.
TEST(Review, AVariantDoesNotPointAroundTheWorld) {
  for (const std::uint64_t index : {std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const MemoryFile file;
    {
      Forge forge(file);
      const auto variant = forge.field("u", "std::variant<std::array<std::int32_t,2>>", FieldRole::variant);
      forge.column(variant, ColumnType::switch_);
      const auto array = forge.field("_0", "std::array<std::int32_t,2>", FieldRole::leaf, variant, 2);
      forge.column(forge.field("_0", "std::int32_t", FieldRole::leaf, array), ColumnType::int32);
      const auto outer = forge.field("n", "std::variant<X>", FieldRole::variant);
      forge.column(outer, ColumnType::switch_);
      const auto inner = forge.field("_0", "std::variant<bool>", FieldRole::variant, outer);
      forge.column(inner, ColumnType::switch_);
      forge.column(forge.field("_0", "bool", FieldRole::leaf, inner), ColumnType::bit);
      forge.sink().start();
      auto& tags = forge.writer(0, ElementType::switch_);
      auto& numbers = forge.writer(1, ElementType::int32);
      auto& outer_tags = forge.writer(2, ElementType::switch_);
      auto& inner_tags = forge.writer(3, ElementType::switch_);
      forge.writer(4, ElementType::boolean);
      for (const std::int32_t number : {7, 8}) numbers.append(number);
      tags.append(SwitchElement{index, 1});
      tags.append(SwitchElement{});
      outer_tags.append(SwitchElement{index, 1});
      outer_tags.append(SwitchElement{0, 1});
      inner_tags.append(SwitchElement{});
      inner_tags.append(SwitchElement{});
      forge.sink().commit_cluster(2);
      forge.finish();
    }
    auto reader = Reader::open("Data", file);
    for (const char* path : {"u", "n"}) {
      EXPECT_EQ(error_of([&] { reader->view(path).text(0); }).kind(), ErrorKind::format) << path;
      EXPECT_EQ(error_of([&] { all_arrays(*reader, path); }).kind(), ErrorKind::format) << path;
    }
  }
}

}  // namespace
}  // namespace colonnade
