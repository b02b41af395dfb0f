// The kinds of results: one maker per kind, and common parts.
#ifndef COLONNADE_FRAME_RESULTS_KINDS_H
#define COLONNADE_FRAME_RESULTS_KINDS_H

#include <memory>
#include <span>
#include <utility>

#include "frame/results/fills.h"
#include "frame/results/options.h"
#include "frame/results/result.h"
#include "frame/results/saved.h"

namespace colonnade::frame {

// The arguments of a maker: options are parsed, but not checked yet.
struct Request {
  const ResultSpec& spec;
  std::span<const ValueType> types;
  const Options& options;
  std::span<const StoredField> stored;  // of each argument, or empty
};
using Maker = std::unique_ptr<ResultAccumulator> (*)(const Request&);

std::unique_ptr<ResultAccumulator> make_count(const Request& request);
std::unique_ptr<ResultAccumulator> make_sum(const Request& request);
std::unique_ptr<ResultAccumulator> make_min(const Request& request);
std::unique_ptr<ResultAccumulator> make_max(const Request& request);
std::unique_ptr<ResultAccumulator> make_mean(const Request& request);
std::unique_ptr<ResultAccumulator> make_stddev(const Request& request);
std::unique_ptr<ResultAccumulator> make_stats(const Request& request);
std::unique_ptr<ResultAccumulator> make_histogram(const Request& request);
std::unique_ptr<ResultAccumulator> make_profile(const Request& request);
std::unique_ptr<ResultAccumulator> make_graph(const Request& request);
std::unique_ptr<ResultAccumulator> make_take(const Request& request);
std::unique_ptr<ResultAccumulator> make_display(const Request& request);
std::unique_ptr<ResultAccumulator> make_snapshot(const Request& request);

// The option "names", or the texts of the arguments.
std::vector<std::string> names_of(const Request& request);

// An accumulator whose parts have a small State each:
//
//   State(std::shared_ptr<const Settings>)
//   void add(const Rows&, std::span<const ValuesPtr>)
//   void merge(const State&)                               the state of later entries
//   ResultValue value() const
//   void save(SavedWriter&) const, void load(SavedReader&) into a new one
//   Settings::what                                         a text: what can be merged
template <class State, class Settings>
class StateAccumulator final : public ResultAccumulator {
 public:
  explicit StateAccumulator(std::shared_ptr<const Settings> settings)
      : settings_(std::move(settings)), state_(settings_) {}

  std::unique_ptr<Accumulator> empty_copy() const override {
    return std::make_unique<StateAccumulator>(settings_);
  }
  std::unique_ptr<Partial> begin(PartContext&) override { return std::make_unique<PartialState>(settings_); }
  void merge(std::unique_ptr<Partial> partial) override {
    state_.merge(static_cast<const PartialState&>(*partial).state);
  }
  ResultValue value() const override { return state_.value(); }
  std::vector<std::byte> save() const override {
    SavedWriter to(settings_->what);
    state_.save(to);
    return to.take();
  }
  void merge_saved(std::span<const std::byte> later) override {
    SavedReader from(later, settings_->what);
    State state(settings_);
    state.load(from);
    from.done();
    state_.merge(state);
  }

 private:
  struct PartialState final : Partial {
    explicit PartialState(std::shared_ptr<const Settings> settings) : state(std::move(settings)) {}
    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override { state.add(rows, arguments); }
    State state;
  };
  std::shared_ptr<const Settings> settings_;
  State state_;
};

}  // namespace colonnade::frame

#endif
