// Compression settings and the framing of compression blocks. A block is a sequence of chunks:
//
//   | tag (3) | compressed size (3) | uncompressed size (3) | compressed bytes | next chunk ...
//
// Sizes are little-endian and exclude the header. Readers recognise an uncompressed block by its size
// alone, and some insist that every chunk, header included, is smaller than its content; so a block
// with a chunk that does not shrink is stored uncompressed. Content is cut into chunks of about equal
// size.
#include "codec/compression.h"

#include <fmt/format.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // XXH3 with the widest registers of this processor
#else
#include <xxhash.h>
#endif

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <new>
#include <vector>

#include "base/huge_pages.h"
#include "codec/checksum.h"
#include "codec/compressor.h"
#include "codec/planes.h"

namespace colonnade::codec {
namespace {

constexpr std::size_t header_size = 9;
constexpr std::size_t max_chunk = (std::size_t{1} << 24) - 1;

// The initial allocation of decompress_growing(): most valid blocks fit, so that their content is never
// moved.
constexpr std::uint64_t least_room = std::uint64_t{1} << 20;
constexpr std::uint64_t usual_ratio = 64;

constexpr std::array<const Compressor*, 5> compressors = {&zstd_compressor, &lz4_compressor, &zlib_compressor,
                                                          &old_deflate_compressor, &lzma_compressor};

struct AlgorithmRow {
  Algorithm algorithm;
  std::string_view name;
  int default_level;  // ROOT's
  const Compressor* compressor;
};

constexpr std::array<AlgorithmRow, 5> algorithms = {{
    {Algorithm::none, "none", 0, nullptr},
    {Algorithm::zlib, "zlib", 1, &zlib_compressor},
    {Algorithm::lzma, "lzma", 7, &lzma_compressor},
    {Algorithm::lz4, "lz4", 4, &lz4_compressor},
    {Algorithm::zstd, "zstd", 5, &zstd_compressor},
}};

constexpr const char* choices =
    "one of none, zlib, lzma, lz4, zstd, with a level from 1 to 9 as in \"zstd:5\", or ROOT's number as in "
    "\"505\"";

const AlgorithmRow* find(Algorithm algorithm) noexcept {
  const auto* row = std::find_if(algorithms.begin(), algorithms.end(),
                                 [&](const AlgorithmRow& r) { return r.algorithm == algorithm; });
  return row == algorithms.end() ? nullptr : row;
}

const AlgorithmRow* find(std::string_view name) noexcept {
  const auto* row = std::find_if(algorithms.begin(), algorithms.end(),
                                 [&](const AlgorithmRow& r) { return r.name == name; });
  return row == algorithms.end() ? nullptr : row;
}

// The whole text as a small number, or -1.
int parse_number(std::string_view text) noexcept {
  int number = -1;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() && number >= 0 ? number : -1;
}

void store_size(std::byte* to, std::size_t size) noexcept {
  for (std::size_t i = 0; i < 3; ++i) to[i] = static_cast<std::byte>(size >> (8 * i));
}

std::size_t load_size(const std::byte* from) noexcept {
  std::size_t size = 0;
  for (std::size_t i = 0; i < 3; ++i) size |= static_cast<std::size_t>(from[i]) << (8 * i);
  return size;
}

// Writes one chunk into `out`; 0 if it does not fit.
std::size_t write_chunk(const Compressor& compressor, int level, const ChunkContent& piece,
                        MutableByteSpan out) {
  if (out.size() <= header_size) return 0;
  const std::size_t size = compressor.compress(level, piece, out.subspan(header_size));
  if (size == 0) return 0;
  std::memcpy(out.data(), compressor.tag.data(), compressor.tag.size());
  store_size(out.data() + 3, size);
  store_size(out.data() + 6, piece.noise.size() + piece.rest.size());
  return header_size + size;
}

// Writes all chunks into `out`, which is as large as `content`; returns 0 if a chunk does not shrink.
std::size_t write_chunks(const Compressor& compressor, int level, ByteSpan content, MutableByteSpan out) {
  const std::size_t chunks = (content.size() + max_chunk - 1) / max_chunk;
  const std::size_t chunk_size = chunks == 0 ? 0 : (content.size() + chunks - 1) / chunks;
  std::size_t written = 0;
  while (!content.empty()) {
    const ByteSpan part = content.first(std::min(chunk_size, content.size()));
    const std::size_t size =
        write_chunk(compressor, level, {{}, part}, out.subspan(written, part.size() - 1));
    if (size == 0) return 0;
    written += size;
    content = content.subspan(part.size());
  }
  return written;
}

// The same with one chunk per plane.
std::size_t write_planes(const Compressor& compressor, int level, const std::vector<ChunkContent>& pieces,
                         MutableByteSpan out) {
  std::size_t written = 0;
  for (const ChunkContent& piece : pieces) {
    const std::size_t limit = piece.noise.size() + piece.rest.size() - 1;
    const std::size_t size = write_chunk(compressor, level, piece, out.subspan(written, limit));
    if (size == 0) return 0;
    written += size;
  }
  return written;
}

std::size_t write_block(const Compressor& compressor, int level, ByteSpan content, std::size_t plane_size,
                        MutableByteSpan out) {
  const bool whole = plane_size == 0 && compressor.planes.whole_pages;
  if (whole) plane_size = content.size();
  if (level >= compressor.planes.from_level && plane_size >= min_plane_size && content.size() <= max_chunk) {
    std::vector<ChunkContent> pieces = cut_planes(content, plane_size, compressor.planes, level, out);
    for (ChunkContent& piece : pieces) piece.doubtful = whole;
    const std::size_t size = write_planes(compressor, level, pieces, out);
    if (size != 0 || pieces.empty()) return size;
  }
  return write_chunks(compressor, level, content, out);
}

const Compressor& compressor_of(const std::byte* tag) {
  for (const Compressor* compressor : compressors)
    if (std::memcmp(tag, compressor->tag.data(), compressor->tag.size()) == 0) return *compressor;
  throw Error(ErrorKind::format,
              fmt::format("a compressed chunk begins with {:02x} {:02x} {:02x}, which is not a known "
                          "compression algorithm",
                          static_cast<unsigned>(tag[0]), static_cast<unsigned>(tag[1]),
                          static_cast<unsigned>(tag[2])));
}

struct ChunkHeader {
  const Compressor* compressor;
  std::size_t size;
  std::size_t content_size;
};

// Reads the header of the first chunk of `block`; `left` bytes of the content are still missing.
ChunkHeader read_chunk_header(ByteSpan block, std::uint64_t left) {
  if (block.size() < header_size)
    throw Error(ErrorKind::format,
                fmt::format("a compressed chunk needs a header of {} bytes, but only {} are left; {} "
                            "bytes of content are missing",
                            header_size, block.size(), left));
  const ChunkHeader header{&compressor_of(block.data()), load_size(block.data() + 3),
                           load_size(block.data() + 6)};
  if (header.size > block.size() - header_size)
    throw Error(ErrorKind::format,
                fmt::format("a chunk of {} bytes ({}) reaches past the {} bytes left in its block",
                            header.size, header.compressor->name, block.size() - header_size));
  if (header.content_size == 0 || header.content_size > left)
    throw Error(ErrorKind::format, fmt::format("a chunk ({}) says it holds {} bytes, but {} are missing",
                                               header.compressor->name, header.content_size, left));
  return header;
}

void make_room(AlignedBuffer& content, std::uint64_t size) {
  if (size <= content.capacity()) return;
  content.reserve(static_cast<std::size_t>(size));
  prefer_huge_pages(content.data(), content.capacity());  // page lists of many columns and clusters are large
}

void check_block_size(ByteSpan block, std::uint64_t content_size) {
  if (block.size() > content_size)
    throw Error(ErrorKind::format, fmt::format("a compressed block has {} bytes for {} bytes of content",
                                               block.size(), content_size));
}

void check_end(ByteSpan block) {
  if (!block.empty())
    throw Error(ErrorKind::format,
                fmt::format("{} bytes follow the last chunk of a compressed block", block.size()));
}

// Decompresses the first chunk of `block` to the start of `content`, and removes both from the spans.
void read_chunk(ByteSpan& block, MutableByteSpan& content, ChunkSums sums) {
  const ChunkHeader header = read_chunk_header(block, content.size());
  header.compressor->decompress(block.subspan(header_size, header.size), content.first(header.content_size),
                                sums);
  block = block.subspan(header_size + header.size);
  content = content.subspan(header.content_size);
}

}  // namespace

std::uint32_t CompressionSettings::to_root() const noexcept {
  if (algorithm == Algorithm::none) return 0;
  return static_cast<std::uint32_t>(algorithm) * 100 + static_cast<std::uint32_t>(level);
}

CompressionSettings CompressionSettings::from_root(std::uint32_t setting) {
  const std::uint32_t number = setting / 100;
  const auto level = static_cast<int>(setting % 100);
  if (level == 0 && number <= 5) return {Algorithm::none, 0};
  const AlgorithmRow* row = number <= 5 ? find(static_cast<Algorithm>(number)) : nullptr;
  if (row == nullptr || row->compressor == nullptr || level > 9)
    throw Error(ErrorKind::usage, fmt::format("{} is not a compression setting", setting), choices);
  return {row->algorithm, level};
}

CompressionSettings CompressionSettings::parse(std::string_view text) {
  if (const int number = parse_number(text); number >= 0)
    return from_root(static_cast<std::uint32_t>(number));
  const std::size_t colon = text.find(':');
  const AlgorithmRow* row = find(text.substr(0, colon));
  if (row == nullptr)
    throw Error(ErrorKind::usage, fmt::format("\"{}\" is not a compression setting", text), choices);
  if (colon == std::string_view::npos) return {row->algorithm, row->default_level};
  const int level = parse_number(text.substr(colon + 1));
  const bool allowed = row->algorithm == Algorithm::none ? level == 0 : level >= 1 && level <= 9;
  if (!allowed)
    throw Error(ErrorKind::usage, fmt::format("\"{}\" has no level that {} knows", text, row->name), choices);
  return {row->algorithm, level};
}

std::string CompressionSettings::to_string() const {
  const AlgorithmRow* row = find(algorithm);
  if (row == nullptr) return fmt::format("{}:{}", static_cast<unsigned>(algorithm), level);
  return row->compressor == nullptr ? std::string(row->name) : fmt::format("{}:{}", row->name, level);
}

std::size_t compress(const CompressionSettings& settings, ByteSpan content, AlignedBuffer& out,
                     std::size_t plane_size) {
  const AlgorithmRow* row = find(settings.algorithm);
  if (row == nullptr || (row->compressor != nullptr && (settings.level < 1 || settings.level > 9)))
    throw Error(ErrorKind::usage, fmt::format("{} is not a compression setting", settings.to_string()),
                choices);
  const std::size_t start = out.size();
  const std::size_t needed = start + content.size();
  if (needed > out.capacity()) out.reserve(std::max(needed, 2 * out.capacity()));
  out.resize(needed);
  const MutableByteSpan target = out.span().subspan(start);
  std::size_t size = 0;
  if (row->compressor != nullptr)
    size = write_block(*row->compressor, settings.level, content, plane_size, target);
  if (size == 0) {
    size = content.size();
    if (size > 0) std::memcpy(target.data(), content.data(), size);
  }
  out.resize(start + size);
  return size;
}

void decompress(ByteSpan block, MutableByteSpan content, ChunkSums sums) {
  if (block.size() == content.size()) {
    if (!content.empty()) std::memcpy(content.data(), block.data(), content.size());
    return;
  }
  check_block_size(block, content.size());
  while (!content.empty()) read_chunk(block, content, sums);
  check_end(block);
}

void decompress_growing(ByteSpan block, std::uint64_t size, AlignedBuffer& content, ChunkSums sums) {
  check_content_size(block, size);
  const std::uint64_t first_room = std::max(least_room, usual_ratio * std::uint64_t{block.size()});
  content.resize(0);
  make_room(content, std::min(size, first_room));
  if (block.size() == size) {
    content.resize(block.size());
    return decompress(block, content.span(), sums);
  }
  while (content.size() < size) {
    const std::size_t done = content.size();
    const std::size_t end = done + read_chunk_header(block, size - done).content_size;
    make_room(content, std::max<std::uint64_t>(end, std::min<std::uint64_t>(size, 2 * done)));
    content.resize(end);
    MutableByteSpan part = content.span().subspan(done);
    read_chunk(block, part, sums);
  }
}

void check_content_size(ByteSpan block, std::uint64_t size) {
  if (block.size() == size) return;
  check_block_size(block, size);
  while (size > 0) {
    const ChunkHeader header = read_chunk_header(block, size);
    block = block.subspan(header_size + header.size);
    size -= header.content_size;
  }
  check_end(block);
}

std::uint64_t xxh3(ByteSpan bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Xxh3::Xxh3() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_.get()));
}

void Xxh3::add(ByteSpan bytes) noexcept {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_.get()), bytes.data(), bytes.size());
}

std::uint64_t Xxh3::value() const noexcept {
  return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_.get()));
}

void Xxh3::Free::operator()(void* state) const noexcept {
  XXH3_freeState(static_cast<XXH3_state_t*>(state));
}

}  // namespace colonnade::codec
