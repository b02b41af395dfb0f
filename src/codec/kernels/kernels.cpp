// The fast kernels, compiled once per instruction set and chosen when first used (Highway's foreach_target).
//
// Splitting is a rotation of address bits. Take a group of 16 elements of w bytes; number its bytes by the
// bits of (element, byte), e3 e2 e1 e0 b2 b1 b0 for w = 8. Stored in w vectors of 16 bytes, interleaving the
// bytes of vector i with those of vector i + w/2 into vectors 2i and 2i + 1 moves the first of these bits to
// the end:
//
//   e3 e2 e1 | e0 b2 b1 b0   ->   e2 e1 e0 | b2 b1 b0 e3      (vector | position in it)
//
// Four such steps turn elements into planes (b2 b1 b0 | e3 e2 e1 e0), log2(w) steps turn planes into
// elements. Wider vectors do the same with one group per block of 16 bytes.
#include "codec/kernels/kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/each_target.h"
#include "base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/kernels/kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace colonnade::codec::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR
const Kernels* table() {
  return &reference_kernels();
}
#else

namespace hn = hwy::HWY_NAMESPACE;

// At most two blocks: wider vectors gain nothing here, see benchmarks/kernels.
using ByteTag = hn::CappedTag<std::uint8_t, 32>;
using ByteVector = hn::Vec<ByteTag>;
using BlockTag = hn::CappedTag<std::uint8_t, 16>;
constexpr ByteTag bytes{};
constexpr std::size_t block_size = 16;
// The number of elements per loop iteration, and the blocks that they come in.
constexpr std::size_t turn = HWY_MIN(hn::MaxLanes(ByteTag{}), 32);
constexpr std::size_t blocks = turn / block_size;

// Delta kernels work through a buffer of this many elements, which stays in the first-level cache.
constexpr std::size_t buffered = 1024;

template <std::size_t width>
HWY_INLINE void rotate(ByteVector (&v)[width]) {
  ByteVector next[width];
  for (std::size_t i = 0; i < width / 2; ++i) {
    next[2 * i] = hn::InterleaveLower(bytes, v[i], v[i + width / 2]);
    next[2 * i + 1] = hn::InterleaveUpper(bytes, v[i], v[i + width / 2]);
  }
  for (std::size_t i = 0; i < width; ++i) v[i] = next[i];
}

// Loads and stores the blocks of a vector at a stride.
template <class Vector>
HWY_INLINE void store_blocks(Vector v, std::uint8_t* to, std::size_t distance) {
  if constexpr (blocks == 1) {
    hn::StoreU(v, bytes, to);
  } else {
    hn::StoreU(hn::LowerHalf(v), BlockTag{}, to);
    hn::StoreU(hn::UpperHalf(BlockTag{}, v), BlockTag{}, to + distance);
  }
}

template <class Tag>
HWY_INLINE hn::Vec<Tag> load_blocks(Tag tag, const std::uint8_t* from, std::size_t distance) {
  if constexpr (blocks == 1) {
    return hn::LoadU(tag, from);
  } else {
    return hn::Combine(tag, hn::LoadU(BlockTag{}, from + distance), hn::LoadU(BlockTag{}, from));
  }
}

struct Same {
  template <class T>
  static HWY_INLINE ByteVector forward(ByteVector v) {
    return v;
  }
  template <class T>
  static HWY_INLINE ByteVector backward(ByteVector v) {
    return v;
  }
};

struct Zigzag {
  template <class T>
  static HWY_INLINE ByteVector forward(ByteVector v) {
    const hn::Repartition<T, ByteTag> d;
    const hn::RebindToSigned<decltype(d)> s;
    const auto value = hn::BitCast(s, v);
    const auto sign = hn::BroadcastSignBit(value);
    return hn::BitCast(bytes, hn::Xor(hn::Add(value, value), sign));
  }
  template <class T>
  static HWY_INLINE ByteVector backward(ByteVector v) {
    const hn::Repartition<T, ByteTag> d;
    const auto value = hn::BitCast(d, v);
    const auto negative = hn::Sub(hn::Zero(d), hn::And(value, hn::Set(d, T{1})));
    return hn::BitCast(bytes, hn::Xor(hn::ShiftRight<1>(value), negative));
  }
};

template <class T, class Transform>
HWY_INLINE void unsplit_turn(const std::uint8_t* planes, std::size_t stride, std::uint8_t* out) {
  constexpr std::size_t width = sizeof(T);
  ByteVector v[width];
  for (std::size_t b = 0; b < width; ++b) v[b] = hn::LoadU(bytes, planes + b * stride);
  for (std::size_t step = 1; step < width; step *= 2) rotate(v);
  for (std::size_t i = 0; i < width; ++i)
    store_blocks(Transform::template backward<T>(v[i]), out + i * block_size, width * block_size);
}

