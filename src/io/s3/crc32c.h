// CRC-32C (Castagnoli), the cheapest of the sums that S3 checks of an object's bytes: one instruction for 8
// bytes where the processor has it.
#ifndef COLONNADE_IO_S3_CRC32C_H
#define COLONNADE_IO_S3_CRC32C_H

#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace colonnade::io {

// Of the parts, end to end.
std::uint32_t crc32c(std::span<const ByteSpan> parts) noexcept;
// The same by tables, for processors without the instruction and to check it.
std::uint32_t crc32c_by_tables(std::span<const ByteSpan> parts) noexcept;

}  // namespace colonnade::io

#endif
