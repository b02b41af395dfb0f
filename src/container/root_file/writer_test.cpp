// Writing ROOT files: the file after every commit, what appending leaves unchanged, and what a crash
// leaves.
#include "container/root_file/writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/test_folder.h"
#include "container/root_file/test_tools.h"
#include "format/tfile_streamer_info.h"
#include "io/memory/fault_file.h"

namespace colonnade::container {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string uri = "memory:writer.root";

unsigned state_of(const std::string& path, const std::string& file = uri) {
  const auto container = open_container(file);
  return seed_of(*container, container->anchor(path));
}

// Empty: it succeeded.
template <class Work>
std::string problem_of(Work&& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return error.problem();
  }
}

void write_new(const std::string& path, unsigned commits, const ContainerOptions& options = {}) {
  const auto container = create_container(uri, path, options);
  FakeDataSet data(*container);
  for (unsigned seed = 1; seed <= commits; ++seed) data.write(seed);
  container->close();
}

void append(const std::string& path, unsigned commits, const std::string& file = uri) {
  const auto container = append_container(file, path, {});
  FakeDataSet data(*container);
  for (unsigned seed = 1; seed <= commits; ++seed) data.write(seed);
  container->close();
}

TEST(RootFileWriter, MakesAnEmptyFileAtOnce) {
  create_container(uri, "Events", {})->close();
  const Examination file(uri);
  EXPECT_THAT(file.names, IsEmpty());
  EXPECT_THAT(file.gaps, IsEmpty());
  EXPECT_EQ(file.records.begin()->second.name, "writer.root");
  EXPECT_THAT(open_container(uri)->data_sets(), IsEmpty());
}

TEST(RootFileWriter, IsCompleteAfterEveryCommit) {
  for (const char* path : {"Events", "dir/Events", "a/b/c/Events"}) {
    const auto container = create_container(uri, path, {});
    FakeDataSet data(*container);
    for (unsigned seed = 1; seed <= 10; ++seed) {
      const Anchor anchor = data.write(seed);
      const auto reader = open_container(uri);
      EXPECT_THAT(reader->data_sets(), ElementsAre(path));
      EXPECT_EQ(reader->anchor(path), anchor);
      EXPECT_EQ(seed_of(*reader, anchor), seed);
      const Examination file(uri, Examination::Writer::open);
    }
    container->close();
    const Examination file(uri);
    EXPECT_EQ(state_of(path), 10u);
  }
}

