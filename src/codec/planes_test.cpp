// Pages made of planes: every algorithm restores them, from chunks that every reader of the format accepts.
#include "codec/planes.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "codec/column_codec.h"
#include "codec/compression.h"

namespace colonnade::codec {
namespace {

using Plane = Bytes (*)(std::size_t size, std::mt19937_64& random);

Bytes noise(std::size_t size, std::mt19937_64& random) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

Bytes skewed(std::size_t size, std::mt19937_64& random) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 4 * (random() % 3));
  return bytes;
}

Bytes repetitive(std::size_t size, std::mt19937_64& random) {
  Bytes bytes(size);
  const std::size_t phase = random() % 50;
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i + phase) % 97 * 5);
  return bytes;
}

Bytes constant(std::size_t size, std::mt19937_64&) {
  return Bytes(size, std::byte{7});
}

Bytes content_of(const std::vector<Plane>& planes, std::size_t size) {
  std::mt19937_64 random(planes.size() + size);
  Bytes content;
  for (const Plane plane : planes) {
    const Bytes bytes = plane(size, random);
    content.insert(content.end(), bytes.begin(), bytes.end());
  }
  return content;
}

const std::vector<std::vector<Plane>> arrangements = {
    {noise, noise, noise, noise, noise, noise, skewed, skewed},
    {skewed, constant, constant, constant},
    {constant, constant, constant, skewed, noise, noise, skewed, constant},
    {noise, repetitive, noise, noise},
    {repetitive, skewed},
    {noise, noise, noise, constant},
};

const std::vector<CompressionSettings> all_settings = [] {
  std::vector<CompressionSettings> all;
  for (const Algorithm algorithm : {Algorithm::zlib, Algorithm::lzma, Algorithm::lz4, Algorithm::zstd})
    for (int level = 1; level <= 9; level += 2) all.push_back({algorithm, level});
  all.push_back({Algorithm::lz4, 4});
  return all;
}();

struct Chunk {
  ByteSpan bytes;
  std::size_t content_size = 0;
};

std::size_t load_size(const std::byte* from) {
  return static_cast<std::size_t>(from[0]) | static_cast<std::size_t>(from[1]) << 8 |
         static_cast<std::size_t>(from[2]) << 16;
}

std::vector<Chunk> chunks_of(ByteSpan block) {
  constexpr std::size_t header_size = 9;
  std::vector<Chunk> chunks;
  while (!block.empty()) {
    const std::size_t size = load_size(block.data() + 3);
    chunks.push_back({block.subspan(header_size, size), load_size(block.data() + 6)});
    block = block.subspan(header_size + size);
  }
  return chunks;
}

Bytes compressed(const CompressionSettings& settings, ByteSpan content, std::size_t plane_size) {
  AlignedBuffer out;
  compress(settings, content, out, plane_size);
  return {out.span().begin(), out.span().end()};
}

TEST(Planes, EveryArrangementRoundTrips) {
  for (const auto& planes : arrangements)
    // Sizes around those at which LZ4's count of literals needs another byte.
    for (const std::size_t size : {8192u, 8301u, 8302u, 8303u, 131072u, 140000u}) {
      const Bytes content = content_of(planes, size);
      for (const CompressionSettings& settings : all_settings) {
        if (size > 9000 && settings.level != 5 && settings.level != 4)
          continue;  // slow, and covered by other sizes
        const Bytes block = compressed(settings, content, size);
        Bytes back(content.size());
        decompress(block, back);
        ASSERT_EQ(back, content) << settings.to_string() << " " << size;
      }
    }
}

TEST(Planes, EveryChunkIsSmallerThanItsContent) {
  for (const auto& planes : arrangements) {
    const Bytes content = content_of(planes, 10000);
    for (const CompressionSettings& settings : all_settings) {
      const Bytes block = compressed(settings, content, 10000);
      ASSERT_LT(block.size(), content.size()) << settings.to_string();
      for (const Chunk& chunk : chunks_of(block)) EXPECT_LT(chunk.bytes.size() + 9, chunk.content_size);
    }
  }
}

TEST(Planes, ZstandardChunksAreOneFrameThatTellsItsSize) {
  for (const auto& planes : arrangements) {
    const Bytes content = content_of(planes, 131072);
    const Bytes block = compressed({Algorithm::zstd, 5}, content, 131072);
    for (const Chunk& chunk : chunks_of(block)) {
      EXPECT_EQ(ZSTD_findFrameCompressedSize(chunk.bytes.data(), chunk.bytes.size()), chunk.bytes.size());
      EXPECT_EQ(ZSTD_getFrameContentSize(chunk.bytes.data(), chunk.bytes.size()), chunk.content_size);
    }
  }
}

TEST(Planes, NoiseAloneIsStoredAsItIs) {
  const Bytes content = content_of({noise, noise, noise, noise}, 16384);
  for (const CompressionSettings& settings : all_settings)
    EXPECT_EQ(compressed(settings, content, 16384), content) << settings.to_string();
}

