// The streamer info of ROOT::RNTuple: byte for byte what ROOT 6.35 wrote, and lists with entries appended.
#include "format/tfile_streamer_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

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
    add_streamer_infos(list, key_length);
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
  EXPECT_EQ(add_streamer_infos(empty_list(), key_length), write_streamer_infos(key_length));
}

TEST(StreamerInfo, IsNotAddedTwice) {
  EXPECT_EQ(add_streamer_infos(write_streamer_infos(key_length), key_length), std::nullopt);
}

TEST(StreamerInfo, OfAnotherVersionIsKeptAndOursAdded) {
  Bytes list = write_streamer_infos(key_length);
  const std::size_t version_at = 0x57;
  ASSERT_EQ(list[version_at], std::byte{2});
  list[version_at] = std::byte{3};
  const std::optional<Bytes> longer = add_streamer_infos(list, key_length);
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->size(), 2 * list.size() - 21);
  EXPECT_EQ(add_streamer_infos(*longer, key_length), std::nullopt);
}

TEST(StreamerInfo, IsAddedInFrontOfPadding) {
  Bytes list = empty_list();
  list.resize(1024);
  EXPECT_EQ(add_streamer_infos(list, key_length), write_streamer_infos(key_length));
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

// ---- Of other classes

// A list with the info of "X", which is ROOT::RNTuple under another name.
Bytes list_of_x(std::size_t length_of_key = key_length) {
  Bytes list = write_streamer_infos(length_of_key);
  const ByteSpan name = as_bytes(std::string_view("ROOT::RNTuple"));
  const auto at = std::search(list.begin(), list.end(), name.begin(), name.end());
  std::copy_n(as_bytes(std::string_view("Box<RNTuple >")).begin(), name.size(), at);
  return list;
}

bool any(const std::string& /*name*/) {
  return true;
}

std::vector<ClassInfo> classes_of(ByteSpan list, std::size_t length_of_key = key_length) {
  return read_class_infos(list, length_of_key, any);
}

TEST(ClassInfos, AreReadAndFitIntoAnyList) {
  const std::vector<ClassInfo> classes = classes_of(list_of_x());
  ASSERT_EQ(classes.size(), 1u);
  EXPECT_EQ(classes[0].name, "Box<RNTuple >");
  EXPECT_EQ(classes[0].version, 2u);
  EXPECT_EQ(classes[0].checksum, 0x4ba21bf5u);
  for (const std::size_t other : {std::size_t{64}, std::size_t{72}, std::size_t{300}}) {
    const Bytes list = write_streamer_infos(other, classes);
    const std::vector<ClassInfo> again = classes_of(list, other);
    ASSERT_EQ(again.size(), 1u) << other;
    EXPECT_EQ(again[0].entry, classes[0].entry);
    EXPECT_EQ(add_streamer_infos(list, other, classes), std::nullopt);
    EXPECT_EQ(add_streamer_infos(write_streamer_infos(other), other, classes), list);
    EXPECT_EQ(classes_of(*add_streamer_infos(list_of_x(other), other), other).size(), 1u);
  }
}

TEST(ClassInfos, ThatAreNotWantedAreLeftOut) {
  EXPECT_TRUE(
      read_class_infos(list_of_x(), key_length, [](const std::string& name) { return name == "Y"; }).empty());
  EXPECT_TRUE(classes_of(write_streamer_infos(key_length)).empty());
  EXPECT_TRUE(classes_of(empty_list()).empty());
}

TEST(ClassInfos, OfOtherMembersAreAdded) {
  std::vector<ClassInfo> classes = classes_of(list_of_x());
  const Bytes list = write_streamer_infos(key_length, classes);
  classes[0].checksum += 1;
  const std::optional<Bytes> longer = add_streamer_infos(list, key_length, classes);
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->size(), list.size() + classes[0].entry.size());
}

// The info of ROOT::RNTuple and behind it that of "X", whose elements refer to a class in the first one.
Bytes list_of_two() {
  constexpr std::size_t header = 21;
  const Bytes x = list_of_x();
  Bytes list = write_streamer_infos(key_length);
  list.insert(list.end(), x.begin() + header, x.end());
  list[header - 1] = std::byte{2};
  const std::uint32_t count = byte_swap(0x40000000u | static_cast<std::uint32_t>(list.size() - 4));
  std::memcpy(list.data(), &count, sizeof count);
  return list;
}

TEST(ClassInfos, AreReadBesideUnusualOnes) {
  const Bytes list = list_of_two();
  const std::vector<ClassInfo> known = classes_of(list);
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].name, "Box<RNTuple >");
  EXPECT_EQ(known[0].entry, classes_of(list_of_x())[0].entry);
  std::size_t read = 0;
  // Whatever is wrong within the first one; of its name and its end, others depend.
  for (std::size_t at = 21 + 4 + 18; at < 1226; ++at) {
    Bytes broken = list;
    broken[at] ^= std::byte{0xff};
    const std::vector<ClassInfo> found = classes_of(broken);
    const auto x = std::find_if(found.begin(), found.end(),
                                [](const ClassInfo& each) { return each.name == "Box<RNTuple >"; });
    if (x != found.end()) ++read;  // else the class that it refers to is broken
  }
  EXPECT_GT(read, 1226u - 100);
}

TEST(ClassInfos, AreReadUpToTheEndOfAListThatBreaksOff) {
  Bytes list = list_of_two();
  list[20] = std::byte{3};
  EXPECT_EQ(classes_of(list).size(), 1u);
}

TEST(ClassInfos, EveryTruncationAndFlipIsRefusedOrHarmless) {
  const Bytes list = write_streamer_infos(key_length, classes_of(list_of_x()));
  const auto read = [](ByteSpan bytes) {
    try {
      for (const ClassInfo& one : classes_of(bytes)) EXPECT_LT(one.entry.size(), 16 * bytes.size());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format);
    }
  };
  for (std::size_t size = 0; size < list.size(); ++size) read(ByteSpan(list).first(size));
  for (std::size_t at = 0; at < list.size(); ++at)
    for (const auto bits : {std::byte{0xff}, std::byte{0x01}, std::byte{0x40}}) {
      Bytes flipped = list;
      flipped[at] ^= bits;
      read(flipped);
    }
}

}  // namespace
}  // namespace colonnade::format
