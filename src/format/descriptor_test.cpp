// Descriptor's look-up functions.
#include "colonnade/descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/envelope_samples.h"

namespace colonnade::format {
namespace {

using samples::add_field;
using samples::everything;
using samples::small;
using samples::top_level;

TEST(Descriptor, PathsNameEveryField) {
  const Descriptor descriptor = everything();
  EXPECT_EQ(descriptor.path_of(0), "x");
  EXPECT_EQ(descriptor.path_of(3), "v._0.pt");
  EXPECT_EQ(descriptor.path_of(14), "names._0");
  EXPECT_EQ(descriptor.path_of(99), "");
  for (const FieldDescriptor& field : descriptor.fields)
    EXPECT_EQ(descriptor.find_field(descriptor.path_of(field.id)), field.id);
}

TEST(Descriptor, MembersOfACollectionsRecordNeedNoItemName) {
  const Descriptor descriptor = everything();
  EXPECT_EQ(descriptor.find_field("v.pt"), 3u);
  EXPECT_EQ(descriptor.find_field("v.id"), 4u);
  EXPECT_EQ(descriptor.find_field("v._0"), 2u);
}

TEST(Descriptor, ShortcutsWorkAtEveryLevel) {
  Descriptor descriptor;
  const auto outer = add_field(descriptor, top_level, FieldRole::collection, "events", "");
  const auto event = add_field(descriptor, outer, FieldRole::record, "_0", "");
  const auto inner = add_field(descriptor, event, FieldRole::collection, "jets", "");
  const auto jet = add_field(descriptor, inner, FieldRole::record, "_0", "");
  const auto pt = add_field(descriptor, jet, FieldRole::leaf, "pt", "float");
  EXPECT_EQ(descriptor.find_field("events.jets.pt"), pt);
  EXPECT_EQ(descriptor.find_field("events._0.jets.pt"), pt);
  EXPECT_EQ(descriptor.find_field("events._0.jets._0.pt"), pt);
}

TEST(Descriptor, ExactNamesGoFirst) {
  Descriptor descriptor;
  const auto list = add_field(descriptor, top_level, FieldRole::collection, "v", "");
  const auto item = add_field(descriptor, list, FieldRole::record, "_0", "");
  add_field(descriptor, item, FieldRole::leaf, "_0", "float");
  EXPECT_EQ(descriptor.find_field("v._0"), item);
}

TEST(Descriptor, LongestNameWins) {
  Descriptor descriptor;
  const auto record = add_field(descriptor, top_level, FieldRole::record, "a", "");
  const auto member = add_field(descriptor, record, FieldRole::leaf, "b", "");
  EXPECT_EQ(descriptor.find_field("a.b"), member);
  const auto odd = add_field(descriptor, top_level, FieldRole::leaf, "a.b", "");
  EXPECT_EQ(descriptor.find_field("a.b"), odd);
}

TEST(Descriptor, UnknownPaths) {
  const Descriptor descriptor = everything();
  for (const char* path :
       {"", ".", "nothing", "x.", ".x", "x.y", "v.", "v.nothing", "v._0.pt.x", "v..pt", "X"})
    EXPECT_EQ(descriptor.find_field(path), invalid_id) << path;
}

TEST(Descriptor, MembersOfARecordAreNotReachedThroughItsOnlyMember) {
  Descriptor descriptor;
  const auto record = add_field(descriptor, top_level, FieldRole::record, "r", "");
  const auto inner = add_field(descriptor, record, FieldRole::record, "in", "");
  add_field(descriptor, inner, FieldRole::leaf, "x", "float");
  EXPECT_EQ(descriptor.find_field("r.x"), invalid_id);
}

TEST(Descriptor, ClusterOfEntry) {
  const Descriptor descriptor = everything();  // 10, 10 and 5 entries
  EXPECT_EQ(descriptor.entries(), 25u);
  EXPECT_EQ(descriptor.cluster_of_entry(0), 0u);
  EXPECT_EQ(descriptor.cluster_of_entry(9), 0u);
  EXPECT_EQ(descriptor.cluster_of_entry(10), 1u);
  EXPECT_EQ(descriptor.cluster_of_entry(24), 2u);
  EXPECT_EQ(descriptor.cluster_of_entry(25), 3u);
  EXPECT_EQ(descriptor.cluster_of_entry(~std::uint64_t{0}), 3u);
}

TEST(Descriptor, EmptyClustersHoldNoEntry) {
  Descriptor descriptor = small(2);
  ClusterDescriptor empty;
  empty.first_entry = 10;
  descriptor.clusters.insert(descriptor.clusters.begin() + 1, empty);
  EXPECT_EQ(descriptor.cluster_of_entry(9), 0u);
  EXPECT_EQ(descriptor.cluster_of_entry(10), 2u);
}

TEST(Descriptor, EntriesBeforeThePageListsAreRead) {
  Descriptor descriptor = small(2);
  descriptor.clusters.clear();
  EXPECT_EQ(descriptor.entries(), 20u);
  EXPECT_EQ(Descriptor{}.entries(), 0u);
}

}  // namespace
}  // namespace colonnade::format
