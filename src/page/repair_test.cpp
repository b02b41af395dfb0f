// Repair of files that were left behind in every way: whole clusters come back with the right values, others
// are dropped with a reason, and a file never gets worse.
#include "colonnade/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/interruption.h"
#include "base/test_fixtures.h"
#include "codec/compression.h"
#include "container/root_file/test_tools.h"
#include "container/root_file/writer.h"
#include "format/envelope.h"
#include "io/memory/fault_file.h"
#include "io/memory/memory_file.h"
#include "page/append_if_repaired.h"
#include "page/cluster_journal.h"
#include "page/column_reader.h"
#include "page/page_sink.h"

namespace colonnade {
namespace {

using container::WriteContainer;
using page::PageSink;
using page::PageSource;
using testing::HasSubstr;

const std::string uri = "memory:repair-test";
constexpr std::uint32_t per_cluster = 100;

// A container that a sink and a test share: the test's reference keeps it open, as after a crash.
class SharedContainer final : public container::WriteContainer {
 public:
  explicit SharedContainer(std::shared_ptr<container::WriteContainer> container)
      : container_(std::move(container)) {}
  const std::string& uri() const noexcept override { return container_->uri(); }
  Locator write_blob(ByteSpan payload, std::uint64_t length) override {
    return container_->write_blob(payload, length);
  }
  std::vector<std::uint64_t> write_parts(std::span<const ByteSpan> parts) override {
    return container_->write_parts(parts);
  }
  std::uint64_t max_key_size() const noexcept override { return container_->max_key_size(); }
  void flush() override { container_->flush(); }
  void retire_blob(const Locator& blob) override { container_->retire_blob(blob); }
  Locator write_at_end(ByteSpan payload, std::uint64_t length) override {
    return container_->write_at_end(payload, length);
  }
  std::uint64_t size_before() const noexcept override { return container_->size_before(); }
  bool replaces() const noexcept override { return container_->replaces(); }
  void commit(const Anchor& anchor) override { container_->commit(anchor); }
  void close() override { container_->close(); }

 private:
  std::shared_ptr<container::WriteContainer> container_;
};

enum class Journal { version_1, version_2 };

// Writes the numbers from 0 on, a hundred per cluster, and a record for each cluster.
class CrashingWriter {
 public:
  explicit CrashingWriter(std::shared_ptr<container::WriteContainer> container,
                          const WriteOptions& options = {}, Journal journal = Journal::version_2)
      : container_(std::move(container)),
        journal_(journal),
        sink_(std::make_unique<SharedContainer>(container_), with_journal(options, journal)) {
    Descriptor& d = sink_.descriptor();
    d.name = "Events";
    FieldDescriptor field;
    field.id = field.parent = 0;
    field.name = "x";
    field.type_name = "std::uint32_t";
    field.representations = {{0}};
    d.fields.push_back(field);
    ColumnDescriptor column;
    column.id = column.field = 0;
    column.raw_type = static_cast<std::uint16_t>(ColumnType::uint32);
    column.encoding = default_encoding(ColumnType::uint32);
    d.columns.push_back(column);
    sink_.start();
    column_ = &sink_.add_column(0, ElementType::uint32);
    sink_.commit_data_set();
  }
  void cluster(bool is_recorded = true) {
    for (std::uint32_t i = 0; i < per_cluster; ++i) column_->append(next_++);
    sink_.commit_cluster(per_cluster);
    if (is_recorded && journal_ == Journal::version_1)
      record(sink_.descriptor(), sink_.descriptor().clusters.size() - 1);
  }
  // Writes another record of a cluster.
  void record(const Descriptor& descriptor, std::size_t cluster) {
    if (journal_ == Journal::version_2) {
      const Bytes record = page::journal_record(descriptor, cluster, sink_.data_set().run(),
                                                codec::CompressionSettings::parse("none"));
      container_->write_at_end(record, record.size());
      return;
    }
    ByteWriter out;
    out.append(format::write_page_list(descriptor, cluster, 1).bytes);
    out.le<std::uint64_t>(descriptor.anchor.header_offset);
    out.le(codec::xxh3(out.view().last(2 * sizeof(std::uint64_t))));
    container_->write_at_end(out.view(), out.view().size());
  }
  void checkpoint() { sink_.commit_data_set(); }
  void close() { sink_.close(); }
  const Descriptor& descriptor() const { return sink_.descriptor(); }
  container::WriteContainer& container() { return *container_; }