template <class T, class Transform>
HWY_INLINE void split_turn(const std::uint8_t* in, std::uint8_t* planes, std::size_t stride) {
  constexpr std::size_t width = sizeof(T);
  ByteVector v[width];
  for (std::size_t i = 0; i < width; ++i)
    v[i] = Transform::template forward<T>(load_blocks(bytes, in + i * block_size, width * block_size));
  for (std::size_t step = 1; step < block_size; step *= 2) rotate(v);
  for (std::size_t b = 0; b < width; ++b) hn::StoreU(v[b], bytes, planes + b * stride);
}

// The last iteration of a part overlaps the previous one, so that only parts shorter than an iteration are
// processed element by element.
template <class Turn>
HWY_INLINE void for_turns(std::size_t count, Turn&& work) {
  std::size_t i = 0;
  for (; i + turn <= count; i += turn) work(i);
  if (i < count) work(count - turn);
}

template <class T, class Transform>
void unsplit(const std::byte* planes, std::size_t stride, std::size_t count, void* values) {
  const auto* in = reinterpret_cast<const std::uint8_t*>(planes);
  auto* out = static_cast<std::uint8_t*>(values);
  for_turns(count,
            [&](std::size_t i) HWY_ATTR { unsplit_turn<T, Transform>(in + i, stride, out + i * sizeof(T)); });
}

template <class T, class Transform>
void split(const void* values, std::size_t count, std::byte* planes, std::size_t stride) {
  const auto* in = static_cast<const std::uint8_t*>(values);
  auto* out = reinterpret_cast<std::uint8_t*>(planes);
  for_turns(count,
            [&](std::size_t i) HWY_ATTR { split_turn<T, Transform>(in + i * sizeof(T), out + i, stride); });
}

// Parts shorter than an iteration use the reference kernel.
template <auto fast, auto Kernels::* plain>
void unsplit_any(const std::byte* planes, std::size_t stride, std::size_t count, void* values) {
  if (count < turn) return (reference_kernels().*plain)(planes, stride, count, values);
  fast(planes, stride, count, values);
}

template <auto fast, auto Kernels::* plain>
void split_any(const void* values, std::size_t count, std::byte* planes, std::size_t stride) {
  if (count < turn) return (reference_kernels().*plain)(values, count, planes, stride);
  fast(values, count, planes, stride);
}

template <class T, auto Kernels::* plain>
constexpr Kernels::Unsplit* unsplit_kernel = unsplit_any<unsplit<T, Same>, plain>;
template <class T, auto Kernels::* plain>
constexpr Kernels::Unsplit* unzigzag_kernel = unsplit_any<unsplit<T, Zigzag>, plain>;
template <class T, auto Kernels::* plain>
constexpr Kernels::Split* split_kernel = split_any<split<T, Same>, plain>;
template <class T, auto Kernels::* plain>
constexpr Kernels::Split* zigzag_kernel = split_any<split<T, Zigzag>, plain>;

template <class T, auto Kernels::* plain>
std::uint64_t unsplit_delta(const std::byte* planes, std::size_t stride, std::size_t count,
                            std::uint64_t before, std::uint64_t* values) {
  alignas(64) T differences[buffered];
  T sum = static_cast<T>(before);
  for (std::size_t first = 0; first < count; first += buffered) {
    const std::size_t part = std::min(buffered, count - first);
    unsplit_kernel<T, plain>(planes + first, stride, part, differences);
    for (std::size_t i = 0; i < part; ++i) values[first + i] = sum = static_cast<T>(sum + differences[i]);
  }
  return sum;
}

template <class T, auto Kernels::* plain>
void split_delta(const std::uint64_t* values, std::size_t count, std::uint64_t before, std::byte* planes,
                 std::size_t stride) {
  alignas(64) T differences[buffered];
  for (std::size_t first = 0; first < count; first += buffered) {
    const std::size_t part = std::min(buffered, count - first);
    const std::uint64_t* in = values + first;
    differences[0] = static_cast<T>(in[0] - before);
    for (std::size_t i = 1; i < part; ++i) differences[i] = static_cast<T>(in[i] - in[i - 1]);
    before = in[part - 1];
    split_kernel<T, plain>(differences, part, planes + first, stride);
  }
}

// Eight booleans at a time in a 64-bit word.
constexpr std::uint64_t ones = 0x0101010101010101;

