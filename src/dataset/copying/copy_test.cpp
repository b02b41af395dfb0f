// Copies of data sets: of everything that ROOT wrote, page by page, compressed again and decoded; parts of
// them, several in one, interrupted ones that go on, damaged ones.
#include "colonnade/copy.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <sstream>

#include "base/test_fixtures.h"
#include "dataset/test_round_trip.h"
#include "page/page_source.h"

namespace colonnade {
namespace {

using testing::error_of;
using testing::MemoryFile;
using testing::Random;

// A file in a temporary folder that is gone with the test.
class LocalFile {
 public:
  LocalFile()
      : path_(std::filesystem::temp_directory_path() / ("colonnade-copy-test-" + std::to_string(::getpid()) +
                                                        "-" + std::to_string(next()++) + ".root")) {}
  ~LocalFile() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string uri() const { return path_.string(); }

 private:
  static int& next() {
    static int number = 0;
    return number;
  }
  std::filesystem::path path_;
};

std::vector<std::string> texts(const std::string& uri, const std::string& name) {
  const auto reader = Reader::open(name, uri);
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < reader->num_entries(); ++i) all.push_back(reader->entry_text(i));
  return all;
}

// The sealed bytes of all pages, by cluster and column.
std::vector<Bytes> sealed_pages(const std::string& uri, const std::string& name) {
  const auto source = page::PageSource::open(name, uri);
  std::vector<Bytes> pages;
  for (const ClusterDescriptor& cluster : source->descriptor().clusters)
    for (const ColumnRange& range : cluster.columns)
      for (const PageDescriptor& page : range.pages) {
        Bytes stored(page::stored_size(page));
        source->read_sealed(page, stored);
        stored.resize(page.locator.size);
        pages.push_back(std::move(stored));
      }
  return pages;
}

std::string schema_text(const std::string& uri, const std::string& name) {
  std::ostringstream out;
  Reader::open(name, uri)->print_schema(out);
  return out.str();
}

struct FixtureSet {
  std::string uri;
  std::string name;
};

// Pages of more than 16 MiB: their text takes long to make.
bool is_large(const FixtureSet& set) {
  return set.uri.find("chunked_") != std::string::npos;
}

std::vector<FixtureSet> fixtures() {
  std::vector<FixtureSet> sets;
  for (const auto& entry : std::filesystem::directory_iterator(test_fixtures())) {
    const std::string uri = entry.path().string();
    if (!uri.ends_with(".root")) continue;
    for (const std::string& name : data_sets(uri)) sets.push_back({uri, name});
  }
  return sets;
}

TEST(Copy, KeepsThePagesOfEveryFixture) {
  ASSERT_GT(fixtures().size(), 50u);
  for (const FixtureSet& set : fixtures()) {
    SCOPED_TRACE(set.uri + " " + set.name);
    const MemoryFile file;
    const CopyReport report = copy({set.uri, set.name}, {file.uri()}, {.verify = CopyVerify::values});
    EXPECT_EQ(report.mode, CopyMode::pages);
    EXPECT_TRUE(report.verified);
    EXPECT_FALSE(report.interrupted);
    const auto from = Reader::open(set.name, set.uri);
    EXPECT_EQ(report.entries, from->num_entries());
    EXPECT_EQ(report.clusters, from->descriptor().clusters.size());
    EXPECT_EQ(schema_text(file, set.name), schema_text(set.uri, set.name));
    if (!is_large(set)) {
      EXPECT_EQ(texts(file, set.name), texts(set.uri, set.name));
    }
    EXPECT_TRUE(sealed_pages(file, set.name) == sealed_pages(set.uri, set.name));
    const auto copied = Reader::open(set.name, file);
    const Descriptor& to = copied->descriptor();
    EXPECT_EQ(to.header_fields, from->descriptor().header_fields);
    EXPECT_EQ(to.header_columns, from->descriptor().header_columns);
    ASSERT_EQ(to.type_infos.size(), from->descriptor().type_infos.size());
    for (std::size_t i = 0; i < to.type_infos.size(); ++i)
      EXPECT_EQ(to.type_infos[i].content, from->descriptor().type_infos[i].content);
    for (const ClusterDescriptor& cluster : to.clusters)
      for (const ColumnRange& range : cluster.columns)
        for (const PageDescriptor& page : range.pages) EXPECT_TRUE(page.has_checksum);
    EXPECT_TRUE(report.notes.empty());
    EXPECT_EQ(copied->attribute_sets(), from->attribute_sets());
  }
}

TEST(Copy, CompressesEveryFixtureAgain) {
  for (const char* setting : {"none", "lz4:3"})
    for (const FixtureSet& set : fixtures()) {
      SCOPED_TRACE(set.uri + " " + set.name);
      const MemoryFile file;
      const CopyReport report =
          copy({set.uri, set.name}, {file.uri()}, {.compression = setting, .verify = CopyVerify::pages});
      EXPECT_EQ(report.mode, CopyMode::recompress);
      EXPECT_TRUE(report.verified);
      if (is_large(set)) continue;
      EXPECT_EQ(texts(file, set.name), texts(set.uri, set.name));
      EXPECT_EQ(schema_text(file, set.name), schema_text(set.uri, set.name));
    }
}

TEST(Copy, DecodesEveryFixture) {
  struct Shape {
    std::optional<std::size_t> page, cluster;
  };
  for (const Shape& shape : {Shape{64, {}}, Shape{{}, 500}, Shape{256, 1 << 20}})
    for (const FixtureSet& set : fixtures()) {
      SCOPED_TRACE(set.uri + " " + set.name);
      const auto from = Reader::open(set.name, set.uri);
      const MemoryFile file;
      const auto run = [&] {
        return copy({set.uri, set.name}, {file.uri()},
                    {.max_page_size = shape.page,
                     .approximate_cluster_size = shape.cluster,
                     .verify = CopyVerify::values,
                     .writing = {.initial_page_size = 32}});
      };
      bool readable = true;
      for (const FieldDescriptor& field : from->descriptor().fields)
        if (!field.unreadable.empty()) readable = false;
      if (is_large(set) && shape.page) continue;
      if (!readable) {
        EXPECT_EQ(error_of(run).kind(), ErrorKind::unsupported);
        continue;
      }
      const CopyReport report = run();
      EXPECT_EQ(report.mode, CopyMode::decode);
      EXPECT_TRUE(report.verified);
      if (is_large(set)) continue;
      EXPECT_EQ(texts(file, set.name), texts(set.uri, set.name));
      if (!shape.cluster) {
        EXPECT_EQ(report.clusters, from->descriptor().clusters.size());
      }
    }
}

// ---- A data set of this library, with everything in it

struct Made {
  std::uint64_t entries = 4000;
  std::uint64_t seed = 1;
  WriteOptions options = {.compression = "zstd:1",
                          .approximate_cluster_size = 20000,
                          .initial_page_size = 64,
                          .max_page_size = 1024};
  bool extends = true;
};

// Nested collections, strings, variants, a projection, a late field, clusters of some kilobytes, equal pages.
void make(const std::string& uri, const Made& made = {}) {
  auto model = Model::create();
  const auto number = model->make_field<std::int64_t>("number");
  const auto same = model->make_field<float>("same");
  const auto jets = model->make_field<std::vector<std::pair<float, std::vector<std::string>>>>("jets");
  const auto either =
      model->make_field<std::variant<std::int32_t, std::string, std::vector<double>>>("either");
  const auto maybe = model->make_field<std::optional<double>>("maybe");
  const auto three = model->make_field<std::array<std::uint16_t, 3>>("three");
  model->add_projected_field(make_field<std::int64_t>("shown"), {{"shown", "number"}});
  const auto writer = Writer::recreate(std::move(model), "Data", uri, made.options);
  Random random(made.seed);
  std::shared_ptr<std::vector<std::int16_t>> late;
  for (std::uint64_t i = 0; i < made.entries; ++i) {
    *number = static_cast<std::int64_t>(random());
    *same = 1.5F;
    testing::randomize(random, *jets);
    testing::randomize(random, *either);
    testing::randomize(random, *maybe);
    testing::randomize(random, *three);
    if (made.extends && i == made.entries / 2 + 7) late = writer->extend<std::vector<std::int16_t>>("late");
    if (late) testing::randomize(random, *late);
    writer->fill();
  }
  writer->close();
}

TEST(Copy, CopiesWhatThisLibraryWrites) {
  const MemoryFile from;
  make(from);
  const auto expected = texts(from, "Data");
  const auto clusters = Reader::open("Data", from)->descriptor().clusters.size();
  ASSERT_GT(clusters, 8u);
  const std::vector<CopyOptions> ways = {
      {},
      {.reading = {.memory_budget = 1000}},
      {.writing = {.container = Container::bare_file}},
      {.writing = {.max_key_size = 700}},
      {.writing = {.checkpoint_every = {.clusters = 2}}},
      {.compression = "lz4"},
      {.compression = "none", .reading = {.memory_budget = 1000}},
      {.max_page_size = 300},
      {.approximate_cluster_size = 3000, .reading = {.memory_budget = 1000}},
      {.approximate_cluster_size = 1 << 20},
      {.compression = "none", .max_page_size = 64, .approximate_cluster_size = 50000}};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    SCOPED_TRACE(i);
    CopyOptions options = ways[i];
    options.verify = CopyVerify::values;
    const MemoryFile to;
    const CopyReport report = copy({from.uri()}, {to.uri(), "dir/Other"}, options);
    EXPECT_TRUE(report.verified);
    const std::string name = "dir/Other";
    if (options.writing.container == Container::bare_file) continue;
    EXPECT_EQ(texts(to, name), expected);
    if (report.mode == CopyMode::pages) {
      EXPECT_TRUE(sealed_pages(to, name) == sealed_pages(from, "Data"));
      EXPECT_EQ(report.clusters, clusters);
    }
    if (options.approximate_cluster_size == 3000u) {
      EXPECT_GT(report.clusters, clusters);
    }
    if (options.approximate_cluster_size == std::size_t{1} << 20) {
      EXPECT_LT(report.clusters, clusters);
    }
    Reader::open(name, to)->verify();
  }
}

