// Base64 there and back.
#include "base/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace colonnade {
namespace {

TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(to_base64(as_bytes("")), "");
  EXPECT_EQ(to_base64(as_bytes("f")), "Zg==");
  EXPECT_EQ(to_base64(as_bytes("fo")), "Zm8=");
  EXPECT_EQ(to_base64(as_bytes("foo")), "Zm9v");
  EXPECT_EQ(to_base64(as_bytes("foobar")), "Zm9vYmFy");
}

TEST(Base64, GoesThereAndBack) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64(to_base64(as_bytes(bytes))), bytes);
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(from_base64("Zm9?"), std::nullopt);
}

}  // namespace
}  // namespace colonnade
