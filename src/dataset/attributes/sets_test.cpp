// Attribute sets in every container, compared with a plain reference; ROOT's sets; commits, resuming, and
// refusals.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/test_fixtures.h"
#include "colonnade/attributes.h"
#include "colonnade/copy.h"
#include "colonnade/repair.h"
#include "dataset/test_hostile_files.h"
#include "dataset/test_round_trip.h"

namespace colonnade {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemoryFile;
using testing::Random;

// A row as plain values.
struct Row {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::int32_t number = 0;
  std::string text;
  std::vector<float> values;
  friend bool operator==(const Row&, const Row&) = default;
};

std::vector<Row> rows_of(AttributeSet& set) {
  auto number = set.view<std::int32_t>("number");
  auto text = set.view<std::string>("text");
  auto values = set.view<std::vector<float>>("values");
  std::vector<Row> rows;
  for (const std::uint64_t i : set.rows()) {
    const IndexRange range = set.range(i);
    rows.push_back({range.first(), range.size(), number(i), text(i), values(i)});
  }
  return rows;
}

std::vector<Row> rows_of(const std::string& uri, const std::string& name) {
  return rows_of(*Reader::open("Data", uri)->attribute_set(name));
}

std::unique_ptr<Model> row_model() {
  auto model = Model::create();
  model->make_field<std::int32_t>("number");
  model->make_field<std::string>("text");
  model->make_field<std::vector<float>>("values");
  return model;
}

void add(AttributeSetWriter& set, const Row& row, bool own_entry) {
  const auto made = own_entry ? set.make_entry() : nullptr;
  Entry& entry = own_entry ? *made : set.model().default_entry();
  *entry.ptr<std::int32_t>("number") = row.number;
  *entry.ptr<std::string>("text") = row.text;
  *entry.ptr<std::vector<float>>("values") = row.values;
  const IndexRange range{row.first, row.first + row.count};
  own_entry ? set.add(range, entry) : set.add(range);
}

Row random_row(Random& random, std::uint64_t entries) {
  Row row;
  row.first = random() % (entries + 1);
  row.count = random() % (entries - row.first + 1);
  row.number = static_cast<std::int32_t>(random());
  row.text.assign(random() % 9, static_cast<char>('a' + random() % 26));
  row.values.assign(random() % 4, static_cast<float>(random() % 1000));
  return row;
}

// Entries 0, 1, 2... with sets that get rows in between.
class Data {
 public:
  explicit Data(const std::string& uri, const WriteOptions& options = {}) {
    auto model = Model::create();
    x_ = model->make_field<std::int64_t>("x");
    writer_ = Writer::recreate(std::move(model), "Data", uri, options);
  }
  static std::unique_ptr<Data> resume(const std::string& uri, const WriteOptions& options = {}) {
    auto model = Model::create();
    auto x = model->make_field<std::int64_t>("x");
    std::unique_ptr<Data> data(new Data);
    data->x_ = std::move(x);
    data->writer_ = Writer::resume(std::move(model), "Data", uri, options);
    return data;
  }

  Writer& writer() { return *writer_; }
  void fill(std::uint64_t count) {
    for (; count > 0; --count) {
      *x_ = static_cast<std::int64_t>(writer_->num_entries());
      writer_->fill();
    }
  }
  AttributeSetWriter& add_set(const std::string& name) {
    return writer_->add_attribute_set(row_model(), name);
  }

 private:
  Data() = default;
  std::shared_ptr<std::int64_t> x_;
  std::unique_ptr<Writer> writer_;
};

void check_queries(AttributeSet& set, const std::vector<Row>& rows, std::uint64_t entries) {
  const auto expected = [&](auto&& fits) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    for (std::uint64_t i = 0; i < rows.size(); ++i)
      if (rows[i].count > 0 && fits(rows[i])) found.emplace_back(rows[i].first, i);
    std::sort(found.begin(), found.end());
    std::vector<std::uint64_t> numbers;
    for (const auto& [first, i] : found) numbers.push_back(i);
    return numbers;
  };
  for (std::uint64_t a = 0; a < entries; a += 7) {
    EXPECT_EQ(set.of_entry(a), expected([&](const Row& r) { return r.first <= a && a < r.first + r.count; }));
    for (std::uint64_t b = a + 1; b <= entries; b += 11) {
      EXPECT_EQ(set.covering({a, b}),
                expected([&](const Row& r) { return r.first <= a && b <= r.first + r.count; }));
      EXPECT_EQ(set.within({a, b}),
                expected([&](const Row& r) { return a <= r.first && r.first + r.count <= b; }));
    }
    EXPECT_THAT(set.covering({a, a}), IsEmpty());
  }
}

