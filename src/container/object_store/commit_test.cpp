// The commit protocol of object containers under adverse ordering: lost answers, late puts, claims that are
// taken over, writers that resume. object-container.md explains why each step is safe; these tests try
// each.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/test_environment.h"
#include "colonnade/garbage.h"
#include "container/object_store/claim.h"
#include "container/object_store/generations.h"
#include "container/object_store/reader.h"
#include "container/object_store/test_tools.h"
#include "container/object_store/writer.h"

namespace colonnade::container {
namespace {

using io::StoreOperation;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

class ObjectCommit : public testing::Test {
 protected:
  using Writer = std::unique_ptr<ObjectContainerWriter>;

  Writer open(ObjectTarget target = ObjectTarget::any) {
    return ObjectContainerWriter::open(test_.open(), "Events", {}, target);
  }
  // Clusters of one page each, and a footer with their number.
  Anchor fill(WriteContainer& writer, unsigned clusters, std::uint64_t seed = 1) {
    for (unsigned i = 0; i < clusters; ++i) {
      TestPages pages;
      pages.add(0, 100);
      ClusterWriteState cluster;
      writer.write_pages(pages.parts(), cluster);
    }
    const Bytes blob = page_bytes(60, seed);
    const Locator at = writer.write_blob(blob, blob.size());
    Anchor anchor;
    anchor.header_offset = anchor.footer_offset = at.offset;
    anchor.header_size = anchor.footer_size = at.size;
    return anchor;
  }
  void write(unsigned clusters) {
    const Writer writer = open();
    writer->commit(fill(*writer, clusters));
    writer->close();
  }
  std::optional<AnchorRecord> anchor() { return find_anchor(*store_, "Events"); }
  const ClaimRecord* claim() {
    place_ = find_place(*store_, "Events");
    return place_.claim();
  }
  std::uint64_t objects() { return anchor() ? anchor()->end_objects - first_page_object : 0; }

  // Everything that the anchor names exists.
  void expect_whole() {
    const auto now = anchor();
    if (!now) return;
    for (std::uint64_t object = first_page_object; object < now->end_objects; ++object)
      EXPECT_TRUE(store_->size({{group_of_object(*now, object), object}, 0, 0})) << "object " << object;
    const std::uint64_t footer = now->anchor.footer_offset;
    EXPECT_TRUE(store_->size({{group_of_blob(*now, footer), metadata_object}, 0, footer}));
  }
  // After all writers have ended, gc leaves only what the anchor names and its records.
  void expect_clean() {
    EXPECT_THAT(collect_garbage(test_).problems, IsEmpty());
    EXPECT_EQ(claim(), nullptr);
    expect_whole();
    const auto now = anchor();
    for (const io::ValueAddress& at : test_.addresses()) {
      if (at.object == directory_object && at.dkey == counter_place) continue;
      if (at.object == directory_object && at.akey == place_key) continue;
      const bool is_record = at.object == directory_object;
      const std::uint32_t generation =
          is_record ? static_cast<std::uint32_t>(at.akey - first_generation_key) : at.object.group;
      const auto part = now ? part_of(*now, generation) : std::nullopt;
      EXPECT_TRUE(part &&
                  (is_record || (at.object.number == metadata_object ? at.akey < part->end_blobs
                                                                     : at.object.number < part->end_objects)))
          << io::to_text(at) << " is left over";
    }
  }

