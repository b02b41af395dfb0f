// Locators of every type, with the bytes that ROOT's serializer produces for them.
#include "format/locator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace colonnade::format {
namespace {

Bytes from_hex(std::string_view text) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

std::string to_hex(ByteSpan bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::string written(const Locator& locator) {
  ByteWriter out;
  write_locator(out, locator);
  return to_hex(out.view());
}

Locator read(std::string_view hex) {
  const Bytes bytes = from_hex(hex);
  ByteReader reader(bytes);
  const Locator locator = read_locator(reader, "page");
  EXPECT_EQ(reader.remaining(), 0u);
  return locator;
}

std::string error_of(std::string_view hex) {
  const Bytes bytes = from_hex(hex);
  ByteReader reader(bytes, 50);
  try {
    read_locator(reader, "page");
  } catch (const Error& error) {
    return fmt::format("{}: {} @{}", name_of(error.kind()), error.problem(),
                       error.context().offset.value_or(0));
  }
  return "no error";
}

void expect_same(const Locator& locator, std::string_view hex) {
  EXPECT_EQ(written(locator), hex);
  EXPECT_EQ(read(hex), locator);
}

TEST(Locator, Standard) {
  expect_same({.size = 77, .offset = 0x1122}, "4d0000002211000000000000");
}

TEST(Locator, LargestStandardSize) {
  expect_same({.size = 0x7fffffff, .offset = 1}, "ffffff7f0100000000000000");
}

TEST(Locator, Large) {
  expect_same({.size = 0x123456789a, .offset = 0x1122, .raw_type = 1},
              "ecfffffe9a785634120000002211000000000000");
}

TEST(Locator, SizesBeyondTheStandardOneAreWrittenLarge) {
  EXPECT_EQ(written({.size = 0x80000000, .offset = 1}), "ecfffffe00000080000000000100000000000000");
}

TEST(Locator, Object64) {
  expect_same({.kind = Locator::Kind::object64, .size = 77, .offset = 0x1122, .raw_type = 2, .reserved = 1},
              "f0fffefd4d0000002211000000000000");
}

TEST(Locator, LargeObject64) {
  expect_same(
      {.kind = Locator::Kind::object64, .size = 0x123456789a, .offset = 0x1122, .raw_type = 2, .reserved = 1},
      "ecfffefd9a785634120000002211000000000000");
}

TEST(Locator, UnknownTypesAreKeptVerbatim) {
  const Locator locator{.kind = Locator::Kind::unknown, .raw_type = 0x7e, .reserved = 0xab, .payload = "xyz"};
  const Locator again = read(written(locator));
  EXPECT_EQ(again, locator);
  const Locator empty{.kind = Locator::Kind::unknown, .raw_type = 0x7f};
  EXPECT_EQ(read(written(empty)), empty);
  const Locator longest{
      .kind = Locator::Kind::unknown, .raw_type = 3, .payload = std::string(0xffff - 4, 'p')};
  EXPECT_EQ(read(written(longest)), longest);
}

TEST(Locator, CannotWriteAPayloadThatIsTooLong) {
  EXPECT_THROW(written({.kind = Locator::Kind::unknown, .raw_type = 3, .payload = std::string(0x10000, 'p')}),
               Error);
  EXPECT_THROW(written({.kind = Locator::Kind::unknown, .raw_type = 0}), Error);
}

TEST(Locator, StandardCutOff) {
  EXPECT_EQ(error_of("4d00"), "format: page needs 4 bytes, but only 2 are left @50");
  EXPECT_EQ(error_of("4d00000022110000"), "format: page needs 8 bytes, but only 4 are left @54");
}

TEST(Locator, LowestInteger) {
  EXPECT_EQ(error_of("00000080"), "format: page: locator of type 0x80 and 0 bytes is impossible @50");
}

TEST(Locator, TypeZero) {
  EXPECT_EQ(error_of("f0ffffff000000000000000000000000"),
            "format: page: locator of type 0x00 and 16 bytes is impossible @50");
}

TEST(Locator, SmallerThanItsOwnHead) {
  EXPECT_EQ(error_of("fdfffffe"), "format: page: locator of type 0x01 and 3 bytes is impossible @50");
}

TEST(Locator, PayloadCutOff) {
  EXPECT_EQ(error_of("ecfffffe9a785634"), "format: page needs 16 bytes, but only 4 are left @54");
}

TEST(Locator, LargeWithAnotherPayload) {
  EXPECT_EQ(error_of("f0fffffe4d0000002211000000000000"),
            "format: page: large locator has a payload of 12 bytes, not 16 @50");
}

TEST(Locator, Object64WithAnotherPayload) {
  EXPECT_EQ(error_of("f4fffffd4d00000022110000"),
            "format: page: object locator has a payload of 8 bytes, not 12 or 16 @50");
}

TEST(EnvelopeLink, ThereAndBack) {
  ByteWriter out;
  write_link(out, {.length = 0x123456789, .locator = {.size = 5, .offset = 6}});
  ByteReader reader(out.view());
  const EnvelopeLink link = read_link(reader, "link");
  EXPECT_EQ(link.length, 0x123456789u);
  EXPECT_EQ(link.locator.offset, 6u);
  EXPECT_EQ(reader.remaining(), 0u);
}

}  // namespace
}  // namespace colonnade::format
