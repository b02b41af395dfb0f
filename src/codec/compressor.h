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

// The content of a chunk. `rest` follows `noise` in memory.
struct Piece {
  ByteSpan noise;  // to be stored as it is, in the way that the format has for it
  ByteSpan rest;
  // Of `rest` if each byte were coded by its frequency alone: with a Huffman code, and ideally. 0 if unknown.
  std::size_t coded_size = 0;
  std::size_t ideal_size = 0;
};

// What an algorithm makes use of.
enum class Gain : std::uint8_t { repeats, repeats_and_frequencies };

// From a level on, planes become chunks of their own; below it, looking at them would cost more time than it
// saves.
struct PlaneUse {
  Gain gain = Gain::repeats;
  int from_level = 10;  // never: then there is no noise either
};

struct Compressor {
  std::string_view name;
  std::array<std::uint8_t, 3> tag;  // the first three bytes of a chunk

  // Compresses into `out`; returns the bytes used, 0 if they do not suffice. `level` is ROOT's, 1 to 9. Null
  // if the algorithm is only read.
  std::size_t (*compress)(int level, const Piece& piece, MutableByteSpan out);
  // Fills `content` exactly from exactly `chunk`, or throws.
  void (*decompress)(ByteSpan chunk, MutableByteSpan content);
  PlaneUse planes = {};
};

extern const Compressor zstd_compressor;
extern const Compressor lz4_compressor;
extern const Compressor zlib_compressor;
extern const Compressor old_deflate_compressor;  // "CS"
extern const Compressor lzma_compressor;

}  // namespace colonnade::codec

#endif
