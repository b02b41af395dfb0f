// Every write option, every container, and various shapes of data sets: none may change a value.
#include <fstream>
#include <limits>

#include "base/test_folder.h"
#include "dataset/test_round_trip.h"

namespace options_test {

struct Hit {
  float energy = 0;
  std::int16_t cell = 0;
};
struct Event {
  std::int64_t number = 0;
  std::vector<Hit> hits;
  std::string label;
  std::optional<double> weight;
  std::map<std::string, std::vector<bool>> flags;
  std::variant<int, std::string> extra;
};

}  // namespace options_test

namespace colonnade {
namespace {

using options_test::Event;
using testing::error_of;
using testing::expect_typed;
using testing::MemoryFile;
using testing::random_values;
using testing::write_values;

void expect_same_with(const WriteOptions& options, std::size_t count = 50, std::size_t per_cluster = 13) {
  const MemoryFile file;
  const auto values = random_values<Event>(count);
  write_values(file.uri(), values, options, per_cluster);
  expect_typed(file.uri(), values);
  Reader::open("Data", file)->verify();
}

TEST(WriteOptions, EveryCompressionGivesTheSameValues) {
  for (const char* setting : {"none", "zlib:1", "zlib:9", "lzma:1", "lz4:1", "lz4:9", "zstd:1", "zstd:5",
                              "zstd:9", "505", "0", "101"}) {
    SCOPED_TRACE(setting);
    expect_same_with({.compression = setting});
    expect_same_with({.compression = setting, .initial_page_size = 16, .max_page_size = 64}, 20);
  }
}

TEST(WriteOptions, UnknownCompressionsAreRefused) {
  for (const char* setting : {"brotli", "zstd:10", "301", "", "zstd:"}) {
    const MemoryFile file;
    const Error error = error_of([&] { write_values<int>(file.uri(), {}, {.compression = setting}); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << setting;
    EXPECT_EQ(error.context().uri, file.uri());
  }
}

TEST(WriteOptions, ChecksumsMergingAndSizesGiveTheSameValues) {
  for (const auto checksums : {Checksums::off, Checksums::on})
    for (const auto merging : {SamePageMerging::off, SamePageMerging::on})
      for (const std::size_t page : {64u, 1000u, 1u << 20})
        for (const std::uint32_t group : {1u, 2u, 1024u})
          expect_same_with({.initial_page_size = 1,
                            .max_page_size = page,
                            .page_checksums = checksums,
                            .same_page_merging = merging,
                            .clusters_per_group = group},
                           30, 5);
}

TEST(WriteOptions, ATinyPageBudgetGivesTheSameValues) {
  for (const std::size_t budget : {0u, 1u, 500u, 5000u})
    expect_same_with({.initial_page_size = 64, .max_page_size = 4096, .page_buffer_budget = budget}, 60, 40);
}

TEST(WriteOptions, TinyKeysGiveTheSameValues) {
  for (const auto container : {Container::root_file, Container::bare_file})
    for (const std::uint64_t limit : {257u, 1000u, 100000u})
      for (const char* setting : {"none", "zstd:5"})
        expect_same_with(
            {.compression = setting, .max_page_size = 512, .max_key_size = limit, .container = container}, 40,
            20);
  // At one of these limits, the footer alone fits into a key, but not with the record that follows it.
  for (const auto container : {Container::root_file, Container::bare_file})
    for (std::uint64_t limit = 120; limit < 600; limit += 8)
      expect_same_with({.compression = "none",
                        .max_page_size = 64,
                        .max_key_size = limit,
                        .container = container,
                        .checkpoint_every = {.clusters = 1}},
                       5, 3);
  const MemoryFile file;
  const Error error =
      error_of([&] { write_values<Event>(file.uri(), {}, {.compression = "none", .max_key_size = 64}); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_EQ(error.problem().substr(error.problem().find(" bytes in")),
            " bytes in chunks of 64 has more chunks than the first one can list");
}

TEST(WriteOptions, BareFilesGiveTheSameValues) {
  expect_same_with({.container = Container::bare_file});
  expect_same_with(
      {.compression = "none", .page_checksums = Checksums::off, .container = Container::bare_file});
}

TEST(WriteOptions, ClustersAndGroupsAreAsAskedFor) {
  const MemoryFile file;
  write_values(file.uri(), random_values<int>(70), {.clusters_per_group = 3}, 10);
  const auto reader = Reader::open("Data", file);
  EXPECT_EQ(reader->descriptor().clusters.size(), 7u);
  ASSERT_EQ(reader->descriptor().cluster_groups.size(), 3u);
  EXPECT_EQ(reader->descriptor().cluster_groups[1].clusters, 3u);
  EXPECT_EQ(reader->descriptor().cluster_groups[1].min_entry, 30u);
  EXPECT_EQ(reader->descriptor().cluster_groups[1].entry_span, 30u);
  EXPECT_EQ(reader->descriptor().cluster_groups[2].clusters, 1u);
}

TEST(WriteOptions, ClusterSizesAreKept) {
  for (const char* setting : {"none", "zstd:1"}) {
    const MemoryFile file;
    auto model = Model::create();
    auto x = model->make_field<std::uint64_t>("x");
    auto writer = Writer::recreate(
        std::move(model), "Data", file,
        {.compression = setting, .approximate_cluster_size = 20000, .max_uncompressed_cluster_size = 50000});
    testing::Random random(1);
    for (int i = 0; i < 50000; ++i) {
      *x = random();
      writer->fill();
    }
    writer->close();
    const auto reader = Reader::open("Data", file);
    ASSERT_GT(reader->descriptor().clusters.size(), 8u);
    for (const ClusterDescriptor& cluster : reader->descriptor().clusters)
      EXPECT_LE(cluster.entries * 8, 55000u);
  }
}

TEST(WriteOptions, ClustersWithoutALimitEndWhereTheyAreCommitted) {
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  const MemoryFile file;
  write_values(file.uri(), random_values<int>(70),
               {.approximate_cluster_size = most, .max_uncompressed_cluster_size = most}, 10);
  EXPECT_EQ(Reader::open("Data", file)->descriptor().clusters.size(), 7u);
}

TEST(WriteOptions, LowCompressionPagesStayBelowTheMaximum) {
  const MemoryFile file;
  write_values(file.uri(), random_values<std::uint32_t>(1000),
               {.initial_page_size = 100, .max_page_size = 400}, 1000);
  const auto reader = Reader::open("Data", file);
  const auto& pages = reader->descriptor().clusters[0].columns[0].pages;
  ASSERT_EQ(pages.size(), 10u);
  for (const PageDescriptor& page : pages) EXPECT_EQ(page.elements, 100u);
}

TEST(WriteOptions, IdenticalPagesAreStoredOnce) {
  const std::deque<std::vector<double>> values(64, std::vector<double>(16, 1.5));
  std::size_t sizes[2];
  for (const auto merging : {SamePageMerging::off, SamePageMerging::on}) {
    const MemoryFile file;
    write_values(file.uri(), values,
                 {.compression = "none", .max_page_size = 1024, .same_page_merging = merging}, 64);
    expect_typed(file.uri(), values);
    sizes[merging == SamePageMerging::on] = file.content().size();
    const auto reader = Reader::open("Data", file);
    const auto& pages = reader->descriptor().clusters[0].columns[1].pages;
    ASSERT_EQ(pages.size(), 8u);
    EXPECT_EQ(pages[0].locator == pages[5].locator, merging == SamePageMerging::on);
  }
  EXPECT_LT(sizes[1] + 7000, sizes[0]);
}

TEST(WriteOptions, ImpossibleOptionsAreRefused) {
  const std::pair<WriteOptions, const char*> cases[] = {
      {{.max_page_size = 63}, "the maximum page size is below 64 bytes"},
      {{.max_page_size = std::size_t{1} << 31}, "the maximum page size is above 1 GiB"},
      {{.approximate_cluster_size = 0}, "the cluster size is zero"},
      {{.approximate_cluster_size = 100, .max_uncompressed_cluster_size = 99},
       "the maximum uncompressed cluster size is below the cluster size"},
      {{.clusters_per_group = 0}, "a cluster group needs at least one cluster"},
      {{.max_key_size = 63}, "a maximum key size of 63 bytes is not possible"}};
  for (const auto& [options, problem] : cases) {
    const MemoryFile file;
    const Error error = error_of([&] { write_values<int>(file.uri(), {}, options); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.problem(), problem);
    EXPECT_EQ(error.context().uri, file.uri());
    EXPECT_EQ(error.context().data_set, "Data");
  }
}

// ---- Shapes of data sets

TEST(DataSets, NoEntriesAndNoFields) {
  for (const auto container : {Container::root_file, Container::bare_file}) {
    const MemoryFile empty;
    write_values<Event>(empty.uri(), {}, {.container = container});
    auto reader = Reader::open("Data", empty);
    EXPECT_EQ(reader->num_entries(), 0u);
    EXPECT_EQ(reader->view<Event>("x").size(), 0u);
    EXPECT_EQ(reader->view<float>("x.hits.energy").size(), 0u);
    EXPECT_EQ(error_of([&] { reader->view<Event>("x")(0); }).problem(),
              "index 0 is beyond the 0 values of the field");
    EXPECT_EQ(error_of([&] { reader->load_entry(0); }).problem(),
              "entry 0 is beyond the 0 entries of the data set");
    const std::vector<std::string> paths = {"x"};
    for (const ColumnArray& array : reader->arrays(paths, 0, 0))
      EXPECT_EQ(array.size, array.role == ArrayRole::offsets ? 1u : 0u);
    reader->verify();

    const MemoryFile bare;
    auto writer = Writer::recreate(Model::create(), "Data", bare, {.container = container});
    for (int i = 0; i < 5; ++i) writer->fill();
    writer->commit_cluster();
    for (int i = 0; i < 2; ++i) writer->fill();
    writer->close();
    auto without_fields = Reader::open("Data", bare);
    EXPECT_EQ(without_fields->num_entries(), 7u);
    without_fields->load_entry(6);
    EXPECT_EQ(without_fields->entry_text(6), "{}");
    EXPECT_THROW(without_fields->load_entry(7), Error);
  }
}

TEST(DataSets, CommittingWithoutEntriesChangesNothing) {
  const MemoryFile file;
  auto model = Model::create();
  auto x = model->make_field<int>("x");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  writer->commit_cluster();
  writer->flush_columns();
  writer->commit_data_set();
  *x = 3;
  writer->fill();
  writer->flush_columns();
  writer->commit_cluster();
  writer->commit_cluster();
  writer->close();
  const auto reader = Reader::open("Data", file);
  EXPECT_EQ(reader->descriptor().clusters.size(), 1u);
  EXPECT_EQ(reader->view<int>("x")(0), 3);
}

TEST(DataSets, EveryCommitCanBeRead) {
  const MemoryFile file;
  auto model = Model::create();
  auto x = model->make_field<std::vector<int>>("x");
  auto writer = Writer::recreate(std::move(model), "dir/Data", file, {.clusters_per_group = 2});
  for (int i = 0; i < 10; ++i) {
    x->assign(static_cast<std::size_t>(i), i);
    writer->fill();
    writer->fill();
    writer->commit_data_set();
    auto reader = Reader::open("dir/Data", file);
    ASSERT_EQ(reader->num_entries(), 2u * (static_cast<unsigned>(i) + 1));
    auto view = reader->view<std::vector<int>>("x");
    for (std::uint64_t k = 0; k < reader->num_entries(); ++k)
      ASSERT_EQ(view(k), std::vector<int>(k / 2, static_cast<int>(k / 2)));
  }
  writer->close();
  EXPECT_EQ(Reader::open("dir/Data", file)->num_entries(), 20u);
}

TEST(DataSets, SeveralLiveInOneFile) {
  const MemoryFile file;
  const auto add = [&](const std::string& name, int value, const WriteOptions& options, bool first = false) {
    auto model = Model::create();
    auto x = model->make_field<int>("x");
    *x = value;
    auto writer = first ? Writer::recreate(std::move(model), name, file, options)
                        : Writer::add_to(std::move(model), name, file, options);
    for (int i = 0; i < value; ++i) writer->fill();
    writer->close();
  };
  const std::vector<std::string> names = {"Events", "dir/Events", "dir/sub/Other", "Last", "dir/More"};
  int value = 0;
  for (const std::string& name : names) {
    ++value;
    add(name, value, {.compression = value % 2 == 0 ? "none" : "zstd:5", .max_key_size = 128u << value},
        value == 1);
  }
  auto found = data_sets(file);
  std::sort(found.begin(), found.end());
  auto sorted = names;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(found, sorted);
  value = 0;
  for (const std::string& name : names) {
    auto reader = Reader::open(name, file);
    EXPECT_EQ(reader->num_entries(), static_cast<unsigned>(++value));
    EXPECT_EQ(reader->view<int>("x")(0), value);
    EXPECT_EQ(reader->descriptor().name, name.substr(name.rfind('/') + 1));
  }
  const Error twice = error_of([&] { add("dir/Events", 9, {}); });
  EXPECT_EQ(twice.kind(), ErrorKind::usage);
  EXPECT_EQ(twice.context().uri, file.uri());
  const Error ambiguous = error_of([&] { Reader::open("", file); });
  EXPECT_EQ(ambiguous.kind(), ErrorKind::usage);
  EXPECT_EQ(ambiguous.problem(), "the file has 5 data sets");
  const Error missing = error_of([&] { Reader::open("Event", file); });
  EXPECT_EQ(missing.kind(), ErrorKind::not_found);
  EXPECT_NE(std::string(missing.what()).find("\"Events\""), std::string::npos) << missing.what();
}

TEST(DataSets, ABareFileTakesNoSecondOne) {
  const MemoryFile file;
  write_values<int>(file.uri(), {1}, {.container = Container::bare_file});
  const Error error = error_of([&] { Writer::add_to(Model::create(), "More", file); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_EQ(error.problem(), "a bare file holds one data set and cannot take another");
}

TEST(DataSets, TheNameMayBeLeftOutWhereThereIsOne) {
  const MemoryFile file;
  write_values<int>(file.uri(), {4}, {});
  EXPECT_EQ(Reader::open("", file)->view<int>("x")(0), 4);
  EXPECT_EQ(Reader::open("", file)->name(), "Data");
}

TEST(DataSets, NamesThatArePathsWithEmptyPartsAreRefused) {
  for (const char* name : {"", "a//b", "a/", "/"}) {
    const MemoryFile file;
    EXPECT_EQ(error_of([&] { Writer::recreate(Model::create(), name, file); }).kind(), ErrorKind::usage)
        << name;
  }
}

TEST(DataSets, FieldNamesFollowTheFormat) {
  const auto model = Model::create();
  for (const char* name : {"", "a.b", "a b", "a/b", "a\\b", "tab\t", "line\n", "\x7f"}) {
    const Error error = error_of([&] { model->make_field<int>(name); });
    EXPECT_EQ(error.kind(), ErrorKind::schema) << name;
    EXPECT_EQ(error.problem(), "'" + std::string(name) + "' is not a valid field name");
  }
  model->make_field<int>("x");
  EXPECT_EQ(error_of([&] { model->make_field("x", "float"); }).problem(),
            "the model already has a field 'x'");
  EXPECT_EQ(error_of([&] { model->add_projected_field<int>("x", {}); }).problem(),
            "the model already has a field 'x'");
  for (const char* name : {"_", "a-b", "\xc3\xa9", "a:b", "0", "\xe2\x82\xac(x)"})
    EXPECT_NO_THROW(model->make_field<int>(name)) << name;
}

TEST(DataSets, NamesOfMembersFollowTheFormat) {
  const auto points = [](const char* name) {
    std::vector<std::unique_ptr<Field>> members;
    members.push_back(make_field(name, "float"));
    return make_collection_field("points", make_record_field("_0", std::move(members)));
  };
  for (const char* name : {"", "a.b", "a b", "/"}) {
    const MemoryFile file;
    auto model = Model::create();
    model->add_field(points(name));
    const Error error = error_of([&] { Writer::recreate(std::move(model), "Data", file); });
    EXPECT_EQ(error.kind(), ErrorKind::schema) << name;
    EXPECT_EQ(error.problem(), "'" + std::string(name) + "' is not a valid name of a member");
    EXPECT_EQ(error.context().field, "points._0." + std::string(name));

    auto writer = Writer::recreate(Model::create(), "Data", file);
    const auto x = writer->extend<int>("x");
    EXPECT_EQ(error_of([&] { writer->extend(points(name)); }).kind(), ErrorKind::schema);
    *x = 3;
    writer->fill();  // nothing has happened
    writer->close();
    EXPECT_EQ(Reader::open("Data", file)->view<int>("x")(0), 3);
  }
}

TEST(DataSets, FieldsAreNestedAsDeepAsReadersAllow) {
  const auto levels = [](std::size_t count) {
    auto field = make_field("x", "int");
    while (--count > 0) {
      std::vector<std::unique_ptr<Field>> members;
      members.push_back(std::move(field));
      field = make_record_field("x", std::move(members));
    }
    return field;
  };
  const MemoryFile file;
  auto model = Model::create();
  model->add_field(levels(100));
  Writer::recreate(std::move(model), "Data", file)->close();
  EXPECT_EQ(Reader::open("Data", file)->num_entries(), 0u);

  model = Model::create();
  model->add_field(levels(101));
  const Error error = error_of([&] { Writer::recreate(std::move(model), "Data", file); });
  EXPECT_EQ(error.kind(), ErrorKind::schema);
  EXPECT_EQ(error.problem(), "fields are nested more than 100 deep");
  EXPECT_EQ(error.context().field, "x");

  auto writer = Writer::recreate(Model::create(), "Data", file);
  EXPECT_EQ(error_of([&] { writer->extend(levels(101)); }).problem(), error.problem());
  writer->extend(levels(100));
  writer->close();
  EXPECT_EQ(Reader::open("Data", file)->num_entries(), 0u);
}

TEST(DataSets, DescriptionsAndWriterAreStored) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<int>("x", "the first");
  model->make_field("y", "float", "the \"second\"");
  Writer::recreate(std::move(model), "Data", file, {.description = "about it"})->close();
  const auto reader = Reader::open("Data", file);
  EXPECT_EQ(reader->descriptor().description, "about it");
  EXPECT_EQ(reader->descriptor().fields[0].description, "the first");
  EXPECT_EQ(reader->descriptor().fields[1].description, "the \"second\"");
  EXPECT_EQ(reader->descriptor().writer.substr(0, 10), "Colonnade ");
}

TEST(DataSets, LocalFilesAreReplacedAndExtended) {
  const TestFolder folder;
  const auto path = folder.path() / "f.root";
  const auto values = random_values<Event>(20);
  write_values<int>(path.string(), std::deque<int>(10000, 1), {.compression = "none"});
  write_values(path.string(), values, {});
  expect_typed(path.string(), values);
  auto model = Model::create();
  model->make_field<int>("x");
  auto writer = Writer::add_to(std::move(model), "Other", path.string());
  writer->fill();
  writer->close();
  expect_typed(path.string(), values);
  EXPECT_EQ(data_sets("file://" + path.string()), (std::vector<std::string>{"Data", "Other"}));
}

// ---- Encodings

TEST(Encodings, EveryColumnTypeOfAnIntegerGivesTheSameValues) {
  const auto try_all = [](auto zero, std::initializer_list<ColumnType> types) {
    using T = decltype(zero);
    for (const ColumnType type : types) {
      const MemoryFile file;
      const auto values = random_values<T>(40);
      auto model = Model::create();
      auto x = model->make_field<T>("x");
      model->field("x").set_encodings({default_encoding(type)});
      auto writer = Writer::recreate(std::move(model), "Data", file, testing::tiny_pieces());
      for (const T& value : values) {
        *x = value;
        writer->fill();
      }
      writer->close();
      EXPECT_EQ(Reader::open("Data", file)->descriptor().columns[0].encoding.type, type);
      expect_typed(file.uri(), values);
    }
  };
  try_all(std::int16_t{}, {ColumnType::int16, ColumnType::split_int16});
  try_all(std::uint16_t{}, {ColumnType::uint16, ColumnType::split_uint16});
  try_all(std::int32_t{}, {ColumnType::int32, ColumnType::split_int32});
  try_all(std::uint32_t{}, {ColumnType::uint32, ColumnType::split_uint32});
  try_all(std::int64_t{}, {ColumnType::int64, ColumnType::split_int64});
  try_all(std::uint64_t{}, {ColumnType::uint64, ColumnType::split_uint64});
  try_all(float{}, {ColumnType::real32, ColumnType::split_real32});
  try_all(double{}, {ColumnType::real64, ColumnType::split_real64});
}

TEST(Encodings, IndexColumnsOfEveryWidthGiveTheSameCollections) {
  for (const ColumnType type :
       {ColumnType::index32, ColumnType::index64, ColumnType::split_index32, ColumnType::split_index64}) {
    const MemoryFile file;
    const auto values = random_values<std::vector<std::string>>(40);
    auto model = Model::create();
    auto x = model->make_field<std::vector<std::string>>("x");
    model->field("x").set_encodings({default_encoding(type)});
    model->field("x._0").set_encodings({default_encoding(type), default_encoding(ColumnType::character)});
    auto writer = Writer::recreate(std::move(model), "Data", file, testing::tiny_pieces());
    for (const auto& value : values) {
      *x = value;
      writer->fill();
    }
    writer->close();
    expect_typed(file.uri(), values);
  }
}

TEST(Encodings, ReducedPrecisionStaysWithinItsError) {
  const auto largest_error = [](auto zero, auto&& choose) {
    using T = decltype(zero);
    const MemoryFile file;
    auto model = Model::create();
    auto x = model->make_field<T>("x");
    choose(model->field("x"));
    auto writer = Writer::recreate(std::move(model), "Data", file, testing::tiny_pieces());
    for (int i = 0; i <= 100; ++i) {
      *x = static_cast<T>(i) / 100;
      writer->fill();
    }
    writer->close();
    auto view = Reader::open("Data", file)->view<T>("x");
    double worst = 0;
    for (int i = 0; i <= 100; ++i)
      worst = std::max(worst, std::abs(static_cast<double>(view(static_cast<unsigned>(i))) - i / 100.0));
    return worst;
  };
  for (const auto check : {+[](Field& f) { f.set_half_precision(); }, +[](Field& f) { f.set_truncated(20); },
                           +[](Field& f) { f.set_quantized(0, 1, 11); }}) {
    EXPECT_LT(largest_error(float{}, check), 6e-4);
    EXPECT_LT(largest_error(double{}, check), 6e-4);
  }
}

TEST(Encodings, ThoseThatDoNotFitAreRefused) {
  auto model = Model::create();
  model->make_field<float>("x");
  model->make_field<int>("i");
  EXPECT_EQ(error_of([&] { model->field("i").set_half_precision(); }).problem(),
            "a column of type Real16 cannot store std::int32_t");
  EXPECT_EQ(error_of([&] { model->field("x").set_truncated(9); }).kind(), ErrorKind::type);
  EXPECT_EQ(error_of([&] { model->field("x").set_truncated(32); }).kind(), ErrorKind::type);
  EXPECT_EQ(error_of([&] { model->field("x").set_quantized(1, 1, 8); }).kind(), ErrorKind::type);
  EXPECT_EQ(error_of([&] { model->field("x").set_encodings({}); }).problem(),
            "0 encodings are given for the 1 columns of type float");
}

TEST(Encodings, AQuantizedValueOutOfRangeFailsTheWriter) {
  const MemoryFile file;
  auto model = Model::create();
  auto x = model->make_field<float>("x");
  model->field("x").set_quantized(0, 1, 8);
  auto writer = Writer::recreate(std::move(model), "Data", file);
  *x = 2;
  writer->fill();
  const Error error = error_of([&] { writer->commit_cluster(); });
  EXPECT_EQ(error.kind(), ErrorKind::conversion);
  EXPECT_EQ(error.context().field, "x");
  EXPECT_EQ(error.context().data_set, "Data");
}

}  // namespace
}  // namespace colonnade
