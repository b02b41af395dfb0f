// Zstandard chunks: tag "ZS" 1, one frame. ROOT's level n is Zstandard's 2n.
#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <memory>
#include <new>

#include "codec/compressor.h"

namespace colonnade::codec {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

ZSTD_CCtx* compression_context() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (!context) throw std::bad_alloc();
  return context.get();
}

ZSTD_DCtx* decompression_context() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (!context) throw std::bad_alloc();
  return context.get();
}

constexpr int quick_level = 3;  // Zstandard's own scale

std::size_t compress_natively(int level, ByteSpan content, MutableByteSpan out) {
  const std::size_t result =
      ZSTD_compressCCtx(compression_context(), out.data(), out.size(), content.data(), content.size(), level);
  if (!ZSTD_isError(result)) return result;
  if (ZSTD_getErrorCode(result) == ZSTD_error_dstSize_tooSmall) return 0;
  throw Error(ErrorKind::resource, fmt::format("Zstandard cannot compress: {}", ZSTD_getErrorName(result)));
}

std::size_t compress(int level, ByteSpan content, MutableByteSpan out) {
  return compress_natively(2 * level, content, out);
}

std::size_t compress_quickly(ByteSpan content, MutableByteSpan out) {
  return compress_natively(quick_level, content, out);
}

void decompress(ByteSpan chunk, MutableByteSpan content) {
  const std::size_t result = ZSTD_decompressDCtx(decompression_context(), content.data(), content.size(),
                                                 chunk.data(), chunk.size());
  if (ZSTD_isError(result)) {
    const bool sum = ZSTD_getErrorCode(result) == ZSTD_error_checksum_wrong;
    throw Error(sum ? ErrorKind::checksum : ErrorKind::format,
                fmt::format("the Zstandard data is damaged: {}", ZSTD_getErrorName(result)));
  }
  if (result != content.size())
    throw Error(ErrorKind::format, fmt::format("the Zstandard data expands to {} bytes where {} are right",
                                               result, content.size()));
}

}  // namespace

const Compressor zstd_compressor = {"zstd", {'Z', 'S', 1}, compress, compress_quickly, decompress};

}  // namespace colonnade::codec
