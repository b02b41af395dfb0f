// For tests of sources: texts that show every bit of an entry, from arrays() and from blocks of
// Values.
#ifndef COLONNADE_FRAME_SOURCES_SOURCE_TEST_TOOLS_H
#define COLONNADE_FRAME_SOURCES_SOURCE_TEST_TOOLS_H

#include <string>
#include <vector>

#include "colonnade/colonnade.h"
#include "dataset/test_values.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

// One element of Values.
std::string bits_of(const Values& values, std::size_t index);

// The texts of all entries of a top-level field, from Reader::arrays().
std::vector<std::string> entries_as_arrays(const std::string& uri, const std::string& field,
                                           const std::string& data_set = "Data");

// Goes through all parts of the source with blocks of this many entries, reads random rows of them, several
// times and in dense and sparse sets, and compares them.
void expect_blocks(const Source& source, std::span<const std::uint32_t> columns,
                   std::span<const std::vector<std::string>> expected, std::size_t block, std::uint64_t seed);
void expect_same(Source& source, const std::string& path, const std::vector<std::string>& expected);

}  // namespace colonnade::frame

#endif
