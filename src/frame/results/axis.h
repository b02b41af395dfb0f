// Axes: from values to bins. Bin 0 is the underflow, bins + 1 the overflow, which includes NaN.
//
// Regular axes put a value into the bin between the edges low + k * (high - low) / bins, like ROOT's
// TAxis::FindFixBin since 6.40: edges belong to the bin above them, however a division would round.
#ifndef COLONNADE_FRAME_RESULTS_AXIS_H
#define COLONNADE_FRAME_RESULTS_AXIS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frame/results/options.h"
#include "frame/results/result.h"
#include "frame/results/special_axis.h"

namespace colonnade::frame {

// The values x with a bin between underflow and overflow: low <= x < high.
struct AxisRange {
  double low = 0;
  double high = 0;
};

struct RegularAxis {
  std::uint32_t bins = 1;
  double low = 0;
  double high = 1;
  double width = 1;    // (high - low) / bins
  double inverse = 1;  // bins / (high - low), for a first guess

  static RegularAxis make(std::uint32_t bins, double low, double high);
  // True if these limits make a valid axis: ascending, with bins neither too narrow nor too wide to compute
  // with.
  static bool can_be(std::uint32_t bins, double low, double high) noexcept;
  std::uint32_t find(double x) const noexcept;
  AxisRange range() const noexcept;
};

// to[i] += stride * bin of values[i]
void add_bins(const RegularAxis& axis, const double* values, std::size_t count, std::uint32_t stride,
              std::uint32_t* to);

class Axis {
 public:
  // {"bins", "low", "high"} or {"edges"}, with "name"; with "kind" see special_axis.h.
  static Axis parse(const Options& options);

  std::uint32_t bins() const noexcept;
  // True if it derives its range from the values. Then there are no bins before set_range(), and range() is
  // the widest possible range; values beyond it count as infinite.
  bool automatic() const noexcept { return automatic_; }
  static constexpr AxisRange widest() noexcept { return {-0x1p1000, 0x1p1000}; }
  void set_range(double low, double high);
  const RegularAxis& regular() const noexcept { return regular_; }
  AxisRange range() const noexcept;

  std::uint32_t find(double x) const;
  void add_bins(const double* values, std::size_t count, std::uint32_t stride, std::uint32_t* to) const;
  AxisValue value() const;
  // Identifies the axis; bins of axes with different texts cannot be added.
  std::string text() const;
  // True if it accepts integers and Boolean values only.
  bool integral() const noexcept { return special_ != nullptr && special_->integral; }

 private:
  struct Variable;
  std::string name_;
  RegularAxis regular_;
  bool automatic_ = false;
  std::shared_ptr<const Variable> variable_;
  std::shared_ptr<const SpecialAxis> special_;
};

// All axes of a histogram.
class Binning {
 public:
  Binning() = default;
  // Parses "axes". Throws ErrorKind::usage, or resource for too many bins.
  static Binning parse(const Options& options, std::size_t least_axes);

  std::vector<Axis>& axes() noexcept { return axes_; }
  const std::vector<Axis>& axes() const noexcept { return axes_; }
  std::uint32_t cells() const noexcept { return cells_; }  // including underflow and overflow
  bool automatic() const noexcept;
  // Throws ErrorKind::type if an axis of integers would be filled with other numbers.
  void require_integers(const ResultSpec& spec, std::span<const ValueType> types) const;
  // True if a bin is between underflow and overflow on each axis.
  bool is_inner(std::uint32_t bin) const noexcept;
  std::string text() const;
  std::vector<AxisValue> values() const;
  // Finds the bins of `count` points; `column(axis)` returns their coordinates.
  template <class Column>
  void find(const Column& column, std::size_t count, std::uint32_t* bins) const {
    std::fill_n(bins, count, 0u);
    std::uint32_t stride = 1;
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      axes_[k].add_bins(column(k), count, stride, bins);
      stride *= axes_[k].bins() + 2;
    }
  }

 private:
  std::vector<Axis> axes_;
  std::uint32_t cells_ = 1;
};

}  // namespace colonnade::frame

#endif