void round_trip(const std::string& uri, WriteOptions options, std::uint64_t seed) {
  Random random(seed);
  std::map<std::string, std::vector<Row>> expected;
  Data data(uri, options);
  AttributeSetWriter& early = data.add_set("early");
  AttributeSetWriter* late = nullptr;
  for (int step = 0; step < 30; ++step) {
    data.fill(random() % 8);
    if (step == 10) late = &data.add_set("late");
    for (AttributeSetWriter* set : {&early, late}) {
      if (set == nullptr || random() % 2 == 0) continue;
      expected[set->name()].push_back(random_row(random, data.writer().num_entries()));
      add(*set, expected[set->name()].back(), random() % 2 == 0);
    }
    if (random() % 4 == 0) data.writer().commit_cluster();
  }
  data.writer().close();
  const auto reader = Reader::open("Data", uri);
  EXPECT_THAT(reader->attribute_sets(), ElementsAre("early", "late"));
  auto x = reader->view<std::int64_t>("x");
  for (const std::uint64_t i : reader->entries()) EXPECT_EQ(x(i), static_cast<std::int64_t>(i));
  for (const char* name : {"early", "late"}) {
    const auto set = reader->attribute_set(name);
    EXPECT_EQ(rows_of(*set), expected[name]);
    EXPECT_THAT(set->field_names(), ElementsAre("number", "text", "values"));
    check_queries(*set, expected[name], reader->num_entries());
    set->reader().verify();
  }
}

TEST(AttributeSets, ComeBackFromEveryContainer) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    for (const auto container : {Container::root_file, Container::bare_file})
      for (const std::uint32_t clusters : {0u, 1u, 3u}) {
        const MemoryFile file;
        WriteOptions options = testing::tiny_pieces();
        options.container = container;
        options.checkpoint_every.clusters = clusters;
        round_trip(file, options, seed);
      }
}

TEST(AttributeSets, ComeBackFromAnObjectStore) {
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / ("colonnade-attributes-" + std::to_string(getpid()));
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (const std::uint32_t clusters : {0u, 1u}) {
      WriteOptions options = testing::tiny_pieces();
      options.checkpoint_every.clusters = clusters;
      round_trip("obj://" + folder.string(), options, seed);
    }
  std::filesystem::remove_all(folder);
}

TEST(AttributeSets, OfManySmallKeysComeBack) {
  const MemoryFile file;
  WriteOptions options = testing::tiny_pieces();
  options.max_key_size = 128;
  round_trip(file, options, 1);
}

TEST(AttributeSets, OfRootAreRead) {
  const auto reader = Reader::open("Events", (test_fixtures() / "attribute_sets.root").string());
  ASSERT_THAT(reader->attribute_sets(), ElementsAre("notes", "runs"));
  const auto notes = reader->attribute_set("notes");
  EXPECT_THAT(notes->field_names(), ElementsAre("text", "number"));
  auto text = notes->view<std::string>("text");
  ASSERT_EQ(notes->num_rows(), 4u);
  EXPECT_EQ(text(2), "entries from 6");
  EXPECT_EQ(notes->range(2).first(), 6u);
  EXPECT_EQ(notes->range(2).size(), 3u);
  EXPECT_EQ(notes->range(3).size(), 0u);
  EXPECT_THAT(notes->of_entry(4), ElementsAre(1u));
  EXPECT_EQ(notes->row_text(3), R"({"text": "no entries", "number": -1})");
  EXPECT_EQ(reader->attribute_set("runs")->row_text(0), R"({"values": [1.5, 2.5]})");
}

TEST(AttributeSets, OutliveTheReader) {
  const auto set =
      Reader::open("Events", (test_fixtures() / "attribute_sets.root").string())->attribute_set("notes");
  EXPECT_EQ(set->view<std::int32_t>("number")(1), 3);
}

TEST(AttributeSets, RangesEndWhereTheyAreCommitted) {
  const MemoryFile file;
  Data data(file);
  AttributeSetWriter& set = data.add_set("notes");
  data.fill(3);
  const std::uint64_t outer = set.begin_range();
  data.fill(2);
  const std::uint64_t inner = set.begin_range();
  data.fill(1);
  set.commit_range(inner);
  set.commit_range(outer);
  set.commit_range(set.begin_range());
  EXPECT_EQ(set.num_rows(), 3u);
  data.writer().close();
  const auto read = Reader::open("Data", file)->attribute_set("notes");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const std::uint64_t i : read->rows())
    ranges.emplace_back(read->range(i).first(), read->range(i).last());
  EXPECT_THAT(ranges, ElementsAre(std::pair(5, 6), std::pair(3, 6), std::pair(6, 6)));
}

