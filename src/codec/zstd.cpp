// Zstandard chunks: tag "ZS" 1, one frame. ROOT's level n is Zstandard's 2n.
//
// Noise becomes raw blocks in front of the blocks that Zstandard makes of the rest. Those do not depend on
// what is before them: they are the first compressed ones of the frame.
//
//   | magic (4) | descriptor (1) | content size (4) | raw blocks | blocks of the rest |
//   raw block: | size << 3, type 0, not the last (3) | up to 128 KiB |

// Needed for ZSTD_c_literalCompressionMode.
#define ZSTD_STATIC_LINKING_ONLY
#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "codec/compressor.h"

namespace colonnade::codec {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

ZSTD_CCtx* compression_context() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (!context) throw std::bad_alloc();
  return context.get();
}

ZSTD_DCtx* decompression_context() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (!context) throw std::bad_alloc();
  return context.get();
}

// Zstandard's own levels; 0 if `out` is too small.
std::size_t compress_frame(int level, ByteSpan content, MutableByteSpan out) {
  ZSTD_CCtx* context = compression_context();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  // Left alone, negative levels would not code bytes by their frequency.
  ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, level < 0 ? ZSTD_ps_enable : ZSTD_ps_auto);
  const std::size_t result = ZSTD_compress2(context, out.data(), out.size(), content.data(), content.size());
  if (!ZSTD_isError(result)) return result;
  if (ZSTD_getErrorCode(result) == ZSTD_error_dstSize_tooSmall) return 0;
  throw Error(ErrorKind::resource, fmt::format("Zstandard cannot compress: {}", ZSTD_getErrorName(result)));
}

// Which of Zstandard's levels to use where a fast search for repeats found hardly more than coding bytes by
// their frequency gains. As a rule a thorough search does not either, and takes up to a hundred times as
// long.
int level_for_skewed(int level, const Piece& piece, std::size_t found) {
  constexpr int fast = 1;
  constexpr int medium = 6;
  constexpr int last_hasty = 16;
  if (level > last_hasty) return level;
  // Few values, one of them in every second byte or so: Huffman's whole bits waste some, and chance repeats
  // save it.
  const bool wasteful = piece.coded_size > piece.ideal_size + piece.ideal_size / 32;
  const bool better = piece.coded_size < found - found / 8;
  return wasteful && !better ? std::min(level, medium) : fast;
}

std::size_t compress_rest(int level, const Piece& piece, MutableByteSpan out) {
  // Takes steps as large as a block, so that it finds no repeats.
  const int frequencies_only = ZSTD_minCLevel();
  if (piece.coded_size == 0) return compress_frame(level, piece.rest, out);
  const std::size_t found = compress_frame(1, piece.rest, out);
  if (found <= piece.coded_size - piece.coded_size / 32) return compress_frame(level, piece.rest, out);
  level = level_for_skewed(level, piece, found);
  const std::size_t searched = compress_frame(level, piece.rest, out);
  // Twice done at most: the output is that of the last.
  const std::size_t coded = compress_frame(frequencies_only, piece.rest, out);
  return coded > 0 && (coded <= searched || searched == 0) ? coded : compress_frame(level, piece.rest, out);
}

// Of a frame without dictionary, as compress_frame makes them.
std::size_t header_size(ByteSpan frame) {
  const auto descriptor = static_cast<unsigned>(frame[4]);
  const bool single_segment = (descriptor & 0x20) != 0;
  constexpr std::array<std::size_t, 4> content_sizes = {0, 2, 4, 8};
  const std::size_t content_size =
      descriptor >> 6 == 0 && single_segment ? 1 : content_sizes[descriptor >> 6];
  return 5 + (single_segment ? 0 : 1) + content_size;
}

constexpr std::size_t own_header_size = 9;
constexpr std::size_t max_block = 128 * 1024;

// Header and raw blocks; there must be room.
void write_raw(ByteSpan noise, std::size_t content_size, std::byte* to) {
  constexpr std::uint8_t single_segment_with_four_byte_size = 0xa0;
  store_le(to, std::uint32_t{ZSTD_MAGICNUMBER});
  store_le(to + 4, single_segment_with_four_byte_size);
  store_le(to + 5, static_cast<std::uint32_t>(content_size));
  to += own_header_size;
  while (!noise.empty()) {
    const ByteSpan block = noise.first(std::min(max_block, noise.size()));
    for (int i = 0; i < 3; ++i) *to++ = static_cast<std::byte>(block.size() << 3 >> (8 * i));
    std::memcpy(to, block.data(), block.size());
    to += block.size();
    noise = noise.subspan(block.size());
  }
}

std::size_t compress(int level, const Piece& piece, MutableByteSpan out) {
  const std::size_t noise = piece.noise.size();
  if (noise == 0) return compress_rest(2 * level, piece, out);
  const std::size_t raw = own_header_size + noise + 3 * ((noise + max_block - 1) / max_block);
  if (raw >= out.size()) return 0;
  const MutableByteSpan rest = out.subspan(raw);
  const std::size_t frame = compress_rest(2 * level, piece, rest);
  if (frame == 0) return 0;
  write_raw(piece.noise, noise + piece.rest.size(), out.data());
  const std::size_t skipped = header_size(rest);
  std::memmove(rest.data(), rest.data() + skipped, frame - skipped);
  return raw + frame - skipped;
}

void decompress(ByteSpan chunk, MutableByteSpan content) {
  const std::size_t result = ZSTD_decompressDCtx(decompression_context(), content.data(), content.size(),
                                                 chunk.data(), chunk.size());
  if (ZSTD_isError(result)) {
    const bool sum = ZSTD_getErrorCode(result) == ZSTD_error_checksum_wrong;
    throw Error(sum ? ErrorKind::checksum : ErrorKind::format,
                fmt::format("the Zstandard data is damaged: {}", ZSTD_getErrorName(result)));
  }
  if (result != content.size())
    throw Error(ErrorKind::format, fmt::format("the Zstandard data expands to {} bytes where {} are right",
                                               result, content.size()));
}

}  // namespace

const Compressor zstd_compressor = {
    "zstd", {'Z', 'S', 1}, compress, decompress, {Gain::repeats_and_frequencies, 3}};

}  // namespace colonnade::codec
