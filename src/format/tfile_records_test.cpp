// TFile records: round trips in both forms, the bytes that ROOT writes, and one named test per invalid
// field.
#include "format/tfile_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace colonnade::format {
namespace {

constexpr std::uint64_t file_size = 5'000'000'000;
constexpr std::uint64_t far = 4'000'000'000;

std::string problem_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::format) << error.what();
    return error.problem();
  }
  return "none";
}

void expect_every_truncation_refused(const Bytes& bytes, const std::function<void(ByteSpan)>& read) {
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(problem_of([&] { read(ByteSpan(bytes).first(size)); }), "none") << size;
}

// ---- Strings, times, gaps

TEST(TString, RoundTripsShortAndLong) {
  for (const std::size_t size : {0u, 1u, 254u, 255u, 256u, 70000u}) {
    const std::string text(size, 'x');
    ByteWriter out;
    write_tstring(out, text);
    EXPECT_EQ(out.position(), tstring_size(text));
    ByteReader in(out.view());
    EXPECT_EQ(read_tstring(in, "text"), text);
    EXPECT_EQ(in.remaining(), 0u);
  }
}

TEST(TString, RefusesALengthBeyondTheBytes) {
  const Bytes bytes{std::byte{255}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
  EXPECT_EQ(problem_of([&] {
              ByteReader in(bytes);
              read_tstring(in, "name");
            }),
            "name needs 4294967295 bytes, but only 0 are left");
}

TEST(TDatime, PacksLocalTime) {
  std::tm parts{};
  parts.tm_year = 2025 - 1900;
  parts.tm_mon = 11;
  parts.tm_mday = 31;
  parts.tm_hour = 23;
  parts.tm_min = 59;
  parts.tm_sec = 58;
  parts.tm_isdst = -1;
  EXPECT_EQ(to_tdatime(std::mktime(&parts)), 30u << 26 | 12u << 22 | 31u << 17 | 23u << 12 | 59u << 6 | 58u);
}

TEST(GapMarker, IsTheNegativeLengthCappedLikeRoot) {
  EXPECT_EQ(gap_marker(653), (Bytes{std::byte{0xff}, std::byte{0xff}, std::byte{0xfd}, std::byte{0x73}}));
  EXPECT_EQ(gap_marker(3'000'000'000), gap_marker(2'000'000'000));
}

TEST(RandomUuid, IsOfVersionFourAndNew) {
  const Uuid one = random_uuid();
  EXPECT_EQ(one[6] >> 4, std::byte{4});
  EXPECT_NE(one, random_uuid());
}

// ---- File header

TFileHeader small_header() {
  return {.end = 7444,
          .seek_free = 1436,
          .nbytes_free = 78,
          .free_segments = 3,
          .nbytes_name = 64,
          .compression = 101,
          .seek_info = 3641,
          .nbytes_info = 3803,
          .uuid = random_uuid()};
}

Bytes patched(Bytes bytes, std::size_t at, std::uint32_t value) {
  store_le(bytes.data() + at, byte_swap(value));
  return bytes;
}

TEST(TFileHeader, RoundTripsTheSmallForm) {
  const TFileHeader header = small_header();
  const Bytes bytes = write_tfile_header(header);
  EXPECT_EQ(bytes.size(), 63u);
  const TFileHeader back = read_tfile_header(bytes, 7444);
  EXPECT_EQ(back.version, 63400u);
  EXPECT_EQ(back.end, 7444u);
  EXPECT_EQ(back.seek_free, 1436u);
  EXPECT_EQ(back.nbytes_free, 78u);
  EXPECT_EQ(back.free_segments, 3u);
  EXPECT_EQ(back.nbytes_name, 64u);
  EXPECT_EQ(back.compression, 101u);
  EXPECT_EQ(back.seek_info, 3641u);
  EXPECT_EQ(back.nbytes_info, 3803u);
  EXPECT_EQ(back.uuid, header.uuid);
  EXPECT_FALSE(back.big);
}

TEST(TFileHeader, GrowsBeyondTwoGigabytes) {
  TFileHeader header = small_header();
  header.end = small_tfile_limit;
  EXPECT_EQ(write_tfile_header(header).size(), 63u);
  header.end = small_tfile_limit + 1;
  const Bytes bytes = write_tfile_header(header);
  EXPECT_EQ(bytes.size(), tfile_header_size);
  const TFileHeader back = read_tfile_header(bytes, file_size);
  EXPECT_TRUE(back.big);
  EXPECT_EQ(back.version, 63400u);
  EXPECT_EQ(back.end, small_tfile_limit + 1);
  EXPECT_EQ(back.uuid, header.uuid);
}

TEST(TFileHeader, RefusesEveryTruncation) {
  expect_every_truncation_refused(write_tfile_header(small_header()),
                                  [](ByteSpan bytes) { read_tfile_header(bytes, file_size); });
}

TEST(TFileHeader, RefusesAnotherMagic) {
  EXPECT_EQ(
      problem_of([] { read_tfile_header(patched(write_tfile_header(small_header()), 0, 0x726f6f75), 7444); }),
      "file header: the file does not begin with \"root\"");
}

TEST(TFileHeader, RefusesABeginInsideTheHeader) {
  EXPECT_EQ(problem_of([] { read_tfile_header(patched(write_tfile_header(small_header()), 8, 62), 7444); }),
            "file header: the first record at 62 lies outside of the file of 7444 bytes");
}

TEST(TFileHeader, RefusesABeginBehindTheFile) {
  EXPECT_EQ(problem_of([] { read_tfile_header(patched(write_tfile_header(small_header()), 8, 7444), 7444); }),
            "file header: the first record at 7444 lies outside of the file of 7444 bytes");
}

TEST(TFileHeader, RefusesATruncatedFile) {
  EXPECT_EQ(problem_of([] { read_tfile_header(write_tfile_header(small_header()), 7443); }),
            "file header: the file has 7443 bytes but ends at 7444: it is truncated");
}

TEST(TFileHeader, RefusesAnEndBeforeTheFirstRecord) {
  EXPECT_EQ(problem_of([] { read_tfile_header(patched(write_tfile_header(small_header()), 12, 100), 7444); }),
            "file header: the end 100 lies before the first record at 100");
}

TEST(TFileHeader, RefusesPositionsOfAnotherWidth) {
  Bytes bytes = write_tfile_header(small_header());
  bytes[32] = std::byte{5};
  EXPECT_EQ(problem_of([&] { read_tfile_header(bytes, 7444); }), "file header: positions of 5 bytes");
}

TEST(TFileHeader, RefusesANameThatIsTooShortOrTooLong) {
  EXPECT_EQ(problem_of([] { read_tfile_header(patched(write_tfile_header(small_header()), 28, 9), 7444); }),
            "file header: the file's name cannot take 9 bytes");
  EXPECT_EQ(
      problem_of([] { read_tfile_header(patched(write_tfile_header(small_header()), 28, 7345), 7444); }),
      "file header: the file's name cannot take 7345 bytes");
}

// ---- Keys

TKey sample_key() {
  return {.nbytes = 1000,
          .object_length = 2000,
          .time = 5,
          .cycle = 3,
          .seek_key = 300,
          .seek_directory = 100,
          .class_name = "TH1F",
          .name = "h",
          .title = "h title"};
}

Bytes bytes_of(TKey key) {
  ByteWriter out;
  write_tkey(out, key);
  return out.take();
}

TKey read_back(ByteSpan bytes, std::uint64_t size = file_size, KeyContext place = KeyContext::record) {
  ByteReader in(bytes, 300);
  return read_tkey(in, size, place);
}

TEST(TKey, RoundTripsBothForms) {
  for (const std::uint64_t seek : {std::uint64_t{300}, small_tfile_limit, small_tfile_limit + 1, far}) {
    TKey key = sample_key();
    key.seek_key = seek;
    const Bytes bytes = bytes_of(key);
    EXPECT_EQ(bytes.size(), (seek > small_tfile_limit ? 34u : 26u) + 5 + 2 + 8);
    const TKey back = read_back(bytes);
    EXPECT_EQ(back.big, seek > small_tfile_limit);
    EXPECT_EQ(back.nbytes, 1000u);
    EXPECT_EQ(back.object_length, 2000u);
    EXPECT_EQ(back.time, 5u);
    EXPECT_EQ(back.key_length, bytes.size());
    EXPECT_EQ(back.payload_size(), 1000 - bytes.size());
    EXPECT_EQ(back.cycle, 3u);
    EXPECT_EQ(back.seek_key, seek);
    EXPECT_EQ(back.seek_directory, 100u);
    EXPECT_EQ(back.class_name, "TH1F");
    EXPECT_EQ(back.name, "h");
    EXPECT_EQ(back.title, "h title");
  }
}

TEST(TKey, IsBigForAFarDirectory) {
  TKey key = sample_key();
  key.seek_directory = far;
  EXPECT_EQ(read_back(bytes_of(key)).seek_directory, far);
}

TEST(TKey, SkipsRoomBehindItsFieldsInARecordOnly) {
  Bytes bytes = bytes_of(sample_key());
  bytes.resize(bytes.size() + 8);
  bytes[15] = static_cast<std::byte>(bytes.size());
  for (const KeyContext place : {KeyContext::record, KeyContext::list}) {
    ByteReader in(bytes, 300);
    read_tkey(in, file_size, place);
    EXPECT_EQ(in.remaining(), place == KeyContext::record ? 0u : 8u);
  }
}

TEST(TKey, RefusesEveryTruncation) {
  expect_every_truncation_refused(bytes_of(sample_key()), [](ByteSpan bytes) { read_back(bytes); });
}

TEST(TKey, RefusesAGap) {
  EXPECT_EQ(problem_of([] { read_back(patched(bytes_of(sample_key()), 0, 0xfffffe00)); }),
            "key: a gap stands where a record is expected");
  EXPECT_EQ(problem_of([] { read_back(patched(bytes_of(sample_key()), 0, 0)); }),
            "key: a gap stands where a record is expected");
}

TEST(TKey, RefusesARecordShorterThanItsKey) {
  EXPECT_EQ(problem_of([] { read_back(patched(bytes_of(sample_key()), 0, 40)); }),
            "key: a record of 40 bytes cannot hold a key of 41");
}

TEST(TKey, RefusesAKeyLengthBelowItsFields) {
  Bytes bytes = bytes_of(sample_key());
  bytes[15] = std::byte{40};
  EXPECT_EQ(problem_of([&] { read_back(bytes); }), "key: its fields take 41 bytes but it claims 40");
}

TEST(TKey, RefusesARecordOutsideOfTheFile) {
  EXPECT_EQ(problem_of([] { read_back(bytes_of(sample_key()), 1299); }),
            "key: the record of 1000 bytes at 300 lies outside of the file of 1299 bytes");
  TKey key = sample_key();
  key.seek_key = 10;
  EXPECT_EQ(problem_of([&] { read_back(bytes_of(key)); }),
            "key: the record of 1000 bytes at 10 lies outside of the file of 5000000000 bytes");
}

TEST(TKey, RefusesToBeWrittenWithANameThatIsTooLong) {
  TKey key = sample_key();
  key.name = std::string(40000, 'x');
  try {
    tkey_size(key);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
}

// ---- Directories

TDirectoryRecord sample_directory() {
  return {.created = 1,
          .modified = 2,
          .nbytes_keys = 224,
          .nbytes_name = 64,
          .seek_directory = 100,
          .seek_parent = 0,
          .seek_keys = 3417,
          .uuid = random_uuid()};
}

Bytes bytes_of(const TDirectoryRecord& directory) {
  ByteWriter out;
  write_tdirectory(out, directory);
  return out.take();
}

TDirectoryRecord directory_back(ByteSpan bytes, std::uint64_t size = file_size) {
  ByteReader in(bytes, 200);
  return read_tdirectory(in, size);
}

TEST(TDirectory, RoundTripsBothFormsInTheSameRoom) {
  for (const std::uint64_t seek : {std::uint64_t{3417}, far}) {
    TDirectoryRecord directory = sample_directory();
    directory.seek_keys = seek;
    const Bytes bytes = bytes_of(directory);
    EXPECT_EQ(bytes.size(), tdirectory_size);
    const TDirectoryRecord back = directory_back(bytes);
    EXPECT_EQ(back.created, 1u);
    EXPECT_EQ(back.modified, 2u);
    EXPECT_EQ(back.nbytes_keys, 224u);
    EXPECT_EQ(back.nbytes_name, 64u);
    EXPECT_EQ(back.seek_directory, 100u);
    EXPECT_EQ(back.seek_parent, 0u);
    EXPECT_EQ(back.seek_keys, seek);
    EXPECT_EQ(back.uuid, directory.uuid);
    EXPECT_EQ(back.big, seek == far);
  }
}

TEST(TDirectory, ReadsTheOldFormWithoutUuid) {
  Bytes bytes = bytes_of(sample_directory());
  bytes.resize(smallest_tdirectory_size);
  bytes[1] = std::byte{1};
  EXPECT_EQ(directory_back(bytes).seek_keys, 3417u);
}

TEST(TDirectory, RefusesEveryTruncationOfItsPositions) {
  Bytes bytes = bytes_of(sample_directory());
  bytes.resize(smallest_tdirectory_size);
  expect_every_truncation_refused(bytes, [](ByteSpan part) { directory_back(part); });
}

TEST(TDirectory, RefusesAListOutsideOfTheFile) {
  EXPECT_EQ(problem_of([] { directory_back(bytes_of(sample_directory()), 3640); }),
            "directory: the list of keys of 224 bytes at 3417 lies outside of the file of 3640 bytes");
}

// ---- Lists of keys

Bytes key_list(std::uint32_t count, std::uint64_t own_seek = 1000) {
  TKey own{.object_length = 100,
           .seek_key = own_seek,
           .seek_directory = 100,
           .class_name = "TFile",
           .name = "f.root"};
  ByteWriter payload;
  payload.be<std::uint32_t>(count);
  payload.append(bytes_of(sample_key()));
  payload.append(bytes_of(sample_key()));
  own.nbytes = static_cast<std::uint32_t>(tkey_size(own) + payload.position());
  ByteWriter out;
  write_tkey(out, own);
  out.append(payload.view());
  return out.take();
}

TEST(TKeyList, ReadsKeysAndKeepsTheirBytes) {
  const Bytes record = key_list(2);
  const TKeyList list = read_tkey_list(record, 1000, file_size);
  ASSERT_EQ(list.keys.size(), 2u);
  EXPECT_EQ(list.keys[1].name, "h");
  EXPECT_EQ(list.own.name, "f.root");
  EXPECT_EQ(list.entries.size(), 2 * bytes_of(sample_key()).size());
  EXPECT_EQ(list.entries.data() + list.entries.size(), record.data() + record.size());
}

TEST(TKeyList, RefusesEveryTruncation) {
  expect_every_truncation_refused(key_list(2),
                                  [](ByteSpan bytes) { read_tkey_list(bytes, 1000, file_size); });
}

TEST(TKeyList, RefusesMoreKeysThanFit) {
  EXPECT_EQ(problem_of([] { read_tkey_list(key_list(0xffffffff), 1000, file_size); }),
            "list of keys: 4294967295 keys cannot fit its 82 bytes");
  EXPECT_EQ(problem_of([] { read_tkey_list(key_list(3), 1000, file_size); }),
            "list of keys: 3 keys cannot fit its 82 bytes");
}

TEST(TKeyList, RefusesToLieElsewhere) {
  EXPECT_EQ(problem_of([] { read_tkey_list(key_list(2, 1001), 1000, file_size); }),
            "list of keys: its key claims to lie at 1001");
}

// ---- Free list

Bytes free_list(const std::vector<FreeSegment>& segments, std::uint64_t own_seek = 500) {
  const Bytes payload = write_free_list(segments);
  TKey own{.object_length = static_cast<std::uint32_t>(payload.size()),
           .seek_key = own_seek,
           .seek_directory = 100,
           .class_name = "TFile",
           .name = "f.root"};
  own.nbytes = static_cast<std::uint32_t>(tkey_size(own) + payload.size());
  ByteWriter out;
  write_tkey(out, own);
  out.append(payload);
  return out.take();
}

TEST(FreeList, RoundTripsBothForms) {
  for (const std::uint64_t end : {std::uint64_t{10000}, far}) {
    const std::vector<FreeSegment> segments{{600, 699}, {700, 800}, free_tail(end)};
    EXPECT_EQ(write_free_list(segments).size(), free_list_size(segments));
    EXPECT_EQ(free_list_size(segments), end == far ? 38u : 30u);
    EXPECT_EQ(read_free_list(free_list(segments), 500, end, end), segments);
  }
}

TEST(FreeList, TailReachesAsFarAsRootsDoes) {
  EXPECT_EQ(free_tail(717), (FreeSegment{717, 2'000'000'000}));
  EXPECT_EQ(free_tail(2'000'000'000), (FreeSegment{2'000'000'000, 3'000'000'000}));
  EXPECT_EQ(free_tail(3'999'999'999), (FreeSegment{3'999'999'999, 4'000'000'000}));
}

TEST(FreeList, RefusesEveryTruncation) {
  expect_every_truncation_refused(free_list({{600, 699}, free_tail(10000)}),
                                  [](ByteSpan bytes) { read_free_list(bytes, 500, 10000, 10000); });
}

TEST(FreeList, RefusesSegmentsOutOfOrder) {
  EXPECT_EQ(problem_of([] {
              read_free_list(free_list({{600, 699}, {650, 700}, free_tail(10000)}), 500, 10000, 10000);
            }),
            "free list: the segment from 650 to 700 is out of order");
  EXPECT_EQ(problem_of([] { read_free_list(free_list({{600, 599}, free_tail(10000)}), 500, 10000, 10000); }),
            "free list: the segment from 600 to 599 is out of order");
  EXPECT_EQ(problem_of([] { read_free_list(free_list({{50, 99}, free_tail(10000)}), 500, 10000, 10000); }),
            "free list: the segment from 50 to 99 is out of order");
}

TEST(FreeList, RefusesATailThatDoesNotBeginAtTheEnd) {
  EXPECT_EQ(problem_of([] { read_free_list(free_list({free_tail(9000)}), 500, 10000, 10000); }),
            "free list: its last segment begins at 9000, but the file ends at 10000");
  EXPECT_EQ(problem_of([] { read_free_list(free_list({free_tail(12000)}), 500, 10000, 11999); }),
            "free list: its last segment begins at 12000, but the file ends at 10000");
}

// ROOT leaves such lists in whole files: that they lack a part is no advice.
TEST(FreeList, SaysWhatHelpsAgainstAListThatRootLeft) {
  for (const FreeSegment wrong : {FreeSegment{600, 599}, free_tail(12000)}) {
    try {
      read_free_list(free_list({wrong, free_tail(20000)}), 500, 10000, 11999);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.advice(),
                "another file, or hadd to copy the objects into a new one: ROOT may have left this list so");
    }
  }
}

// Gaps may lie behind an end that is too low, and what was left behind the end beyond ROOT's limit.
TEST(FreeList, KnowsALaterEnd) {
  const std::vector<FreeSegment> segments{{600, 699}, {10500, 10600}, free_tail(12000)};
  EXPECT_EQ(read_free_list(free_list(segments), 500, 10000, 12000), segments);
  EXPECT_EQ(read_free_list(free_list(segments), 500, 10000, 20000), segments);
  const std::vector<FreeSegment> near_limit{free_tail(1'999'999'000)};
  EXPECT_EQ(read_free_list(free_list(near_limit), 500, 1'999'999'000, 2'000'001'000), near_limit);
}

TEST(FreeList, RefusesToLieElsewhere) {
  EXPECT_EQ(problem_of([] { read_free_list(free_list({free_tail(10000)}, 501), 500, 10000, 10000); }),
            "free list: its key claims to lie at 501");
}

}  // namespace
}  // namespace colonnade::format
