// Zstandard chunks: tag "ZS" 1, one frame. ROOT's level n is Zstandard's 2n.
//
// Noise becomes raw blocks, in front of the blocks that Zstandard makes of the rest. Those do not depend on
// preceding data: they are the first compressed blocks of the frame.
//
//   | magic (4) | descriptor (1) | content size (4) | raw blocks | blocks of the rest |
//   raw block: | size << 3, type 0, not the last (3) | up to 128 KiB |

// Needed for ZSTD_c_literalCompressionMode and ZSTD_compressSequences.
#define ZSTD_STATIC_LINKING_ONLY
#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

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

// Checks the result of a libzstd function; returns 0 if its output was too small.
std::size_t checked(std::size_t result) {
  if (!ZSTD_isError(result)) return result;
  if (ZSTD_getErrorCode(result) == ZSTD_error_dstSize_tooSmall) return 0;
  throw Error(ErrorKind::resource, fmt::format("Zstandard cannot compress: {}", ZSTD_getErrorName(result)));
}

// `level` is Zstandard's own; returns 0 if `out` is too small.
std::size_t compress_frame(int level, ByteSpan content, MutableByteSpan out) {
  ZSTD_CCtx* context = compression_context();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  // By default, negative levels would not code bytes by their frequency.
  ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, level < 0 ? ZSTD_ps_enable : ZSTD_ps_auto);
  return checked(ZSTD_compress2(context, out.data(), out.size(), content.data(), content.size()));
}

// The lowest level does not search.
std::size_t compress_frequencies(ByteSpan content, MutableByteSpan out) {
  return compress_frame(ZSTD_minCLevel(), content, out);
}

constexpr std::size_t max_block = 128 * 1024;

// Shorter runs cost about as much as their bytes.
constexpr std::size_t min_run = 6;

