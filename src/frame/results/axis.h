// Axes: from values to bins. Bin 0 is the underflow, bins + 1 the overflow, which NaN go to.
//
// Regular axes put a value into the bin whose edges low + k * (high - low) / bins are around it, as ROOT's
// TAxis::FindFixBin does since 6.40: edges belong to the bin above them, whatever a division would round to.
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

// The values x that have a bin between underflow and overflow: low <= x < high.
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
  // Can there be an axis with these limits? They must grow, and bins be neither too narrow nor too wide to
  // compute with.
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

  const std::string& name() const noexcept { return name_; }
  std::uint32_t bins() const noexcept;
  // Does it take its range from what it sees? Then there are no bins to be found before set_range(), and
  // range() is the widest that it may take; what is beyond that is as if it were infinite.
  bool automatic() const noexcept { return automatic_; }
  static constexpr AxisRange widest() noexcept { return {-0x1p1000, 0x1p1000}; }
  void set_range(double low, double high);
  const RegularAxis& regular() const noexcept { return regular_; }
  AxisRange range() const noexcept;

  std::uint32_t find(double x) const;
  void add_bins(const double* values, std::size_t count, std::uint32_t stride, std::uint32_t* to) const;
  AxisValue value() const;
  // Tells apart axes whose bins cannot be added.
  std::string text() const;
  // Does it take integers and Boolean values only?
  bool integral() const noexcept { return special_ != nullptr && special_->integral; }

 private:
  struct Variable;
  std::string name_;
  RegularAxis regular_;
  bool automatic_ = false;
  std::shared_ptr<const Variable> variable_;
  std::shared_ptr<const SpecialAxis> special_;
};

// All axes of a histogram together.
class Binning {
 public:
  Binning() = default;
  // Parses "axes". Throws ErrorKind::usage, or resource for more bins than can be numbered.
  static Binning parse(const Options& options, std::size_t least_axes);

  std::vector<Axis>& axes() noexcept { return axes_; }
  const std::vector<Axis>& axes() const noexcept { return axes_; }
  std::uint32_t cells() const noexcept { return cells_; }  // with underflow and overflow
  bool automatic() const noexcept;
  // Throws ErrorKind::type where an axis of integers is to be filled with other numbers.
  void require_integers(const ResultSpec& spec, std::span<const ValueType> types) const;
  // Is a bin of all axes between underflow and overflow on each of them?
  bool is_inner(std::uint32_t bin) const noexcept;
  std::string text() const;
  std::vector<AxisValue> values() const;
  // The bin of `count` points; `column(axis)` gives their coordinates.
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
