// Collecting what crashed writers leave, and nothing else.
#include "colonnade/garbage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "page/object_claim.h"
#include "page/object_generations.h"
#include "page/object_test_tools.h"

namespace colonnade::page {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Garbage : public testing::Test {
 protected:
  std::unique_ptr<ObjectContainerWriter> open(const std::string& name) {
    return ObjectContainerWriter::open(test_.open(), name, {}, ObjectTarget::any);
  }
  Anchor fill(WriteContainer& writer, unsigned clusters) {
    const Bytes blob = page_bytes(50, 1);
    Anchor anchor;
    anchor.header_offset = writer.write_blob(blob, 50).offset;
    for (unsigned i = 0; i < clusters; ++i) {
      TestPages pages;
      pages.add(0, 100);
      ClusterPlace cluster;
      writer.write_pages(pages.parts(), cluster);
    }
    anchor.footer_offset = writer.write_blob(blob, 50).offset;
    return anchor;
  }
  void write(const std::string& name) {
    const auto writer = open(name);
    writer->commit(fill(*writer, 2));
    writer->close();
  }
  // Ends a writer as if its process were killed, and changes the claim that it leaves.
  template <class Change>
  void leave(const std::string& name, std::unique_ptr<ObjectContainerWriter> writer, Change change) {
    test_.faults().lose_server();
    writer.reset();
    test_.faults().restore();
    const DirectoryPlace place = find_place(*store_, name, true);
    ASSERT_TRUE(place.claim);
    ClaimRecord claim = place.claim->record;
    change(claim);
    ASSERT_TRUE(
        store_->put_if(directory_value(place.dkey, claim_key), to_bytes(claim), place.claim->version));
  }
  void crash(const std::string& name, unsigned clusters) {
    auto writer = open(name);
    fill(*writer, clusters);
    leave(name, std::move(writer), [](ClaimRecord& claim) { ++claim.process_start; });
  }

