// The loops under the expression language: one operation over flat arrays of one element type. There are two
// sets: the fast ones for this processor, and plain ones that define what is right; the tests compare the
// two.
//
// Every operand is an array of `count` elements, or one element for all. No loop reads or writes beyond the
// elements that it is given, and every loop gives the same bits whatever the width of the vectors.
#ifndef COLONNADE_FRAME_KERNELS_KERNELS_H
#define COLONNADE_FRAME_KERNELS_KERNELS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "colonnade/column_type.h"

namespace colonnade::frame {

// An argument as the loop sees it: `count` elements, or one for all.
struct Operand {
  const void* data = nullptr;
  bool constant = false;
};

// A loop over flat arrays. `out` may be written in any order, and is no operand.
using ElementLoop = void (*)(std::size_t count, const Operand* operands, void* out);

// What a loop throws because of the values of an element; who knows the entry makes an Error of it.
struct ElementFault {
  std::size_t index = 0;  // of the element
  const char* problem = "";
};

// Arithmetic is that of C++ with the gaps closed: signed integers wrap, so does the smallest one divided by
// -1. Integers divided by zero, and shifts by less than 0 or by the width and more, are faults.
enum class Operation : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  remainder,  // of integers
  minimum,    // std::min: the first where neither is smaller, or one is NaN
  maximum,
  bit_and,  // of integers, as the next five
  bit_or,
  bit_xor,
  shift_left,  // the second operand is int64 whatever the first
  shift_right,
  bit_not,
  negate,
  absolute,
  square_root,  // of floating-point numbers
  // Results are boolean from here on.
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,  // of boolean, as the next two
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

// The loop for operands of this type, or null if there is no such operation on it.
ElementLoop element_loop(Operation operation, ElementType element) noexcept;
// The loop that converts as static_cast does; null for types that are no numbers. What does not fit: floats
// beyond the range of an integer type become its nearest value, and NaN becomes 0.
ElementLoop conversion_loop(ElementType from, ElementType to) noexcept;

const Kernels& reference_kernels() noexcept;
// For tests: the reference with the fast kernels of an instruction set in their places, for all that this
// processor has. Not to be called beside other threads.
std::vector<Kernels> all_kernels();

}  // namespace colonnade::frame

#endif