// The pages hold a signalling NaN, which a new page of Real16 makes quiet, and the ends of a range, which are
// not floats.
TEST(Copy, NewPagesHoldTheSameNumbersOfReducedPrecision) {
  const MemoryFile from;
  auto model = Model::create();
  constexpr double pi = 3.14159265358979323846;
  const auto half = model->make_field<float>("half");
  model->field("half").set_encodings({default_encoding(ColumnType::real16)});
  const auto angle = model->make_field<float>("angle");
  model->field("angle").set_encodings({{ColumnType::real32_quant, 20, -pi, pi}});
  const auto writer = Writer::recreate(std::move(model), "Data", from,
                                       {.compression = "none", .page_checksums = Checksums::off});
  for (int i = 0; i < 8; ++i) {
    *half = 1.5F;
    *angle = static_cast<float>(i % 2 == 0 ? -pi : pi);
    writer->fill();
  }
  writer->close();
  Bytes content = from.content();
  Bytes halves(16);
  for (std::size_t i = 0; i < 8; ++i) store_le(halves.data() + 2 * i, std::uint16_t{0x3e00});
  const auto found = std::search(content.begin(), content.end(), halves.begin(), halves.end());
  ASSERT_NE(found, content.end());
  store_le(content.data() + (found - content.begin()) + 4, std::uint16_t{0x7c01});
  from.store(content);
  const MemoryFile to;
  EXPECT_TRUE(copy({from.uri()}, {to.uri()}, {.max_page_size = 64, .verify = CopyVerify::values}).verified);
  EXPECT_EQ(texts(to, "Data"), texts(from, "Data"));
}

