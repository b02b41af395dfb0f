// End-to-end tests of data sets in object stores: a store returns everything that a file returns, for every
// kind of store and every way of writing.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "base/test_child.h"
#include "dataset/test_round_trip.h"
#include "io/memory/fault_store.h"
#include "io/memory/memory_store.h"

namespace colonnade {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::MemoryFile;

io::StoreTraits like_s3() {
  return {.best_value = 4096, .ranges = true, .vectors = false, .concurrency = 4};
}
io::StoreTraits like_daos() {
  return {.ranges = false, .vectors = true, .max_items = 16, .concurrency = 4};
}

class MemoryStore {
 public:
  explicit MemoryStore(const io::StoreTraits& traits = like_daos()) {
    io::set_memory_store_traits(uri_, traits);
    io::wrap_memory_store(uri_,
                          [faults = faults_](auto store) { return with_faults(std::move(store), faults); });
  }
  ~MemoryStore() { io::remove_memory_store(uri_); }
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;
  operator const std::string&() const { return uri_; }
  io::StoreFaults& faults() const { return *faults_; }
  std::size_t values() const { return io::memory_store_addresses(uri_).size(); }

 private:
  static int next() {
    static std::atomic<int> number{0};
    return number++;
  }
  std::string uri_ = "memory+obj:data-set-" + std::to_string(next());
  std::shared_ptr<io::StoreFaults> faults_ = std::make_shared<io::StoreFaults>();
};

class FolderStore {
 public:
  explicit FolderStore(const std::string& name = std::to_string(getpid()))
      : path_(std::filesystem::path(::testing::TempDir()) / ("colonnade-objects-" + name)) {
    std::filesystem::remove_all(path_);
  }
  ~FolderStore() { std::filesystem::remove_all(path_); }
  FolderStore(const FolderStore&) = delete;
  FolderStore& operator=(const FolderStore&) = delete;
  operator std::string() const { return "obj://" + path_.string(); }

