// Schedule: a Program as a list of steps, made once per pass and gone through once per block.
//
// A step gives the value of one expression for the rows of one selection, narrows a selection, or hands
// values to an output. Steps stand in an order in which everything is there before it is used; those of a
// selection without rows are left out while the list is gone through.
//
//   value of x for all         read
//   value of x > 0 for all     call
//   selection 1                narrow: rows of "all" where x > 0
//   value of x for 1           gather from "all"
//   output 0                   x for 1
//
// What a selection needs and an ancestor has is gathered from there; what several unrelated selections need
// is computed once per row and kept for the others (Recall). The right sides of && || and ?: are computed for
// inner selections, which no program has: exactly the rows that need them, or all of them where that is
// cheaper and cannot be noticed.
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
    recall,  // operand: the value for inner[0], the rows that are not in store `store` yet
    narrow,  // selection inner[0], of which `selection` is the parent; operand: the condition, if any
    output   // `expression` is the number of the output
  };
  Kind kind = Kind::constant;
  SelectionId selection = 0;
  ExpressionId expression = 0;
  std::uint32_t result = none;  // where the value goes
  std::uint32_t first_operand = 0;
  std::uint32_t operand_count = 0;
  SelectionId from = 0;
  SelectionId inner[2] = {none, none};
  std::uint32_t store = none;  // recall: where it looks; call: where the result is also put, or none
  // What nothing behind this step uses: a range of Schedule::released.
  std::uint32_t first_released = 0;
  std::uint32_t released_count = 0;
};

// How the rows of a selection come out of those of its parent.
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
  // Inner selections that may hold more rows than they must: all of the parent's as soon as `dense_from`
  // times as many are needed. 0: exactly those that are needed.
  std::uint32_t dense_from = 0;
  std::uint32_t range = none;  // the number of a range that depends on what was seen before
  std::uint32_t store = none;
};

struct Released {
  enum class Kind : std::uint8_t { value, selection, store };
  Kind kind = Kind::value;
  std::uint32_t id = 0;
};

// A range of a selection that depends on conditions: what it lets pass is known part after part.
struct CountedRange {
  SelectionId selection = 0;
  std::uint32_t parent = none;  // the counted range around it
  std::uint32_t outputs = 0;    // that are behind it and behind no other one below
};

struct Schedule {
  explicit Schedule(const Program& program);

  const Program* program = nullptr;
  std::vector<Step> steps;
  std::vector<std::uint32_t> operands;  // places of values
  std::vector<Released> released;
  std::vector<Narrowing> narrowings;  // those of the program's selections, then inner ones
  std::uint32_t values = 0;           // places for values
  std::uint32_t stores = 0;
  std::vector<std::uint32_t> columns;  // that are read
  std::vector<CountedRange> ranges;    // parents first
  std::uint32_t outputs_without_range = 0;
  bool large_blocks = false;  // for what is dear to call
  // Entries outside of this cannot reach an output.
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  // Rows of all entries before `entry` that are in a selection for which that follows from numbers alone:
  // everything, and ranges of such.
  std::uint64_t count_before(SelectionId selection, std::uint64_t entry) const;
};

}  // namespace colonnade::frame

#endif
