// Histograms whose axes derive their range from the smallest and largest value, independent of the order of
// values and their distribution over threads.
//
// The range is known only after all values, so fills are summed on a grid that is finer than the bins: cell k
// of a grid of level e covers the values from k * 2^e up to (k + 1) * 2^e. The level is the lowest one at
// which all values so far fit the available number of adjacent cells. It depends on the smallest and largest
// value alone, and only rises; a cell of a higher level consists of whole lower ones. In memory the cells
// form a ring, so that they do not move while the level stays the same.
//
// A bin consists of adjacent cells. Its edges are multiples of 2^e, which doubles represent exactly, so the
// histogram equals that of an axis with these edges.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "colonnade/error.h"
#include "frame/results/exact_cells.h"
#include "frame/results/histogram.h"
#include "frame/results/summed_histogram.h"

namespace colonnade::frame {
namespace {

// One axis of a grid. Slot 0 is the underflow, the last one the overflow, which includes NaN.
class GridAxis {
 public:
  // `ring` is a power of two.
  GridAxis(std::uint32_t bins, std::uint32_t ring) : bins_(bins), ring_(ring) {}

  std::uint32_t slots() const noexcept { return ring_ + 2; }
  double least() const noexcept { return least_; }
  double greatest() const noexcept { return greatest_; }
  bool empty() const noexcept { return !(least_ <= greatest_); }

  // Extends the range. Returns true if cells must be moved, to the slots listed in `moved`.
  bool reach(double least, double greatest, std::vector<std::uint32_t>& moved) {
    if (!(least < least_) && !(greatest > greatest_)) return false;
    const GridAxis before = *this;
    least_ = std::min(least, least_);
    greatest_ = std::max(greatest, greatest_);
    raise();
    if (before.empty() || level_ == before.level_) return false;
    const int up = std::min(level_ - before.level_, 63);
    moved.resize(slots());
    moved.front() = 0;
    moved.back() = ring_ + 1;
    for (std::uint32_t slot = 1; slot <= ring_; ++slot) moved[slot] = slot_of(before.number_of(slot) >> up);
    return true;
  }
  bool reach(const double* values, std::size_t count, std::vector<std::uint32_t>& moved) {
    double least = std::numeric_limits<double>::infinity();
    double greatest = -least;
    for (std::size_t i = 0; i < count; ++i) {
      const bool inside = is_inside(values[i]);
      least = inside && values[i] < least ? values[i] : least;
      greatest = inside && values[i] > greatest ? values[i] : greatest;
    }
    return reach(least, greatest, moved);
  }
  // For values in range.
  void add_slots(const double* values, std::size_t count, std::uint32_t stride, std::uint32_t* to) const {
    for (std::size_t i = 0; i < count; ++i) {
      const double x = values[i];
      to[i] += stride * (is_inside(x) ? slot_of(cell(x)) : x < 0 ? 0 : ring_ + 1);
    }
  }

  // The lower and upper limit of the bins.
  std::pair<double, double> range() const {
    if (empty()) return around(0);
    if (least_ == greatest_) return around(least_);
    const std::int64_t first = cell(least_), last = cell(greatest_), bins = bins_;
    const std::int64_t cells = (last - first) / bins + 1;  // per bin, at least
    // Edges at multiples of the bins' width, so that one of them is 0, cost at most one more cell.
    for (const std::int64_t wider : {cells, cells + 1}) {
      const std::int64_t low = first - (first % wider + wider) % wider;
      if (low + bins * wider > last) return {edge(low), edge(low + bins * wider)};
    }
    const std::int64_t low = first - (bins * cells - (last - first + 1)) / 2;
    return {edge(low), edge(low + bins * cells)};
  }
  // The bin on an axis with this range.
  std::uint32_t bin_of(std::uint32_t slot, const RegularAxis& axis) const {
    if (slot > ring_) return axis.bins + 1;
    if (slot == 0 || empty()) return 0;  // without values all slots are empty
    return axis.find(edge(number_of(slot)));
  }

  void save(SavedWriter& to) const {
    to.number(least_);
    to.number(greatest_);
  }
  void load(SavedReader& from) {
    const auto least = from.number<double>();
    const auto greatest = from.number<double>();
    const double infinity = std::numeric_limits<double>::infinity();
    if (least == infinity && greatest == -infinity) return;
    if (!is_inside(least) || !is_inside(greatest) || least > greatest) SavedReader::fail("no range");
    least_ = least;
    greatest_ = greatest;
    raise();
  }
  // True if this slot may have content.
  bool can_have(std::uint32_t slot) const noexcept {
    if (slot == 0 || slot > ring_) return true;
    return !empty() && number_of(slot) <= cell(greatest_);
  }

