// Splicing pages into values, and values into operations.
#include "container/object_store/updates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "container/object_store/test_tools.h"

namespace colonnade::container {
namespace {

using testing::ElementsAre;

class Planner {
 public:
  explicit Planner(const io::StoreTraits& traits, std::uint64_t splice_size,
                   ObjectMapping mapping = ObjectMapping::locality) {
    plan_.group = 3;
    plan_.mapping = mapping;
    plan_.traits = traits;
    plan_.value_target = value_target_of(traits, splice_size);
  }

  PlannedPages plan(const TestPages& pages) {
    return plan_updates(plan_, pages.parts(), cluster_, [this](std::uint64_t count) {
      return std::exchange(next_object_, next_object_ + count);
    });
  }
  ClusterWriteState& cluster() { return cluster_; }
  ObjectPagePlan& settings() { return plan_; }

 private:
  ObjectPagePlan plan_;
  ClusterWriteState cluster_;
  std::uint64_t next_object_ = 1;
};

std::uint64_t size_of(const io::UpdateItem& item) {
  std::uint64_t size = 0;
  for (const ByteSpan part : item.parts) size += part.size();
  return size;
}

std::vector<std::uint64_t> sizes_of(const std::vector<ObjectUpdate>& updates) {
  std::vector<std::uint64_t> sizes;
  for (const ObjectUpdate& update : updates)
    for (const io::UpdateItem& item : update.items) sizes.push_back(size_of(item));
  return sizes;
}

TEST(ObjectUpdates, TargetsAreWhatTheStoreLikes) {
  io::StoreTraits traits = TestStore::like_s3();
  EXPECT_EQ(value_target_of(traits, 1 << 20), traits.best_value);
  EXPECT_EQ(value_target_of(traits, 6 << 20), 6u << 20);
  EXPECT_EQ(value_target_of(traits, 0), 0u);
  EXPECT_EQ(value_target_of(traits, 1 << 30), LocalityLocation::most_offset);
  traits = TestStore::like_daos();
  EXPECT_EQ(value_target_of(traits, 1 << 16), 1u << 16);
  traits.max_value = 1000;
  EXPECT_EQ(value_target_of(traits, 1 << 16), 1000u);
}

TEST(ObjectUpdates, ValuesAreFilledUpToTheTarget) {
  Planner planner(TestStore::like_daos(), 100);
  TestPages pages;
  for (const std::size_t size : {60, 60, 99, 1, 100, 250, 10}) pages.add(5, size);
  const PlannedPages planned = planner.plan(pages);
  EXPECT_THAT(sizes_of(planned.updates), ElementsAre(120, 100, 100, 250, 10));
  ASSERT_EQ(planned.updates.size(), 1u);  // few data: one operation
  EXPECT_EQ(planned.updates[0].object, (io::ObjectId{3, 1}));
  EXPECT_EQ(planned.updates[0].dkey, 5u);
  std::vector<LocalityLocation> places;
  for (const std::uint64_t location : planned.locations) places.push_back(LocalityLocation::of(location));
  EXPECT_THAT(places,
              ElementsAre(LocalityLocation{1, 0, 0}, LocalityLocation{1, 0, 60}, LocalityLocation{1, 1, 0},
                          LocalityLocation{1, 1, 99}, LocalityLocation{1, 2, 0}, LocalityLocation{1, 3, 0},
                          LocalityLocation{1, 4, 0}));
}

TEST(ObjectUpdates, BytesStayWhereTheyAre) {
  Planner planner(TestStore::like_daos(), 100);
  TestPages pages;
  pages.add(0, 10);
  pages.add(0, 20);
  const PlannedPages planned = planner.plan(pages);
  const auto& parts = planned.updates.at(0).items.at(0).parts;
  ASSERT_EQ(parts.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(parts[i].data(), pages.parts()[i].bytes.data());
}

TEST(ObjectUpdates, WithoutSplicingEachPageIsAValue) {
  Planner planner(TestStore::like_daos(), 0);
  TestPages pages;
  for (int i = 0; i < 5; ++i) pages.add(1, 10);
  const PlannedPages planned = planner.plan(pages);
  EXPECT_THAT(sizes_of(planned.updates), ElementsAre(10, 10, 10, 10, 10));
  EXPECT_EQ(planned.updates.size(), 1u);
}

TEST(ObjectUpdates, ColumnsAreKeptApartHoweverTheyCome) {
  Planner planner(TestStore::like_daos(), 100);
  TestPages pages;
  for (const std::uint32_t column : {7u, 2u, 7u, 2u, 4u}) pages.add(column, 30);
  const PlannedPages planned = planner.plan(pages);
  ASSERT_EQ(planned.updates.size(), 3u);
  EXPECT_EQ(planned.updates[0].dkey, 2u);
  EXPECT_EQ(planned.updates[2].dkey, 7u);
  EXPECT_THAT(sizes_of(planned.updates), ElementsAre(60, 30, 60));
  EXPECT_EQ(LocalityLocation::of(planned.locations[2]), (LocalityLocation{1, 0, 30}));
}

TEST(ObjectUpdates, NothingGrowsAboveTheLargestValue) {
  io::StoreTraits traits = TestStore::like_daos();
  traits.max_value = 100;
  Planner planner(traits, 1 << 20);
  TestPages pages;
  for (const std::size_t size : {60, 40, 60, 41, 100}) pages.add(0, size);
  EXPECT_THAT(sizes_of(planner.plan(pages).updates), ElementsAre(100, 60, 41, 100));
  pages.add(0, 101);
  const std::uint64_t object = planner.cluster().object;
  const Error error = error_of([&] { planner.plan(pages); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.problem(), testing::HasSubstr("101 bytes"));
  EXPECT_EQ(planner.cluster().object, object);
}

TEST(ObjectUpdates, PiecesOfAClusterFollowEachOther) {
  Planner planner(TestStore::like_daos(), 100);
  TestPages pages;
  pages.add(0, 150);
  pages.add(1, 10);
  planner.plan(pages);
  const PlannedPages second = planner.plan(pages);
  EXPECT_EQ(LocalityLocation::of(second.locations[0]), (LocalityLocation{1, 1, 0}));
  EXPECT_EQ(LocalityLocation::of(second.locations[1]), (LocalityLocation{1, 1, 0}));
}

TEST(ObjectUpdates, AFullColumnGoesOnInAnotherObject) {
  Planner planner(TestStore::like_daos(), 0);
  planner.cluster().object = 9;
  planner.cluster().next_values = {0, LocalityLocation::most_values - 1};
  TestPages pages;
  for (int i = 0; i < 3; ++i) pages.add(1, 10);
  pages.add(2, 10);
  const PlannedPages planned = planner.plan(pages);
  std::vector<LocalityLocation> places;
  for (const std::uint64_t location : planned.locations) places.push_back(LocalityLocation::of(location));
  EXPECT_THAT(places,
              ElementsAre(LocalityLocation{9, LocalityLocation::most_values - 1, 0},
                          LocalityLocation{1, 0, 0}, LocalityLocation{1, 1, 0}, LocalityLocation{1, 0, 0}));
  EXPECT_EQ(planned.updates.size(), 3u);
}

// Uses vector operations if they help, none larger than a few MiB, and enough of them to keep the store busy.
TEST(ObjectUpdates, OperationsAreBalanced) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  TestPages pages;
  for (int i = 0; i < 48; ++i) pages.add(0, mib / 2);
  const auto operations = [&](const io::StoreTraits& traits, std::uint64_t splice_size) {
    std::vector<std::size_t> items;
    for (const ObjectUpdate& update : Planner(traits, splice_size).plan(pages).updates)
      items.push_back(update.items.size());
    return items;
  };
  EXPECT_THAT(operations(TestStore::like_daos(), mib), ElementsAre(3, 3, 3, 3, 3, 3, 3, 3));
  io::StoreTraits traits = TestStore::like_daos();
  traits.concurrency = 2;
  EXPECT_THAT(operations(traits, mib), ElementsAre(4, 4, 4, 4, 4, 4));
  traits.max_items = 5;
  EXPECT_EQ(operations(traits, 0).size(), 10u);  // of five half MiB each
  EXPECT_EQ(operations(TestStore::like_s3(), mib).size(), 6u);
}

TEST(ObjectUpdates, ObjectPerPageGivesEachPageItsOwn) {
  Planner planner(TestStore::like_daos(), 1 << 20, ObjectMapping::object_per_page);
  TestPages pages;
  for (const std::uint32_t column : {0u, 3u, 3u}) pages.add(column, 30);
  const PlannedPages planned = planner.plan(pages);
  EXPECT_THAT(planned.locations, ElementsAre(1, 2, 3));
  ASSERT_EQ(planned.updates.size(), 3u);
  EXPECT_EQ(planned.updates[2].object, (io::ObjectId{3, 3}));
  EXPECT_EQ(planned.updates[2].dkey, 0u);
  EXPECT_TRUE(planner.plan(TestPages()).updates.empty());
}

}  // namespace
}  // namespace colonnade::container