TEST(AttributeSets, TakeManyRowsAsArrays) {
  const MemoryFile file;
  Data data(file);
  auto model = Model::create();
  model->make_field<std::int32_t>("number");
  AttributeSetWriter& set = data.writer().add_attribute_set(std::move(model), "runs");
  data.fill(10);
  const std::vector<IndexRange> ranges{{0, 4}, {4, 9}, {9, 10}};
  const std::vector<std::int32_t> numbers{7, 8, 9};
  const std::vector<NamedArray> arrays{{"number", numbers}};
  set.append(ranges, arrays);
  const std::vector<IndexRange> beyond{{0, 4}, {4, 9}, {9, 11}};
  EXPECT_EQ(error_of([&] { set.append(beyond, arrays); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { set.append(std::span(ranges).first(2), arrays); }).kind(), ErrorKind::usage);
  data.writer().close();
  const auto read = Reader::open("Data", file)->attribute_set("runs");
  ASSERT_EQ(read->num_rows(), 3u);
  EXPECT_EQ(read->view<std::int32_t>("number")(1), 8);
  EXPECT_EQ(read->range(1).first(), 4u);
  EXPECT_EQ(read->range(1).last(), 9u);
}

// Each commit contains the rows so far, and no range beyond its entries.
TEST(AttributeSets, AreCommittedWithTheDataSet) {
  const MemoryFile file;
  Data data(file, {.checkpoint_every = {.clusters = 1}});
  AttributeSetWriter& set = data.add_set("notes");
  for (std::uint64_t step = 0; step < 60; ++step) {
    const std::uint64_t first = set.begin_range();
    data.fill(2);
    add(set, {.first = first, .count = 2, .number = static_cast<std::int32_t>(step)}, false);
    data.writer().commit_cluster();
    std::vector<Row> rows = rows_of(file, "notes");
    ASSERT_EQ(rows.size(), 2 * step + 1);
    EXPECT_EQ(rows.back().first, 2 * step);
    add(set, {.first = first, .count = 1, .number = -1}, false);
    data.writer().commit_data_set();
    rows = rows_of(file, "notes");
    ASSERT_EQ(rows.size(), 2 * step + 2) << "without new entries";
    EXPECT_EQ(rows.back().number, -1);
    EXPECT_EQ(Reader::open("Data", file)->num_entries(), 2 * step + 2);
  }
  data.writer().close();
}

TEST(AttributeSets, GoOnWhenTheDataSetDoes) {
  const MemoryFile file;
  std::vector<Row> expected;
  Random random(3);
  const auto write = [&](Data& data) {
    AttributeSetWriter& set = data.add_set("notes");
    EXPECT_EQ(set.num_rows(), expected.size());
    data.fill(5);
    for (int i = 0; i < 3; ++i) {
      expected.push_back(random_row(random, data.writer().num_entries()));
      add(set, expected.back(), false);
    }
    data.writer().close();
  };
  Data first(file);
  write(first);
  for (int i = 0; i < 3; ++i) {
    write(*Data::resume(file));
    EXPECT_EQ(rows_of(file, "notes"), expected);
  }
  // A set that is not requested stays, and another may be added.
  const auto last = Data::resume(file);
  last->fill(1);
  last->add_set("more");
  last->writer().close();
  EXPECT_EQ(rows_of(file, "notes"), expected);
  EXPECT_THAT(rows_of(file, "more"), IsEmpty());
  EXPECT_EQ(Reader::open("Data", file)->num_entries(), 21u);
  const auto again = Data::resume(file);
  auto other = Model::create();
  other->make_field<float>("number");
  const Error error = error_of([&] { again->writer().add_attribute_set(std::move(other), "notes"); });
  EXPECT_EQ(error.kind(), ErrorKind::schema);
  EXPECT_THAT(error.problem(),
              HasSubstr("the schema differs from that of the existing attribute set 'notes'"));
}

TEST(AttributeSets, RefuseWhatCannotBe) {
  const MemoryFile file;
  Data data(file);
  AttributeSetWriter& set = data.add_set("notes");
  data.fill(4);
  const auto kind = [](auto&& work) { return error_of(work).kind(); };
  EXPECT_EQ(kind([&] { set.add({0, 5}); }), ErrorKind::usage);
  EXPECT_EQ(kind([&] { set.add({3, 2}); }), ErrorKind::usage);
  EXPECT_EQ(kind([&] { set.commit_range(5); }), ErrorKind::usage);
  EXPECT_EQ(kind([&] { set.add({0, 1}, data.writer().model().default_entry()); }), ErrorKind::usage);
  for (const char* name : {"", "a b", "a.b", "a/b", "__mine", "notes"})
    EXPECT_EQ(kind([&] { data.add_set(name); }), ErrorKind::usage) << name;
  EXPECT_EQ(kind([&] { data.writer().add_attribute_set(nullptr, "x"); }), ErrorKind::usage);
  EXPECT_EQ(kind([&] { data.writer().add_attribute_set(Model::create(), "x"); }), ErrorKind::schema);
  auto projecting = row_model();
  projecting->add_projected_field<std::int32_t>("again", {{"again", "number"}});
  EXPECT_EQ(kind([&] { data.writer().add_attribute_set(std::move(projecting), "x"); }), ErrorKind::schema);
  data.writer().close();
  EXPECT_EQ(kind([&] { set.add({0, 1}); }), ErrorKind::usage);
  EXPECT_EQ(kind([&] { data.add_set("late"); }), ErrorKind::usage);
  const auto reader = Reader::open("Data", file);
  EXPECT_THAT(reader->attribute_sets(), ElementsAre("notes"));
  const Error error = error_of([&] { reader->attribute_set("note"); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.advice(), HasSubstr("notes"));
  EXPECT_EQ(kind([&] { reader->attribute_set("notes")->range(0); }), ErrorKind::usage);
}

TEST(AttributeSets, AreAddedToADataSetThatIsThere) {
  const auto folder = std::filesystem::path(::testing::TempDir()) /
                      ("colonnade-attributes-added-" + std::to_string(getpid()));
  const MemoryFile file, small, bare;
  for (const std::string& uri :
       {std::string(file), std::string(small), std::string(bare), "obj://" + folder.string()}) {
    WriteOptions options;
    if (uri == std::string(small)) options.max_key_size = 200;
    if (uri == std::string(bare)) options.container = Container::bare_file;
    Data data(uri, options);
    data.fill(9);
    data.writer().close();
    std::vector<Row> expected;
    for (int round = 0; round < 3; ++round) {
      // The columns of uncompressed data are encoded in another way.
      const char* const other = uri == std::string(small) ? "lz4:1" : "none";
      const auto appender =
          AttributeAppender::open("Data", uri, {.compression = round == 1 ? other : "zstd:5"});
      EXPECT_EQ(appender->num_entries(), 9u);
      AttributeSetWriter& set = appender->add_attribute_set(row_model(), "notes");
      EXPECT_EQ(set.num_rows(), expected.size());
      expected.push_back({.first = 2, .count = 7, .number = round});
      add(set, expected.back(), round == 1);
      EXPECT_EQ(error_of([&] { set.add({0, 10}); }).kind(), ErrorKind::usage);
      EXPECT_EQ(error_of([&] { appender->add_attribute_set(row_model(), "notes"); }).kind(),
                ErrorKind::usage);
      appender->close();
      EXPECT_EQ(error_of([&] { set.add({0, 1}); }).kind(), ErrorKind::usage);
      EXPECT_EQ(rows_of(uri, "notes"), expected);
    }
    AttributeAppender::open("Data", uri)->add_attribute_set(row_model(), "lost");
    AttributeAppender::open("Data", uri)->close();
    const auto reader = Reader::open("Data", uri);
    EXPECT_THAT(reader->attribute_sets(), ElementsAre("notes"));
    EXPECT_EQ(reader->view<std::int64_t>("x")(8), 8);
    EXPECT_EQ(error_of([&] { AttributeAppender::open("Other", uri); }).kind(), ErrorKind::not_found);
  }
  std::filesystem::remove_all(folder);
}

TEST(AttributeSets, AreAddedToThoseOfRoot) {
  const auto path =
      std::filesystem::path(::testing::TempDir()) / ("colonnade-older-" + std::to_string(getpid()) + ".root");
  std::filesystem::copy_file(test_fixtures() / "attribute_sets.root", path,
                             std::filesystem::copy_options::overwrite_existing);
  {
    const auto appender = AttributeAppender::open("Events", path.string());
    add(appender->add_attribute_set(row_model(), "more"), {.first = 1, .count = 3, .number = 5}, false);
    appender->close();
  }
  const auto reader = Reader::open("Events", path.string());
  EXPECT_THAT(reader->attribute_sets(), ElementsAre("notes", "runs", "more"));
  EXPECT_EQ(reader->attribute_set("notes")->num_rows(), 4u);
  EXPECT_EQ(rows_of(*reader->attribute_set("more")).at(0).number, 5);
  std::filesystem::remove(path);
}

// A writer that was killed after a checkpoint.
TEST(AttributeSets, OfTheLastCheckpointStayWhenClustersAreRepaired) {
  const MemoryFile file;
  {
    Data data(file, {.checkpoint_every = {.clusters = 1000}});
    AttributeSetWriter& set = data.add_set("notes");
    data.fill(3);
    add(set, {.first = 0, .count = 3, .number = 1}, false);
    data.writer().commit_data_set();
    data.fill(3);
    add(set, {.first = 3, .count = 3, .number = 2}, false);
    data.writer().commit_cluster();
    const MemoryFile killed;
    killed.store(file.content());
    EXPECT_EQ(repair(killed, "Data").recovered_entries, 3u);
    EXPECT_EQ(Reader::open("Data", killed)->num_entries(), 6u);
    const std::vector<Row> rows = rows_of(killed, "notes");
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].number, 1);
    data.writer().close();
  }
  EXPECT_EQ(rows_of(file, "notes").size(), 2u);
}

