// The plain definition of every kernel: one element at a time, one byte at a time. Tests compare the fast
// kernels with it.
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/bytes.h"
#include "codec/kernels/kernels.h"

namespace colonnade::codec {
namespace {

template <class T>
T gather(const std::byte* planes, std::size_t stride, std::size_t i) {
  T value = 0;
  for (std::size_t b = 0; b < sizeof(T); ++b)
    value = static_cast<T>(value | (static_cast<T>(planes[b * stride + i]) << (8 * b)));
  return value;
}

template <class T>
void scatter(T value, std::byte* planes, std::size_t stride, std::size_t i) {
  for (std::size_t b = 0; b < sizeof(T); ++b)
    planes[b * stride + i] = static_cast<std::byte>(value >> (8 * b));
}

template <class T>
T zigzag(T value) {
  const bool negative = (value >> (8 * sizeof(T) - 1)) != 0;
  return static_cast<T>(negative ? ~(value << 1) : value << 1);
}

template <class T>
T unzigzag(T value) {
  return static_cast<T>((value & 1) != 0 ? ~(value >> 1) : value >> 1);
}

template <class T>
T same(T value) {
  return value;
}

template <class T, T (*transform)(T)>
void unsplit(const std::byte* planes, std::size_t stride, std::size_t count, void* values) {
  auto* out = static_cast<std::byte*>(values);
  for (std::size_t i = 0; i < count; ++i)
    store_le(out + i * sizeof(T), transform(gather<T>(planes, stride, i)));
}

template <class T, T (*transform)(T)>
void split(const void* values, std::size_t count, std::byte* planes, std::size_t stride) {
  const auto* in = static_cast<const std::byte*>(values);
  for (std::size_t i = 0; i < count; ++i)
    scatter(transform(load_le<T>(in + i * sizeof(T))), planes, stride, i);
}

template <class T>
std::uint64_t unsplit_delta(const std::byte* planes, std::size_t stride, std::size_t count,
                            std::uint64_t before, std::uint64_t* values) {
  T sum = static_cast<T>(before);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = sum = static_cast<T>(sum + gather<T>(planes, stride, i));
  return sum;
}

template <class T>
void split_delta(const std::uint64_t* values, std::size_t count, std::uint64_t before, std::byte* planes,
                 std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    scatter(static_cast<T>(values[i] - before), planes, stride, i);
    before = values[i];
  }
}

// Separates sign, exponent and fraction; a subnormal half is a normal float.
float widen(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  std::uint32_t exponent = (half >> 10) & 0x1f;
  std::uint32_t fraction = half & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0 && fraction == 0) return std::bit_cast<float>(sign);
  if (exponent == 0) {
    const int shift = std::countl_zero(fraction) - 21;
    fraction = (fraction << shift) & 0x3ff;
    exponent = static_cast<std::uint32_t>(1 - shift);
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  if (magnitude >= 0x47800000) return static_cast<std::uint16_t>(sign | 0x7c00);
  const int exponent = static_cast<int>(magnitude >> 23) - 112;
  if (exponent < -10) return sign;
  // The significand with its leading one, shifted so that the half's last bit is bit 0; the rest decides the
  // rounding.
  const std::uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
  const int shift = exponent > 0 ? 13 : 14 - exponent;
  std::uint32_t result = significand >> shift;
  const std::uint32_t rest = significand & ((1u << shift) - 1);
  const std::uint32_t half = 1u << (shift - 1);
  if (rest > half || (rest == half && (result & 1) != 0)) ++result;
  if (exponent > 0) result += static_cast<std::uint32_t>(exponent - 1) << 10;
  return static_cast<std::uint16_t>(sign | result);
}

void unpack_bits(const std::byte* bits, std::size_t count, std::uint8_t* booleans) {
  for (std::size_t i = 0; i < count; ++i) booleans[i] = (static_cast<unsigned>(bits[i / 8]) >> (i % 8)) & 1;
}

void pack_bits(const std::uint8_t* booleans, std::size_t count, std::byte* bits) {
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 8 == 0) bits[i / 8] = std::byte{0};
    if (booleans[i] != 0) bits[i / 8] |= static_cast<std::byte>(1u << (i % 8));
  }
}

void half_to_float(const std::byte* halves, std::size_t count, float* values) {
  for (std::size_t i = 0; i < count; ++i) values[i] = widen(load_le<std::uint16_t>(halves + 2 * i));
}

void float_to_half(const float* values, std::size_t count, std::byte* halves) {
  for (std::size_t i = 0; i < count; ++i) store_le(halves + 2 * i, narrow(values[i]));
}

constexpr Kernels table = {
    .unsplit16 = unsplit<std::uint16_t, same>,
    .unsplit32 = unsplit<std::uint32_t, same>,
    .unsplit64 = unsplit<std::uint64_t, same>,
    .unsplit_zigzag16 = unsplit<std::uint16_t, unzigzag>,
    .unsplit_zigzag32 = unsplit<std::uint32_t, unzigzag>,
    .unsplit_zigzag64 = unsplit<std::uint64_t, unzigzag>,
    .unsplit_delta32 = unsplit_delta<std::uint32_t>,
    .unsplit_delta64 = unsplit_delta<std::uint64_t>,
    .split16 = split<std::uint16_t, same>,
    .split32 = split<std::uint32_t, same>,
    .split64 = split<std::uint64_t, same>,
    .split_zigzag16 = split<std::uint16_t, zigzag>,
    .split_zigzag32 = split<std::uint32_t, zigzag>,
    .split_zigzag64 = split<std::uint64_t, zigzag>,
    .split_delta32 = split_delta<std::uint32_t>,
    .split_delta64 = split_delta<std::uint64_t>,
    .unpack_bits = unpack_bits,
    .pack_bits = pack_bits,
    .half_to_float = half_to_float,
    .float_to_half = float_to_half,
};

}  // namespace

const Kernels& reference_kernels() noexcept {
  return table;
}

}  // namespace colonnade::codec
