// Accumulators: what a result of a DataFrame is while it is being computed.
//
// A pass splits the entries into parts that do not depend on the number of threads. For every part from which
// rows reach it an accumulator makes a Partial, which one worker fills block by block; finished partials are
// merged in entry order, one at a time. So the result is the same, bit for bit, whoever computed which part.
//
//   begin(part 0) -> add, add, ... -> merge --.
//   begin(part 1) -> add, add, ... ---------- merge --.
//   begin(part 2) -> add, ... ------------------------ merge -> value
//
// An accumulator can be saved, sent, and merged behind another one that holds the entries before.
#ifndef COLONNADE_ACCUMULATOR_H
#define COLONNADE_ACCUMULATOR_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "colonnade/block.h"

namespace colonnade {

// A part of the work, and the means to wait until all parts before it are merged.
class PartContext {
 public:
  virtual ~PartContext() = default;
  std::uint64_t first = 0;  // entries [first, last) of the source
  std::uint64_t last = 0;
  unsigned slot = 0;
  unsigned sample = 0;
  std::uint64_t number = 0;  // among all parts of the source; the same one in every pass and process

  // Are all parts before this one merged? Then the partial may add to its accumulator directly.
  virtual bool is_my_turn() const noexcept = 0;
  // Blocks until that is so. For partials that would need too much memory otherwise. Throws if the pass ends.
  virtual void wait_for_turn() = 0;
};

class Partial {
 public:
  virtual ~Partial() = default;
  // The values of the result's arguments for the rows that reached it; no call for a block without any.
  // One thread at a time.
  virtual void add(const Rows& rows, std::span<const ValuesPtr> arguments) = 0;
};

class Accumulator {
 public:
  virtual ~Accumulator() = default;
  // A new, empty accumulator of the same result: for a repeated pass, for a variation, for another worker.
  virtual std::unique_ptr<Accumulator> empty_copy() const = 0;
  // Should blocks be large, as adding one is dear? Their borders follow from the part either way.
  virtual bool takes_large_blocks() const noexcept { return false; }
  // Called by any worker. The context stays until the partial is merged or dropped.
  virtual std::unique_ptr<Partial> begin(PartContext& context) = 0;
  // In entry order, one call at a time.
  virtual void merge(std::unique_ptr<Partial> partial) = 0;
  // Once, after the last merge of a pass that went well: Snapshot commits here. May throw.
  virtual void finish() {}

  // The state as bytes, and the state of one that saw the entries behind those of this one. Accumulators of
  // C++ lambdas without a way to do so throw ErrorKind::unsupported.
  virtual std::vector<std::byte> save() const = 0;
  virtual void merge_saved(std::span<const std::byte> later) = 0;

  // Results of many bins are saved in slices of about so many bytes, which follow from the model alone.
  // merge_saved() takes the slices of a state one by one, in any order; a slice of several states is the
  // one that save_slice() gives of an accumulator that merged the same slice of each.
  virtual std::uint64_t slices(std::uint64_t /*bytes*/) const { return 1; }
  virtual std::vector<std::byte> save_slice(std::uint64_t /*slice*/, std::uint64_t /*of*/) const {
    return save();
  }
};

}  // namespace colonnade

#endif
