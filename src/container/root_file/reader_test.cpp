// Reading ROOT files: files written by ROOT, and every kind of damage.
#include "container/root_file/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "codec/compression.h"
#include "container/root_file/test_tools.h"
#include "format/tfile_anchor.h"
#include "io/memory/fault_file.h"

namespace colonnade::container {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string uri = "memory:reader.root";

// A file of ours with one data set in a directory and one at the top, modified by hand.
struct SampleFile {
  SampleFile() {
    const auto first = create_container(uri, "dir/Inner", {});
    FakeDataSet(*first).write(1);
    first->close();
    const auto second = append_container(uri, "Top", {});
    FakeDataSet(*second).write(2);
    second->close();
    bytes = io::memory_file_content(uri);
    const Examination file(uri);
    header = file.header;
    for (const auto& [offset, key] : file.records) {
      if (key.name == "dir" && key.object_length == format::tdirectory_size) directory = key;
      if (key.name == "Top") anchor = key;
      if (key.name == "dir" && key.object_length != format::tdirectory_size) inner_list = key;
      if (key.class_name == "TFile" && offset != format::tfile_begin && offset != header.seek_free)
        top_list = key;
    }
  }
  // The position of the entry for `name` in the top list of keys.
  std::size_t entry(std::string_view class_name) const {
    const ByteSpan text = as_bytes(class_name);
    const auto found = std::search(bytes.begin() + static_cast<std::ptrdiff_t>(top_list.seek_key),
                                   bytes.end(), text.begin(), text.end());
    return static_cast<std::size_t>(found - bytes.begin()) - 1 - 26;
  }
  template <class T>
  SampleFile& be(std::size_t at, T value) {
    store_le(bytes.data() + at, byte_swap(value));
    return *this;
  }
  // Appends a record with a list of keys; returns its key.
  format::TKey add_list(std::vector<format::TKey> keys, std::uint64_t seek_directory,
                        const std::string& name) {
    ByteWriter list;
    list.be<std::uint32_t>(static_cast<std::uint32_t>(keys.size()));
    for (format::TKey& key : keys) format::write_tkey(list, key);
    format::TKey own{.object_length = static_cast<std::uint32_t>(list.position()),
                     .seek_key = bytes.size(),
                     .seek_directory = seek_directory,
                     .class_name = "TDirectory",
                     .name = name};
    own.nbytes = static_cast<std::uint32_t>(format::tkey_size(own) + list.position());
    ByteWriter out;
    out.append(bytes);
    format::write_tkey(out, own);
    out.append(list.view());
    bytes = out.take();
    return own;
  }
  // Makes `keys` the content of the top directory.
  void replace_top_list(std::vector<format::TKey> keys) {
    const format::TKey list = add_list(std::move(keys), 100, "reader.root");
    const std::size_t record = header.begin + header.nbytes_name;
    be<std::uint32_t>(record + 10, list.nbytes);
    be<std::uint32_t>(record + 26, static_cast<std::uint32_t>(list.seek_key));
  }
  std::unique_ptr<ReadContainer> open() const {
    io::store_memory_file(uri, bytes);
    return open_container(uri);
  }
  Error error_opening() const {
    return error_of([&] { open(); });
  }
  Error error_reading(const std::string& path) const {
    return error_of([&] { open()->anchor(path); });
  }
  Error error_listing() const {
    return error_of([&] { open()->data_sets(); });
  }