// ---- Parts

TEST(CopyOfParts, TakesWhatFieldsNeed) {
  const MemoryFile from;
  make(from);
  struct Case {
    std::vector<std::string> columns;
    std::vector<std::string> top_level;
    std::size_t columns_there;
  };
  const std::vector<Case> cases = {
      {{"number"}, {"number"}, 1},    {{"shown"}, {"number", "shown"}, 1},         {{"late"}, {"late"}, 2},
      {{"jets._0._0"}, {"jets"}, 5},  // pairs stay whole
      {{"either._1"}, {"either"}, 6}, {{"maybe", "three"}, {"maybe", "three"}, 3}, {{"num*"}, {"number"}, 1},
      {{"jets.*"}, {"jets"}, 5},      {{"[mt]*e*"}, {"maybe", "three"}, 3}};
  for (const Case& wanted : cases) {
    SCOPED_TRACE(wanted.columns.front());
    for (const bool decoded : {false, true}) {
      const MemoryFile to;
      CopyOptions options{.columns = wanted.columns, .verify = CopyVerify::values};
      if (decoded) options.approximate_cluster_size = 5000;
      EXPECT_TRUE(copy({from.uri()}, {to.uri()}, options).verified);
      const auto reader = Reader::open("Data", to);
      const Descriptor& descriptor = reader->descriptor();
      std::vector<std::string> names;
      for (const std::uint32_t id : descriptor.top_level_fields())
        names.push_back(descriptor.fields[id].name);
      EXPECT_EQ(names, wanted.top_level);
      EXPECT_EQ(descriptor.columns.size(), wanted.columns_there);
      const auto whole = Reader::open("Data", from);
      ASSERT_EQ(reader->num_entries(), whole->num_entries());
      for (std::uint64_t i = 0; i < reader->num_entries(); i += 7)
        ASSERT_EQ(reader->entry_text(i), whole->entry_text(i, wanted.top_level));
      reader->verify();
    }
  }
}

