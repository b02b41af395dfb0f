// A loop of scalars as a program over flat arrays: one register, an array with an element per row, for each
// value of a turn. Items of lists are read where they are. Running it costs no allocation and no copy of a
// list per turn, unlike BodyRun, which can evaluate everything.
#ifndef COLONNADE_FRAME_EXPRESSION_FLAT_PROGRAM_H
#define COLONNADE_FRAME_EXPRESSION_FLAT_PROGRAM_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "frame/expression/loop_kernel.h"
#include "frame/functions/flat_kernel.h"

namespace colonnade::frame {

struct FlatProgram;

using Register = std::uint32_t;

struct FlatInstruction {
  static constexpr std::size_t most_operands = 16;  // of a call

  enum class Kind : std::uint8_t { call, item, size, append, replace, loop };
  Kind kind = Kind::call;
  std::vector<Register>
      operands;  // of an item: the index; of a replacement also the item; of a loop: its scalars
  std::vector<Register> results;  // one; of a loop: its scalars
  // Where it is false, nothing fails or is appended, items are 0, and loops are not run. Calls never fail
  // there: their operands are chosen so.
  std::optional<Register> guard;
  ElementLoop loop = nullptr;
  const FlatKernel* kernel = nullptr;  // of a call that may fail
  std::vector<std::uint32_t> lists;    // of an item, a size or a replacement: one; of a loop: its lists
  std::vector<std::uint32_t> logs;     // of an append: one; of a loop: its logs
  std::shared_ptr<const FlatProgram> inner;
  bool is_invariant = false;  // it gives the same in all turns
};

struct FlatProgram {
  // A column of the loop's pool. Of the lists that a loop changes, those that grow are not read: turns note
  // what they append, in a log. Items of the others, which are copies, are replaced when a turn has read all
  // that it reads.
  struct Input {
    enum class Kind : std::uint8_t { scalar, list, copied, log };
    Kind kind = Kind::scalar;
    std::uint32_t index = 0;  // a register, or a number among the lists or logs
  };
  // A scalar of the loop: in the first registers.
  struct Variable {
    std::size_t member = 0;  // of the result
    Register left = 0, next = 0;
  };

  std::vector<ElementType> registers;
  std::vector<std::pair<Register, std::array<std::byte, 8>>> constants;
  std::vector<Input> inputs;
  std::uint32_t lists = 0;
  std::vector<std::size_t> logs;  // their members of the result, and inputs
  std::vector<FlatInstruction> instructions;
  std::vector<Register> carried;  // into the next turn: what turns use of inputs and of what is invariant

  // As in LoopBody. The condition is computed first, unless it comes last.
  std::optional<Register> condition, leaves, returns, value;
  bool condition_comes_last = false;
  std::vector<Variable> variables;
  std::vector<ValueType> members;
};

// Null if a turn has more than scalars, items of lists outside, and what is appended to lists.
std::shared_ptr<const FlatProgram> flatten(const LoopBody& body);

}  // namespace colonnade::frame

#endif
