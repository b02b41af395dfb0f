// Copies move on several threads: reading, checking and compressing in the pool, writing in one of its own.
#include <gtest/gtest.h>

#include <thread>

#include "dataset/test_values.h"

namespace colonnade {
namespace {

using testing::MemoryFile;

void make(const std::string& uri) {
  auto model = Model::create();
  const auto x = model->make_field<std::int64_t>("x");
  const auto v = model->make_field<std::vector<float>>("v");
  const auto writer = Writer::recreate(std::move(model), "Data", uri,
                                       {.approximate_cluster_size = 60000, .max_page_size = 4096});
  testing::Random random(1);
  for (int i = 0; i < 30000; ++i) {
    *x = static_cast<std::int64_t>(random());
    v->assign(random() % 5, static_cast<float>(i));
    writer->fill();
  }
  writer->close();
}

TEST(CopyThreads, MoveCheckAndCompressPages) {
  const MemoryFile from;
  make(from);
  const std::vector<CopyOptions> ways = {{},
                                         {.compression = "lz4"},
                                         {.max_page_size = 2000},
                                         {.writing = {.checkpoint_every = {.clusters = 1}}}};
  for (const CopyOptions& way : ways) {
    const MemoryFile to;
    CopyOptions options = way;
    options.reading.memory_budget = 300000;
    options.verify = CopyVerify::values;
    const CopyReport report = copy({from.uri()}, {to.uri()}, options);
    EXPECT_TRUE(report.verified);
    EXPECT_EQ(report.entries, 30000u);
  }
}

TEST(CopyThreads, ComeToRestWhenTheCopyIsStoppedOrFails) {
  const MemoryFile from;
  make(from);
  for (std::uint64_t limit = 0; limit < 30000; limit += 3000) {
    const MemoryFile to;
    CopyOptions options{.watch_every = 0, .reading = {.memory_budget = 300000}};
    const CopyReport report = copy({from.uri()}, {to.uri()}, options,
                                   [&](const CopyProgress& progress) { return progress.entries < limit; });
    EXPECT_TRUE(report.interrupted || report.entries == 30000u);
  }
  Bytes content = from.content();
  content[content.size() * 2 / 3] ^= std::byte{1};
  from.store(content);
  const MemoryFile to;
  EXPECT_EQ(testing::error_of([&] { copy({from.uri()}, {to.uri()}); }).kind(), ErrorKind::checksum);
}

// Several copies at once share the pool and one source.
TEST(CopyThreads, OfSeveralCopies) {
  const MemoryFile from;
  make(from);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      const MemoryFile to;
      EXPECT_TRUE(copy({from.uri()}, {to.uri()}, {.verify = CopyVerify::pages}).verified);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace colonnade