// ---- What is broken

// A data set with the attribute set "good", and the ordinary data set "Fake", to which another record in the
// footer refers as the attribute set "bad".
class Linked {
 public:
  // The model of "Fake", whose values are zero.
  explicit Linked(std::unique_ptr<Model> fake, std::uint64_t rows = 1) {
    Data data(file_);
    data.fill(4);
    add(data.add_set("good"), {.first = 1, .count = 2, .number = 7}, false);
    data.writer().close();
    auto writer = Writer::add_to(std::move(fake), "Fake", file_);
    while (rows-- > 0) writer->fill();
    writer->close();
    link();
  }
  static std::unique_ptr<Model> sound_model() {
    auto model = Model::create();
    model->make_field<std::uint64_t>("_rangeStart");
    model->make_field<std::uint64_t>("_rangeLen");
    model->add_field(values());
    return model;
  }
  static std::unique_ptr<Field> values() {
    std::vector<std::unique_ptr<Field>> fields;
    fields.push_back(make_field<std::int32_t>("number"));
    return make_record_field("_userData", std::move(fields));
  }

  // The error of opening "bad" after a change to its record. Everything else reads.
  template <class Change>
  Error refusal(Change&& change) {
    store(change);
    EXPECT_EQ(rows_of(file_, "good").at(0).number, 7);
    const auto reader = Reader::open("Data", file_);
    EXPECT_THAT(reader->attribute_sets(), ElementsAre("good", "bad"));
    EXPECT_EQ(reader->view<std::int64_t>("x")(3), 3);
    return error_of([&] {
      const auto set = reader->attribute_set("bad");
      for (const std::uint64_t row : set->rows()) set->range(row);
    });
  }
  Error refusal() {
    return refusal([](const auto&) {});
  }
  template <class Change>
  void store(Change&& change) {
    const testing::HostileFiles source("Data", content_);
    file_.store(source.make_with([&](Descriptor& d) {
      d.attribute_sets.push_back({1, 0, 78, {.size = 78, .offset = anchor_at_}, "bad"});
      change(d.attribute_sets);
    }));
  }
  const std::string& uri() const { return file_; }
  std::uint64_t anchor_at() const { return anchor_at_; }
  std::uint64_t main_anchor_at() const { return main_anchor_at_; }
  void flip(std::uint64_t at) { content_[at] ^= std::byte{1}; }

