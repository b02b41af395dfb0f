// Cuts a data set into parts: ranges of entries that are worth processing separately, cut where pages of its
// columns end, so that few pages are decoded twice.
//
// The borders depend on the data set alone: not on the columns or entries that are read, or the machine. So
// every process numbers the parts of a data set the same way.
#ifndef COLONNADE_FRAME_SOURCES_PARTS_H
#define COLONNADE_FRAME_SOURCES_PARTS_H

#include <cstdint>
#include <span>
#include <vector>

#include "colonnade/descriptor.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

// The minimum size of a part: entries, and stored bytes (before compression) of the largest column.
struct PartLimits {
  std::uint64_t most_entries = std::uint64_t{256} << 10;
  std::uint64_t least_entries = std::uint64_t{64} << 10;
  std::uint64_t most_bytes = std::uint64_t{16} << 20;
  std::uint64_t least_bytes = std::uint64_t{4} << 20;
  // A large cluster is cut into at least this many parts.
  std::uint64_t of_large_cluster = 4;
  // For parts of arrays in memory, and of entries without columns.
  std::uint64_t array_entries = std::uint64_t{128} << 10;
  std::uint64_t empty_entries = std::uint64_t{64} << 10;
  bool at_pages = true;

  // The defaults or, for tests of several threads on few entries, parts with as many entries as the
  // environment variable COLONNADE_TEST_PART_ENTRIES specifies, wherever pages end.
  static PartLimits of_process();
};

// The borders of the parts of all entries, including both ends; empty if there are no entries.
std::vector<std::uint64_t> part_borders(const Descriptor& descriptor, const PartLimits& limits = {});

// Appends the parts between borders, which count from entry `base` of the source, as far as they have entries
// of [first, last). Their numbers start at `number`.
void add_parts(std::span<const std::uint64_t> borders, std::uint64_t base, unsigned sample,
               std::uint64_t number, std::uint64_t first, std::uint64_t last, std::vector<Part>& parts);
// The parts of [first, last) with a border every `size` entries.
std::vector<Part> equal_parts(std::uint64_t size, std::uint64_t first, std::uint64_t last);

}  // namespace colonnade::frame

#endif
