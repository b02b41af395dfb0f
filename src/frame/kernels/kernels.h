// The loops under the expression language: one operation over flat arrays of one element type. There are
// two tables: fast loops for this processor, and plain ones that define the correct result; tests compare
// them.
//
// Every operand is an array of `count` elements, or one element for all. No loop accesses memory beyond its
// elements, and every loop gives the same bits for any vector width.
#ifndef COLONNADE_FRAME_KERNELS_KERNELS_H
#define COLONNADE_FRAME_KERNELS_KERNELS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "colonnade/column_type.h"

namespace colonnade::frame {

// An argument of a loop: `count` elements, or one for all.
struct Operand {
  const void* data = nullptr;
  bool constant = false;
};

// A loop over flat arrays. `out` may be written in any order, and must not overlap operands.
using ElementLoop = void (*)(std::size_t count, const Operand* operands, void* out);

// Thrown by a loop for an invalid element; a caller that knows the entry converts it to an Error.
struct ElementFault {
  std::size_t index = 0;  // of the element
  const char* problem = "";
};

// C++'s arithmetic without undefined behaviour: signed integers wrap, including the smallest one divided by
// -1. Integer division by zero, and shifts by less than 0 or by the width or more, are faults.
enum class Operation : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  remainder,  // of integers
  minimum,    // std::min: the first if neither is smaller, or one is NaN
  maximum,
  bit_and,  // of integers, like the next five
  bit_or,
  bit_xor,
  shift_left,  // the second operand is always int64
  shift_right,
  bit_not,
  negate,
  absolute,
  square_root,  // of floating-point numbers
  // The results are boolean from here on.
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,  // of boolean, like the next two
  logical_or,
  logical_not,
  truth,  // not equal to zero
};
inline constexpr std::size_t operation_count = static_cast<std::size_t>(Operation::truth) + 1;
// Arithmetic types: boolean to float64.
inline constexpr std::size_t element_count = static_cast<std::size_t>(ElementType::float64) + 1;

struct Kernels {
  std::array<std::array<ElementLoop, element_count>, operation_count> operations{};
  std::array<std::array<ElementLoop, element_count>, element_count> conversions{};  // [from][to]

  ElementLoop& at(Operation operation, ElementType element) {
    return operations[static_cast<std::size_t>(operation)][static_cast<std::size_t>(element)];
  }
  ElementLoop& conversion(ElementType from, ElementType to) {
    return conversions[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
};

// The loop for operands of this type; null if the operation does not exist for it.
ElementLoop element_loop(Operation operation, ElementType element) noexcept;
// The loop that converts like static_cast; null for types that are not numbers. Floats beyond the range of an
// integer type saturate, and NaN becomes 0.
ElementLoop conversion_loop(ElementType from, ElementType to) noexcept;

const Kernels& reference_kernels() noexcept;
// For tests: for each instruction set of this processor, the reference with the fast kernels in place. Must
// not run concurrently with other threads.
std::vector<Kernels> all_kernels();

}  // namespace colonnade::frame

#endif
