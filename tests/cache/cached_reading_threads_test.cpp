// Many readers of one data set and one home at once, with faults and a budget small enough to evict pages:
// for ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/test_folder.h"
#include "cache/home.h"
#include "colonnade/model.h"
#include "colonnade/reader.h"
#include "colonnade/writer.h"
#include "io/memory/fault_store.h"
#include "io/memory/memory_store.h"

namespace colonnade {
namespace {

constexpr int entries = 3000;

void write(const std::string& uri) {
  auto model = Model::create();
  auto x = model->make_field<std::int32_t>("x");
  auto y = model->make_field<double>("y");
  auto writer = Writer::recreate(std::move(model), "Events", uri,
                                 {.approximate_cluster_size = 4000, .max_page_size = 512});
  for (int i = 0; i < entries; ++i) {
    *x = i * 7919;
    *y = i * 0.5;
    writer->fill();
  }
  writer->close();
}

bool is_right(const std::string& uri, const std::string& home, bool parallel) {
  const std::vector<std::string> fields = {"x", "y"};
  const auto reader = Reader::open("Events", uri, {.parallel_decompression = parallel, .cache = home});
  const std::vector<ColumnArray> arrays = reader->arrays(fields, 0, entries);
  for (int i = 0; i < entries; ++i)
    if (arrays[0].view<std::int32_t>()[static_cast<std::size_t>(i)] != i * 7919 ||
        arrays[1].view<double>()[static_cast<std::size_t>(i)] != i * 0.5)
      return false;
  return true;
}

void read_in_threads(const std::string& uri, const std::string& home) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int pass = 0; pass < 3; ++pass)
        if (!is_right(uri, home, i % 2 == 0)) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  cache::flush(std::chrono::seconds(20));
}

class CachedThreads : public ::testing::TestWithParam<const char*> {};

TEST_P(CachedThreads, ReadAndFillSideBySide) {
  const TestFolder folder;
  const std::string uri = (folder.path() / "events.root").string();
  write(uri);
  read_in_threads(uri, (folder.path() / "home").string() + GetParam());
  const std::string name = std::string("memory+obj:cache-threads") + GetParam();
  io::set_memory_store_traits(name.substr(0, name.find('?')), {.concurrency = 4});
  read_in_threads(uri, name);
}

TEST_P(CachedThreads, WhileTheHomeFails) {
  const TestFolder folder;
  const std::string uri = (folder.path() / "events.root").string();
  write(uri);
  const std::string store = "memory+obj:cache-faults" + std::to_string(std::strlen(GetParam()));
  const auto faults = std::make_shared<io::StoreFaults>();
  io::wrap_memory_store(store, [&](auto inner) { return with_faults(std::move(inner), faults); });
  read_in_threads(uri, store + GetParam());
  faults->fail(io::StoreOperation::fetch, 3, 2, ErrorKind::not_found);
  faults->fail(io::StoreOperation::update, 5, 1);
  read_in_threads(uri, store + GetParam());
  faults->lose_server(10);
  read_in_threads(uri, store + GetParam());
}

INSTANTIATE_TEST_SUITE_P(Budgets, CachedThreads, ::testing::Values("", "?budget=8000"));

}  // namespace
}  // namespace colonnade
