// Pages made of planes: every algorithm gives them back, in chunks that every reader of the format accepts.
#include "codec/planes.h"

#include <gtest/gtest.h>
#include <zstd.h>

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
    // Sizes around those where the count of literals of LZ4 needs another byte.
    for (const std::size_t size : {8192u, 8301u, 8302u, 8303u, 131072u, 140000u}) {
      const Bytes content = content_of(planes, size);
      for (const CompressionSettings& settings : all_settings) {
        if (size > 9000 && settings.level != 5 && settings.level != 4) continue;  // slow, and nothing new
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

TEST(Planes, MeasuredNumbersAreNoLargerThanCompressedAsAWhole) {
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
              1.002 * static_cast<double>(compressed(settings, content, 0).size()))
        << settings.to_string();
}

TEST(Planes, NoisePrecedesWhatFollowsIt) {
  const Bytes content = content_of({noise, noise, skewed, constant, constant, noise}, 10000);
  Bytes scratch(content.size());
  const auto pieces = cut_planes(content, 10000, Gain::repeats_and_frequencies, scratch);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].noise.size(), 20000u);
  EXPECT_EQ(pieces[0].rest.size(), 10000u);
  EXPECT_LE(pieces[0].ideal_size, pieces[0].coded_size);
  EXPECT_LT(pieces[0].coded_size, pieces[0].ideal_size * 1.2);
  EXPECT_TRUE(pieces[1].noise.empty());
  EXPECT_EQ(pieces[1].rest.size(), 30000u);  // noise at the end belongs to the last piece
  EXPECT_EQ(pieces[1].coded_size, 0u);
  EXPECT_EQ(pieces[1].rest.data() + pieces[1].rest.size(), content.data() + content.size());
}

TEST(Planes, SizesOfCodesAreThoseOfTheFrequencies) {
  // Values 0, 1, 2, 3 with frequencies 1/2, 1/4, 1/8, 1/8: codes of 1, 2, 3 and 3 bits, 1.75 on average.
  Bytes content(16384);
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<std::byte>(i % 8 < 4 ? 0 : i % 8 < 6 ? 1 : i % 8 == 6 ? 2 : 3);
  Bytes scratch(content.size());
  const auto pieces = cut_planes(content, content.size(), Gain::repeats_and_frequencies, scratch);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].coded_size, 16384 * 7 / 4 / 8);
  EXPECT_EQ(pieces[0].ideal_size, 16384 * 7 / 4 / 8);
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
