// The anchor of a data set in a file: an object of ROOT's class ROOT::RNTuple, big-endian.
//
//    0  byte count 4 (bit 30 set; of all that follows but the checksum), class version 2
//    6  epoch 2, major 2, minor 2, patch 2
//   14  header: offset 8, size 8, length 8          size: as stored, length: uncompressed
//   38  footer: offset 8, size 8, length 8
//   62  maximum key size 8                          payloads above it are split
//   70  XXH3-64 of the bytes from 6 to here         always the last 8 bytes; later versions add fields before
//   it
#ifndef COLONNADE_FORMAT_TFILE_ANCHOR_H
#define COLONNADE_FORMAT_TFILE_ANCHOR_H

#include "base/bytes.h"
#include "colonnade/descriptor.h"

namespace colonnade::format {

inline constexpr std::size_t anchor_size = 78;
inline constexpr std::size_t largest_anchor =
    64 * 1024;  // of any later version; limits a reader's allocation
inline constexpr std::string_view anchor_class = "ROOT::RNTuple";

// In a bare file, the same bytes end in a little-endian checksum.
enum class ChecksumOrder { big_endian, little_endian };

// `offset` is the object's position in its file. Header and footer must lie inside `file_size`.
Anchor read_anchor(ByteSpan object, std::uint64_t offset, std::uint64_t file_size,
                   ChecksumOrder order = ChecksumOrder::big_endian);
Bytes write_anchor(const Anchor& anchor, ChecksumOrder order = ChecksumOrder::big_endian);

}  // namespace colonnade::format

#endif
