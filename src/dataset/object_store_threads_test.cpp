// Several contexts write one data set to an object store. Run under ThreadSanitizer.
#include <algorithm>
#include <thread>

#include "dataset/test_round_trip.h"
#include "io/memory/memory_store.h"

namespace colonnade {
namespace {

struct Events {
  std::unique_ptr<Model> model = Model::create();
  Events() {
    model->make_field<std::int64_t>("n");
    model->make_field<std::vector<float>>("v");
  }
};

void write_in_parallel(const std::string& uri, int contexts, std::int64_t each, const WriteOptions& options) {
  auto writer = ParallelWriter::recreate(Events().model, "Data", uri, options);
  std::vector<std::thread> threads;
  for (int i = 0; i < contexts; ++i)
    threads.emplace_back([&, i, context = std::shared_ptr(writer->make_fill_context())] {
      const auto entry = context->make_entry();
      const auto n = entry->ptr<std::int64_t>("n");
      const auto v = entry->ptr<std::vector<float>>("v");
      for (std::int64_t k = 0; k < each; ++k) {
        *n = i * each + k;
        v->assign(static_cast<std::size_t>(k % 5), static_cast<float>(*n));
        context->fill(*entry);
      }
      context->close();
    });
  for (std::thread& thread : threads) thread.join();
  writer->close();
}

void expect_all(const std::string& uri, std::int64_t count, std::int64_t each) {
  const auto reader = Reader::open("Data", uri);
  auto n = reader->view<std::int64_t>("n");
  auto v = reader->view<std::vector<float>>("v");
  ASSERT_EQ(n.size(), static_cast<std::uint64_t>(count));
  std::vector<std::int64_t> seen;
  for (std::uint64_t i = 0; i < n.size(); ++i) {
    seen.push_back(n(i));
    const std::vector<float> expected(static_cast<std::size_t>(seen.back() % each % 5),
                                      static_cast<float>(seen.back()));
    ASSERT_EQ(v(i), expected) << "entry " << i;
  }
  std::sort(seen.begin(), seen.end());
  for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST(ObjectStoreThreads, ContextsWriteSideBySide) {
  constexpr std::int64_t each = 3000;
  for (const int contexts : {2, 4}) {
    for (const ObjectMapping mapping : {ObjectMapping::locality, ObjectMapping::object_per_page}) {
      for (const CheckpointEvery every : {CheckpointEvery{}, CheckpointEvery{.clusters = 3}}) {
        const std::string uri = "memory+obj:parallel";
        WriteOptions options{.compression = "zstd:1",
                             .approximate_cluster_size = 4000,
                             .max_uncompressed_cluster_size = 30000,
                             .initial_page_size = 64,
                             .max_page_size = 512,
                             .clusters_per_group = 5,
                             .checkpoint_every = every,
                             .object_mapping = mapping,
                             .splice_size = 1000};
        write_in_parallel(uri, contexts, each, options);
        expect_all(uri, contexts * each, each);
        EXPECT_TRUE(collect_garbage(uri).removed.empty());
        io::remove_memory_store(uri);
      }
    }
  }
}

TEST(ObjectStoreThreads, PagesSealedInThePoolAreWrittenBehind) {
  const std::string uri = "memory+obj:sealed";
  constexpr std::int64_t each = 5000;
  write_in_parallel(uri, 2, each,
                    {.compression = "zstd:1",
                     .approximate_cluster_size = 20000,
                     .max_uncompressed_cluster_size = 100000,
                     .max_page_size = 2048,
                     .parallel_sealing = true});
  expect_all(uri, 2 * each, each);
  io::remove_memory_store(uri);
}

}  // namespace
}  // namespace colonnade
