// decompress() restores what compress() makes of any content, with planes of any size. The input is
// algorithm, level, width, kind of filling and share of rare values; its other bytes are repeated and
// disturbed into a content large enough for planes, noise and repeats to meet.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "codec/compression.h"

namespace {

using namespace colonnade;

constexpr codec::Algorithm algorithms[] = {codec::Algorithm::zlib, codec::Algorithm::lz4,
                                           codec::Algorithm::zstd, codec::Algorithm::lzma};
constexpr std::size_t widths[] = {0, 2, 4, 8};

// Planes that are, in turn, the input's bytes repeated, noise, and noise of few values.
Bytes fill(const std::uint8_t* data, std::size_t size, std::size_t elements, std::size_t width,
           unsigned kinds, std::uint32_t rarity) {
  std::mt19937 random(static_cast<std::uint32_t>(kinds) * 2654435761u + static_cast<std::uint32_t>(size));
  Bytes content(elements * std::max<std::size_t>(width, 1));
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::size_t plane = i / elements;
    const unsigned kind = (kinds >> (2 * plane)) & 3;
    const std::uint8_t own = size > 0 ? data[i % size] : 0;
    const std::uint32_t noise = kind == 0 ? 0 : random();
    const std::uint32_t values[] = {own, noise, noise & own, noise % rarity == 0 ? noise >> 8 : own};
    content[i] = static_cast<std::byte>(values[kind]);
  }
  return content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8) return 0;
  const codec::CompressionSettings settings{algorithms[data[0] % 4], 1 + data[1] % 9};
  const std::size_t width = widths[data[2] % 4];
  const std::size_t elements = 1 + (data[3] | data[4] << 8) % 20000;
  const Bytes content = fill(data + 8, size - 8, elements, width, data[5] | data[6] << 8, 2 + data[7] % 64u);
  AlignedBuffer block;
  codec::compress(settings, content, block, width > 0 ? elements : 0);
  Bytes back(content.size());
  codec::decompress(block.span(), back);
  if (back != content) std::abort();
  return 0;
}