 private:
  // Levels at which scales and edges are normal numbers.
  static constexpr int lowest = -1000;
  // Cell numbers stay below 2^41: edges are exact.
  static constexpr int most_digits = 40;

  static bool is_inside(double x) noexcept {
    const AxisRange all = Axis::widest();
    return x >= all.low && x < all.high;
  }
  std::int64_t cell(double x) const noexcept {
    const double scaled = x * scale_;
    // Values too small to be scaled are next to 0.
    return static_cast<std::int64_t>(std::floor(scaled)) - (x < 0 && scaled == 0 ? 1 : 0);
  }
  double edge(std::int64_t number) const { return std::ldexp(static_cast<double>(number), level_); }
  std::uint32_t slot_of(std::int64_t number) const noexcept {
    return 1 + (static_cast<std::uint32_t>(number) & (ring_ - 1));
  }
  std::int64_t number_of(std::uint32_t slot) const noexcept {
    const std::int64_t first = cell(least_);
    return first + static_cast<std::int64_t>((slot - 1 - static_cast<std::uint32_t>(first)) & (ring_ - 1));
  }
  void raise() {
    const double largest = std::max(std::abs(least_), std::abs(greatest_));
    if (largest > 0) set_level(std::max(level_, std::ilogb(largest) - most_digits));
    while (cell(greatest_) - cell(least_) >= ring_) set_level(level_ + 1);
  }
  void set_level(int level) {
    level_ = level;
    scale_ = std::ldexp(1., -level);
  }
  // If all values are equal, the width is undefined: uses about 1 to both sides.
  std::pair<double, double> around(double x) const {
    const double width = std::max(2. / std::bit_floor(bins_), std::ldexp(1., level_));
    const std::uint32_t half = bins_ / 2;
    const double low = (std::floor(x / width) - half) * width;
    return {low, low + bins_ * width};
  }

  std::uint32_t bins_;
  std::uint32_t ring_;
  double least_ = std::numeric_limits<double>::infinity();
  double greatest_ = -std::numeric_limits<double>::infinity();
  int level_ = lowest;
  double scale_ = std::ldexp(1., -lowest);
};

// The number of grid cells per bin on each axis: many if that is cheap, since the range may be too wide by
// one cell per bin.
std::uint32_t cells_per_bin(const Binning& binning) {
  constexpr double cheap = 1 << 18;
  for (std::uint32_t per_bin = 16;; per_bin /= 2) {
    double cells = 1;
    for (const Axis& axis : binning.axes())
      cells *= axis.automatic() ? std::bit_ceil(std::uint64_t{per_bin} * axis.bins()) + 2. : axis.bins() + 2.;
    if (cells <= cheap || (per_bin == 2 && cells <= std::numeric_limits<std::int32_t>::max())) return per_bin;
    if (per_bin == 2)
      throw Error(ErrorKind::resource,
                  fmt::format("a histogram that takes its range from the values needs {:.3g} bins", cells),
                  "fewer bins, or low and high of its axes");
  }
}

// Sums of weights, and of their squares.
template <std::size_t columns>
class GridStore {
 public:
  explicit GridStore(std::shared_ptr<const HistogramSettings> settings) : settings_(std::move(settings)) {
    const std::uint32_t per_bin = cells_per_bin(settings_->binning);
    std::size_t cells = 1;
    for (const Axis& axis : settings_->binning.axes()) {
      const auto ring = static_cast<std::uint32_t>(std::bit_ceil(std::uint64_t{per_bin} * axis.bins()));
      axes_.emplace_back(axis.bins(), axis.automatic() ? ring : axis.bins());
      cells *= axes_.back().slots();
    }
    sums_ = Sums(cells);
  }
  GridStore empty_copy() const { return GridStore(settings_); }
  std::size_t bytes() const noexcept { return sums_.bytes(); }