 private:
  static WriteOptions with_journal(WriteOptions options, Journal journal) {
    if (journal == Journal::version_2) options.checkpoint_every.clusters = 1u << 30;
    return options;
  }

  std::shared_ptr<container::WriteContainer> container_;
  Journal journal_;
  PageSink sink_;
  page::ColumnWriter* column_ = nullptr;
  std::uint32_t next_ = 0;
};

std::shared_ptr<container::WriteContainer> new_file(
    container::ContainerKind kind = container::ContainerKind::root_file, std::string_view path = "Events") {
  io::remove_memory_file(uri);
  return container::create_container(uri, path, {.kind = kind});
}

std::vector<std::uint32_t> values(const std::string& path = "Events") {
  const auto source = PageSource::open(path, uri);
  page::ColumnReader reader(*source, {0}, ElementType::uint32);
  std::vector<std::uint32_t> found;
  for (std::size_t c = 0; c < source->descriptor().clusters.size(); ++c)
    for (std::uint32_t i = 0; i < source->descriptor().clusters[c].entries; ++i)
      found.push_back(reader.at<std::uint32_t>(c, i));
  return found;
}

// The numbers of whole clusters.
std::vector<std::uint32_t> clusters(std::initializer_list<std::uint32_t> numbers) {
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t number : numbers)
    for (std::uint32_t i = 0; i < per_cluster; ++i) expected.push_back(number * per_cluster + i);
  return expected;
}

Bytes content() {
  return io::memory_file_content(uri);
}

void flip(std::uint64_t at) {
  Bytes bytes = content();
  bytes[at] ^= std::byte{0x10};
  io::store_memory_file(uri, bytes);
}

class RepairFiles : public testing::TestWithParam<container::ContainerKind> {};

TEST_P(RepairFiles, BringsBackWholeClusters) {
  for (const char* compression : {"none", "zstd:1"})
    for (const Checksums sums : {Checksums::on, Checksums::off}) {
      {
        CrashingWriter writer(new_file(GetParam()), {.compression = compression, .page_checksums = sums});
        for (int i = 0; i < 2; ++i) writer.cluster();
        writer.checkpoint();
        for (int i = 0; i < 3; ++i) writer.cluster();
      }
      EXPECT_EQ(values(), clusters({0, 1}));
      const Bytes before = content();
      const RepairReport would = repair(uri, "", {.dry_run = true});
      EXPECT_EQ(content(), before);
      EXPECT_FALSE(would.written);

      const RepairReport report = repair(uri);
      EXPECT_EQ(report.data_set, "Events");
      EXPECT_EQ(report.entries, 200u);
      EXPECT_EQ(report.clusters, 2u);
      EXPECT_EQ(report.recovered_entries, 300u);
      EXPECT_EQ(report.recovered_clusters, 3u);
      EXPECT_EQ(report.renumbered_clusters, 0u);
      EXPECT_TRUE(report.dropped.empty());
      EXPECT_TRUE(report.written);
      EXPECT_EQ(would.recovered_entries, report.recovered_entries);
      EXPECT_EQ(values(), clusters({0, 1, 2, 3, 4}));

      const Bytes after = content();
      const RepairReport again = repair(uri, "Events");
      EXPECT_EQ(again.entries, 500u);
      EXPECT_EQ(again.recovered_clusters, 0u);
      EXPECT_FALSE(again.written);
      EXPECT_EQ(content(), after);
    }
}

TEST_P(RepairFiles, LeavesACompleteFileAsItIs) {
  {
    CrashingWriter writer(new_file(GetParam()));
    for (int i = 0; i < 3; ++i) writer.cluster();
    writer.checkpoint();
    writer.close();
  }
  const Bytes before = content();
  const RepairReport report = repair(uri);
  EXPECT_EQ(report.entries, 300u);
  EXPECT_FALSE(report.written);
  EXPECT_EQ(content(), before);
}

// Cuts the file after every byte behind the checkpoint, with and without zeros after the cut.
TEST_P(RepairFiles, SurvivesEveryTornEnd) {
  std::uint64_t checkpoint = 0;
  {
    CrashingWriter writer(new_file(GetParam()));
    writer.cluster();
    writer.checkpoint();
    checkpoint = content().size();
    for (int i = 0; i < 2; ++i) writer.cluster();
    writer.checkpoint();
    for (int i = 0; i < 2; ++i) writer.cluster();
  }
  const Bytes whole = content();
  // The head that the first checkpoint left.
  Bytes head;
  {
    CrashingWriter writer(new_file(GetParam()));
    writer.cluster();
    writer.checkpoint();
    head = content();
  }
  ASSERT_EQ(head.size(), checkpoint);
  std::size_t seen = 0;
  for (std::uint64_t cut = checkpoint; cut <= whole.size(); cut += 3)
    for (const std::size_t zeros : {0, 500}) {
      Bytes torn(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut));
      std::copy_n(head.begin(), 300, torn.begin());
      torn.resize(cut + zeros);
      io::store_memory_file(uri, torn);
      const RepairReport report = repair(uri);
      const std::vector<std::uint32_t> found = values();
      const std::vector<std::uint32_t> all = clusters({0, 1, 2, 3, 4});
      ASSERT_GE(found.size(), per_cluster);
      ASSERT_TRUE(std::equal(found.begin(), found.end(), all.begin())) << cut;
      ASSERT_EQ(found.size(), per_cluster * (1 + report.recovered_clusters));
      seen = std::max(seen, found.size());
    }
  EXPECT_EQ(seen, 5 * per_cluster);
}

