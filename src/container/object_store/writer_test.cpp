// Writing data sets to a memory store: visibility, exclusion of writers, and what failures leave behind.
#include "container/object_store/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_environment.h"
#include "container/object_store/claim.h"
#include "container/object_store/generations.h"
#include "container/object_store/test_tools.h"

namespace colonnade::container {
namespace {

using io::StoreOperation;
using testing::HasSubstr;

class ObjectContainer : public testing::Test {
 protected:
  std::unique_ptr<ObjectContainerWriter> open(const std::string& name = "Events",
                                              ObjectTarget target = ObjectTarget::any,
                                              const ContainerOptions& options = {}) {
    return ObjectContainerWriter::open(test_.open(), name, options, target);
  }

  // Header, `clusters` clusters of one column and a footer; not committed yet.
  Anchor fill(WriteContainer& writer, unsigned clusters, std::uint64_t seed = 1) {
    const Bytes header = page_bytes(50, seed), footer = page_bytes(60, seed + 1);
    Anchor anchor;
    const Locator first = writer.write_blob(header, header.size());
    anchor.header_offset = first.offset;
    anchor.header_size = anchor.header_length = first.size;
    for (unsigned i = 0; i < clusters; ++i) {
      TestPages pages;
      pages.add(0, 100);
      ClusterWriteState cluster;
      writer.write_pages(pages.parts(), cluster);
    }
    const Locator last = writer.write_blob(footer, footer.size());
    anchor.footer_offset = last.offset;
    anchor.footer_size = anchor.footer_length = last.size;
    return anchor;
  }

  std::uint32_t write(const std::string& name, unsigned clusters = 3) {
    const auto writer = open(name);
    writer->commit(fill(*writer, clusters));
    writer->close();
    return find_anchor(*store_, name)->generation;
  }

  std::optional<AnchorRecord> anchor(const std::string& name = "Events") {
    return find_anchor(*store_, name);
  }
  const ClaimRecord* claim() {
    place_ = find_place(*store_, "Events");
    return place_.claim();
  }
  // Ends a writer as if its process had been killed: it releases nothing.
  void crash(std::unique_ptr<ObjectContainerWriter> writer) {
    test_.faults().lose_server();
    writer.reset();
    test_.faults().restore();
    ASSERT_TRUE(claim());
  }

