// Deflate chunks: "ZL" 8 holds a zlib stream, the legacy "CS" 8 a raw deflate stream; the latter is only
// read.
#include <fmt/format.h>
#include <libdeflate.h>

#include <array>
#include <memory>
#include <new>

#include "codec/compressor.h"

namespace colonnade::codec {
namespace {

struct FreeContext {
  void operator()(libdeflate_compressor* context) const noexcept { libdeflate_free_compressor(context); }
  void operator()(libdeflate_decompressor* context) const noexcept { libdeflate_free_decompressor(context); }
};

constexpr int highest_level = 9;

// A context of libdeflate is made for one level.
libdeflate_compressor* compression_context(int level) {
  thread_local std::array<std::unique_ptr<libdeflate_compressor, FreeContext>, highest_level + 1> contexts;
  auto& context = contexts.at(static_cast<std::size_t>(level));
  if (!context) context.reset(libdeflate_alloc_compressor(level));
  if (!context) throw std::bad_alloc();
  return context.get();
}

libdeflate_decompressor* decompression_context() {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeContext> context(
      libdeflate_alloc_decompressor());
  if (!context) throw std::bad_alloc();
  return context.get();
}

// What libdeflate's two decompressors have in common.
using Decompress = decltype(&libdeflate_zlib_decompress_ex);

struct Outcome {
  libdeflate_result result = LIBDEFLATE_BAD_DATA;
  std::size_t read = 0;
  std::size_t written = 0;
};

Outcome run(Decompress function, ByteSpan chunk, MutableByteSpan content) {
  Outcome outcome;
  outcome.result = function(decompression_context(), chunk.data(), chunk.size(), content.data(),
                            content.size(), &outcome.read, &outcome.written);
  return outcome;
}

void require_exact(const char* name, const Outcome& outcome, ByteSpan chunk, MutableByteSpan content) {
  if (outcome.result == LIBDEFLATE_INSUFFICIENT_SPACE)
    throw Error(ErrorKind::format,
                fmt::format("the {} data expands to more than {} bytes", name, content.size()));
  if (outcome.result != LIBDEFLATE_SUCCESS)
    throw Error(ErrorKind::format, fmt::format("the {} data is damaged", name));
  if (outcome.written != content.size())
    throw Error(ErrorKind::format, fmt::format("the {} data expands to {} bytes where {} are right", name,
                                               outcome.written, content.size()));
  if (outcome.read != chunk.size())
    throw Error(ErrorKind::format,
                fmt::format("the {} data ends after {} of {} bytes", name, outcome.read, chunk.size()));
}

std::size_t compress_zlib(int level, ByteSpan content, MutableByteSpan out) {
  return libdeflate_zlib_compress(compression_context(level), content.data(), content.size(), out.data(),
                                  out.size());
}

// libdeflate does not tell a wrong Adler-32 from bad data: see whether the deflate stream alone is good.
bool only_sum_is_wrong(ByteSpan chunk, MutableByteSpan content) {
  constexpr std::size_t header_size = 2;
  constexpr std::size_t sum_size = 4;
  if (chunk.size() < header_size + sum_size) return false;
  const ByteSpan stream = chunk.subspan(header_size, chunk.size() - header_size - sum_size);
  const Outcome outcome = run(&libdeflate_deflate_decompress_ex, stream, content);
  return outcome.result == LIBDEFLATE_SUCCESS && outcome.read == stream.size() &&
         outcome.written == content.size() &&
         byte_swap(load_le<std::uint32_t>(chunk.data() + chunk.size() - sum_size)) !=
             libdeflate_adler32(1, content.data(), content.size());
}

void decompress_zlib(ByteSpan chunk, MutableByteSpan content) {
  const Outcome outcome = run(&libdeflate_zlib_decompress_ex, chunk, content);
  if (outcome.result == LIBDEFLATE_BAD_DATA && only_sum_is_wrong(chunk, content))
    throw Error(ErrorKind::checksum, "the zlib data has another Adler-32 than was written");
  require_exact("zlib", outcome, chunk, content);
}

void decompress_old(ByteSpan chunk, MutableByteSpan content) {
  require_exact("old deflate", run(&libdeflate_deflate_decompress_ex, chunk, content), chunk, content);
}

}  // namespace

const Compressor zlib_compressor = {"zlib", {'Z', 'L', 8}, compress_zlib, nullptr, decompress_zlib};
const Compressor old_deflate_compressor = {"old deflate", {'C', 'S', 8}, nullptr, nullptr, decompress_old};

}  // namespace colonnade::codec
