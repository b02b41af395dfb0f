// Cutting a data set into parts: stretches of entries that are worth being worked on separately, cut where
// pages of its columns end, so that few pages are decoded for two of them.
//
// Where the borders lie follows from the data set alone: not from the columns that are read, the entries that
// are looked at, or the machine. So whoever numbers the parts of a data set gives them the same numbers.
#ifndef COLONNADE_FRAME_SOURCES_PARTS_H
#define COLONNADE_FRAME_SOURCES_PARTS_H

#include <cstdint>
#include <span>
#include <vector>

#include "colonnade/descriptor.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

// What a part is good for: entries, and stored bytes (before compression) of the largest column.
struct PartLimits {
  std::uint64_t most_entries = std::uint64_t{256} << 10;
  std::uint64_t least_entries = std::uint64_t{64} << 10;
  std::uint64_t most_bytes = std::uint64_t{16} << 20;
  std::uint64_t least_bytes = std::uint64_t{4} << 20;
  // A cluster that is large gives at least so many.
  std::uint64_t of_large_cluster = 4;
  // Parts of arrays in memory, and of entries without columns.
  std::uint64_t array_entries = std::uint64_t{128} << 10;
  std::uint64_t empty_entries = std::uint64_t{64} << 10;
  bool at_pages = true;

  // Those above; or, for tests of several threads on few entries, parts of as many entries as the environment
  // variable COLONNADE_TEST_PART_ENTRIES says, wherever pages end.
  static PartLimits of_process();
};

// The borders of the parts of all entries, both ends included: none if there are no entries.
std::vector<std::uint64_t> part_borders(const Descriptor& descriptor, const PartLimits& limits = {});

// Appends the parts between borders, which are counted from entry `base` of the source and numbered from
// `number` on, as far as they have entries of [first, last).
void add_parts(std::span<const std::uint64_t> borders, std::uint64_t base, unsigned sample,
               std::uint64_t number, std::uint64_t first, std::uint64_t last, std::vector<Part>& parts);
// The parts of [first, last) if there is a border every `size` entries.
std::vector<Part> equal_parts(std::uint64_t size, std::uint64_t first, std::uint64_t last);

}  // namespace colonnade::frame

#endif
