// Collects what crashed writers leave, and nothing else.
#include "colonnade/garbage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_environment.h"
#include "base/test_folder.h"
#include "container/object_store/claim.h"
#include "container/object_store/generations.h"
#include "container/object_store/test_tools.h"

namespace colonnade::container {
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
      ClusterWriteState cluster;
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
  // Ends a writer as if its process had been killed.
  void kill(std::unique_ptr<ObjectContainerWriter> writer) {
    test_.faults().lose_server();
    writer.reset();
    test_.faults().restore();
  }
  void crash(const std::string& name, unsigned clusters) {
    auto writer = open(name);
    fill(*writer, clusters);
    kill(std::move(writer));
    ASSERT_NE(find_place(*store_, name).claim(), nullptr);
  }

  TestEnvironment around_;
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
  open("B")->close();
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
  kill(std::move(writer));
  const GarbageReport report = collect_garbage(test_);
  ASSERT_EQ(report.removed.size(), 1u);
  EXPECT_TRUE(report.removed[0].uncommitted_part);
  EXPECT_EQ(test_.addresses(), committed);
  EXPECT_TRUE(find_anchor(*store_, "A"));
}

TEST_F(Garbage, WhatAnOlderRecordDoesNotNameGoesWhereItCanBeFound) {
  io::set_memory_store_traits(test_, TestStore::like_s3());
  write("A");
  const auto before = test_.addresses();
  crash("A", 200);
  const DirectoryPlace place = find_place(*store_, "A");
  GenerationRecord record = find_generation(*store_, place.dkey, place.claim()->generation).value();
  EXPECT_GT(record.end_objects, 200u);
  record.end_objects = record.first_object;
  write_generation(*store_, place.dkey, record);  // a put without an answer, done late
  EXPECT_EQ(collect_garbage(test_).removed.size(), 1u);
  EXPECT_EQ(test_.addresses(), before);
}

TEST_F(Garbage, WhatFollowsTheLastCheckpointGoesIfTheRecordIsOlderThanThat) {
  io::set_memory_store_traits(test_, TestStore::like_s3());
  auto writer = open("A");
  writer->commit(fill(*writer, 70));
  const auto committed = test_.addresses();
  fill(*writer, 70);
  kill(std::move(writer));
  const DirectoryPlace place = find_place(*store_, "A");
  GenerationRecord record = find_generation(*store_, place.dkey, place.claim()->generation).value();
  record.end_objects = 65;
  write_generation(*store_, place.dkey, record);  // a put without an answer, done late
  EXPECT_EQ(collect_garbage(test_).removed.size(), 1u);
  EXPECT_EQ(test_.addresses(), committed);
  EXPECT_EQ(collect_garbage(test_).removed.size(), 0u);
}

TEST_F(Garbage, WhoIsAtWorkIsLeftAlone) {
  crash("A", 3);
  const auto writer = open("A");  // takes the claim over
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

TEST_F(Garbage, DamagedRecordsKeepWhatTheySpeakOf) {
  write("A");
  write("B");
  const std::uint64_t place = first_place_of("A");
  const Bytes damaged(64);
  const io::UpdateItem anchor{.akey = place_key, .parts = {damaged}};
  store_->update(directory_object, place, {&anchor, 1});
  const std::size_t before = test_.addresses().size();
  for (const bool force : {false, true}) {
    const GarbageReport report = collect_garbage(test_, {.force = force});
    ASSERT_EQ(report.problems.size(), 1u);
    EXPECT_THAT(report.problems[0], HasSubstr("data set record"));
    EXPECT_EQ(test_.addresses().size(), before);
  }
}

TEST_F(Garbage, ARecordThatIsMissingKeepsWhatItSpokeOf) {
  write("A");
  store_->remove(directory_value(first_place_of("A"), place_key));
  const auto before = test_.addresses();
  const GarbageReport report = collect_garbage(test_, {.force = true});
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_THAT(report.problems[0], HasSubstr("is missing, but 1 generations of it exist"));
  EXPECT_EQ(test_.addresses(), before);
}

TEST(GarbageInAFolder, WhatNoRecordSpeaksOfGoesByForceAlone) {
  const TestFolder folder;
  const std::string uri = "obj://" + (folder.path() / "store").string();
  const auto write = [&](const char* name) {
    const auto writer = ObjectContainerWriter::open(io::open_object_store(uri, {.create = true}), name, {},
                                                    ObjectTarget::any);
    Anchor anchor;
    anchor.header_offset = anchor.footer_offset = writer->write_blob(page_bytes(50, 1), 50).offset;
    writer->commit(anchor);
    writer->close();
  };
  write("A");
  write("B");
  const auto store = io::open_object_store(uri);
  const std::uint32_t lost = find_anchor(*store, "A")->generation;
  // A crash of the machine lost a record, and with it the generation's.
  store->remove(directory_value(first_place_of("A"), place_key));
  store->remove(directory_value(first_place_of("A"), first_generation_key + lost));
  EXPECT_THAT(store->list_groups(), testing::Contains(lost));
  EXPECT_THAT(collect_garbage(uri).removed, IsEmpty());
  EXPECT_EQ(collect_garbage(uri, {.dry_run = true, .force = true}).removed.size(), 1u);
  EXPECT_THAT(store->list_groups(), testing::Contains(lost));
  const GarbageReport report = collect_garbage(uri, {.force = true});
  ASSERT_EQ(report.removed.size(), 1u);
  EXPECT_EQ(report.removed[0].generation, lost);
  EXPECT_EQ(report.removed[0].data_set, "");
  EXPECT_THAT(store->list_groups(), testing::ElementsAre(find_anchor(*store, "B")->generation));
}

TEST_F(Garbage, WhatCannotBeReachedKeepsNobodyFromTheRest) {
  crash("A", 3);
  crash("B", 3);
  crash("C", 3);
  test_.faults().fail(io::StoreOperation::remove, 1, 1);
  const GarbageReport report = collect_garbage(test_);
  EXPECT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.removed.size(), 2u);
  EXPECT_EQ(collect_garbage(test_).removed.size(), 1u);
  EXPECT_THAT(test_.groups(), IsEmpty());
  // But a store that is unavailable is an error.
  crash("A", 3);
  test_.faults().lose_server(5);
  EXPECT_EQ(error_of([&] { collect_garbage(test_); }).kind(), ErrorKind::io);
}

TEST_F(Garbage, NamesThatFollowEachOtherStayReachable) {
  // "A" occupies the first place of "B", which uses the next one.
  PlaceWriter(*store_, first_place_of("B"), std::nullopt).change([](PlaceRecord& record) {
    record.anchor.name = "A";
  });
  write("B");
  ASSERT_EQ(find_place(*store_, "B").dkey, next_place(first_place_of("B")));
  collect_garbage(test_);
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
  EXPECT_EQ(test_.addresses().size(), before.size() + 1);  // the place of the name
  EXPECT_EQ(error_of([&] { remove_data_set(test_, "B"); }).kind(), ErrorKind::not_found);
  const auto writer = open("A");
  EXPECT_EQ(error_of([&] { remove_data_set(test_, "A"); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { remove_data_set("/tmp/a.root", "A"); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { collect_garbage("/tmp/a.root"); }).kind(), ErrorKind::usage);
}

}  // namespace
}  // namespace colonnade::container