  Bytes bytes;
  format::TFileHeader header;
  format::TKey directory, anchor, inner_list, top_list;
};

TEST(RootFileReader, ListsWhatRootWrote) {
  const auto container = open_container(fixture("several_data_sets.root"));
  EXPECT_THAT(container->data_sets(),
              ElementsAre("Events", "dir/Other", "dir/deep/Third", "dir/deep/Events", "Name-µ_(1),+"));
  std::vector<std::string> objects;
  for (const ReadContainer::ObjectEntry& entry : container->objects()) {
    objects.push_back(entry.path + " " + entry.class_name);
    EXPECT_GT(entry.size, 20u);
  }
  EXPECT_THAT(objects, ElementsAre("histogram TH1F", "tree TTree", "note TNamed"));
  for (const std::string& path : container->data_sets()) EXPECT_EQ(container->anchor(path).minor, 2);
  EXPECT_EQ(container->anchor("/dir/Other"), container->anchor("dir/Other"));
}

// Looking up one after the other would read the lists of keys each time.
TEST(RootFileReader, VisitsAllAnchorsInOneWalk) {
  const std::string uri = fixture("several_data_sets.root");
  const auto plain = open_container(uri);
  // The head twice, three directories, the anchors.
  const io::Faults faults{.reads = 2 + 5 + 5};
  const auto container = open_container(io::with_faults(io::open_for_reading(uri), faults));
  std::vector<std::string> paths;
  container->visit_anchors([&](const std::string& path, const std::function<Anchor()>& anchor) {
    paths.push_back(path);
    EXPECT_EQ(anchor(), plain->anchor(path)) << path;
  });
  EXPECT_EQ(paths, plain->data_sets());
}

TEST(RootFileReader, ReadsListsOfKeysOnceIfManyDataSetsAreExpected) {
  const std::string uri = fixture("several_data_sets.root");
  const auto plain = open_container(uri);
  const std::vector<std::string> paths = plain->data_sets();
  ASSERT_EQ(paths.size(), 5u);
  std::set<std::string> folders;
  std::size_t records = 0;  // of folders: they say where the lists are
  for (const std::string& path : paths)
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      folders.insert(path.substr(0, slash));
      ++records;
    }
  // The head twice, the lists of the file and of the folders, the anchors.
  const io::Faults faults{.reads = 2 + 1 + folders.size() + 2 * (records + paths.size())};
  const auto container = open_container(io::with_faults(io::open_for_reading(uri), faults));
  expect_many(*container);
  for (int again = 0; again < 2; ++again)
    for (const std::string& path : paths) EXPECT_EQ(container->anchor(path), plain->anchor(path)) << path;
  const auto other = open_container(uri);
  expect_many(*other);
  EXPECT_THROW(other->anchor("nothing"), Error);
  EXPECT_THROW(other->anchor("nothing/inside"), Error);
}

TEST(RootFileReader, TakesTheLatestCycle) {
  const auto container = open_container(fixture("replaced_data_set.root"));
  EXPECT_THAT(container->data_sets(), ElementsAre("Events"));
  std::uint16_t latest = 0;
  for (const auto& [offset, key] : Examination(fixture("replaced_data_set.root")).records)
    if (key.class_name == format::anchor_class) latest = std::max(latest, key.cycle);
  EXPECT_GT(latest, 1);
}

TEST(RootFileReader, FindsACycleByItsNumber) {
  const auto container = open_container(fixture("replaced_data_set.root"));
  EXPECT_EQ(container->anchor("Events;2"), container->anchor("Events"));
  EXPECT_NE(container->anchor("/Events;1"), container->anchor("Events"));
  for (const char* path : {"Events;0", "Events;3", "Events;", "Events;1 ", "Events;+1", "Events;65537", ";1"})
    EXPECT_EQ(error_of([&] { container->anchor(path); }).kind(), ErrorKind::not_found) << path;
  const auto nested = open_container(fixture("several_data_sets.root"));
  EXPECT_EQ(nested->anchor("dir/deep/Third;1"), nested->anchor("dir/deep/Third"));
  EXPECT_EQ(error_of([&] { nested->anchor("tree;1"); }).problem(),
            "\"tree;1\" is a TTree, not a data set (RNTuple)");
}

