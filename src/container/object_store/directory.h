// The directory of an object container: small records in object 0:0 that say which data sets there are and
// who writes them. layout.h says under which keys, docs/format/object-container.md shows the bytes.
//
// Every record is framed alike, little-endian:
//
//    0  "CLNDREC1" 8
//    8  kind 2 | version 2 | length of the body 4     minor additions are appended to the body
//   16  body
//    .  XXH3-64 of all bytes before 8
//
//   counter     next generation 4                     under key counter_place, not a data set's
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
// Texts are length 4 and bytes. What is read is checked: sums, lengths, and that the key is the name's.
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

inline constexpr std::uint64_t counter_place = 0;       // distribution key of the directory, not of a name
inline constexpr std::size_t longest_record = 1 << 16;  // bytes; what is longer is not read
inline constexpr std::size_t longest_name = 4096;       // of a data set
// That a data set may have, so that its record is not too long.
inline constexpr std::size_t most_earlier_generations = 2048;

// What of an earlier generation belongs to a data set that was continued: its objects and blobs with numbers
// below these ends, and not below those of the generation before.
struct EarlierGeneration {
  std::uint32_t generation = 0;
  std::uint64_t end_objects = first_page_object;
  std::uint64_t end_blobs = 0;
  friend bool operator==(const EarlierGeneration&, const EarlierGeneration&) = default;
};

// What is committed: makes a data set visible.
struct AnchorRecord {
  std::string name;
  std::uint32_t generation = 0;  // the group of its last objects; 0: there is no data set
  ObjectMapping mapping = ObjectMapping::locality;
  std::uint64_t value_target = 0;          // bytes up to which pages were spliced into one value
  std::uint64_t splice_size = 0;           // WriteOptions::splice_size: bytes that are worth moving together
  std::uint64_t commit = 0;                // counts the commits of the data set
  std::uint64_t end_objects = 0;           // page objects have numbers in [first_page_object, end_objects)
  std::uint64_t end_blobs = 0;             // blobs have numbers in [0, end_blobs)
  Anchor anchor;                           // header_offset and footer_offset are numbers of blobs
  std::vector<EarlierGeneration> earlier;  // that it continues, in the order of their numbers
  std::uint64_t identity = 0;              // drawn at random for each commit; 0: by a version that did not
  friend bool operator==(const AnchorRecord&, const AnchorRecord&) = default;
};

// The group that holds a page object or a blob of the data set.
std::uint32_t group_of_object(const AnchorRecord& anchor, std::uint64_t object) noexcept;
std::uint32_t group_of_blob(const AnchorRecord& anchor, std::uint64_t blob) noexcept;
// What the data set has of a generation; nothing: none of it.
std::optional<EarlierGeneration> part_of(const AnchorRecord& anchor, std::uint32_t generation) noexcept;

// Says who is writing a data set.
struct ClaimRecord {
  std::uint64_t writer = 0;  // drawn at random
  std::uint32_t generation = 0;
  std::uint64_t lease =
      0;  // milliseconds: a claim that does not change for so long is of a writer that is gone
  std::uint64_t renewals = 0;  // counts
  std::int64_t since = 0;      // seconds of 1970; for messages, as what follows
  std::uint64_t process = 0;
  std::string host;
  friend bool operator==(const ClaimRecord&, const ClaimRecord&) = default;
};

// All that decides about the data set of a place: one value, which is only ever replaced as a whole, and on
// condition that nobody else was faster.
struct PlaceRecord {
  AnchorRecord anchor;
  std::optional<ClaimRecord> claim;
  std::uint64_t stamp = 0;  // drawn at random each time: no two records are the same bytes
  friend bool operator==(const PlaceRecord&, const PlaceRecord&) = default;
};

// Page objects with numbers from the first to the end.
struct ObjectRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  friend auto operator<=>(const ObjectRange&, const ObjectRange&) = default;
};
// Of a record, so that it is not too long.
inline constexpr std::size_t most_ranges = 3500;

// What a generation's writer may have made: page objects with numbers from the first to the end, and
// metadata.
struct GenerationRecord {
  std::string name;
  std::uint32_t generation = 0;
  std::uint64_t writer = 0;
  std::uint64_t end_objects = first_page_object;
  std::uint64_t first_object = first_page_object;  // of a data set that it continues: where that ended
  bool in_parts = false;                           // processes may write parts of it, or have left some
  std::vector<ObjectRange> abandoned;              // below the committed end: of parts that were not taken
  friend bool operator==(const GenerationRecord&, const GenerationRecord&) = default;
};

// What one process wrote of a generation in parts: a data set whose blobs are numbered for themselves, and
// whose pages lie in the objects that it reserved.
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
// Where in the directory a name is looked for first.
std::uint64_t first_place_of(std::string_view name) noexcept;
std::uint64_t next_place(std::uint64_t place) noexcept;

inline io::ValueAddress directory_value(std::uint64_t place, std::uint64_t akey) {
  return {directory_object, place, akey};
}

template <class Record>
struct Stored {
  Record record;
  std::string version;  // for ObjectStore::put_if
};

// The record of a place; nothing if it has none.
std::optional<Stored<PlaceRecord>> read_place(const io::ObjectStore& store, std::uint64_t place);

// Where a data set of this name is or would be. No record: the name was never in use.
struct DirectoryPlace {
  std::uint64_t dkey = 0;
  std::optional<Stored<PlaceRecord>> found;
  bool committed() const noexcept { return found && found->record.anchor.generation != 0; }
  const ClaimRecord* claim() const noexcept {
    return found && found->record.claim ? &*found->record.claim : nullptr;
  }
};
DirectoryPlace find_place(const io::ObjectStore& store, std::string_view name);

// The anchor of a committed data set, nothing if there is none.
std::optional<AnchorRecord> find_anchor(const io::ObjectStore& store, std::string_view name);
// What is to be said of a value that is not there although the data set, as `opened` says, should have it:
// was it replaced or removed since?
Error missing_value(const io::ObjectStore& store, const AnchorRecord& opened, const Error& error);
// Those of all committed data sets, ordered by name. What is damaged is left out, and said in `problems`.
std::vector<AnchorRecord> list_anchors(const io::ObjectStore& store,
                                       std::vector<std::string>* problems = nullptr);

}  // namespace colonnade::container

#endif
