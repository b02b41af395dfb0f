// Fills: the arguments of a result for one block as columns of doubles, one element per fill. Lists count
// once per item; a scalar, or a list of lower depth, is repeated for every item below it. Where one of
// several optionals is missing, there is no fill.
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

// The bottom of nested lists: `size` elements, or a constant.
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
  // Fills are processed in chunks of this size, which stay in the first-level cache.
  static constexpr std::size_t chunk = 1024;
  // Thread-local memory for one column of a chunk; `which` is 0 to 3.
  static double* scratch(std::size_t which);
  static std::uint32_t* bin_scratch();

  // `names` are the texts of the arguments. Throws ErrorKind::usage with the entry number if lists have
  // different lengths.
  Fills(const Rows& rows, std::span<const ValuesPtr> arguments, std::span<const std::string> names);

  std::size_t size() const noexcept { return size_; }
  // Fills [first, first + count) of an argument: in place, or copied to `scratch`. Chunks must be requested
  // in ascending order.
  const double* column(std::size_t argument, std::size_t first, std::size_t count, double* scratch);

 private:
  struct Column {
    Leaves leaves;
    std::size_t depth = 0;
    // For an argument of lower depth: the end of the fills of each of its elements.
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
// Throws ErrorKind::usage unless there are `least` to `most` arguments; `wanted` describes them.
void require_arguments(const ResultSpec& spec, std::span<const ValueType> types, std::size_t least,
                       std::size_t most, const char* wanted);

}  // namespace colonnade::frame

#endif
