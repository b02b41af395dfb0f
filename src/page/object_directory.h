// The directory of an object container: small records in object 0:0 that say which data sets there are and
// who writes them. object_layout.h says under which keys, docs/format/object-container.md shows the bytes.
//
// Every record is framed alike, little-endian:
//
//    0  "CLNDREC1" 8
//    8  kind 2 | version 2 | length of the body 4     later versions append to the body
//   16  body
//    .  XXH3-64 of all bytes before 8
//
//   counter     next generation 4                     under key counter_place, not a data set's
//   anchor      name | generation 4 | mapping 4 | value target 8 | splice size 8 | commit number 8
//               | end of page objects 8 | end of blobs 8 | epoch 2, major 2, minor 2, patch 2
//               | header: blob 8, size 8, length 8 | footer: the same | maximum key size 8
//   claim       name | writer 8 | generation 4 | since 8 (seconds of 1970) | process 8 | process start 8
//               | host | machine | boot | process space
//   generation  name | generation 4 | writer 8 | end of page objects 8
//
// Texts are length 4 and bytes. What is read is checked: sums, lengths, and that the key is the name's.
#ifndef COLONNADE_PAGE_OBJECT_DIRECTORY_H
#define COLONNADE_PAGE_OBJECT_DIRECTORY_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "colonnade/descriptor.h"
#include "colonnade/options.h"
#include "io/object_store.h"
#include "page/object_layout.h"

namespace colonnade::page {

inline constexpr std::uint64_t counter_place = 0;       // distribution key of the directory, not of a name
inline constexpr std::size_t longest_record = 1 << 16;  // bytes; what is longer is not read
inline constexpr std::size_t longest_name = 4096;       // of a data set

// Makes a data set visible.
struct AnchorRecord {
  std::string name;
  std::uint32_t generation = 0;  // the group of its objects; 0: removed, only keeps the place for the next
  ObjectMapping mapping = ObjectMapping::locality;
  std::uint64_t value_target = 0;  // bytes up to which pages were spliced into one value
  std::uint64_t splice_size = 0;   // WriteOptions::splice_size: bytes that are worth moving together
  std::uint64_t commit = 0;        // counts the commits of the generation
  std::uint64_t end_objects = 0;   // page objects have numbers in [first_page_object, end_objects)
  std::uint64_t end_blobs = 0;     // blobs have numbers in [0, end_blobs)
  Anchor anchor;                   // header_offset and footer_offset are numbers of blobs
  friend bool operator==(const AnchorRecord&, const AnchorRecord&) = default;
};

// Says who is writing a data set.
struct ClaimRecord {
  std::string name;
  std::uint64_t writer = 0;      // drawn at random
  std::uint32_t generation = 0;  // 0: none yet
  std::int64_t since = 0;        // seconds of 1970
  std::uint64_t process = 0;
  std::uint64_t process_start = 0;  // in the machine's ticks since it was started; 0: not known
  std::string host;
  std::string machine;        // what stays the same when it is started again; empty: not known
  std::string boot;           // what does not
  std::string process_space;  // in which the number of the process means something
  friend bool operator==(const ClaimRecord&, const ClaimRecord&) = default;
};

// What a generation's writer may have made: all page objects with numbers below the end, and metadata.
struct GenerationRecord {
  std::string name;
  std::uint32_t generation = 0;
  std::uint64_t writer = 0;
  std::uint64_t end_objects = first_page_object;
  friend bool operator==(const GenerationRecord&, const GenerationRecord&) = default;
};

Bytes to_bytes(const AnchorRecord& record);
Bytes to_bytes(const ClaimRecord& record);
Bytes to_bytes(const GenerationRecord& record);
Bytes counter_bytes(std::uint32_t next_generation);
// Throw ErrorKind::format, checksum, or unsupported for a later version.
AnchorRecord read_anchor_record(ByteSpan bytes);
ClaimRecord read_claim_record(ByteSpan bytes);
GenerationRecord read_generation_record(ByteSpan bytes);
std::uint32_t read_counter(ByteSpan bytes);
// The name that an anchor, claim or generation record begins with.
std::string read_record_name(ByteSpan bytes);

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

// Where a data set of this name is or would be. Neither anchor nor claim: the name is not in use.
struct DirectoryPlace {
  std::uint64_t dkey = 0;
  std::optional<Stored<AnchorRecord>> anchor;  // also one of a removed data set: generation 0
  std::optional<Stored<ClaimRecord>> claim;
  bool committed() const noexcept { return anchor && anchor->record.generation != 0; }
};
// `with_claim`: the claim is looked for although there is an anchor.
DirectoryPlace find_place(const io::ObjectStore& store, std::string_view name, bool with_claim);

// The anchor of a committed data set, nothing if there is none.
std::optional<AnchorRecord> find_anchor(const io::ObjectStore& store, std::string_view name);
// Those of all committed data sets, ordered by name. What is damaged is left out, and said in `problems`.
std::vector<AnchorRecord> list_anchors(const io::ObjectStore& store,
                                       std::vector<std::string>* problems = nullptr);

}  // namespace colonnade::page

#endif
