// Histograms of any number of dimensions.
//
// Fills may be added in any order. Unweighted ones are counts, of which there is one set per histogram: a
// thread finds the bins of a chunk of values and adds them under the histogram's lock, or keeps them for
// later if another thread has it. Weighted ones go to exact sums (exact_cells.h), in a few copies if several
// threads have some at the same time (shared_stores.h). Moments are exact sums as well, one set for each part
// on its way. Histograms that take their range from the values: automatic_histogram.cpp.
#include "frame/results/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "colonnade/error.h"
#include "frame/results/cells.h"
#include "frame/results/exact_cells.h"
#include "frame/results/moments.h"
#include "frame/results/shared_stores.h"

namespace colonnade::frame {
namespace {

// ---- Unweighted

class CountedHistogram final : public ResultAccumulator {
 public:
  explicit CountedHistogram(std::shared_ptr<const HistogramSettings> settings)
      : settings_(std::move(settings)),
        counts_(settings_->binning.cells()),
        moments_(settings_->binning.axes().size()) {}

  std::unique_ptr<Accumulator> empty_copy() const override {
    return std::make_unique<CountedHistogram>(settings_);
  }
  std::unique_ptr<Partial> begin(PartContext&) override { return std::make_unique<Part>(*this); }
  void merge(std::unique_ptr<Partial> partial) override {
    auto& part = static_cast<Part&>(*partial);
    part.flush();
    const std::lock_guard lock(mutex_);
    moments_.add(part.moments());
  }

  ResultValue value() const override {
    const std::lock_guard lock(mutex_);
    HistogramValue value = settings_->value();
    value.entries = counts_.entries();
    value.values.resize(counts_.size());
    std::uint64_t inside = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const std::uint64_t count = counts_.at(i);
      value.values[i] = static_cast<double>(count);
      if (count != 0 && settings_->binning.is_inner(static_cast<std::uint32_t>(i))) inside += count;
    }
    value.moments = moments_.total();
    value.moments.sum_w = value.moments.sum_w2 = static_cast<double>(inside);
    return value;
  }

  std::vector<std::byte> save() const override {
    const std::lock_guard lock(mutex_);
    SavedWriter to(settings_->what);
    to.number(counts_.entries());
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) used += counts_.at(i) != 0 ? 1 : 0;
    to.number(used);
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_.at(i) == 0) continue;
      to.number(static_cast<std::uint32_t>(i));
      to.number(counts_.at(i));
    }
    moments_.save(to);
    return to.take();
  }
  void merge_saved(std::span<const std::byte> later) override {
    SavedReader from(later, settings_->what);
    const auto entries = from.number<std::uint64_t>();
    const auto used = from.number<std::uint64_t>();
    if (used > counts_.size()) SavedReader::fail("more bins than there are");
    std::vector<std::pair<std::uint32_t, std::uint64_t>> counts;
    std::uint64_t left = entries;
    for (std::uint64_t i = 0; i < used; ++i) {
      const auto bin = from.number<std::uint32_t>();
      const auto count = from.number<std::uint64_t>();
      if (bin >= counts_.size()) SavedReader::fail("a bin beyond the last one");
      if (count > left) SavedReader::fail("more counts than entries");
      left -= count;
      counts.emplace_back(bin, count);
    }
    if (left != 0) SavedReader::fail("fewer counts than entries");
    MomentSums moments(settings_->binning.axes().size());
    moments.load(from);
    from.done();
    const std::lock_guard lock(mutex_);
    for (const auto& [bin, count] : counts) counts_.add_counts(bin, count);
    counts_.add_entries(entries);
    moments_.add(moments);
  }

 private:
  class Part final : public Partial {
   public:
    explicit Part(CountedHistogram& owner) : owner_(owner), sums_(owner.settings_->binning.axes().size()) {}

    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override {
      Fills fills(rows, arguments, owner_.settings_->names);
      for (std::size_t first = 0; first < fills.size(); first += Fills::chunk) {
        const std::size_t count = std::min(Fills::chunk, fills.size() - first);
        std::uint32_t* bins = Fills::bin_scratch();
        const auto column = [&](std::size_t axis) {
          const double* values = fills.column(axis, first, count, Fills::scratch(0));
          sums_.add(owner_.settings_->binning, axis, values, count);
          return values;
        };
        owner_.settings_->binning.find(column, count, bins);
        put(bins, count);
      }
    }
    void flush() {
      if (waiting_.empty()) return;
      {
        const std::lock_guard lock(owner_.mutex_);
        owner_.counts_.add(waiting_.data(), waiting_.size());
      }
      waiting_ = {};
    }
    const MomentSums& moments() const { return sums_; }

   private:
    // Fills that may wait for the lock: enough that the bins are rarely fought for, little enough that a
    // thousand histograms can have them.
    static constexpr std::size_t most_waiting = 4 * Fills::chunk;

    void put(const std::uint32_t* bins, std::size_t count) {
      std::unique_lock lock(owner_.mutex_, std::try_to_lock);
      if (!lock.owns_lock() && waiting_.size() + count > most_waiting) lock.lock();
      if (!lock.owns_lock()) {
        waiting_.insert(waiting_.end(), bins, bins + count);
        return;
      }
      owner_.counts_.add(waiting_.data(), waiting_.size());
      owner_.counts_.add(bins, count);
      lock.unlock();
      waiting_.clear();
    }

    CountedHistogram& owner_;
    MomentSums sums_;
    std::vector<std::uint32_t> waiting_;
  };

  std::shared_ptr<const HistogramSettings> settings_;
  mutable std::mutex mutex_;
  CountCells counts_;
  MomentSums moments_;  // without the weights: those are the counts
};