TEST_P(RepairFiles, SurvivesEveryFlippedBit) {
  {
    CrashingWriter writer(new_file(GetParam()), {.compression = "none"});
    writer.checkpoint();
    for (int i = 0; i < 3; ++i) writer.cluster();
  }
  const Bytes before = content();
  const std::vector<std::uint32_t> all = clusters({0, 1, 2});
  std::size_t fewer = 0;
  for (std::uint64_t at = PageSource::open("Events", uri)->descriptor().anchor.footer_offset;
       at < before.size(); ++at) {
    io::store_memory_file(uri, before);
    flip(at);
    try {
      const RepairReport report = repair(uri);
      fewer += report.recovered_clusters < 3;
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::usage);
      continue;
    }
    const std::vector<std::uint32_t> found = values();
    ASSERT_EQ(found.size() % per_cluster, 0u);
    for (std::size_t c = 0; c < found.size() / per_cluster; ++c)
      for (std::uint32_t i = 0; i < per_cluster; ++i)
        ASSERT_EQ(found[c * per_cluster + i], found[c * per_cluster] + i) << at;
  }
  EXPECT_GT(fewer, 3 * 400u);
}

TEST_P(RepairFiles, NumbersOnBehindALostCluster) {
  std::uint64_t lost = 0;
  {
    CrashingWriter writer(new_file(GetParam()));
    writer.cluster();
    writer.checkpoint();
    writer.cluster();
    writer.cluster();
    writer.cluster();
    lost = writer.descriptor().clusters[2].columns[0].pages.front().locator.offset;
  }
  flip(lost + 5);
  const RepairReport report = repair(uri);
  EXPECT_EQ(report.recovered_clusters, 2u);
  EXPECT_EQ(report.renumbered_clusters, 1u);
  ASSERT_EQ(report.dropped.size(), 1u);
  EXPECT_EQ(report.dropped[0].first_entry, 200u);
  EXPECT_EQ(report.dropped[0].entries, 100u);
  EXPECT_THAT(report.dropped[0].reason, HasSubstr("column 0, page 0: the page's checksum is wrong"));
  EXPECT_EQ(values(), clusters({0, 1, 3}));
  // Dropped clusters stay dropped.
  EXPECT_EQ(repair(uri).recovered_clusters, 0u);
  EXPECT_EQ(values(), clusters({0, 1, 3}));
}

