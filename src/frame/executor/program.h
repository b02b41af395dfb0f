// Program: a plan made ready to run - what to compute for which rows, and who takes it.
//
// Selections are the rows that survive. Selection 0 is all entries; every other one narrows its parent: by a
// condition, by a range of those that reach it, or to samples that have certain columns. The same condition
// on the same parent is one selection, however many nodes and variations ask for it. A parent stands before
// its selections.
//
// What no row of a block needs is not evaluated there: nothing behind a selection without rows, no side of
// && || ?: that no row takes. A column that a sample does not have may stand there.
#ifndef COLONNADE_FRAME_EXECUTOR_PROGRAM_H
#define COLONNADE_FRAME_EXECUTOR_PROGRAM_H

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "colonnade/accumulator.h"
#include "frame/expression/expression.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

using SelectionId = std::uint32_t;

struct Selection {
  enum class Kind : std::uint8_t {
    all,
    condition,  // rows where `condition` holds
    range,      // of the rows of the parent, counted over all entries: begin, begin + stride, ... < end
    samples     // rows of the samples that are true in `of_sample`
  };
  Kind kind = Kind::all;
  SelectionId parent = 0;
  ExpressionId condition = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // 0: no end
  std::uint64_t stride = 1;
  // Of a range behind conditions: rows that reach it before Program::first.
  std::uint64_t reached_before = 0;
  std::vector<bool> of_sample;
};

struct Output {
  SelectionId selection = 0;
  std::vector<ExpressionId> arguments;
  std::shared_ptr<Accumulator> accumulator;
};

inline constexpr std::uint32_t usual_large_block_entries = 100'000;

struct Program {
  std::shared_ptr<Source> source;
  std::shared_ptr<const ExpressionPool> pool;
  std::uint64_t first = 0;  // entries of the source that are looked at
  std::uint64_t last = 0;
  // Entries before `first` that ranges count: a stretch of a longer run.
  std::uint64_t left_before = 0;
  // Entries of a block where Python callables, which are dear to call, take part; they see blocks as arrays.
  std::uint32_t large_block_entries = usual_large_block_entries;
  std::vector<Selection> selections;
  std::vector<Output> outputs;
  // "in the definition of 'x', \"a[3]\"": where an expression comes from, for messages; empty if nobody
  // knows. Called by workers.
  std::function<std::string(ExpressionId)> origin;
};

struct PassProgress {
  std::uint64_t entries = 0;  // done
  std::uint64_t total = 0;
  std::uint64_t bytes = 0;  // read from storage
  double seconds = 0;
  std::uint64_t cache_bytes = 0;  // of pages that a cache had
};

inline constexpr std::size_t usual_block_bytes = std::size_t{512} << 20;

// An output of a program of a pass.
struct OutputPlace {
  std::uint32_t program = 0;
  std::uint32_t output = 0;
  friend bool operator==(const OutputPlace&, const OutputPlace&) = default;
};

struct RunOptions {
  unsigned threads = 0;  // 0: one per processor that this process may use
  // Called by the thread that called run(), about ten times a second and at the end; false stops the pass.
  std::function<bool(const PassProgress&)> progress;
  // Bytes that the values of a block may take together; a block that needs more is gone through in halves.
  std::size_t block_bytes = usual_block_bytes;
  // If the pass fails: the outputs that need what failed; none if that is not known.
  std::vector<OutputPlace>* failed = nullptr;
  // Entries of a block; 0: as many as are good for the cache, or Program::large_block_entries. Results of
  // expressions do not depend on it.
  std::uint32_t block_entries = 0;
};

struct StepTotals {
  std::uint64_t rows = 0;       // that something was done for
  std::uint64_t rows_left = 0;  // of a selection
  std::uint64_t bytes = 0;      // of the values that came out
  std::uint64_t nanoseconds = 0;
  StepTotals& operator+=(const StepTotals& more) noexcept {
    rows += more.rows;
    rows_left += more.rows_left;
    bytes += more.bytes;
    nanoseconds += more.nanoseconds;
    return *this;
  }
};

// What was done for one expression, selection or output of a program, summed over blocks and workers.
struct StepCost {
  enum class Kind : std::uint8_t {
    value,      // of an expression: read or computed
    moved,      // the value of an expression, picked for the rows of a selection
    selection,  // of the program; `id` is `inner` for those that no program has
    output
  };
  static constexpr std::uint32_t inner = 0xffffffffu;
  std::uint32_t program = 0;
  Kind kind = Kind::value;
  std::uint32_t id = 0;  // of the expression, the selection or the output
  StepTotals total;
};

// What a pass did.
struct RunReport {
  PassProgress progress;
  ReadMetrics metrics;  // of all workers
  std::uint64_t parts = 0;
  std::uint64_t blocks = 0;
  unsigned threads = 0;  // that were there
  unsigned workers = 0;  // that went through at least one part; all if there are many parts
  std::vector<StepCost> costs;
};

// Goes through the entries of all programs once, in one pool of threads. An exception of any worker ends the
// pass and is thrown here with the entry range, the first one in entry order that was seen; accumulators are
// then in no defined state. Throws ErrorKind::usage ("cancelled") when progress() returned false.
RunReport run(std::span<const Program> programs, const RunOptions& options = {});

}  // namespace colonnade::frame

#endif
