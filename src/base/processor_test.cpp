// Instruction sets by name.
#include "base/processor.h"

#include <gtest/gtest.h>

namespace colonnade {
namespace {

TEST(Processor, CanPlayASimplerOne) {
  const std::string before = instruction_set();
  ASSERT_TRUE(limit_instruction_set("baseline"));
  EXPECT_EQ(instruction_set(), "baseline");
  ASSERT_TRUE(limit_instruction_set(before));
  EXPECT_EQ(instruction_set(), before);
#if defined(__x86_64__)
  ASSERT_TRUE(limit_instruction_set("SSE4"));
  EXPECT_EQ(instruction_set(), before == "baseline" || before == "ssse3" ? before : "sse4");
#endif
  ASSERT_TRUE(limit_instruction_set(""));
}

TEST(Processor, DoesNotKnowEveryName) {
  const std::string before = instruction_set();
  EXPECT_FALSE(limit_instruction_set("z80"));
  EXPECT_EQ(instruction_set(), before);
}

}  // namespace
}  // namespace colonnade
