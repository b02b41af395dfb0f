// Compression blocks: the stored form of a page or an envelope, in chunks of at most 16 MiB - 1 each with a
// nine byte header; see the specification, "Compression Block". A block that is as large as its content is
// not compressed.
#ifndef COLONNADE_CODEC_COMPRESSION_H
#define COLONNADE_CODEC_COMPRESSION_H

#include <cstdint>
#include <string>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/bytes.h"

namespace colonnade::codec {

enum class Algorithm : std::uint8_t { none = 0, zlib = 1, lzma = 2, lz4 = 4, zstd = 5 };

struct CompressionSettings {
  Algorithm algorithm = Algorithm::zstd;
  int level = 5;  // 1 to 9, ROOT's scale; 0 with Algorithm::none

  // ROOT's number: algorithm * 100 + level; 0 for none.
  std::uint32_t to_root() const noexcept;
  static CompressionSettings from_root(std::uint32_t setting);
  // "zstd:5", "zstd", "none", "505". Throws ErrorKind::usage naming the choices.
  static CompressionSettings parse(std::string_view text);
  std::string to_string() const;  // "zstd:5"
  friend bool operator==(const CompressionSettings&, const CompressionSettings&) = default;
};

// Writes the block for `content` to the end of `out`; returns its size, which equals content.size() if stored
// uncompressed. Keeps per-thread compressor contexts, so it is cheap for many small pages. `plane_size`: the
// size of one plane if the content consists of planes, as split encodings make them; see planes.h.
std::size_t compress(const CompressionSettings& settings, ByteSpan content, AlignedBuffer& out,
                     std::size_t plane_size = 0);

// Some algorithms store a checksum per chunk. A caller that has verified the whole block with another
// checksum can skip these.
enum class ChunkSums : std::uint8_t { check, trust };

// Throws ErrorKind::format unless the chunk headers of `block` add up to `size` bytes. This is cheap; call it
// before allocating memory for a size that comes from elsewhere.
void check_content_size(ByteSpan block, std::uint64_t size);

// Fills `content` from `block`; both sizes must be exact. Throws ErrorKind::format for a bad chunk header or
// chunk sizes that do not add up, ErrorKind::checksum if a codec's own checksum fails. Never writes outside
// `content`.
void decompress(ByteSpan block, MutableByteSpan content, ChunkSums sums = ChunkSums::check);

// The same for a claimed content size: `content` grows as data are decompressed, so that
// memory follows the actual size and not the claim. Memory that `content` owns already is
// reused.
void decompress_growing(ByteSpan block, std::uint64_t size, AlignedBuffer& content,
                        ChunkSums sums = ChunkSums::check);

// XXH3-64 with seed 0, the checksum of pages and envelopes.
std::uint64_t xxh3(ByteSpan bytes) noexcept;

}  // namespace colonnade::codec

#endif
