// One compression algorithm as the chunk framing in compression.cpp sees it; each lives in a file of its own
// and is listed in the table there. Contexts are kept per thread inside of these files.
#ifndef COLONNADE_CODEC_COMPRESSOR_H
#define COLONNADE_CODEC_COMPRESSOR_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "codec/compression.h"

namespace colonnade::codec {

// How to code the bytes of a plane. An algorithm that has no means for one of these searches instead.
enum class Coding : std::uint8_t {
  search,       // for repeats, with the effort that the level asks for
  frequencies,  // each byte by its frequency alone
  runs,         // the same, but runs of equal bytes become repeats
  constant,     // all bytes are equal, so the least effort is enough
  smallest,     // whichever makes it smallest
};

// The content of a chunk. `rest` follows `noise` in memory.
struct Piece {
  ByteSpan noise;  // to be stored as it is, in the way that the format has for it
  ByteSpan rest;
  Coding coding = Coding::search;
};

// The sizes that coding each byte by its frequency would give, judged by a part of the bytes.
struct PlaneEstimate {
  std::size_t coded = 0;  // with a Huffman code
  std::size_t ideal = 0;  // the information content
};

// What an algorithm makes use of.
enum class Gain : std::uint8_t { repeats, repeats_and_frequencies };

// From a level on, planes are treated apart; below it, looking at them would cost more time than it saves.
struct PlaneUse {
  Gain gain = Gain::repeats;
  int from_level = 10;  // never: then there is no noise either
  // How to code a plane that is neither noise nor constant; `page_size` is about what this and those planes
  // take of which it is known.
  // Null: search all of them.
  Coding (*choose)(int level, ByteSpan plane, const PlaneEstimate& estimate, std::size_t page_size) = nullptr;
};

struct Compressor {
  std::string_view name;
  std::array<std::uint8_t, 3> tag;  // the first three bytes of a chunk

  // Compresses into `out`; returns the bytes used, 0 if they do not suffice. `level` is ROOT's, 1 to 9. Null
  // if the algorithm is only read.
  std::size_t (*compress)(int level, const Piece& piece, MutableByteSpan out);
  // Fills `content` exactly from exactly `chunk`, or throws.
  void (*decompress)(ByteSpan chunk, MutableByteSpan content, ChunkSums sums);
  PlaneUse planes = {};
};

extern const Compressor zstd_compressor;
extern const Compressor lz4_compressor;
extern const Compressor zlib_compressor;
extern const Compressor old_deflate_compressor;  // "CS"
extern const Compressor lzma_compressor;

}  // namespace colonnade::codec

#endif