struct Point {
  float x = 0;
  float y = 0;
  std::string label;
};

TEST(CopyOfParts, LeavesMembersOut) {
  const MemoryFile from, to;
  auto model = Model::create();
  const auto points = model->make_field<std::vector<Point>>("points");
  const auto writer = Writer::recreate(std::move(model), "Data", from);
  for (int i = 0; i < 100; ++i) {
    points->assign(static_cast<std::size_t>(i % 4), {static_cast<float>(i), -1, "text " + std::to_string(i)});
    writer->fill();
  }
  writer->close();
  EXPECT_TRUE(
      copy({from.uri()}, {to.uri()}, {.columns = {"points.label"}, .verify = CopyVerify::values}).verified);
  const auto reader = Reader::open("Data", to);
  EXPECT_EQ(reader->descriptor().find_field("points.x"), invalid_id);
  EXPECT_EQ(reader->descriptor().columns.size(), 3u);
  EXPECT_EQ(reader->entry_text(3),
            R"({"points": [{"label": "text 3"}, {"label": "text 3"}, {"label": "text 3"}]})");
  for (const char* wildcard : {"points.l*", "p*.??b*", "points._0.[a-l]*"}) {
    const MemoryFile matched;
    copy({from.uri()}, {matched.uri()}, {.columns = {wildcard}});
    EXPECT_EQ(Reader::open("Data", matched)->entry_text(3), reader->entry_text(3)) << wildcard;
  }
}

