// The directory of an object container: small records in object 0:0 that list the data sets and their
// writers. layout.h defines the keys, docs/format/object-container.md shows the bytes.
//
// Every record has the same little-endian frame:
//
//    0  "CLNDREC1" 8
//    8  kind 2 | version 2 | length of the body 4     minor additions are appended to the body
//   16  body
//    .  XXH3-64 of all bytes before 8
//
//   counter     next generation 4                     under key counter_place
//   place       name | generation 4 | mapping 4 | value target 8 | splice size 8 | commit number 8
//               | end of page objects 8 | end of blobs 8 | epoch 2, major 2, minor 2, patch 2
//               | header: blob 8, size 8, length 8 | footer: the same | maximum key size 8
//               | stamp 8
//               | earlier generations 4, of each: generation 4, end of page objects 8, end of blobs 8
//               | claimed 1, if so: writer 8 | generation 4 | lease 8 (milliseconds) | renewals 8
//                 | since 8 (seconds of 1970) | process 8 | host
//               | identity 8
//   generation  name | generation 4 | writer 8 | end of page objects 8 | first page object 8
//               | written in parts 1 | abandoned ranges of page objects 4, of each: first 8, end 8
//   part        name | generation 4 | end of blobs 8 | epoch 2 ... maximum key size 8, as above
//               | ranges of page objects 4, of each: first 8, end 8       (part_writer.h)
//
// Texts are length 4 and bytes. Readers check checksums, lengths, and that the key matches the name.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_DIRECTORY_H
#define COLONNADE_CONTAINER_OBJECT_STORE_DIRECTORY_H

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "colonnade/descriptor.h"
#include "colonnade/options.h"
#include "container/object_store/layout.h"
#include "io/object_store.h"

namespace colonnade::container {

inline constexpr std::uint64_t counter_place = 0;       // distribution key of the counter, not of a data set
inline constexpr std::size_t longest_record = 1 << 16;  // bytes; longer records are refused
inline constexpr std::size_t longest_name = 4096;       // of a data set
// The maximum per data set, so that its record is not too long.
inline constexpr std::size_t most_earlier_generations = 2048;

// The part of an earlier generation that belongs to a continued data set: objects and blobs with numbers
// below these ends, and not below those of the generation before.
struct EarlierGeneration {
  std::uint32_t generation = 0;
  std::uint64_t end_objects = first_page_object;
  std::uint64_t end_blobs = 0;
  friend bool operator==(const EarlierGeneration&, const EarlierGeneration&) = default;
};

// The committed state, which makes a data set visible.
struct AnchorRecord {
  std::string name;
  std::uint32_t generation = 0;  // group of its latest objects; 0: no data set
  ObjectMapping mapping = ObjectMapping::locality;
  std::uint64_t value_target = 0;          // bytes up to which pages are spliced into one value
  std::uint64_t splice_size = 0;           // WriteOptions::splice_size: bytes worth moving together
  std::uint64_t commit = 0;                // number of commits of the data set
  std::uint64_t end_objects = 0;           // page objects have numbers in [first_page_object, end_objects)
  std::uint64_t end_blobs = 0;             // blobs have numbers in [0, end_blobs)
  Anchor anchor;                           // header_offset and footer_offset are numbers of blobs
  std::vector<EarlierGeneration> earlier;  // continued by this one, in ascending order
  std::uint64_t identity = 0;              // random for each commit; 0: written by a version without it
  friend bool operator==(const AnchorRecord&, const AnchorRecord&) = default;
};

// The group that holds a page object or a blob of the data set.
std::uint32_t group_of_object(const AnchorRecord& anchor, std::uint64_t object) noexcept;
std::uint32_t group_of_blob(const AnchorRecord& anchor, std::uint64_t blob) noexcept;
// The part of a generation that belongs to the data set; empty: none.
std::optional<EarlierGeneration> part_of(const AnchorRecord& anchor, std::uint32_t generation) noexcept;

// Which process is writing a data set.
struct ClaimRecord {
  std::uint64_t writer = 0;  // random
  std::uint32_t generation = 0;
  std::uint64_t lease = 0;     // milliseconds: a claim that stays unchanged for so long is expired
  std::uint64_t renewals = 0;  // a counter
  std::int64_t since = 0;      // Unix time; for messages only, like the next members
  std::uint64_t process = 0;
  std::string host;
  friend bool operator==(const ClaimRecord&, const ClaimRecord&) = default;
};

// The whole state of a data set in one value, which is only ever replaced as a whole, by conditional
// puts.
struct PlaceRecord {
  AnchorRecord anchor;
  std::optional<ClaimRecord> claim;
  std::uint64_t stamp = 0;  // random each time, so that no two records have the same bytes
  friend bool operator==(const PlaceRecord&, const PlaceRecord&) = default;
};

// Page objects with numbers in [first, end).
struct ObjectRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  friend auto operator<=>(const ObjectRange&, const ObjectRange&) = default;
};
// The maximum per record, so that it is not too long.
inline constexpr std::size_t most_ranges = 3500;

