// Bare files: ROOT's, our own, and broken ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/bare_file/reader.h"
#include "container/bare_file/writer.h"
#include "container/root_file/test_tools.h"
#include "io/memory/fault_file.h"

namespace colonnade::container {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string uri = "memory:bare";

void write_bare(unsigned commits, std::uint64_t most = 1 << 30) {
  const auto container =
      create_container(uri, "Events", {.kind = ContainerKind::bare_file, .max_key_size = most});
  FakeDataSet data(*container);
  for (unsigned seed = 1; seed <= commits; ++seed) {
    const Anchor anchor = data.write(seed);
    const auto reader = open_container(uri);
    EXPECT_EQ(reader->anchor("Events"), anchor);
    EXPECT_EQ(seed_of(*reader, anchor), seed);
  }
  container->close();
}

TEST(BareFile, OfRootIsRead) {
  for (const char* name : {"bare.root", "bare_uncompressed.root"}) {
    const auto container = open_container(fixture(name));
    ASSERT_EQ(container->data_sets().size(), 1u);
    EXPECT_THAT(container->objects(), IsEmpty());
    const Anchor anchor = container->anchor(container->data_sets()[0]);
    EXPECT_EQ(anchor.epoch, 1);
    EXPECT_GT(anchor.footer_offset, anchor.header_offset);
    Bytes footer(anchor.footer_size);
    container->read_blob({.size = footer.size(), .offset = anchor.footer_offset}, anchor.max_key_size,
                         footer);
  }
}

// The bytes before the name equal ROOT's, except for the version and the compression setting.
TEST(BareFile, BeginsAsRootsDo) {
  write_bare(1);
  Bytes root = content_of(fixture("bare.root")), ours = io::memory_file_content(uri);
  for (Bytes* file : {&root, &ours}) std::fill_n(file->begin() + 7, 4, std::byte{0});
  for (Bytes* file : {&root, &ours}) std::fill_n(file->begin() + 15, 4, std::byte{0});
  root.resize(bare_file_name_at);
  ours.resize(bare_file_name_at);
  EXPECT_EQ(ours, root);
}

TEST(BareFile, RoundTripsManyCommits) {
  write_bare(5);
  EXPECT_THAT(open_container(uri)->data_sets(), ElementsAre("Events"));
}

TEST(BareFile, SplitsLargePayloads) {
  write_bare(3, 64);
}

TEST(BareFile, WritesPartsBackToBack) {
  const auto container =
      create_container(uri, "Events", {.kind = ContainerKind::bare_file, .max_key_size = 100});
  const Bytes small = payload(40, 1), large = payload(450, 2);
  const std::vector<ByteSpan> parts{small, {}, small, large, small};
  const std::vector<std::uint64_t> offsets = container->write_parts(parts);
  FakeDataSet(*container).write(1);
  container->close();
  EXPECT_EQ(offsets[2], offsets[0] + 40);
  const auto reader = open_container(uri);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Bytes back(parts[i].size());
    reader->read_blob({.size = back.size(), .offset = offsets[i]}, 100, back);
    EXPECT_TRUE(std::equal(back.begin(), back.end(), parts[i].begin())) << i;
  }
}

TEST(BareFile, NamesItsOnlyDataSet) {
  write_bare(1);
  const Error error = error_of([] { open_container(uri)->anchor("Other"); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.problem(), "there is no data set \"Other\"");
  EXPECT_EQ(error.advice(), "\"Events\"");
}

TEST(BareFile, WithoutACommitHasNoAnchor) {
  create_container(uri, "Events", {.kind = ContainerKind::bare_file})->close();
  EXPECT_EQ(error_of([] { open_container(uri)->anchor("Events"); }).kind(), ErrorKind::format);
}

TEST(BareFile, RefusesImpossibleArgumentsBeforeTouchingAFile) {
  io::store_memory_file(uri, payload(100, 1));
  for (const std::string& name : {std::string(), std::string(255, 'x')})
    EXPECT_EQ(error_of([&] { create_container(uri, name, {.kind = ContainerKind::bare_file}); }).kind(),
              ErrorKind::usage);
  EXPECT_EQ(error_of([] {
              create_container(uri, "Events", {.kind = ContainerKind::bare_file, .max_key_size = 15});
            }).kind(),
            ErrorKind::usage);
  EXPECT_EQ(io::memory_file_content(uri), payload(100, 1));
}

TEST(BareFile, RefusesAnotherContainerVersion) {
  write_bare(1);
  Bytes bytes = io::memory_file_content(uri);
  bytes[14] = std::byte{2};
  io::store_memory_file(uri, bytes);
  const Error error = error_of([] { open_container(uri); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.problem(), "bare file header: container version 2, but this version reads 1");
}

TEST(BareFile, RefusesEveryTruncationOfItsHead) {
  write_bare(1);
  const Bytes bytes = io::memory_file_content(uri);
  for (std::size_t size = 0; size < bare_file_name_at + 7 + 78; ++size) {
    io::store_memory_file(uri, ByteSpan(bytes).first(size));
    EXPECT_EQ(error_of([] { open_container(uri)->anchor("Events"); }).kind(), ErrorKind::format) << size;
  }
}

TEST(BareFile, FlippedBytesGiveAnErrorOrTheRightAnchor) {
  write_bare(2);
  const Bytes bytes = io::memory_file_content(uri);
  const Anchor anchor = open_container(uri)->anchor("Events");
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Bytes flipped = bytes;
    flipped[at] ^= std::byte{0x41};
    io::store_memory_file(uri, flipped);
    try {
      EXPECT_EQ(open_container(uri)->anchor("Events"), anchor) << at;
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::usage) << at;
    }
  }
}

TEST(BareFile, CrashBetweenWritesLeavesTheLastCommit) {
  for (unsigned writes = 0; writes < 20; ++writes) {
    unsigned committed = 0;
    try {
      BareFileWriter writer(with_faults(io::open_for_writing(uri, io::OpenMode::create), {.writes = writes}),
                            "Events", {});
      FakeDataSet data(writer);
      for (unsigned seed = 1; seed <= 3; ++seed) {
        data.write(seed);
        committed = seed;
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
    }
    if (committed == 0) continue;
    const auto reader = open_container(uri);
    EXPECT_EQ(seed_of(*reader, reader->anchor("Events")), committed) << writes;
  }
}

}  // namespace
}  // namespace colonnade::container
