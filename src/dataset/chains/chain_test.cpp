// Chains in C++: views, entries, arrays and texts over several files, against what was written to each.
#include "colonnade/chain.h"

#include <gmock/gmock.h>

#include <numeric>
#include <optional>

#include "colonnade/attributes.h"
#include "colonnade/writer.h"
#include "dataset/chains/file_names.h"
#include "dataset/test_values.h"

namespace chain_reader_test {

struct Hit {
  float x = 0;
  std::int32_t n = 0;
};

}  // namespace chain_reader_test

namespace colonnade {
namespace {

using chain_reader_test::Hit;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::MemoryFile;

template <class T>
void write(const std::string& uri, const std::string& field, const std::vector<T>& values,
           std::size_t per_cluster = 2) {
  auto model = Model::create();
  auto value = model->make_field<T>(field);
  auto writer = Writer::recreate(std::move(model), "Data", uri);
  std::size_t count = 0;
  for (const T& each : values) {
    *value = each;
    writer->fill();
    if (++count % per_cluster == 0) writer->commit_cluster();
  }
  writer->close();
}

template <class T>
std::vector<T> all_of(ChainView<T> view) {
  std::vector<T> all;
  for (const T& value : view) all.push_back(value);
  return all;
}

class ChainReaderTest : public ::testing::Test {
 protected:
  std::unique_ptr<ChainReader> open(MissingFields missing = MissingFields::error, std::size_t most = 16) {
    return ChainReader::open("Data", uris(), {.missing = missing, .max_open_files = most});
  }
  std::vector<std::string> uris() const { return {a_.uri(), b_.uri(), c_.uri()}; }