std::uint64_t load_word(const std::byte* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// The number of bytes from `at` on that equal the byte before them.
std::size_t run_length(ByteSpan bytes, std::size_t at) {
  const std::size_t start = at;
  while (at + 8 <= bytes.size()) {
    const std::uint64_t differences = load_word(&bytes[at]) ^ load_word(&bytes[at - 1]);
    if (differences != 0) return at - start + static_cast<std::size_t>(std::countr_zero(differences)) / 8;
    at += 8;
  }
  while (at < bytes.size() && bytes[at] == bytes[at - 1]) ++at;
  return at - start;
}

// Runs as copies at distance one, which every frame can code in the shortest form from its beginning. A block
// begins with a literal, since this form needs one before each copy.
void find_runs(ByteSpan block, std::vector<ZSTD_Sequence>& sequences) {
  std::size_t literals = 0;  // start of the literals
  for (std::size_t at = 1; at < block.size(); ++at) {
    const std::size_t run = run_length(block, at);
    if (run >= min_run) {
      sequences.push_back({1, static_cast<unsigned>(at - literals), static_cast<unsigned>(run), 0});
      literals = at + run;
    }
    at += run;  // the byte after a run differs
  }
  sequences.push_back({0, static_cast<unsigned>(block.size() - literals), 0, 0});
}

// If one value is much more frequent than all others together, its runs are the only repeats, and coding them
// comes close to the information content.
std::size_t compress_runs(ByteSpan content, MutableByteSpan out) {
  thread_local std::vector<ZSTD_Sequence> sequences;
  sequences.clear();
  for (std::size_t at = 0; at < content.size(); at += max_block)
    find_runs(content.subspan(at, std::min(max_block, content.size() - at)), sequences);
  ZSTD_CCtx* context = compression_context();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
  ZSTD_CCtx_setParameter(context, ZSTD_c_blockDelimiters, ZSTD_sf_explicitBlockDelimiters);
  const std::size_t result = ZSTD_compressSequences(context, out.data(), out.size(), sequences.data(),
                                                    sequences.size(), content.data(), content.size());
  return checked(result);
}

// Runs are worth a search if a Huffman code wastes this much on them, due to its whole bits.
bool prefers_runs(const PlaneEstimate& estimate) {
  return estimate.ideal < estimate.coded - estimate.coded * 2 / 5;
}

// Up to these of ROOT's levels, a plane is not searched unless a sample of it has repeats, and runs are not
// compared with the result of a search.
constexpr int last_hasty = 8;
constexpr int last_hasty_with_runs = 6;

// ROOT's level 1.
constexpr int quick_level = 2;

// Whether the size that a search with Zstandard's `level` gave is worth its time.
bool beats(int level, std::size_t found, std::size_t coded) {
  const std::size_t least_gain = level > 2 * last_hasty_with_runs ? 0 : coded / 32;
  return found < coded - least_gain;
}

// Two parts of the plane, far enough apart to be independent.
class Sample {
 public:
  explicit Sample(ByteSpan plane) {
    const std::size_t size = std::clamp(plane.size() / 8, smallest, bytes_.size());
    const std::size_t part = std::min(size, plane.size()) / 2;
    std::memcpy(bytes_.data(), plane.data() + (plane.size() / 2 - part) / 2, part);
    std::memcpy(bytes_.data() + part, plane.data() + plane.size() - part - (plane.size() / 2 - part) / 2,
                part);
    size_ = 2 * part;
  }

  // Compares a quick search with a coding that makes none.
  bool has_repeats(Coding coding) {
    // The lowest level that looks for repeats of a few bytes.
    const std::size_t found = compress_frame(3, bytes(), out_);
    if (coding == Coding::frequencies) {
      const std::size_t coded = compress_frequencies(bytes(), out_);
      return found < coded - coded / 32;
    }
    // If runs are the only repeats, this search is far worse.
    const std::size_t coded = compress_runs(bytes(), out_);
    return found < coded + coded / 10;
  }

  // Whether the search of `level` makes up for the whole bits of a Huffman code.
  bool gains_by_search(int level) {
    return beats(level, compress_frame(level, bytes(), out_), compress_frequencies(bytes(), out_));
  }

 private:
  // An eighth of the plane: cheap to analyse compared with coding, but large enough to be representative.
  static constexpr std::size_t smallest = 4 * 1024;

  ByteSpan bytes() const { return {bytes_.data(), size_}; }

  std::array<std::byte, 16 * 1024> bytes_;
  std::array<std::byte, 17 * 1024> out_;  // enough for any frame
  std::size_t size_ = 0;
};

Coding choose(int level, ByteSpan plane, const PlaneEstimate& estimate, std::size_t page_size) {
  if (level > last_hasty) return Coding::smallest;
  const Coding cheap = prefers_runs(estimate) ? Coding::runs : Coding::frequencies;
  // A negligible part of the page: the savings of a search would not matter.
  if (std::min(estimate.coded, 2 * estimate.ideal) < page_size / 256) return cheap;
  if (cheap == Coding::runs && level > last_hasty_with_runs) return Coding::smallest;
  Sample sample(plane);
  if (sample.has_repeats(cheap)) return Coding::search;
  const bool wasteful = cheap == Coding::frequencies && estimate.coded - estimate.ideal > page_size / 100;
  return wasteful && sample.gains_by_search(2 * level) ? Coding::search : cheap;
}

std::size_t compress_smallest(int level, ByteSpan content, MutableByteSpan out) {
  const auto search = [&] { return compress_frame(level, content, out); };
  const std::size_t runs = compress_runs(content, out);
  const std::size_t coded = compress_frequencies(content, out);
  const std::size_t searched = search();
  const std::size_t limit = out.size() + 1;  // of failed attempts
  const auto size_of = [&](std::size_t size) { return size == 0 ? limit : size; };
  if (size_of(runs) < std::min(size_of(coded), size_of(searched))) return compress_runs(content, out);
  return size_of(coded) < size_of(searched) ? compress_frequencies(content, out) : searched;
}

// Repeats that are far apart are not in samples, but a quick search of everything finds them.
std::size_t compress_doubtful(int level, const ChunkContent& piece, MutableByteSpan out) {
  const auto code = [&] {
    return piece.coding == Coding::runs ? compress_runs(piece.rest, out)
                                        : compress_frequencies(piece.rest, out);
  };
  const std::size_t coded = code();
  const std::size_t found = compress_frame(std::min(level, quick_level), piece.rest, out);
  if (found == 0 || (coded != 0 && !beats(level, found, coded))) return code();
  return level <= quick_level ? found : compress_frame(level, piece.rest, out);
}

std::size_t compress_rest(int level, const ChunkContent& piece, MutableByteSpan out) {
  const bool cheap = piece.coding == Coding::frequencies || piece.coding == Coding::runs;
  if (piece.doubtful && cheap) return compress_doubtful(level, piece, out);
  switch (piece.coding) {
    case Coding::search:
      break;
    case Coding::frequencies:
      return compress_frequencies(piece.rest, out);
    case Coding::runs:
      return compress_runs(piece.rest, out);
    case Coding::constant:
      return compress_frame(1, piece.rest, out);
    case Coding::smallest:
      return compress_smallest(level, piece.rest, out);
  }
  return compress_frame(level, piece.rest, out);
}

// The header size of a frame without dictionary, as compress_frame() makes them.
std::size_t header_size(ByteSpan frame) {
  const auto descriptor = static_cast<unsigned>(frame[4]);
  const bool single_segment = (descriptor & 0x20) != 0;
  constexpr std::array<std::size_t, 4> content_sizes = {0, 2, 4, 8};
  const std::size_t content_size =
      descriptor >> 6 == 0 && single_segment ? 1 : content_sizes[descriptor >> 6];
  return 5 + (single_segment ? 0 : 1) + content_size;
}

constexpr std::size_t own_header_size = 9;

// Writes header and raw blocks; `to` must have enough room.
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

std::size_t compress(int level, const ChunkContent& piece, MutableByteSpan out) {
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

void decompress_chunk(ByteSpan chunk, MutableByteSpan content, ChunkSums) {
  const std::size_t result = ZSTD_decompressDCtx(decompression_context(), content.data(), content.size(),
                                                 chunk.data(), chunk.size());
  if (ZSTD_isError(result)) {
    const bool sum = ZSTD_getErrorCode(result) == ZSTD_error_checksum_wrong;
    throw Error(sum ? ErrorKind::checksum : ErrorKind::format,
                fmt::format("the Zstandard data is damaged: {}", ZSTD_getErrorName(result)));
  }
  if (result != content.size())
    throw Error(ErrorKind::format,
                fmt::format("the Zstandard data expands to {} bytes instead of {}", result, content.size()));
}

}  // namespace

const Compressor zstd_compressor = {
    "zstd", {'Z', 'S', 1}, compress, decompress_chunk, {Gain::repeats_and_frequencies, 1, choose, true}};

}  // namespace colonnade::codec
