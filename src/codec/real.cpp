// Real column types that are narrower than float32.
//
// Real16       IEEE half precision, rounded to nearest even; too large a value becomes infinity.
// SplitReal16  the same in two byte planes.
// Real32Trunc  the upper `bits` bits of a float32, one after the other in a bit stream, least significant bit
// first. Real32Quant  integers of `bits` bits in the same bit stream: 0 stands for min, 2^bits - 1 for max.
//
// The quantisation is done in double precision with one rounding per operation, in this order, because every
// reader must find the same value; fused multiply-add would change the last bit (the build disables
// contraction).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "codec/family.h"
#include "codec/kernels/bit_stream.h"
#include "codec/kernels/kernels.h"

namespace colonnade::codec {
namespace {

// Calls work(offset, part) for parts of a range that fit a small buffer.
constexpr std::size_t part_elements = 1024;

template <class Work>
void in_parts(std::size_t count, Work&& work) {
  for (std::size_t done = 0; done < count; done += part_elements)
    work(done, std::min(part_elements, count - done));
}

void unpack_half(const UnpackRange& range, void* stored) {
  kernels().half_to_float(range.packed.data() + range.first * 2, range.count, static_cast<float*>(stored));
}

void pack_half(const PackRange& range, const void* stored) {
  kernels().float_to_half(static_cast<const float*>(stored), range.count,
                          range.packed.data() + range.first * 2);
}

void unpack_split_half(const UnpackRange& range, void* stored) {
  alignas(64) std::array<std::uint16_t, part_elements> halves;
  auto* out = static_cast<float*>(stored);
  in_parts(range.count, [&](std::size_t done, std::size_t part) {
    kernels().unsplit16(range.packed.data() + range.first + done, range.elements, part, halves.data());
    kernels().half_to_float(reinterpret_cast<const std::byte*>(halves.data()), part, out + done);
  });
}

void pack_split_half(const PackRange& range, const void* stored) {
  alignas(64) std::array<std::uint16_t, part_elements> halves;
  const auto* in = static_cast<const float*>(stored);
  in_parts(range.count, [&](std::size_t done, std::size_t part) {
    kernels().float_to_half(in + done, part, reinterpret_cast<std::byte*>(halves.data()));
    kernels().split16(halves.data(), part, range.packed.data() + range.first + done, range.elements);
  });
}

using Integers = std::array<std::uint32_t, part_elements>;

void unpack_truncated(const UnpackRange& range, void* stored) {
  alignas(64) Integers integers;
  auto* out = static_cast<float*>(stored);
  const unsigned lost = 32u - range.encoding.bits;
  BitReader bits(range.packed, range.first, range.encoding.bits);
  in_parts(range.count, [&](std::size_t done, std::size_t part) {
    bits.read(part, integers.data());
    for (std::size_t i = 0; i < part; ++i) out[done + i] = std::bit_cast<float>(integers[i] << lost);
  });
}

void pack_truncated(const PackRange& range, const void* stored) {
  alignas(64) Integers integers;
  const auto* in = static_cast<const float*>(stored);
  const unsigned lost = 32u - range.encoding.bits;
  BitWriter bits(range.packed, range.first, range.encoding.bits);
  in_parts(range.count, [&](std::size_t done, std::size_t part) {
    for (std::size_t i = 0; i < part; ++i) integers[i] = std::bit_cast<std::uint32_t>(in[done + i]) >> lost;
    bits.write(part, integers.data());
  });
  bits.finish();
}

double largest_integer(const ColumnEncoding& encoding) {
  return static_cast<double>((std::uint64_t{1} << encoding.bits) - 1);
}

void unpack_quantised(const UnpackRange& range, void* stored) {
  alignas(64) Integers integers;
  auto* out = static_cast<double*>(stored);
  const double min = range.encoding.min;
  const double max = range.encoding.max;
  const double scale = (max - min) / largest_integer(range.encoding);
  BitReader bits(range.packed, range.first, range.encoding.bits);
  in_parts(range.count, [&](std::size_t done, std::size_t part) {
    bits.read(part, integers.data());
    for (std::size_t i = 0; i < part; ++i) {
      const double value = static_cast<double>(integers[i]) * scale + min;
      out[done + i] = std::min(value, max);
    }
  });
}

// `first` is the position of the first value in the page, for the error.
void quantise(const ColumnEncoding& encoding, const double* values, std::size_t count, std::size_t first,
              std::uint32_t* integers) {
  const double min = encoding.min;
  const double max = encoding.max;
  const double scale = largest_integer(encoding) / (max - min);
  for (std::size_t i = 0; i < count; ++i) {
    if (!(min <= values[i] && values[i] <= max))
      throw Error(ErrorKind::conversion,
                  fmt::format("element {} of the page is {}, outside of the column's range {} to {}",
                              first + i, values[i], min, max),
                  "widen the range of the column or clamp the values");
    // Via a signed integer: the value is below 2^33, and this conversion is one instruction
    // everywhere.
    integers[i] = static_cast<std::uint32_t>(static_cast<std::int64_t>(0.5 + (values[i] - min) * scale));
  }
}

void pack_quantised(const PackRange& range, const void* stored) {
  alignas(64) Integers integers;
  const auto* in = static_cast<const double*>(stored);
  BitWriter bits(range.packed, range.first, range.encoding.bits);
  in_parts(range.count, [&](std::size_t done, std::size_t part) {
    quantise(range.encoding, in + done, part, range.first + done, integers.data());
    bits.write(part, integers.data());
  });
  bits.finish();
}

// The nearest float; the number itself where that is infinite.
double as_float(double number) {
  const bool fits = std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max());
  return fits ? static_cast<double>(static_cast<float>(number)) : number;
}

}  // namespace

// Decoding may have rounded an end of the range to a float outside of it.
void move_rounded_ends(const ColumnEncoding& encoding, double* values, std::size_t count) {
  const double min = encoding.min;
  const double max = encoding.max;
  const double rounded_min = as_float(min);
  const double rounded_max = as_float(max);
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] < min && values[i] == rounded_min) values[i] = min;
    if (values[i] > max && values[i] == rounded_max) values[i] = max;
  }
}

Family real_family(ColumnType type) {
  switch (type) {
    case ColumnType::real16:
      return {ElementType::float32, unpack_half, pack_half};
    case ColumnType::split_real16:
      return {ElementType::float32, unpack_split_half, pack_split_half};
    case ColumnType::real32_trunc:
      return {ElementType::float32, unpack_truncated, pack_truncated};
    default:
      return {ElementType::float64, unpack_quantised, pack_quantised};
  }
}

}  // namespace colonnade::codec
