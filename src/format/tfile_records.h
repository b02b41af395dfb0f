// The records of a ROOT file (TFile) as structs: file header, keys, directories, key lists, free segments.
// Pure functions between bytes and structs; everything is big-endian and bounds-checked.
//
// A ROOT file is a header of 100 bytes and then, up to `end`, one record after the other. Each record starts
// with a key; a gap starts with the negative of its length instead.
//
//   0       header        "root", version, begin = 100, end, free list, streamer info        file_header
//   100     key + names   first record: name and title of the file, then its directory       directory
//   ...     key + object  blobs, anchors, histograms, sub-directories                         key
//   ...     key + list    the keys of a directory, repeated: class, name, title, where       key_list
//   ...     key + list    the streamer infos (what the classes look like) tfile_streamer_info.h
//   ...     key + list    free segments, the last one beginning at `end`                     free_list
//
// Positions take 4 bytes each in the small form of a record and 8 in the big form; its version tells which.
#ifndef COLONNADE_FORMAT_TFILE_RECORDS_H
#define COLONNADE_FORMAT_TFILE_RECORDS_H

#include <array>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace colonnade::format {

// Records that hold a larger position are written in the big form; ROOT uses the same limit.
inline constexpr std::uint64_t small_tfile_limit = 2000000000;
inline constexpr std::uint64_t tfile_begin = 100;
// The length of a gap or a record is a signed 32-bit number.
inline constexpr std::uint64_t longest_record = 0x7fffffff;

// A string with its length before it: one byte, or 255 and four bytes.
void write_tstring(ByteWriter& out, std::string_view text);
std::string read_tstring(ByteReader& in, const char* what);
std::size_t tstring_size(std::string_view text) noexcept;

// Date and time in 32 bits: year since 1995, month, day, hour, minute, second. Local time, as ROOT writes it.
std::uint32_t to_tdatime(std::time_t time) noexcept;

using Uuid = std::array<std::byte, 16>;
Uuid random_uuid();

// magic 4, version 4, begin 4 | end 4/8, seek_free 4/8, nbytes_free 4, free_segments 4, nbytes_name 4, units
// 1, compression 4, seek_info 4/8, nbytes_info 4, uuid version 2, uuid 16
struct TFileHeader {
  std::uint32_t version = 63400;  // of the ROOT release with this format, without the million of the big form
  std::uint64_t begin = tfile_begin;
  std::uint64_t end = 0;
  std::uint64_t seek_free = 0;
  std::uint32_t nbytes_free = 0;
  std::uint32_t free_segments = 0;
  std::uint32_t nbytes_name = 0;  // from `begin` to the directory: key, name, title
  std::uint32_t compression = 0;
  std::uint64_t seek_info = 0;
  std::uint32_t nbytes_info = 0;
  Uuid uuid{};
  bool big = false;  // as read, or if it must not shrink any more; writing makes it big where necessary
};
inline constexpr std::size_t tfile_header_size = 75;  // the big form; small: 63

bool is_tfile(ByteSpan first_bytes) noexcept;
// `bytes` are the first bytes of the file, at least tfile_header_size if the file has that many. Checks the
// positions against `file_size`.
TFileHeader read_tfile_header(ByteSpan bytes, std::uint64_t file_size);
Bytes write_tfile_header(const TFileHeader& header);

// nbytes 4, version 2, object_length 4, time 4, key_length 2, cycle 2, seek_key 4/8, seek_directory 4/8,
// class, name, title
struct TKey {
  std::uint32_t nbytes = 0;         // key and (compressed) object
  std::uint32_t object_length = 0;  // uncompressed
  std::uint32_t time = 0;
  std::uint16_t key_length = 0;
  std::uint16_t cycle = 1;
  std::uint64_t seek_key = 0;
  std::uint64_t seek_directory = 0;
  bool big = false;
  std::string class_name;
  std::string name;
  std::string title;

  std::uint32_t payload_size() const noexcept { return nbytes - key_length; }
};
// Throws for a gap, for contradictory lengths and for positions outside of `file_size`. A key in
// front of its record may have unused bytes after its fields; in a list the next key follows at
// once.
enum class KeyContext { record, list };
TKey read_tkey(ByteReader& in, std::uint64_t file_size, KeyContext place = KeyContext::record);
// The length of the key; throws ErrorKind::usage if its names are too long for a key.
std::uint16_t tkey_size(const TKey& key);
// Sets key_length; makes the key big if a position requires it.
void write_tkey(ByteWriter& out, TKey& key);

// version 2, created 4, modified 4, nbytes_keys 4, nbytes_name 4, seek_directory, seek_parent, seek_keys 4/8
// each, uuid version 2, uuid 16, three zero words in the small form, so that both forms take 60 bytes
struct TDirectoryRecord {
  std::uint32_t created = 0;
  std::uint32_t modified = 0;
  std::uint32_t nbytes_keys = 0;
  std::uint32_t nbytes_name = 0;
  std::uint64_t seek_directory = 0;
  std::uint64_t seek_parent = 0;
  std::uint64_t seek_keys = 0;
  Uuid uuid{};
  bool big = false;
};
inline constexpr std::size_t tdirectory_size = 60;
// The shortest form, found in old files: small, without reserve.
inline constexpr std::size_t smallest_tdirectory_size = 30;
TDirectoryRecord read_tdirectory(ByteReader& in, std::uint64_t file_size);
void write_tdirectory(ByteWriter& out, const TDirectoryRecord& directory);

// The record at TDirectoryRecord::seek_keys, including its key: count 4, then that many keys.
struct TKeyList {
  TKey own;                // the record's own key
  std::vector<TKey> keys;  // as listed
  ByteSpan entries;        // the bytes of all, inside `record`
};
// With `is_wanted`, `keys` has only such keys; the others are checked all the same.
TKeyList read_tkey_list(ByteSpan record, std::uint64_t offset, std::uint64_t file_size,
                        const std::function<bool(const TKey&)>& is_wanted = {});

// version 2, first 4/8, last 4/8 (inclusive)
struct FreeSegment {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  friend bool operator==(const FreeSegment&, const FreeSegment&) = default;
};
// The record at TFileHeader::seek_free, including its key. Segments must be ascending and not adjacent; the
// last one starts at `end`, or behind it in the file: ROOT sets the end in the header too low when it adds to
// a file that it has made shorter.
std::vector<FreeSegment> read_free_list(ByteSpan record, std::uint64_t offset, std::uint64_t end,
                                        std::uint64_t file_size);
Bytes write_free_list(const std::vector<FreeSegment>& segments);  // without the record's own key
std::size_t free_list_size(const std::vector<FreeSegment>& segments) noexcept;
// The last segment of a file that ends at `end`: it extends to ROOT's next limit.
FreeSegment free_tail(std::uint64_t end) noexcept;

// The first bytes of a gap of `size` bytes.
Bytes gap_marker(std::uint64_t size);

}  // namespace colonnade::format

#endif