  TestEnvironment around_;
  TestStore test_{TestStore::like_daos()};
  std::shared_ptr<io::ObjectStore> store_ = test_.open();
  DirectoryPlace place_;
};

// ---- Lost answers

// The put of the n-th commit is applied but its answer lost, and the server is down; it returns before the
// writer ends.
TEST_F(ObjectCommit, ALostAnswerDestroysNothing) {
  for (const unsigned earlier_commits : {0u, 1u, 2u}) {
    for (const bool replaces : {false, true}) {
      for (const bool comes_back : {false, true}) {
        SCOPED_TRACE(testing::Message() << earlier_commits << replaces << comes_back);
        if (replaces) write(7);
        Writer writer = open();
        for (unsigned i = 0; i < earlier_commits; ++i) writer->commit(fill(*writer, 2));
        const Anchor last = fill(*writer, 3);
        test_.faults().lose_answer(StoreOperation::put_if);
        test_.faults().lose_server(2);  // after the read of the version and the put
        const Error error = error_of([&] { writer->commit(last); });
        EXPECT_EQ(error.kind(), ErrorKind::io);
        EXPECT_THAT(error.problem(), HasSubstr("it is not known whether this commit was made"));
        if (comes_back) test_.faults().restore();
        writer.reset();
        test_.faults().restore();
        EXPECT_EQ(objects(), earlier_commits * 2 + 3);
        expect_whole();
        expect_clean();
        if (anchor()) remove_data_set(test_, "Events");
        expect_clean();
      }
    }
  }
}

TEST_F(ObjectCommit, ALostAnswerIsFoundOutWhereTheStoreAnswers) {
  const Writer writer = open();
  const Anchor first = fill(*writer, 2);
  test_.faults().lose_answer(StoreOperation::put_if);
  EXPECT_NO_THROW(writer->commit(first));
  EXPECT_EQ(objects(), 2u);
  const Anchor second = fill(*writer, 2);
  test_.faults().fail(StoreOperation::put_if, 0, 1);  // refused: retried once
  EXPECT_NO_THROW(writer->commit(second));
  test_.faults().fail(StoreOperation::put_if, 0, 2);
  const Anchor third = fill(*writer, 2);
  const Error error = error_of([&] { writer->commit(third); });
  EXPECT_THAT(error.problem(), HasSubstr("the data set is as it was before this commit"));
  EXPECT_EQ(objects(), 4u);
  writer->close();
  EXPECT_EQ(objects(), 4u);
  expect_clean();
}

TEST_F(ObjectCommit, AClaimThatWasRefusedLeavesNoSignOfLife) {
  unsigned refused = 0;
  for (const bool replaces : {false, true}) {
    if (replaces) write(2);
    for (unsigned first = 0; first < 6; ++first) {
      test_.faults().fail(StoreOperation::put_if, first, 2);
      try {
        open()->close();
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::io);
        if (claim() == nullptr) {
          ++refused;
          EXPECT_EQ(around_.signs_of_life(), 0u) << replaces << first;
        }
      }
      test_.faults().restore();
      collect_garbage(test_);
    }
  }
  EXPECT_GE(refused, 2u);
  // One that may be there needs it.
  test_.faults().lose_answer(StoreOperation::put_if);
  test_.faults().lose_server(2);
  EXPECT_EQ(error_of([&] { open(); }).kind(), ErrorKind::io);
  test_.faults().restore();
  EXPECT_EQ(around_.signs_of_life(), claim() == nullptr ? 0u : 1u);
}

// A store that repeats requests gets refused by its own first attempt.
TEST_F(ObjectCommit, ARefusalByItselfIsSuccess) {
  write(3);
  for (const bool replaces : {false, true}) {
    const Writer writer = open();
    const Anchor written = fill(*writer, 2);
    test_.faults().come_late();
    test_.faults().before(StoreOperation::put_if, 1, [&] { test_.faults().arrive(); });
    EXPECT_NO_THROW(writer->commit(written));
    EXPECT_EQ(objects(), 2u);
    // The same for the claim.
    test_.faults().come_late();
    test_.faults().before(StoreOperation::put_if, 1, [&] { test_.faults().arrive(); });
    if (replaces) {
      writer->close();
      EXPECT_EQ(claim(), nullptr);
    }
  }
  test_.faults().restore();
  expect_clean();
}

TEST_F(ObjectCommit, ACommitThatComesLateIsVoidOnceItsWriterHasEnded) {
  write(7);
  Writer writer = open();
  const Anchor written = fill(*writer, 3);
  test_.faults().come_late();
  // The put has not arrived yet, so it is repeated; the late one then finds another record.
  EXPECT_NO_THROW(writer->commit(written));
  test_.faults().arrive();
  EXPECT_EQ(objects(), 3u);
  const Anchor more = fill(*writer, 3);
  test_.faults().come_late();
  test_.faults().fail(StoreOperation::put_if, 1, 1);
  EXPECT_THAT(error_of([&] { writer->commit(more); }).problem(), HasSubstr("as it was before this commit"));
  writer.reset();  // releases the claim: no open put can be applied any more
  test_.faults().arrive();
  EXPECT_EQ(objects(), 3u);
  expect_clean();
}

TEST_F(ObjectCommit, ACommitThatComesLateButBeforeItsWriterEndsIsThere) {
  write(7);
  Writer writer = open();
  const Anchor written = fill(*writer, 3);
  test_.faults().come_late();
  test_.faults().fail(StoreOperation::put_if, 1, 1);
  EXPECT_THROW(writer->commit(written), Error);
  EXPECT_EQ(objects(), 7u);
  test_.faults().arrive();
  EXPECT_EQ(objects(), 3u);
  writer.reset();
  EXPECT_EQ(objects(), 3u);
  expect_clean();
}

// ---- Claims that are taken over

// At each operation of a writer, gc takes its claim away; each commit succeeds or fails as reported.
TEST_F(ObjectCommit, GcByForceAtAnyMoment) {
  for (const StoreOperation kind : {StoreOperation::get, StoreOperation::put_if, StoreOperation::update,
                                    StoreOperation::list, StoreOperation::remove}) {
    for (std::uint64_t n = 0;; ++n) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << ", " << n);
      write(7);
      std::uint64_t committed = 7;
      bool happened = false;
      test_.faults().before(kind, n, [&] {
        happened = true;
        collect_garbage(test_, {.force = true});
      });
      try {
        const Writer writer = open();
        const Anchor first = fill(*writer, 2);
        writer->commit(first);
        committed = 2;
        const Anchor second = fill(*writer, 3);
        writer->commit(second);
        committed = 5;
        writer->close();
      } catch (const Error& error) {
        EXPECT_THAT(error.problem(), HasSubstr("has taken over the data set"));
      }
      test_.faults().restore();
      EXPECT_EQ(objects(), committed);
      expect_whole();
      expect_clean();
      if (!happened) break;
    }
  }
}

