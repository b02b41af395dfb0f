// Histograms whose axes take their range from the values, as ROOT's do: the first thousand fills decide on a
// round range; what is beyond it later doubles the range, joining bins in pairs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "colonnade/error.h"
#include "frame/results/histogram.h"
#include "frame/results/moments.h"
#include "frame/results/turns.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t first_fills = 1000;
// Beyond so many doublings a value is taken for infinite.
constexpr int most_doublings = 64;

struct AutomaticState {
  // Coordinates and weight of one fill after the other.
  struct Batch {
    void clear() { numbers.clear(); }
    std::size_t bytes() const { return numbers.capacity() * sizeof(double); }
    std::vector<double> numbers;
  };

  explicit AutomaticState(std::shared_ptr<const HistogramSettings> s)
      : settings(std::move(s)), binning(settings->binning), moments(settings->binning.axes().size()) {}

  std::size_t width() const { return settings->binning.axes().size() + (settings->weighted ? 1 : 0); }

  void compute(Fills& fills, std::size_t first, std::size_t count, Batch& to) const {
    const std::size_t start = to.numbers.size();
    to.numbers.resize(start + count * width());
    for (std::size_t k = 0; k < width(); ++k) {
      const double* column = fills.column(k, first, count, Fills::scratch(0));
      for (std::size_t i = 0; i < count; ++i) to.numbers[start + i * width() + k] = column[i];
    }
  }
  void apply(const Batch& batch) { apply(batch.numbers); }
  void apply(const std::vector<double>& numbers) {
    for (std::size_t i = 0; i < numbers.size(); i += width()) fill(&numbers[i]);
  }

  void fill(const double* point) {
    ++entries;
    if (values.empty()) {
      if (waiting.size() < first_fills * width()) {
        waiting.insert(waiting.end(), point, point + width());
        return;
      }
      settle();
    }
    put(point);
  }
  void put(const double* point) {
    std::uint32_t bin = 0;
    std::uint32_t stride = 1;
    bool inside = true;
    for (std::size_t k = 0; k < binning.axes().size(); ++k) {
      const Axis& axis = binning.axes()[k];
      if (axis.automatic()) reach(k, point[k]);
      const std::uint32_t of_axis = axis.find(point[k]);
      const std::uint32_t bins = axis.bins();
      inside = inside && of_axis > 0 && of_axis <= bins;
      bin += stride * of_axis;
      stride *= bins + 2;
    }
    const double weight = settings->weighted ? point[width() - 1] : 1;
    values[bin] += weight;
    if (settings->weighted) variances[bin] += weight * weight;
    if (inside) moments.add_point(point, weight);
  }

  // Gives the axes their ranges and fills what waited.
  void settle() {
    for (std::size_t k = 0; k < binning.axes().size(); ++k) {
      Axis& axis = binning.axes()[k];
      if (!axis.automatic()) continue;
      double least = std::numeric_limits<double>::infinity();
      double greatest = -least;
      for (std::size_t i = k; i < waiting.size(); i += width()) {
        if (!std::isfinite(waiting[i])) continue;
        least = std::min(least, waiting[i]);
        greatest = std::max(greatest, waiting[i]);
      }
      if (least > greatest) least = greatest = 0;
      const auto [low, high] = good_range(axis.bins(), least, greatest);
      axis.set_range(low, high);
    }
    values.assign(binning.cells(), 0);
    if (settings->weighted) variances.assign(binning.cells(), 0);
    for (std::size_t i = 0; i < waiting.size(); i += width()) put(&waiting[i]);
    waiting = {};
  }

