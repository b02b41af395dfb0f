// LZ4 chunks: tag "L4" and the library's major version, then a checksum and one LZ4 block. ROOT's levels 1 to
// 3 are the fast compressor, 4 to 9 are LZ4 HC with that level.
//
//   | XXH64 of the LZ4 block, seed 0, big-endian (8 bytes) | LZ4 block |
//
// Noise becomes literals, in front of those of the first sequence that LZ4 makes of the rest:
//
//   | count of literals (4 bits) | match (4 bits) | more to the count, 255 each | literals | rest of the
//   sequence |
#include <fmt/format.h>
#include <lz4.h>
#include <lz4hc.h>
#include <xxhash.h>

#include <cstring>
#include <memory>

#include "codec/compressor.h"

namespace colonnade::codec {
namespace {

constexpr std::size_t sum_size = 8;
constexpr int lowest_hc_level = 4;

// Chunks are at most 16 MiB, so that all sizes fit an int.
const char* chars(const std::byte* bytes) noexcept {
  return reinterpret_cast<const char*>(bytes);
}
char* chars(std::byte* bytes) noexcept {
  return reinterpret_cast<char*>(bytes);
}

void* hc_state() {
  thread_local const std::unique_ptr<std::uint64_t[]> state(
      new std::uint64_t[(static_cast<std::size_t>(LZ4_sizeofStateHC()) + 7) / 8]);
  return state.get();
}

std::uint64_t sum_of(ByteSpan block) noexcept {
  return XXH64(block.data(), block.size(), 0);
}

// Returns 0 if `out` is too small.
std::size_t compress_block(int level, ByteSpan content, MutableByteSpan out) {
  const int from = static_cast<int>(content.size());
  const int room = static_cast<int>(out.size());
  const int size = level < lowest_hc_level
                       ? LZ4_compress_default(chars(content.data()), chars(out.data()), from, room)
                       : LZ4_compress_HC_extStateHC(hc_state(), chars(content.data()), chars(out.data()),
                                                    from, room, level);
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

// The literals of the first sequence of a block.
struct Literals {
  std::size_t count = 0;
  std::size_t start = 1;
};

Literals first_literals(ByteSpan block) {
  Literals literals;
  literals.count = static_cast<std::size_t>(block[0]) >> 4;
  if (literals.count < 15) return literals;
  for (std::size_t more = 255; more == 255; literals.count += more)
    more = static_cast<std::size_t>(block[literals.start++]);
  return literals;
}

// The size of the bytes before the literals of a sequence with 15 or more literals.
std::size_t head_size(std::size_t literals) {
  return 2 + (literals - 15) / 255;
}

void write_head(std::byte* out, std::size_t literals, std::byte match) {
  out[0] = match | std::byte{0xf0};
  const std::size_t full = (literals - 15) / 255;
  std::memset(out + 1, 0xff, full);
  out[1 + full] = static_cast<std::byte>((literals - 15) % 255);
}

std::size_t compress_sequences(int level, const ChunkContent& piece, MutableByteSpan out) {
  const std::size_t noise = piece.noise.size();
  if (noise < 15) {
    const ByteSpan content(piece.rest.data() - noise, noise + piece.rest.size());
    return compress_block(level, content, out);
  }
  const std::size_t reserved = head_size(noise) + noise + 1;  // the total count may need one more byte
  if (reserved >= out.size()) return 0;
  const MutableByteSpan rest = out.subspan(reserved);
  const std::size_t size = compress_block(level, piece.rest, rest);
  if (size == 0) return 0;
  const Literals literals = first_literals(rest);
  const std::byte match = rest[0] & std::byte{0x0f};
  const std::size_t head = head_size(noise + literals.count);
  std::memmove(out.data() + head + noise, rest.data() + literals.start, size - literals.start);
  write_head(out.data(), noise + literals.count, match);
  std::memcpy(out.data() + head, piece.noise.data(), noise);
  return head + noise + size - literals.start;
}

std::size_t compress(int level, const ChunkContent& piece, MutableByteSpan out) {
  if (out.size() <= sum_size) return 0;
  const MutableByteSpan block = out.subspan(sum_size);
  const std::size_t size = compress_sequences(level, piece, block);
  if (size == 0) return 0;
  store_le(out.data(), byte_swap(sum_of(block.first(size))));
  return sum_size + size;
}

void check_sum(ByteSpan chunk, ByteSpan block) {
  const std::uint64_t stored = byte_swap(load_le<std::uint64_t>(chunk.data()));
  if (const std::uint64_t found = sum_of(block); found != stored)
    throw Error(ErrorKind::checksum,
                fmt::format("the LZ4 data has XXH64 {:016x} instead of {:016x}", found, stored));
}

void decompress_chunk(ByteSpan chunk, MutableByteSpan content, ChunkSums sums) {
  if (chunk.size() < sum_size)
    throw Error(ErrorKind::format,
                fmt::format("an LZ4 chunk of {} bytes has no room for its checksum", chunk.size()));
  const ByteSpan block = chunk.subspan(sum_size);
  if (sums == ChunkSums::check) check_sum(chunk, block);
  const int size = LZ4_decompress_safe(chars(block.data()), chars(content.data()),
                                       static_cast<int>(block.size()), static_cast<int>(content.size()));
  if (size < 0) throw Error(ErrorKind::format, "the LZ4 data is damaged");
  if (static_cast<std::size_t>(size) != content.size())
    throw Error(ErrorKind::format,
                fmt::format("the LZ4 data expands to {} bytes instead of {}", size, content.size()));
}

}  // namespace

const Compressor lz4_compressor = {
    "lz4", {'L', '4', LZ4_VERSION_MAJOR}, compress, decompress_chunk, {Gain::repeats, lowest_hc_level}};

}  // namespace colonnade::codec