TEST(Planes, MeasuredNumbersAreHardlyLargerThanCompressedAsAWhole) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 2300);
  std::vector<double> values(131072);
  for (double& value : values) value = normal(random);
  const ColumnEncoding encoding{.type = ColumnType::split_real64, .bits = 64};
  Bytes content(values.size() * sizeof(double));
  encode(encoding, ElementType::float64, values.data(), values.size(), content);
  const std::size_t plane = plane_size(encoding, values.size());
  for (const CompressionSettings settings :
       {CompressionSettings{Algorithm::zstd, 5}, {Algorithm::zlib, 1}, {Algorithm::lz4, 4}})
    EXPECT_LT(static_cast<double>(compressed(settings, content, plane).size()),
              1.005 * static_cast<double>(compressed(settings, content, 0).size()))
        << settings.to_string();
}

constexpr PlaneUse searching = {Gain::repeats_and_frequencies, 1, nullptr};

TEST(Planes, NoisePrecedesWhatFollowsIt) {
  const Bytes content = content_of({noise, noise, skewed, constant, constant, noise}, 10000);
  Bytes scratch(content.size());
  const PlaneUse use = {Gain::repeats_and_frequencies, 1,
                        [](int, ByteSpan, const PlaneEstimate&, std::size_t) { return Coding::frequencies; }};
  const auto pieces = cut_planes(content, 10000, use, 5, scratch);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].noise.size(), 20000u);
  EXPECT_EQ(pieces[0].rest.size(), 10000u);
  EXPECT_EQ(pieces[0].coding, Coding::frequencies);
  EXPECT_TRUE(pieces[1].noise.empty());
  EXPECT_EQ(pieces[1].rest.size(), 30000u);  // noise at the end belongs to the last piece
  EXPECT_EQ(pieces[1].coding, Coding::search);
  EXPECT_EQ(pieces[1].rest.data() + pieces[1].rest.size(), content.data() + content.size());
}

TEST(Planes, NeighboursThatAreSearchedBecomeOnePiece) {
  const Bytes content = content_of({repetitive, constant, skewed, noise, repetitive, constant}, 10000);
  Bytes scratch(content.size());
  const auto pieces = cut_planes(content, 10000, searching, 5, scratch);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].rest.size(), 30000u);
  EXPECT_EQ(pieces[1].noise.size(), 10000u);
  EXPECT_EQ(pieces[1].rest.size(), 20000u);
  EXPECT_EQ(pieces[1].coding, Coding::search);
}

TEST(Planes, OnlyConstantPlanesAreCalledConstant) {
  Bytes content(80000, std::byte{3});
  content.back() = std::byte{4};  // outside of all strips of the sample
  Bytes scratch(content.size());
  const auto pieces = cut_planes(content, 40000, searching, 5, scratch);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].coding, Coding::search);
  EXPECT_EQ(cut_planes(ByteSpan(content).first(40000), 40000, searching, 5, scratch)[0].coding,
            Coding::constant);
}

TEST(Planes, SizesOfCodesAreThoseOfTheFrequencies) {
  // Values 0, 1, 2, 3 with frequencies 1/2, 1/4, 1/8, 1/8: codes of 1, 2, 3 and 3 bits, 1.75 on average.
  for (const std::size_t size : {16384u, 163840u}) {  // the larger one is sampled
    Bytes content(size);
    for (std::size_t i = 0; i < size; ++i)
      content[i] = static_cast<std::byte>(i % 8 < 4 ? 0 : i % 8 < 6 ? 1 : i % 8 == 6 ? 2 : 3);
    const PlaneEstimate estimate = estimate_plane(content);
    EXPECT_NEAR(static_cast<double>(estimate.coded), static_cast<double>(size) * 1.75 / 8, 1e-3 * size);
    EXPECT_NEAR(static_cast<double>(estimate.ideal), static_cast<double>(size) * 1.75 / 8, 1e-3 * size);
  }
}

TEST(Planes, SamplesOfNoiseDoNotLookLikeLess) {
  std::mt19937_64 random(3);
  for (const std::size_t size : {8192u, 131072u, 1000000u}) {
    const PlaneEstimate estimate = estimate_plane(noise(size, random));
    EXPECT_GT(estimate.ideal, size - size / 64) << size;
  }
}

// One value dominates, the others are random: runs are the only repeats.
Bytes rare(std::size_t size, std::mt19937_64& random) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 50 == 0 ? random() % 3 : 0);
  return bytes;
}

std::size_t size_with_zstandard(int level, ByteSpan content) {
  Bytes out(ZSTD_compressBound(content.size()));
  return ZSTD_compress(out.data(), out.size(), content.data(), content.size(), level);
}

TEST(Planes, RunsAloneBeatASearch) {
  const Bytes content = content_of({rare, constant, constant, constant}, 262144);
  const std::size_t size = compressed({Algorithm::zstd, 5}, content, 262144).size();
  EXPECT_LT(static_cast<double>(size), 0.9 * static_cast<double>(size_with_zstandard(10, content)));
}

// Random rows of a small table: repeats that coding by frequency cannot exploit.
Bytes rows(std::size_t size, std::mt19937_64& random) {
  const Bytes table = noise(4096, random);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; i += 32)
    std::memcpy(&bytes[i], &table[random() % 128 * 32], std::min<std::size_t>(32, size - i));
  return bytes;
}

