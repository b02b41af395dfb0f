// What a plane is, is told by how often it has each byte value and by a fast search for repeats; see
// planes.h.
#include "codec/planes.h"

#include <lz4.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>

namespace colonnade::codec {
namespace {

// A plane is noise if coding by frequency cannot save one byte in 64 (Zstandard
// draws the same line for its blocks) and a fast search for repeats not one in
// 1000.
constexpr std::size_t least_coding_gain = 64;
constexpr std::size_t least_repeat_gain = 1000;

using Counts = std::array<std::uint32_t, 256>;

Counts count_values(ByteSpan plane) {
  // Four counts in turn, so that equal neighbours do not wait for each other.
  std::array<Counts, 4> counts{};
  std::size_t i = 0;
  for (; i + 4 <= plane.size(); i += 4)
    for (std::size_t k = 0; k < 4; ++k) ++counts[k][static_cast<std::uint8_t>(plane[i + k])];
  for (; i < plane.size(); ++i) ++counts[0][static_cast<std::uint8_t>(plane[i])];
  for (std::size_t value = 0; value < counts[0].size(); ++value)
    counts[0][value] += counts[1][value] + counts[2][value] + counts[3][value];
  return counts[0];
}

// Bytes that a Huffman code takes: every step joins the two rarest symbols, which makes all below them one
// bit longer.
std::size_t huffman_size(Counts counts) {
  std::sort(counts.begin(), counts.end());
  std::size_t leaf = static_cast<std::size_t>(std::count(counts.begin(), counts.end(), 0u));
  std::array<std::uint64_t, 256> joined{};  // in growing order
  std::size_t made = 0;
  std::size_t used = 0;
  const auto rarest = [&]() -> std::uint64_t {
    const bool from_leaves = leaf < counts.size() && (used == made || counts[leaf] <= joined[used]);
    return from_leaves ? counts[leaf++] : joined[used++];
  };
  std::uint64_t bits = 0;
  while (counts.size() - leaf + made - used > 1) {
    const std::uint64_t one = rarest();
    joined[made] = one + rarest();
    bits += joined[made++];
  }
  return static_cast<std::size_t>(bits / 8);
}

// The information content of the bytes.
std::size_t ideal_size(const Counts& counts, std::size_t total) {
  double bits = 0;
  for (const std::uint32_t count : counts)
    if (count > 0) bits += count * std::log2(static_cast<double>(total) / count);
  return static_cast<std::size_t>(bits / 8);
}

// LZ4's fast search takes ever larger steps where it finds nothing, so this
// costs little for noise.
bool has_repeats(ByteSpan plane, MutableByteSpan scratch) {
  thread_local const std::unique_ptr<std::uint64_t[]> state(
      new std::uint64_t[(static_cast<std::size_t>(LZ4_sizeofState()) + 7) / 8]);
  const std::size_t room = plane.size() - plane.size() / least_repeat_gain;
  return LZ4_compress_fast_extState(state.get(), reinterpret_cast<const char*>(plane.data()),
                                    reinterpret_cast<char*>(scratch.data()), static_cast<int>(plane.size()),
                                    static_cast<int>(room), 1) > 0;
}

// Where frequencies help an algorithm nothing, they still hint at repeats that a fast search misses.
bool is_noise(ByteSpan plane, std::size_t coded, Gain gain, MutableByteSpan scratch) {
  const std::size_t enough = gain == Gain::repeats ? plane.size() / 4 : plane.size() / least_coding_gain;
  return coded + enough >= plane.size() && !has_repeats(plane, scratch);
}

}  // namespace

std::vector<Piece> cut_planes(ByteSpan content, std::size_t plane_size, Gain gain, MutableByteSpan scratch) {
  std::vector<Piece> pieces;
  std::size_t noise = 0;  // bytes of it before the plane
  bool constant = false;  // so is all of the last piece
  for (std::size_t at = 0; at < content.size(); at += plane_size) {
    const ByteSpan plane = content.subspan(at, std::min(plane_size, content.size() - at));
    const Counts counts = count_values(plane);
    const std::size_t coded = huffman_size(counts);
    if (is_noise(plane, coded, gain, scratch)) {
      noise += plane.size();
      continue;
    }
    if (coded == 0 && constant && noise == 0) {
      pieces.back().rest = {pieces.back().rest.data(), pieces.back().rest.size() + plane.size()};
      continue;
    }
    pieces.push_back({content.subspan(at - noise, noise), plane, coded, ideal_size(counts, plane.size())});
    constant = coded == 0;
    noise = 0;
  }
  if (noise > 0 && !pieces.empty()) {
    Piece& last = pieces.back();
    last.rest = {last.rest.data(), last.rest.size() + noise};
    last.coded_size = 0;
  }
  return pieces;
}

}  // namespace colonnade::codec
