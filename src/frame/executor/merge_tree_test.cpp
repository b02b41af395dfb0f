// The merge order of the states of parts depends on their numbers, not on the order of arrival.
#include "colonnade/detail/merge_tree.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace colonnade {
namespace {

using TestTree = detail::MergeTree<std::string>;

std::string join(const std::string& a, const std::string& b) {
  return "(" + a + " " + b + ")";
}
std::string same(const std::string& state) {
  return state;
}
std::string text_of(const TestTree& tree) {
  return tree.total(join, same).value_or("");
}

TEST(MergeTree, HasTheShapeOfTheNumbers) {
  TestTree tree;
  EXPECT_EQ(text_of(tree), "");
  for (int i = 0; i < 7; ++i) tree.add(static_cast<std::uint64_t>(i), std::to_string(i), join);
  EXPECT_EQ(text_of(tree), "(((0 1) (2 3)) ((4 5) 6))");
  EXPECT_EQ(tree.subtrees().size(), 3u);
  EXPECT_EQ(text_of(tree), "(((0 1) (2 3)) ((4 5) 6))");
}

TEST(MergeTree, IsTheSameForAnyGrouping) {
  std::mt19937_64 random(4);
  for (int turn = 0; turn < 300; ++turn) {
    const std::uint64_t first = random() % 3 == 0 ? random() % 100 : 0;
    std::vector<std::uint64_t> parts;
    for (std::uint64_t i = 0; i < 1 + random() % 80; ++i)
      if (random() % 4 != 0) parts.push_back(first + i);
    TestTree whole;
    for (const std::uint64_t part : parts) whole.add(part, std::to_string(part), join);
    EXPECT_LE(whole.subtrees().size(), 2 * 7 + 2u);

    std::vector<TestTree> trees;
    for (std::size_t at = 0; at < parts.size();) {
      TestTree& tree = trees.emplace_back();
      for (const std::size_t end = std::min(parts.size(), at + 1 + random() % 9); at < end; ++at)
        tree.add(parts[at], std::to_string(parts[at]), join);
    }
    while (trees.size() > 1) {
      const std::size_t a = random() % trees.size();
      std::size_t b = random() % (trees.size() - 1);
      b += b >= a ? 1 : 0;
      for (const auto& node : trees[b].subtrees()) EXPECT_TRUE(trees[a].insert(node, join));
      trees.erase(trees.begin() + static_cast<std::ptrdiff_t>(b));
    }
    if (!trees.empty()) {
      EXPECT_EQ(text_of(trees.front()), text_of(whole));
    }
  }
}

TEST(MergeTree, TakesNoPartTwice) {
  TestTree tree;
  for (int i = 0; i < 4; ++i) tree.add(static_cast<std::uint64_t>(i), std::to_string(i), join);
  const std::string before = text_of(tree);
  EXPECT_FALSE(tree.insert({2, 0, "again"}, join));
  EXPECT_FALSE(tree.insert({0, 4, "again"}, join));
  EXPECT_EQ(text_of(tree), before);
  EXPECT_TRUE(tree.insert({4, 2, "new"}, join));
}

}  // namespace
}  // namespace colonnade
