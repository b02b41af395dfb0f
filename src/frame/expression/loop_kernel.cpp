// See loop_kernel.h.
#include "frame/expression/loop_kernel.h"

#include <numeric>
#include <utility>

#include "base/interruption.h"
#include "colonnade/error.h"
#include "frame/expression/body_run.h"
#include "frame/expression/flat_program.h"
#include "frame/expression/flat_run.h"
#include "frame/expression/members.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

// The rows of a block on their way through a loop.
class LoopRun {
 public:
  LoopRun(const LoopBody& body, const CallContext& context, std::span<const ValuesPtr> arguments)
      : body_(body),
        context_(context),
        variables_(body.members.size() - (body.returns ? 2 : 0)),
        rows_(context.rows.size),
        inputs_(arguments.begin(), arguments.end()) {
    std::iota(rows_.begin(), rows_.end(), std::uint32_t{0});
  }

  std::vector<ValuesPtr> run() {
    while (!rows_.empty()) {
      Interruption::check_now_and_then();
      const std::size_t room = context_.memory.left();
      memory_.limit(room);
      try {
        turn();
      } catch (const Error&) {
        // A block that is too large is run in halves, which the memory of the block must know.
        if (memory_.is_exhausted() && room != ~std::size_t{0})
          static_cast<void>(context_.memory.allocate(room + 1));
        throw;
      }
    }
    return members();
  }

 private:
  // Rows whose loop has ended in the same way, and their part of the result.
  struct Ended {
    std::vector<std::uint32_t> rows;
    std::vector<ValuesPtr> members;
  };

  void turn() {
    entries_.resize(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i)
      entries_[i] = static_cast<std::uint32_t>(context_.rows.entry(rows_[i]) - context_.rows.first);
    const Rows entries{context_.rows.first, rows_.size(), entries_.data()};
    const CallContext context{memory_, entries, context_.slot, context_.sample};
    BodyRun run(*body_.pool, context, std::move(inputs_));
    ItemSet all = run.all(entries);
    ItemSet in_time, staying, again;
    ItemSet* set = &all;
    if (body_.condition && !body_.condition_comes_last)
      set = split(run, *body_.condition, false, *set, in_time,
                  [&](ItemSet& ended) { end(run, ended, body_.inputs, false); });
    if (body_.leaves)
      set = split(run, *body_.leaves, true, *set, staying,
                  [&](ItemSet& ended) { end(run, ended, body_.left, true); });
    if (body_.condition_comes_last)
      set = split(run, *body_.condition, false, *set, again,
                  [&](ItemSet& ended) { end(run, ended, body_.next, false); });
    prepare_next(run, *set, set == &all);
  }

  // Ends the loop of the rows where the condition is as given. Returns the others, in `rest` unless they are
  // all.
  template <class End>
  ItemSet* split(BodyRun& run, ExpressionId condition, bool ends, ItemSet& set, ItemSet& rest, End end) {
    if (set.rows.size == 0) return &set;
    const ValuesPtr holds = run.value(condition, set);
    ItemSet ended = run.where(*holds, ends, set);
    if (ended.rows.size == 0) return &set;
    end(ended);
    rest = run.where(*holds, !ends, set);
    return &rest;
  }

  void end(BodyRun& run, ItemSet& set, std::span<const ExpressionId> variables, bool may_return) {
    Ended ended;
    ended.rows = rows_of(set);
    for (std::size_t i = 0; i < variables_; ++i) ended.members.push_back(run.value(variables[i], set));
    if (body_.returns) {
      const ValuesPtr nothing = repeat(zero_of((*body_.pool)[*body_.value].type), set.rows.size);
      if (may_return) {
        const ValuesPtr returned = run.value(*body_.returns, set);
        ItemSet with_value = run.where(*returned, true, set);
        ended.members.push_back(returned);
        ended.members.push_back(
            with_value.rows.size == 0
                ? nothing
                : combine(set.rows.size, with_value.places, run.value(*body_.value, with_value),
                          repeat(nothing, set.rows.size - with_value.rows.size), memory_));
      } else {
        ended.members.push_back(make_constant(set.rows.size, false));
        ended.members.push_back(nothing);
      }
    }
    ended_.push_back(std::move(ended));
  }

  std::vector<std::uint32_t> rows_of(const ItemSet& set) const {
    if (set.from == nullptr) return rows_;
    std::vector<std::uint32_t> rows = rows_of(*set.from);
    std::vector<std::uint32_t> at_places;
    at_places.reserve(set.places.size());
    for (const std::uint32_t place : set.places) at_places.push_back(rows[place]);
    return at_places;
  }

  void prepare_next(BodyRun& run, ItemSet& set, bool is_all) {
    std::vector<ValuesPtr> inputs;
    if (set.rows.size != 0) {
      for (std::size_t i = 0; i < body_.inputs.size(); ++i)
        inputs.push_back(run.value(i < variables_ ? body_.next[i] : body_.inputs[i], set));
    }
    if (!is_all) rows_ = rows_of(set);
    inputs_ = std::move(inputs);
  }

  // In the order of the rows.
  std::vector<ValuesPtr> members() {
    std::vector<std::uint32_t> place_of_row(context_.rows.size);
    std::uint32_t place = 0;
    for (const Ended& ended : ended_)
      for (const std::uint32_t row : ended.rows) place_of_row[row] = place++;
    std::vector<ValuesPtr> whole;
    for (std::size_t i = 0; i < body_.members.size(); ++i) {
      std::vector<ValuesPtr> pieces;
      for (const Ended& ended : ended_) pieces.push_back(ended.members[i]);
      const ValuesPtr joined = pieces.size() == 1 ? pieces.front() : concatenate(pieces, memory_);
      whole.push_back(gather(joined, std::span<const std::uint32_t>(place_of_row), context_.memory));
    }
    return whole;
  }

  const LoopBody& body_;
  const CallContext& context_;
  BlockMemory memory_;  // what a turn has used serves later ones
  std::size_t variables_;
  std::vector<std::uint32_t> rows_;     // that take the next turn
  std::vector<std::uint32_t> entries_;  // where they are
  std::vector<ValuesPtr> inputs_;
  std::vector<Ended> ended_;
};

class LoopKernel final : public Kernel {
 public:
  explicit LoopKernel(LoopBody body) : body_(std::move(body)), flat_(flatten(body_)) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    return make_record(
        result_, context.rows.size,
        flat_ != nullptr ? run_flat(*flat_, context, arguments) : LoopRun(body_, context, arguments).run());
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return "loop " + body_.text; }
  // It may take long, or even never end.
  bool only_where_needed() const noexcept override { return true; }
  bool takes_large_blocks() const noexcept override { return large_blocks_; }
  bool foldable() const noexcept override { return false; }
  const std::shared_ptr<const FlatProgram>& flat() const noexcept { return flat_; }

 private:
  LoopBody body_;
  std::shared_ptr<const FlatProgram> flat_;
  ValueType result_ = ValueType::record("", body_.members);
  bool large_blocks_ = any_of(*body_.pool, [](const Expression& each) {
    return each.kernel != nullptr && each.kernel->takes_large_blocks();
  });
};

}  // namespace

std::shared_ptr<const FlatProgram> flat_loop(const Kernel& kernel) {
  const auto* const loop = dynamic_cast<const LoopKernel*>(&kernel);
  return loop != nullptr ? loop->flat() : nullptr;
}

KernelPtr loop_kernel(LoopBody body) {
  return std::make_shared<LoopKernel>(std::move(body));
}

}  // namespace colonnade::frame
