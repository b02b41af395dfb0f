// Reading by the C interface when memory is short: whatever allocation fails, the caller gets
// COLONNADE_RESOURCE and a text, and nothing ends the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <thread>

#include "base/test_allocation.h"
#include "capi/capi_testing.h"

// ---- allocations of this thread, which can be made to fail

namespace {

constexpr long never = std::numeric_limits<long>::max();
thread_local long left = never;      // allocations that succeed
thread_local bool fails_on = false;  // behind the one that failed
thread_local bool failed = false;

void take() {
  if (left == never) return;
  if (left > 0) {
    --left;
    return;
  }
  failed = true;
  if (!fails_on) left = never;
  throw std::bad_alloc();
}

}  // namespace

void* colonnade::testing::allocate(std::size_t size, std::size_t alignment) {
  take();
  void* const memory = system_memory(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void colonnade::testing::release(void* memory) noexcept {
  std::free(memory);
}

namespace colonnade::capi {
namespace {

using testing::MemoryDataSet;

// Memory that ends behind so many allocations, for one of them or for all that follow.
class ShortMemory {
 public:
  ShortMemory(long allocations, bool for_good) {
    fails_on = for_good;
    failed = false;
    left = allocations;
  }
  ~ShortMemory() { end(); }
  ShortMemory(const ShortMemory&) = delete;
  ShortMemory& operator=(const ShortMemory&) = delete;
  void end() {
    fails_on = false;
    left = never;
  }
};

// Calls work(allocations, for_good) with more and more of them, until none fails: every one of the first,
// then in steps that grow, so that it does not take long. What it returns, whether it succeeded, is free
// where one failed.
template <class Work>
void with_little_memory(Work&& work) {
  for (const bool for_good : {false, true})
    for (long allocations = 0;; allocations += 1 + allocations / 40) {
      SCOPED_TRACE(std::to_string(allocations) + (for_good ? " for good" : ""));
      const bool succeeded = work(allocations, for_good);
      ASSERT_FALSE(::testing::Test::HasFailure());
      if (failed) continue;
      EXPECT_TRUE(succeeded);
      break;
    }
}

void expect_said(colonnade_status status) {
  EXPECT_EQ(status, COLONNADE_RESOURCE);
  const colonnade_error* error = colonnade_last_error();
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->status, COLONNADE_RESOURCE);
  ASSERT_NE(error->message, nullptr);
  EXPECT_STRNE(error->message, "");
}

// Reads all batches; false with errors of the stream as it says them.
bool drain(ArrowArrayStream& stream, std::int64_t& rows) {
  for (;;) {
    ArrowArray batch{};
    if (const int code = stream.get_next(&stream, &batch)) {
      EXPECT_EQ(code, ENOMEM);
      EXPECT_EQ(batch.release, nullptr);
      const char* message = stream.get_last_error(&stream);
      EXPECT_NE(message, nullptr);
      return false;
    }
    if (batch.release == nullptr) return true;
    rows += batch.length;
    batch.release(&batch);
  }
}

TEST(CInterfaceShortOfMemory, ReadingAndStreaming) {
  const MemoryDataSet data("memory:capi-short", 3, 100);
  ASSERT_EQ(data.status(), COLONNADE_OK);
  with_little_memory([&](long allocations, bool for_good) {
    colonnade_reader* reader = nullptr;
    ArrowSchema schema{};
    ArrowArray array{};
    ArrowArrayStream stream{};
    std::int64_t rows = 0;
    bool is_read = false;
    ShortMemory memory(allocations, for_good);
    colonnade_status status = colonnade_open("E", data.uris(), 1, nullptr, &reader);
    if (status == COLONNADE_OK) status = colonnade_reader_schema(reader, nullptr, 0, &schema);
    if (status == COLONNADE_OK) status = colonnade_reader_read(reader, nullptr, 0, 50, 150, &array);
    if (status == COLONNADE_OK)
      status = colonnade_reader_stream(reader, nullptr, 0, 0, UINT64_MAX, 30, &stream);
    if (status == COLONNADE_OK) is_read = drain(stream, rows);
    if (stream.release != nullptr) stream.release(&stream);
    if (array.release != nullptr) array.release(&array);
    if (schema.release != nullptr) schema.release(&schema);
    colonnade_reader_release(reader);
    memory.end();
    if (status != COLONNADE_OK) expect_said(status);
    if (is_read) {
      EXPECT_EQ(rows, 300);
    }
    return is_read;
  });
}

// The first error of a thread has no memory for its description.
TEST(CInterfaceShortOfMemory, AFirstErrorIsSaid) {
  std::thread([] {
    EXPECT_EQ(colonnade_last_error(), nullptr);
    ShortMemory memory(0, true);
    colonnade_reader* reader = nullptr;
    const colonnade_status status = colonnade_open(nullptr, nullptr, 1, nullptr, &reader);
    memory.end();
    expect_said(status);
  }).join();
}

}  // namespace
}  // namespace colonnade::capi
