// The C interface when memory is short: whatever allocation fails, the caller gets
// COLONNADE_RESOURCE and a text, and nothing ends the program.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/test_short_memory.h"
#include "capi/capi_testing.h"
#include "colonnade/reader.h"

namespace colonnade::capi {
namespace {

using colonnade::testing::Shortage;
using colonnade::testing::ShortMemory;
using testing::MemoryDataSet;
using testing::Table;

// Calls work(shortage) with more and more memory, until no allocation fails: every one of the first, then in
// steps that grow, so that it does not take long. What it returns, whether it succeeded, is free where one
// failed.
template <class Work>
void with_little_memory(Work&& work) {
  for (const bool everywhere : {false, true})
    for (const bool for_good : {false, true})
      for (long allocations = 0;; allocations += 1 + allocations / 40) {
        const Shortage shortage{.for_good = for_good, .everywhere = everywhere, .allocations = allocations};
        SCOPED_TRACE(shortage.text());
        const bool succeeded = work(shortage);
        ASSERT_FALSE(::testing::Test::HasFailure());
        if (ShortMemory::failed()) continue;
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
  with_little_memory([&](const Shortage& shortage) {
    colonnade_reader* reader = nullptr;
    ArrowSchema schema{};
    ArrowArray array{};
    ArrowArrayStream stream{};
    std::int64_t rows = 0;
    bool is_read = false;
    const ShortMemory memory(shortage);
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
    ShortMemory::end();
    if (status != COLONNADE_OK) expect_said(status);
    if (is_read) {
      EXPECT_EQ(rows, 300);
    }
    return is_read;
  });
}

std::vector<std::int32_t> values_of(const std::string& uri) {
  std::vector<std::int32_t> all;
  const auto reader = Reader::open("E", uri);
  auto x = reader->view<std::int32_t>("x");
  for (const std::uint64_t entry : reader->entries()) all.push_back(x(entry));
  reader->verify();
  return all;
}

// What was there stays until all of the new is there, and then the new is.
void replace_with_little_memory(const std::string& uri) {
  auto options = MemoryDataSet::options();
  options.cluster_size = 4000;
  Table old(7), fresh(300);
  ASSERT_EQ(colonnade_write_stream("E", uri.c_str(), old.stream(1), &options, nullptr), COLONNADE_OK);
  const std::vector<std::int32_t> before = values_of(uri);
  with_little_memory([&](const Shortage& shortage) {
    ArrowArrayStream* const stream = fresh.stream(3);
    const ShortMemory memory(shortage);
    const colonnade_status status = colonnade_write_stream("E", uri.c_str(), stream, &options, nullptr);
    ShortMemory::end();
    if (status != COLONNADE_OK) expect_said(status);
    const std::vector<std::int32_t> after = values_of(uri);
    EXPECT_TRUE(after == before || after.size() == 900) << after.size();
    EXPECT_TRUE(status != COLONNADE_OK || after.size() == 900);
    if (after.size() == 900) {
      EXPECT_EQ(colonnade_write_stream("E", uri.c_str(), old.stream(1), &options, nullptr), COLONNADE_OK);
    }
    return status == COLONNADE_OK;
  });
}

class CInterfaceShortOfMemoryWrites : public ::testing::TestWithParam<const char*> {};

TEST_P(CInterfaceShortOfMemoryWrites, AllOrNothing) {
  const std::string folder = ::testing::TempDir() + "colonnade-capi-short-" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::string uri = fmt::format(fmt::runtime(GetParam()), folder);
  replace_with_little_memory(uri);
  io::remove_memory_file(uri);
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Places, CInterfaceShortOfMemoryWrites,
                         ::testing::Values("memory:capi-short-written", "{}/f.root", "obj://{}/store",
                                           "memory+obj:capi-short-written"));

// The first error of a thread has no memory for its description.
TEST(CInterfaceShortOfMemory, AFirstErrorIsSaid) {
  std::thread([] {
    EXPECT_EQ(colonnade_last_error(), nullptr);
    const ShortMemory memory({.for_good = true});
    colonnade_reader* reader = nullptr;
    const colonnade_status status = colonnade_open(nullptr, nullptr, 1, nullptr, &reader);
    ShortMemory::end();
    expect_said(status);
  }).join();
}

}  // namespace
}  // namespace colonnade::capi
