// Helpers for tests of ROOT files: fake payloads, fixtures, and an examination of a whole file that finds
// problems that a reader of one data set would not notice.
#ifndef COLONNADE_CONTAINER_ROOT_FILE_TEST_TOOLS_H
#define COLONNADE_CONTAINER_ROOT_FILE_TEST_TOOLS_H

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/test_errors.h"
#include "base/test_fixtures.h"
#include "container/container.h"
#include "format/tfile_records.h"
#include "io/memory/memory_file.h"

namespace colonnade::container {

inline Bytes payload(std::size_t size, unsigned seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + seed * 17) & 0xff);
  return bytes;
}

inline std::string fixture(const std::string& name) {
  return (test_fixtures() / name).string();
}

inline Bytes content_of(const std::string& uri) {
  const auto file = io::open_for_reading(uri);
  Bytes bytes(file->size());
  file->read(0, bytes);
  return bytes;
}

// Writes header, one cluster and footer, generated from `seed`, and commits. Call again for the next
// checkpoint.
class FakeDataSet {
 public:
  explicit FakeDataSet(WriteContainer& container) : container_(container) {
    anchor_.max_key_size = container.max_key_size();
  }
  const Anchor& write(unsigned seed, std::size_t size = 200) {
    if (anchor_.header_size == 0) {
      const Locator header = container_.write_blob(payload(size, 0), 2 * size);
      anchor_.header_offset = header.offset;
      anchor_.header_size = header.size;
      anchor_.header_length = 2 * size;
    }
    const Bytes one = payload(size, seed + 1), two = payload(size / 2, seed + 2);
    const std::vector<ByteSpan> parts{one, two};
    container_.write_parts(parts);
    const Locator footer = container_.write_blob(payload(size + seed, seed), 2 * size + seed);
    anchor_.footer_offset = footer.offset;
    anchor_.footer_size = footer.size;
    anchor_.footer_length = 2 * size + seed;
    container_.commit(anchor_);
    return anchor_;
  }

 private:
  WriteContainer& container_;
  Anchor anchor_;
};

// The seed of an anchor's state; reads and compares header and footer.
inline unsigned seed_of(const ReadContainer& container, const Anchor& anchor, std::size_t size = 200) {
  const auto seed = static_cast<unsigned>(anchor.footer_length - 2 * size);
  Bytes header(anchor.header_size), footer(anchor.footer_size);
  container.read_blob({.size = header.size(), .offset = anchor.header_offset}, anchor.max_key_size, header);
  container.read_blob({.size = footer.size(), .offset = anchor.footer_offset}, anchor.max_key_size, footer);
  EXPECT_EQ(header, payload(size, 0));
  EXPECT_EQ(footer, payload(size + seed, seed));
  return seed;
}

// Walks a ROOT file from record to record and along its directories: every record must begin where the
// previous one ends, every key in a directory must lead to the record it describes, and no record in use may
// be listed as free. A free segment must be marked as a gap; while a writer has the file open, it may also
// consist of unused records.
class Examination {
 public:
  enum class Writer { closed, open };
  explicit Examination(const io::RandomAccessFile& file, Writer writer = Writer::closed)
      : file_(file), open_(writer == Writer::open) {
    header = format::read_tfile_header(block(0, std::min<std::uint64_t>(75, file.size())), file.size());
    EXPECT_EQ(header.end, file.size()) << "bytes behind the end";
    walk();
    directory(header.begin + header.nbytes_name, header.begin, 0);
    use(header.seek_free, header.nbytes_free);
    use(header.seek_info, header.nbytes_info);
    check_free_list();
  }
  explicit Examination(const std::string& uri, Writer writer = Writer::closed)
      : Examination(*io::open_for_reading(uri), writer) {}

  format::TFileHeader header;
  std::map<std::uint64_t, format::TKey> records;
  std::map<std::uint64_t, std::uint64_t> gaps;  // first byte -> size
  std::vector<std::string> names;               // of all keys in all directories
  std::vector<std::uint16_t> cycles;            // likewise

