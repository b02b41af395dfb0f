// Program: a compiled plan - what to compute for which rows, and the outputs that take it.
//
// Selections are sets of rows. Selection 0 is all entries; every other one narrows its parent: by a
// condition, by a range of the rows that reach it, or to samples that have certain columns. The same
// condition on the same parent is one selection, however many nodes and variations use it. A parent precedes
// its selections.
//
// Nothing is evaluated that no row of a block needs: neither expressions behind an empty selection, nor sides
// of && || ?: that no row takes. They may refer to columns that a sample lacks.
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

class KeptCursors;

struct Selection {
  enum class Kind : std::uint8_t {
    all,
    condition,  // rows where `condition` holds
    range,      // counted among the parent's rows over all entries: begin, begin + stride, ... < end
    samples     // rows of the samples marked in `of_sample`
  };
  Kind kind = Kind::all;
  SelectionId parent = 0;
  ExpressionId condition = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // 0: no end
  std::uint64_t stride = 1;
  // For a range behind conditions: the rows that reach it before Program::first.
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
  std::uint64_t first = 0;  // the entries of the source to process
  std::uint64_t last = 0;
  // The number of earlier entries that ranges count, if this is part of a longer run.
  std::uint64_t left_before = 0;
  // Entries per block if Python callables, whose calls are expensive, take part; they see blocks as arrays.
  std::uint32_t large_block_entries = usual_large_block_entries;
  std::vector<Selection> selections;
  std::vector<Output> outputs;
  // "in the definition of 'x', \"a[3]\"": the origin of an expression, for messages; empty if unknown. Called
  // by workers.
  std::function<std::string(ExpressionId)> origin;
};

struct PassProgress {
  std::uint64_t entries = 0;  // done
  std::uint64_t total = 0;
  std::uint64_t bytes = 0;  // read from storage
  double seconds = 0;
  std::uint64_t cache_bytes = 0;  // of pages that came from a cache
};

inline constexpr std::size_t usual_block_bytes = std::size_t{512} << 20;

// An output of one of the programs of a pass.
struct OutputId {
  std::uint32_t program = 0;
  std::uint32_t output = 0;
  friend bool operator==(const OutputId&, const OutputId&) = default;
};

struct RunOptions {
  unsigned threads = 0;  // 0: one per processor that this process may use
  // Called by the thread that called run(), ten times a second and at the end; false stops the
  // pass.
  std::function<bool(const PassProgress&)> progress;
  // The maximum bytes of all values of a block; a block that needs more is processed in halves.
  std::size_t block_bytes = usual_block_bytes;
  // If the pass fails: the outputs that need the failed step; empty if unknown.
  std::vector<OutputId>* failed = nullptr;
  // Entries per block; 0: as many as suit the cache, or Program::large_block_entries. The results of
  // expressions do not depend on it.
  std::uint32_t block_entries = 0;
  // Of passes of one program over consecutive entries; null: none follows.
  KeptCursors* cursors = nullptr;
};

struct StepTotals {
  std::uint64_t rows = 0;       // rows processed
  std::uint64_t rows_left = 0;  // rows of a selection
  std::uint64_t bytes = 0;      // bytes of the resulting values
  std::uint64_t nanoseconds = 0;
  StepTotals& operator+=(const StepTotals& more) noexcept {
    rows += more.rows;
    rows_left += more.rows_left;
    bytes += more.bytes;
    nanoseconds += more.nanoseconds;
    return *this;
  }
};

// The cost of one expression, selection or output of a program, summed over blocks and workers.
struct StepCost {
  enum class Kind : std::uint8_t {
    value,      // of an expression: read or computed
    moved,      // the value of an expression, gathered for the rows of a selection
    selection,  // of the program; `id` is `inner` for inner selections
    output
  };
  static constexpr std::uint32_t inner = 0xffffffffu;
  std::uint32_t program = 0;
  Kind kind = Kind::value;
  std::uint32_t id = 0;  // of the expression, the selection or the output
  StepTotals total;
};

// The statistics of a pass.
struct RunReport {
  PassProgress progress;
  ReadMetrics metrics;  // of all workers; of cursors that are kept since they were opened
  std::uint64_t parts = 0;
  std::uint64_t blocks = 0;
  unsigned threads = 0;  // available threads
  unsigned workers = 0;  // threads that processed at least one part
  std::vector<StepCost> costs;
};

// Processes the entries of all programs once, in one pool of threads. An exception of a worker ends the pass
// and is rethrown here with the entry range, the first one seen in entry order; accumulators are then in an
// undefined state. Throws ErrorKind::usage ("cancelled") after progress() returned false.
RunReport run(std::span<const Program> programs, const RunOptions& options = {});

}  // namespace colonnade::frame

#endif
