// Fills: the arguments of a result for one block as columns of doubles, one element per fill. Lists count
// once per item; a scalar, or a list that is less deep, beside them counts for every item below it.
#ifndef COLONNADE_FRAME_RESULTS_FILLS_H
#define COLONNADE_FRAME_RESULTS_FILLS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "colonnade/block.h"
#include "frame/results/result.h"

namespace colonnade::frame {

// What lies at the bottom of nested lists: `size` elements, or one that stands for all.
struct Leaves {
  ElementType element = ElementType::float64;
  const void* data = nullptr;
  std::size_t size = 0;
  bool constant = false;
  ValuesPtr keep;
};
Leaves leaves_of(const ValuesPtr& values);

class Fills {
 public:
  // Fills are looked at in chunks of this many, which stay in the first-level cache.
  static constexpr std::size_t chunk = 1024;
  // Memory for one column of a chunk, of the calling thread; `which` is 0 to 3.
  static double* scratch(std::size_t which);
  static std::uint32_t* bin_scratch();

  // `names` are the texts of the arguments. Throws ErrorKind::usage with the entry's number if lists do not
  // have the same lengths.
  Fills(const Rows& rows, std::span<const ValuesPtr> arguments, std::span<const std::string> names);

  std::size_t size() const noexcept { return size_; }
  // Fills [first, first + count) of an argument: where they lie, or copied to `scratch`. Chunks are asked for
  // in growing order.
  const double* column(std::size_t argument, std::size_t first, std::size_t count, double* scratch);

 private:
  struct Column {
    Leaves leaves;
    std::size_t depth = 0;
    // Of an argument that is less deep than others: where the fills of each of its elements end.
    std::vector<std::int64_t> ends;
    std::size_t at = 0;
  };
  void check_lengths(const Rows& rows, const Values& deep, const Values& other,
                     std::span<const std::string> names, std::size_t which_deep, std::size_t which) const;
  std::vector<Column> columns_;
  std::size_t size_ = 0;
};

// Throws ErrorKind::type unless all arguments are numbers or lists of numbers.
void require_numbers(const ResultSpec& spec, std::span<const ValueType> types);
// Throws ErrorKind::usage unless there are `least` to `most` arguments; `wanted` says which.
void require_arguments(const ResultSpec& spec, std::span<const ValueType> types, std::size_t least,
                       std::size_t most, const char* wanted);

}  // namespace colonnade::frame

#endif