// Then another writer starts: when the first one resumes, it must not affect it.
TEST_F(ObjectCommit, AWriterThatWakesHarmsNobody) {
  for (const ObjectTarget target : {ObjectTarget::any, ObjectTarget::present}) {
    for (const StoreOperation kind : {StoreOperation::get, StoreOperation::put_if, StoreOperation::update,
                                      StoreOperation::list, StoreOperation::remove}) {
      for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE(testing::Message()
                     << static_cast<int>(target) << ", " << static_cast<int>(kind) << ", " << n);
        around_.become(1, "host");
        write(7);
        std::uint64_t expected = 0;
        Writer other;
        test_.faults().before(kind, n, [&] {
          around_.become(2, "other");
          collect_garbage(test_, {.force = true});
          other = open(target);
          const std::uint64_t before = target == ObjectTarget::present ? objects() : 0;
          other->commit(fill(*other, 4));
          expected = before + 4;
          fill(*other, 1);
          around_.become(1, "host");
        });
        bool refused = false;
        Writer writer;
        try {
          writer = open();
          writer->commit(fill(*writer, 2));
          writer->commit(fill(*writer, 3));
          writer->close();
        } catch (const Error& error) {
          refused = true;
        }
        writer.reset();
        test_.faults().restore();
        if (other) {
          EXPECT_TRUE(refused || objects() == expected);
          around_.become(2, "other");
          const Anchor last = fill(*other, 1);
          EXPECT_NO_THROW(other->commit(last));
          EXPECT_EQ(objects(), expected + 2);
          other->close();
        }
        expect_whole();
        expect_clean();
        if (expected == 0) {
          EXPECT_FALSE(refused);
          break;
        }
      }
    }
  }
}

TEST_F(ObjectCommit, TwoWritersAtOnceAndOneOfThemWrites) {
  for (std::uint64_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    Writer other;
    bool happened = false, refused = false;
    test_.faults().before(StoreOperation::put_if, n, [&] {
      happened = true;
      around_.become(2, "host");
      try {
        other = open();
      } catch (const Error&) {
      }
      around_.become(1, "host");
    });
    Writer writer;
    try {
      writer = open();
    } catch (const Error& error) {
      refused = true;
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.problem(), HasSubstr("is being written by process 2"));
    }
    test_.faults().restore();
    if (!happened) break;
    EXPECT_NE(refused, other == nullptr);
    writer.reset();
    around_.become(2, "host");
    other.reset();
    around_.become(1, "host");
    expect_clean();
  }
}

