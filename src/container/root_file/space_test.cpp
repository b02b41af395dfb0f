// Allocation in the gaps of a file, compared with a plain map of used bytes on random sequences.
#include "container/root_file/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace colonnade::container {
namespace {

using Use = RootFileSpace::Use;

TEST(Space, GrowsAtTheEndWithoutGaps) {
  RootFileSpace space(1000);
  EXPECT_EQ(space.allocate(50, Use::index).offset, 1000u);
  EXPECT_EQ(space.allocate(50, Use::blob).offset, 1050u);
  EXPECT_EQ(space.end(), 1100u);
  EXPECT_EQ(space.segments(space.end()), (std::vector<format::FreeSegment>{{1100, 2'000'000'000}}));
}

TEST(Space, FillsAGapExactlyOrLeavesARestWorthHaving) {
  RootFileSpace space(1000);
  space.release({200, 299});
  EXPECT_EQ(space.allocate(90, Use::index).offset, 1000u);  // a remainder of 10 bytes is useless
  const auto part = space.allocate(60, Use::index);
  EXPECT_EQ(part.offset, 200u);
  EXPECT_EQ(part.rest, (format::FreeSegment{260, 299}));
  const auto all = space.allocate(40, Use::index);
  EXPECT_EQ(all.offset, 260u);
  EXPECT_EQ(all.rest, std::nullopt);
}

TEST(Space, KeepsBlobsOutOfSmallGaps) {
  RootFileSpace space(100000);
  space.release({200, 299});
  space.release({10000, 19999});
  EXPECT_EQ(space.allocate(60, Use::blob).offset, 10000u);
  EXPECT_EQ(space.allocate(60, Use::index).offset, 200u);
}

TEST(Space, MergesNeighboursAsFarAsAMarkerCanTell) {
  RootFileSpace space(10'000'000'000);
  space.release({300, 399});
  EXPECT_EQ(space.release({200, 299}), (format::FreeSegment{200, 399}));
  EXPECT_EQ(space.release({400, 499}), (format::FreeSegment{200, 499}));
  space.release({600, 699});
  EXPECT_EQ(space.release({500, 599}), (format::FreeSegment{200, 699}));
  EXPECT_EQ(space.release({700, 1'999'999'999}), (format::FreeSegment{200, 1'999'999'999}));
  EXPECT_EQ(space.release({2'000'000'000, 2'000'000'999}),
            (format::FreeSegment{2'000'000'000, 2'000'000'999}));
}

TEST(Space, ListsButNeverUsesWhatItIsToldToKeep) {
  RootFileSpace space(1000);
  space.keep_listed({200, 299});
  EXPECT_EQ(space.allocate(100, Use::index).offset, 1000u);
  EXPECT_EQ(space.segments(1100), (std::vector<format::FreeSegment>{{200, 299}, {1100, 2'000'000'000}}));
}

TEST(Space, SkipsInGapsThatAMarkerCanTell) {
  RootFileSpace space(1000);
  EXPECT_EQ(space.skip_to(500).size(), 0u);
  const auto gaps = space.skip_to(4'000'002'000);
  ASSERT_EQ(gaps.size(), 3u);
  EXPECT_EQ(gaps[2], (format::FreeSegment{4'000'001'000, 4'000'001'999}));
  EXPECT_EQ(space.allocate(10, Use::index).offset, 4'000'002'000u);
}

TEST(Space, NeverHandsOutAByteTwice) {
  std::mt19937 random(7);
  for (int run = 0; run < 50; ++run) {
    RootFileSpace space(100);
    std::vector<char> used;
    std::vector<format::FreeSegment> live;
    const auto is_free = [&](const format::FreeSegment& part) {
      const std::uint64_t end = std::min<std::uint64_t>(part.last + 1, used.size());
      return part.first >= end || std::memchr(used.data() + part.first, 1, end - part.first) == nullptr;
    };
    const auto mark = [&](const format::FreeSegment& part, char as) {
      std::memset(used.data() + part.first, as, part.last + 1 - part.first);
    };
    for (int step = 0; step < 300; ++step) {
      if (random() % 3 != 0 || live.empty()) {
        const std::uint64_t size = 30 + random() % 300;
        const std::uint64_t offset = space.allocate(size, random() % 2 ? Use::index : Use::blob).offset;
        used.resize(std::max<std::size_t>(used.size(), offset + size), 0);
        live.push_back({offset, offset + size - 1});
        ASSERT_TRUE(is_free(live.back()));
        mark(live.back(), 1);
      } else {
        const std::size_t which = random() % live.size();
        mark(live[which], 0);
        space.release(live[which]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
      }
      for (const format::FreeSegment& gap : space.segments(space.end())) ASSERT_TRUE(is_free(gap));
    }
  }
}

}  // namespace
}  // namespace colonnade::container
