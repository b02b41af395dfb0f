// LZ4 chunks: tag "L4" and the library's major version, then a checksum and one LZ4 block. ROOT's levels 1 to
// 3 are the fast compressor, 4 to 9 are LZ4 HC with that level.
//
//   | XXH64 of the LZ4 block, seed 0, big-endian (8 bytes) | LZ4 block |
#include <fmt/format.h>
#include <lz4.h>
#include <lz4hc.h>
#include <xxhash.h>

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

std::size_t compress(int level, ByteSpan content, MutableByteSpan out) {
  if (out.size() <= sum_size) return 0;
  const MutableByteSpan block = out.subspan(sum_size);
  const int from = static_cast<int>(content.size());
  const int room = static_cast<int>(block.size());
  const int size = level < lowest_hc_level
                       ? LZ4_compress_default(chars(content.data()), chars(block.data()), from, room)
                       : LZ4_compress_HC_extStateHC(hc_state(), chars(content.data()), chars(block.data()),
                                                    from, room, level);
  if (size <= 0) return 0;
  store_le(out.data(), byte_swap(sum_of(block.first(static_cast<std::size_t>(size)))));
  return sum_size + static_cast<std::size_t>(size);
}

std::size_t compress_quickly(ByteSpan content, MutableByteSpan out) {
  return compress(1, content, out);
}

void decompress(ByteSpan chunk, MutableByteSpan content) {
  if (chunk.size() < sum_size)
    throw Error(ErrorKind::format,
                fmt::format("an LZ4 chunk of {} bytes has no room for its checksum", chunk.size()));
  const ByteSpan block = chunk.subspan(sum_size);
  const std::uint64_t stored = byte_swap(load_le<std::uint64_t>(chunk.data()));
  if (const std::uint64_t found = sum_of(block); found != stored)
    throw Error(ErrorKind::checksum,
                fmt::format("the LZ4 data has XXH64 {:016x} where {:016x} was written", found, stored));
  const int size = LZ4_decompress_safe(chars(block.data()), chars(content.data()),
                                       static_cast<int>(block.size()), static_cast<int>(content.size()));
  if (size < 0) throw Error(ErrorKind::format, "the LZ4 data is damaged");
  if (static_cast<std::size_t>(size) != content.size())
    throw Error(ErrorKind::format,
                fmt::format("the LZ4 data expands to {} bytes where {} are right", size, content.size()));
}

}  // namespace

const Compressor lz4_compressor = {
    "lz4", {'L', '4', LZ4_VERSION_MAJOR}, compress, compress_quickly, decompress};

}  // namespace colonnade::codec