// What the writer of a generation may have made: page objects with numbers in [first, end), and
// metadata.
struct GenerationRecord {
  std::string name;
  std::uint32_t generation = 0;
  std::uint64_t writer = 0;
  std::uint64_t end_objects = first_page_object;
  std::uint64_t first_object = first_page_object;  // of a continued data set: where the previous one ends
  bool in_parts = false;                           // processes may write parts of it, or have left some
  std::vector<ObjectRange> abandoned;  // below the committed end: objects of parts that were not taken
  friend bool operator==(const GenerationRecord&, const GenerationRecord&) = default;
};

// What one process wrote of a generation in parts: a data set with its own blob numbers, whose pages are in
// the objects that it reserved.
struct PartRecord {
  std::string name;
  std::uint32_t generation = 0;
  std::uint64_t end_blobs = 0;
  Anchor anchor;
  std::vector<ObjectRange> objects;
  friend bool operator==(const PartRecord&, const PartRecord&) = default;
};

Bytes to_bytes(const PlaceRecord& record);
Bytes to_bytes(const GenerationRecord& record);
Bytes to_bytes(const PartRecord& record);
Bytes counter_bytes(std::uint32_t next_generation);
// Throw ErrorKind::format, checksum, or unsupported for a later version.
PlaceRecord read_place_record(ByteSpan bytes);
GenerationRecord read_generation_record(ByteSpan bytes);
PartRecord read_part_record(ByteSpan bytes);
std::uint32_t read_counter(ByteSpan bytes);
// The first place to look up a name.
std::uint64_t first_place_of(std::string_view name) noexcept;
std::uint64_t next_place(std::uint64_t place) noexcept;

inline io::ValueAddress directory_value(std::uint64_t place, std::uint64_t akey) {
  return {directory_object, place, akey};
}

template <class Record>
struct VersionedRecord {
  Record record;
  std::string version;  // for ObjectStore::put_if
};

// The record at a place; empty if there is none.
std::optional<VersionedRecord<PlaceRecord>> read_place(const io::ObjectStore& store, std::uint64_t place);

// The place of a data set of this name, existing or new. Without a record, the name was never used.
struct DirectoryPlace {
  std::uint64_t dkey = 0;
  std::optional<VersionedRecord<PlaceRecord>> found;
  bool committed() const noexcept { return found && found->record.anchor.generation != 0; }
  const ClaimRecord* claim() const noexcept {
    return found && found->record.claim ? &*found->record.claim : nullptr;
  }
};
DirectoryPlace find_place(const io::ObjectStore& store, std::string_view name);

// The anchor of a committed data set; empty if there is none.
std::optional<AnchorRecord> find_anchor(const io::ObjectStore& store, std::string_view name);
// The error for a missing value of an opened data set: tells whether the data set was replaced or removed
// since, or, for a blob, written to.
Error missing_page(const io::ObjectStore& store, const AnchorRecord& opened, const Error& error);
Error missing_blob(const io::ObjectStore& store, const AnchorRecord& opened, const Error& error);
// The anchors of all committed data sets, by name. Damaged records are skipped and added to
// `problems`.
std::vector<AnchorRecord> list_anchors(const io::ObjectStore& store,
                                       std::vector<std::string>* problems = nullptr);

}  // namespace colonnade::container

#endif
