// BlockRunner: executes a Schedule for a worker, block by block.
#ifndef COLONNADE_FRAME_EXECUTOR_BLOCK_H
#define COLONNADE_FRAME_EXECUTOR_BLOCK_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frame/executor/pass.h"
#include "frame/executor/schedule.h"

namespace colonnade::frame {

// One thread.
class BlockRunner {
 public:
  BlockRunner(const Schedule& schedule, const RunOptions& options);

  void start(PartRun& part, Cursor& cursor);
  // The number of entries per block of this part; the last block may have fewer.
  std::uint64_t block_entries() const noexcept { return block_entries_; }
  void run(std::uint64_t first, std::uint64_t count);
  // After an exception: the outputs that need the failed step.
  std::vector<std::uint32_t> failed_outputs() const;
  // " in the definition of ...", or empty.
  std::string failed_origin() const;
  // By step of the schedule, summed over all blocks so far.
  std::span<const StepTotals> costs() const noexcept { return costs_; }

 private:
  // The rows of a selection in this block.
  struct RowSet {
    Rows rows;                                 // size 0 also if the selection was not evaluated
    const std::uint32_t* in_parent = nullptr;  // positions among the parent's rows; null: the same rows
    std::uint32_t* places = nullptr;           // from entries of the block to rows, once needed
    std::shared_ptr<void> owners[3];           // of the arrays above and of rows.indices
  };
  // The values of an expression computed so far in this block, for any rows.
  struct Store {
    ValuesPtr values;
    std::uint32_t* places = nullptr;  // from entries of the block to values; `none` if there is no value
    std::shared_ptr<void> owner;
  };

  void run_piece(std::uint64_t first, std::uint64_t count, std::size_t outputs_done);
  void go_through();
  void note(const Step& step, StepTotals& cost) const noexcept;
  void drop_values() noexcept;
  [[noreturn]] void fail_too_large(const Step& step) const;
  void release(const Step& step);
  ValuesPtr evaluate(const Step& step);
  const ValuesPtr& operand(const Step& step, std::uint32_t i) const {
    return values_[schedule_->operands[step.first_operand + i]];
  }
  std::span<const ValuesPtr> operands(const Step& step);

  ValuesPtr constant(const Step& step, std::size_t size);
  ValuesPtr read(const Expression& expression, const Rows& rows);
  ValuesPtr entries(const Rows& rows);
  ValuesPtr sample_name(std::size_t size);
  ValuesPtr call(const Step& step, const Expression& expression, const Rows& rows);
  ValuesPtr logical(const Step& step, const Rows& rows);
  ValuesPtr choose_side(const Step& step, const Rows& rows);
  ValuesPtr gather_from(const Step& step);
  ValuesPtr recall(const Step& step, const Rows& rows);
  void output(const Step& step);

  void narrow(const Step& step);
  void narrow_by_condition(const Narrowing& narrowing, const Values& condition, const RowSet& parent,
                           RowSet& child);
  void narrow_to_range(const Step& step, const Narrowing& narrowing, const RowSet& parent, RowSet& child);
  void narrow_to_missing(const Narrowing& narrowing, const RowSet& parent, RowSet& child);
  void take_all(const RowSet& parent, RowSet& child);
  // `positions` among the parent's rows.
  void take(const RowSet& parent, const std::uint32_t* positions, std::shared_ptr<void> owner,
            std::size_t count, RowSet& child);
  const std::uint32_t* places(RowSet& set);
  void put(Store& store, const Rows& rows, const ValuesPtr& values);
  std::uint64_t block_entries_of_part() const;

  const Schedule* schedule_;
  const ExpressionPool* pool_;
  BlockMemory memory_;
  std::vector<ValuesPtr> values_;
  std::vector<RowSet> sets_;
  std::vector<Store> stores_;
  std::vector<ValuesPtr> arguments_;
  std::vector<ValuesPtr> constants_;  // by step, with the size used last
  PartRun* part_ = nullptr;
  Cursor* cursor_ = nullptr;
  std::uint64_t first_ = 0;  // of the block
  std::size_t count_ = 0;
  std::uint64_t block_entries_ = 0;
  const RunOptions* options_;
  std::size_t at_ = 0;              // the running step
  std::size_t outputs_done_ = 0;    // steps before this one have fed their outputs already
  std::vector<std::size_t> bytes_;  // by value, as allocated for it
  std::size_t held_ = 0;            // their sum
  std::vector<StepTotals> costs_;   // by step
};

}  // namespace colonnade::frame

#endif
