// Several threads write one file in S3, each at offsets of its own, while parts of it are sent.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "io/s3/s3_file_test_tools.h"
#include "io/s3/s3_file_writer.h"

namespace colonnade::io {
namespace {

TEST(S3WritingInThreads, GivesWhatAllWrote) {
  constexpr S3WriteLimits limits{.plan = {.first_size = 1000, .parts_per_size = 10, .max_parts = 100},
                                 .uploads = 4,
                                 .bytes = 20'000,
                                 .max_file = 1'000'000};
  const auto bucket = std::make_shared<FakeBucket>();
  const auto file = make_s3_writer("s3://bucket/f.root", bucket, "f.root", bucket->queue(4), limits);
  const Bytes content = pattern(200'000);
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      constexpr std::size_t step = 777;
      for (std::size_t at = next.fetch_add(step); at < content.size(); at = next.fetch_add(step))
        file->write(at, ByteSpan(content).subspan(at, std::min(step, content.size() - at)));
    });
  for (std::thread& thread : threads) thread.join();
  file->close();
  EXPECT_EQ(bucket->object("f.root"), content);
  EXPECT_LE(bucket->most_running(), 4u);
}

}  // namespace
}  // namespace colonnade::io
