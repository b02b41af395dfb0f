// Locators: the position of a block, as stored in envelopes.
//
//   standard   i32 size >= 0 | u64 offset
//   other      i32 -(type << 24 | reserved << 16 | bytes of the whole locator) | payload
//     0x01     large file locator: u64 size | u64 offset
//     0x02     Object64: u32 or u64 size (told by the payload's length) | u64 location
//
// As in ROOT, the whole word is negated. A locator of unknown type keeps its payload and causes an error only
// when its bytes are read.
#ifndef COLONNADE_FORMAT_LOCATOR_H
#define COLONNADE_FORMAT_LOCATOR_H

#include <cstdint>

#include "base/bytes.h"
#include "colonnade/descriptor.h"

namespace colonnade::format {

inline constexpr std::uint64_t min_locator_bytes = 4;

Locator read_locator(ByteReader& reader, const char* what);
void write_locator(ByteWriter& out, const Locator& locator);

// u64 uncompressed length | locator
inline constexpr std::uint64_t min_link_bytes = 8 + min_locator_bytes;
EnvelopeLink read_link(ByteReader& reader, const char* what);
void write_link(ByteWriter& out, const EnvelopeLink& link);

}  // namespace colonnade::format

#endif
