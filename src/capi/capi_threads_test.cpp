// Threads and the C interface: different objects at once, streams of one reader, errors of each thread,
// functions of the caller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "capi/capi_testing.h"

namespace colonnade::capi {
namespace {

using testing::MemoryDataSet;
using testing::Table;

template <class Work>
void in_threads(int count, Work work) {
  std::vector<std::thread> threads;
  for (int number = 0; number < count; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();
}

// The sum of x, and the number of rows.
std::pair<std::int64_t, std::int64_t> drain(ArrowArrayStream& stream) {
  std::int64_t sum = 0, rows = 0;
  for (;;) {
    ArrowArray batch{};
    EXPECT_EQ(stream.get_next(&stream, &batch), 0);
    if (batch.release == nullptr) break;
    const auto* x = static_cast<const std::int32_t*>(batch.children[0]->buffers[1]);
    for (std::int64_t i = 0; i < batch.length; ++i) sum += x[i];
    rows += batch.length;
    batch.release(&batch);
  }
  stream.release(&stream);
  return {sum, rows};
}

constexpr std::int64_t sum_of_batch = std::int64_t{999} * 1000 / 2;

TEST(CInterfaceThreads, ReadersAndWritersOfTheirOwn) {
  in_threads(4, [](int number) {
    const MemoryDataSet data("memory:capi-threads" + std::to_string(number), 3);
    ASSERT_EQ(data.status(), COLONNADE_OK);
    colonnade_reader* reader = nullptr;
    ASSERT_EQ(colonnade_open("E", data.uris(), 1, nullptr, &reader), COLONNADE_OK);
    ArrowArrayStream stream{};
    ASSERT_EQ(colonnade_reader_stream(reader, nullptr, 0, 0, UINT64_MAX, 111, &stream), COLONNADE_OK);
    colonnade_reader_release(reader);
    EXPECT_EQ(drain(stream), std::pair(3 * sum_of_batch, std::int64_t{3000}));
  });
}

TEST(CInterfaceThreads, StreamsOfOneReader) {
  const MemoryDataSet data("memory:capi-threads-streams", 3);
  colonnade_reader* reader = nullptr;
  ASSERT_EQ(colonnade_open("E", data.uris(), 1, nullptr, &reader), COLONNADE_OK);
  std::vector<ArrowArrayStream> streams(4);
  for (ArrowArrayStream& stream : streams)
    ASSERT_EQ(colonnade_reader_stream(reader, nullptr, 0, 0, UINT64_MAX, 77, &stream), COLONNADE_OK);
  in_threads(4, [&](int number) {
    EXPECT_EQ(drain(streams[static_cast<std::size_t>(number)]),
              std::pair(3 * sum_of_batch, std::int64_t{3000}));
  });
  colonnade_reader_release(reader);
}

TEST(CInterfaceThreads, ArraysThatOthersRelease) {
  const MemoryDataSet data("memory:capi-threads-arrays", 3);
  colonnade_reader* reader = nullptr;
  ASSERT_EQ(colonnade_open("E", data.uris(), 1, nullptr, &reader), COLONNADE_OK);
  std::vector<ArrowArray> arrays(4);
  for (ArrowArray& array : arrays)
    ASSERT_EQ(colonnade_reader_read(reader, nullptr, 0, 0, 500, &array), COLONNADE_OK);
  std::thread other([&] { colonnade_reader_release(reader); });
  in_threads(4, [&](int number) {
    ArrowArray& array = arrays[static_cast<std::size_t>(number)];
    EXPECT_EQ(static_cast<const std::int32_t*>(array.children[0]->buffers[1])[499], 499);
    array.release(&array);
  });
  other.join();
}

TEST(CInterfaceThreads, ErrorsAreThoseOfTheThread) {
  in_threads(4, [](int number) {
    const std::string uri = "memory:capi-no-" + std::to_string(number);
    const char* pointer = uri.c_str();
    for (int i = 0; i < 200; ++i) {
      colonnade_reader* reader = nullptr;
      ASSERT_EQ(colonnade_open(nullptr, &pointer, 1, nullptr, &reader), COLONNADE_NOT_FOUND);
      ASSERT_NE(std::strstr(colonnade_last_error()->message, pointer), nullptr);
    }
  });
}

struct Counted {
  std::atomic<std::int64_t> rows = 0;
};

// Twice the first column, as doubles.
int doubled(void* context, const ArrowSchema* schema, const ArrowArray* arguments, ArrowArray* result) {
  if (std::strcmp(schema->children[0]->format, "i") != 0) return EINVAL;
  static_cast<Counted*>(context)->rows += arguments->length;
  struct Made {
    std::vector<double> values;
    std::array<const void*, 2> buffers{};
  };
  auto made = std::make_unique<Made>();
  const auto* x = static_cast<const std::int32_t*>(arguments->children[0]->buffers[1]);
  for (std::int64_t i = 0; i < arguments->length; ++i) made->values.push_back(2. * x[i]);
  made->buffers[1] = made->values.data();
  *result = {};
  result->length = arguments->length;
  result->n_buffers = 2;
  result->buffers = made->buffers.data();
  result->private_data = made.release();
  result->release = [](ArrowArray* array) {
    delete static_cast<Made*>(array->private_data);
    array->release = nullptr;
  };
  return 0;
}

TEST(CInterfaceThreads, FunctionsOfTheCallerAreCalledFromSeveral) {
  const MemoryDataSet data("memory:capi-threads-functions", 30);
  colonnade_frame_options options{};
  options.struct_size = sizeof options;
  options.threads = 4;
  colonnade_frame *frame = nullptr, *defined = nullptr;
  ASSERT_EQ(colonnade_frame_open("E", data.uris(), 1, &options, &frame), COLONNADE_OK);
  ArrowSchema type{};
  type.format = "g";
  type.release = [](ArrowSchema*) {};
  Counted counted;
  const char* column = "x";
  ASSERT_EQ(colonnade_frame_define_function(frame, "y", doubled, &counted, &type, &column, 1, &defined),
            COLONNADE_OK);
  colonnade_result* sum = nullptr;
  ASSERT_EQ(colonnade_frame_statistic(defined, "sum", "y", &sum), COLONNADE_OK);
  double value = 0;
  ASSERT_EQ(colonnade_result_double(sum, &value), COLONNADE_OK);
  EXPECT_EQ(value, 2. * 30 * sum_of_batch);
  EXPECT_EQ(counted.rows, 30'000);
  colonnade_result_release(sum);
  colonnade_frame_release(defined);
  colonnade_frame_release(frame);
}

}  // namespace
}  // namespace colonnade::capi
