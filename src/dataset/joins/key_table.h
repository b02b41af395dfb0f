// Which entry has a key: a table over one or several columns of integers.
//
// The keys of an entry are one number, its rank: their distances from the least of each column, in a system
// of digits. Where ranks are dense, the table is an array of entries by rank: 4 bytes for each rank. Else it
// is a hash table with 12.8 bytes for each entry; 8 more where ranks exceed 32 bits. Where distances exceed
// 64 bits together, they are kept as one row of bits: 16 bytes for each entry, and 6.4 for each place. What
// they take beyond 128 bits lies in a file, whatever the budget of memory, and is read for keys that fit so
// far.
#ifndef COLONNADE_DATASET_JOINS_KEY_TABLE_H
#define COLONNADE_DATASET_JOINS_KEY_TABLE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "dataset/joins/memory.h"
#include "dataset/joins/packed_keys.h"

namespace colonnade::dataset {

class KeyTable {
 public:
  enum class Duplicates { error, first };
  static constexpr std::int64_t none = -1;

  KeyTable() = default;
  // All columns have as many values. Throws ErrorKind::usage for a key that two entries have, if that is an
  // error; else the first of them is found. `names` are those of the columns; the last
  // ones may have none, and are not named in errors.
  KeyTable(std::span<const PackedKeys> columns, std::span<const std::string> names, Duplicates duplicates,
           unsigned threads, JoinMemory& memory);

  // The entry for each of `count` keys, or none. keys[k].values[i] is value i of column k.
  void find(std::span<const KeyColumn> keys, std::size_t count, std::int64_t* entries) const;

  // A file that load() takes, which appears when it is complete. `identity` says of what the table was made.
  void save(const std::string& uri, std::string_view identity) const;
  // Nothing if there is no such file or it is of something else. Throws ErrorKind::format for a damaged one.
  static std::optional<KeyTable> load(const std::string& uri, std::string_view identity, JoinMemory& memory);
  // That in the file, or what `make` gives, which is saved there; what cannot be saved is a warning. No file
  // if `uri` is empty.
  static KeyTable load_or_make(const std::string& uri, std::string_view identity, JoinMemory& memory,
                               const std::function<KeyTable()>& make);

 private:
  enum class Form : std::uint8_t {
    direct,  // slots by rank: 32 bits, the entry
    exact,   // slots by hash: the rank and the entry
    tagged,  // slots by hash: bits of the hash and the entry, whose rank is in ranks_
    wide     // slots by hash: 32 bits, the entry, whose keys are in words_
  };
  struct Digit {
    bool is_signed = true;
    std::uint64_t least = 0;
    std::uint64_t span = 0;    // the greatest less the least
    std::uint64_t stride = 1;  // what one more adds to the rank; wide: the first bit in the words
  };
  template <class T>
  struct Array {
    std::shared_ptr<const std::byte[]> memory;
    std::size_t size = 0;
    const T* data() const noexcept { return reinterpret_cast<const T*>(memory.get()); }
    T* writable() noexcept { return const_cast<T*>(data()); }
    const T& operator[](std::size_t i) const noexcept { return data()[i]; }
    ByteSpan bytes() const noexcept { return {memory.get(), size * sizeof(T)}; }
  };
  // Where a search begins. It goes round in a part of the hash table that one thread fills.
  struct ProbePosition {
    std::size_t first = 0, at = 0;  // of that part; in it
  };
  struct Filling;
  struct Loading;
  class Rows;

  // Of word `number`.
  static JoinMemory::Placement placement_of_word(std::size_t number) noexcept;
  template <class T>
  static Array<T> array(std::size_t size, JoinMemory& memory, JoinMemory::Placement placement = {});
  void choose_form(std::span<const PackedKeys> columns);
  void ranks(std::span<const KeyColumn> keys, std::size_t first, std::size_t count, std::uint64_t* to) const;
  std::uint64_t hash(std::uint64_t rank) const noexcept;
  ProbePosition probe_position(std::uint64_t hash) const noexcept;
  template <class Slot>
  static Slot slot_for(Form form, std::uint64_t rank, std::uint64_t hash, std::uint64_t entry) noexcept;
  std::size_t word_count() const noexcept;
  // A word of the distances of a row, of which none exceeds its span.
  std::uint64_t word(std::size_t number, std::span<const KeyColumn> keys, std::size_t row) const noexcept;
  bool has_keys(std::uint32_t entry, std::span<const KeyColumn> keys, std::size_t row) const noexcept;
  void fill_words(const Filling& filling);

  void fill_direct(Filling& filling);
  template <class Slot>
  void fill_hashed(Filling& filling, Array<Slot>& slots);
  template <class Slot>
  void insert(const Filling& filling, Slot* slots, std::size_t region, std::size_t& first_duplicate,
              std::size_t& same_as) const;
  void find_direct(const std::uint64_t* ranks, std::size_t count, std::int64_t* entries) const;
  template <class Slot>
  void find_hashed(const Array<Slot>& slots, std::span<const KeyColumn> keys, std::size_t first,
                   const std::uint64_t* ranks, std::size_t count, std::int64_t* entries) const;
  // The arrays in the order in which they are saved, and where they are.
  template <class Table, class Work>
  static void each_array(Table& table, Work&& work);
  // Throws ErrorKind::format unless searches in it end and find entries that there are.
  void check() const;

  Form form_ = Form::direct;
  std::uint64_t seed_ = 0;
  std::size_t entries_ = 0;
  std::size_t regions_ = 1;
  std::size_t region_size_ = 0;  // slots
  std::vector<Digit> digits_;
  Array<std::uint32_t> entry_slots_;         // direct and wide
  Array<std::uint64_t> tag_slots_;           // exact and tagged
  Array<std::uint64_t> ranks_;               // tagged
  std::vector<Array<std::uint64_t>> words_;  // wide
};

template <class T>
KeyTable::Array<T> KeyTable::array(std::size_t size, JoinMemory& memory, JoinMemory::Placement placement) {
  return {memory.allocate(size * sizeof(T), placement), size};
}

template <class Table, class Work>
void KeyTable::each_array(Table& table, Work&& work) {
  work(table.entry_slots_, JoinMemory::Placement::as_budgeted);
  work(table.tag_slots_, JoinMemory::Placement::as_budgeted);
  work(table.ranks_, JoinMemory::Placement::as_budgeted);
  for (std::size_t w = 0; w < table.words_.size(); ++w) work(table.words_[w], placement_of_word(w));
}

}  // namespace colonnade::dataset

#endif