 private:
  std::uint64_t anchor_of(const std::string& name) const {
    const Bytes anchor = format::write_anchor(Reader::open(name, file_)->descriptor().anchor);
    return static_cast<std::uint64_t>(
        std::search(content_.begin(), content_.end(), anchor.begin(), anchor.end()) - content_.begin());
  }
  void link() {
    content_ = file_.content();
    anchor_at_ = anchor_of("Fake");
    main_anchor_at_ = anchor_of("Data");
    ASSERT_LT(anchor_at_, content_.size());
  }

  MemoryFile file_;
  Bytes content_;
  std::uint64_t anchor_at_ = 0;
  std::uint64_t main_anchor_at_ = 0;
};

using Records = std::vector<AttributeSetRecord>;

TEST(AttributeSets, OfUnknownVersionsAreRefusedAlone) {
  Linked file(Linked::sound_model());
  const Error error = file.refusal([](Records& sets) { sets[1].schema_major = 2; });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.problem(), "the attribute set has schema 2.0, this version reads 1.x");
  const MemoryFile to;
  const CopyReport report = copy({file.uri(), "Data"}, {to});
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0], HasSubstr("'bad'"));
  EXPECT_THAT(report.notes[0], HasSubstr("was left out: the attribute set has schema 2.0"));
  EXPECT_THAT(Reader::open("Data", to)->attribute_sets(), ElementsAre("good"));
}

