// Histograms of any number of dimensions.
//
// There is one set of bins per histogram, whatever the number of threads. Unweighted fills are counts, which
// may be added in any order: a thread finds the bins of a chunk of values and adds them under the histogram's
// lock, or keeps them for later if another thread has it; moments are summed up per part. Weighted fills are
// added in entry order (turns.h), as are those of histograms that take their range from the values
// (automatic_histogram.cpp).
#include "frame/results/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "colonnade/error.h"
#include "frame/results/cells.h"
#include "frame/results/moments.h"
#include "frame/results/turns.h"

namespace colonnade::frame {
namespace {

// ---- Unweighted

class CountedHistogram final : public ResultAccumulator {
 public:
  explicit CountedHistogram(std::shared_ptr<const HistogramSettings> settings)
      : settings_(std::move(settings)),
        counts_(settings_->binning.cells()),
        moments_(no_moments(settings_->binning.axes().size())) {}

  std::unique_ptr<Accumulator> empty_copy() const override {
    return std::make_unique<CountedHistogram>(settings_);
  }
  std::unique_ptr<Partial> begin(PartContext&) override { return std::make_unique<Part>(*this); }
  void merge(std::unique_ptr<Partial> partial) override {
    auto& part = static_cast<Part&>(*partial);
    part.flush();
    const std::lock_guard lock(mutex_);
    add_moments(moments_, part.moments());
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
    value.moments = moments_;
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
    save_coordinates(moments_, to);
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
    Moments moments = no_moments(moments_.sum_wx.size());
    load_coordinates(moments, from);
    from.done();
    const std::lock_guard lock(mutex_);
    for (const auto& [bin, count] : counts) counts_.add_counts(bin, count);
    counts_.add_entries(entries);
    add_moments(moments_, moments);
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
    Moments moments() const { return sums_.total(); }

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
  Moments moments_;  // without the weights: those are the counts
};

// ---- Weighted

struct WeightedState {
  struct Batch {
    void clear() {
      bins.clear();
      for (auto& column : columns) column.clear();
      weights.clear();
    }
    std::size_t bytes() const {
      std::size_t numbers = weights.capacity();
      for (const auto& column : columns) numbers += column.capacity();
      return bins.capacity() * sizeof(std::uint32_t) + numbers * sizeof(double);
    }
    std::vector<std::uint32_t> bins;
    std::vector<std::vector<double>> columns;  // coordinates, NaN for fills that are out of range on any axis
    std::vector<double> weights;
  };

  explicit WeightedState(std::shared_ptr<const HistogramSettings> s)
      : settings(std::move(s)), moments(settings->binning.axes().size()) {}

  void compute(Fills& fills, std::size_t first, std::size_t count, Batch& to) const {
    const Binning& binning = settings->binning;
    std::uint32_t* bins = Fills::bin_scratch();
    const std::size_t axes = binning.axes().size();
    if (to.columns.size() < axes) to.columns.resize(axes);
    double* marks = Fills::scratch(1);
    std::fill_n(marks, count, 0.);
    const auto column = [&](std::size_t axis) {
      const double* values = fills.column(axis, first, count, Fills::scratch(0));
      mark_outside(binning.axes()[axis].range(), values, count, marks);
      to.columns[axis].insert(to.columns[axis].end(), values, values + count);
      return values;
    };
    binning.find(column, count, bins);
    for (std::size_t k = 0; k < axes; ++k) {
      double* points = to.columns[k].data() + to.bins.size();
      for (std::size_t i = 0; i < count; ++i) points[i] += marks[i];
    }
    to.bins.insert(to.bins.end(), bins, bins + count);
    const double* weights = fills.column(axes, first, count, Fills::scratch(0));
    to.weights.insert(to.weights.end(), weights, weights + count);
  }
  void apply(const Batch& batch) {
    make();
    for (std::size_t i = 0; i < batch.bins.size(); ++i) {
      const double weight = batch.weights[i];
      sums[batch.bins[i]] += weight;
      squares[batch.bins[i]] += weight * weight;
    }
    moments.add(batch.columns, batch.weights);
    entries += batch.bins.size();
  }
  void make() {
    if (!sums.empty()) return;
    sums.make(settings->binning.cells());
    squares.make(settings->binning.cells());
  }
  ResultValue value() const {
    HistogramValue value = settings->value();
    value.weighted = true;
    value.entries = entries;
    value.moments = moments.total();
    value.values.assign(settings->binning.cells(), 0);
    value.variances.assign(settings->binning.cells(), 0);
    std::copy(sums.view().begin(), sums.view().end(), value.values.begin());
    std::copy(squares.view().begin(), squares.view().end(), value.variances.begin());
    return value;
  }
  void save(SavedWriter& to) const {
    to.number(entries);
    to.sparse(sums.view());
    to.sparse(squares.view());
    save_moments(moments.total(), to);
  }
  void merge_saved(SavedReader& from) {
    const auto more = from.number<std::uint64_t>();
    Cells<double> later_sums;
    Cells<double> later_squares;
    for (Cells<double>* cells : {&later_sums, &later_squares}) {
      cells->make(settings->binning.cells());
      from.sparse(cells->size(), [&](std::size_t bin, double value) { (*cells)[bin] = value; });
    }
    const Moments later_moments = load_moments(from, settings->binning.axes().size());
    from.done();
    make();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += later_sums[i];
      squares[i] += later_squares[i];
    }
    moments.add(later_moments);
    entries += more;
  }

  std::shared_ptr<const HistogramSettings> settings;
  std::uint64_t entries = 0;
  Cells<double> sums;
  Cells<double> squares;
  MomentSums moments;
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
  if (settings->binning.automatic()) return make_automatic_histogram(std::move(settings));
  if (!settings->weighted) return std::make_unique<CountedHistogram>(std::move(settings));
  return std::make_unique<OrderedAccumulator<WeightedState, HistogramSettings>>(std::move(settings));
}

}  // namespace colonnade::frame