// ---- Weighted

class WeightedHistogram final : public ResultAccumulator {
 public:
  explicit WeightedHistogram(std::shared_ptr<const HistogramSettings> settings)
      : settings_(std::move(settings)),
        moments_(settings_->binning.axes().size()),
        stores_(Sums(settings_->binning.cells()), Sums(settings_->binning.cells()).bytes()) {}

  std::unique_ptr<Accumulator> empty_copy() const override {
    return std::make_unique<WeightedHistogram>(settings_);
  }
  std::unique_ptr<Partial> begin(PartContext& context) override {
    return std::make_unique<Part>(*this, context.slot);
  }
  void merge(std::unique_ptr<Partial> partial) override {
    const auto& part = static_cast<const Part&>(*partial);
    const std::lock_guard lock(mutex_);
    moments_.add(part.moments);
    entries_ += part.entries;
  }

  ResultValue value() const override {
    HistogramValue value = settings_->value();
    value.weighted = true;
    const std::lock_guard lock(mutex_);
    value.entries = entries_;
    value.moments = moments_.total();
    value.values.resize(settings_->binning.cells());
    value.variances.resize(settings_->binning.cells());
    stores_.with_total([&](const Sums& sums) {
      for (std::size_t bin = 0; bin < value.values.size(); ++bin) {
        value.values[bin] = sums.value(bin, 0);
        value.variances[bin] = sums.value(bin, 1);
      }
    });
    return value;
  }
  std::vector<std::byte> save() const override {
    const std::lock_guard lock(mutex_);
    SavedWriter to(settings_->what);
    to.number(entries_);
    stores_.with_total([&](const Sums& sums) { sums.save(to); });
    moments_.save(to);
    return to.take();
  }
  void merge_saved(std::span<const std::byte> other) override {
    SavedReader from(other, settings_->what);
    const auto entries = from.number<std::uint64_t>();
    Sums sums(settings_->binning.cells());
    sums.load(from);
    MomentSums moments(settings_->binning.axes().size());
    moments.load(from);
    from.done();
    const std::lock_guard lock(mutex_);
    entries_ += entries;
    stores_.with_total([&](Sums& total) { total.add(std::move(sums)); });
    moments_.add(moments);
  }

 private:
  using Sums = ExactCells<2>;  // of w and of w * w

  struct Part final : Partial {
    Part(WeightedHistogram& of, unsigned in_slot)
        : owner(of), slot(in_slot), moments(of.settings_->binning.axes().size()) {}

    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override {
      const Binning& binning = owner.settings_->binning;
      const std::size_t axes = binning.axes().size();
      Fills fills(rows, arguments, owner.settings_->names);
      const SharedStores<Sums>::Lease store(owner.stores_, slot);
      for (std::size_t first = 0; first < fills.size(); first += Fills::chunk) {
        const std::size_t count = std::min(Fills::chunk, fills.size() - first);
        std::uint32_t* bins = Fills::bin_scratch();
        const auto column = [&](std::size_t axis) {
          const double* values = fills.column(axis, first, count, Fills::scratch(0));
          moments.add_coordinates(binning, axis, values, count);
          return values;
        };
        binning.find(column, count, bins);
        const double* weights = fills.column(axes, first, count, Fills::scratch(0));
        moments.add_weights(weights, count);
        (*store).add(bins, count,
                     [weights](std::size_t i) { return std::array{weights[i], weights[i] * weights[i]}; });
      }
      entries += fills.size();
    }

    WeightedHistogram& owner;
    unsigned slot;
    std::uint64_t entries = 0;
    MomentSums moments;
  };

  std::shared_ptr<const HistogramSettings> settings_;
  mutable std::mutex mutex_;  // for what is merged part by part
  std::uint64_t entries_ = 0;
  MomentSums moments_;
  mutable SharedStores<Sums> stores_;
};

}  // namespace

HistogramValue HistogramSettings::value() const {
  HistogramValue value;
  value.name = name;
  value.title = title;
  value.axes = binning.values();
  return value;
}

std::unique_ptr<ResultAccumulator> make_histogram(const Request& request) {
  request.options.only({"axes", "weighted", "name", "title"});
  auto settings = std::make_shared<HistogramSettings>();
  settings->name = request.options.text("name");
  settings->title = request.options.text("title");
  settings->weighted = request.options.flag("weighted", false);
  settings->binning = Binning::parse(request.options, 1);
  settings->names = request.spec.arguments;
  settings->what =
      fmt::format("{}histogram of {}", settings->weighted ? "weighted " : "", settings->binning.text());
  const std::size_t wanted = settings->binning.axes().size() + (settings->weighted ? 1 : 0);
  const std::string advice =
      fmt::format("{} for {} ax{}{}", wanted, settings->binning.axes().size(),
                  settings->binning.axes().size() == 1 ? "is" : "es",
                  settings->weighted ? " and a weight" : ", or set the option 'weighted'");
  require_arguments(request.spec, request.types, wanted, wanted, advice.c_str());
  require_numbers(request.spec, request.types);
  settings->binning.require_integers(request.spec, request.types);
  if (settings->binning.automatic()) return make_automatic_histogram(std::move(settings));
  if (!settings->weighted) return std::make_unique<CountedHistogram>(std::move(settings));
  return std::make_unique<WeightedHistogram>(std::move(settings));
}

}  // namespace colonnade::frame