// As after a source that had fewer rows then: what the copy has is not what it would make.
TEST(AttributeSets, TellWhetherACopyIsComplete) {
  const MemoryFile more, fewer, file;
  for (const MemoryFile* source : {&more, &fewer}) {
    Data data(*source);
    AttributeSetWriter& set = data.add_set("notes");
    data.fill(10);
    set.commit_range(set.begin_range());
    if (source == &more) set.commit_range(set.begin_range());
    data.writer().close();
  }
  const std::string store = "memory+obj:attributes-copy-test-" + std::to_string(::getpid());
  const CopyOptions resume{.resume = true};
  for (const std::string& to : {file.uri(), store}) {
    copy({more.uri(), "Data"}, {to});
    EXPECT_EQ(copy({more.uri(), "Data"}, {to}, resume).resumed_entries, 10u);
    const Error error = error_of([&] { copy({fewer.uri(), "Data"}, {to}, resume); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.problem(), HasSubstr("does not hold the beginning of this copy"));
    EXPECT_THAT(error.problem(),
                HasSubstr("'notes' of the copy differs from its source: there are more rows"));
  }
}

TEST(AttributeSets, OfLaterMinorVersionsMayHaveMoreFields) {
  const auto model = [] {
    auto more = Linked::sound_model();
    more->make_field<float>("_more");
    return more;
  };
  EXPECT_THAT(Linked(model()).refusal().problem(),
              "this is not an attribute set: it has 4 fields at the top, and schema 1.0 has 3");
  Linked file(model());
  file.store([](Records& sets) { sets[1].schema_minor = 1; });
  const auto set = Reader::open("Data", file.uri())->attribute_set("bad");
  EXPECT_EQ(set->range(0).size(), 0u);
  EXPECT_THAT(set->field_names(), ElementsAre("number"));
}

TEST(AttributeSets, OfPairsAreShown) {
  auto model = Model::create();
  model->make_field<std::uint64_t>("_rangeStart");
  model->make_field<std::uint64_t>("_rangeLen");
  model->make_field<std::pair<std::int32_t, std::int32_t>>("_userData");
  Linked file(std::move(model));
  file.store([](const auto&) {});
  EXPECT_EQ(Reader::open("Data", file.uri())->attribute_set("bad")->row_text(0), "[0, 0]");
}

TEST(AttributeSets, WithoutTheFieldsOfOneAreRefused) {
  const auto problem = [](auto&& build) {
    auto model = Model::create();
    build(*model);
    const Error error = Linked(std::move(model)).refusal();
    EXPECT_EQ(error.kind(), ErrorKind::format);
    return error.problem();
  };
  const auto add_start = [](Model& m) { m.make_field<std::uint64_t>("_rangeStart"); };
  const auto add_length = [](Model& m) { m.make_field<std::uint64_t>("_rangeLen"); };
  EXPECT_EQ(problem([&](Model& m) { add_start(m); }),
            "this is not an attribute set: it has 1 fields at the top, and schema 1.0 has 3");
  EXPECT_EQ(problem([&](Model& m) {
              add_length(m);
              add_start(m);
              m.add_field(Linked::values());
            }),
            "this is not an attribute set: its field 1 is '_rangeLen', not '_rangeStart'");
  EXPECT_EQ(problem([&](Model& m) {
              add_start(m);
              m.make_field<std::uint32_t>("_rangeLen");
              m.add_field(Linked::values());
            }),
            "this is not an attribute set: its field '_rangeLen' is not a std::uint64_t");
  EXPECT_EQ(problem([&](Model& m) {
              add_start(m);
              add_length(m);
              m.make_field<std::uint64_t>("_userData");
            }),
            "this is not an attribute set: its field '_userData' is not a record");
}

TEST(AttributeSets, WithRangesThatAreNotThereAreRefused) {
  for (const auto& [start, length] :
       {std::pair<std::uint64_t, std::uint64_t>{0, 5}, {5, 0}, {4, 1}, {1, ~0ULL}, {~0ULL, 2}}) {
    auto model = Linked::sound_model();
    *model->default_entry().ptr<std::uint64_t>("_rangeStart") = start;
    *model->default_entry().ptr<std::uint64_t>("_rangeLen") = length;
    Linked file(std::move(model));
    const Error error = file.refusal();
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_EQ(error.problem(), "row 0 is about " + std::to_string(length) + " entries from " +
                                   std::to_string(start) + " on, but the data set has 4");
    const MemoryFile to;
    EXPECT_EQ(error_of([&] { copy({file.uri(), "Data"}, {to}); }).kind(), ErrorKind::format);
  }
}

TEST(AttributeSets, WithRecordsThatLeadNowhereAreRefused) {
  Linked file(Linked::sound_model());
  const auto problem = [&](ErrorKind kind, auto&& change) {
    const Error error = file.refusal([&](Records& sets) { change(sets[1]); });
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.problem();
  };
  EXPECT_THAT(problem(ErrorKind::format, [](auto& set) { set.anchor.offset = 1 << 20; }),
              HasSubstr("the anchor of 78 bytes lies beyond the end of the file"));
  EXPECT_THAT(problem(ErrorKind::format, [](auto& set) { set.anchor.offset = ~0ULL - 70; }),
              HasSubstr("the anchor of 78 bytes lies beyond the end of the file"));
  for (const std::uint32_t length : {0u, 77u, 65537u, ~0u})
    EXPECT_EQ(problem(ErrorKind::format, [&](auto& set) { set.anchor_length = length; }),
              "the link claims an anchor of " + std::to_string(length) + " bytes in 78");
  for (const std::uint64_t size : {0, 79})
    EXPECT_EQ(problem(ErrorKind::format, [&](auto& set) { set.anchor.size = size; }),
              "the link claims an anchor of 78 bytes in " + std::to_string(size));
  problem(ErrorKind::format, [](auto& set) { set.anchor.offset += 1; });
  problem(ErrorKind::format, [](auto& set) { set.anchor.size = 40; });  // not a compression block
  EXPECT_THAT(problem(ErrorKind::unsupported,
                      [](auto& set) {
                        set.anchor.kind = Locator::Kind::object64;
                        set.anchor.raw_type = 2;
                      }),
              HasSubstr("a locator of type 0x02, which points outside of the data set"));
  EXPECT_THAT(problem(ErrorKind::format, [&](auto& set) { set.anchor.offset = file.main_anchor_at(); }),
              HasSubstr("this is not an attribute set: it has 1 fields at the top"));
}

TEST(AttributeSets, AtOnePlaceAreRefused) {
  Linked file(Linked::sound_model());
  file.store([](Records& sets) { sets[1].anchor = sets[0].anchor; });
  const auto problem = [&] {
    return error_of([&] { Reader::open("Data", file.uri())->attribute_set("bad"); }).problem();
  };
  EXPECT_EQ(problem(), "the attribute sets 'bad' and 'good' are at the same place");
  file.store([](Records& sets) { sets.push_back(sets[1]); });
  EXPECT_EQ(problem(), "there are several attribute sets 'bad'");
}

TEST(AttributeSets, WithDamagedAnchorsAreRefused) {
  Linked file(Linked::sound_model());
  file.flip(file.anchor_at() + 20);
  EXPECT_EQ(file.refusal().kind(), ErrorKind::checksum);
}

// ---- Copies

// A data set with the given sets, chosen at random, and their rows.
using Sets = std::map<std::string, std::vector<Row>>;
Sets write_random(const std::string& uri, std::uint64_t seed, const std::vector<std::string>& names) {
  Random random(seed);
  Sets sets;
  Data data(uri, testing::tiny_pieces());
  for (const std::string& name : names) data.add_set(name);
  data.writer().close();
  const auto again = Data::resume(uri, testing::tiny_pieces());
  std::vector<AttributeSetWriter*> writers;
  for (const std::string& name : names) writers.push_back(&again->add_set(name));
  for (int step = 0; step < 10; ++step) {
    again->fill(random() % 8);
    for (AttributeSetWriter* set : writers) {
      sets[set->name()].push_back(random_row(random, again->writer().num_entries()));
      add(*set, sets[set->name()].back(), false);
    }
    again->writer().commit_cluster();
  }
  again->writer().close();
  return sets;
}

std::vector<CopyOptions> ways_to_copy() {
  return {{.verify = CopyVerify::values},
          {.compression = "lz4:1", .verify = CopyVerify::values},
          {.max_page_size = 4096, .verify = CopyVerify::values}};
}

TEST(AttributeSets, ComeAlongWithCopies) {
  const auto folder = std::filesystem::path(::testing::TempDir()) /
                      ("colonnade-attribute-copies-" + std::to_string(getpid()));
  const MemoryFile from, to, back;
  const Sets expected = write_random(from, 5, {"a", "b"});
  for (const CopyOptions& options : ways_to_copy()) {
    const std::string store = "obj://" + folder.string();
    EXPECT_TRUE(copy({from}, {to}, options).verified);
    EXPECT_TRUE(copy({to}, {store}, options).verified);
    EXPECT_TRUE(copy({store}, {back}, options).verified);
    for (const std::string& uri : {std::string(to), store, std::string(back)})
      for (const auto& [name, rows] : expected) EXPECT_EQ(rows_of(uri, name), rows);
    std::filesystem::remove_all(folder);
    io::remove_memory_file(to);
    io::remove_memory_file(back);
  }
}

TEST(AttributeSets, OfSeveralSourcesFollowEachOther) {
  for (const CopyOptions& options : ways_to_copy()) {
    const MemoryFile one, two, three, all;
    Sets expected = write_random(one, 1, {"a", "b"});
    std::uint64_t before = Reader::open("Data", one)->num_entries();
    for (const MemoryFile* file : {&two, &three}) {
      const std::string& uri = *file;
      for (const auto& [name, rows] : write_random(uri, before, {file == &two ? "c" : "a", "b"}))
        for (Row row : rows) {
          row.first += before;
          expected[name].push_back(row);
        }
      before += Reader::open("Data", uri)->num_entries();
    }
    const CopyReport report = concatenate({{one}, {two}, {three}}, {all}, options);
    EXPECT_TRUE(report.verified);
    EXPECT_THAT(report.notes, IsEmpty());
    for (const auto& [name, rows] : expected) EXPECT_EQ(rows_of(all, name), rows) << name;
    EXPECT_EQ(expected.size(), 3u);
  }
}

TEST(AttributeSets, OfOtherSchemasAreLeftOutWithANote) {
  const MemoryFile one, two, all;
  const Sets expected = write_random(one, 1, {"a"});
  {
    Data data(two);
    auto model = Model::create();
    model->make_field<float>("number");
    data.writer().add_attribute_set(std::move(model), "a");
    data.fill(3);
    data.writer().close();
  }
  const CopyReport report = concatenate({{one}, {two}}, {all});
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0], HasSubstr("the attribute set 'a' of"));
  EXPECT_THAT(report.notes[0], HasSubstr("its schema differs from that of the earlier sources"));
  EXPECT_EQ(rows_of(all, "a"), expected.at("a"));
}

