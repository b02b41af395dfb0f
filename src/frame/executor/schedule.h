// Schedule: a Program as a list of steps, made once per pass and executed once per block.
//
// A step computes the value of one expression for the rows of one selection, narrows a selection, or passes
// values to an output. Steps are ordered so that all inputs precede their uses; steps of an empty selection
// are skipped during execution.
//
//   value of x for all         read
//   value of x > 0 for all     call
//   selection 1                narrow: rows of "all" where x > 0
//   value of x for 1           gather from "all"
//   output 0                   x for 1
//
// A value that an ancestor selection has is gathered from there; a value that several unrelated selections
// need is computed once per row and stored for the others (Recall). The right sides of && || and ?: are
// computed for inner selections, which are not in the program: exactly the rows that need them, or all rows
// if that is cheaper and has no visible effect.
#ifndef COLONNADE_FRAME_EXECUTOR_SCHEDULE_H
#define COLONNADE_FRAME_EXECUTOR_SCHEDULE_H

#include <cstdint>
#include <span>
#include <vector>

#include "frame/executor/program.h"

namespace colonnade::frame {

inline constexpr std::uint32_t none = 0xffffffffu;

struct Step {
  enum class Kind : std::uint8_t {
    constant,
    read,    // a column
    entry,   // the numbers of the entries
    slot,    // the number of the worker
    sample,  // the name of the sample
    call,
    both,    // &&: operands are left and right, the right one for inner[0]
    either,  // ||: the same
    choose,  // ?: operands are the condition, yes for inner[0], no for inner[1]
    gather,  // operand: the value for the selection `from`
    recall,  // operand: the value for inner[0], the rows missing in store `store`
    narrow,  // selection inner[0], of which `selection` is the parent; operand: the condition, if any
    output   // `expression` is the number of the output
  };
  Kind kind = Kind::constant;
  SelectionId selection = 0;
  ExpressionId expression = 0;
  std::uint32_t result = none;  // the slot of the value
  std::uint32_t first_operand = 0;
  std::uint32_t operand_count = 0;
  SelectionId from = 0;
  SelectionId inner[2] = {none, none};
  std::uint32_t store =
      none;  // recall: the store to look up; call: the store that also gets the result, or none
  // The slots that no later step uses: a range of Schedule::released.
  std::uint32_t first_released = 0;
  std::uint32_t released_count = 0;
};

// How the rows of a selection derive from those of its parent.
struct Narrowing {
  enum class Kind : std::uint8_t {
    all,
    where_true,
    where_false,
    range,
    samples,
    missing  // rows that a store does not have
  };
  Kind kind = Kind::all;
  SelectionId parent = 0;
  // For inner selections that may hold more rows than needed: all of the parent's if `dense_from` times the
  // needed ones reach its size. 0: exactly the needed ones.
  std::uint32_t dense_from = 0;
  std::uint32_t range = none;  // the number of a range that depends on earlier parts
  std::uint32_t store = none;
};

struct Released {
  enum class Kind : std::uint8_t { value, selection, store };
  Kind kind = Kind::value;
  std::uint32_t id = 0;
};

// A range behind conditions: which rows pass becomes known part after part.
struct CountedRange {
  SelectionId selection = 0;
  std::uint32_t parent = none;  // the enclosing counted range
  std::uint32_t outputs = 0;    // outputs behind it, but not behind a nested one
};

struct Schedule {
  explicit Schedule(const Program& program);

  const Program* program = nullptr;
  std::vector<Step> steps;
  std::vector<std::uint32_t> operands;  // slots of values
  std::vector<Released> released;
  std::vector<Narrowing> narrowings;  // of the program's selections, then inner ones
  std::uint32_t values = 0;           // number of value slots
  std::uint32_t stores = 0;
  std::vector<std::uint32_t> columns;  // columns to read
  std::vector<std::uint32_t> certain;  // those of them that are read for all rows
  std::vector<CountedRange> ranges;    // parents first
  std::uint32_t outputs_without_range = 0;
  bool large_blocks = false;  // for expensive calls
  bool only_counts = false;   // all outputs count all entries: nothing has to be computed
  // Entries outside of this range cannot reach an output.
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  // The number of rows before `entry` in a selection that depends on numbers alone: all entries, and ranges
  // of them.
  std::uint64_t count_before(SelectionId selection, std::uint64_t entry) const;
};

}  // namespace colonnade::frame

#endif