 private:
  std::filesystem::path path_;
};

template <class T>
void expect_from_store(const std::string& uri, const WriteOptions& options) {
  const auto values = testing::random_values<T>(30);
  testing::write_values(uri, values, options);
  testing::expect_typed(uri, values);
  const auto field = make_field<T>("x");
  std::vector<const void*> pointers;
  for (const T& value : values) pointers.push_back(&value);
  const testing::StoredValues stored(uri, testing::texts_of(*field, pointers));
  stored.expect_as_stored();
  stored.expect_by_name(field->type_name(), options);
}

template <class T>
struct ObjectStoreTypes : ::testing::Test {};
using Types = ::testing::Types<bool, std::int32_t, double, std::string, std::vector<float>,
                               std::vector<std::string>, std::optional<std::int64_t>,
                               std::variant<int, std::string>, std::map<std::string, std::vector<bool>>,
                               std::tuple<char, double, std::string, bool>, std::array<std::vector<int>, 2>>;
TYPED_TEST_SUITE(ObjectStoreTypes, Types);

TYPED_TEST(ObjectStoreTypes, ComeBackWhateverTheStoreIsLike) {
  for (const io::StoreTraits& traits : {like_s3(), like_daos()}) {
    for (const ObjectMapping mapping : {ObjectMapping::locality, ObjectMapping::object_per_page}) {
      for (const std::size_t splice_size : {std::size_t{0}, std::size_t{200}, std::size_t{1} << 20}) {
        const MemoryStore store(traits);
        WriteOptions options = testing::tiny_pieces();
        options.object_mapping = mapping;
        options.splice_size = splice_size;
        expect_from_store<TypeParam>(store, options);
      }
    }
  }
}

TYPED_TEST(ObjectStoreTypes, ComeBackFromAFolder) {
  const FolderStore store;
  expect_from_store<TypeParam>(store, testing::tiny_pieces());
}

struct Numbers {
  std::unique_ptr<Model> model = Model::create();
  std::shared_ptr<std::int64_t> value = model->make_field<std::int64_t>("n");
};

std::unique_ptr<Writer> writer_of_numbers(const std::string& uri, std::shared_ptr<std::int64_t>& value,
                                          WriteOptions options = {}, const std::string& name = "Data") {
  Numbers numbers;
  value = numbers.value;
  options.compression = "none";
  return Writer::recreate(std::move(numbers.model), name, uri, options);
}

void fill(Writer& writer, std::int64_t& value, std::int64_t first, std::int64_t last) {
  for (value = first; value < last; ++value) writer.fill();
  writer.commit_cluster();
}

void write_numbers(const std::string& uri, std::int64_t first, std::int64_t last,
                   const std::string& name = "Data") {
  std::shared_ptr<std::int64_t> value;
  const auto writer = writer_of_numbers(uri, value, {}, name);
  fill(*writer, *value, first, last);
  writer->close();
}

void expect_numbers(const std::string& uri, std::int64_t first, std::int64_t last,
                    const std::string& name = "Data") {
  const auto reader = Reader::open(name, uri);
  auto view = reader->view<std::int64_t>("n");
  ASSERT_EQ(view.size(), static_cast<std::uint64_t>(last - first));
  for (std::uint64_t i = 0; i < view.size(); ++i)
    ASSERT_EQ(view(i), first + static_cast<std::int64_t>(i)) << "entry " << i;
}

TEST(ObjectStore, HoldsSeveralDataSets) {
  const MemoryStore store;
  write_numbers(store, 0, 100, "A");
  write_numbers(store, 100, 300, "dir/B");
  auto model = Model::create();
  const auto x = model->make_field<float>("x");
  Writer::add_to(std::move(model), "C", store)->close();
  write_numbers(store, 5, 10, "A");
  expect_numbers(store, 5, 10, "A");
  expect_numbers(store, 100, 300, "dir/B");
  EXPECT_EQ(Reader::open("C", store)->num_entries(), 0u);
  EXPECT_EQ(Reader::open("dir/B", store)->descriptor().name, "B");
  const Error error = error_of([&] { Writer::add_to(Model::create(), "A", store); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_EQ(error.context().data_set, "A");
}

TEST(ObjectStore, CheckpointsAreVisibleAndTheRestIsNot) {
  const MemoryStore store;
  std::shared_ptr<std::int64_t> value;
  const auto writer = writer_of_numbers(store, value, {.checkpoint_every = {.clusters = 2}});
  for (int i = 0; i < 5; ++i) fill(*writer, *value, i * 100, i * 100 + 100);
  expect_numbers(store, 0, 400);
  writer->discard();
  expect_numbers(store, 0, 400);
  EXPECT_TRUE(collect_garbage(store).removed.empty());
}

TEST(ObjectStore, AWriterThatFailsLeavesNothing) {
  const MemoryStore store;
  write_numbers(store, 0, 100);
  const std::size_t before = store.values();
  try {
    std::shared_ptr<std::int64_t> value;
    const auto writer = writer_of_numbers(store, value);
    for (int i = 0; i < 5; ++i) fill(*writer, *value, 0, 50);
    throw std::runtime_error("something else");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(store.values(), before);
  expect_numbers(store, 0, 100);
}

TEST(ObjectStore, AServerThatGoesAwayIsReportedAndTheCheckpointStays) {
  const MemoryStore store;
  std::shared_ptr<std::int64_t> value;
  const auto writer = writer_of_numbers(store, value, {.checkpoint_every = {.clusters = 1}});
  fill(*writer, *value, 0, 100);
  store.faults().lose_server();
  const Error error = error_of([&] {
    fill(*writer, *value, 100, 200);
    writer->close();
  });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.what(), HasSubstr(static_cast<const std::string&>(store)));
  writer->discard();
  store.faults().restore();
  expect_numbers(store, 0, 100);
}

// Clusters are written while the next ones are filled: a later call, or the end, reports the failure.
TEST(ObjectStore, AFailureInTheBackgroundIsNotLost) {
  const MemoryStore store;
  std::shared_ptr<std::int64_t> value;
  const auto writer = writer_of_numbers(store, value);
  fill(*writer, *value, 0, 100);
  store.faults().limit_space(100);
  const Error error = error_of([&] {
    fill(*writer, *value, 100, 10000);
    writer->close();
  });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  writer->discard();
  EXPECT_EQ(error_of([&] { Reader::open("Data", store); }).kind(), ErrorKind::not_found);
}

TEST(ObjectStore, MemoryOfAClusterIsFilledWhileAnotherIsWritten) {
  const MemoryStore store;
  std::shared_ptr<std::int64_t> value;
  const auto writer = writer_of_numbers(store, value);
  fill(*writer, *value, 0, 10000);
  store.faults().hold(io::StoreOperation::update);
  std::thread free([&] {
    store.faults().wait_until_held(io::StoreOperation::update,
                                   2);  // of two clusters at once, else this hangs
    store.faults().release(io::StoreOperation::update);
  });
  fill(*writer, *value, 10000, 20000);
  fill(*writer, *value, 20000, 30000);
  free.join();
  writer->close();
  expect_numbers(store, 0, 30000);
}

TEST(ObjectStore, PagesLargerThanAValueAreRefusedAtOnce) {
  io::StoreTraits traits = like_daos();
  traits.max_value = 1 << 16;
  const MemoryStore store(traits);
  std::shared_ptr<std::int64_t> value;
  EXPECT_EQ(error_of([&] { writer_of_numbers(store, value); }).kind(), ErrorKind::usage);
  const auto writer = writer_of_numbers(store, value, {.max_page_size = (1 << 16) - 8});
  fill(*writer, *value, 0, 100000);
  writer->close();
  expect_numbers(store, 0, 100000);
}

TEST(ObjectStore, AKilledProcessLeavesNothingVisibleAndGcRemovesIt) {
  const FolderStore store("killed");
  const int status = status_of_child([&] {
    std::shared_ptr<std::int64_t> value;
    write_numbers(store, 0, 100, "Old");
    write_numbers(store, 0, 100);
    auto writer = writer_of_numbers(store, value);
    for (int i = 0; i < 5; ++i) fill(*writer, *value, 0, 1000);
    return ::kill(::getpid(), SIGKILL);
  });
  ASSERT_EQ(status, -1);
  expect_numbers(store, 0, 100);
  const GarbageReport report = collect_garbage(store);
  ASSERT_EQ(report.removed.size(), 1u);
  EXPECT_EQ(report.removed[0].data_set, "Data");
  ASSERT_EQ(report.released.size(), 1u);
  EXPECT_TRUE(report.problems.empty());
  EXPECT_TRUE(collect_garbage(store).removed.empty());
  expect_numbers(store, 0, 100);
  expect_numbers(store, 0, 100, "Old");
  write_numbers(store, 7, 9);
  expect_numbers(store, 7, 9);
}

}  // namespace
}  // namespace colonnade
