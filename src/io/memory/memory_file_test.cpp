// Buffers in memory: the conformance suite, and their own functions.
#include "io/memory/memory_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/conformance_test.h"

namespace colonnade::io {
namespace {

const RegisterTransport memory({.name = "Memory",
                                .fresh_uri =
                                    [](const std::string& name) {
                                      remove_memory_file("memory:" + name);
                                      return "memory:" + name;
                                    },
                                .store = store_memory_file,
                                .content = memory_file_content});

TEST(MemoryFile, LivesUntilItIsRemoved) {
  store_memory_file("memory:kept", as_bytes("abc"));
  const auto open = open_for_reading("memory:kept");
  remove_memory_file("memory:kept");
  EXPECT_THROW(open_for_reading("memory:kept"), Error);
  Bytes into(3);
  open->read(0, into);
  EXPECT_EQ(into[2], std::byte{'c'});
  remove_memory_file("memory:kept");
}

TEST(MemoryFile, RefusesWhatNoMemoryHolds) {
  remove_memory_file("memory:huge");
  const auto file = open_for_writing("memory:huge", OpenMode::create);
  try {
    file->write(~std::uint64_t{0} - 1, as_bytes("abc"));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::resource);
  }
}

}  // namespace
}  // namespace colonnade::io
