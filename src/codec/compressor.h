// One compression algorithm as the chunk framing in compression.cpp sees it; each lives in a file of its own
// and is listed in the table there. Contexts are kept per thread inside of these files.
#ifndef COLONNADE_CODEC_COMPRESSOR_H
#define COLONNADE_CODEC_COMPRESSOR_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace colonnade::codec {

struct Compressor {
  std::string_view name;
  std::array<std::uint8_t, 3> tag;  // the first three bytes of a chunk

  // Compresses into `out`; returns the bytes used, 0 if they do not suffice. `level` is ROOT's, 1 to 9. Null
  // if the algorithm is only read.
  std::size_t (*compress)(int level, ByteSpan content, MutableByteSpan out);
  // The same with so little effort that it runs at a good part of memory speed; null if there is nothing
  // cheaper than compress().
  std::size_t (*compress_quickly)(ByteSpan content, MutableByteSpan out);
  // Fills `content` exactly from exactly `chunk`, or throws.
  void (*decompress)(ByteSpan chunk, MutableByteSpan content);
};

extern const Compressor zstd_compressor;
extern const Compressor lz4_compressor;
extern const Compressor zlib_compressor;
extern const Compressor old_deflate_compressor;  // "CS"
extern const Compressor lzma_compressor;

}  // namespace colonnade::codec

#endif
