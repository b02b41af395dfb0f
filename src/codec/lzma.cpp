// LZMA chunks: tag "XZ" 0, one .xz stream with a CRC-32. The level is the preset; as in ROOT, the dictionary
// is limited to a quarter of the content, because a preset's dictionary costs up to 64 MiB.
#include <fmt/format.h>
#include <lzma.h>

#include <algorithm>
#include <new>

#include "codec/compressor.h"

namespace colonnade::codec {
namespace {

// The dictionary of the highest preset is 64 MiB; a stream that needs more than that and some state is
// refused.
constexpr std::uint64_t memory_limit = std::uint64_t{80} << 20;

// liblzma reuses the memory of a stream that is initialised again.
struct Stream {
  lzma_stream state = LZMA_STREAM_INIT;
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { lzma_end(&state); }

  lzma_ret run(ByteSpan in, MutableByteSpan out) {
    state.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    state.avail_in = in.size();
    state.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state.avail_out = out.size();
    return lzma_code(&state, LZMA_FINISH);
  }
};

std::size_t compress(int level, const ChunkContent& piece, MutableByteSpan out) {
  const ByteSpan content = piece.rest;
  lzma_options_lzma options;
  if (lzma_lzma_preset(&options, static_cast<std::uint32_t>(level)))
    throw Error(ErrorKind::usage, fmt::format("LZMA has no level {}", level));
  const auto quarter = static_cast<std::uint32_t>(content.size() / 4);
  options.dict_size = std::min(options.dict_size, std::max<std::uint32_t>(quarter, LZMA_DICT_SIZE_MIN));
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  thread_local Stream stream;
  lzma_ret result = lzma_stream_encoder(&stream.state, filters, LZMA_CHECK_CRC32);
  if (result == LZMA_OK) result = stream.run(content, out);
  if (result == LZMA_STREAM_END) return out.size() - stream.state.avail_out;
  if (result == LZMA_OK) return 0;  // the output is full
  if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
  throw Error(ErrorKind::resource,
              fmt::format("LZMA cannot compress: liblzma error {}", static_cast<int>(result)));
}

lzma_ret decode(Stream& stream, ByteSpan chunk, MutableByteSpan content, std::uint32_t flags) {
  const lzma_ret result = lzma_stream_decoder(&stream.state, memory_limit, flags);
  return result == LZMA_OK ? stream.run(chunk, content) : result;
}

// liblzma does not distinguish a wrong checksum from bad data: test the data without the checksum.
bool only_sum_is_wrong(Stream& stream, ByteSpan chunk, MutableByteSpan content) {
  return decode(stream, chunk, content, LZMA_IGNORE_CHECK) == LZMA_STREAM_END && stream.state.avail_out == 0;
}

void decompress_chunk(ByteSpan chunk, MutableByteSpan content, ChunkSums) {
  thread_local Stream stream;
  switch (const lzma_ret result = decode(stream, chunk, content, 0)) {
    case LZMA_STREAM_END:
      break;
    case LZMA_MEM_ERROR:
      throw std::bad_alloc();
    case LZMA_MEMLIMIT_ERROR:
      throw Error(ErrorKind::resource,
                  fmt::format("the LZMA data asks for {} bytes of memory, more than the {} allowed",
                              lzma_memusage(&stream.state), memory_limit));
    case LZMA_DATA_ERROR:
      if (only_sum_is_wrong(stream, chunk, content))
        throw Error(ErrorKind::checksum, "the checksum of the LZMA data is wrong");
      throw Error(ErrorKind::format, "the LZMA data is damaged");
    case LZMA_OK:
    case LZMA_BUF_ERROR:
      throw Error(ErrorKind::format,
                  stream.state.avail_out == 0
                      ? fmt::format("the LZMA data expands to more than {} bytes", content.size())
                      : std::string("the LZMA data is cut short"));
    default:
      throw Error(ErrorKind::format,
                  fmt::format("the LZMA data is damaged: liblzma error {}", static_cast<int>(result)));
  }
  if (stream.state.avail_out != 0)
    throw Error(ErrorKind::format, fmt::format("the LZMA data expands to {} bytes instead of {}",
                                               content.size() - stream.state.avail_out, content.size()));
  if (stream.state.avail_in != 0)
    throw Error(ErrorKind::format, fmt::format("the LZMA data ends after {} of {} bytes",
                                               chunk.size() - stream.state.avail_in, chunk.size()));
}

}  // namespace

const Compressor lzma_compressor = {"lzma", {'X', 'Z', 0}, compress, decompress_chunk};

}  // namespace colonnade::codec
