// InlineVector against std::vector: after the same operations, both hold the same items.
#include "colonnade/detail/inline_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace colonnade {
namespace {

using detail::InlineVector;
using testing::ElementsAre;

// Too long for std::string's internal buffer, so that the sanitizer finds leaks and double frees.
std::string text_of(int number) {
  return "a text that needs memory of its own, number " + std::to_string(number);
}

TEST(InlineVector, HoldsFewAndManyItems) {
  InlineVector<std::uint32_t, 2> ids;
  EXPECT_TRUE(ids.empty());
  for (std::uint32_t i = 0; i < 5; ++i) ids.push_back(i);
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(ids.at(4), 4u);
  EXPECT_THROW(static_cast<void>(ids.at(5)), std::out_of_range);
  ids.clear();
  EXPECT_TRUE(ids.empty());
  EXPECT_EQ((InlineVector<std::uint32_t, 2>{1, 2, 3}), (InlineVector<std::uint32_t, 2>{1, 2, 3}));
}

TEST(InlineVector, NestsAndCopies) {
  using Inner = InlineVector<std::string, 1>;
  InlineVector<Inner, 1> outer = {{text_of(1)}, {text_of(2), text_of(3)}};
  const InlineVector<Inner, 1> copy = outer;
  outer.front().push_back(text_of(4));
  EXPECT_THAT(copy, ElementsAre(ElementsAre(text_of(1)), ElementsAre(text_of(2), text_of(3))));
  EXPECT_THAT(outer.front(), ElementsAre(text_of(1), text_of(4)));
  const InlineVector<Inner, 1> moved = std::move(outer);
  EXPECT_EQ(moved.size(), 2u);
}

TEST(InlineVector, IsAVector) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    InlineVector<std::string, 3> ours;
    std::vector<std::string> theirs;
    for (int step = 0; step < 40; ++step) {
      switch (random() % 6) {
        case 0:
        case 1:
          ours.push_back(text_of(step));
          theirs.push_back(text_of(step));
          break;
        case 2:
          if (theirs.empty()) break;
          ours.pop_back();
          theirs.pop_back();
          break;
        case 3: {
          const std::size_t size = random() % 9;
          ours.resize(size);
          theirs.resize(size);
          break;
        }
        case 4: {
          InlineVector<std::string, 3> other = ours;
          ours = std::move(other);
          break;
        }
        default: {
          const InlineVector<std::string, 3> other(theirs.begin(), theirs.end());
          ours = other;
          break;
        }
      }
      ASSERT_TRUE(std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end()));
    }
  }
}

}  // namespace
}  // namespace colonnade