  TestEnvironment around_;
  DirectoryPlace place_;
  TestStore test_{TestStore::like_daos()};
  std::shared_ptr<io::ObjectStore> store_ = test_.open();
};

TEST_F(ObjectContainer, NothingIsVisibleBeforeTheCommit) {
  const auto writer = open();
  const Anchor written = fill(*writer, 2);
  EXPECT_FALSE(anchor());
  writer->commit(written);
  ASSERT_TRUE(anchor());
  EXPECT_EQ(anchor()->anchor, written);
  EXPECT_EQ(anchor()->commit, 1u);
  EXPECT_EQ(anchor()->end_objects, 3u);
  EXPECT_EQ(anchor()->end_blobs, 2u);
  writer->close();
  EXPECT_FALSE(claim());
  EXPECT_EQ(find_generation(*store_, first_place_of("Events"), anchor()->generation)->end_objects, 3u);
}

TEST_F(ObjectContainer, PagesAreWhereTheLocationsSay) {
  for (const ObjectMapping mapping : {ObjectMapping::locality, ObjectMapping::object_per_page}) {
    for (const std::size_t splice_size : {std::size_t{0}, std::size_t{64}, std::size_t{1} << 20}) {
      const auto writer =
          open("Events", ObjectTarget::any, {.object_mapping = mapping, .splice_size = splice_size});
      TestPages pages;
      for (unsigned i = 0; i < 40; ++i) pages.add(i % 3, 1 + i * 7 % 100);
      ClusterWriteState cluster;
      const auto locations = writer->write_pages(pages.parts(), cluster);
      writer->commit(fill(*writer, 1));
      writer->close();
      pages.expect_at(*store_, anchor()->generation, mapping, locations);
      EXPECT_EQ(anchor()->mapping, mapping);
      EXPECT_EQ(anchor()->splice_size, splice_size);
    }
  }
}

TEST_F(ObjectContainer, AClusterIsOneBatchOfFewOperations) {
  const auto writer = open("Events", ObjectTarget::any, {.splice_size = 1 << 20});
  TestPages pages;
  for (unsigned i = 0; i < 320; ++i) pages.add(i % 5, 1 << 14);  // five columns of 1 MiB
  ClusterWriteState cluster;
  writer->write_pages(pages.parts(), cluster);  // with the reservation
  test_.reset_counts();
  cluster = {};
  writer->write_pages(pages.parts(), cluster);
  EXPECT_EQ(test_.counts().updates, 5u);
  EXPECT_EQ(test_.counts().updated_items, 5u);
  EXPECT_EQ(test_.counts().updated_bytes, 320u << 14);
  EXPECT_EQ(test_.counts().puts + test_.counts().gets + test_.counts().sizes, 0u);
  writer->close();
}

TEST_F(ObjectContainer, NoPutThatIsDoneLateTakesBackWhatOthersReserved) {
  const auto writer = open();
  writer->begin_parts();
  EXPECT_EQ(test_.counts().updates, 0u);  // all were on condition
}

TEST_F(ObjectContainer, NumbersAreReservedInSteps) {
  const auto writer = open();
  test_.reset_counts();
  for (int i = 0; i < 128; ++i) {
    TestPages pages;
    pages.add(0, 10);
    ClusterWriteState cluster;
    writer->write_pages(pages.parts(), cluster);
  }
  EXPECT_EQ(test_.counts().updates, 128u + 2);
  const std::uint32_t group = *test_.groups().begin();
  EXPECT_GE(find_generation(*store_, first_place_of("Events"), group)->end_objects, 129u);
}

TEST_F(ObjectContainer, ContinuingCostsTheSameHoweverOftenItWasDone) {
  std::vector<std::uint64_t> costs;
  for (int i = 0; i < 40; ++i) {
    test_.reset_counts();
    const auto writer = open("Events", i == 0 ? ObjectTarget::any : ObjectTarget::present);
    writer->commit(fill(*writer, 1));
    writer->close();
    costs.push_back(test_.counts().gets + test_.counts().lists);
  }
  EXPECT_EQ(costs.back(), costs.at(3));
}

TEST_F(ObjectContainer, WithoutCommitNothingIsLeft) {
  const std::size_t before = test_.addresses().size();
  const auto writer = open();
  fill(*writer, 100);
  writer->close();
  EXPECT_FALSE(anchor());
  EXPECT_TRUE(test_.groups().empty());
  EXPECT_EQ(test_.addresses().size(), before + 2);  // the counter, and the place of the name
  open();                                           // without close()
  EXPECT_EQ(test_.addresses().size(), before + 2);
}

TEST_F(ObjectContainer, WhatFollowsTheLastCommitIsRemoved) {
  const auto writer = open();
  writer->commit(fill(*writer, 3));
  const std::size_t committed = test_.addresses().size();
  fill(*writer, 200);
  writer->close();
  EXPECT_EQ(anchor()->end_objects, 4u);
  EXPECT_EQ(test_.addresses().size(), committed);
}

TEST_F(ObjectContainer, CheckpointsReplaceTheAnchor) {
  const auto writer = open();
  const Anchor first = fill(*writer, 1), second = fill(*writer, 1, 5);
  writer->commit(first);
  EXPECT_EQ(anchor()->anchor, first);
  writer->commit(second);
  EXPECT_EQ(anchor()->anchor, second);
  EXPECT_EQ(anchor()->commit, 2u);
  writer->commit(first);
  writer->close();
  EXPECT_EQ(anchor()->anchor, first);
}

TEST_F(ObjectContainer, OneWriterOfAName) {
  const auto writer = open();
  const Error error = error_of([&] { open(); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.problem(), HasSubstr("is being written by process " + std::string("1") + " on host"));
  EXPECT_THAT(error.advice(), HasSubstr("give it up: discard()"));
  EXPECT_EQ(error.context().uri, test_.uri());
  writer->commit(fill(*writer, 1));
  EXPECT_EQ(error_of([&] { open(); }).kind(), ErrorKind::usage);
  writer->close();
  EXPECT_NO_THROW(open());
}

TEST_F(ObjectContainer, SeveralDataSetsDoNotTouchEachOther) {
  const std::uint32_t a = write("A");
  const auto b = open("B"), c = open("dir/C");
  b->commit(fill(*b, 2));
  c->commit(fill(*c, 2));
  b->close();
  c->close();
  EXPECT_EQ(list_anchors(*store_).size(), 3u);
  EXPECT_EQ(test_.groups().size(), 3u);
  write("B");
  EXPECT_EQ(anchor("A")->generation, a);
  EXPECT_EQ(test_.groups().size(), 3u);
}

TEST_F(ObjectContainer, AReplacedDataSetStaysUntilTheCommit) {
  const std::uint32_t old = write("Events", 3);
  const auto before = test_.addresses();
  {
    const auto failed = open();
    fill(*failed, 5);
  }
  EXPECT_EQ(test_.addresses(), before);
  const auto writer = open();
  const Anchor written = fill(*writer, 5);
  EXPECT_EQ(anchor()->generation, old);
  EXPECT_TRUE(test_.groups().contains(old));
  writer->commit(written);
  EXPECT_NE(anchor()->generation, old);
  EXPECT_FALSE(test_.groups().contains(old));
  writer->close();
  EXPECT_EQ(generations_at(*store_, first_place_of("Events")).size(), 1u);
}

TEST_F(ObjectContainer, AnExistingNameCannotBeAdded) {
  open("Events", ObjectTarget::absent)->close();
  write("Events");
  const Error error = error_of([&] { open("Events", ObjectTarget::absent); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.problem(), HasSubstr("there is already a data set \"Events\""));
  EXPECT_FALSE(claim());
}

TEST_F(ObjectContainer, ADataSetIsContinued) {
  EXPECT_EQ(error_of([&] { open("Events", ObjectTarget::present); }).kind(), ErrorKind::not_found);
  const std::uint32_t generation = write("Events", 3);
  const auto before = test_.addresses();
  {
    auto writer = open("Events", ObjectTarget::present);
    fill(*writer, 4);
    crash(std::move(writer));
  }
  const auto writer = open("Events", ObjectTarget::present,
                           {.object_mapping = ObjectMapping::object_per_page, .splice_size = 17});
  const Anchor written = fill(*writer, 2);
  EXPECT_EQ(written.header_offset, 2u);
  writer->commit(written);
  writer->close();
  EXPECT_GT(anchor()->generation, generation + 1);
  ASSERT_EQ(anchor()->earlier.size(), 1u);
  EXPECT_EQ(anchor()->earlier[0], (EarlierGeneration{generation, 4, 2}));
  EXPECT_EQ(anchor()->commit, 2u);
  EXPECT_EQ(anchor()->end_objects, 6u);
  EXPECT_EQ(anchor()->mapping, ObjectMapping::locality);
  EXPECT_EQ(anchor()->splice_size, std::uint64_t{1} << 20);
  // A record, header, footer and two objects more; the old footer less, nothing of the crashed
  // writer.
  EXPECT_EQ(test_.addresses().size(), before.size() + 4);
  EXPECT_EQ(test_.groups(), (std::set<std::uint32_t>{generation, anchor()->generation}));
}

TEST_F(ObjectContainer, TheClaimOfADeadProcessIsTakenOver) {
  auto writer = open();
  fill(*writer, 2);
  crash(std::move(writer));
  EXPECT_TRUE(claim());
  EXPECT_EQ(test_.groups().size(), 1u);
  write("Events");
  EXPECT_FALSE(claim());
  EXPECT_EQ(test_.groups().size(), 1u);  // the garbage is gone, too
}

TEST_F(ObjectContainer, AFailedUpdateStays) {
  const auto writer = open();
  const Anchor written = fill(*writer, 1);
  writer->commit(written);
  TestPages pages;
  for (unsigned i = 0; i < 20; ++i) pages.add(i, 100);
  test_.faults().fail(StoreOperation::update, 3);
  ClusterWriteState cluster;
  const Error error = error_of([&] { writer->write_pages(pages.parts(), cluster); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THROW(writer->write_pages(pages.parts(), cluster), Error);
  EXPECT_THROW(writer->commit(written), Error);
  EXPECT_THROW(writer->close(), Error);
  EXPECT_EQ(anchor()->commit, 1u);
  EXPECT_EQ(anchor()->end_objects, 2u);
  EXPECT_FALSE(claim());
}

TEST_F(ObjectContainer, AServerThatIsGoneEndsInAnError) {
  for (std::uint64_t operations = 0; operations < 30; ++operations) {
    SCOPED_TRACE(operations);
    write("Events", 1);
    const std::uint32_t old = anchor()->generation;
    test_.faults().lose_server(operations);
    bool failed = false;
    try {
      const auto writer = open();
      writer->commit(fill(*writer, 2));
      writer->close();
    } catch (const Error& error) {
      failed = true;
      EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
    }
    test_.faults().restore();
    // Either the complete old data set or the complete new one.
    ASSERT_TRUE(anchor());
    EXPECT_EQ(anchor()->end_objects, anchor()->generation == old ? 2u : 3u);
    EXPECT_TRUE(test_.groups().contains(anchor()->generation));
    if (!failed) break;
    // A claim that cannot be released does not stop this process, as write() shows.
  }
}

TEST_F(ObjectContainer, OutOfSpaceLeavesTheLastCommit) {
  const auto writer = open();
  const Anchor written = fill(*writer, 1);
  writer->commit(written);
  test_.faults().limit_space(50);
  TestPages pages;
  pages.add(0, 1000);
  ClusterWriteState cluster;
  EXPECT_EQ(error_of([&] { writer->write_pages(pages.parts(), cluster); }).kind(), ErrorKind::io);
  EXPECT_THROW(writer->close(), Error);
  EXPECT_EQ(anchor()->anchor, written);
}

TEST_F(ObjectContainer, BlobsLargerThanAValueAreSplit) {
  io::StoreTraits traits = TestStore::like_daos();
  traits.max_value = 1000;
  const TestStore small(traits);
  const auto store = small.open();
  const auto writer = ObjectContainerWriter::open(store, "Events", {}, ObjectTarget::any);
  EXPECT_EQ(writer->max_key_size(), 1000u);
  const Bytes blob = page_bytes(2500, 1);
  EXPECT_EQ(writer->write_blob({}, 0).offset, 0u);
  const Locator locator = writer->write_blob(blob, blob.size());
  EXPECT_EQ(locator.offset, 1u);
  EXPECT_EQ(locator.size, 2500u);
  EXPECT_EQ(locator.kind, Locator::Kind::object64);
  EXPECT_EQ(writer->write_blob({}, 0).offset, 4u);
  const std::uint32_t group = *small.groups().begin();
  EXPECT_EQ(store->size({{group, 0}, 0, 0}), 0u);
  EXPECT_EQ(store->size({{group, 0}, 0, 3}), 500u);
}

TEST_F(ObjectContainer, ImpossibleOptionsAreRefusedBeforeAnythingIsWritten) {
  const std::size_t before = test_.addresses().size();
  const auto refused = [&](const std::string& name, const ContainerOptions& options) {
    const Error error = error_of([&] { open(name, ObjectTarget::any, options); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.problem();
  };
  EXPECT_THAT(refused("", {}), HasSubstr("whose name has 0 bytes"));
  EXPECT_THAT(refused(std::string(longest_name + 1, 'x'), {}), HasSubstr("whose name has 4097 bytes"));
  EXPECT_THAT(refused("Events", {.kind = ContainerKind::bare_file}), HasSubstr("bare file"));
  EXPECT_THAT(refused("Events", {.max_page_size = std::size_t{64} << 20}),
              HasSubstr("do not fit into values"));
  EXPECT_EQ(test_.addresses().size(), before);
}

TEST_F(ObjectContainer, UseAfterCloseIsRefused) {
  const auto writer = open();
  writer->commit(fill(*writer, 1));
  writer->close();
  writer->close();
  EXPECT_EQ(error_of([&] { writer->write_blob({}, 0); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { writer->commit({}); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { writer->write_parts({}); }).kind(), ErrorKind::usage);
}

TEST_F(ObjectContainer, DurableCommitsSyncBeforeAndAfterTheAnchor) {
  const auto writer = open("Events", ObjectTarget::any, {.durability = Durability::machine});
  const Anchor written = fill(*writer, 1);
  test_.reset_counts();
  writer->commit(written);
  EXPECT_EQ(test_.counts().syncs, 2u);
  writer->close();
}

}  // namespace
}  // namespace colonnade::container