TEST_P(RepairFiles, TakesClustersInTheOrderOfTheirEntriesAndEachOnce) {
  {
    CrashingWriter writer(new_file(GetParam()));
    writer.checkpoint();
    for (int i = 0; i < 3; ++i) writer.cluster();
    for (const std::size_t cluster : {2, 0, 1, 0}) writer.record(writer.descriptor(), cluster);
  }
  EXPECT_EQ(repair(uri).recovered_clusters, 3u);
  EXPECT_EQ(values(), clusters({0, 1, 2}));
}

TEST_P(RepairFiles, RefusesAFileThatIsBeingWritten) {
  CrashingWriter writer(new_file(GetParam()));
  writer.cluster();
  for (const bool dry : {false, true})
    EXPECT_THAT(error_of([&] { repair(uri, "", {.dry_run = dry}); }).what(),
                HasSubstr("another writer has it open"));
}

// The repair itself crashes, after every write and every few bytes of it.
TEST_P(RepairFiles, GoesOnAfterACrash) {
  {
    CrashingWriter writer(new_file(GetParam()));
    writer.cluster();
    writer.checkpoint();
    for (int i = 0; i < 2; ++i) writer.cluster();
  }
  const Bytes before = content();
  repair(uri);
  const Bytes after = content();
  // Everything behind the old end, in any state, and the old head.
  for (std::uint64_t size = before.size(); size <= after.size(); ++size) {
    Bytes crashed(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(size));
    std::copy(before.begin(), before.end(), crashed.begin());
    io::store_memory_file(uri, crashed);
    EXPECT_EQ(values(), clusters({0}));
    EXPECT_EQ(repair(uri).recovered_clusters, 2u);
    ASSERT_EQ(values(), clusters({0, 1, 2})) << size;
  }
}

TEST_P(RepairFiles, ChangesNothingWhenItIsInterrupted) {
  {
    CrashingWriter writer(new_file(GetParam()));
    writer.cluster();
    writer.checkpoint();
    writer.cluster();
  }
  const Bytes before = content();
  {
    const Interruption interruption([] { return true; });
    std::this_thread::sleep_for(Interruption::interval);
    EXPECT_THROW(repair(uri), Interrupted);
  }
  EXPECT_EQ(content(), before);
  EXPECT_EQ(repair(uri).recovered_clusters, 1u);
}

TEST_P(RepairFiles, NeedsADataSet) {
  EXPECT_EQ(error_of([] { repair("memory:nothing-there"); }).kind(), ErrorKind::not_found);
  new_file(GetParam())->close();
  const Error error = error_of([] { repair(uri); });
  EXPECT_NE(error.kind(), ErrorKind::usage) << error.what();
  EXPECT_NE(error_of([] { repair(uri, "Other"); }).kind(), ErrorKind::usage);
}

INSTANTIATE_TEST_SUITE_P(Containers, RepairFiles,
                         testing::Values(container::ContainerKind::root_file,
                                         container::ContainerKind::bare_file),
                         [](const auto& test) {
                           return test.param == container::ContainerKind::root_file ? "RootFile" : "BareFile";
                         });

