// OrderedAccumulator: a result that must get its fills in entry order.
//
// The part whose turn it is adds to the result directly. Later parts keep their fills until they are merged,
// within a process-wide budget; a part that would exceed it waits for its turn. So the result equals that of
// one thread, for any parts and threads, and there is only one copy of it.
#ifndef COLONNADE_FRAME_RESULTS_TURNS_H
#define COLONNADE_FRAME_RESULTS_TURNS_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "frame/results/kinds.h"
#include "frame/results/memory_budget.h"

namespace colonnade::frame {

// State:
//   State(std::shared_ptr<const Settings>)
//   using Batch                                    fills that wait: clear(), bytes()
//   void compute(Fills&, first, count, Batch&) const   appends fills; only looks at what never changes
//   void apply(const Batch&)
//   ResultValue value() const; save(SavedWriter&) const; merge_saved(SavedReader&)
template <class State, class Settings>
class OrderedAccumulator final : public ResultAccumulator {
 public:
  explicit OrderedAccumulator(std::shared_ptr<const Settings> settings)
      : settings_(std::move(settings)), state_(settings_) {}

  std::unique_ptr<Accumulator> empty_copy() const override {
    return std::make_unique<OrderedAccumulator>(settings_);
  }
  std::unique_ptr<Partial> begin(PartContext& context) override {
    return std::make_unique<PartialFills>(*this, context);
  }
  void merge(std::unique_ptr<Partial> partial) override { static_cast<PartialFills&>(*partial).flush(); }
  ResultValue value() const override {
    const std::lock_guard lock(mutex_);
    return state_.value();
  }
  std::vector<std::byte> save() const override {
    const std::lock_guard lock(mutex_);
    SavedWriter to(settings_->what);
    state_.save(to);
    return to.take();
  }
  void merge_saved(std::span<const std::byte> later) override {
    const std::lock_guard lock(mutex_);
    SavedReader from(later, settings_->what);
    state_.merge_saved(from);
  }

 private:
  using Batch = typename State::Batch;

  class PartialFills final : public Partial {
   public:
    PartialFills(OrderedAccumulator& owner, PartContext& context)
        : owner_(owner), context_(context), share_(MemoryBudget::of_fills()) {}

    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override {
      Fills fills(rows, arguments, owner_.settings_->names);
      for (std::size_t first = 0; first < fills.size(); first += Fills::chunk) {
        const std::size_t count = std::min(Fills::chunk, fills.size() - first);
        // Never while holding the lock: earlier parts need it.
        if (!context_.is_my_turn() && !MemoryBudget::of_fills().fits(Fills::chunk * sizeof(double)))
          context_.wait_for_turn();
        if (context_.is_my_turn()) {
          flush();
          static thread_local Batch direct;
          direct.clear();
          owner_.state_.compute(fills, first, count, direct);
          const std::lock_guard lock(owner_.mutex_);
          owner_.state_.apply(direct);
        } else {
          owner_.state_.compute(fills, first, count, waiting_);
          share_.set(waiting_.bytes());
        }
      }
    }
    void flush() {
      if (waiting_.bytes() == 0) return;
      {
        const std::lock_guard lock(owner_.mutex_);
        owner_.state_.apply(waiting_);
      }
      waiting_ = Batch();
      share_.set(0);
    }

   private:
    OrderedAccumulator& owner_;
    PartContext& context_;
    Batch waiting_;
    MemoryBudget::Share share_;
  };

  std::shared_ptr<const Settings> settings_;
  mutable std::mutex mutex_;
  State state_;
};

// Columns of waiting numbers.
template <std::size_t columns>
struct NumberBatch {
  void clear() {
    for (auto& column : numbers) column.clear();
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& column : numbers) sum += column.capacity() * sizeof(double);
    return sum;
  }
  void append(std::size_t column, const double* from, std::size_t count) {
    numbers[column].insert(numbers[column].end(), from, from + count);
  }
  std::array<std::vector<double>, columns> numbers;
};

}  // namespace colonnade::frame

#endif
