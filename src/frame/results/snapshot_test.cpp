// Snapshots: read back through a Reader, for every split; and what remains of incomplete ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "colonnade/reader.h"
#include "colonnade/writer.h"
#include "frame/results/test_results.h"

namespace colonnade::frame {
namespace {

namespace fs = std::filesystem;

class Snapshot : public testing::Test {
 protected:
  Snapshot() : folder_(fs::temp_directory_path() / ("colonnade_snapshot_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~Snapshot() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  ResultSpec spec(const std::string& uri, std::vector<std::string> names,
                  const std::string& more = "") const {
    return {"snapshot", std::move(names), R"({"uri": ")" + uri + R"(", "name": "Events")" + more + "}"};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(Snapshot, ReadsBackInEntryOrder) {
  const std::size_t rows = 5000;
  const auto numbers = normal_numbers(rows, 0, 1);
  std::vector<std::vector<float>> lists;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < rows; ++i) {
    lists.emplace_back(i % 5, static_cast<float>(i));
    texts.push_back("t" + std::to_string(i));
  }
  const ValuesPtr list = list_column(lists);
  const auto offsets = std::static_pointer_cast<const void>(list->owners.front());
  const ValuesPtr items = list->children.front();
  const ValuesPtr records = make_list(
      rows, list->offsets,
      make_record(ValueType::record("Hit", {{"x", ElementType::float32}, {"y", ElementType::float32}}),
                  items->size, {items, items}),
      offsets);
  const std::vector<ValuesPtr> columns = {column(numbers), list, string_column(texts), records,
                                          make_constant<std::int32_t>(rows, 7)};
  for (const Way& way : ways()) {
    if (way.saved) continue;
    const std::string file = path("all.root");
    const auto value =
        Pass(spec(file, {"n", "jets.pt", "text", "hits", "c"}), columns).get<SnapshotValue>(way);
    EXPECT_EQ(value.entries, rows);
    EXPECT_EQ(value.uri, file);
    const auto reader = Reader::open("Events", file);
    ASSERT_EQ(reader->num_entries(), rows);
    auto n = reader->view<double>("n");
    auto pt = reader->view<std::vector<float>>("jets_pt");
    auto text = reader->view<std::string>("text");
    auto y = reader->view<float>("hits.y");  // by the number of the item
    auto c = reader->view<std::int32_t>("c");
    std::size_t hit = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      ASSERT_EQ(n(i), numbers[i]);
      ASSERT_EQ(pt(i), lists[i]);
      ASSERT_EQ(text(i), texts[i]);
      for (const float item : lists[i]) ASSERT_EQ(y(hit++), item);
      ASSERT_EQ(c(i), 7);
    }
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(Snapshot, SplitsDoNotChangeTheFile) {
  const ValuesPtr x = column(normal_numbers(20000, 0, 1));
  const std::string options =
      R"(, "write": {"compression": "lz4", "cluster_size": "32 KiB", "page_size": 4096})";
  Pass(spec(path("a.root"), {"x"}, options), {x}).value();
  EXPECT_GT(Reader::open("Events", path("a.root"))->descriptor().clusters.size(), 2u);
  Pass(spec(path("b.root"), {"x"}, options), {x}).value({13, 100, true});
  auto a = Reader::open("Events", path("a.root"));
  auto b = Reader::open("Events", path("b.root"));
  ASSERT_EQ(a->descriptor().clusters.size(), b->descriptor().clusters.size());
  for (std::size_t i = 0; i < a->descriptor().clusters.size(); ++i)
    EXPECT_EQ(a->descriptor().clusters[i].first_entry, b->descriptor().clusters[i].first_entry);
}

TEST_F(Snapshot, WithoutRows) {
  Pass(spec(path("empty.root"), {"x"}), {column<double>({})}).value();
  EXPECT_EQ(Reader::open("Events", path("empty.root"))->num_entries(), 0u);
}

TEST_F(Snapshot, AnAbortedOneLeavesThePreviousFile) {
  const std::string file = path("kept.root");
  Pass(spec(file, {"x"}), {column<double>({1, 2, 3})}).value();
  const std::string before = bytes_of(file);
  {
    const std::vector<ValueType> types = {ElementType::float64};
    auto aborted = make_accumulator(spec(file, {"x"}), types);
    TestContext context;
    auto partial = aborted->begin(context);
    const std::vector<ValuesPtr> more = {column(normal_numbers(100000, 0, 1))};
    partial->add({0, 100000}, more);
    aborted->merge(std::move(partial));
    EXPECT_EQ(bytes_of(file), before);
  }
  EXPECT_EQ(bytes_of(file), before);
  EXPECT_EQ(files(), 1u);
  // The same again, completed.
  Pass(spec(file, {"x"}), {column<double>({4})}).value();
  EXPECT_EQ(Reader::open("Events", file)->num_entries(), 1u);
}

TEST_F(Snapshot, LinksAndPermissionsStay) {
  Pass(spec(path("target.root"), {"x"}), {column<double>({1})}).value();
  fs::permissions(path("target.root"),
                  fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink("target.root", path("link.root"));
  Pass(spec(path("link.root"), {"x"}), {column<double>({1, 2})}).value();
  EXPECT_TRUE(fs::is_symlink(path("link.root")));
  EXPECT_EQ(fs::status(path("target.root")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  EXPECT_EQ(Reader::open("Events", path("target.root"))->num_entries(), 2u);
}

// With checkpoints, too: until its end, others may read the file that it replaces, and so may the snapshot.
TEST_F(Snapshot, ReplacesAtItsEnd) {
  for (const std::string& name : {std::string("f.root"), std::string(245, 'n') + ".root"}) {
    const std::string file = path(name);
    Pass(spec(file, {"x"}), {column<double>({1, 2, 3})}).value();
    const std::string before = bytes_of(file);
    const std::vector<ValueType> types = {ElementType::float64};
    auto result = make_accumulator(
        spec(file, {"x"}, R"(, "write": {"checkpoint_every": 1, "cluster_size": "64 KiB"})"), types);
    TestContext context;
    auto partial = result->begin(context);
    const std::vector<ValuesPtr> more = {column(normal_numbers(100000, 0, 1))};
    partial->add({0, 100000}, more);
    result->merge(std::move(partial));
    EXPECT_EQ(bytes_of(file), before);
    result->finish();
    EXPECT_EQ(Reader::open("Events", file)->num_entries(), 100000u);
    fs::remove(file);
    EXPECT_EQ(files(), 0u);
  }
}

TEST_F(Snapshot, AddsToAFile) {
  const std::string file = path("two.root");
  Pass(spec(file, {"x"}), {column<double>({1, 2, 3})}).value();
  ResultSpec more = spec(file, {"y"}, R"(, "mode": "update")");
  more.options.replace(more.options.find("Events"), 6, "Others");
  Pass(more, {column<float>({1})}).value();
  EXPECT_EQ(Reader::open("Events", file)->num_entries(), 3u);
  EXPECT_EQ(Reader::open("Others", file)->num_entries(), 1u);
}

TEST_F(Snapshot, IntoMemoryAndObjectStores) {
  for (const std::string& uri :
       {std::string("memory:snapshot_test.root"), "obj:" + path("store"), path("bare.rntuple")}) {
    const std::string write = uri.ends_with("rntuple") ? R"(, "write": {"container": "bare"})" : "";
    Pass(spec(uri, {"x"}, write), {column<double>({1, 2, 3})}).value({3, 1});
    EXPECT_EQ(Reader::open("Events", uri)->num_entries(), 3u) << uri;
  }
}

TEST_F(Snapshot, FailuresSurface) {
  const std::vector<ValueType> types = {ElementType::float64};
  auto result = make_accumulator(spec(path("nowhere/f.root"), {"x"}), types);
  TestContext context;
  EXPECT_THROW(result->begin(context), Error);
  EXPECT_EQ(files(), 0u);
  expect_error([&] { result->save(); }, ErrorKind::unsupported, {"chain"});
}

TEST_F(Snapshot, SaysWhatDoesNotFit) {
  const auto make = [&](const std::string& options, std::vector<std::string> names = {"x"}) {
    return [=] {
      make_accumulator({"snapshot", names, options},
                       std::vector<ValueType>(names.size(), ElementType::float64));
    };
  };
  expect_error(make("{}"), ErrorKind::usage, {"'uri'", "missing"});
  expect_error(make(R"({"uri": "f.root"})"), ErrorKind::usage, {"'name'"});
  expect_error(make(R"({"uri": "f.root", "name": "E", "mode": "append"})"), ErrorKind::usage,
               {"'mode'", "update"});
  expect_error(make(R"({"uri": "f.root", "name": "E", "write": {"clustersize": 1}})"), ErrorKind::usage,
               {"'clustersize'", "cluster_size"});
  expect_error(make(R"({"uri": "f.root", "name": "E", "write": {"page_size": "1 mile"}})"), ErrorKind::usage,
               {"'page_size'", "128 MiB"});
  expect_error(make(R"({"uri": "f.root", "name": "E", "write": {"checkpoint_every": "soon"}})"),
               ErrorKind::usage, {"'checkpoint_every'"});
  expect_error(make(R"({"uri": "f.root", "name": "E"})", {"x", "x"}), ErrorKind::schema, {"'x'"});
}

}  // namespace
}  // namespace colonnade::frame