TEST(Repair, FindsTheDataSetThatWasBeingWritten) {
  {
    CrashingWriter writer(new_file(container::ContainerKind::root_file, "a/Events"));
    writer.cluster();
    writer.checkpoint();
    writer.close();
  }
  {
    // The same schema, and so the same header checksum.
    CrashingWriter writer(page::append_if_repaired(uri, "b/Events", {}, false));
    writer.checkpoint();
    for (int i = 0; i < 2; ++i) writer.cluster();
  }
  EXPECT_EQ(repair(uri, "a/Events").recovered_clusters, 0u);
  const RepairReport report = repair(uri);
  EXPECT_EQ(report.data_set, "b/Events");
  EXPECT_EQ(report.recovered_clusters, 2u);
  EXPECT_EQ(values("a/Events"), clusters({0}));
  EXPECT_EQ(values("b/Events"), clusters({0, 1}));
  const auto reader = container::open_container(uri);
  EXPECT_EQ(reader->data_sets().size(), 2u);
}

// The file is searched once for all of them: only what may be of interest is looked at by itself.
TEST(Repair, FindsOneOfManyDataSets) {
  for (const Journal journal : {Journal::version_1, Journal::version_2}) {
    for (const char* const path : {"a/Events", "b/Events", "c/Events", "last"}) {
      const bool is_last = path == std::string_view("last");
      CrashingWriter writer(path == std::string_view("a/Events")
                                ? new_file(container::ContainerKind::root_file, path)
                                : page::append_if_repaired(uri, path, {}, false),
                            {}, journal);
      writer.cluster();
      writer.checkpoint();
      if (is_last) {
        for (int i = 0; i < 2; ++i) writer.cluster();
      } else {
        writer.close();
      }
    }
    // All have the same schema, and so the same header checksum.
    const RepairReport report = repair(uri);
    EXPECT_EQ(report.data_set, "last");
    EXPECT_EQ(report.recovered_clusters, 2u);
    EXPECT_EQ(values("c/Events"), clusters({0}));
    EXPECT_EQ(values("last"), clusters({0, 1, 2}));
    EXPECT_EQ(repair(uri).data_set, "a/Events");
  }
}

// A write that fails, or that is cut at any byte: the checkpoint before it holds, and repair adds the whole
// clusters.
TEST(Repair, AfterAnyFailedWrite) {
  const auto write = [](const io::Faults& faults, std::uint32_t& checkpoints, std::uint32_t& written) {
    io::remove_memory_file(uri);
    CrashingWriter writer(container::RootFileWriter::create(
        with_faults(io::open_for_writing(uri, io::OpenMode::create), faults), "dir/Events", {}));
    for (int i = 0; i < 6; ++i) {
      writer.cluster();
      ++written;
      if (i % 3 != 0) continue;
      writer.checkpoint();
      checkpoints = written;
    }
  };
  const auto examine = [&](const io::Faults& faults) {
    std::uint32_t checkpoints = 0, written = 0;
    bool failed = false;
    try {
      write(faults, checkpoints, written);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      failed = true;
    }
    if (checkpoints == 0) return failed;
    const std::vector<std::uint32_t> all = clusters({0, 1, 2, 3, 4, 5});
    const std::vector<std::uint32_t> before = values("dir/Events");
    EXPECT_GE(before.size(), checkpoints * per_cluster);
    repair(uri, "dir/Events");
    const std::vector<std::uint32_t> after = values("dir/Events");
    EXPECT_GE(after.size(), std::max<std::size_t>(before.size(), written * per_cluster));
    EXPECT_TRUE(after.size() <= all.size() && std::equal(after.begin(), after.end(), all.begin()));
    return failed;
  };
  for (std::uint64_t writes = 0; examine({.writes = writes}); ++writes) ASSERT_FALSE(HasFailure()) << writes;
  // Below the first 400 bytes only the head is rewritten: commits rely on it not being torn.
  const std::uint64_t size = content().size();
  for (std::uint64_t at = 400; at < size; at += 7) {
    examine({.write_error_at = at});
    ASSERT_FALSE(HasFailure()) << at;
  }
}

