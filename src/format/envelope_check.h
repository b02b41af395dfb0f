// The two halves of finish(): checks of fields and columns, and of clusters against them.
#ifndef COLONNADE_FORMAT_ENVELOPE_CHECK_H
#define COLONNADE_FORMAT_ENVELOPE_CHECK_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_limit.h"
#include "colonnade/descriptor.h"

namespace colonnade::format {

// Deeper schemas are refused, so that code which walks the tree may recurse, including array libraries.
inline constexpr std::size_t max_field_depth = 100;

// Field ids, parents before children.
using FieldOrder = std::vector<std::uint32_t>;

// Fills children and representations; checks ids, trees, encodings and projections; marks fields whose own
// description this version cannot interpret.
FieldOrder link_schema(Descriptor& descriptor, MemoryLimit* limit);

// Checks that clusters follow each other without gaps and agree with their groups. Marks fields whose columns
// have gaps between clusters, or do not match the entries where that can be checked without reading data.
// Returns true if all fields can be read.
bool check_clusters(Descriptor& descriptor, const FieldOrder& order);

// Marks the fields that depend on marked ones.
void spread_unreadable(Descriptor& descriptor, const FieldOrder& order);

// A name for messages: quoted, and truncated, since a hostile file could make it megabytes long.
std::string quoted(std::string_view name);

}  // namespace colonnade::format

#endif
