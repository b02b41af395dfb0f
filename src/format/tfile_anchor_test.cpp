// The anchor: the bytes that ROOT wrote, later versions, and one named test per invalid field.
#include "format/tfile_anchor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <functional>

namespace colonnade::format {
namespace {

constexpr std::uint64_t file_size = 1390;

Anchor sample() {
  return {.epoch = 1,
          .major = 0,
          .minor = 0,
          .patch = 0,
          .header_offset = 290,
          .header_size = 115,
          .header_length = 175,
          .footer_offset = 603,
          .footer_size = 82,
          .footer_length = 148,
          .max_key_size = 0x40000000};
}

// From the file test_bit_rntuple_v1-0-0-0.root, written by ROOT.
constexpr std::string_view written_by_root =
    "40000042000200010000000000000000000000000122000000000000007300000000000000af"
    "000000000000025b000000000000005200000000000000940000000040000000"
    "7e42e85e185ef82b";

Bytes from_hex(std::string_view text) {
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

// Corrects the checksum after a change.
Bytes sealed(Bytes object) {
  const std::uint64_t sum = XXH3_64bits(object.data() + 6, object.size() - 14);
  store_le(object.data() + object.size() - 8, byte_swap(sum));
  return object;
}

Bytes changed(std::size_t at, std::uint8_t value) {
  Bytes object = write_anchor(sample());
  object[at] = std::byte{value};
  return sealed(std::move(object));
}

Error error_of(ByteSpan object, ChecksumOrder order = ChecksumOrder::big_endian) {
  try {
    read_anchor(object, 733, file_size, order);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::usage, "none");
}

TEST(Anchor, IsByteForByteWhatRootWrites) {
  EXPECT_EQ(write_anchor(sample()), from_hex(written_by_root));
  EXPECT_EQ(read_anchor(from_hex(written_by_root), 733, file_size), sample());
}

TEST(Anchor, RoundTripsWithALittleEndianChecksum) {
  const Bytes object = write_anchor(sample(), ChecksumOrder::little_endian);
  EXPECT_EQ(read_anchor(object, 0, file_size, ChecksumOrder::little_endian), sample());
  EXPECT_EQ(error_of(object).kind(), ErrorKind::checksum);
}

TEST(Anchor, OfALaterVersionMayBeLonger) {
  Bytes object = write_anchor(sample());
  object.insert(object.end() - 8, 12, std::byte{0x55});
  object[3] = std::byte{0x42 + 12};
  object[5] = std::byte{3};
  EXPECT_EQ(read_anchor(sealed(object), 0, file_size), sample());
}

TEST(Anchor, OfASplitPayloadMayHaveItsFirstChunkAtTheEnd) {
  Anchor anchor = sample();
  anchor.max_key_size = 100;
  anchor.footer_offset = 1290;
  anchor.footer_size = 500;
  anchor.footer_length = 600;
  EXPECT_EQ(read_anchor(write_anchor(anchor), 0, file_size), anchor);
}

TEST(Anchor, RefusesEveryTruncation) {
  const Bytes object = write_anchor(sample());
  for (std::size_t size = 0; size < object.size(); ++size) {
    const Error error = error_of(ByteSpan(object).first(size));
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_EQ(error.problem(), "anchor: " + std::to_string(size) + " bytes, but at least 78 are needed");
    EXPECT_EQ(error.context().offset, 733u);
  }
}

TEST(Anchor, RefusesEveryFlippedByte) {
  const Bytes object = write_anchor(sample());
  for (std::size_t at = 0; at < object.size(); ++at)
    for (const std::uint8_t flip : {0x01, 0x80, 0xff}) {
      Bytes flipped = object;
      flipped[at] ^= std::byte{flip};
      // The class version does not affect the fields that this version reads: later versions are read the
      // same way.
      if (at == 4 || (at == 5 && (flipped[5] > std::byte{2}))) continue;
      const Error error = error_of(flipped);
      EXPECT_NE(error.problem(), "none") << at;
      if (at >= 6) {
        EXPECT_EQ(error.kind(), ErrorKind::checksum) << at;
      }
    }
}

TEST(Anchor, RefusesAWrongByteCount) {
  EXPECT_EQ(error_of(changed(3, 0x43)).problem(), "anchor: byte count 0x40000043 in an object of 78 bytes");
  EXPECT_EQ(error_of(changed(0, 0x00)).problem(), "anchor: byte count 0x42 in an object of 78 bytes");
}

TEST(Anchor, RefusesAPreReleaseClassVersion) {
  const Error error = error_of(changed(5, 1));
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.problem(), "anchor: class version 1 is that of a pre-release of the format");
}

TEST(Anchor, RefusesAnotherEpoch) {
  EXPECT_EQ(error_of(changed(7, 0)).kind(), ErrorKind::unsupported);
  EXPECT_EQ(error_of(changed(7, 2)).problem(), "anchor: format 2.0.0.0 but this version reads 1.x");
}

TEST(Anchor, AcceptsLaterMajorMinorAndPatch) {
  EXPECT_EQ(read_anchor(changed(9, 7), 0, file_size).major, 7);
  EXPECT_EQ(read_anchor(changed(11, 7), 0, file_size).minor, 7);
  EXPECT_EQ(read_anchor(changed(13, 7), 0, file_size).patch, 7);
}

TEST(Anchor, RefusesAWrongChecksum) {
  Bytes object = write_anchor(sample());
  object.back() ^= std::byte{1};
  const Error error = error_of(object);
  EXPECT_EQ(error.kind(), ErrorKind::checksum);
  EXPECT_EQ(error.problem(), "anchor: the checksum is 0x7e42e85e185ef82b, but 0x7e42e85e185ef82a is stored");
}

TEST(Anchor, RefusesAHeaderOutsideOfTheFile) {
  EXPECT_EQ(error_of(changed(20, 5)).problem(),
            "anchor: the header of 115 bytes at 1314 lies outside of the file of 1390 bytes");
  EXPECT_EQ(error_of(changed(14, 0xff)).kind(), ErrorKind::format);
}

TEST(Anchor, RefusesAHeaderLargerThanItsContent) {
  EXPECT_EQ(error_of(changed(29, 176)).problem(), "anchor: a header of 175 bytes cannot be stored in 176");
  EXPECT_EQ(error_of(changed(29, 0)).problem(), "anchor: a header of 175 bytes cannot be stored in 0");
}

TEST(Anchor, RefusesAFooterOutsideOfTheFile) {
  EXPECT_EQ(error_of(changed(44, 6)).problem(),
            "anchor: the footer of 82 bytes at 1627 lies outside of the file of 1390 bytes");
}

TEST(Anchor, RefusesAFooterLargerThanItsContent) {
  EXPECT_EQ(error_of(changed(53, 149)).problem(), "anchor: a footer of 148 bytes cannot be stored in 149");
}

TEST(Anchor, RefusesAPayloadLargerThanTheFileEvenIfSplit) {
  Anchor anchor = sample();
  anchor.max_key_size = 100;
  anchor.header_size = 1391;
  anchor.header_length = 2000;
  EXPECT_EQ(error_of(write_anchor(anchor)).kind(), ErrorKind::format);
}

}  // namespace
}  // namespace colonnade::format