// The records of checkpoints alternate between a few positions. A released blob stays unchanged for some
// commits before its space is reused.
TEST(RootFileWriter, ReusesTheSpaceOfCheckpoints) {
  for (const ContainerKind kind : {ContainerKind::root_file, ContainerKind::bare_file})
    for (const char* path : {"Events", "dir/Events"}) {
      if (kind == ContainerKind::bare_file && std::string_view(path) != "Events") continue;
      const auto container = create_container(uri, path, {.kind = kind});
      const Anchor anchor = FakeDataSet(*container).write(7);
      std::vector<Locator> blobs;
      std::size_t before = 0;
      for (unsigned i = 0; i < 400; ++i) {
        if (!blobs.empty()) container->retire_blob(blobs.back());
        blobs.push_back(container->write_blob(payload(5000, i), 5000));
        container->commit(anchor);
        const auto reader = open_container(uri);
        EXPECT_EQ(seed_of(*reader, reader->anchor(path)), 7u);
        for (unsigned back = 0; back < std::min<unsigned>(commits_until_reuse, i + 1); ++back) {
          Bytes found(5000);
          reader->read_blob(blobs[i - back], 0, found);
          ASSERT_EQ(found, payload(5000, i - back)) << i << ", " << back;
        }
        if (i == 100) before = io::memory_file_content(uri).size();
      }
      EXPECT_LE(io::memory_file_content(uri).size(), before + 10'000);
      container->close();
      if (kind == ContainerKind::root_file) {
        EXPECT_LE(Examination(uri).gaps.size(), 80u);
      }
    }
}

// The key of the list of free space takes what the list leaves of its record, also where that is more than a
// short string can be long.
TEST(RootFileWriter, ListsManyGaps) {
  const auto container = create_container(uri, "Events", {});
  FakeDataSet data(*container);
  data.write(1);
  std::size_t longest = 0, most = 0;
  for (unsigned seed = 2; seed < 120; ++seed) {
    const Locator gap = container->write_blob(payload(100 + seed, seed), 100 + seed);
    container->write_blob(payload(400, seed), 400);
    container->retire_blob(gap);
    data.write(seed);
    const Examination file(uri, Examination::Writer::open);
    longest = std::max<std::size_t>(longest, file.records.at(file.header.seek_free).key_length);
    most = std::max<std::size_t>(most, file.header.free_segments);
  }
  EXPECT_GT(longest, 400u);
  EXPECT_GT(most, 50u);
  container->close();
  EXPECT_EQ(Examination(uri).header.free_segments, most);
}

TEST(RootFileWriter, RecordsItsCompressionSetting) {
  write_new("Events", 1, {.root_compression = 207});
  EXPECT_EQ(Examination(uri).header.compression, 207u);
  write_new("Events", 1, {.root_compression = 0});
  EXPECT_EQ(state_of("Events"), 1u);
}

TEST(RootFileWriter, ForgetsBlobsWrittenAfterTheLastCommit) {
  const auto container = create_container(uri, "Events", {});
  FakeDataSet(*container).write(1);
  const std::size_t size = io::memory_file_content(uri).size();
  container->write_blob(payload(100000, 9), 100000);
  container->close();
  EXPECT_EQ(io::memory_file_content(uri).size(), size);
  const Examination file(uri);
}

TEST(RootFileWriter, AppendsDataSetAfterDataSet) {
  write_new("Events", 2);
  for (const char* path : {"Second", "dir/Third", "dir/Fourth", "dir/sub/Fifth", "other/sub/Sixth"})
    append(path, 3);
  const auto reader = open_container(uri);
  EXPECT_THAT(reader->data_sets(),
              ElementsAre("Events", "Second", "dir/Third", "dir/Fourth", "dir/sub/Fifth", "other/sub/Sixth"));
  EXPECT_EQ(state_of("Events"), 2u);
  for (const std::string& path : reader->data_sets())
    if (path != "Events") {
      EXPECT_EQ(state_of(path), 3u) << path;
    }
  const Examination file(uri);
}

TEST(RootFileWriter, AppendWithoutCommitChangesNothing) {
  write_new("Events", 2);
  const Bytes before = io::memory_file_content(uri);
  append_container(uri, "Other", {})->close();
  EXPECT_EQ(io::memory_file_content(uri), before);
}

TEST(RootFileWriter, CutsOffWhatADroppedOneWrote) {
  write_new("Events", 2);
  const Bytes before = io::memory_file_content(uri);
  {
    const auto container = append_container(uri, "Other", {});
    container->write_blob(payload(5000, 9), 5000);
  }
  EXPECT_EQ(io::memory_file_content(uri), before);
  {
    const auto container = append_container(uri, "Other", {});
    container->write_blob(payload(5000, 9), 5000);
    container->write_at_end(payload(100, 8), 100);
    container->write_blob(payload(7000, 9), 7000);
  }
  const Bytes after = io::memory_file_content(uri);
  EXPECT_GT(after.size(), before.size() + 5000);
  EXPECT_LT(after.size(), before.size() + 7000);
  {
    const auto unused = append_container(uri, "Other", {});
  }
  EXPECT_EQ(io::memory_file_content(uri), after);
}

// Behind the end ROOT leaves a marker of what it does not cut off, and a crash a record that was not written
// to its end.
TEST(RootFileWriter, StaysAChainOfRecordsBehindWhatOthersLeft) {
  const Bytes of_root = {std::byte{0x88}, std::byte{0xca}, std::byte{0x6b}, std::byte{0xff}};
  const Bytes torn = {std::byte{0}, std::byte{0}, std::byte{0x10}, std::byte{0}, std::byte{0x3}};
  for (const Bytes& left : {of_root, torn, Bytes(3), Bytes(70000)}) {
    write_new("Events", 2);
    Bytes bytes = io::memory_file_content(uri);
    const std::size_t end = bytes.size();
    bytes.insert(bytes.end(), left.begin(), left.end());
    io::store_memory_file(uri, bytes);
    replace_container(uri, "Events", {})->close();
    EXPECT_EQ(io::memory_file_content(uri), bytes);

    const auto container = replace_container(uri, "Events", {});
    FakeDataSet(*container).write(3);
    container->close();
    const Examination file(uri);
    EXPECT_EQ(file.gaps.at(end), std::max<std::size_t>(left.size(), 4));
    EXPECT_EQ(state_of("Events"), 3u);
    append("Other", 2);
    EXPECT_EQ(state_of("Events"), 3u);
    const Examination after(uri);
  }
}

// ROOT adds to a file that it has made shorter, and leaves the end that it had; the free list knows better.
TEST(RootFileWriter, TakesTheEndOfTheFreeList) {
  for (const bool replaces : {false, true}) {
    write_new("Events", 2);
    append("Other", 3);
    Bytes bytes = io::memory_file_content(uri);
    constexpr std::size_t end_at = 12;
    bytes[end_at + 2] = std::byte{1};  // far too low
    io::store_memory_file(uri, bytes);
    if (replaces) {
      const auto container = replace_container(uri, "Events", {});
      FakeDataSet(*container).write(2);
      container->close();
    } else {
      append("More", 2);
    }
    const Examination file(uri);
    EXPECT_EQ(state_of("Events"), 2u);
    EXPECT_EQ(state_of("Other"), 3u);
  }
}

// Of several objects with one name ROOT takes the first in the list.
TEST(RootFileWriter, StaysWhereItWasInTheListOfKeys) {
  io::store_memory_file(uri, content_of(fixture("replaced_data_set.root")));
  append("Behind", 1);
  const Examination before(uri);
  EXPECT_THAT(before.names, Contains("Events").Times(2));
  const auto container = replace_container(uri, "Events", {});
  FakeDataSet data(*container);
  for (const unsigned seed : {1u, 2u}) {
    data.write(seed);
    const Examination now(uri, Examination::Writer::open);
    EXPECT_EQ(now.names, before.names);
    EXPECT_EQ(now.cycles, before.cycles);
  }
  container->close();
}

// Appends to files written by ROOT, at the top and below existing directories; everything else must stay the
// same, byte for byte.
TEST(RootFileWriter, AppendsToFilesOfRoot) {
  for (const std::string name : {"several_data_sets.root", "replaced_data_set.root", "types_classes.root"}) {
    const Bytes before = content_of(fixture(name));
    io::store_memory_file(uri, before);
    const Examination old(uri);
    const auto old_reader = open_container(uri);
    const std::vector<std::string> old_sets = old_reader->data_sets();
    std::vector<Anchor> anchors;
    for (const std::string& path : old_sets) anchors.push_back(old_reader->anchor(path));
    for (const char* path : {"New", "dir/New", "dir/deep/New", "fresh/New"}) append(path, 2);

    const Examination now(uri);
    const auto reader = open_container(uri);
    for (std::size_t i = 0; i < old_sets.size(); ++i)
      EXPECT_EQ(reader->anchor(old_sets[i]), anchors[i]) << name;
    EXPECT_EQ(reader->data_sets().size(), old_sets.size() + 4);
    const Bytes after = io::memory_file_content(uri);
    for (const auto& [offset, key] : old.records) {
      const bool is_index = key.class_name == "TFile" || key.class_name == "TDirectory" ||
                            key.class_name.empty() || key.name == "StreamerInfo";
      if (is_index) continue;
      EXPECT_TRUE(std::equal(before.begin() + static_cast<std::ptrdiff_t>(offset),
                             before.begin() + static_cast<std::ptrdiff_t>(offset + key.nbytes),
                             after.begin() + static_cast<std::ptrdiff_t>(offset)))
          << name << ": " << key.class_name << " " << key.name;
    }
    for (const char* path : {"New", "dir/New", "dir/deep/New", "fresh/New"})
      EXPECT_EQ(state_of(path), 2u) << name;
  }
}

TEST(RootFileWriter, RefusesNamesThatAreTaken) {
  io::store_memory_file(uri, content_of(fixture("several_data_sets.root")));
  const Bytes before = io::memory_file_content(uri);
  Error error = error_of([] { append_container(uri, "Events", {}); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_EQ(error.problem(), "the file already has an object \"Events\" of class ROOT::RNTuple");
  EXPECT_EQ(error.context().uri, uri);
  EXPECT_EQ(error_of([] { append_container(uri, "dir/deep/Third", {}); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([] { append_container(uri, "histogram", {}); }).problem(),
            "the file already has an object \"histogram\" of class TH1F");
  EXPECT_EQ(error_of([] { append_container(uri, "dir", {}); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([] { append_container(uri, "histogram/x", {}); }).problem(),
            "\"histogram\" is not a directory but an object of class TH1F");
  EXPECT_EQ(io::memory_file_content(uri), before);
}

TEST(RootFileWriter, RefusesImpossibleArgumentsBeforeTouchingAFile) {
  io::store_memory_file(uri, payload(100, 1));
  for (const char* path : {"", "/", "a//b", "dir/"})
    EXPECT_EQ(error_of([&] { create_container(uri, path, {}); }).kind(), ErrorKind::usage) << path;
  EXPECT_EQ(error_of([] { create_container(uri, std::string(40000, 'x'), {}); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([] { create_container(uri, "Events", {.max_key_size = 63}); }).problem(),
            "a maximum key size of 63 bytes is not possible");
  EXPECT_EQ(error_of([] { create_container(uri, "Events", {.max_key_size = (1u << 30) + 1}); }).kind(),
            ErrorKind::usage);
  EXPECT_EQ(io::memory_file_content(uri), payload(100, 1));
}

TEST(RootFileWriter, TakesNamesOfAnyCharacters) {
  for (const std::string& path :
       {std::string("Name-µ_(1),+"), std::string(300, 'x'), std::string("/Leading")}) {
    write_new(path, 1);
    const Examination file(uri);
    EXPECT_EQ(state_of(path), 1u);
  }
}

TEST(RootFileWriter, RefusesToAppendToOtherFiles) {
  io::store_memory_file(uri, payload(1000, 1));
  EXPECT_EQ(error_of([] { append_container(uri, "Events", {}); }).kind(), ErrorKind::format);
  io::store_memory_file(uri, {});
  EXPECT_EQ(error_of([] { append_container(uri, "Events", {}); }).kind(), ErrorKind::format);
  io::store_memory_file(uri, content_of(fixture("bare.root")));
  EXPECT_EQ(error_of([] { append_container(uri, "Events", {}); }).problem(),
            "a bare file holds one data set and cannot take another");
}

TEST(RootFileWriter, RefusesToAppendToAFileThatWasNotClosed) {
  write_new("Events", 1);
  Bytes bytes = io::memory_file_content(uri);
  store_le(bytes.data() + 16, std::uint32_t{0});
  io::store_memory_file(uri, bytes);
  EXPECT_EQ(error_of([] { append_container(uri, "Other", {}); }).problem(),
            "the file was not closed by its writer: it has no list of free space");
}

// A free list that claims used bytes must not cause them to be overwritten.
TEST(RootFileWriter, UsesOnlyGapsThatAreMarkedInTheFile) {
  write_new("Events", 3);
  Bytes bytes = io::memory_file_content(uri);
  const Examination before(uri);
  ASSERT_GE(before.gaps.size(), 2u);
  const auto header_at = static_cast<std::size_t>(open_container(uri)->anchor("Events").header_offset);
  const auto segment_at = static_cast<std::size_t>(before.header.seek_free + before.header.nbytes_free) -
                          10 * before.header.free_segments;
  store_le(bytes.data() + segment_at + 2, byte_swap(static_cast<std::uint32_t>(header_at)));
  store_le(bytes.data() + segment_at + 6, byte_swap(static_cast<std::uint32_t>(header_at + 150)));
  io::store_memory_file(uri, bytes);
  append("Other", 5);
  EXPECT_EQ(state_of("Events"), 3u);
  EXPECT_EQ(state_of("Other"), 5u);
}

TEST(RootFileWriter, KeepsTheStreamerInfosThatAreThere) {
  io::store_memory_file(uri, content_of(fixture("several_data_sets.root")));
  const Examination before(uri);
  append("New", 1);
  EXPECT_EQ(Examination(uri).header.seek_info,
            before.header.seek_info);  // it describes ROOT::RNTuple already
}

TEST(RootFileWriter, PutsThePartsOfAClusterIntoOneKey) {
  const auto container = create_container(uri, "Events", {});
  std::vector<Bytes> pages;
  for (unsigned i = 0; i < 100; ++i) pages.push_back(payload(i * 3, i));
  const std::vector<ByteSpan> parts(pages.begin(), pages.end());
  const std::vector<std::uint64_t> offsets = container->write_parts(parts);
  FakeDataSet(*container).write(1);
  container->close();
  ASSERT_EQ(offsets.size(), parts.size());
  const Bytes all = io::memory_file_content(uri);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_TRUE(
        std::equal(parts[i].begin(), parts[i].end(), all.begin() + static_cast<std::ptrdiff_t>(offsets[i])));
    if (i > 0) {
      EXPECT_EQ(offsets[i], offsets[i - 1] + parts[i - 1].size());
    }
  }
  const Examination file(uri);
  EXPECT_TRUE(file.records.count(offsets[0] - 42));
}

TEST(RootFileWriter, SplitsClustersAndPayloadsByTheMaximumKeySize) {
  for (const std::uint64_t most : {64u, 100u, 1000u}) {
    const auto container = create_container(uri, "Events", {.max_key_size = most});
    const Bytes small = payload(40, 1), large = payload(most * 3 + 5, 2);
    const std::vector<ByteSpan> parts{small, small, small, large, small};
    const std::vector<std::uint64_t> offsets = container->write_parts(parts);
    FakeDataSet(*container).write(1);
    container->close();
    const Examination file(uri);
    for (const auto& [offset, key] : file.records)
      if (key.class_name == "RBlob") {
        EXPECT_LE(key.payload_size(), most);
      }
    const auto reader = open_container(uri);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Bytes back(parts[i].size());
      reader->read_blob({.size = back.size(), .offset = offsets[i]}, most, back);
      EXPECT_TRUE(std::equal(back.begin(), back.end(), parts[i].begin())) << i;
    }
    EXPECT_EQ(state_of("Events"), 1u);
  }
}

TEST(RootFileWriter, RefusesPayloadsWithMoreChunksThanTheFirstCanList) {
  const auto container = create_container(uri, "Events", {.max_key_size = 64});
  EXPECT_EQ(error_of([&] { container->write_blob(payload(10000, 1), 10000); }).kind(), ErrorKind::usage);
}

TEST(RootFileWriter, TakesBlobsOfSeveralThreads) {
  const auto container = create_container(uri, "Events", {});
  std::vector<std::vector<Locator>> locators(4);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 50; ++i)
        locators[t].push_back(container->write_blob(payload(100 + i, t * 100 + i), 500));
    });
  for (std::thread& thread : threads) thread.join();
  FakeDataSet(*container).write(1);
  container->close();
  const Examination file(uri);
  const auto reader = open_container(uri);
  for (unsigned t = 0; t < 4; ++t)
    for (unsigned i = 0; i < 50; ++i) {
      Bytes back(100 + i);
      reader->read_blob(locators[t][i], 0, back);
      EXPECT_EQ(back, payload(100 + i, t * 100 + i));
    }
}

TEST(RootFileWriter, RefusesUseAfterClose) {
  const auto container = create_container(uri, "Events", {});
  FakeDataSet data(*container);
  data.write(1);
  container->close();
  container->close();
  EXPECT_EQ(error_of([&] { container->write_blob(payload(10, 1), 10); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { data.write(2); }).kind(), ErrorKind::usage);
}

TEST(RootFileWriter, RefusesASecondWriter) {
  write_new("Events", 1);
  const auto first = append_container(uri, "A", {});
  EXPECT_THAT(error_of([] { append_container(uri, "B", {}); }).what(),
              HasSubstr("another writer has it open"));
}

// ---- Files above 2 GB: sparse, so that they take no space

class FarFile : public testing::TestWithParam<std::uint64_t> {
 protected:
  TestFolder folder_;
  const std::string path_ = (folder_.path() / "far.root").string();
};

TEST_P(FarFile, GrowsIntoTheBigForm) {
  for (const std::string name : {"Events", "dir/Events"}) {
    auto container =
        RootFileWriter::create(io::open_for_writing(path_, io::OpenMode::create), name, {}, GetParam());
    FakeDataSet data(*container);
    for (unsigned seed = 1; seed <= 4; ++seed) {
      data.write(seed);
      const Examination file(path_, Examination::Writer::open);
    }
    container->close();
    append("more/Other", 3, path_);
    append("Third", 1, path_);
    const Examination file(path_);
    EXPECT_TRUE(file.header.big);
    EXPECT_EQ(state_of(name, path_), 4u);
    EXPECT_EQ(state_of("more/Other", path_), 3u);
    EXPECT_EQ(state_of("Third", path_), 1u);
  }
}

// Around the limit, the records of one commit fall on both sides of it.
INSTANTIATE_TEST_SUITE_P(Sizes, FarFile,
                         testing::Values(1'999'998'000, 1'999'999'000, 1'999'999'900, 2'000'000'000,
                                         2'147'483'000, 4'294'966'000, 10'000'000'000));

// A streamer info list that was small must keep the length of its key when it moves beyond 2 GB.
TEST_F(FarFile, MovesTheStreamerInfosOfAForeignFile) {
  auto container =
      RootFileWriter::create(io::open_for_writing(path_, io::OpenMode::create), "Events", {}, 3'000'000'000);
  FakeDataSet(*container).write(1);
  container->close();
  // Rename the described class, as if ROOT had never written an RNTuple here.
  Examination before(path_);
  const auto file = io::open_for_writing(path_, io::OpenMode::update);
  const format::TKey old = before.records[before.header.seek_info];
  Bytes list = format::write_streamer_infos(old.key_length);
  const std::string_view name = "ROOT::RNTuple";
  const auto at = std::search(list.begin(), list.end(), as_bytes(name).begin(), as_bytes(name).end());
  *at = std::byte{'X'};
  // Moves the list, uncompressed and with a small key, to the beginning of the big gap.
  format::TKey key{.object_length = static_cast<std::uint32_t>(list.size()),
                   .seek_key = before.gaps.begin()->first,
                   .seek_directory = 100,
                   .class_name = "TList",
                   .name = "StreamerInfo",
                   .title = "Doubly linked list"};
  ASSERT_EQ(format::tkey_size(key), old.key_length);
  key.nbytes = static_cast<std::uint32_t>(format::tkey_size(key) + list.size());
  ByteWriter record;
  format::write_tkey(record, key);
  record.append(list);
  file->write(key.seek_key, record.view());
  before.header.seek_info = key.seek_key;
  before.header.nbytes_info = key.nbytes;
  file->write(0, format::write_tfile_header(before.header));
  file->close();

  append("Other", 1, path_);
  const auto reader = io::open_for_reading(path_);
  Bytes head(75);
  reader->read(0, head);
  const format::TFileHeader header = format::read_tfile_header(head, reader->size());
  EXPECT_GT(header.seek_info, 2'000'000'000u);
  Bytes moved(header.nbytes_info);
  reader->read(header.seek_info, moved);
  ByteReader in(moved, header.seek_info);
  const format::TKey now = format::read_tkey(in, reader->size());
  EXPECT_EQ(now.key_length, key.key_length);
  EXPECT_EQ(now.title, "Doubly lin");
  EXPECT_EQ(now.object_length, 2 * list.size() - 21);
}

// ---- Crashes

// Runs a writer that `faults` stop, on the current memory file. Returns whether its commit succeeded, and
// where it was stopped.
bool commit_with(const io::Faults& faults, const std::string& path, unsigned seed,
                 std::uint64_t& stopped_at) {
  try {
    auto container = RootFileWriter::append(
        with_faults(io::open_for_writing(uri, io::OpenMode::update), faults), path, {});
    FakeDataSet(*container).write(seed);
    return true;
  } catch (const Error& error) {
    stopped_at = error.context().offset.value_or(0);
    return false;
  }
}

void expect_old_or_new(const std::string& path, bool committed, const std::string& what) {
  const auto reader = open_container(uri);
  EXPECT_EQ(seed_of(*reader, reader->anchor("dir/Old")), 3u) << what;
  EXPECT_EQ(seed_of(*reader, reader->anchor("Top")), 2u) << what;
  const std::vector<std::string> sets = reader->data_sets();
  const bool there = std::find(sets.begin(), sets.end(), path) != sets.end();
  if (committed) {
    EXPECT_TRUE(there) << what;
  }
  if (there) {
    EXPECT_EQ(seed_of(*reader, reader->anchor(path)), 9u) << what;
  }
}

class Crash : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    write_new("dir/Old", 3);
    append("Top", 2);
    before_ = io::memory_file_content(uri);
  }
  // After the crash, the file accepts another data set in any state.
  void expect_usable(const std::string& what) {
    append("After", 1);
    const auto reader = open_container(uri);
    EXPECT_EQ(seed_of(*reader, reader->anchor("After")), 1u) << what;
    EXPECT_EQ(seed_of(*reader, reader->anchor("dir/Old")), 3u) << what;
  }
  Bytes before_;
};

TEST_P(Crash, BetweenWritesLeavesTheOldOrTheNewState) {
  std::uint64_t stopped_at = 0;
  bool committed = false;
  for (unsigned writes = 0; !committed; ++writes) {
    ASSERT_LT(writes, 60u);
    io::store_memory_file(uri, before_);
    committed = commit_with({.writes = writes}, GetParam(), 9, stopped_at);
    expect_old_or_new(GetParam(), committed, "after " + std::to_string(writes) + " writes");
    expect_usable("after " + std::to_string(writes) + " writes");
  }
}

TEST_P(Crash, WithinAWriteLeavesTheOldOrTheNewState) {
  const Examination file(uri);
  const auto record_of = [](const auto& record) {
    return record.second.class_name == "TDirectory" && record.second.object_length == format::tdirectory_size;
  };
  const auto directory = std::find_if(file.records.begin(), file.records.end(), record_of);
  ASSERT_NE(directory, file.records.end());
  bool committed = false;
  unsigned torn = 0;
  for (unsigned space = 0; !committed; ++space) {
    ASSERT_LT(space, 10000u);
    io::store_memory_file(uri, before_);
    std::uint64_t stopped_at = 0;
    committed = commit_with({.space = space}, GetParam(), 9, stopped_at);
    // The two writes that must not be torn: the head, and the directory in place.
    const bool in_head =
        stopped_at > 0 && stopped_at < format::tfile_begin + directory->second.key_length + 100;
    const bool in_directory =
        stopped_at > directory->first && stopped_at < directory->first + directory->second.nbytes;
    if (!committed && (in_head || in_directory))
      ++torn;
    else
      expect_old_or_new(GetParam(), committed, "after " + std::to_string(space) + " bytes");
  }
  EXPECT_LT(torn, 400u);
}

INSTANTIATE_TEST_SUITE_P(Places, Crash, testing::Values("New", "dir/New", "fresh/deep/New"));

TEST(RootFileWriter, FailureWhileCreatingLeavesWhatWasThere) {
  for (const bool there : {false, true}) {
    bool done = false;
    for (unsigned writes = 0; !done; ++writes) {
      ASSERT_LT(writes, 60u);
      io::remove_memory_file(uri);
      if (there) FakeDataSet(*create_container(uri, "a/Events", {})).write(4);
      try {
        auto container = RootFileWriter::create(
            with_faults(io::open_for_writing(uri, io::OpenMode::create), {.writes = writes}), "a/Events", {});
        FakeDataSet(*container).write(5);
        done = true;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::io);
        EXPECT_EQ(error.context().uri, uri);
      }
      if (done || there)
        EXPECT_EQ(state_of("a/Events"), done ? 5u : 4u);
      else
        EXPECT_EQ(error_of([] { open_container(uri); }).kind(), ErrorKind::not_found);
      EXPECT_EQ(io::list_files(uri).size(), done || there ? 1u : 0u);
    }
  }
}

TEST(RootFileWriter, SyncsBeforeItReplaces) {
  io::remove_memory_file(uri);
  FakeDataSet(*create_container(uri, "Events", {})).write(4);
  auto container =
      RootFileWriter::create(with_faults(io::open_for_writing(uri, io::OpenMode::create), {.syncs = 0}),
                             "Events", {.durability = Durability::machine});
  EXPECT_THAT(error_of([&] { FakeDataSet(*container).write(1); }).what(), HasSubstr("flush to the device"));
  container->close();
  EXPECT_EQ(state_of("Events"), 4u);
}

TEST(RootFileWriter, CloseReportsErrors) {
  auto container = RootFileWriter::create(
      with_faults(io::open_for_writing(uri, io::OpenMode::create), {.close_fails = true}), "Events", {});
  EXPECT_EQ(error_of([&] { container->close(); }).kind(), ErrorKind::io);
}

// Every write and every sync() fails once, of a file that is visible from the start and of one that gets its
// name. An error tells whether the commit was made, and what only tidies is none.
TEST(RootFileWriter, FailuresAfterTheCommitSayThatItWasMade) {
  const TestFolder folder;
  for (const std::string& file : {uri, (folder.path() / "f.root").string()})
    for (const std::string path : {"Events", "dir/Events"})
      for (const bool writes : {false, true})
        for (std::uint64_t n = 0; n < 60; ++n) {
          SCOPED_TRACE(fmt::format("{}:{}, {} {}", file, path, writes ? "write" : "sync", n));
          io::remove_memory_file(uri);
          std::filesystem::remove((folder.path() / "f.root").string());
          const std::string problem = problem_of([&] {
            const auto container =
                RootFileWriter::create(with_faults(io::open_for_writing(file, io::OpenMode::create),
                                                   writes ? io::Faults{.writes = n} : io::Faults{.syncs = n}),
                                       path, {.durability = Durability::machine});
            FakeDataSet(*container).write(7);
            container->close();
          });
          const bool is_made = problem_of([&] { EXPECT_EQ(state_of(path, file), 7u); }).empty();
          EXPECT_EQ(is_made,
                    problem.empty() || problem.find("was committed is in its place") != std::string::npos)
              << problem;
        }
}

TEST(RootFileWriter, MayCommitAgainAfterAFailure) {
  auto container = RootFileWriter::create(
      with_faults(io::open_for_writing(uri, io::OpenMode::create), {.write_error_at = 2500}), "Events", {});
  FakeDataSet data(*container);
  data.write(1);
  unsigned failures = 0;
  for (unsigned seed = 2; seed < 8; ++seed) {
    try {
      data.write(seed);
    } catch (const Error&) {
      ++failures;
      continue;
    }
    EXPECT_EQ(state_of("Events"), seed);
  }
  EXPECT_EQ(failures, 1u);
}

}  // namespace
}  // namespace colonnade::container