  // Doubles the range of an axis until x is within.
  void reach(std::size_t which, double x) {
    const RegularAxis& now = binning.axes()[which].regular();
    if (!std::isfinite(x) || (x >= now.low && x < now.high)) return;
    double low = now.low;
    double high = now.high;
    int doublings = 0;
    while (x < low && doublings++ < most_doublings) low -= high - low;
    while (x >= high && doublings++ < most_doublings) high += high - low;
    if (doublings > most_doublings || !std::isfinite(high - low)) return;
    set_range(which, low, high);
  }
  void set_range(std::size_t which, double low, double high) {
    Axis& axis = binning.axes()[which];
    const AxisValue before = axis.value();
    axis.set_range(low, high);
    std::vector<std::uint32_t> moved(axis.bins() + 2);
    for (std::uint32_t bin = 1; bin <= axis.bins(); ++bin)
      moved[bin] = axis.find((before.edges[bin - 1] + before.edges[bin]) / 2);
    moved.back() = axis.bins() + 1;
    std::size_t stride = 1;
    for (std::size_t k = 0; k < which; ++k) stride *= binning.axes()[k].bins() + 2;
    for (std::vector<double>* cells : {&values, &variances}) {
      std::vector<double> next(cells->size(), 0);
      for (std::size_t i = 0; i < cells->size(); ++i) {
        const std::size_t bin = i / stride % moved.size();
        next[i + moved[bin] * stride - bin * stride] += (*cells)[i];
      }
      *cells = std::move(next);
    }
  }

  ResultValue value() const {
    AutomaticState copy = *this;
    if (copy.values.empty()) copy.settle();
    HistogramValue value = settings->value();
    value.axes = copy.binning.values();
    value.weighted = settings->weighted;
    value.values = std::move(copy.values);
    value.variances = std::move(copy.variances);
    value.entries = entries;
    value.moments = copy.moments.total();
    return value;
  }

  // The range follows from the first fills in entry order, and what came after them is binned in it: what
  // was computed of a part of the entries cannot be put together with another part.
  static constexpr bool merges_parts = false;
  void save(SavedWriter& to) const {
    to.number(entries);
    to.array(std::span<const double>(waiting));
    to.array(std::span<const double>(values));
    to.array(std::span<const double>(variances));
    for (const Axis& axis : binning.axes()) {
      if (!axis.automatic()) continue;
      to.number(axis.regular().low);
      to.number(axis.regular().high);
    }
    moments.save(to);
  }
  void merge_saved(SavedReader& from) {
    if (entries != 0)
      throw Error(ErrorKind::unsupported,
                  "a histogram that takes its range from the values cannot be put together from parts",
                  "give low and high of its axes");
    AutomaticState all(settings);
    all.entries = from.number<std::uint64_t>();
    all.waiting = from.array<double>(first_fills * width());
    all.values = from.array<double>(binning.cells());
    all.variances = from.array<double>(binning.cells());
    for (Axis& axis : all.binning.axes()) {
      if (!axis.automatic()) continue;
      const double low = from.number<double>();
      const double high = from.number<double>();
      if (all.values.empty()) continue;
      if (!std::isfinite(low) || !std::isfinite(high) || low >= high) from.fail("an axis without a range");
      axis.set_range(low, high);
    }
    all.moments.load(from);
    const bool has_values = !all.values.empty();
    if (all.waiting.size() % width() != 0 || (has_values && !all.waiting.empty()) ||
        (has_values && all.values.size() != binning.cells()) ||
        all.variances.size() != (has_values && settings->weighted ? binning.cells() : 0))
      from.fail("another number of bins");
    from.done();
    *this = std::move(all);
  }

  std::shared_ptr<const HistogramSettings> settings;
  Binning binning;
  std::vector<double> waiting;  // the first fills
  std::vector<double> values;   // empty before there are ranges
  std::vector<double> variances;
  std::uint64_t entries = 0;
  MomentSums moments;
};

}  // namespace

std::unique_ptr<ResultAccumulator> make_automatic_histogram(
    std::shared_ptr<const HistogramSettings> settings) {
  return std::make_unique<OrderedAccumulator<AutomaticState, HistogramSettings>>(std::move(settings));
}

}  // namespace colonnade::frame