TEST(AttributeSets, AreCommittedWithTheCopyThatTheyAreAddedTo) {
  const MemoryFile from, to;
  Sets expected = write_random(from, 5, {"a", "b"});
  for (CopyOptions options : ways_to_copy()) {
    options.overwrite = true;
    const std::uint64_t entries = Reader::open("Data", from)->num_entries();
    const std::vector<Row> rows{{.first = 1, .count = entries - 1, .number = 7, .text = "all"}};
    options.before_commit = [&](AttributeAppender& out) {
      EXPECT_EQ(out.num_entries(), entries);
      AttributeSetWriter& set = out.add_attribute_set(row_model(), "added");
      add(set, rows[0], true);
      EXPECT_EQ(error_of([&] { set.add({0, entries + 1}); }).kind(), ErrorKind::usage);
      EXPECT_EQ(error_of([&] { out.add_attribute_set(row_model(), "added"); }).kind(), ErrorKind::usage);
      auto other = Model::create();
      other->make_field<float>("number");
      EXPECT_EQ(error_of([&] { out.add_attribute_set(std::move(other), "a"); }).kind(), ErrorKind::schema);
      AttributeSetWriter& carried = out.add_attribute_set(row_model(), "a");
      EXPECT_EQ(carried.num_rows(), expected["a"].size());
      add(carried, rows[0], false);
    };
    EXPECT_TRUE(copy({from}, {to}, options).verified);
    std::vector<Row> longer = expected["a"];
    longer.push_back(rows[0]);
    EXPECT_EQ(rows_of(to, "a"), longer);
    EXPECT_EQ(rows_of(to, "b"), expected["b"]);
    EXPECT_EQ(rows_of(to, "added"), rows);
    options.before_commit = [](AttributeAppender& out) {
      out.add_attribute_set(row_model(), "lost");
      throw Error(ErrorKind::usage, "on purpose");
    };
    EXPECT_EQ(error_of([&] { copy({from}, {to}, options); }).problem(), "on purpose");
    EXPECT_EQ(rows_of(to, "added"), rows);
  }
}

TEST(AttributeSets, ComeWithTheEndOfACopyThatIsResumed) {
  const MemoryFile from, to;
  const Sets expected = write_random(from, 9, {"a"});
  CopyOptions options{.resume = true, .watch_every = 0};
  options.writing.checkpoint_every.clusters = 1;
  std::size_t rounds = 0;
  while (copy({from}, {to}, options, [calls = 0](const CopyProgress&) mutable {
           return ++calls < 3;
         }).interrupted)
    ASSERT_LT(++rounds, 100u);
  EXPECT_EQ(rows_of(to, "a"), expected.at("a"));
}

}  // namespace
}  // namespace colonnade
