// Accumulators: the state of a DataFrame's result while it is computed.
//
// A pass splits the entries into parts that do not depend on the number of threads. For every part that
// has rows for the result, the accumulator makes a Partial, which one worker fills block by block; the
// partials are merged in entry order, one at a time. So the result has the same bits on any number of
// threads.
//
//   begin(part 0) -> add, add, ... -> merge --.
//   begin(part 1) -> add, add, ... ---------- merge --.
//   begin(part 2) -> add, ... ------------------------ merge -> value
//
// An accumulator can be saved, sent, and merged behind another one that holds the earlier entries.
#ifndef COLONNADE_ACCUMULATOR_H
#define COLONNADE_ACCUMULATOR_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "colonnade/block.h"

namespace colonnade {

// A part of the entries, and a way to wait until all earlier parts are merged.
class PartContext {
 public:
  virtual ~PartContext() = default;
  std::uint64_t first = 0;  // entries [first, last) of the source
  std::uint64_t last = 0;
  unsigned slot = 0;
  unsigned sample = 0;
  std::uint64_t number = 0;  // index among all parts of the source; the same in every pass and process

  // True once all earlier parts are merged: the partial may then add to its accumulator directly.
  virtual bool is_my_turn() const noexcept = 0;
  // Blocks until is_my_turn(), for partials that would need too much memory. Throws if the pass
  // ends.
  virtual void wait_for_turn() = 0;
};

class Partial {
 public:
  virtual ~Partial() = default;
  // Adds the argument values of the rows that passed the filters; not called for a block without such rows.
  // One thread at a time.
  virtual void add(const Rows& rows, std::span<const ValuesPtr> arguments) = 0;
};

class Accumulator {
 public:
  virtual ~Accumulator() = default;
  // Returns a new, empty accumulator of the same result, for a repeated pass, a variation or another worker.
  virtual std::unique_ptr<Accumulator> empty_copy() const = 0;
  // True if add() is expensive, so that blocks should be large. Their borders follow from the part either
  // way.
  virtual bool takes_large_blocks() const noexcept { return false; }
  // Rows after that many do not change the result: a pass may leave them out.
  virtual std::uint64_t most_rows() const noexcept { return std::numeric_limits<std::uint64_t>::max(); }
  // Called by any worker. The context stays until the partial is merged or dropped.
  virtual std::unique_ptr<Partial> begin(PartContext& context) = 0;
  // Called in entry order, one call at a time.
  virtual void merge(std::unique_ptr<Partial> partial) = 0;
  // Called once, after the last merge of a pass that succeeded: Snapshot commits here. May throw.
  virtual void finish() {}

  // save() returns the state as bytes; merge_saved() adds such a state, which must cover later entries.
  // Accumulators made of C++ lambdas that cannot be saved throw ErrorKind::unsupported.
  virtual std::vector<std::byte> save() const = 0;
  virtual void merge_saved(std::span<const std::byte> later) = 0;

  // Results with many bins are saved in slices of about `bytes` bytes; the slices depend on the model alone.
  // merge_saved() takes the slices of a state one by one, in any order. Slice i of a merged state is what
  // save_slice(i) returns after slice i of each state was merged.
  virtual std::uint64_t slices(std::uint64_t /*bytes*/) const { return 1; }
  virtual std::vector<std::byte> save_slice(std::uint64_t /*slice*/, std::uint64_t /*of*/) const {
    return save();
  }
};

}  // namespace colonnade

#endif