  template <class Column>
  void find(const Column& column, std::size_t count, std::uint32_t* bins) {
    std::fill_n(bins, count, 0u);
    std::uint32_t stride = 1;
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      const double* values = column(k);
      if (!is_automatic(k)) {
        settings_->binning.axes()[k].add_bins(values, count, stride, bins);
      } else {
        if (axes_[k].reach(values, count, moved_)) move(stride, axes_[k].slots());
        axes_[k].add_slots(values, count, stride, bins);
      }
      stride *= axes_[k].slots();
    }
  }
  void put(const std::uint32_t* bins, std::size_t count, const double* weights) {
    sums_.add(bins, count, [weights](std::size_t i) {
      if constexpr (columns == 1)
        return std::array{weights[i]};
      else
        return std::array{weights[i], weights[i] * weights[i]};
    });
  }
  void add(GridStore&& other) {
    other.reach(axes_);
    reach(other.axes_);
    sums_.add(std::move(other.sums_));
  }

  void set(HistogramValue& value) const {
    Binning binning = settings_->binning;
    std::vector<std::vector<std::uint32_t>> bins;  // of each axis's slots, times its stride
    std::uint32_t stride = 1;
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      Axis& axis = binning.axes()[k];
      if (is_automatic(k)) {
        const auto [low, high] = axes_[k].range();
        axis.set_range(low, high);
      }
      auto& of_axis = bins.emplace_back(axes_[k].slots());
      for (std::uint32_t slot = 0; slot < of_axis.size(); ++slot)
        of_axis[slot] = stride * (is_automatic(k) ? axes_[k].bin_of(slot, axis.regular()) : slot);
      stride *= axis.bins() + 2;
    }
    Sums sums(binning.cells());
    sums.add(sums_, [&](std::size_t at) {
      std::size_t bin = 0;
      for (const auto& of_axis : bins) {
        bin += of_axis[at % of_axis.size()];
        at /= of_axis.size();
      }
      return bin;
    });
    value.axes = binning.values();
    for (std::size_t bin = 0; bin < binning.cells(); ++bin) {
      value.values.push_back(sums.value(bin, 0));
      if constexpr (columns == 2) value.variances.push_back(sums.value(bin, 1));
    }
  }

  // Cells move when the range grows: those of one slice come from any other.
  std::uint64_t slices(std::uint64_t /*bytes*/) const { return 1; }
  void save(SavedWriter& to, std::uint64_t /*slice*/, std::uint64_t /*of*/) const {
    for (std::size_t k = 0; k < axes_.size(); ++k)
      if (is_automatic(k)) axes_[k].save(to);
    sums_.save(to);
  }
  void load(SavedReader& from) {
    for (std::size_t k = 0; k < axes_.size(); ++k)
      if (is_automatic(k)) axes_[k].load(from);
    columns == 2 ? sums_.load(from, 0, 0b10) : sums_.load(from, 0b1, 0);
    sums_.for_each_bin([&](std::size_t at) {
      for (std::size_t k = 0; k < axes_.size(); ++k) {
        const auto slot = static_cast<std::uint32_t>(at % axes_[k].slots());
        if (is_automatic(k) && !axes_[k].can_have(slot)) SavedReader::fail("a bin beyond the range");
        at /= axes_[k].slots();
      }
    });
  }

 private:
  using Sums = ExactCells<columns>;

  bool is_automatic(std::size_t axis) const { return settings_->binning.axes()[axis].automatic(); }
  void reach(const std::vector<GridAxis>& others) {
    std::uint32_t stride = 1;
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      if (is_automatic(k) && axes_[k].reach(others[k].least(), others[k].greatest(), moved_))
        move(stride, axes_[k].slots());
      stride *= axes_[k].slots();
    }
  }
  // Moves cells along one axis, as listed in `moved_`.
  void move(std::uint32_t stride, std::uint32_t slots) {
    Sums sums = sums_.empty_copy();
    sums.add(sums_, [&](std::size_t at) {
      const std::size_t slot = at / stride % slots;
      return at - slot * stride + std::size_t{moved_[slot]} * stride;
    });
    sums_ = std::move(sums);
  }

  std::shared_ptr<const HistogramSettings> settings_;
  std::vector<GridAxis> axes_;
  Sums sums_{0};
  std::vector<std::uint32_t> moved_;
};

}  // namespace

std::unique_ptr<ResultAccumulator> make_automatic_histogram(
    std::shared_ptr<const HistogramSettings> settings) {
  if (settings->weighted) return std::make_unique<SummedHistogram<GridStore<2>>>(std::move(settings));
  return std::make_unique<SummedHistogram<GridStore<1>>>(std::move(settings));
}

}  // namespace colonnade::frame
