// The layout of a data set in an object store.
//
// Objects (io::ObjectId{group, number}; keys are numbers):
//
//   group 0, number 0: the directory. Distribution key: XXH3 of the data set's name (the next free number up
//     if another name has it). Attribute keys there:
//       0      place record: what is committed, which makes a data set visible, and who is writing it
//       2 + g  generation g (= its group): objects that a writer may have made, for `gc`
//   group g: everything of one generation of a data set, which is one run of one writer. A data set that was
//     continued has several; the numbers of objects and blobs go on from one to the next.
//     number 0: metadata. Distribution key 0, attribute key = running number of the blob: header, footers,
//       page lists. Other distribution keys, until the commit: parts (part_writer.h), with blobs likewise and
//       a record
//     number 1...: pages
//
// The 64-bit location of a page's locator gives its position (type 0x02, docs/format/object-container.md):
//
//   locality (default)   object 24 | value 16 | offset 24    (most significant first)
//     object: number within the group, one (or more) per cluster; distribution key: the physical column;
//     value: attribute key; offset: of the page within the value. Pages that are written together are spliced
//     into values, one after the other, until a value has reached its target size; without splicing each page
//     is a value.
//   object_per_page      object 64
//     distribution key 0, attribute key 0.
//
// Header, footer and page lists: the location is the number of the blob. A page is followed by its checksum,
// as in files.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_LAYOUT_H
#define COLONNADE_CONTAINER_OBJECT_STORE_LAYOUT_H

#include <cstdint>

#include "io/object_store.h"

namespace colonnade::container {

inline constexpr io::ObjectId directory_object{0, 0};
inline constexpr std::uint64_t counter_key = 0;
inline constexpr std::uint64_t place_key = 0;
inline constexpr std::uint64_t first_generation_key = 2;
inline constexpr std::uint64_t metadata_object = 0;  // number
inline constexpr std::uint64_t first_page_object = 1;
inline constexpr std::uint64_t part_record_key = std::uint64_t{1} << 62;  // attribute key

// A location of the mapping `locality`.
struct LocalityLocation {
  static constexpr unsigned object_bits = 24;
  static constexpr unsigned value_bits = 16;
  static constexpr unsigned offset_bits = 24;
  static constexpr std::uint64_t most_objects = std::uint64_t{1} << object_bits;
  static constexpr std::uint64_t most_values = std::uint64_t{1} << value_bits;
  static constexpr std::uint64_t most_offset = std::uint64_t{1} << offset_bits;

  std::uint64_t object = 0;
  std::uint64_t value = 0;
  std::uint64_t offset = 0;

  constexpr std::uint64_t location() const noexcept {
    return object << (value_bits + offset_bits) | value << offset_bits | offset;
  }
  static constexpr LocalityLocation of(std::uint64_t location) noexcept {
    return {location >> (value_bits + offset_bits), location >> offset_bits & (most_values - 1),
            location & (most_offset - 1)};
  }
  friend bool operator==(const LocalityLocation&, const LocalityLocation&) = default;
};

}  // namespace colonnade::container

#endif