 private:
  Bytes block(std::uint64_t offset, std::uint64_t size) const {
    Bytes bytes(size);
    file_.read(offset, bytes);
    return bytes;
  }

  void walk() {
    constexpr std::uint64_t longest_key = 32767;  // bytes: the length of a key has 16 bits with sign
    std::uint64_t at = header.begin;
    while (at < header.end) {
      const Bytes start = block(at, std::min<std::uint64_t>(header.end - at, longest_key));
      const auto size = static_cast<std::int32_t>(byte_swap(load_le<std::uint32_t>(start.data())));
      if (size < 0) {
        gaps[at] = static_cast<std::uint64_t>(-static_cast<std::int64_t>(size));
        at += gaps[at];
        continue;
      }
      ByteReader in(start, at);
      format::TKey key = format::read_tkey(in, file_.size());
      EXPECT_EQ(key.seek_key, at);
      records[at] = key;
      at += key.nbytes;
    }
    EXPECT_EQ(at, header.end) << "the records do not end where the file does";
  }

  void use(std::uint64_t offset, std::uint64_t size) {
    ASSERT_TRUE(records.count(offset)) << "no record at " << offset;
    EXPECT_EQ(records[offset].nbytes, size);
    used_.push_back({offset, offset + size - 1});
  }

  void directory(std::uint64_t record_at, std::uint64_t seek, std::uint64_t parent) {
    const Bytes bytes = block(record_at, format::tdirectory_size);
    ByteReader in(bytes, record_at);
    const format::TDirectoryRecord record = format::read_tdirectory(in, file_.size());
    EXPECT_EQ(record.seek_directory, seek);
    EXPECT_EQ(record.seek_parent, parent);
    EXPECT_EQ(record.nbytes_name, record_at - seek);
    use(seek, records[seek].nbytes);
    if (record.seek_keys == 0) return;
    use(record.seek_keys, record.nbytes_keys);
    EXPECT_EQ(records[record.seek_keys].seek_directory, seek);
    const Bytes list = block(record.seek_keys, record.nbytes_keys);
    for (const format::TKey& key : format::read_tkey_list(list, record.seek_keys, file_.size()).keys) {
      names.push_back(key.name);
      cycles.push_back(key.cycle);
      use(key.seek_key, key.nbytes);
      const format::TKey& own = records[key.seek_key];
      EXPECT_EQ(own.class_name, key.class_name);
      EXPECT_EQ(own.name, key.name);
      EXPECT_EQ(own.title, key.title);
      EXPECT_EQ(own.key_length, key.key_length);
      EXPECT_EQ(own.object_length, key.object_length);
      EXPECT_EQ(own.cycle, key.cycle);
      EXPECT_EQ(own.seek_directory, key.seek_directory);
      EXPECT_EQ(key.seek_directory, seek);
      if (key.class_name == "TDirectory") directory(key.seek_key + key.key_length, key.seek_key, seek);
    }
  }

  void check_free_list() {
    const Bytes record = block(header.seek_free, header.nbytes_free);
    const auto segments = format::read_free_list(record, header.seek_free, header.end, header.end);
    EXPECT_EQ(segments.size(), header.free_segments);
    ByteReader in(record, header.seek_free);
    EXPECT_EQ(format::read_tkey(in, file_.size()).payload_size(), format::free_list_size(segments));
    for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
      for (const format::FreeSegment& taken : used_)
        EXPECT_TRUE(taken.last < segments[i].first || taken.first > segments[i].last)
            << "the record at " << taken.first << " is listed as free";
      const std::uint64_t size = segments[i].last - segments[i].first + 1;
      if (open_)
        EXPECT_TRUE(starts_here(segments[i].first) && starts_here(segments[i].first + size))
            << "at " << segments[i].first;
      else
        EXPECT_EQ(gaps[segments[i].first], size) << "at " << segments[i].first;
    }
  }

  bool starts_here(std::uint64_t at) const {
    return at == header.end || records.count(at) > 0 || gaps.count(at) > 0;
  }

  const io::RandomAccessFile& file_;
  bool open_;
  std::vector<format::FreeSegment> used_;
};

}  // namespace colonnade::container

#endif