  TestStore test_{TestStore::like_daos()};
  std::shared_ptr<io::ObjectStore> store_ = test_.open();
};

TEST_F(Garbage, NothingInACleanStore) {
  EXPECT_THAT(collect_garbage(test_).removed, IsEmpty());
  write("A");
  const auto before = test_.addresses();
  const GarbageReport report = collect_garbage(test_);
  EXPECT_THAT(report.removed, IsEmpty());
  EXPECT_THAT(report.released, IsEmpty());
  EXPECT_THAT(report.kept, IsEmpty());
  EXPECT_EQ(test_.addresses(), before);
}

TEST_F(Garbage, ExactlyWhatACrashedWriterLeft) {
  write("A");
  const auto before = test_.addresses();
  crash("B", 70);
  crash("A", 5);
  const auto littered = test_.addresses();
  const GarbageReport dry = collect_garbage(test_, {.dry_run = true});
  EXPECT_EQ(test_.addresses(), littered);
  const GarbageReport report = collect_garbage(test_);
  EXPECT_EQ(test_.addresses(), before);
  for (const GarbageReport* each : {&dry, &report}) {
    EXPECT_THAT(each->problems, IsEmpty());
    ASSERT_EQ(each->removed.size(), 2u);
    ASSERT_EQ(each->released.size(), 2u);
    EXPECT_THAT(each->released[0].writer, HasSubstr("process"));
    for (const RemovedGeneration& removed : each->removed) {
      EXPECT_EQ(removed.objects, removed.data_set == "B" ? 128u : 64u);
      EXPECT_FALSE(removed.uncommitted_part);
    }
  }
  EXPECT_EQ(collect_garbage(test_).removed.size(), 0u);
}

TEST_F(Garbage, WhatFollowsTheLastCheckpoint) {
  auto writer = open("A");
  writer->commit(fill(*writer, 2));
  const auto committed = test_.addresses();
  fill(*writer, 7);
  leave("A", std::move(writer), [](ClaimRecord& claim) { ++claim.process_start; });
  const GarbageReport report = collect_garbage(test_);
  ASSERT_EQ(report.removed.size(), 1u);
  EXPECT_TRUE(report.removed[0].uncommitted_part);
  EXPECT_EQ(test_.addresses().size(), committed.size() - 1);  // but for the claim
  EXPECT_TRUE(find_anchor(*store_, "A"));
}

TEST_F(Garbage, WhoIsAtWorkIsLeftAlone) {
  crash("A", 3);
  const auto writer = open("A");  // takes over
  const Anchor written = fill(*writer, 3);
  EXPECT_EQ(test_.groups().size(), 2u);
  const GarbageReport report = collect_garbage(test_);
  EXPECT_EQ(report.removed.size(), 1u);
  EXPECT_EQ(report.kept.size(), 1u);
  EXPECT_EQ(test_.groups().size(), 1u);
  EXPECT_NO_THROW(writer->commit(written));
  writer->close();
  EXPECT_TRUE(find_anchor(*store_, "A"));
}

TEST_F(Garbage, ForceTakesTheClaimAndTheWriterNotices) {
  write("A");
  const auto writer = open("A");
  const Anchor written = fill(*writer, 3);
  const GarbageReport report = collect_garbage(test_, {.force = true});
  EXPECT_EQ(report.removed.size(), 1u);
  EXPECT_EQ(report.released.size(), 1u);
  EXPECT_THAT(error_of([&] { writer->commit(written); }).problem(), HasSubstr("has taken over"));
  EXPECT_NO_THROW(writer->close());
  EXPECT_EQ(find_anchor(*store_, "A")->end_objects, 3u);
}

TEST_F(Garbage, AgeDecidesWhereNothingIsKnown) {
  auto writer = open("A");
  fill(*writer, 3);
  leave("A", std::move(writer), [](ClaimRecord& claim) {
    claim.host = "elsewhere";
    claim.since -= 1000;
  });
  EXPECT_EQ(collect_garbage(test_).kept.size(), 1u);
  EXPECT_EQ(collect_garbage(test_, {.older_than = 2000.0}).kept.size(), 1u);
  EXPECT_EQ(collect_garbage(test_, {.older_than = 500.0}).removed.size(), 1u);
  EXPECT_THAT(test_.groups(), IsEmpty());
}

TEST_F(Garbage, DamagedRecordsKeepWhatTheySpeakOf) {
  write("A");
  write("B");
  const std::uint64_t place = first_place_of("A");
  const Bytes damaged(64);
  const io::UpdateItem anchor{.akey = anchor_key, .parts = {damaged}};
  store_->update(directory_object, place, {&anchor, 1});
  const std::size_t before = test_.addresses().size();
  for (const bool force : {false, true}) {
    const GarbageReport report = collect_garbage(test_, {.force = force});
    ASSERT_EQ(report.problems.size(), 1u);
    EXPECT_THAT(report.problems[0], HasSubstr("anchor record"));
    EXPECT_EQ(test_.addresses().size(), before);
  }
}

TEST_F(Garbage, ADamagedClaimNeedsForce) {
  write("A");
  const auto before = test_.addresses();
  const Bytes damaged(64);
  const io::UpdateItem claim{.akey = claim_key, .parts = {damaged}};
  store_->update(directory_object, first_place_of("A"), {&claim, 1});
  EXPECT_EQ(collect_garbage(test_).problems.size(), 1u);
  EXPECT_THROW(open("A"), Error);
  EXPECT_THAT(collect_garbage(test_, {.force = true}).problems, IsEmpty());
  EXPECT_EQ(test_.addresses(), before);
}

TEST_F(Garbage, NamesThatFollowEachOtherStayReachable) {
  // "A" has the first place of "B", whose own comes after it.
  const auto claim_at = [&](std::uint64_t place, const std::string& name) {
    ClaimRecord claim = claim_of_this_process(name, 0);
    ++claim.process_start;
    put_claim(*store_, place, claim, std::nullopt);
  };
  claim_at(first_place_of("B"), "A");
  write("B");
  ASSERT_EQ(find_place(*store_, "B", false).dkey, next_place(first_place_of("B")));
  EXPECT_EQ(collect_garbage(test_).released.size(), 1u);
  EXPECT_TRUE(find_anchor(*store_, "B"));
  write("B");
  EXPECT_TRUE(find_anchor(*store_, "B"));
  EXPECT_EQ(list_anchors(*store_).size(), 1u);
}

TEST_F(Garbage, DataSetsAreRemoved) {
  write("A");
  const auto before = test_.addresses();
  write("B");
  remove_data_set(test_, "B");
  EXPECT_EQ(test_.addresses(), before);
  EXPECT_EQ(error_of([&] { remove_data_set(test_, "B"); }).kind(), ErrorKind::not_found);
  const auto writer = open("A");
  EXPECT_EQ(error_of([&] { remove_data_set(test_, "A"); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { remove_data_set("/tmp/a.root", "A"); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { collect_garbage("/tmp/a.root"); }).kind(), ErrorKind::usage);
}

}  // namespace
}  // namespace colonnade::page
