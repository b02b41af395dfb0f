// Helpers for tests of local writing: a folder, contents, and system calls that fail on demand.
#ifndef COLONNADE_IO_LOCAL_WRITE_TEST_TOOLS_H
#define COLONNADE_IO_LOCAL_WRITE_TEST_TOOLS_H

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/bytes.h"
#include "base/test_folder.h"
#include "io/local/local_file.h"
#include "io/local/write_calls.h"

namespace colonnade::io::testing_tools {

// A folder of this process, removed with it.
inline const std::filesystem::path& scratch() {
  static const TestFolder folder;
  return folder.path();
}

inline Bytes content(const std::string& uri) {
  std::ifstream in(local_path(uri), std::ios::binary | std::ios::ate);
  Bytes bytes(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Fills `into` with bytes that depend on the seed alone.
inline void scramble(MutableByteSpan into, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::size_t at = 0; at < into.size(); at += sizeof state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t mixed = state ^ state >> 32;  // the low bits alone repeat soon
    std::memcpy(into.data() + at, &mixed, std::min(sizeof mixed, into.size() - at));
  }
}

inline Bytes scrambled(std::size_t size, std::uint64_t seed = 1) {
  Bytes bytes(size);
  scramble(bytes, seed);
  return bytes;
}

}  // namespace colonnade::io::testing_tools

#endif