TEST(RootFileReader, ReadsACompressedAnchor) {
  SampleFile file;
  const Bytes object = format::write_anchor(file.open()->anchor("Top"));
  AlignedBuffer block;
  codec::compress({codec::Algorithm::zlib, 9}, object, block);
  // An anchor hardly compresses: only the difference of the sizes matters, so a stored one gets a byte of
  // another chunk.
  if (block.size() == object.size()) GTEST_FAIL() << "the anchor did not compress";
  const std::size_t at = file.anchor.seek_key + file.anchor.key_length;
  std::copy(block.span().begin(), block.span().end(), file.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  const auto nbytes = static_cast<std::uint32_t>(file.anchor.key_length + block.size());
  file.be<std::uint32_t>(file.anchor.seek_key, nbytes)
      .be<std::uint32_t>(file.entry(format::anchor_class), nbytes);
  EXPECT_EQ(format::write_anchor(file.open()->anchor("Top")), object);
}

TEST(RootFileReader, SaysWhichDataSetsThereAre) {
  const auto container = open_container(fixture("several_data_sets.root"));
  Error error = error_of([&] { container->anchor("Evnts"); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.problem(), "there is no data set \"Evnts\"");
  EXPECT_EQ(error.advice(),
            "one of \"Events\", \"dir/Other\", \"dir/deep/Third\", \"dir/deep/Events\", \"Name-µ_(1),+\"");
  EXPECT_EQ(error.context().data_set, "Evnts");
  EXPECT_EQ(error.context().uri, fixture("several_data_sets.root"));
  EXPECT_EQ(error_of([&] { container->anchor("tree"); }).problem(),
            "\"tree\" is a TTree, not a data set (RNTuple)");
  EXPECT_EQ(error_of([&] { container->anchor("dir"); }).problem(),
            "\"dir\" is a TDirectory, not a data set (RNTuple)");
  for (const char* path : {"", "/", "dir/", "dir/Events", "Events/x", "dir/deep/Third/x"})
    EXPECT_EQ(error_of([&] { container->anchor(path); }).kind(), ErrorKind::not_found) << path;
}

TEST(RootFileReader, SaysThatAFileHasNoDataSet) {
  create_container(uri, "Events", {})->close();
  EXPECT_EQ(error_of([] { open_container(uri)->anchor("Events"); }).advice(),
            "another file: this one has no data set");
}

TEST(RootFileReader, SaysThatAFileWasNotClosed) {
  SampleFile file;
  file.be<std::uint32_t>(file.header.begin + file.header.nbytes_name + 26, 0);
  const auto container = file.open();
  EXPECT_FALSE(container->lists_objects());
  EXPECT_TRUE(container->data_sets().empty());
  const Error error = error_of([&] { container->anchor("Top"); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.problem(), "there is no data set \"Top\": the file was not closed by its writer");
  EXPECT_EQ(error.advice(), advice_without_list);
}

TEST(RootFileReader, NamesPreReleases) {
  SampleFile file;
  format::TKey key = file.anchor;
  key.class_name = "ROOT::Experimental::RNTuple";
  file.replace_top_list({key});
  const Error error = file.error_reading("Top");
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.problem(),
            "\"Top\" was written by a pre-release of the format (ROOT::Experimental::RNTuple)");
  EXPECT_EQ(error.advice(), "write the data again with ROOT 6.34 or later");
  EXPECT_THAT(file.open()->data_sets(), IsEmpty());
}

TEST(RootFileReader, FindsDataSetsWithASlashInTheirName) {
  SampleFile file;
  format::TKey key = file.anchor;
  key.name = "a/b";
  ByteWriter copy;  // the record itself must contain the name, too
  copy.append(file.bytes);
  const std::uint64_t old_payload = file.anchor.seek_key + file.anchor.key_length;
  key.seek_key = copy.position();
  key.nbytes = format::tkey_size(key) + key.object_length;
  format::write_tkey(copy, key);
  copy.append(ByteSpan(file.bytes).subspan(old_payload, key.object_length));
  file.bytes = copy.take();
  file.replace_top_list({key});
  EXPECT_THAT(file.open()->data_sets(), ElementsAre("a/b"));
  EXPECT_EQ(file.open()->anchor("a/b").epoch, 1);
}

TEST(RootFileReader, OpensOnlyKnownFiles) {
  io::store_memory_file(uri, {});
  EXPECT_EQ(error_of([] { open_container(uri); }).problem(), "the file is empty");
  io::store_memory_file(uri, as_bytes("PK\3\4 something else"));
  EXPECT_EQ(error_of([] { open_container(uri); }).problem(),
            "the file is neither a ROOT file nor a bare RNTuple file (its first bytes match neither)");
}

// ---- One test per field that can be wrong

TEST(RootFileReader, RefusesAListOfKeysOutsideOfTheFile) {
  SampleFile file;
  const std::size_t record = file.header.begin + file.header.nbytes_name;
  file.be<std::uint32_t>(record + 26, 0x7fffffff);
  EXPECT_THAT(file.error_opening().problem(), HasSubstr("directory: the list of keys of"));
}

TEST(RootFileReader, RefusesAListOfKeysThatIsAnotherRecord) {
  SampleFile file;
  const std::size_t record = file.header.begin + file.header.nbytes_name;
  file.be<std::uint32_t>(record + 26, static_cast<std::uint32_t>(file.top_list.seek_key + 1));
  EXPECT_EQ(file.error_listing().kind(), ErrorKind::format);
}

TEST(RootFileReader, RefusesAnEntryThatLeadsToAnotherRecord) {
  SampleFile file;
  file.be<std::uint32_t>(file.entry(format::anchor_class) + 18,
                         static_cast<std::uint32_t>(file.directory.seek_key));
  EXPECT_EQ(file.error_reading("Top").problem(), "no anchor \"Top\" lies where the list of keys says");
}

TEST(RootFileReader, RefusesADirectoryThatIsAnotherRecord) {
  SampleFile file;
  file.be<std::uint32_t>(file.entry("TDirectory") + 18, static_cast<std::uint32_t>(file.anchor.seek_key));
  EXPECT_EQ(file.error_reading("dir/Inner").problem(),
            "no directory \"dir\" lies where the list of keys says");
  EXPECT_EQ(file.open()->anchor("Top").epoch, 1);  // the remaining file is readable
}

TEST(RootFileReader, RefusesAnAnchorOfAbsurdLength) {
  SampleFile file;
  file.be<std::uint32_t>(file.anchor.seek_key + 6, 0xffffffff);
  EXPECT_EQ(file.error_reading("Top").problem(), "anchor: 4294967295 bytes are more than any anchor has");
}

TEST(RootFileReader, RefusesAnAnchorThatIsNotCompressedAlthoughItSaysSo) {
  SampleFile file;
  file.be<std::uint32_t>(file.anchor.seek_key + 6, 1000);
  EXPECT_EQ(file.error_reading("Top").kind(), ErrorKind::format);
}

TEST(RootFileReader, FindsADirectoryInsideItself) {
  SampleFile file;
  // The list of "dir" becomes the list that contains "dir".
  const std::size_t record = file.directory.seek_key + file.directory.key_length;
  file.be<std::uint32_t>(record + 10, file.top_list.nbytes)
      .be<std::uint32_t>(record + 26, static_cast<std::uint32_t>(file.top_list.seek_key));
  EXPECT_EQ(file.error_listing().problem(), "the directories of the file overlap or contain each other");
  EXPECT_EQ(file.open()->anchor("Top").epoch, 1);
  EXPECT_EQ(file.open()->anchor("dir/dir/dir/Top").epoch, 1);  // follows the given path only
}

// A directory with a very long name and thousands of keys below it: the paths alone would exhaust the memory.
TEST(RootFileReader, BoundsWhatAWalkCosts) {
  SampleFile file;
  const std::string long_name(30000, 'n');
  std::vector<format::TKey> keys(3000, file.anchor);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i].name = std::to_string(i);
  const format::TKey list = file.add_list(keys, 100, long_name);
  format::TKey directory{.object_length = format::tdirectory_size,
                         .seek_key = file.bytes.size(),
                         .seek_directory = 100,
                         .class_name = "TDirectory",
                         .name = long_name};
  directory.nbytes = format::tkey_size(directory) + directory.object_length;
  ByteWriter out;
  out.append(file.bytes);
  format::write_tkey(out, directory);
  format::write_tdirectory(out, {.nbytes_keys = list.nbytes,
                                 .nbytes_name = directory.key_length,
                                 .seek_directory = directory.seek_key,
                                 .seek_parent = 100,
                                 .seek_keys = list.seek_key});
  file.bytes = out.take();
  file.replace_top_list({directory});
  EXPECT_EQ(file.error_listing().problem(), "the directories of the file overlap or contain each other");
}

TEST(RootFileReader, ReportsWhereReadingFailed) {
  const auto writer = create_container(uri, "Top", {});
  FakeDataSet(*writer).write(1, 5000);  // so large that opening does not read the anchor, too
  writer->close();
  std::uint64_t anchor_at = 0;
  for (const auto& [offset, key] : Examination(uri).records)
    if (key.name == "Top") anchor_at = offset;
  const auto container = open_container(with_faults(io::open_for_reading(uri), {.read_error_at = anchor_at}));
  const Error error = error_of([&] { container->anchor("Top"); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(error.context().uri, uri);
  EXPECT_EQ(error.context().data_set, "Top");
  EXPECT_EQ(error.context().offset, anchor_at);
}

TEST(RootFileReader, RefusesEveryTruncation) {
  const SampleFile sample;
  for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
    io::store_memory_file(uri, ByteSpan(sample.bytes).first(size));
    const Error error = error_of([] { open_container(uri); });
    EXPECT_EQ(error.kind(), ErrorKind::format) << size;
    if (size >= 63) {
      EXPECT_EQ(error.problem(), "file header: the file has " + std::to_string(size) + " bytes but ends at " +
                                     std::to_string(sample.bytes.size()) + ": it is truncated");
    }
  }
}

// Names have no checksum, so a flipped bit gives another name; a found anchor must be the right one.
TEST(RootFileReader, FlippedBytesGiveAnErrorOrTheRightAnchor) {
  const SampleFile sample;
  const auto whole = sample.open();
  const Anchor top = whole->anchor("Top"), inner = whole->anchor("dir/Inner");
  whole->objects();
  for (std::size_t at = 0; at < sample.bytes.size(); ++at)
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      Bytes flipped = sample.bytes;
      flipped[at] ^= static_cast<std::byte>(flip);
      io::store_memory_file(uri, flipped);
      std::unique_ptr<ReadContainer> container;
      try {
        container = open_container(uri);
        container->data_sets();
        container->objects();
      } catch (const Error& error) {
        EXPECT_NE(error.kind(), ErrorKind::usage) << at;
      }
      if (!container) continue;
      for (const auto& [path, anchor] : {std::pair("Top", top), std::pair("dir/Inner", inner)}) try {
          EXPECT_EQ(container->anchor(path), anchor) << at;
        } catch (const Error& error) {
          EXPECT_NE(error.kind(), ErrorKind::usage) << at;
        }
    }
}

}  // namespace
}  // namespace colonnade::container
