// Which entry has a key: a hash table over one or several columns of integers.
//
// An entry takes 4 or 8 bytes for each key (4 where its values span less than 2^32), and 6.4 for its place.
#ifndef COLONNADE_FRAME_JOINS_KEY_TABLE_H
#define COLONNADE_FRAME_JOINS_KEY_TABLE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace colonnade::frame {

// The values of a column of integers as 64 bits, signed ones extended by their sign.
struct KeyColumn {
  bool is_signed = true;
  std::vector<std::uint64_t> values;
};

class KeyTable {
 public:
  enum class Duplicates { error, first };
  static constexpr std::int64_t none = -1;

  KeyTable() = default;
  // All columns have as many values. Throws ErrorKind::usage for a key that two entries have, if that is an
  // error; else the first of them is found. `names` are those of the columns.
  KeyTable(std::vector<KeyColumn> columns, std::span<const std::string> names, Duplicates duplicates,
           unsigned threads);

  // The entry for each of `count` keys, or none. keys[k][i] is value i of column k.
  void find(std::span<const KeyColumn> keys, std::size_t count, std::int64_t* entries) const;

  std::uint64_t bytes() const noexcept;

 private:
  // A column in as few bits as it needs.
  struct Packed {
    bool is_signed = true;
    std::uint64_t least = 0;
    std::vector<std::uint32_t> narrow;  // less `least`
    std::vector<std::uint64_t> wide;

    explicit Packed(KeyColumn column);
    std::uint64_t operator[](std::size_t i) const noexcept {
      return wide.empty() ? least + narrow[i] : wide[i];
    }
  };
  // Where the search for a hash begins, and the region of the table in which it goes round.
  struct Region {
    std::size_t first = 0, size = 0, place = 0;
  };

  static constexpr std::uint32_t empty = 0xffffffffu;

  Region region_of(std::uint64_t hash) const noexcept;
  std::uint64_t hash_of(std::size_t entry) const noexcept;
  bool equal(std::size_t a, std::size_t b) const noexcept;
  void insert(std::size_t region, Duplicates duplicates, std::size_t& first_duplicate, std::size_t& same_as);
  [[noreturn]] void fail_duplicate(std::span<const std::string> names, std::size_t entry,
                                   std::size_t other) const;

  std::uint64_t seed_ = 0;
  std::size_t entries_ = 0;
  std::size_t regions_ = 1;  // filled by one thread each
  std::size_t region_size_ = 0;
  std::vector<Packed> columns_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace colonnade::frame

#endif