void unpack_bits(const std::byte* in, std::size_t count, std::uint8_t* booleans) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    // Keep one bit in every byte, then move it down.
    const std::uint64_t spread = (static_cast<std::uint64_t>(in[i / 8]) * ones) & 0x8040201008040201;
    const std::uint64_t result = ((spread + 0x7f * ones) >> 7) & ones;
    std::memcpy(booleans + i, &result, 8);
  }
  reference_kernels().unpack_bits(in + i / 8, count - i, booleans + i);
}

void pack_bits(const std::uint8_t* booleans, std::size_t count, std::byte* out) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, booleans + i, 8);
    const std::uint64_t truth = ((((word & (0x7f * ones)) + 0x7f * ones) | word) >> 7) & ones;
    // The product moves the bit of byte j to bit 56 + j.
    out[i / 8] = static_cast<std::byte>((truth * 0x0102040810204080) >> 56);
  }
  reference_kernels().pack_bits(booleans + i, count - i, out + i / 8);
}

// Computes all cases and selects, so that the compiler vectorises the loops.
HWY_INLINE float widen(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t magnitude = half & 0x7fff;
  const std::uint32_t normal = (magnitude << 13) + (112u << 23);
  const std::uint32_t special = normal + (112u << 23);
  const auto subnormal =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24f);
  const std::uint32_t finite = magnitude < 0x400 ? subnormal : normal;
  return std::bit_cast<float>(sign | (magnitude >= 0x7c00 ? special : finite));
}

HWY_INLINE std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  const std::uint32_t normal = ((magnitude + 0xfff + ((magnitude >> 13) & 1)) >> 13) - (112u << 10);
  // The sum is rounded to multiples of 2^-24, the step of subnormal halves.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  const std::uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  std::uint32_t result = magnitude < 0x38800000 ? subnormal : normal;
  result = magnitude >= 0x47800000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? nan : result;
  return static_cast<std::uint16_t>(sign | result);
}

void half_to_float(const std::byte* halves, std::size_t count, float* values) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t half;
    std::memcpy(&half, halves + 2 * i, 2);
    values[i] = widen(half);
  }
}

void float_to_half(const float* values, std::size_t count, std::byte* halves) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t half = narrow(values[i]);
    std::memcpy(halves + 2 * i, &half, 2);
  }
}

constexpr Kernels all = {
    .unsplit16 = unsplit_kernel<std::uint16_t, &Kernels::unsplit16>,
    .unsplit32 = unsplit_kernel<std::uint32_t, &Kernels::unsplit32>,
    .unsplit64 = unsplit_kernel<std::uint64_t, &Kernels::unsplit64>,
    .unsplit_zigzag16 = unzigzag_kernel<std::uint16_t, &Kernels::unsplit_zigzag16>,
    .unsplit_zigzag32 = unzigzag_kernel<std::uint32_t, &Kernels::unsplit_zigzag32>,
    .unsplit_zigzag64 = unzigzag_kernel<std::uint64_t, &Kernels::unsplit_zigzag64>,
    .unsplit_delta32 = unsplit_delta<std::uint32_t, &Kernels::unsplit32>,
    .unsplit_delta64 = unsplit_delta<std::uint64_t, &Kernels::unsplit64>,
    .split16 = split_kernel<std::uint16_t, &Kernels::split16>,
    .split32 = split_kernel<std::uint32_t, &Kernels::split32>,
    .split64 = split_kernel<std::uint64_t, &Kernels::split64>,
    .split_zigzag16 = zigzag_kernel<std::uint16_t, &Kernels::split_zigzag16>,
    .split_zigzag32 = zigzag_kernel<std::uint32_t, &Kernels::split_zigzag32>,
    .split_zigzag64 = zigzag_kernel<std::uint64_t, &Kernels::split_zigzag64>,
    .split_delta32 = split_delta<std::uint32_t, &Kernels::split32>,
    .split_delta64 = split_delta<std::uint64_t, &Kernels::split64>,
    .unpack_bits = unpack_bits,
    .pack_bits = pack_bits,
    .half_to_float = half_to_float,
    .float_to_half = float_to_half,
};

const Kernels* table() {
  return &all;
}
#endif

}  // namespace
}  // namespace colonnade::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace colonnade::codec {

HWY_EXPORT(table);

const Kernels& kernels() noexcept {
  static const Kernels& best = *HWY_DYNAMIC_DISPATCH(table)();
  return best;
}

std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> tables;
  with_each_target([&] { tables.push_back(HWY_DYNAMIC_DISPATCH(table)()); });
  return tables;
}

}  // namespace colonnade::codec
#endif
