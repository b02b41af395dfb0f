// Whole arrays of entries in any order: blocks of entries are read, kept within a budget, and the values of
// the entries that are wanted taken out of them while they are still flat.
#ifndef COLONNADE_DATASET_READING_GATHERED_ARRAYS_H
#define COLONNADE_DATASET_READING_GATHERED_ARRAYS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colonnade/columnar.h"
#include "colonnade/descriptor.h"

namespace colonnade::dataset {

// Concatenates arrays; offsets continue where the previous ones end. `bytes_before`: of other arrays, for the
// limit of memory.
ColumnArray join_arrays(std::vector<ColumnArray> pieces, std::uint64_t bytes_before);

// The values of rows in the order in which they are named, of arrays of whole entries; `rows` are less than
// their number.
std::vector<ColumnArray> gather_arrays(const Descriptor& descriptor, std::span<const ColumnArray> arrays,
                                       std::span<const std::uint64_t> rows);

// One thread at a time.
class GatheredArrays {
 public:
  // `ahead`: entries up to this one will be read next.
  using Read = std::function<std::vector<ColumnArray>(std::span<const std::string> paths, std::uint64_t first,
                                                      std::uint64_t last, std::uint64_t ahead)>;
  // `borders`: entries, from 0 on to their number; no block crosses one, as those of files. What was read
  // stays in memory up to `budget` bytes, and at least one block does.
  GatheredArrays(const Descriptor& descriptor, const std::vector<std::uint64_t>& borders, Read read,
                 std::uint64_t budget);

  // Throws ErrorKind::usage for an entry beyond the last one, and what `read` throws.
  std::vector<ColumnArray> take(std::span<const std::string> paths, std::span<const std::uint64_t> entries);

 private:
  using Name = std::pair<std::string, std::size_t>;  // of the paths, number of the block
  struct Block {
    Name name;
    std::vector<ColumnArray> arrays;
    std::uint64_t bytes = 0;
  };
  // The first of the blocks that are wanted one after the other.
  const std::vector<ColumnArray>& block(std::span<const std::string> paths, const std::string& name,
                                        std::span<const std::size_t> wanted);
  std::uint64_t ahead_of(const std::string& name, std::span<const std::size_t> wanted) const;

  const Descriptor& descriptor_;
  std::vector<std::uint64_t> begins_;  // of blocks, and the number of entries
  Read read_;
  std::uint64_t budget_;
  std::uint64_t held_ = 0;
  std::list<Block> recent_;  // the last one that was used first
  std::map<Name, std::list<Block>::iterator> known_;
};

}  // namespace colonnade::dataset

#endif
