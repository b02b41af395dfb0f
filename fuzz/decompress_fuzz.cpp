// Compression blocks from outside. The first two bytes are the requested content size; the rest is
// the block. Content that decompresses without an error must survive compression with every
// algorithm.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "codec/compression.h"

using namespace colonnade;
using namespace colonnade::codec;

namespace {

void require_round_trip(ByteSpan content, CompressionSettings settings) {
  AlignedBuffer block;
  compress(settings, content, block);
  AlignedBuffer again(content.size());
  decompress(block.span(), again.span());
  if (!content.empty() && std::memcmp(content.data(), again.data(), content.size()) != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t content_size = data[0] | static_cast<std::size_t>(data[1]) << 8;
  const ByteSpan block(reinterpret_cast<const std::byte*>(data) + 2, size - 2);
  AlignedBuffer content(content_size);
  AlignedBuffer grown;
  const auto succeeds = [](auto&& work) {
    try {
      work();
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  const bool is_good = succeeds([&] { decompress(block, content.span()); });
  if (succeeds([&] { decompress_growing(block, content_size, grown); }) != is_good) std::abort();
  if (!is_good) return 0;
  if (!std::ranges::equal(content.span(), grown.span())) std::abort();
  for (const auto algorithm : {Algorithm::zlib, Algorithm::lzma, Algorithm::lz4, Algorithm::zstd})
    require_round_trip(content.span(), {algorithm, 1});
  return 0;
}
