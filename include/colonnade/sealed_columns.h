// SealedColumn: the stored pages of a column in a cluster, for callers that decompress and decode them
// elsewhere, such as on a GPU.
//
//   SealedColumn column = reader->sealed_column(field, 0, cluster);
//   std::vector<std::byte> stored(column.size);
//   reader->read_sealed({&column, 1}, {{stored}});                 // pages, verified
//   reader->decompress_sealed(column, stored, content);            // or elsewhere
//
// Plain values without owner; any thread may use them.
#ifndef COLONNADE_SEALED_COLUMNS_H
#define COLONNADE_SEALED_COLUMNS_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "colonnade/column_type.h"

namespace colonnade {

// The layout is fixed for other languages: 48 bytes, in the order of the members.
struct SealedPlace {
  std::uint64_t offset = 0;        // in the file
  std::uint64_t position = 0;      // in the column's buffer, a multiple of 16
  std::uint64_t size = 0;          // sealed; a checksum, if present, follows in eight bytes
  std::uint64_t content_size = 0;  // encoded; equal to `size` if stored uncompressed
  std::uint64_t first = 0;         // number of its first element in the cluster
  std::uint32_t elements = 0;
  std::uint8_t has_checksum = 0;
  // 1: the page is one piece at `offset` in the file of the reader's URI.
  std::uint8_t is_in_file = 0;
  std::uint16_t padding = 0;
};
static_assert(sizeof(SealedPlace) == 48);

struct SealedColumn {
  std::uint32_t column = 0;  // of the representation that the cluster uses
  std::size_t cluster = 0;
  ColumnEncoding encoding;
  ElementType element = ElementType::byte;  // the type that a reader decodes to
  std::uint32_t compression = 0;            // ROOT's number, algorithm * 100 + level
  std::uint64_t elements = 0;               // with leading zeros
  std::uint64_t leading_zeros = 0;          // elements before the first page of a deferred column
  std::uint64_t size = 0;                   // bytes of the buffer
  std::uint64_t content_size = 0;           // of all pages, concatenated
  std::vector<SealedPlace> pages;
};

}  // namespace colonnade

#endif
