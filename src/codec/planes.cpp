// Classifies planes by the byte frequencies of a sample and by a fast search for repeats; see
// planes.h.
#include "codec/planes.h"

#include <lz4.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

namespace colonnade::codec {
namespace {

// A plane is noise if coding by frequency cannot save one byte in 16, and a fast
// search for repeats not one in 1000. Readers decode all planes of a page:
// smaller savings would cost more time than they gain, even on slow disks. At the
// level that optimises for size alone, the limit is Zstandard's own for its
// blocks.
constexpr std::size_t least_coding_gain = 16;
constexpr std::size_t least_coding_gain_for_size = 64;
constexpr int level_for_size = 9;
constexpr std::size_t least_repeat_gain = 1000;

using Counts = std::array<std::uint32_t, 256>;

// Equidistant strips, so that the sample covers a plane whose content changes.
constexpr std::size_t strips = 16;
constexpr std::size_t strip_size = 512;
constexpr std::size_t sample_size = strips * strip_size;

// Four alternating counters, so that equal neighbours do not depend on each other.
void count_values(ByteSpan bytes, std::array<Counts, 4>& counts) {
  std::size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4)
    for (std::size_t k = 0; k < 4; ++k) ++counts[k][static_cast<std::uint8_t>(bytes[i + k])];
  for (; i < bytes.size(); ++i) ++counts[0][static_cast<std::uint8_t>(bytes[i])];
}

Counts count_sample(ByteSpan plane) {
  std::array<Counts, 4> counts{};
  if (plane.size() <= 2 * sample_size) {
    count_values(plane, counts);
  } else {
    const std::size_t distance = (plane.size() - strip_size) / (strips - 1);
    for (std::size_t strip = 0; strip < strips; ++strip)
      count_values(plane.subspan(strip * distance, strip_size), counts);
  }
  for (std::size_t value = 0; value < counts[0].size(); ++value)
    counts[0][value] += counts[1][value] + counts[2][value] + counts[3][value];
  return counts[0];
}

// The size of a Huffman code in bits: every step joins the two rarest symbols, which makes all codes below
// them one bit longer.
double huffman_bits(Counts counts) {
  std::sort(counts.begin(), counts.end());
  std::size_t leaf = static_cast<std::size_t>(std::count(counts.begin(), counts.end(), 0u));
  std::array<std::uint64_t, 256> joined{};  // in ascending order
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
  return static_cast<double>(bits);
}

// log2(x), x > 0, from integers: decisions must not depend on the C library.
double binary_logarithm(std::uint32_t x) {
  constexpr int digits = 16;
  const int whole = std::bit_width(x) - 1;
  std::uint64_t m = std::uint64_t{x} << (31 - whole);  // [1, 2) in multiples of 2^-31
  std::uint32_t fraction = 0;
  for (int digit = 0; digit < digits; ++digit) {
    m = m * m >> 31;
    const std::uint64_t carry = m >> 32;
    m >>= carry;
    fraction = fraction << 1 | static_cast<std::uint32_t>(carry);
  }
  return whole + static_cast<double>(fraction) / (1 << digits);
}

// The information content in bits. A sample underestimates it by half a bit for every value beyond the first
// (after Miller and Madow, in units of a bit).
double ideal_bits(const Counts& counts, std::size_t total, bool sampled) {
  double bits = static_cast<double>(total) * binary_logarithm(static_cast<std::uint32_t>(total));
  std::size_t values = 0;
  for (const std::uint32_t count : counts) {
    if (count == 0) continue;
    bits -= count * binary_logarithm(count);
    ++values;
  }
  constexpr double missed = 0.72;  // 1 / (2 ln 2)
  return sampled ? bits + missed * static_cast<double>(values - 1) : bits;
}

bool is_constant(ByteSpan plane) {
  return std::memcmp(plane.data(), plane.data() + 1, plane.size() - 1) == 0;
}

// LZ4's fast search takes ever larger steps while it finds nothing, so this is cheap for
// noise.
bool has_repeats(ByteSpan plane, MutableByteSpan scratch) {
  thread_local const std::unique_ptr<std::uint64_t[]> state(
      new std::uint64_t[(static_cast<std::size_t>(LZ4_sizeofState()) + 7) / 8]);
  const std::size_t room = plane.size() - plane.size() / least_repeat_gain;
  return LZ4_compress_fast_extState(state.get(), reinterpret_cast<const char*>(plane.data()),
                                    reinterpret_cast<char*>(scratch.data()), static_cast<int>(plane.size()),
                                    static_cast<int>(room), 1) > 0;
}

// Even if an algorithm does not exploit frequencies, they hint at repeats that a fast search misses.
bool is_noise(ByteSpan plane, std::size_t coded, Gain gain, int level, MutableByteSpan scratch) {
  const std::size_t least = level >= level_for_size ? least_coding_gain_for_size : least_coding_gain;
  const std::size_t enough = plane.size() / (gain == Gain::repeats ? 4 : least);
  return coded + enough >= plane.size() && !has_repeats(plane, scratch);
}

struct Plane {
  ByteSpan bytes;
  PlaneEstimate estimate;
  bool noise = false;
  Coding coding = Coding::constant;
};

std::vector<Plane> look_at_planes(ByteSpan content, std::size_t plane_size, Gain gain, int level,
                                  MutableByteSpan scratch) {
  std::vector<Plane> planes;
  for (std::size_t at = 0; at < content.size(); at += plane_size) {
    Plane& plane = planes.emplace_back();
    plane.bytes = content.subspan(at, std::min(plane_size, content.size() - at));
    plane.estimate = estimate_plane(plane.bytes);
    plane.noise = is_noise(plane.bytes, plane.estimate.coded, gain, level, scratch);
  }
  return planes;
}

// The largest first: the effort that the others are worth depends on what the page takes anyway.
void choose_codings(std::vector<Plane>& planes, const PlaneUse& use, int level) {
  std::vector<Plane*> order;
  std::size_t taken = 0;  // without planes that are searched, whose size is still unknown
  for (Plane& plane : planes) {
    if (plane.noise) taken += plane.bytes.size();
    if (!plane.noise && plane.estimate.coded > 0) order.push_back(&plane);
  }
  std::sort(order.begin(), order.end(), [](const Plane* a, const Plane* b) {
    return a->estimate.coded != b->estimate.coded ? a->estimate.coded > b->estimate.coded : a < b;
  });
  for (Plane* plane : order) {
    const PlaneEstimate& estimate = plane->estimate;
    const std::size_t size = std::min(estimate.coded, 2 * estimate.ideal);
    plane->coding =
        use.choose == nullptr ? Coding::search : use.choose(level, plane->bytes, estimate, taken + size);
    if (plane->coding != Coding::search) taken += size;
  }
}

// Below a plane with repeats, apparent noise may have some as well, too short for the test.
void doubt_noise_below_repeats(std::vector<Plane>& planes) {
  for (std::size_t i = 0; i + 1 < planes.size(); ++i) {
    if (!planes[i].noise || planes[i + 1].coding != Coding::search) continue;
    planes[i].noise = false;
    planes[i].coding = Coding::search;
  }
}

// A searched piece may include constant planes.
bool can_join(Coding a, Coding b) {
  const auto searched = [](Coding c) { return c == Coding::search || c == Coding::constant; };
  return searched(a) && searched(b);
}

void grow(ChunkContent& piece, std::size_t size) {
  piece.rest = {piece.rest.data(), piece.rest.size() + size};
}

}  // namespace

