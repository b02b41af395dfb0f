// SummedHistogram: a histogram whose bins are exact sums, filled by any number of threads in any order.
//
// Threads add to stores of their own as far as memory permits (shared_stores.h). The store defines the
// bins: those of the model (histogram.cpp), or of a grid that follows the values
// (automatic_histogram.cpp).
#ifndef COLONNADE_FRAME_RESULTS_SUMMED_HISTOGRAM_H
#define COLONNADE_FRAME_RESULTS_SUMMED_HISTOGRAM_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "frame/results/fills.h"
#include "frame/results/histogram.h"
#include "frame/results/moments.h"
#include "frame/results/shared_stores.h"

namespace colonnade::frame {

// Store:
//   Store(std::shared_ptr<const HistogramSettings>); empty_copy(), bytes(), add(Store&&)
//   find(column, count, bins)            as Binning's
//   put(bins, count, weights)
//   set(HistogramValue&) const           bins and what is in them
//   slices(bytes) const, save(SavedWriter&, slice, of) const; load(SavedReader&), into an empty one
//   inner_sums() const, if it can tell the sums of weights in range, and of their squares
template <class Store>
class SummedHistogram final : public ResultAccumulator {
 public:
  explicit SummedHistogram(std::shared_ptr<const HistogramSettings> settings)
      : settings_(std::move(settings)),
        moments_(settings_->binning.axes().size()),
        stores_(Store(settings_), Store(settings_).bytes()) {}

  std::unique_ptr<Accumulator> empty_copy() const override {
    return std::make_unique<SummedHistogram>(settings_);
  }
  std::unique_ptr<Partial> begin(PartContext& context) override {
    return std::make_unique<PartialFills>(*this, context.slot);
  }
  void merge(std::unique_ptr<Partial> partial) override {
    const auto& part = static_cast<const PartialFills&>(*partial);
    const std::lock_guard lock(mutex_);
    moments_.add(part.moments);
    entries_ += part.entries;
  }

  ResultValue value() const override {
    HistogramValue value;
    value.name = settings_->name;
    value.title = settings_->title;
    value.weighted = settings_->weighted;
    const std::lock_guard lock(mutex_);
    value.entries = entries_;
    stores_.with_total([&](const Store& store) {
      store.set(value);
      if constexpr (has_inner_sums) {
        const auto [weights, squares] = store.inner_sums();
        value.moments = moments_.total(weights, squares);
      } else {
        value.moments = moments_.total();
      }
    });
    return value;
  }
  std::vector<std::byte> save() const override { return save_slice(0, 1); }
  std::uint64_t slices(std::uint64_t bytes) const override { return Store(settings_).slices(bytes); }
  std::vector<std::byte> save_slice(std::uint64_t slice, std::uint64_t of) const override {
    const std::lock_guard lock(mutex_);
    SavedWriter to(settings_->what);
    to.number(slice == 0 ? entries_ : 0);
    stores_.with_total([&](const Store& store) { store.save(to, slice, of); });
    moments_.save_in(slice, to);
    return to.take();
  }
  void merge_saved(std::span<const std::byte> other) override {
    SavedReader from(other, settings_->what);
    const auto entries = from.number<std::uint64_t>();
    Store store(settings_);
    store.load(from);
    MomentSums moments(settings_->binning.axes().size());
    moments.load(from);
    from.done();
    const std::lock_guard lock(mutex_);
    entries_ += entries;
    stores_.with_total([&](Store& total) { total.add(std::move(store)); });
    moments_.add(moments);
  }

 private:
  static constexpr bool has_inner_sums = requires(const Store& store) { store.inner_sums(); };

  struct PartialFills final : Partial {
    PartialFills(SummedHistogram& of, unsigned in_slot)
        : owner(of), slot(in_slot), moments(of.settings_->binning.axes().size()) {}

    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override {
      const Binning& binning = owner.settings_->binning;
      Fills fills(rows, arguments, owner.settings_->names);
      const typename SharedStores<Store>::Lease lease(owner.stores_, slot);
      Store& store = *lease;
      for (std::size_t first = 0; first < fills.size(); first += Fills::chunk) {
        const std::size_t count = std::min(Fills::chunk, fills.size() - first);
        std::uint32_t* bins = Fills::bin_scratch();
        const auto column = [&](std::size_t axis) {
          const double* values = fills.column(axis, first, count, Fills::scratch(0));
          moments.add_coordinates(binning, axis, values, count);
          return values;
        };
        store.find(column, count, bins);
        const double* weights = owner.settings_->weighted
                                    ? fills.column(binning.axes().size(), first, count, Fills::scratch(1))
                                    : ones().data();
        if constexpr (has_inner_sums)
          moments.add_weighted(weights, count);
        else
          moments.add_weights(weights, count);
        store.put(bins, count, weights);
      }
      entries += fills.size();
    }

    SummedHistogram& owner;
    unsigned slot;
    std::uint64_t entries = 0;
    MomentSums moments;
  };

  static const std::array<double, Fills::chunk>& ones() {
    static const auto made = [] {
      std::array<double, Fills::chunk> values{};
      values.fill(1);
      return values;
    }();
    return made;
  }

  std::shared_ptr<const HistogramSettings> settings_;
  mutable std::mutex mutex_;  // for results merged part by part
  std::uint64_t entries_ = 0;
  MomentSums moments_;
  mutable SharedStores<Store> stores_;
};

}  // namespace colonnade::frame

#endif
