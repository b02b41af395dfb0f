// Histograms of any number of dimensions.
//
// Fills may be added in any order. Unweighted ones are counts, one set per histogram: a thread finds the bins
// of a chunk of values and adds them under the histogram's lock, or keeps them for later if another thread
// holds it. Weighted ones go to exact sums (exact_cells.h), in a few copies if several threads add at the
// same time (shared_stores.h). Moments are exact sums as well, one set for each part in flight. Histograms
// with automatic ranges: automatic_histogram.cpp.
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
#include "frame/results/summed_histogram.h"

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
  std::unique_ptr<Partial> begin(PartContext&) override { return std::make_unique<PartialFills>(*this); }
  void merge(std::unique_ptr<Partial> partial) override {
    auto& part = static_cast<PartialFills&>(*partial);
    part.flush();
    const std::lock_guard lock(mutex_);
    moments_.add(part.moments());
  }

  ResultValue value() const override {
    const std::lock_guard lock(mutex_);
    HistogramValue value;
    value.name = settings_->name;
    value.title = settings_->title;
    value.axes = settings_->binning.values();
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

  std::vector<std::byte> save() const override { return save_slice(0, 1); }
  std::uint64_t slices(std::uint64_t bytes) const override {
    return slices_of(counts_.size(), sizeof(std::uint32_t) + sizeof(std::uint64_t), bytes);
  }
  std::vector<std::byte> save_slice(std::uint64_t slice, std::uint64_t of) const override {
    const std::lock_guard lock(mutex_);
    SavedWriter to(settings_->what);
    const BinRange bins = BinRange::of_slice(counts_.size(), slice, of);
    std::uint64_t entries = 0;
    std::uint64_t used = 0;
    for (std::size_t i = bins.first; i < bins.last; ++i) {
      entries += counts_.at(i);
      used += counts_.at(i) != 0 ? 1 : 0;
    }
    to.number(entries);
    to.number(used);
    for (std::size_t i = bins.first; i < bins.last; ++i) {
      if (counts_.at(i) == 0) continue;
      to.number(static_cast<std::uint32_t>(i));
      to.number(counts_.at(i));
    }
    moments_.save_in(slice, to);
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
  class PartialFills final : public Partial {
   public:
    explicit PartialFills(CountedHistogram& owner)
        : owner_(owner), sums_(owner.settings_->binning.axes().size()) {}

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
    // The maximum number of fills that wait for the lock: large enough to make contention rare, small enough
    // for a thousand histograms.
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
  MomentSums moments_;  // without the weights, which are the counts
};

// ---- Weighted

class BinStore {
 public:
  explicit BinStore(std::shared_ptr<const HistogramSettings> settings)
      : settings_(std::move(settings)), sums_(settings_->binning.cells()) {}
  BinStore empty_copy() const { return BinStore(settings_); }
  std::size_t bytes() const noexcept { return sums_.bytes(); }
  void add(BinStore&& other) { sums_.add(std::move(other.sums_)); }

  template <class Column>
  void find(const Column& column, std::size_t count, std::uint32_t* bins) const {
    settings_->binning.find(column, count, bins);
  }
  void put(const std::uint32_t* bins, std::size_t count, const double* weights) {
    sums_.add(bins, count,
              [weights](std::size_t i) { return std::array{weights[i], weights[i] * weights[i]}; });
  }
  void set(HistogramValue& value) const {
    value.axes = settings_->binning.values();
    value.values.resize(settings_->binning.cells());
    value.variances.resize(settings_->binning.cells());
    for (std::size_t bin = 0; bin < value.values.size(); ++bin) {
      value.values[bin] = sums_.value(bin, 0);
      value.variances[bin] = sums_.value(bin, 1);
    }
  }
  std::array<ExactSum<1>, 2> inner_sums() const {
    return sums_.totals(
        [&](std::size_t bin) { return settings_->binning.is_inner(static_cast<std::uint32_t>(bin)); });
  }
  std::uint64_t slices(std::uint64_t bytes) const {
    return slices_of(settings_->binning.cells(), decltype(sums_)::saved_bytes, bytes);
  }
  void save(SavedWriter& to, std::uint64_t slice, std::uint64_t of) const {
    sums_.save(to, BinRange::of_slice(settings_->binning.cells(), slice, of));
  }
  void load(SavedReader& from) { sums_.load(from, 0, 0b10); }

 private:
  std::shared_ptr<const HistogramSettings> settings_;
  ExactCells<2> sums_;  // of w and of w * w
};

}  // namespace

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
  return std::make_unique<SummedHistogram<BinStore>>(std::move(settings));
}

}  // namespace colonnade::frame
