// Cutting a data set into parts: stretches of entries that are worth being worked on separately, cut where
// the pages of the columns end, so that no page is decoded for two of them without need.
#ifndef COLONNADE_FRAME_SOURCES_PARTS_H
#define COLONNADE_FRAME_SOURCES_PARTS_H

#include <cstdint>
#include <span>
#include <vector>

#include "colonnade/descriptor.h"
#include "frame/source.h"
#include "frame/sources/column_shape.h"

namespace colonnade::frame {

// Entries and decoded bytes of one column that a part is good for.
inline constexpr std::uint64_t most_part_entries = std::uint64_t{256} << 10;
inline constexpr std::uint64_t least_part_entries = std::uint64_t{64} << 10;
inline constexpr std::uint64_t most_part_bytes = std::uint64_t{4} << 20;
inline constexpr std::uint64_t least_part_bytes = std::uint64_t{1} << 20;
// A cluster that is large gives at least so many.
inline constexpr std::uint64_t parts_of_large_cluster = 4;

// The borders of the parts of [first, last), both included: none if there are no entries. They depend on the
// data set, the columns and the range alone.
std::vector<std::uint64_t> part_borders(const Descriptor& descriptor,
                                        std::span<const ColumnShape* const> columns, std::uint64_t first,
                                        std::uint64_t last);

}  // namespace colonnade::frame

#endif