TEST(CopyOfParts, NamesTheNearestFieldOfWrongPaths) {
  const MemoryFile from, to;
  make(from, {.entries = 10});
  const Error error = error_of([&] { copy({from.uri()}, {to.uri()}, {.columns = {"numbr"}}); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_NE(std::string(error.what()).find("number"), std::string::npos);
  for (const char* wildcard : {"numbr*", "jets.no*", "*.*.*.*.*"})
    EXPECT_EQ(error_of([&] { copy({from.uri()}, {to.uri()}, {.columns = {wildcard}}); }).kind(),
              ErrorKind::not_found);
  EXPECT_EQ(error_of([&] { static_cast<void>(to.content()); }).kind(), ErrorKind::not_found);
}

// ---- Several sources

TEST(CopyOfSeveral, PutsOneBehindTheOther) {
  const MemoryFile a, b, empty, to;
  make(a, {.entries = 700, .seed = 1, .extends = false});
  make(b, {.entries = 900, .seed = 2, .extends = false});
  make(empty, {.entries = 0, .seed = 2, .extends = false});
  const std::vector<DataSetPlace> sources = {{b.uri()}, {empty.uri()}, {a.uri()}, {b.uri()}};
  std::vector<std::string> expected;
  for (const DataSetPlace& source : sources)
    for (std::string& text : texts(source.uri, "Data")) expected.push_back(std::move(text));
  for (const CopyOptions& way :
       std::vector<CopyOptions>{{}, {.compression = "zlib"}, {.approximate_cluster_size = 9000}}) {
    CopyOptions options = way;
    options.verify = CopyVerify::values;
    options.overwrite = true;
    const CopyReport report = concatenate(sources, {to.uri()}, options);
    EXPECT_TRUE(report.verified);
    EXPECT_EQ(report.entries, 2500u);
    EXPECT_EQ(texts(to, "Data"), expected);
    EXPECT_TRUE(report.notes.empty());
  }
}

// Representations that take turns go on doing so.
TEST(CopyOfSeveral, KeepsRepresentations) {
  const std::string from = (test_fixtures() / "merged_representations.root").string();
  const std::string name = data_sets(from).front();
  const MemoryFile to;
  const CopyReport report =
      concatenate({{from, name}, {from, name}}, {to.uri()}, {.verify = CopyVerify::values});
  EXPECT_EQ(report.mode, CopyMode::pages);
  std::vector<std::string> expected = texts(from, name);
  const std::vector<std::string> again = expected;
  expected.insert(expected.end(), again.begin(), again.end());
  EXPECT_EQ(texts(to, name), expected);
}

// What came late to a source gets pages of zeros for what was before.
TEST(CopyOfSeveral, FillsWhatCameLate) {
  const MemoryFile late, to;
  make(late, {.entries = 500});
  const CopyReport report =
      concatenate({{late.uri()}, {late.uri()}}, {to.uri()}, {.verify = CopyVerify::values});
  EXPECT_EQ(report.mode, CopyMode::pages);
  EXPECT_TRUE(report.verified);
  EXPECT_FALSE(report.notes.empty());
  std::vector<std::string> expected = texts(late, "Data");
  const std::vector<std::string> again = expected;
  expected.insert(expected.end(), again.begin(), again.end());
  EXPECT_EQ(texts(to, "Data"), expected);
}

TEST(CopyOfSeveral, NamesTheFirstDifference) {
  const auto with = [](const std::string& uri, const char* name, const char* type) {
    auto model = Model::create();
    model->add_field(make_field("a", "float"));
    model->add_field(make_field(name, type));
    Writer::recreate(std::move(model), "Data", uri)->close();
  };
  const MemoryFile first, second, to;
  with(first, "b", "float");
  const auto message = [&](const char* name, const char* type) {
    with(second, name, type);
    const Error error = error_of([&] { concatenate({{first.uri()}, {second.uri()}}, {to.uri()}); });
    EXPECT_EQ(error.kind(), ErrorKind::schema);
    EXPECT_EQ(error.context().uri, second.uri());
    return error.problem();
  };
  EXPECT_NE(message("b", "double").find("'b' is double, not float"), std::string::npos);
  EXPECT_NE(message("c", "float").find("there is no field 'b'"), std::string::npos);
  EXPECT_EQ(error_of([&] { static_cast<void>(to.content()); }).kind(), ErrorKind::not_found);
}

// ---- Damage

TEST(DamagedCopy, NamesThePageAndClaimsNothing) {
  const MemoryFile from, to;
  make(from, {.entries = 1500});
  std::uint64_t offset = 0;
  {
    const auto reader = Reader::open("Data", from);
    offset = reader->descriptor().clusters.at(2).columns.at(3).pages.at(0).locator.offset;
  }
  Bytes content = from.content();
  content[offset + 1] ^= std::byte{1};
  from.store(content);
  for (const std::size_t memory : {std::size_t{1000}, std::size_t{1} << 28}) {
    const Error error = error_of(
        [&] { copy({from.uri()}, {to.uri()}, {.overwrite = true, .reading = {.memory_budget = memory}}); });
    EXPECT_EQ(error.kind(), ErrorKind::checksum);
    EXPECT_EQ(error.context().uri, from.uri());
    EXPECT_EQ(error.context().cluster, 2u);
    EXPECT_EQ(error.context().column, 3u);
    EXPECT_EQ(error.context().page, 0u);
    EXPECT_EQ(error.context().offset, offset);
    error_of([&] { Reader::open("Data", to); });
  }
  // With checkpoints, what came before is there.
  error_of([&] {
    copy({from.uri()}, {to.uri()}, {.overwrite = true, .writing = {.checkpoint_every = {.clusters = 1}}});
  });
  const auto reader = Reader::open("Data", to);
  EXPECT_LE(reader->descriptor().clusters.size(), 2u);
  reader->verify();
  // Other columns can be had.
  const auto whole = Reader::open("Data", from);
  const std::uint32_t damaged = whole->descriptor().columns.at(3).field;
  std::string other = whole->descriptor().path_of(damaged) == "maybe" ? "number" : "maybe";
  EXPECT_TRUE(
      copy({from.uri()}, {to.uri()}, {.columns = {other}, .overwrite = true, .verify = CopyVerify::values})
          .verified);
}

// Only what the system copies may go unchecked: a new checksum would hide the damage.
TEST(DamagedCopy, IsFoundWherePagesPassThroughTheProcess) {
  const MemoryFile from, to;
  make(from, {.entries = 600, .options = {.compression = "none", .approximate_cluster_size = 20000}});
  const auto reader = Reader::open("Data", from);
  Bytes content = from.content();
  content[reader->descriptor().clusters.at(1).columns.at(0).pages.at(0).locator.offset] ^= std::byte{1};
  from.store(content);
  const CopyOptions unchecked{.overwrite = true, .check_pages = false};
  CopyOptions recompressed = unchecked, decoded = unchecked;
  recompressed.compression = Compression("lz4:1");
  decoded.approximate_cluster_size = 100'000;
  for (const CopyOptions& options : {unchecked, recompressed, decoded})
    EXPECT_EQ(error_of([&] { copy({from.uri()}, {to.uri()}, options); }).kind(), ErrorKind::checksum);
}

TEST(DamagedCopy, IsFoundByVerifying) {
  const MemoryFile from, to;
  make(from, {.entries = 600});
  ASSERT_TRUE(copy({from.uri()}, {to.uri()}).entries > 0);
  const auto reader = Reader::open("Data", to);
  const std::uint64_t offset = reader->descriptor().clusters.at(1).columns.at(0).pages.at(0).locator.offset;
  Bytes content = to.content();
  content[offset + 5] ^= std::byte{1};
  to.store(content);
  // It is complete, so that resuming does nothing but compare.
  const Error error =
      error_of([&] { copy({from.uri()}, {to.uri()}, {.resume = true, .verify = CopyVerify::pages}); });
  EXPECT_EQ(error.kind(), ErrorKind::checksum);
  EXPECT_EQ(error.context().uri, to.uri());
  EXPECT_EQ(error.context().cluster, 1u);
  EXPECT_EQ(error.context().column, 0u);
}

// ---- Destinations

TEST(CopyDestination, IsAddedToOrRefused) {
  const MemoryFile from, to;
  make(from, {.entries = 100});
  copy({from.uri()}, {to.uri(), "first"});
  copy({from.uri()}, {to.uri(), "dir/second"});
  EXPECT_EQ(data_sets(to), (std::vector<std::string>{"first", "dir/second"}));
  const Bytes before = to.content();
  EXPECT_EQ(error_of([&] { copy({from.uri()}, {to.uri(), "first"}); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { copy({from.uri()}, {from.uri()}, {.overwrite = true}); }).kind(),
            ErrorKind::usage);
  EXPECT_EQ(error_of([&] { copy({from.uri(), "none"}, {to.uri()}, {.overwrite = true}); }).kind(),
            ErrorKind::not_found);
  EXPECT_EQ(
      error_of([&] { copy({from.uri()}, {to.uri()}, {.compression = "bz2", .overwrite = true}); }).kind(),
      ErrorKind::usage);
  EXPECT_EQ(error_of([&] { concatenate({}, {to.uri()}); }).kind(), ErrorKind::usage);
  EXPECT_TRUE(to.content() == before);
  copy({from.uri()}, {to.uri(), "third"}, {.overwrite = true});
  EXPECT_EQ(data_sets(to), std::vector<std::string>{"third"});
  // Within one file.
  copy({to.uri()}, {to.uri(), "fourth"}, {.verify = CopyVerify::values});
  EXPECT_EQ(texts(to, "fourth"), texts(from, "Data"));
}

TEST(CopyDestination, MayBeTheFileOfTheSourceUnderAnotherName) {
  const LocalFile from;
  make(from.uri(), {.entries = 10});
  const std::string other = "file://" + from.uri();
  EXPECT_EQ(error_of([&] { copy({from.uri()}, {other}, {.overwrite = true}); }).kind(), ErrorKind::usage);
  EXPECT_EQ(texts(from.uri(), "Data").size(), 10u);
}

// A full disk at any byte leaves an error, and what was committed before.
TEST(CopyDestination, MayBeFull) {
  const LocalFile from, to;
  make(from.uri(), {.entries = 800});
  const auto size = std::filesystem::file_size(from.uri());
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  for (std::uint64_t limit = 100; limit < size; limit += size / 7) {
    const rlimit full{limit, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &full);
    const Error error = error_of([&] { copy({from.uri()}, {to.uri()}, {.overwrite = true}); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.context().uri, to.uri());
    error_of([&] { Reader::open("Data", to.uri()); });
  }
  std::signal(SIGXFSZ, handler);
}

// ---- Interrupted and resumed

CopyWatch stop_after(std::uint64_t entries) {
  return [entries](const CopyProgress& progress) { return progress.entries < entries; };
}

TEST(InterruptedCopy, GoesOnAfterItsLastCheckpoint) {
  const MemoryFile from;
  make(from);
  const auto expected = texts(from, "Data");
  const std::vector<CopyOptions> ways = {
      {}, {.compression = "lz4"}, {.max_page_size = 500}, {.approximate_cluster_size = 30000}};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    SCOPED_TRACE(i);
    const MemoryFile to;
    CopyOptions options = ways[i];
    options.reading.memory_budget = 20000;
    options.writing.checkpoint_every.clusters = 1;
    options.watch_every = 0;
    CopyReport first = copy({from.uri()}, {to.uri()}, options, stop_after(1000));
    EXPECT_TRUE(first.interrupted);
    EXPECT_GT(first.entries, 0u);
    EXPECT_LT(first.entries, 4000u);
    const auto there = texts(to, "Data");
    ASSERT_EQ(there.size(), first.entries);
    EXPECT_TRUE(std::equal(there.begin(), there.end(), expected.begin()));
    EXPECT_EQ(error_of([&] { copy({from.uri()}, {to.uri()}, options); }).kind(), ErrorKind::usage);
    options.resume = true;
    const CopyReport second = copy({from.uri()}, {to.uri()}, options, stop_after(2500));
    EXPECT_TRUE(second.interrupted);
    EXPECT_EQ(second.resumed_entries, first.entries);
    EXPECT_GT(second.entries, first.entries);
    options.verify = CopyVerify::values;
    const CopyReport third = copy({from.uri()}, {to.uri()}, options);
    EXPECT_FALSE(third.interrupted);
    EXPECT_TRUE(third.verified);
    EXPECT_EQ(third.resumed_entries, second.entries);
    EXPECT_EQ(third.entries, 4000u);
    EXPECT_EQ(texts(to, "Data"), expected);
    if (third.mode == CopyMode::pages) {
      EXPECT_TRUE(sealed_pages(to, "Data") == sealed_pages(from, "Data"));
    }
    const CopyReport fourth = copy({from.uri()}, {to.uri()}, options);
    EXPECT_EQ(fourth.resumed_entries, 4000u);
    EXPECT_EQ(fourth.bytes_written, 0u);
  }
}

// A process that is killed leaves what was there at some moment.
TEST(InterruptedCopy, GoesOnFromABareHeader) {
  const MemoryFile from, killed;
  make(from);
  CopyOptions options{.reading = {.memory_budget = 20000}};
  options.writing.checkpoint_every.clusters = 1000;  // more than there are
  options.watch_every = 0;
  std::unique_ptr<Reader> left;
  // Another thread commits the late fields with the first cluster, before or after the first report.
  for (int tries = 0; tries < 200 && (!left || left->num_entries() > 0); ++tries) {
    const MemoryFile to;
    copy({from.uri()}, {to.uri()}, options, [&, is_first = true](const CopyProgress&) mutable {
      if (std::exchange(is_first, false)) killed.store(to.content());
      return false;
    });
    left = Reader::open("Data", killed);
  }
  ASSERT_EQ(left->num_entries(), 0u);
  EXPECT_LT(left->descriptor().fields.size(), Reader::open("Data", from)->descriptor().fields.size());
  options.resume = true;
  options.verify = CopyVerify::values;
  EXPECT_TRUE(copy({from.uri()}, {killed.uri()}, options).verified);
  EXPECT_EQ(texts(killed, "Data"), texts(from, "Data"));
}

TEST(InterruptedCopy, OfSeveralSourcesGoesOn) {
  const MemoryFile a, b, to;
  make(a, {.entries = 1500, .seed = 1, .extends = false});
  make(b, {.entries = 1500, .seed = 2, .extends = false});
  CopyOptions options{.reading = {.memory_budget = 20000}};
  options.writing.checkpoint_every.clusters = 1;
  options.watch_every = 0;
  const std::vector<DataSetPlace> sources = {{a.uri()}, {b.uri()}};
  EXPECT_TRUE(concatenate(sources, {to.uri()}, options, stop_after(2000)).interrupted);
  options.resume = true;
  options.verify = CopyVerify::values;
  const CopyReport report = concatenate(sources, {to.uri()}, options);
  EXPECT_TRUE(report.verified);
  EXPECT_GT(report.resumed_entries, 1500u);
  EXPECT_EQ(report.entries, 3000u);
}

TEST(InterruptedCopy, WithoutCheckpointsClaimsNothing) {
  const MemoryFile from, to;
  make(from);
  CopyOptions options{.reading = {.memory_budget = 20000}};
  options.watch_every = 0;
  const CopyReport report = copy({from.uri()}, {to.uri()}, options, stop_after(500));
  EXPECT_TRUE(report.interrupted);
  EXPECT_EQ(report.entries, 0u);
  error_of([&] { Reader::open("Data", to); });
  options.resume = options.overwrite = true;
  EXPECT_EQ(copy({from.uri()}, {to.uri()}, options).entries, 4000u);
}

TEST(InterruptedCopy, RefusesToGoOnWithSomethingElse) {
  const MemoryFile from, other, schema, to;
  make(from, {.entries = 1000, .seed = 1});
  make(other, {.entries = 1000, .seed = 2});
  make(schema, {.entries = 1000, .seed = 1, .extends = false});
  copy({from.uri()}, {to.uri()});
  const Bytes before = to.content();
  for (const MemoryFile* source : {&other, &schema})
    for (const CopyOptions& way :
         std::vector<CopyOptions>{{}, {.compression = "lz4"}, {.max_page_size = 300}}) {
      CopyOptions options = way;
      options.resume = true;
      const Error error = error_of([&] { copy({source->uri()}, {to.uri()}, options); });
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(error.problem().find("not hold the beginning of this copy"), std::string::npos);
      EXPECT_TRUE(to.content() == before);
    }
}

// ---- Object stores

TEST(CopyToObjectStores, AndBackGivesTheSamePages) {
  const LocalFile from, to, folder;
  make(from.uri(), {.entries = 2500});
  const std::string memory = "memory+obj:copy-test-" + std::to_string(::getpid());
  const std::string local = "obj://" + folder.uri();
  struct Way {
    ObjectMapping mapping;
    std::size_t splice;
    std::size_t budget;
  };
  for (const Way& way :
       {Way{ObjectMapping::locality, std::size_t{1} << 20, std::size_t{1} << 28},
        Way{ObjectMapping::locality, 3000, 1000}, Way{ObjectMapping::object_per_page, 0, 1 << 20}}) {
    CopyOptions options{.overwrite = true, .verify = CopyVerify::values};
    options.reading.memory_budget = way.budget;
    options.writing.object_mapping = way.mapping;
    options.writing.splice_size = way.splice;
    EXPECT_TRUE(copy({from.uri()}, {memory}, options).verified);
    EXPECT_TRUE(copy({memory, "Data"}, {local, "dir/Other"}, options).verified);
    EXPECT_TRUE(copy({local, "dir/Other"}, {to.uri(), "Data"}, options).verified);
    EXPECT_EQ(texts(memory, "Data"), texts(from.uri(), "Data"));
    EXPECT_TRUE(sealed_pages(to.uri(), "Data") == sealed_pages(from.uri(), "Data"));
    EXPECT_EQ(texts(to.uri(), "Data"), texts(from.uri(), "Data"));
    options.approximate_cluster_size = 30000;
    EXPECT_TRUE(copy({local, "dir/Other"}, {memory, "Data"}, options).verified);
    std::filesystem::remove_all(folder.uri());
  }
  EXPECT_EQ(error_of([&] { copy({from.uri()}, {memory}); }).kind(), ErrorKind::usage);  // it is there
}

TEST(CopyToObjectStores, GoesOnAfterItsLastCheckpoint) {
  const MemoryFile from;
  make(from);
  const std::string to = "memory+obj:copy-resume-test-" + std::to_string(::getpid());
  CopyOptions options;
  options.reading.memory_budget = 20000;
  options.writing.checkpoint_every.clusters = 1;
  options.watch_every = 0;
  const CopyReport first = copy({from.uri()}, {to}, options, stop_after(1000));
  EXPECT_TRUE(first.interrupted);
  EXPECT_GT(first.entries, 0u);
  options.resume = true;
  const CopyReport second = copy({from.uri()}, {to}, options, stop_after(2500));
  EXPECT_EQ(second.resumed_entries, first.entries);
  options.verify = CopyVerify::values;
  const CopyReport third = copy({from.uri()}, {to}, options);
  EXPECT_TRUE(third.verified);
  EXPECT_EQ(third.resumed_entries, second.entries);
  EXPECT_EQ(texts(to, "Data"), texts(from, "Data"));
}

}  // namespace
}  // namespace colonnade
