// Compression blocks: a page or an envelope as it lies on storage, in chunks of at most 16 MiB - 1 each with
// a nine byte header; see the specification, "Compression Block". A block as large as its content is stored
// as it is.
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
// as is. Keeps per-thread compressor contexts, so it is cheap to call for many small pages. `plane_size`: of
// content that consists of planes, as split encodings make them, the bytes of one; see planes.h.
std::size_t compress(const CompressionSettings& settings, ByteSpan content, AlignedBuffer& out,
                     std::size_t plane_size = 0);

// Some algorithms sum the bytes of each chunk. Whoever has compared the whole block with a checksum already
// need not have that done again.
enum class ChunkSums : std::uint8_t { check, trust };

// Throws ErrorKind::format unless the chunks of `block` say together that they hold `size` bytes. What they
// say is cheap to look at, and to be done before room is made for as much as somebody else says.
void check_content_size(ByteSpan block, std::uint64_t size);

// Fills `content` from `block`; the sizes must be the true ones. Throws ErrorKind::format for a bad chunk
// header or chunk sizes that do not add up, ErrorKind::checksum if a codec's own sum fails. Never writes
// outside `content`.
void decompress(ByteSpan block, MutableByteSpan content, ChunkSums sums = ChunkSums::check);

// The same where somebody else claims that the content has `size` bytes: room is made as the content really
// comes, so that memory follows what was decompressed and not what was claimed. Room that `content` has is
// used again.
void decompress_growing(ByteSpan block, std::uint64_t size, AlignedBuffer& content,
                        ChunkSums sums = ChunkSums::check);

// XXH3-64 with seed 0, the checksum of pages and envelopes.
std::uint64_t xxh3(ByteSpan bytes) noexcept;

}  // namespace colonnade::codec

#endif
