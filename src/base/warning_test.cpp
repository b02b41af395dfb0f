// Where warnings go.
#include "base/warning.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace colonnade {
namespace {

TEST(Warning, GoesToStandardErrorUnlessSomebodyTakesIt) {
  testing::internal::CaptureStderr();
  warn("the first");
  std::vector<std::string> taken;
  WarningHandler before = set_warning_handler([&](const std::string& message) { taken.push_back(message); });
  EXPECT_FALSE(before);
  warn("the second");
  EXPECT_TRUE(set_warning_handler(before));
  warn("the third");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "colonnade: the first\ncolonnade: the third\n");
  EXPECT_EQ(taken, std::vector<std::string>{"the second"});
}

TEST(Warning, SurvivesAHandlerThatThrows) {
  testing::internal::CaptureStderr();
  const WarningHandler before =
      set_warning_handler([](const std::string&) { throw std::runtime_error("no more paper"); });
  warn("a message");
  set_warning_handler(before);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "colonnade: a message\ncolonnade: the handler of warnings failed: no more paper\n");
}

TEST(Warning, HandlersMayReplaceThemselves) {
  int calls = 0;
  const WarningHandler before = set_warning_handler([&](const std::string&) {
    ++calls;
    set_warning_handler({});
  });
  warn("a message");
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(set_warning_handler(before));
}

}  // namespace
}  // namespace colonnade
