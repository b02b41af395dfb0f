// See moments.h.
#include "frame/results/moments.h"

#include <algorithm>
#include <limits>

#include "frame/results/fills.h"

namespace colonnade::frame {
namespace {

constexpr AxisRange all_but_nan = {-std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::infinity()};

// Thread-local memory for the columns of a chunk.
double* column_scratch(std::size_t columns) {
  static thread_local std::vector<double> memory;
  if (memory.size() < columns * Fills::chunk) memory.resize(columns * Fills::chunk);
  return memory.data();
}

}  // namespace

// A column for each axis, then marks: NaN if a fill is out of range on any axis.
double* MomentSums::column(std::size_t which) const {
  return column_scratch(of_axes_.size() + 1) + which * Fills::chunk;
}

void MomentSums::mark(const Binning& binning, std::size_t axis, const double* values,
                      std::size_t count) const {
  double* marks = column(of_axes_.size());
  if (axis == 0) std::fill_n(marks, count, 0.);
  std::copy_n(values, count, column(axis));
  mark_outside(binning.axes()[axis].range(), values, count, marks);
}

void MomentSums::add(const Binning& binning, std::size_t axis, const double* values, std::size_t count) {
  const std::size_t axes = of_axes_.size();
  if (axes == 1) return add_values(binning.axes()[axis].range(), values, count, of_axes_[0]);
  // Whether a fill counts depends on all of its coordinates.
  mark(binning, axis, values, count);
  if (axis + 1 < axes) return;
  const double* marks = column(axes);
  for (std::size_t k = 0; k < axes; ++k) {
    double* points = column(k);
    for (std::size_t i = 0; i < count; ++i) points[i] += marks[i];
    add_values(all_but_nan, points, count, of_axes_[k]);
  }
}

void MomentSums::add_coordinates(const Binning& binning, std::size_t axis, const double* values,
                                 std::size_t count) {
  if (of_axes_.size() > 1) return mark(binning, axis, values, count);
  range_ = binning.axes()[axis].range();
  points_ = values;
}

void MomentSums::add_weights(const double* weights, std::size_t count) {
  if (of_axes_.size() > 1)
    frame::add_weights(all_but_nan, column(of_axes_.size()), weights, count, of_weights_);
  else
    frame::add_weights(range_, points_, weights, count, of_weights_);
  add_weighted(weights, count);
}

void MomentSums::add_weighted(const double* weights, std::size_t count) {
  if (of_axes_.size() == 1) return frame::add_weighted(range_, points_, weights, count, of_axes_[0]);
  const double* marks = column(of_axes_.size());
  for (std::size_t k = 0; k < of_axes_.size(); ++k) {
    double* points = column(k);
    for (std::size_t i = 0; i < count; ++i) points[i] += marks[i];
    frame::add_weighted(all_but_nan, points, weights, count, of_axes_[k]);
  }
}

void MomentSums::add(const MomentSums& other) {
  of_weights_.add(other.of_weights_);
  for (std::size_t k = 0; k < of_axes_.size(); ++k) of_axes_[k].add(other.of_axes_[k]);
}

Moments MomentSums::total(const ExactSum<1>& weights, const ExactSum<1>& squares) const {
  Moments moments;
  moments.sum_w = weights.value();
  moments.sum_w2 = squares.value();
  for (const ExactPair& of_axis : of_axes_) {
    moments.sum_wx.push_back(of_axis.first.value());
    moments.sum_wxx.push_back(of_axis.second.value());
  }
  return moments;
}

void MomentSums::save(SavedWriter& to) const {
  to.sum(of_weights_.first);
  to.sum(of_weights_.second);
  for (const ExactPair& of_axis : of_axes_) {
    to.sum(of_axis.first);
    to.sum(of_axis.second);
  }
}

void MomentSums::load(SavedReader& from) {
  of_weights_.first = from.sum<1>();
  of_weights_.second = from.sum<1>();
  for (ExactPair& of_axis : of_axes_) {
    of_axis.first = from.sum<1>();
    of_axis.second = from.sum<1>();
  }
}

}  // namespace colonnade::frame