  MemoryFile a_, b_, c_;
};

TEST_F(ChainReaderTest, ViewsGoAcrossFilesAndWiden) {
  write<std::int32_t>(a_, "x", {1, 2, 3});
  write<std::int64_t>(b_, "x", {});
  write<std::int16_t>(c_, "x", {4, 5, 6, 7});
  for (const std::size_t most : {std::size_t{1}, std::size_t{2}, std::size_t{16}}) {
    auto chain = open(MissingFields::error, most);
    EXPECT_EQ(chain->num_entries(), 7u);
    EXPECT_EQ(chain->descriptor().fields[0].type_name, "std::int64_t");
    EXPECT_THAT(all_of(chain->view<std::int64_t>("x")), ElementsAre(1, 2, 3, 4, 5, 6, 7));
    auto view = chain->view<std::int64_t>("x");
    for (const std::uint64_t i : {6u, 0u, 3u, 2u, 5u}) EXPECT_EQ(view(i), static_cast<std::int64_t>(i + 1));
    EXPECT_THAT(view.bulk(1, 5), ElementsAre(2, 3, 4, 5, 6));
    EXPECT_THAT(view.bulk(3, 2), ElementsAre(4, 5));
    EXPECT_TRUE(view.bulk(7, 0).empty());
    EXPECT_EQ(error_of([&] { view(7); }).kind(), ErrorKind::usage);
    EXPECT_EQ(error_of([&] { view.bulk(5, 3); }).kind(), ErrorKind::usage);
  }
}

TEST_F(ChainReaderTest, FilesAndEntries) {
  write<std::int32_t>(a_, "x", {1, 2, 3});
  write<std::int32_t>(b_, "x", {});
  write<std::int32_t>(c_, "x", {4, 5});
  auto chain = open();
  const auto files = chain->files();
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[2].uri, c_.uri());
  EXPECT_EQ(files[2].first, 3u);
  EXPECT_EQ(files[2].entries, 2u);
  EXPECT_EQ(files[1].data_set, "Data");
  EXPECT_EQ(chain->file_of(2), 0u);
  EXPECT_EQ(chain->file_of(3), 2u);
  EXPECT_EQ(error_of([&] { static_cast<void>(chain->file_of(5)); }).kind(), ErrorKind::usage);
  auto x = chain->model().default_entry().ptr<std::int32_t>("x");
  std::vector<std::int32_t> seen;
  for (const std::uint64_t i : chain->entries()) {
    chain->load_entry(i);
    seen.push_back(*x);
  }
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(chain->entry_text(3), R"({"x": 4})");
  EXPECT_GT(chain->verify(), 0u);
  EXPECT_EQ(error_of([&] { chain->load_entry(5); }).kind(), ErrorKind::usage);
}

TEST_F(ChainReaderTest, CollectionsAreNumberedOverAllFiles) {
  write<std::vector<Hit>>(a_, "hits", {{{1, 1}, {2, 2}}, {}, {{3, 3}}});
  write<std::vector<Hit>>(b_, "hits", {{}});
  write<std::vector<Hit>>(c_, "hits", {{{4, 4}}, {{5, 5}, {6, 6}}});
  auto chain = open(MissingFields::error, 1);
  auto hits = chain->collection("hits");
  auto x = chain->view<float>("hits.x");
  EXPECT_EQ(x.size(), 6u);
  std::vector<std::vector<float>> seen;
  for (const std::uint64_t i : chain->entries()) {
    seen.emplace_back();
    for (const std::uint64_t j : hits(i)) seen.back().push_back(x(j));
  }
  EXPECT_THAT(seen, ElementsAre(ElementsAre(1, 2), ElementsAre(), ElementsAre(3), ElementsAre(),
                                ElementsAre(4), ElementsAre(5, 6)));
  EXPECT_EQ(hits(5).last(), 6u);
  EXPECT_THAT(x.bulk(1, 4), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(error_of([&] { x(6); }).kind(), ErrorKind::usage);
  auto whole = chain->view<std::vector<Hit>>("hits");
  EXPECT_EQ(whole(5)[1].n, 6);
}

TEST_F(ChainReaderTest, VectorsInBulk) {
  write<std::vector<float>>(a_, "v", {{1, 2}, {}});
  write<std::vector<float>>(b_, "v", {{3}});
  write<std::array<float, 2>>(c_, "v", {{4, 5}});
  auto chain = open();
  EXPECT_EQ(chain->descriptor().fields[0].type_name, "std::vector<float>");
  auto view = chain->view<std::vector<float>>("v");
  const auto block = view.bulk(0, 3);
  EXPECT_THAT(block.offsets, ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(block.values, ElementsAre(1, 2, 3));
  EXPECT_THAT(view(3), ElementsAre(4, 5));
  EXPECT_THAT(view.bulk(2, 2).offsets, ElementsAre(0, 1, 3));
  EXPECT_THAT(view.bulk(2, 2).values, ElementsAre(3, 4, 5));
  auto lists = chain->collection("v");
  EXPECT_EQ(lists(3).first(), 3u);
  EXPECT_EQ(lists(3).size(), 2u);
  EXPECT_THAT(all_of(chain->view<float>("v._0")), ElementsAre(1, 2, 3, 4, 5));
  const std::vector<std::string> item = {"v._0"};
  EXPECT_EQ(error_of([&] { chain->entry_text(0, item); }).kind(), ErrorKind::usage);
  EXPECT_EQ(chain->entry_text(3), R"({"v": [4, 5]})");
}

// Of a file without the field there is no list, which is not an empty one.
TEST_F(ChainReaderTest, ListsThatSomeFilesLackAreOptional) {
  using Lists = std::optional<std::vector<std::int64_t>>;
  write<std::vector<std::int64_t>>(a_, "x", {{1, 2}, {}});
  write<std::int32_t>(b_, "y", {0});
  const auto check = [&](const std::vector<std::vector<std::int64_t>>& last) {
    auto chain = open(MissingFields::fill);
    std::vector<Lists> expected = {{{1, 2}}, {{}}, std::nullopt};
    expected.insert(expected.end(), last.begin(), last.end());
    EXPECT_EQ(all_of(chain->view<Lists>("x")), expected);
    auto lists = chain->collection("x");
    auto items = chain->collection("x._0");
    auto numbers = chain->view<std::int64_t>("x._0._0");
    std::vector<Lists> seen;
    for (const std::uint64_t i : chain->entries()) {
      seen.emplace_back();
      for (const std::uint64_t j : lists(i)) {
        seen.back().emplace();
        for (const std::uint64_t k : items(j)) seen.back()->push_back(numbers(k));
      }
    }
    EXPECT_EQ(seen, expected);
  };
  write<std::vector<std::int32_t>>(c_, "x", {{3}, {}});
  check({{3}, {}});
  write<std::array<std::int32_t, 2>>(c_, "x", {{4, 5}});
  check({{4, 5}});
  write<std::optional<std::int32_t>>(c_, "x", {6, std::nullopt});
  check({{6}, {}});
}

class ChainMissingTest : public ChainReaderTest {
 protected:
  ChainMissingTest() {
    for (const auto* file : {&a_, &b_}) {
      auto model = Model::create();
      auto n = model->make_field<std::int32_t>("n");
      auto w = file == &a_ ? model->make_field<float>("w") : nullptr;
      auto writer = Writer::recreate(std::move(model), "Data", file->uri());
      for (int i = 0; i < 2; ++i) {
        *n = file == &a_ ? i : 10 + i;
        if (w) *w = 0.5f;
        writer->fill();
      }
      writer->close();
    }
    auto model = Model::create();
    auto w = model->make_field<std::optional<double>>("w");
    auto n = model->make_field<std::int32_t>("n");
    auto writer = Writer::recreate(std::move(model), "Data", c_.uri());
    *n = 20;
    *w = 2.5;
    writer->fill();
    writer->close();
  }
};

TEST_F(ChainMissingTest, FilledFieldsAreOptional) {
  auto chain = open(MissingFields::fill);
  const std::optional<double> none;
  EXPECT_THAT(all_of(chain->view<std::optional<double>>("w")), ElementsAre(0.5, 0.5, none, none, 2.5));
  EXPECT_THAT(all_of(chain->view<std::int32_t>("n")), ElementsAre(0, 1, 10, 11, 20));
  EXPECT_EQ(chain->entry_text(2), R"({"n": 10, "w": null})");
  EXPECT_EQ(chain->entry_text(1), R"({"n": 1, "w": 0.5})");
  auto entry = chain->make_entry();
  auto w = entry->ptr<std::optional<double>>("w");
  std::vector<std::optional<double>> seen;
  for (const std::uint64_t i : {4u, 2u, 0u, 3u}) {
    chain->load_entry(i, *entry);
    seen.push_back(*w);
  }
  EXPECT_THAT(seen, ElementsAre(2.5, none, 0.5, none));
  const Error error = error_of([&] { chain->view<double>("w"); });
  EXPECT_EQ(error.kind(), ErrorKind::type);
  EXPECT_EQ(error.context().uri, b_.uri());
  EXPECT_EQ(error.advice(), "a std::optional of it");
}

TEST_F(ChainMissingTest, SkippedFieldsAreNotThere) {
  auto chain = open(MissingFields::skip);
  EXPECT_EQ(error_of([&] { chain->view<std::optional<double>>("w"); }).kind(), ErrorKind::not_found);
  EXPECT_EQ(chain->entry_text(4), R"({"n": 20})");
}

TEST_F(ChainMissingTest, OtherwiseAnErrorNamesBothFiles) {
  const Error error = error_of([&] { open(); });
  EXPECT_EQ(error.kind(), ErrorKind::schema);
  EXPECT_THAT(error.problem(), HasSubstr(a_.uri()));
  EXPECT_THAT(error.problem(), HasSubstr(b_.uri()));
}

TEST_F(ChainMissingTest, ModelsOfOtherTypes) {
  auto model = Model::create();
  auto w = model->make_field<std::optional<float>>("w");
  auto chain = ChainReader::open(std::move(model), "Data", uris(), {.missing = MissingFields::fill});
  chain->load_entry(4);
  EXPECT_EQ(*w, 2.5f);
  chain->load_entry(3);
  EXPECT_EQ(*w, std::nullopt);
  auto plain = Model::create();
  plain->make_field<float>("w");
  const Error error = error_of(
      [&] { ChainReader::open(std::move(plain), "Data", uris(), {.missing = MissingFields::fill}); });
  EXPECT_EQ(error.kind(), ErrorKind::type);
}

TEST_F(ChainMissingTest, MembersThatAreMissingKeepNoValueOfTheFileBefore) {
  MemoryFile with, without;
  write<Hit>(with, "hit", {{1, 7}});
  {
    auto model = Model::create();
    std::vector<std::unique_ptr<Field>> members;
    members.push_back(make_field<float>("x"));
    auto value = model->add_field(make_record_field("hit", std::move(members)));
    *static_cast<float*>(value.get()) = 2;
    auto writer = Writer::recreate(std::move(model), "Data", without.uri());
    writer->fill();
    writer->close();
  }
  auto chain = ChainReader::open("Data", {with.uri(), without.uri()}, {.missing = MissingFields::fill});
  auto hit = chain->view<Hit>("hit");
  EXPECT_EQ(hit(0).n, 7);
  EXPECT_EQ(hit(1).n, 0);
  auto model = Model::create();
  auto value = model->make_field<Hit>("hit");
  const std::vector<std::string> uris = {with.uri(), without.uri()};
  auto typed = ChainReader::open(std::move(model), "Data", uris, {.missing = MissingFields::fill});
  typed->load_entry(0);
  EXPECT_EQ(value->n, 7);
  typed->load_entry(1);
  EXPECT_EQ(value->n, 0);
  EXPECT_EQ(value->x, 2);
  EXPECT_THAT(all_of(chain->view<std::optional<std::int32_t>>("hit.n")), ElementsAre(7, std::nullopt));
}

TEST_F(ChainReaderTest, DataSetsMayHaveDifferentNames) {
  write<std::int32_t>(a_, "x", {1, 2});
  auto model = Model::create();
  auto x = model->make_field<std::int64_t>("x");
  auto writer = Writer::recreate(std::move(model), "Other", b_.uri());
  *x = 3;
  writer->fill();
  writer->close();
  const std::vector<ChainFile> files = {{.uri = a_.uri(), .data_set = "Data"},
                                        {.uri = b_.uri(), .data_set = "Other"}};
  auto chain = ChainReader::open(files);
  EXPECT_THAT(all_of(chain->view<std::int64_t>("x")), ElementsAre(1, 2, 3));
  EXPECT_EQ(chain->files()[1].data_set, "Other");
  EXPECT_EQ(ChainReader::open_known(chain->index())->num_entries(), 3u);
  EXPECT_EQ(error_of([&] { ChainReader::open("Data", {a_.uri(), b_.uri()}); }).kind(), ErrorKind::not_found);
}

TEST_F(ChainReaderTest, FilesWithAWildcardInTheirNameAreNoPatterns) {
  write<std::int32_t>(a_.uri() + "-*", "x", {1, 2});
  write<std::int32_t>(a_.uri() + "-b", "x", {3});
  const auto chain = ChainReader::open("Data", {a_.uri() + "-*"});
  EXPECT_EQ(chain->num_entries(), 3u);
  EXPECT_EQ(ChainReader::open(chain->files())->num_entries(), 3u);
}

TEST_F(ChainReaderTest, AnIndexOpensNothing) {
  write<std::int32_t>(a_, "x", {1});
  write<std::int64_t>(b_, "x", {2});
  write<std::int64_t>(c_, "x", {3, 4});
  const std::string index = open()->index();
  const Bytes content = b_.content();
  io::remove_memory_file(b_.uri());
  auto chain = ChainReader::open_known(index);
  EXPECT_EQ(chain->num_entries(), 4u);
  auto x = chain->view<std::int64_t>("x");
  EXPECT_EQ(x(3), 4);
  EXPECT_EQ(error_of([&] { x(1); }).kind(), ErrorKind::not_found);
  write<std::int64_t>(b_, "x", {5});
  EXPECT_THAT(error_of([&] { x(1); }).problem(), HasSubstr("rewritten since"));
  EXPECT_EQ(x(2), 3);
  for (const char* broken : {"", "{}", "[1]", R"({"schemas": [], "files": []})"})
    EXPECT_EQ(error_of([&] { ChainReader::open_known(broken); }).kind(), ErrorKind::format) << broken;
}

TEST_F(ChainReaderTest, ViewsOutliveTheirChain) {
  write<std::int32_t>(a_, "x", {1});
  write<std::int32_t>(b_, "x", {2});
  write<std::int32_t>(c_, "x", {3});
  auto view = open(MissingFields::error, 1)->view<std::int32_t>("x");
  EXPECT_THAT(all_of(std::move(view)), ElementsAre(1, 2, 3));
}

TEST_F(ChainReaderTest, NoFiles) {
  const std::vector<std::string> none;
  EXPECT_EQ(error_of([&] { ChainReader::open("Data", none); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { open(MissingFields::error, 0); }).kind(), ErrorKind::usage);
}

void write_with_runs(const std::string& uri, int entries, std::initializer_list<std::uint32_t> runs) {
  auto model = Model::create();
  model->make_field<int>("x");
  auto writer = Writer::recreate(std::move(model), "Data", uri);
  auto fields = Model::create();
  auto run = fields->make_field<std::uint32_t>("run");
  AttributeSetWriter& set = writer->add_attribute_set(std::move(fields), "runs");
  for (int i = 0; i < entries; ++i) writer->fill();
  for (const std::uint32_t each : runs) {
    *run = each;
    set.add({1, static_cast<std::uint64_t>(entries)});
  }
  writer->close();
}

TEST_F(ChainReaderTest, AttributeSetsHaveTheRangesOfTheChain) {
  write_with_runs(a_, 3, {1});
  write<int>(b_, "x", {1, 2});
  write_with_runs(c_, 2, {2, 3});
  const auto chain = open(MissingFields::fill, 1);
  EXPECT_THAT(chain->attribute_sets(), ElementsAre("runs"));
  const auto set = chain->attribute_set("runs");
  EXPECT_EQ(set->name(), "runs");
  EXPECT_THAT(set->field_names(), ElementsAre("run"));
  EXPECT_THAT(all_of(set->view<std::uint32_t>("run")), ElementsAre(1, 2, 3));
  EXPECT_EQ(set->range(0).first(), 1u);
  EXPECT_EQ(set->range(0).last(), 3u);
  EXPECT_EQ(set->range(2).first(), 6u);
  EXPECT_EQ(set->range(2).last(), 7u);
  EXPECT_THAT(set->of_entry(2), ElementsAre(0));
  EXPECT_THAT(set->of_entry(4), ElementsAre());
  EXPECT_THAT(set->covering({6, 7}), ElementsAre(1, 2));
  EXPECT_THAT(set->within({0, 6}), ElementsAre(0));
  EXPECT_EQ(set->row_text(1), R"({"run": 2})");
  EXPECT_EQ(error_of([&] { set->range(3); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { static_cast<void>(chain->attribute_set("none")); }).kind(), ErrorKind::not_found);
  EXPECT_TRUE(open(MissingFields::skip)->attribute_sets().empty());
  const Error missing = error_of([&] { static_cast<void>(open()->attribute_set("runs")); });
  EXPECT_EQ(missing.kind(), ErrorKind::schema);
  EXPECT_THAT(missing.problem(),
              HasSubstr("the attribute set 'runs' is in " + a_.uri() + " but not in " + b_.uri()));
}

}  // namespace
}  // namespace colonnade
