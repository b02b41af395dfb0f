// A column of keys in little memory: pieces of rows, as distances from the least key of each piece in as few
// bytes as these take. Keys are mostly dense, or in the order of entries: consecutive event numbers take two
// bytes each.
#ifndef COLONNADE_DATASET_JOINS_PACKED_KEYS_H
#define COLONNADE_DATASET_JOINS_PACKED_KEYS_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "dataset/joins/memory.h"

namespace colonnade::dataset {

// The values of a column of integers as 64 bits, signed ones extended by their sign.
struct KeyColumn {
  bool is_signed = true;
  std::span<const std::uint64_t> values;
};

class PackedKeys {
 public:
  struct Bounds {
    std::uint64_t least, greatest;  // in the order of the column's type
  };
  static constexpr std::size_t rows_per_piece = 65'536;

  PackedKeys(bool is_signed, std::size_t rows, JoinMemory& memory);
  PackedKeys(const KeyColumn& column, JoinMemory& memory);

  bool is_signed() const noexcept { return is_signed_; }
  std::size_t size() const noexcept { return size_; }
  // Rows from `first` on; every row once, in any order, by any number of threads.
  void write(std::size_t first, std::span<const std::uint64_t> values);

  // Once all rows are written:
  void read(std::size_t first, std::size_t count, std::uint64_t* to) const;
  std::uint64_t at(std::size_t row) const;
  // Of all rows, of which there is one at least.
  Bounds bounds() const;

 private:
  struct Piece {
    std::size_t rows;
    Bounds bounds;
    const std::byte* distances;
  };
  Bounds bounds_of(std::span<const std::uint64_t> values) const noexcept;

  bool is_signed_;
  std::size_t size_;
  // As much as full-width keys take. The system gives no memory to pages that are not written to.
  std::shared_ptr<std::byte[]> memory_;
  struct Written {
    std::mutex mutex;
    std::size_t bytes = 0;
    std::map<std::size_t, Piece> pieces;  // by first row
  };
  std::unique_ptr<Written> written_ = std::make_unique<Written>();
};

}  // namespace colonnade::dataset

#endif
