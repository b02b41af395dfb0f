// Going on with a data set after its last commit: what is there must fit, and then nothing shows that there
// was a pause.
#include <gmock/gmock.h>

#include "dataset/test_round_trip.h"
#include "io/memory/memory_store.h"

namespace colonnade {
namespace {

using testing::error_of;
using testing::MemoryFile;

constexpr const char* store = "memory+obj:resumed";

std::unique_ptr<Model> model_of(std::shared_ptr<std::int32_t>& x, std::shared_ptr<std::vector<float>>& v) {
  auto model = Model::create();
  x = model->make_field<std::int32_t>("x");
  v = model->make_field<std::vector<float>>("v");
  model->add_projected_field(make_field("n", "ROOT::RNTupleCardinality<std::uint32_t>"), {{"n", "v"}});
  return model;
}

void fill(Writer& writer, std::int32_t& x, std::vector<float>& v, int count) {
  for (int i = 0; i < count; ++i) {
    x = static_cast<std::int32_t>(writer.num_entries());
    v.assign(static_cast<std::size_t>(x % 4), static_cast<float>(x));
    writer.fill();
  }
}

std::uint64_t good_entries(const std::string& uri) {
  auto reader = Reader::open("Data", uri);
  auto x = reader->view<std::int32_t>("x");
  auto v = reader->view<std::vector<float>>("v");
  for (std::uint64_t i = 0; i < reader->num_entries(); ++i) {
    EXPECT_EQ(x(i), static_cast<std::int32_t>(i));
    EXPECT_EQ(v(i), std::vector<float>(i % 4, static_cast<float>(i)));
  }
  return reader->num_entries();
}

// Commits 10 entries, gives up 5 more, then writes 20 in two goes.
void pause_and_go_on(const std::string& uri, const WriteOptions& options) {
  std::shared_ptr<std::int32_t> x;
  std::shared_ptr<std::vector<float>> v;
  auto writer = Writer::recreate(model_of(x, v), "Data", uri, options);
  fill(*writer, *x, *v, 10);
  writer->commit_data_set();
  fill(*writer, *x, *v, 5);
  writer->commit_cluster();
  writer->discard();
  ASSERT_EQ(good_entries(uri), 10u);
  for (const std::uint64_t before : {10u, 20u}) {
    writer = Writer::resume(model_of(x, v), "Data", uri, options);
    ASSERT_EQ(writer->num_entries(), before);
    fill(*writer, *x, *v, 10);
    ASSERT_EQ(good_entries(uri), before);
    writer->close();
    ASSERT_EQ(good_entries(uri), before + 10);
  }
}

TEST(ResumedWriter, GoesOnInFiles) {
  for (const auto container : {Container::root_file, Container::bare_file}) {
    const MemoryFile file;
    pause_and_go_on(file, {.container = container});
  }
}

TEST(ResumedWriter, KeepsTheLimitOfKeys) {
  const MemoryFile file;
  std::shared_ptr<std::int32_t> x;
  std::shared_ptr<std::vector<float>> v;
  auto writer = Writer::recreate(model_of(x, v), "Data", file, {.max_key_size = 4096});
  fill(*writer, *x, *v, 10);
  writer->close();
  writer = Writer::resume(model_of(x, v), "Data", file);
  fill(*writer, *x, *v, 10);
  writer->close();
  EXPECT_EQ(good_entries(file), 20u);
  EXPECT_EQ(Reader::open("Data", file)->descriptor().anchor.max_key_size, 4096u);
}

TEST(ResumedWriter, GoesOnInObjectStores) {
  pause_and_go_on(store, {});
  io::remove_memory_store(store);
}

TEST(ResumedWriter, LateFieldsBeginWhereTheyAreAdded) {
  const MemoryFile file;
  std::shared_ptr<std::int32_t> x;
  std::shared_ptr<std::vector<float>> v;
  auto writer = Writer::recreate(model_of(x, v), "Data", file);
  fill(*writer, *x, *v, 10);
  writer->close();
  writer = Writer::resume(model_of(x, v), "Data", file);
  const auto late = writer->extend<std::int32_t>("late");
  *late = 7;
  fill(*writer, *x, *v, 2);
  writer->close();
  auto reader = Reader::open("Data", file);
  auto values = reader->view<std::int32_t>("late");
  EXPECT_EQ(values(9), 0);
  EXPECT_EQ(values(10), 7);
  EXPECT_EQ(good_entries(file), 12u);
}

TEST(ResumedWriter, RefusesAnotherSchema) {
  const MemoryFile file;
  std::shared_ptr<std::int32_t> x;
  std::shared_ptr<std::vector<float>> v;
  auto writer = Writer::recreate(model_of(x, v), "Data", file);
  fill(*writer, *x, *v, 10);
  writer->close();
  auto other = Model::create();
  other->make_field<std::int64_t>("x");
  const Error error = error_of([&] { static_cast<void>(Writer::resume(std::move(other), "Data", file)); });
  EXPECT_EQ(error.kind(), ErrorKind::schema);
  EXPECT_THAT(error.problem(), ::testing::HasSubstr("not the schema of the data set that is there"));
  const auto missing = error_of([&] { static_cast<void>(Writer::resume(model_of(x, v), "Other", file)); });
  EXPECT_EQ(missing.kind(), ErrorKind::not_found);
  EXPECT_EQ(good_entries(file), 10u);
}

}  // namespace
}  // namespace colonnade
