// Accumulators made from the user's functions and objects. Part of colonnade/dataframe.h.
#ifndef COLONNADE_DETAIL_FRAME_ACCUMULATORS_H
#define COLONNADE_DETAIL_FRAME_ACCUMULATORS_H

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "colonnade/accumulator.h"
#include "colonnade/detail/frame_call.h"
#include "colonnade/detail/merge_tree.h"
#include "colonnade/error.h"

namespace colonnade::detail {

// Accumulators of the user's functions cannot be saved.
class LocalAccumulator : public Accumulator {
 public:
  std::vector<std::byte> save() const override { unsupported(); }
  void merge_saved(std::span<const std::byte> /*later*/) override { unsupported(); }

 private:
  [[noreturn]] static void unsupported() {
    throw Error(ErrorKind::unsupported, "a result of C++ functions cannot be sent to another process",
                "book an accumulator of your own with save() and merge_saved()");
  }
};

// A state that every row changes and that can be merged: one per part, which starts as a copy of the initial
// one. The merge order depends on the numbers of the parts alone, see merge_tree.h.
//   add(state, x, ...)  merge(state, later state)
template <class State, class Add, class Merge, class... A>
class StateAccumulator final : public LocalAccumulator {
 public:
  StateAccumulator(State initial, Add add, Merge merge, std::vector<KernelPtr> conversions)
      : plan_(std::make_shared<const Plan>(
            Plan{std::move(initial), std::move(add), std::move(merge), std::move(conversions)})),
        value_(plan_->initial) {}

  const State& value() const noexcept { return value_; }

  std::unique_ptr<Accumulator> empty_copy() const override {
    return std::unique_ptr<Accumulator>(new StateAccumulator(plan_));
  }
  std::unique_ptr<Partial> begin(PartContext& context) override {
    return std::make_unique<PartialState>(plan_, context);
  }
  void merge(std::unique_ptr<Partial> partial) override {
    auto& part = static_cast<PartialState&>(*partial);
    parts_.add(part.number, std::move(part.state), merger());
  }
  void finish() override {
    auto total = parts_.total(merger(), std::identity{});
    value_ = total ? std::move(*total) : plan_->initial;
  }

 private:
  struct Plan {
    State initial;
    Add add;
    Merge merge;
    std::vector<KernelPtr> conversions;
  };
  struct PartialState final : Partial {
    PartialState(std::shared_ptr<const Plan> of, const PartContext& context)
        : plan(std::move(of)),
          state(plan->initial),
          number(context.number),
          slot(context.slot),
          sample(context.sample) {}
    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override {
      CallArguments<A...> readers({memory, rows, slot, sample}, arguments, plan->conversions);
      for (std::size_t row = 0; row < rows.size; ++row) readers.call_with(plan->add, state, row);
    }
    std::shared_ptr<const Plan> plan;
    State state;
    BlockMemory memory;
    std::uint64_t number;
    unsigned slot, sample;
  };
  auto merger() const {
    return [this](State state, const State& later) {
      plan_->merge(state, later);
      return state;
    };
  }
  explicit StateAccumulator(std::shared_ptr<const Plan> plan)
      : plan_(std::move(plan)), value_(plan_->initial) {}

  std::shared_ptr<const Plan> plan_;
  MergeTree<State> parts_;
  State value_;
};

// Calls a function for every row: one row after the other if `in_order`, else on all threads at once.
template <class F, class... A>
class EachAccumulator final : public LocalAccumulator {
 public:
  EachAccumulator(F function, std::vector<KernelPtr> conversions, bool in_order)
      : plan_(std::make_shared<const Plan>(Plan{std::move(function), std::move(conversions), in_order})) {}

  std::unique_ptr<Accumulator> empty_copy() const override {
    return std::unique_ptr<Accumulator>(new EachAccumulator(plan_));
  }
  std::unique_ptr<Partial> begin(PartContext& context) override {
    return std::make_unique<PartialState>(plan_, context);
  }
  void merge(std::unique_ptr<Partial> /*partial*/) override {}

 private:
  struct Plan {
    F function;
    std::vector<KernelPtr> conversions;
    bool in_order;
  };
  struct PartialState final : Partial {
    PartialState(std::shared_ptr<const Plan> of, PartContext& part) : plan(std::move(of)), context(part) {}
    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override {
      CallArguments<A...> readers({memory, rows, context.slot, context.sample}, arguments, plan->conversions);
      if (plan->in_order) context.wait_for_turn();
      for (std::size_t row = 0; row < rows.size; ++row) readers.call(plan->function, row);
    }
    std::shared_ptr<const Plan> plan;
    PartContext& context;
    BlockMemory memory;
  };
  explicit EachAccumulator(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  std::shared_ptr<const Plan> plan_;
};

}  // namespace colonnade::detail

#endif
