// The layout of a cache in its home, which is an object store like any other:
//
//   group "CACH" (0x48434143):
//     object 0: the register. Attribute key: the number of a data set.
//       distribution key 0   the identity: URI, name, version, columns (JSON)
//       distribution key 1   what is pinned (JSON); missing: nothing
//       distribution key 2   its header, footer and page lists (metadata.h)
//       distribution key 3   attribute key: a URI and a name; which data set was last found there, and when
//                            (JSON)
//     object n: the pages of data set n. Distribution key: the column. Attribute key:
//
//         cluster 24 | size 8 | first page 20 | pages 12     (most significant first)
//
//       The size is that of the value, rounded up: 5 bits of exponent, 3 of mantissa.
//
//       The value consists of these pages in order, as they are stored, each followed by 8 bytes:
//       its XXH3, combined with its place (seal_for()), so that a page of another place, column or data set
//       is not mistaken for it.
//   group "CACU":
//     object n: the users of data set n. Distribution key 0, attribute key: the user. When they last used
//       columns of clusters (JSON).
//
// The number of a data set is the XXH3 of its URI, name, size, version and anchor: a changed data set has
// another number. There is no index: contents are found by listing keys, a value is complete or
// absent, and a value never changes. Any number of processes can therefore read and write without locks, and
// it does not matter when one of them ends.
#ifndef COLONNADE_CACHE_LAYOUT_H
#define COLONNADE_CACHE_LAYOUT_H

#include <cstdint>

#include "io/object_store.h"

namespace colonnade::cache {

inline constexpr std::uint32_t pages_group = 0x48434143;
inline constexpr std::uint32_t uses_group = 0x55434143;
inline constexpr io::ObjectId register_object{pages_group, 0};
inline constexpr std::uint64_t identity_key = 0;
inline constexpr std::uint64_t pin_key = 1;
inline constexpr std::uint64_t metadata_key = 2;
inline constexpr std::uint64_t found_key = 3;
inline constexpr std::size_t sum_size = 8;

// Consecutive pages of a column in a cluster, which one value holds.
struct RunKey {
  static constexpr std::uint64_t most_clusters = std::uint64_t{1} << 24;
  static constexpr std::uint32_t most_first = 1U << 20;
  static constexpr std::uint32_t most_pages = (1U << 12) - 1;

  std::uint64_t cluster = 0;
  std::uint32_t first = 0;
  std::uint32_t pages = 0;
  std::uint8_t size_class = 0;

  // Size in bytes, rounded up by at most an eighth.
  constexpr std::uint64_t size() const noexcept {
    return std::uint64_t{8U + (size_class & 7U)} << (size_class >> 3);
  }
  constexpr RunKey with_size(std::uint64_t bytes) const noexcept {
    RunKey key = *this;
    for (key.size_class = 0; key.size_class < 255 && key.size() < bytes;) ++key.size_class;
    return key;
  }
  constexpr std::uint64_t akey() const noexcept {
    return cluster << 40 | std::uint64_t{size_class} << 32 | std::uint64_t{first} << 12 | pages;
  }
  static constexpr RunKey of(std::uint64_t akey) noexcept {
    return {akey >> 40, static_cast<std::uint32_t>(akey >> 12) & (most_first - 1),
            static_cast<std::uint32_t>(akey) & most_pages, static_cast<std::uint8_t>(akey >> 32)};
  }
  friend auto operator<=>(const RunKey&, const RunKey&) = default;
};

inline io::ValueAddress pages_value(std::uint64_t data_set, std::uint32_t column, const RunKey& run) {
  return {{pages_group, data_set}, column, run.akey()};
}

// The value that the checksum of a page is combined with.
constexpr std::uint64_t seal_for(std::uint64_t data_set, std::uint32_t column, std::uint64_t cluster,
                                 std::uint64_t page) noexcept {
  std::uint64_t mixed = data_set;
  for (const std::uint64_t part : {std::uint64_t{column}, cluster, page}) {
    mixed = (mixed ^ part) * 0x9e3779b97f4a7c15ULL;
    mixed ^= mixed >> 29;
    mixed *= 0xbf58476d1ce4e5b9ULL;
    mixed ^= mixed >> 32;
  }
  return mixed;
}

}  // namespace colonnade::cache

#endif
