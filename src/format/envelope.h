// Envelopes: header, footer and page list as bytes <-> Descriptor. Pure functions, no I/O, all bounds
// checked; sizes and counts found in the bytes never cause an allocation larger than a small multiple of the
// bytes themselves.
#ifndef COLONNADE_FORMAT_ENVELOPE_H
#define COLONNADE_FORMAT_ENVELOPE_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/memory_limit.h"
#include "colonnade/descriptor.h"

namespace colonnade::format {

// Reading, in this order. Each takes the uncompressed envelope and throws ErrorKind::format / checksum
// / unsupported with the offset inside the envelope and the name of the structure. The memory for the
// result, and for opening the data set, is taken from `limit`, which all of them share; null: no
// limit.
Descriptor read_header(ByteSpan envelope, MemoryLimit* limit = nullptr);
// Extension, cluster groups, attribute sets.
void read_footer(ByteSpan envelope, Descriptor& descriptor, MemoryLimit* limit = nullptr);
// Adds the clusters of cluster group `group`. Call it for each group in order, then finish() once.
void read_page_list(ByteSpan envelope, std::size_t group, Descriptor& descriptor,
                    MemoryLimit* limit = nullptr);
// Links fields, columns and representations, resolves projections, marks fields that cannot be read, checks
// that clusters cover the entries, that page element counts agree with entries for top-level columns, that
// representations agree.
void finish(Descriptor& descriptor, MemoryLimit* limit = nullptr);
// Marks further fields, for reasons known to a layer above, and their dependants. Call it after
// finish().
void mark_unreadable(Descriptor& descriptor,
                     const std::vector<std::pair<std::uint32_t, std::string>>& reasons);

// Writing. Fields, columns, aliases and type infos with an index below header_* go to the header, the others
// to the footer's schema extension.
struct EnvelopeBytes {
  Bytes bytes;
  std::uint64_t checksum = 0;
};
EnvelopeBytes write_header(const Descriptor& descriptor);
EnvelopeBytes write_footer(const Descriptor& descriptor);
// Writes the page list of the clusters [first, first + count) of descriptor.clusters.
EnvelopeBytes write_page_list(const Descriptor& descriptor, std::size_t first, std::size_t count);

}  // namespace colonnade::format

#endif