// ---- Leases

TEST_F(ObjectCommit, AWriterElsewhereIsRefusedWhileItsClaimIsRenewed) {
  const Writer writer = open();
  const Anchor written = fill(*writer, 2);
  around_.become(2, "other");
  const auto begin = around_.now();
  const Error error = error_of([&] { open(); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.problem(), HasSubstr("is being written by process 1 on host host"));
  EXPECT_LT(around_.now() - begin, 30s);
  EXPECT_EQ(error_of([&] { remove_data_set(test_, "Events"); }).kind(), ErrorKind::usage);
  EXPECT_EQ(collect_garbage(test_).kept.size(), 1u);
  EXPECT_EQ(collect_garbage(test_, {.older_than = 600.0}).kept.size(), 1u);
  around_.become(1, "host");
  around_.sleep_for(24h);  // a slow writer
  EXPECT_NO_THROW(writer->commit(written));
}

TEST_F(ObjectCommit, AWriterOfTheSameMachineIsRefusedAtOnceAndTakenOverAtOnce) {
  Writer writer = open();
  const auto begin = around_.now();
  around_.become(2, "host");
  EXPECT_EQ(error_of([&] { open(); }).kind(), ErrorKind::usage);
  around_.stop_process(1);  // a stopped process still exists
  EXPECT_EQ(error_of([&] { open(); }).kind(), ErrorKind::usage);
  around_.end_process(1);
  EXPECT_NO_THROW(open());
  EXPECT_EQ(around_.now(), begin);
}

// An equal host name proves nothing: the machine may be a copy.
TEST_F(ObjectCommit, ACopyOfTheMachineWaitsForTheLease) {
  Writer writer = open();
  const Anchor written = fill(*writer, 2);
  around_.become(2, "other");
  around_.stop_process(1);
  const auto begin = around_.now();
  write(4);
  EXPECT_GE(around_.now() - begin, 60s);
  EXPECT_LE(around_.now() - begin, 90s);
  around_.become(1, "host");
  around_.stop_process(1, false);
  TestPages pages;
  pages.add(0, 10);
  ClusterWriteState cluster;
  // By its own clock its lease is over: it checks before it writes.
  const Error error = error_of([&] { writer->write_pages(pages.parts(), cluster); });
  EXPECT_THAT(error.problem(), HasSubstr("has taken over"));
  EXPECT_THAT(error_of([&] { writer->commit(written); }).problem(), HasSubstr("has taken over"));
  EXPECT_NO_THROW(writer->close());
  EXPECT_EQ(objects(), 4u);
  expect_clean();
}

TEST_F(ObjectCommit, AStoreThatIsSilentTakesNobodysLease) {
  const Writer writer = open();
  const Anchor written = fill(*writer, 2);
  around_.become(2, "other");
  // No renewal is possible while the store is down for longer than the lease.
  bool silent = false;
  test_.faults().before(StoreOperation::get, 2, [&] {
    silent = true;
    around_.stop_process(1);
    around_.sleep_for(600s);
    around_.stop_process(1, false);
  });
  EXPECT_EQ(error_of([&] { open(); }).kind(), ErrorKind::usage);
  EXPECT_TRUE(silent);
  around_.become(1, "host");
  EXPECT_NO_THROW(writer->commit(written));
}

// Both machines stood still, as after the host of both is suspended.
TEST_F(ObjectCommit, WhoStoodStillItselfWatchesOn) {
  const Writer writer = open();
  const Anchor written = fill(*writer, 2);
  around_.become(2, "other");
  bool stood_still = false;
  around_.while_asleep([&] {
    if (std::exchange(stood_still, true)) return;
    around_.stop_process(1);
    around_.sleep_for(600s);
    around_.stop_process(1, false);
  });
  EXPECT_EQ(error_of([&] { open(); }).kind(), ErrorKind::usage);
  EXPECT_TRUE(stood_still);
  around_.become(1, "host");
  EXPECT_NO_THROW(writer->commit(written));
}

TEST_F(ObjectCommit, RenewalsCostOneReadAndOnePutEach) {
  const Writer writer = open();
  test_.reset_counts();
  around_.sleep_for(10min);
  EXPECT_LE(test_.counts().puts, 40u);
  EXPECT_LE(test_.counts().gets, 40u);
  EXPECT_EQ(test_.counts().updates + test_.counts().fetches + test_.counts().lists, 0u);
}

TEST_F(ObjectCommit, AChildOfTheProcessCannotHarmItsWriter) {
  Writer writer = open();
  const Anchor written = fill(*writer, 2);
  writer->commit(written);
  fill(*writer, 1);
  const auto before = test_.addresses();
  around_.become(2, "host");
  EXPECT_EQ(error_of([&] { writer->commit(written); }).kind(), ErrorKind::usage);
  EXPECT_NO_THROW(writer->close());
  EXPECT_EQ(test_.addresses(), before);
}

// ---- What checkpoints leave

// Each operation fails once, or its answer is lost; or all fail from there on. An error tells whether the
// commit was made, and what only tidies is none: `gc` does it later.
TEST_F(ObjectCommit, FailuresAfterTheCommitSayThatItWasMade) {
  const std::vector<StoreOperation> kinds{StoreOperation::update, StoreOperation::get,
                                          StoreOperation::put_if, StoreOperation::list,
                                          StoreOperation::remove, StoreOperation::sync};
  for (const StoreOperation kind : kinds)
    for (std::uint64_t n = 0; n < 12; ++n)
      for (const std::uint64_t count : {std::uint64_t{1}, io::StoreFaults::all}) {
        SCOPED_TRACE(fmt::format("{} {}, {} times", static_cast<int>(kind), n, count));
        write(1);
        test_.faults().fail(kind, n, count);
        std::string problem;
        try {
          const Writer writer = ObjectContainerWriter::open(
              test_.open(), "Events", {.durability = Durability::machine}, ObjectTarget::any);
          writer->commit(fill(*writer, 2));
          writer->close();
        } catch (const Error& error) {
          problem = error.problem();
        }
        test_.faults().restore();
        const bool is_known = problem.find("it is not known") == std::string::npos;
        EXPECT_TRUE(!is_known || (objects() == 2) ==
                                     (problem.empty() || problem.find("in its place") != std::string::npos))
            << problem;
      }
  collect_garbage(test_);
  write(3);
  expect_clean();
}

// After a crash of the machine the old count would return, and the next writer, of any data set, would get
// the same number: garbage of one data set would be values of the other.
TEST_F(ObjectCommit, TheNumberOfAGenerationIsOnTheDeviceBeforeItIsUsed) {
  test_.faults().fail(io::StoreOperation::sync);
  EXPECT_EQ(error_of([&] { open(); }).kind(), ErrorKind::io);
  for (const io::ValueAddress& address : test_.addresses())
    EXPECT_EQ(address.dkey, counter_place) << io::to_text(address);
  const std::uint64_t before = test_.faults().count(io::StoreOperation::sync);
  open()->close();
  EXPECT_GE(test_.faults().count(io::StoreOperation::sync), before + 1);
}

TEST_F(ObjectCommit, FootersOfOldCheckpointsAreRemoved) {
  const Writer writer = open();
  std::vector<AnchorRecord> states;
  std::vector<Locator> lists;
  for (unsigned i = 0; i < 100; ++i) {
    const Bytes list = page_bytes(20, i);
    if (i > 0) writer->retire_blob(lists.back());
    lists.push_back(writer->write_blob(list, list.size()));
    writer->commit(fill(*writer, 1));
    states.push_back(*anchor());
    std::size_t blobs = 0;
    for (const io::ValueAddress& at : test_.addresses())
      blobs += at.object.group != 0 && at.object.number == metadata_object;
    EXPECT_LE(blobs, 2u * 17);
    // The state of 15 commits ago can still be opened.
    const std::size_t old = i < 15 ? 0 : i - 15;
    const ObjectContainerReader reader(store_, states[old]);
    Bytes into(lists[old].size);
    EXPECT_NO_THROW(reader.read_blob(lists[old], 0, into));
    EXPECT_EQ(into, page_bytes(20, old));
    const Locator footer{.size = 60, .offset = states[old].anchor.footer_offset};
    Bytes content(60);
    EXPECT_NO_THROW(reader.read_blob(footer, 0, content));
  }
  writer->close();
  std::size_t blobs = 0;
  for (const io::ValueAddress& at : test_.addresses())
    blobs += at.object.group != 0 && at.object.number == metadata_object;
  EXPECT_EQ(blobs, 2u);
  expect_whole();
}

TEST_F(ObjectCommit, WhatACommitThatFailedDoesNotNameStays) {
  for (const bool is_made : {false, true}) {
    Writer writer = open();
    const Bytes list = page_bytes(20, 1);
    const Locator at = writer->write_blob(list, list.size());
    writer->commit(fill(*writer, 1));
    writer->retire_blob(at);
    const Anchor next = fill(*writer, 1);
    if (is_made) {
      test_.faults().lose_answer(StoreOperation::put_if);
      test_.faults().lose_server(2);
    } else {
      test_.faults().fail(StoreOperation::put_if, 0, 2);
    }
    EXPECT_THROW(writer->commit(next), Error);
    test_.faults().restore();
    writer.reset();
    EXPECT_EQ(objects(), is_made ? 2u : 1u);
    const io::ValueAddress blob{{anchor()->generation, metadata_object}, 0, at.offset};
    EXPECT_EQ(store_->size(blob).has_value(), !is_made);
    expect_whole();
  }
}

// If the machine goes down, the commit before it comes back.
TEST_F(ObjectCommit, WhatIsNotOnTheDeviceRemovesNothing) {
  const Writer writer = ObjectContainerWriter::open(test_.open(), "Events",
                                                    {.durability = Durability::machine}, ObjectTarget::any);
  const Anchor first = fill(*writer, 1);
  writer->commit(first);
  const Anchor next = fill(*writer, 1);
  test_.faults().fail(StoreOperation::sync, 1);
  EXPECT_THAT(error_of([&] { writer->commit(next); }).problem(), HasSubstr("in its place"));
  writer->close();
  EXPECT_EQ(objects(), 2u);
  EXPECT_TRUE(store_->size({{anchor()->generation, metadata_object}, 0, first.footer_offset}));
  write(1);
  expect_clean();
}

TEST_F(ObjectCommit, ManyBlobsAreReadInFewRequests) {
  for (const bool vectors : {false, true}) {
    io::StoreTraits traits = TestStore::like_daos();
    traits.vectors = vectors;
    traits.max_value = 1000;
    const TestStore other(traits);
    const auto store = other.open();
    Writer writer = ObjectContainerWriter::open(store, "Events", {}, ObjectTarget::any);
    std::vector<Locator> blobs;
    for (unsigned i = 0; i < 150; ++i) {
      if (i == 70) {  // the others belong to another generation
        writer->commit(fill(*writer, 1));
        writer->close();
        writer = ObjectContainerWriter::open(store, "Events", {}, ObjectTarget::present);
      }
      const Bytes bytes = page_bytes(i == 100 ? 2500 : i, i);
      blobs.push_back(writer->write_blob(bytes, bytes.size()));
    }
    writer->commit(fill(*writer, 1));
    writer->close();
    const ObjectContainerReader reader(store, *find_anchor(*store, "Events"));
    std::vector<Bytes> content;
    std::vector<ReadContainer::BlobRead> reads;
    for (const Locator& blob : blobs) content.emplace_back(blob.size);
    for (std::size_t i = 0; i < blobs.size(); ++i) reads.push_back({blobs[i], content[i]});
    other.reset_counts();
    reader.read_blobs(reads, 1000);
    for (unsigned i = 0; i < blobs.size(); ++i) EXPECT_EQ(content[i], page_bytes(content[i].size(), i));
    EXPECT_LE(other.counts().fetches, vectors ? 4u : 153u);
    store->remove({{find_anchor(*store, "Events")->generation, metadata_object}, 0, blobs[120].offset});
    EXPECT_EQ(error_of([&] { reader.read_blobs(reads, 1000); }).kind(), ErrorKind::format);
    remove_data_set(other, "Events");
    const Error error = error_of([&] { reader.read_blobs(reads, 1000); });
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_THAT(error.problem(), HasSubstr("the data set was removed while it was open"));
  }
}

TEST_F(ObjectCommit, AReaderIsToldWhatBecameOfItsDataSet) {
  write(3);
  const ObjectContainerReader reader(store_, *anchor());
  Bytes into(60);
  const auto read = [&] { reader.read_blob({.size = 60, .offset = 0}, 0, into); };
  EXPECT_NO_THROW(read());
  {
    Writer writer = open(ObjectTarget::present);  // removes the old footer
    writer->commit(fill(*writer, 1));
    writer->close();
  }
  EXPECT_THAT(error_of(read).problem(), HasSubstr("the data set was written to while it was open"));
  EXPECT_EQ(error_of(read).advice(), "open it again");
  write(4);
  EXPECT_THAT(error_of(read).problem(),
              HasSubstr("the data set was replaced by another one while it was open"));
  EXPECT_EQ(error_of(read).advice(), "open it again");
  remove_data_set(test_, "Events");
  EXPECT_THAT(error_of(read).problem(), HasSubstr("the data set was removed while it was open"));
  const Error absent = error_of([&] { ObjectContainerReader(store_).anchor("Events"); });
  EXPECT_EQ(absent.kind(), ErrorKind::not_found);
  EXPECT_THAT(absent.problem(), testing::Not(HasSubstr("being written")));
  Writer writer = open();
  EXPECT_THAT(error_of([&] { ObjectContainerReader(store_).anchor("Events"); }).problem(),
              HasSubstr("it is being written (by process 1 on host)"));
  test_.faults().lose_server();  // killed
  writer.reset();
  test_.faults().restore();
  EXPECT_THAT(error_of([&] { ObjectContainerReader(store_).anchor("Events"); }).problem(),
              testing::Not(HasSubstr("being written")));
}

// ---- Any order

// Operations are lost or refused at random: every reported commit holds, and gc leaves no garbage.
TEST_F(ObjectCommit, RandomFaults) {
  std::mt19937_64 random(20261122);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    const std::uint64_t before = objects();
    std::vector<std::uint64_t> possible{before};  // the possible states
    for (const StoreOperation kind : {StoreOperation::put_if, StoreOperation::get, StoreOperation::update}) {
      if (below(3) == 0) test_.faults().lose_answer(kind, below(8), 1 + below(3));
      if (below(4) == 0) test_.faults().fail(kind, below(8), 1 + below(3));
    }
    if (below(3) == 0) test_.faults().come_late(below(6));
    if (below(3) == 0) test_.faults().lose_server(below(40));
    const bool continues = below(2) == 0 && before > 0;
    Writer writer;
    try {
      writer = open(continues ? ObjectTarget::present : ObjectTarget::any);
      std::uint64_t written = continues ? before : 0;
      for (std::uint64_t commits = 1 + below(3); commits > 0; --commits) {
        const unsigned clusters = 1 + static_cast<unsigned>(below(3));
        const Anchor next = fill(*writer, clusters, random());
        written += clusters;
        possible.push_back(written);
        writer->commit(next);
        possible = {written};
      }
      if (below(2) == 0) writer->close();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
    }
    if (below(2) == 0) test_.faults().restore();
    if (below(2) == 0) test_.faults().arrive();
    writer.reset();
    test_.faults().restore();
    if (below(2) == 0) test_.faults().arrive();
    EXPECT_THAT(possible, testing::Contains(objects()));
    expect_whole();
    if (below(2) == 0) expect_clean();
    const std::uint64_t settled = objects();
    test_.faults().arrive();
    if (claim() == nullptr) {
      EXPECT_EQ(objects(), settled);
    }
    if (below(8) == 0 && anchor()) remove_data_set(test_, "Events");
    if (testing::Test::HasFailure()) break;
  }
  test_.faults().arrive();
  expect_clean();
}

}  // namespace
}  // namespace colonnade::container
