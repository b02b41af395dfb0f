// Tests of compression blocks: settings, round trips of every algorithm and level, the framing byte by byte,
// and hostile blocks - each header field, every truncation, every flipped byte.
#include "codec/compression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lzma.h>
#include <zstd.h>

#include <algorithm>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "codec/checksum.h"

namespace colonnade::codec {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr Algorithm algorithms[] = {Algorithm::zlib, Algorithm::lzma, Algorithm::lz4, Algorithm::zstd};
constexpr std::size_t header_size = 9;
constexpr std::size_t max_chunk = (1u << 24) - 1;

Bytes to_bytes(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Bytes repetitive(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < std::min<std::size_t>(size, 63000); ++i)
    bytes[i] = static_cast<std::byte>("colonnade"[i % 9] + i / 1000 % 7);
  for (std::size_t done = 63000; done < size; done *= 2)
    std::copy_n(bytes.begin(), std::min(done, size - done),
                bytes.begin() + static_cast<std::ptrdiff_t>(done));
  return bytes;
}

Bytes noise(std::size_t size) {
  std::mt19937_64 random(size);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

Bytes compressed(const CompressionSettings& settings, ByteSpan content) {
  AlignedBuffer out;
  const std::size_t size = compress(settings, content, out);
  EXPECT_EQ(size, out.size());
  return {out.data(), out.data() + out.size()};
}

Bytes decompressed(ByteSpan block, std::size_t size) {
  // Guards on both sides reveal writes outside of the content.
  Bytes memory(size + 32, std::byte{0x5a});
  const auto guards_intact = [&] {
    for (std::size_t i = 0; i < 16; ++i)
      if (memory[i] != std::byte{0x5a} || memory[16 + size + i] != std::byte{0x5a}) return false;
    return true;
  };
  try {
    decompress(block, MutableByteSpan(memory).subspan(16, size));
  } catch (...) {
    EXPECT_TRUE(guards_intact());
    throw;
  }
  EXPECT_TRUE(guards_intact());
  return {memory.begin() + 16, memory.begin() + 16 + static_cast<std::ptrdiff_t>(size)};
}

std::optional<Error> error_of(ByteSpan block, std::size_t size) {
  try {
    decompressed(block, size);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

void expect_error(ByteSpan block, std::size_t size, ErrorKind kind, const std::string& problem) {
  const std::optional<Error> error = error_of(block, size);
  ASSERT_TRUE(error.has_value()) << "no error, expected: " << problem;
  EXPECT_EQ(error->kind(), kind) << error->what();
  EXPECT_THAT(error->problem(), HasSubstr(problem));
}

Bytes chunk(std::initializer_list<int> tag, ByteSpan data, std::size_t content_size) {
  Bytes bytes = to_bytes(tag);
  for (const std::size_t size : {data.size(), content_size})
    for (unsigned shift = 0; shift < 24; shift += 8) bytes.push_back(static_cast<std::byte>(size >> shift));
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

Bytes joined(const Bytes& first, const Bytes& second) {
  Bytes bytes = first;
  bytes.insert(bytes.end(), second.begin(), second.end());
  return bytes;
}

const Bytes hundred_letters(100, std::byte{'a'});
// "a" 100 times as zlib writes it: one block of fixed Huffman codes.
const Bytes deflated = to_bytes({0x4b, 0x4c, 0xa4, 0x3d, 0x00, 0x00});

// ---- Settings

TEST(CompressionSettings, NumberOfRoot) {
  EXPECT_EQ(CompressionSettings{}.to_root(), 505u);
  EXPECT_EQ((CompressionSettings{Algorithm::zlib, 1}.to_root()), 101u);
  EXPECT_EQ((CompressionSettings{Algorithm::none, 0}.to_root()), 0u);
  EXPECT_EQ(CompressionSettings::from_root(207), (CompressionSettings{Algorithm::lzma, 7}));
  EXPECT_EQ(CompressionSettings::from_root(404), (CompressionSettings{Algorithm::lz4, 4}));
  for (const std::uint32_t none : {0u, 100u, 500u})
    EXPECT_EQ(CompressionSettings::from_root(none), (CompressionSettings{Algorithm::none, 0}));
  for (const std::uint32_t bad : {5u, 110u, 301u, 510u, 600u, 601u, 4294967295u})
    EXPECT_THROW(CompressionSettings::from_root(bad), Error) << bad;
}

TEST(CompressionSettings, TextIsParsed) {
  const auto parse = [](std::string_view text) { return CompressionSettings::parse(text).to_string(); };
  EXPECT_EQ(parse("zstd:5"), "zstd:5");
  EXPECT_EQ(parse("zstd"), "zstd:5");
  EXPECT_EQ(parse("zlib"), "zlib:1");
  EXPECT_EQ(parse("lzma"), "lzma:7");
  EXPECT_EQ(parse("lz4"), "lz4:4");
  EXPECT_EQ(parse("lz4:9"), "lz4:9");
  EXPECT_EQ(parse("none"), "none");
  EXPECT_EQ(parse("0"), "none");
  EXPECT_EQ(parse("505"), "zstd:5");
}

TEST(CompressionSettings, BadTextNamesTheChoices) {
  for (const char* text : {"", "zip", "zstd:", "zstd:0", "zstd:10", "zstd:-1", "zstd:5x", "none:3", "5 05",
                           "-505", "99999999999", "302"}) {
    try {
      CompressionSettings::parse(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.problem(), HasSubstr(text));
      EXPECT_THAT(error.advice(), HasSubstr("zstd"));
    }
  }
}

TEST(CompressionSettings, LevelOutsideOfTheScaleIsRefused) {
  AlignedBuffer out;
  EXPECT_THROW(compress({Algorithm::zstd, 0}, hundred_letters, out), Error);
  EXPECT_THROW(compress({Algorithm::zlib, 10}, hundred_letters, out), Error);
  EXPECT_THROW(compress({static_cast<Algorithm>(3), 1}, hundred_letters, out), Error);
}

// ---- Round trips

TEST(Compression, EveryAlgorithmAndLevelRoundTrips) {
  for (const Algorithm algorithm : algorithms)
    for (int level = 1; level <= 9; ++level)
      for (const std::size_t size : {0, 1, 9, 10, 11, 100, 1000, 65536, 100001}) {
        const CompressionSettings settings{algorithm, level};
        SCOPED_TRACE(settings.to_string() + " " + std::to_string(size));
        for (const Bytes& content : {repetitive(size), noise(size)}) {
          const Bytes block = compressed(settings, content);
          EXPECT_LE(block.size(), content.size());
          EXPECT_EQ(decompressed(block, size), content);
        }
      }
}

TEST(Compression, RepetitiveContentShrinks) {
  for (const Algorithm algorithm : algorithms)
    EXPECT_LT(compressed({algorithm, 1}, repetitive(65536)).size(), 20000u) << static_cast<int>(algorithm);
}

TEST(Compression, HigherLevelsCompressMore) {
  std::mt19937_64 random(1);
  const Bytes words = noise(2000);
  Bytes content;  // short repeats: bytes that are random one by one are coded by their frequencies at every
                  // level
  while (content.size() < 200000) {
    const auto word = words.begin() + static_cast<std::ptrdiff_t>(random() % 1990);
    content.insert(content.end(), word, word + 3 + static_cast<std::ptrdiff_t>(random() % 7));
  }
  for (const Algorithm algorithm : algorithms)
    EXPECT_LT(compressed({algorithm, 9}, content).size(), compressed({algorithm, 1}, content).size())
        << static_cast<int>(algorithm);
}

TEST(Compression, BlockIsAppended) {
  AlignedBuffer out(3);
  out.data()[0] = out.data()[1] = out.data()[2] = std::byte{7};
  const Bytes content = repetitive(5000);
  const std::size_t first = compress({}, content, out);
  const std::size_t second = compress({Algorithm::none, 0}, content, out);
  EXPECT_LT(first, content.size());
  EXPECT_EQ(second, content.size());
  ASSERT_EQ(out.size(), 3 + first + second);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(out.data()[i], std::byte{7});
  EXPECT_EQ(decompressed(out.span().subspan(3, first), content.size()), content);
  EXPECT_EQ(decompressed(out.span().subspan(3 + first), content.size()), content);
}

TEST(Compression, ContentThatDoesNotShrinkIsStoredAsItIs) {
  for (const Algorithm algorithm : algorithms)
    for (const std::size_t size : {1, 5, 64, 5000}) {
      const Bytes content = noise(size);
      EXPECT_EQ(compressed({algorithm, 9}, content), content);
    }
  EXPECT_EQ(compressed({Algorithm::none, 0}, hundred_letters), hundred_letters);
}

TEST(Compression, ThreadsHaveContextsOfTheirOwn) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([thread] {
      for (int i = 0; i < 40; ++i) {
        const Bytes content = repetitive(static_cast<std::size_t>(1000 * thread + 100 * i + 50));
        const CompressionSettings settings{algorithms[(thread + i) % 4], 1 + i % 9};
        EXPECT_EQ(decompressed(compressed(settings, content), content.size()), content);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// ---- Framing

struct Frame {
  std::size_t size;
  std::size_t content;
};

std::vector<Frame> frames_of(ByteSpan block) {
  std::vector<Frame> frames;
  ByteReader reader(block);
  while (reader.remaining() > 0) {
    reader.take(3, "tag");
    const auto number = [&] {
      const ByteSpan bytes = reader.take(3, "size");
      return static_cast<std::size_t>(bytes[0]) | static_cast<std::size_t>(bytes[1]) << 8 |
             static_cast<std::size_t>(bytes[2]) << 16;
    };
    const std::size_t size = number();
    frames.push_back({size, number()});
    reader.take(size, "chunk");
  }
  return frames;
}

TEST(CompressionFraming, TagsAreThoseOfTheSpecification) {
  const auto tag = [](Algorithm algorithm) {
    const Bytes block = compressed({algorithm, 5}, hundred_letters);
    return Bytes(block.begin(), block.begin() + 3);
  };
  EXPECT_EQ(tag(Algorithm::zlib), to_bytes({'Z', 'L', 8}));
  EXPECT_EQ(tag(Algorithm::lz4), to_bytes({'L', '4', 1}));
  EXPECT_EQ(tag(Algorithm::zstd), to_bytes({'Z', 'S', 1}));
  const Bytes lzma = compressed({Algorithm::lzma, 5}, repetitive(5000));
  EXPECT_EQ(Bytes(lzma.begin(), lzma.begin() + 3), to_bytes({'X', 'Z', 0}));
  EXPECT_EQ(Bytes(lzma.begin() + 9, lzma.begin() + 15), to_bytes({0xfd, '7', 'z', 'X', 'Z', 0}));
}

TEST(CompressionFraming, SizesDoNotCountTheHeader) {
  const Bytes content = repetitive(70000);
  for (const Algorithm algorithm : algorithms) {
    const Bytes block = compressed({algorithm, 2}, content);
    const auto frames = frames_of(block);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].size, block.size() - header_size);
    EXPECT_EQ(frames[0].content, content.size());
  }
}

TEST(CompressionFraming, ContentAboveSixteenMebibytesIsCutIntoChunks) {
  for (const std::size_t size : {max_chunk, max_chunk + 1, 2 * max_chunk + 5}) {
    const Bytes content = repetitive(size);
    for (const Algorithm algorithm : {Algorithm::lz4, Algorithm::zstd}) {
      const Bytes block = compressed({algorithm, 1}, content);
      const auto frames = frames_of(block);
      EXPECT_EQ(frames.size(), (size + max_chunk - 1) / max_chunk);
      for (const Frame& frame : frames) EXPECT_LT(frame.size + header_size, frame.content);
      EXPECT_TRUE(decompressed(block, size) == content);
    }
  }
}

TEST(CompressionFraming, OneChunkThatDoesNotShrinkMakesTheBlockPlain) {
  Bytes content = repetitive(max_chunk + 1);
  const Bytes tail = noise(content.size() / 2);
  std::copy(tail.begin(), tail.end(), content.end() - static_cast<std::ptrdiff_t>(tail.size()));
  EXPECT_TRUE(compressed({Algorithm::zstd, 1}, content) == content);
}

TEST(CompressionFraming, GoldenZlib) {
  Bytes stream = to_bytes({0x78, 0xda});
  stream.insert(stream.end(), deflated.begin(), deflated.end());
  const std::uint32_t sum = byte_swap(libdeflate_adler32(1, hundred_letters.data(), hundred_letters.size()));
  stream.resize(stream.size() + 4);
  store_le(stream.data() + stream.size() - 4, sum);
  EXPECT_EQ(decompressed(chunk({'Z', 'L', 8}, stream, 100), 100), hundred_letters);
}

TEST(CompressionFraming, GoldenOldDeflate) {
  EXPECT_EQ(decompressed(chunk({'C', 'S', 8}, deflated, 100), 100), hundred_letters);
}

TEST(CompressionFraming, GoldenLz4) {
  // Literal 'a', then a match of 94 at distance 1 (15 + 75 + 4), then the last five literals.
  const Bytes lz4 = to_bytes({0x1f, 'a', 1, 0, 75, 0x50, 'a', 'a', 'a', 'a', 'a'});
  // XXH64 of these eleven bytes, big-endian, as the reference implementation gives it.
  const Bytes block = compressed({Algorithm::lz4, 1}, hundred_letters);
  EXPECT_EQ(Bytes(block.end() - 11, block.end()), lz4);
  EXPECT_EQ(decompressed(block, 100), hundred_letters);
}

TEST(CompressionFraming, ChunksOfDifferentAlgorithmsMayFollowEachOther) {
  const Bytes content = repetitive(6000);
  const Bytes block = joined(compressed({Algorithm::zstd, 1}, ByteSpan(content).first(2000)),
                             joined(compressed({Algorithm::lz4, 1}, ByteSpan(content).subspan(2000, 2500)),
                                    compressed({Algorithm::lzma, 1}, ByteSpan(content).subspan(4500))));
  EXPECT_EQ(decompressed(block, content.size()), content);
}

// ---- Hostile blocks

TEST(HostileBlock, LargerThanItsContent) {
  expect_error(noise(101), 100, ErrorKind::format,
               "a compressed block has 101 bytes for 100 bytes of content");
  expect_error(noise(1), 0, ErrorKind::format, "a compressed block has 1 bytes for 0 bytes of content");
}

TEST(HostileBlock, EmptyForSomeContent) {
  expect_error({}, 5, ErrorKind::format,
               "needs a header of 9 bytes, but only 0 are left; 5 bytes of content are missing");
}

TEST(HostileBlock, UnknownTag) {
  Bytes block = compressed({Algorithm::zstd, 1}, hundred_letters);
  block[2] = std::byte{2};
  expect_error(block, 100, ErrorKind::format,
               "begins with 5a 53 02, which is not a known compression algorithm");
  block = compressed({Algorithm::lz4, 1}, hundred_letters);
  block[2] = std::byte{0};
  expect_error(block, 100, ErrorKind::format, "begins with 4c 34 00");
}

TEST(HostileBlock, CompressedSizeReachesPastTheBlock) {
  Bytes block = chunk({'C', 'S', 8}, deflated, 100);
  block[3] = std::byte{7};
  expect_error(block, 100, ErrorKind::format,
               "a chunk of 7 bytes (old deflate) reaches past the 6 bytes left");
  block[5] = std::byte{0xff};
  expect_error(block, 100, ErrorKind::format, "reaches past the 6 bytes left in its block");
}

TEST(HostileBlock, CompressedSizeOfZero) {
  for (const auto& tag : {std::initializer_list<int>{'C', 'S', 8},
                          {'Z', 'L', 8},
                          {'L', '4', 1},
                          {'Z', 'S', 1},
                          {'X', 'Z', 0}}) {
    const auto error = error_of(chunk(tag, {}, 100), 100);
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->kind(), ErrorKind::format);
  }
}

TEST(HostileBlock, UncompressedSizeOfZero) {
  expect_error(chunk({'C', 'S', 8}, deflated, 0), 100, ErrorKind::format,
               "says it holds 0 bytes, but 100 are missing");
}

TEST(HostileBlock, UncompressedSizeAboveTheContent) {
  expect_error(chunk({'C', 'S', 8}, deflated, 101), 100, ErrorKind::format,
               "says it holds 101 bytes, but 100 are missing");
}

TEST(HostileBlock, UncompressedSizeBelowTheContent) {
  expect_error(chunk({'C', 'S', 8}, deflated, 99), 100, ErrorKind::format, "expands to more than 99 bytes");
}

TEST(HostileBlock, BytesAfterTheLastChunk) {
  expect_error(joined(chunk({'C', 'S', 8}, deflated, 100), to_bytes({0})), 100, ErrorKind::format,
               "1 bytes follow the last chunk");
}

// The data of a chunk do not match its header, for every algorithm.
struct WrongData {
  Algorithm algorithm;
  const char* longer;
  const char* shorter;
};

TEST(HostileBlock, DataExpandToAnotherSizeThanTheHeaderSays) {
  const Bytes content = repetitive(5000);
  for (const auto& [algorithm, longer, shorter] :
       {WrongData{Algorithm::zlib, "more than 4999 bytes", "to 5000 bytes instead of 5001"},
        WrongData{Algorithm::lzma, "more than 4999 bytes", "to 5000 bytes instead of 5001"},
        WrongData{Algorithm::lz4, "damaged", "to 5000 bytes instead of 5001"},
        WrongData{Algorithm::zstd, "too small", "to 5000 bytes instead of 5001"}}) {
    Bytes block = compressed({algorithm, 3}, content);
    block[6] = std::byte{4999 & 0xff};
    expect_error(block, 4999, ErrorKind::format, longer);
    block[6] = std::byte{5001 & 0xff};
    expect_error(block, 5001, ErrorKind::format, shorter);
  }
}

TEST(HostileBlock, GarbageInsideTheChunkAfterTheData) {
  const Bytes content = repetitive(5000);
  for (const Algorithm algorithm : {Algorithm::zlib, Algorithm::lzma, Algorithm::zstd}) {
    Bytes block = compressed({algorithm, 3}, content);
    const std::size_t size = block.size() - header_size + 1;
    block[3] = static_cast<std::byte>(size);
    block[4] = static_cast<std::byte>(size >> 8);
    block.push_back(std::byte{0});
    const auto error = error_of(block, content.size());
    ASSERT_TRUE(error.has_value()) << static_cast<int>(algorithm);
    EXPECT_EQ(error->kind(), ErrorKind::format);
  }
  expect_error(chunk({'C', 'S', 8}, joined(deflated, to_bytes({0})), 100), 100, ErrorKind::format,
               "the old deflate data ends after 6 of 7 bytes");
}

TEST(HostileBlock, WrongSumsAreChecksumErrors) {
  const Bytes content = repetitive(5000);
  Bytes zlib = compressed({Algorithm::zlib, 3}, content);
  zlib.back() ^= std::byte{1};
  expect_error(zlib, 5000, ErrorKind::checksum, "the Adler-32 checksum of the zlib data is wrong");

  Bytes lz4 = compressed({Algorithm::lz4, 3}, content);
  lz4[header_size] ^= std::byte{1};
  expect_error(lz4, 5000, ErrorKind::checksum, "the LZ4 data has XXH64 ");
  // A caller that has checksummed the whole block skips the chunk sums.
  Bytes back(content.size());
  decompress(lz4, back, ChunkSums::trust);
  EXPECT_EQ(back, content);

  Bytes lzma = compressed({Algorithm::lzma, 3}, content);
  // The CRC-32 of the content precedes the index, whose size the stream footer (12 bytes) tells in units
  // of 4.
  const std::size_t index_size = (load_le<std::uint32_t>(lzma.data() + lzma.size() - 8) + 1) * std::size_t{4};
  lzma[lzma.size() - 12 - index_size - 4] ^= std::byte{1};
  expect_error(lzma, 5000, ErrorKind::checksum, "the checksum of the LZMA data is wrong");

  Bytes frame(ZSTD_compressBound(content.size()));
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), content.data(), content.size()));
  ZSTD_freeCCtx(context);
  EXPECT_EQ(decompressed(chunk({'Z', 'S', 1}, frame, 5000), 5000), content);
  frame.back() ^= std::byte{1};
  expect_error(chunk({'Z', 'S', 1}, frame, 5000), 5000, ErrorKind::checksum, "the Zstandard data is damaged");
}

TEST(HostileBlock, Lz4ChunkWithoutRoomForItsSum) {
  expect_error(chunk({'L', '4', 1}, noise(7), 100), 100, ErrorKind::format,
               "an LZ4 chunk of 7 bytes has no room for its checksum");
}

TEST(HostileBlock, LzmaThatAsksForGigabytesIsRefused) {
  Bytes block = compressed({Algorithm::lzma, 3}, repetitive(5000));
  // .xz: stream header (12), block header: size, flags, filter id 0x21, property size 1, dictionary size,
  // padding, CRC.
  std::byte* header = block.data() + header_size + 12;
  const std::size_t size = (static_cast<std::size_t>(header[0]) + 1) * 4;
  ASSERT_EQ(header[2], std::byte{0x21});
  header[4] = std::byte{40};
  store_le(header + size - 4, lzma_crc32(reinterpret_cast<const std::uint8_t*>(header), size - 4, 0));
  expect_error(block, 5000, ErrorKind::resource, "the LZMA data asks for ");
}

TEST(HostileBlock, TruncatedAnywhere) {
  const Bytes content = repetitive(3000);
  for (const Algorithm algorithm : algorithms) {
    const Bytes block = compressed({algorithm, 4}, content);
    for (std::size_t size = 0; size < block.size(); ++size) {
      const auto error = error_of(ByteSpan(block).first(size), content.size());
      ASSERT_TRUE(error.has_value()) << static_cast<int>(algorithm) << " " << size;
      EXPECT_EQ(error->kind(), ErrorKind::format);
    }
    // The same with headers that state the remaining size.
    for (std::size_t size = header_size; size < block.size(); ++size) {
      Bytes cut(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(size));
      cut[3] = static_cast<std::byte>(size - header_size);
      cut[4] = static_cast<std::byte>((size - header_size) >> 8);
      ASSERT_TRUE(error_of(cut, content.size()).has_value()) << static_cast<int>(algorithm) << " " << size;
    }
  }
}

TEST(HostileBlock, AnyByteChanged) {
  const Bytes content = repetitive(2000);
  for (const Algorithm algorithm : algorithms) {
    const Bytes block = compressed({algorithm, 4}, content);
    // ROOT's Zstandard frames have no checksum of their own; the page's checksum covers them.
    const bool has_sum = algorithm != Algorithm::zstd;
    for (std::size_t i = 0; i < block.size(); ++i)
      for (const int flip : {0x01, 0x80, 0xff}) {
        Bytes changed = block;
        changed[i] ^= static_cast<std::byte>(flip);
        try {
          const Bytes result = decompressed(changed, content.size());
          EXPECT_TRUE(!has_sum || result == content) << static_cast<int>(algorithm) << " byte " << i;
        } catch (const Error&) {
        }
      }
  }
}

TEST(HostileBlock, RandomBytesAfterAGoodTagDoNotCrash) {
  std::mt19937_64 random(3);
  for (const auto& tag :
       {std::initializer_list<int>{'C', 'S', 8}, {'Z', 'L', 8}, {'L', '4', 1}, {'Z', 'S', 1}, {'X', 'Z', 0}})
    for (int i = 0; i < 500; ++i) {
      const Bytes data = noise(random() % 60);
      try {
        decompressed(chunk(tag, data, 90), 90);
      } catch (const Error&) {
      }
    }
}

// ---- Checksum of pages and envelopes

// Chunks of zeros, of which the first `honest` ones are good and the others damaged.
Bytes chunks_of_zeros(std::size_t count, std::size_t content_size, std::size_t honest) {
  const Bytes chunk = compressed({Algorithm::zstd, 1}, Bytes(content_size));
  Bytes block;
  for (std::size_t i = 0; i < count; ++i) {
    block.insert(block.end(), chunk.begin(), chunk.end());
    if (i >= honest)
      block[block.size() - chunk.size() + header_size] ^= std::byte{0xff};  // Zstandard's magic
  }
  return block;
}

TEST(GrowingContent, IsTheSameAsIntoRoomThatIsThere) {
  AlignedBuffer content;
  for (const Algorithm algorithm : algorithms)
    for (const std::size_t size : {0, 1, 1000, 1 << 20, 17 << 20}) {
      const Bytes original = repetitive(size);
      const Bytes block = compressed({algorithm, 1}, original);
      decompress_growing(block, size, content);
      ASSERT_EQ(content.size(), size);
      EXPECT_TRUE(std::equal(original.begin(), original.end(), content.data())) << size;
    }
  const Bytes plain = noise(5000);
  decompress_growing(plain, plain.size(), content);
  EXPECT_TRUE(std::ranges::equal(plain, content.span()));
}

TEST(GrowingContent, MakesRoomForWhatCameAndNotForWhatIsClaimed) {
  constexpr std::size_t size = 1 << 20;
  constexpr std::size_t count = 40;
  for (const std::size_t honest : {0, 1, 5, 10}) {
    const Bytes block = chunks_of_zeros(count, size, honest);
    AlignedBuffer content;
    EXPECT_THROW(decompress_growing(block, count * size, content), Error);
    EXPECT_LE(content.capacity(), std::max<std::size_t>(2 * (honest + 1) * size, 64 * block.size()))
        << honest;
  }
  const Bytes honest = chunks_of_zeros(count, size, count);
  AlignedBuffer content;
  decompress_growing(honest, count * size, content);
  EXPECT_EQ(content.size(), count * size);
  EXPECT_EQ(content.capacity(), count * size);
}

TEST(GrowingContent, AClaimThatTheChunksDoNotMakeNeedsNoRoomAtAll) {
  const Bytes block = chunks_of_zeros(2, 1 << 20, 2);
  for (const std::uint64_t claim : {std::uint64_t{31} << 30, ~std::uint64_t{0}, std::uint64_t{3} << 20}) {
    AlignedBuffer content;
    EXPECT_THROW(decompress_growing(block, claim, content), Error);
    EXPECT_EQ(content.capacity(), 0u);
  }
}

TEST(Xxh3, KnownValues) {
  EXPECT_EQ(xxh3({}), 0x2d06800538d394c2u);
  EXPECT_EQ(xxh3(as_bytes("a")), 0xe6c632b61e964e1fu);
  EXPECT_EQ(xxh3(as_bytes("abc")), 0x78af5f94892f3950u);
}

TEST(Xxh3, EveryLengthAndBitMatters) {
  // The hash uses different algorithms up to 16, 128, 240 bytes and beyond.
  Bytes bytes = noise(600);
  std::vector<std::uint64_t> seen;
  for (const std::size_t size : {1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 512, 600}) {
    const std::uint64_t sum = xxh3(ByteSpan(bytes).first(size));
    EXPECT_THAT(seen, testing::Not(testing::Contains(sum)));
    seen.push_back(sum);
    bytes[size - 1] ^= std::byte{1};
    EXPECT_NE(xxh3(ByteSpan(bytes).first(size)), sum) << size;
    bytes[size - 1] ^= std::byte{1};
  }
}

TEST(Xxh3, OfPiecesIsThatOfTheWhole) {
  std::mt19937_64 random(5);
  Bytes content(100000);
  for (std::byte& byte : content) byte = static_cast<std::byte>(random());
  for (const std::size_t size : {0, 1, 240, 241, 5000, 100000}) {
    const ByteSpan whole = ByteSpan(content).first(size);
    Xxh3 sum;
    for (std::size_t at = 0; at < size;) {
      const std::size_t step = std::min<std::size_t>(random() % 3000, size - at);
      sum.add(whole.subspan(at, step));
      at += step;
    }
    EXPECT_EQ(sum.value(), xxh3(whole)) << size;
  }
}

}  // namespace
}  // namespace colonnade::codec
