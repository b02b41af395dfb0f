// Deflate chunks: "ZL" 8 holds a zlib stream, the legacy "CS" 8 a raw deflate stream; the latter is only
// read.
//
// Noise becomes stored blocks in front of the deflate stream of the rest:
//
//   | zlib header (2) | stored blocks | deflate stream of the rest | Adler-32 of all, big-endian (4) |
//   stored block: | 0 | size (2) | complement of the size (2) | up to 65535 bytes |
#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "codec/compressor.h"

namespace colonnade::codec {
namespace {

struct FreeContext {
  void operator()(libdeflate_compressor* context) const noexcept { libdeflate_free_compressor(context); }
  void operator()(libdeflate_decompressor* context) const noexcept { libdeflate_free_decompressor(context); }
};

constexpr int highest_level = 9;

// A libdeflate context belongs to one level.
libdeflate_compressor* compression_context(int level) {
  thread_local std::array<std::unique_ptr<libdeflate_compressor, FreeContext>, highest_level + 1> contexts;
  auto& context = contexts.at(static_cast<std::size_t>(level));
  if (!context) context.reset(libdeflate_alloc_compressor(level));
  if (!context) throw std::bad_alloc();
  return context.get();
}

libdeflate_decompressor* decompression_context() {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeContext> context(
      libdeflate_alloc_decompressor());
  if (!context) throw std::bad_alloc();
  return context.get();
}

// The common signature of libdeflate's two decompressors.
using Decompress = decltype(&libdeflate_zlib_decompress_ex);

struct Outcome {
  libdeflate_result result = LIBDEFLATE_BAD_DATA;
  std::size_t read = 0;
  std::size_t written = 0;
};

Outcome run(Decompress function, ByteSpan chunk, MutableByteSpan content) {
  Outcome outcome;
  outcome.result = function(decompression_context(), chunk.data(), chunk.size(), content.data(),
                            content.size(), &outcome.read, &outcome.written);
  return outcome;
}

void require_exact(const char* name, const Outcome& outcome, ByteSpan chunk, MutableByteSpan content) {
  if (outcome.result == LIBDEFLATE_INSUFFICIENT_SPACE)
    throw Error(ErrorKind::format,
                fmt::format("the {} data expands to more than {} bytes", name, content.size()));
  if (outcome.result != LIBDEFLATE_SUCCESS)
    throw Error(ErrorKind::format, fmt::format("the {} data is damaged", name));
  if (outcome.written != content.size())
    throw Error(ErrorKind::format, fmt::format("the {} data expands to {} bytes instead of {}", name,
                                               outcome.written, content.size()));
  if (outcome.read != chunk.size())
    throw Error(ErrorKind::format,
                fmt::format("the {} data ends after {} of {} bytes", name, outcome.read, chunk.size()));
}

constexpr std::size_t zlib_header_size = 2;
constexpr std::size_t sum_size = 4;
constexpr std::size_t stored_header_size = 5;
constexpr std::size_t max_stored = 65535;

// `to` must have enough room.
void write_stored(ByteSpan content, std::byte* to) {
  while (!content.empty()) {
    const ByteSpan block = content.first(std::min(max_stored, content.size()));
    const auto size = static_cast<std::uint16_t>(block.size());
    to[0] = std::byte{0};
    store_le(to + 1, size);
    store_le(to + 3, static_cast<std::uint16_t>(~size));
    std::memcpy(to + stored_header_size, block.data(), block.size());
    to += stored_header_size + block.size();
    content = content.subspan(block.size());
  }
}

std::size_t compress_zlib(int level, const ChunkContent& piece, MutableByteSpan out) {
  libdeflate_compressor* context = compression_context(level);
  const ByteSpan rest = piece.rest;
  const std::size_t noise = piece.noise.size();
  if (noise == 0) return libdeflate_zlib_compress(context, rest.data(), rest.size(), out.data(), out.size());
  const std::size_t before =
      zlib_header_size + noise + stored_header_size * ((noise + max_stored - 1) / max_stored);
  if (before + sum_size >= out.size()) return 0;
  const std::size_t size = libdeflate_deflate_compress(context, rest.data(), rest.size(), out.data() + before,
                                                       out.size() - before - sum_size);
  if (size == 0) return 0;
  // A window of 32 KiB, no dictionary; the second byte makes the two a multiple of 31.
  out[0] = std::byte{0x78};
  out[1] = std::byte{0x01};
  write_stored(piece.noise, out.data() + zlib_header_size);
  store_le(out.data() + before + size,
           byte_swap(libdeflate_adler32(1, piece.noise.data(), noise + rest.size())));
  return before + size + sum_size;
}

// libdeflate does not distinguish a wrong Adler-32 from bad data: test the deflate stream alone.
bool only_sum_is_wrong(ByteSpan chunk, MutableByteSpan content) {
  if (chunk.size() < zlib_header_size + sum_size) return false;
  const ByteSpan stream = chunk.subspan(zlib_header_size, chunk.size() - zlib_header_size - sum_size);
  const Outcome outcome = run(&libdeflate_deflate_decompress_ex, stream, content);
  return outcome.result == LIBDEFLATE_SUCCESS && outcome.read == stream.size() &&
         outcome.written == content.size() &&
         byte_swap(load_le<std::uint32_t>(chunk.data() + chunk.size() - sum_size)) !=
             libdeflate_adler32(1, content.data(), content.size());
}

void decompress_zlib(ByteSpan chunk, MutableByteSpan content, ChunkSums) {
  const Outcome outcome = run(&libdeflate_zlib_decompress_ex, chunk, content);
  if (outcome.result == LIBDEFLATE_BAD_DATA && only_sum_is_wrong(chunk, content))
    throw Error(ErrorKind::checksum, "the Adler-32 checksum of the zlib data is wrong");
  require_exact("zlib", outcome, chunk, content);
}

void decompress_old(ByteSpan chunk, MutableByteSpan content, ChunkSums) {
  require_exact("old deflate", run(&libdeflate_deflate_decompress_ex, chunk, content), chunk, content);
}

}  // namespace

const Compressor zlib_compressor = {
    "zlib", {'Z', 'L', 8}, compress_zlib, decompress_zlib, {Gain::repeats_and_frequencies, 1}};
const Compressor old_deflate_compressor = {"old deflate", {'C', 'S', 8}, nullptr, decompress_old};

}  // namespace colonnade::codec
