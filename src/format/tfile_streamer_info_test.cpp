// The streamer info of ROOT::RNTuple: byte for byte what ROOT 6.35 wrote, and lists with entries appended.
#include "format/tfile_streamer_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace colonnade::format {
namespace {

constexpr std::size_t key_length = 64;

std::uint64_t fnv(ByteSpan bytes) {
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (std::byte byte : bytes) sum = (sum ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3u;
  return sum;
}

Bytes empty_list() {
  ByteWriter out;
  out.be<std::uint32_t>(0x40000011);
  out.be<std::uint16_t>(5);
  out.be<std::uint16_t>(1);
  out.append(Bytes(8));
  out.le<std::uint8_t>(0);
  out.be<std::uint32_t>(0);
  return out.take();
}

std::string problem_of(ByteSpan list) {
  try {
    add_rntuple_info(list, key_length);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::format);
    return error.problem();
  }
  return "none";
}

TEST(StreamerInfo, IsByteForByteWhatRootWrites) {
  const Bytes list = write_streamer_infos(key_length);
  EXPECT_EQ(list.size(), 1226u);
  EXPECT_EQ(fnv(list), 0x5dad45da1813be45u);
}

TEST(StreamerInfo, IsAddedToAnEmptyList) {
  EXPECT_EQ(add_rntuple_info(empty_list(), key_length), write_streamer_infos(key_length));
}

TEST(StreamerInfo, IsNotAddedTwice) {
  EXPECT_EQ(add_rntuple_info(write_streamer_infos(key_length), key_length), std::nullopt);
}

TEST(StreamerInfo, OfAnotherVersionIsKeptAndOursAdded) {
  Bytes list = write_streamer_infos(key_length);
  const std::size_t version_at = 0x57;
  ASSERT_EQ(list[version_at], std::byte{2});
  list[version_at] = std::byte{3};
  const std::optional<Bytes> longer = add_rntuple_info(list, key_length);
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->size(), 2 * list.size() - 21);
  EXPECT_EQ(add_rntuple_info(*longer, key_length), std::nullopt);
}

TEST(StreamerInfo, IsAddedInFrontOfPadding) {
  Bytes list = empty_list();
  list.resize(1024);
  EXPECT_EQ(add_rntuple_info(list, key_length), write_streamer_infos(key_length));
}

TEST(StreamerInfo, RefusesAListOfAnotherLength) {
  Bytes list = empty_list();
  list.push_back(std::byte{1});
  EXPECT_EQ(problem_of(list), "streamer infos: the length of the list does not match its record");
}

TEST(StreamerInfo, RefusesAnUnknownListVersion) {
  Bytes list = empty_list();
  list[5] = std::byte{9};
  EXPECT_EQ(problem_of(list), "streamer infos: the list has an unknown version");
}

TEST(StreamerInfo, RefusesMoreEntriesThanThereAre) {
  Bytes list = empty_list();
  list.back() = std::byte{1};
  EXPECT_EQ(problem_of(list), "streamer infos: entry needs 4 bytes, but only 0 are left");
}

TEST(StreamerInfo, RefusesMissingByteCount) {
  Bytes list = empty_list();
  list[0] = std::byte{0};
  EXPECT_EQ(problem_of(list), "streamer infos: a byte count is missing");
}

TEST(StreamerInfo, EveryTruncationAndFlipIsRefusedOrHarmless) {
  const Bytes list = write_streamer_infos(key_length);
  for (std::size_t size = 0; size < list.size(); ++size)
    EXPECT_NE(problem_of(ByteSpan(list).first(size)), "none") << size;
  for (std::size_t at = 0; at < list.size(); ++at) {
    Bytes flipped = list;
    flipped[at] ^= std::byte{0xff};
    problem_of(flipped);  // must not crash
  }
}

}  // namespace
}  // namespace colonnade::format
