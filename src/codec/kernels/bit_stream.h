// A stream of unsigned integers of 1 to 32 bits each, least significant bit first, as Real32Trunc and
// Real32Quant pages store them: value i occupies bits i * width to (i + 1) * width - 1 of the page.
#ifndef COLONNADE_CODEC_KERNELS_BIT_STREAM_H
#define COLONNADE_CODEC_KERNELS_BIT_STREAM_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace colonnade::codec {

// Reads values in order, starting with value `first`. The caller requests no more than the page holds.
class BitReader {
 public:
  BitReader(ByteSpan page, std::size_t first, unsigned width) noexcept
      : page_(page), bit_(first * width), width_(width), mask_((std::uint64_t{1} << width) - 1) {}

  void read(std::size_t count, std::uint32_t* values) noexcept {
    std::size_t i = 0;
    for (; i < count && bit_ / 8 + 8 <= page_.size(); ++i) values[i] = extract(load_le<std::uint64_t>(at()));
    for (; i < count; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, at(), page_.size() - bit_ / 8);
      values[i] = extract(word);
    }
  }

 private:
  const std::byte* at() const noexcept { return page_.data() + bit_ / 8; }
  std::uint32_t extract(std::uint64_t word) noexcept {
    const auto value = static_cast<std::uint32_t>((word >> (bit_ % 8)) & mask_);
    bit_ += width_;
    return value;
  }

  ByteSpan page_;
  std::size_t bit_;
  unsigned width_;
  std::uint64_t mask_;
};

// Writes values in order, starting with value `first`, which must begin on a byte. finish() pads with zeros
// to a byte.
class BitWriter {
 public:
  BitWriter(MutableByteSpan page, std::size_t first, unsigned width) noexcept
      : to_(page.data() + first * width / 8), width_(width) {}

  // The values have no bits above the width.
  void write(std::size_t count, const std::uint32_t* values) noexcept {
    for (std::size_t i = 0; i < count; ++i) put(values[i]);
  }
  void finish() noexcept { std::memcpy(to_, &word_, (used_ + 7) / 8); }

 private:
  void put(std::uint32_t value) noexcept {
    word_ |= std::uint64_t{value} << used_;
    used_ += width_;
    if (used_ < 32) return;
    store_le(to_, static_cast<std::uint32_t>(word_));
    to_ += 4;
    word_ >>= 32;
    used_ -= 32;
  }
  std::byte* to_;
  unsigned width_;
  std::uint64_t word_ = 0;
  unsigned used_ = 0;
};

}  // namespace colonnade::codec

#endif