PlaneEstimate estimate_plane(ByteSpan plane) {
  const Counts counts = count_sample(plane);
  std::size_t total = 0;
  for (const std::uint32_t count : counts) total += count;
  const bool sampled = total < plane.size();
  const double scale = static_cast<double>(plane.size()) / static_cast<double>(total) / 8;
  PlaneEstimate estimate;
  estimate.ideal = static_cast<std::size_t>(scale * std::max(0., ideal_bits(counts, total, sampled)));
  // A Huffman code takes at least one bit per symbol.
  estimate.coded = is_constant(plane) ? 0
                                      : std::max({plane.size() / 8, estimate.ideal,
                                                  static_cast<std::size_t>(scale * huffman_bits(counts))});
  return estimate;
}

std::vector<ChunkContent> cut_planes(ByteSpan content, std::size_t plane_size, const PlaneUse& use, int level,
                                     MutableByteSpan scratch) {
  std::vector<Plane> planes = look_at_planes(content, plane_size, use.gain, level, scratch);
  choose_codings(planes, use, level);
  if (use.choose != nullptr) doubt_noise_below_repeats(planes);
  std::vector<ChunkContent> pieces;
  std::size_t noise = 0;  // bytes of noise before the plane
  for (const Plane& plane : planes) {
    if (plane.noise) {
      noise += plane.bytes.size();
      continue;
    }
    if (noise == 0 && !pieces.empty() && can_join(pieces.back().coding, plane.coding)) {
      grow(pieces.back(), plane.bytes.size());
      if (plane.coding == Coding::search) pieces.back().coding = Coding::search;
      continue;
    }
    pieces.push_back({{plane.bytes.data() - noise, noise}, plane.bytes, plane.coding});
    noise = 0;
  }
  if (noise > 0 && !pieces.empty()) {
    grow(pieces.back(), noise);
    pieces.back().coding = Coding::search;
  }
  return pieces;
}

}  // namespace colonnade::codec