// Flags: whole bits of a Huffman code waste a part, but a search finds no repeats that are worth it.
Bytes flags(std::size_t size, std::mt19937_64& random) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 10 < 3);
  return bytes;
}

TEST(Planes, FlagsAreNotSearched) {
  const Bytes content = content_of({flags, constant, constant, constant}, 32768);
  EXPECT_LT(static_cast<double>(compressed({Algorithm::zstd, 5}, content, 32768).size()),
            0.85 * static_cast<double>(size_with_zstandard(10, content)));
}

TEST(Planes, PagesWithoutPlanesAreNotSearchedInVain) {
  for (const Plane page : {skewed, flags, rare})
    for (const int level : {1, 3, 5}) {
      const Bytes content = content_of({page}, 262144);
      const std::size_t size = compressed({Algorithm::zstd, level}, content, 0).size();
      EXPECT_LT(static_cast<double>(size),
                0.95 * static_cast<double>(size_with_zstandard(2 * level, content)))
          << level;
    }
  const Bytes content = content_of({noise}, 262144);
  EXPECT_EQ(compressed({Algorithm::zstd, 5}, content, 0), content);
}

// Random words of digits from a list so long that a sample hardly has one twice.
Bytes words(std::size_t size, std::mt19937_64& random) {
  std::vector<std::array<std::byte, 36>> list(4000);
  for (auto& word : list)
    for (std::byte& digit : word) digit = static_cast<std::byte>('a' + random() % 16);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; i += 36)
    std::memcpy(&bytes[i], list[random() % list.size()].data(), std::min<std::size_t>(36, size - i));
  return bytes;
}

TEST(Planes, RepeatsThatAreFarApartAreSearched) {
  for (const int level : {1, 3, 5, 7}) {
    const Bytes content = content_of({words}, 262144);
    const std::size_t size = compressed({Algorithm::zstd, level}, content, 0).size();
    EXPECT_LE(size, size_with_zstandard(2 * level, content) + 100) << level;
  }
}

TEST(Planes, RepeatsAreSearchedWithTheEffortAskedFor) {
  for (const auto& planes : {std::vector<Plane>{noise, rows}, {rows, repetitive}, {repetitive, noise, rows}})
    for (const int level : {1, 3, 5, 9}) {
      const Bytes content = content_of(planes, 131072);
      const std::size_t size = compressed({Algorithm::zstd, level}, content, 131072).size();
      EXPECT_LT(static_cast<double>(size),
                1.01 * static_cast<double>(size_with_zstandard(2 * level, content)))
          << planes.size() << " planes, level " << level;
    }
}

// Runs of every length, across block borders, and at the beginning and end of a block.
TEST(Planes, RunsOfAnyLengthRoundTrip) {
  std::mt19937_64 random(11);
  for (const std::size_t longest : {3u, 9u, 100u, 70000u, 200000u})
    for (int turn = 0; turn < 4; ++turn) {
      Bytes content(300000 + random() % 9, std::byte{0});
      std::size_t at = 0;
      for (unsigned value = 0; at < content.size(); ++value) {
        const std::size_t run = std::min(content.size() - at, 1 + random() % longest);
        std::memset(&content[at], static_cast<int>(random() % 12 == 0 ? random() % 256 : value % 2), run);
        at += run;
      }
      for (const int level : {1, 5, 9}) {
        const Bytes block = compressed({Algorithm::zstd, level}, content, content.size());
        Bytes back(content.size());
        decompress(block, back);
        ASSERT_EQ(back, content) << longest << " " << level;
      }
    }
}

TEST(Planes, TheSamePageGivesTheSameBytesWhateverCameBefore) {
  const Bytes page = content_of({noise, rows, rare, skewed, constant}, 131072);
  const Bytes other = content_of({rare, repetitive, noise, rows}, 100000);
  for (const CompressionSettings& settings : all_settings) {
    if (settings.algorithm == Algorithm::lzma && settings.level > 1)
      continue;  // slow, and covered by other levels
    const Bytes first = compressed(settings, page, 131072);
    compressed({Algorithm::zstd, 9}, ByteSpan(other).first(20000), 10000);
    compressed(settings, other, 100000);
    ASSERT_EQ(compressed(settings, page, 131072), first) << settings.to_string();
  }
}

TEST(Planes, OnlySplitEncodingsHaveThem) {
  EXPECT_EQ(plane_size({.type = ColumnType::split_real64, .bits = 64}, 100), 100u);
  EXPECT_EQ(plane_size({.type = ColumnType::split_int16, .bits = 16}, 100), 100u);
  EXPECT_EQ(plane_size({.type = ColumnType::split_index64, .bits = 64}, 100), 100u);
  EXPECT_EQ(plane_size({.type = ColumnType::real64, .bits = 64}, 100), 0u);
  EXPECT_EQ(plane_size({.type = ColumnType::real32_trunc, .bits = 16}, 100), 0u);
}

}  // namespace
}  // namespace colonnade::codec
