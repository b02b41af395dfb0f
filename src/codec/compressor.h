// The interface between a compression algorithm and the chunk framing in compression.cpp. Each algorithm has
// its own file and a row in the table there. Its contexts are kept per thread, inside that file.
#ifndef COLONNADE_CODEC_COMPRESSOR_H
#define COLONNADE_CODEC_COMPRESSOR_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "codec/compression.h"

namespace colonnade::codec {

// How to code the bytes of a plane. An algorithm that does not support one of these searches instead.
enum class Coding : std::uint8_t {
  search,       // for repeats, with the effort of the level
  frequencies,  // each byte by its frequency alone
  runs,         // the same, but runs of equal bytes become repeats
  constant,     // all bytes are equal, so the least effort is enough
  smallest,     // whichever gives the smallest output
};

// The content of a chunk. `rest` follows `noise` in memory.
struct ChunkContent {
  ByteSpan noise;  // to be stored uncompressed, in the format's own way
  ByteSpan rest;
  Coding coding = Coding::search;
  bool doubtful = false;  // `coding` follows from samples, which may have missed repeats that are far apart
};

// The sizes after coding each byte by its frequency, estimated from a sample.
struct PlaneEstimate {
  std::size_t coded = 0;  // with a Huffman code
  std::size_t ideal = 0;  // the information content
};

// The kinds of redundancy that an algorithm exploits.
enum class Gain : std::uint8_t { repeats, repeats_and_frequencies };

// From a certain level on, planes are treated separately; below it, the analysis costs more than it
// saves.
struct PlaneUse {
  Gain gain = Gain::repeats;
  int from_level = 10;  // never, so that there is no noise either
  // How to code a plane that is neither noise nor constant; `page_size` is the
  // approximate size of all planes whose size is known. Null: search all of
  // them.
  Coding (*choose)(int level, ByteSpan plane, const PlaneEstimate& estimate, std::size_t page_size) = nullptr;
  // Content without planes is treated as a plane.
  bool whole_pages = false;
};

struct Compressor {
  std::string_view name;
  std::array<std::uint8_t, 3> tag;  // the first three bytes of a chunk

  // Compresses into `out`; returns the number of bytes used, 0 if `out` is too small. `level` is ROOT's, 1 to
  // 9. Null if the algorithm is read only.
  std::size_t (*compress)(int level, const ChunkContent& piece, MutableByteSpan out);
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