// A second writer cuts off what the first one left: it must not reappear in the second one's data set.
TEST(Repair, OfAFileThatWasWrittenOnHasNothingToFind) {
  {
    CrashingWriter writer(new_file());
    writer.checkpoint();
    for (int i = 0; i < 3; ++i) writer.cluster();
  }
  {
    const Error error = error_of([] { page::append_if_repaired(uri, "Second", {}, false); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.problem(), HasSubstr("would lose 300 entries of the data set \"Events\""));
    EXPECT_THAT(error.advice(), HasSubstr("discard_unrepaired"));
    CrashingWriter writer(page::append_if_repaired(uri, "Second", {}, true));
    writer.cluster();
    writer.checkpoint();
    writer.close();
  }
  EXPECT_FALSE(repair(uri).written);
  EXPECT_EQ(values(), clusters({}));
  EXPECT_EQ(values("Second"), clusters({0}));
}

TEST(Repair, DropsClustersOfASchemaThatTheCheckpointDoesNotKnow) {
  {
    CrashingWriter writer(new_file());
    writer.cluster();
    writer.checkpoint();
    writer.cluster();
    Descriptor other = writer.descriptor();
    ClusterDescriptor& changed = other.clusters[1];
    changed.columns.push_back(changed.columns[0]);
    changed.columns[1].column = 1;
    PageDescriptor moved = changed.columns[0].pages.front();
    moved.locator.offset += 1;
    changed.columns[0].pages.set(0, moved);
    other.columns.push_back(other.columns[0]);
    writer.record(other, 1);
  }
  const RepairReport report = repair(uri);
  ASSERT_EQ(report.dropped.size(), 1u);
  EXPECT_THAT(report.dropped[0].reason, HasSubstr("2 columns"));
  EXPECT_EQ(report.recovered_clusters, 1u);
}

// The checksums of a record do not prove its claims.
TEST(Repair, DropsWhatDoesNotFitTheSchemaOrTheFile) {
  const auto drop = [](auto&& change) {
    {
      CrashingWriter writer(new_file());
      writer.cluster();
      writer.checkpoint();
      writer.cluster();
      Descriptor other = writer.descriptor();
      change(other.clusters[1]);
      io::store_memory_file(uri, content());
      writer.record(other, 1);
    }
    const RepairReport report = repair(uri);
    EXPECT_EQ(report.dropped.size(), 1u);
    EXPECT_EQ(values(), clusters({0, 1}));
    return report.dropped.empty() ? std::string() : report.dropped[0].reason;
  };
  const auto change_page = [](ClusterDescriptor& cluster, auto&& change) {
    PageDescriptor page = cluster.columns[0].pages.front();
    change(page);
    cluster.columns[0].pages = {page};
  };
  EXPECT_THAT(drop([&](ClusterDescriptor& cluster) {
                change_page(cluster, [](PageDescriptor& page) { page.locator.offset += 1; });
              }),
              HasSubstr("checksum"));
  EXPECT_THAT(drop([&](ClusterDescriptor& cluster) {
                change_page(cluster, [](PageDescriptor& page) {
                  page.locator.offset += 1;
                  page.locator.size = 1u << 31;
                });
              }),
              HasSubstr("a page of"));
  EXPECT_THAT(drop([&](ClusterDescriptor& cluster) {
                change_page(cluster, [](PageDescriptor& page) { page.locator.offset = 1u << 30; });
              }),
              HasSubstr("bytes"));
}

TEST(Repair, DropsAClusterWhoseEntriesAndElementsDisagree) {
  {
    CrashingWriter writer(new_file());
    writer.cluster();
    writer.checkpoint();
    writer.cluster();
  }
  // The same with a record that claims one entry more.
  {
    CrashingWriter writer(new_file());
    writer.cluster();
    writer.checkpoint();
    Descriptor other = writer.descriptor();
    const std::vector<Bytes> pages(1, Bytes(50));
    const std::vector<ByteSpan> parts{pages[0]};
    ClusterDescriptor cluster = other.clusters[0];
    cluster.first_entry = 100;
    cluster.entries = 101;
    const std::uint64_t offset = writer.container().write_parts(parts)[0];
    PageDescriptor page{.elements = 100, .locator = {.size = 50, .offset = offset}};
    cluster.columns[0].pages = {page};
    other.clusters.push_back(cluster);
    writer.record(other, 1);
  }
  const RepairReport report = repair(uri);
  EXPECT_FALSE(report.written);
  ASSERT_EQ(report.dropped.size(), 1u);
}

// Records of version 1 do not name their writer.
TEST(Repair, TakesRecordsOfVersionOneIfTheyAreOfOneWriter) {
  {
    CrashingWriter writer(new_file(), {}, Journal::version_1);
    writer.cluster();
    writer.checkpoint();
    for (int i = 0; i < 3; ++i) writer.cluster();
  }
  EXPECT_EQ(repair(uri).recovered_clusters, 3u);
  EXPECT_EQ(values(), clusters({0, 1, 2, 3}));
}

TEST(Repair, DropsRecordsOfVersionOneThatMayBeOfSeveralWriters) {
  for (const std::uint64_t again : {100u, 150u, 250u}) {
    {
      CrashingWriter writer(new_file(), {}, Journal::version_1);
      writer.cluster();
      writer.checkpoint();
      for (int i = 0; i < 2; ++i) writer.cluster();
      // The same entries in another position, as written by the next writer.
      writer.cluster(false);
      Descriptor other = writer.descriptor();
      other.clusters[3].first_entry = again;
      writer.record(other, 3);
    }
    const RepairReport report = repair(uri, "", {.dry_run = true});
    EXPECT_EQ(report.recovered_clusters, 0u) << again;
    ASSERT_FALSE(report.dropped.empty());
    EXPECT_THAT(report.dropped[0].reason, HasSubstr("several writers of version 0.1"));
  }
}

TEST_P(RepairFiles, SaysNothingOfFilesThatWereClosed) {
  for (const Journal journal : {Journal::version_1, Journal::version_2})
    for (const char* const compression : {"none", "zstd:1"}) {
      {
        CrashingWriter writer(new_file(GetParam()), {.compression = compression}, journal);
        for (int i = 0; i < 9; ++i) {
          writer.cluster();
          if (i % 2 == 0) writer.checkpoint();
        }
        writer.close();
      }
      const RepairReport report = repair(uri, "", {.dry_run = true});
      EXPECT_EQ(report.entries, 900u);
      EXPECT_EQ(report.recovered_clusters, 0u);
      EXPECT_EQ(report.torn_records, 0u);
      EXPECT_TRUE(report.dropped.empty());
    }
}

TEST(Repair, SaysNothingOfFilesOfRoot) {
  for (const char* const name : {"many_clusters.root", "many_cluster_groups.root", "parallel_writer.root",
                                 "several_data_sets.root", "bare.root", "replaced_data_set.root"}) {
    const std::string fixture = (test_fixtures() / name).string();
    const RepairReport report = repair(fixture, "", {.dry_run = true});
    EXPECT_EQ(report.recovered_clusters, 0u) << name;
    EXPECT_EQ(report.torn_records, 0u) << name;
    EXPECT_TRUE(report.dropped.empty()) << name;
  }
}

TEST(Repair, KeepsOtherObjectsOfTheFile) {
  {
    CrashingWriter writer(new_file(container::ContainerKind::root_file, "dir/Events"));
    writer.checkpoint();
    for (int i = 0; i < 2; ++i) writer.cluster();
  }
  EXPECT_EQ(repair(uri, "/dir/Events").recovered_clusters, 2u);
  EXPECT_EQ(values("dir/Events"), clusters({0, 1}));
  {
    CrashingWriter writer(page::append_if_repaired(uri, "dir/More", {}, false));
    writer.cluster();
    writer.checkpoint();
    writer.close();
  }
  EXPECT_EQ(values("dir/Events"), clusters({0, 1}));
  EXPECT_EQ(values("dir/More"), clusters({0}));
}

}  // namespace
}  // namespace colonnade
