#include "io/s3/crc32c.h"

#include <gtest/gtest.h>

#include <array>

namespace colonnade::io {
namespace {

std::uint32_t sum_of(ByteSpan bytes) {
  const std::array parts{bytes};
  EXPECT_EQ(crc32c(parts), crc32c_by_tables(parts));
  return crc32c(parts);
}

// RFC 3720, B.4.
TEST(Crc32c, IsThatOfTheStandard) {
  EXPECT_EQ(sum_of({}), 0u);
  EXPECT_EQ(sum_of(as_bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(sum_of(Bytes(32, std::byte{0})), 0x8a9136aau);
  EXPECT_EQ(sum_of(Bytes(32, std::byte{0xff})), 0x62a8ab43u);
  Bytes rising(32);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<std::byte>(i);
  EXPECT_EQ(sum_of(rising), 0x46dd794eu);
}

TEST(Crc32c, DoesNotDependOnTheParts) {
  Bytes bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 3);
  const std::uint32_t whole = sum_of(bytes);
  for (std::size_t cut = 0; cut < 40; ++cut) {
    const std::array parts{ByteSpan(bytes).first(cut), ByteSpan(), ByteSpan(bytes).subspan(cut)};
    EXPECT_EQ(crc32c(parts), whole);
    EXPECT_EQ(crc32c_by_tables(parts), whole);
  }
}

}  // namespace
}  // namespace colonnade::io
