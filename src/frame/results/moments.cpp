// See moments.h.
#include "frame/results/moments.h"

#include <algorithm>
#include <limits>

#include "frame/results/fills.h"

namespace colonnade::frame {
namespace {

constexpr AxisRange all_but_nan = {-std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::infinity()};

double sum_of_lanes(const std::array<double, LaneSums::lanes>& of) {
  static_assert(LaneSums::lanes == 8);
  return ((of[0] + of[1]) + (of[2] + of[3])) + ((of[4] + of[5]) + (of[6] + of[7]));
}

// Memory for the columns of a chunk, of the calling thread.
double* column_scratch(std::size_t columns) {
  static thread_local std::vector<double> memory;
  if (memory.size() < columns * Fills::chunk) memory.resize(columns * Fills::chunk);
  return memory.data();
}

}  // namespace

Moments no_moments(std::size_t axes) {
  Moments moments;
  moments.sum_wx.assign(axes, 0);
  moments.sum_wxx.assign(axes, 0);
  return moments;
}

void add_moments(Moments& to, const Moments& later) {
  to.sum_w += later.sum_w;
  to.sum_w2 += later.sum_w2;
  for (std::size_t k = 0; k < to.sum_wx.size(); ++k) {
    to.sum_wx[k] += later.sum_wx[k];
    to.sum_wxx[k] += later.sum_wxx[k];
  }
}

void save_moments(const Moments& moments, SavedWriter& to) {
  to.number(moments.sum_w);
  to.number(moments.sum_w2);
  save_coordinates(moments, to);
}

Moments load_moments(SavedReader& from, std::size_t axes) {
  Moments moments = no_moments(axes);
  moments.sum_w = from.number<double>();
  moments.sum_w2 = from.number<double>();
  load_coordinates(moments, from);
  return moments;
}

void save_coordinates(const Moments& moments, SavedWriter& to) {
  for (const double sum : moments.sum_wx) to.number(sum);
  for (const double sum : moments.sum_wxx) to.number(sum);
}

void load_coordinates(Moments& moments, SavedReader& from) {
  for (double& sum : moments.sum_wx) sum = from.number<double>();
  for (double& sum : moments.sum_wxx) sum = from.number<double>();
}

// ---- Sums

void MomentSums::add(const Binning& binning, std::size_t axis, const double* values, std::size_t count) {
  const std::size_t axes = of_axes_.size();
  const AxisRange range = binning.axes()[axis].range();
  if (axes == 1) {
    add_values(range, values, count, before_, of_axes_[0]);
    before_ += count;
    return;
  }
  // Whether a fill counts is known when all of its coordinates are.
  double* columns = column_scratch(axes + 1);
  double* marks = columns + axes * Fills::chunk;
  std::copy_n(values, count, columns + axis * Fills::chunk);
  if (axis == 0) std::fill_n(marks, count, 0.);
  mark_outside(range, values, count, marks);
  if (axis + 1 < axes) return;
  for (std::size_t k = 0; k < axes; ++k) {
    double* column = columns + k * Fills::chunk;
    for (std::size_t i = 0; i < count; ++i) column[i] += marks[i];
    add_values(all_but_nan, column, count, before_, of_axes_[k]);
  }
  before_ += count;
}

void MomentSums::add(const std::vector<std::vector<double>>& columns, const std::vector<double>& weights) {
  const std::size_t count = weights.size();
  add_weights(columns[0].data(), weights.data(), count, before_, of_weights_);
  for (std::size_t k = 0; k < of_axes_.size(); ++k)
    add_weighted(columns[k].data(), weights.data(), count, before_, of_axes_[k]);
  before_ += count;
}

void MomentSums::add_point(const double* point, double weight) {
  const std::size_t lane = before_++ % LaneSums::lanes;
  of_weights_.add(lane, weight, weight * weight);
  for (std::size_t k = 0; k < of_axes_.size(); ++k) {
    const double weighted = weight * point[k];
    of_axes_[k].add(lane, weighted, weighted * point[k]);
  }
}

void MomentSums::add(const Moments& later) {
  of_weights_.add(0, later.sum_w, later.sum_w2);
  for (std::size_t k = 0; k < of_axes_.size(); ++k) of_axes_[k].add(0, later.sum_wx[k], later.sum_wxx[k]);
}

Moments MomentSums::total() const {
  Moments moments;
  moments.sum_w = sum_of_lanes(of_weights_.first);
  moments.sum_w2 = sum_of_lanes(of_weights_.second);
  for (const LaneSums& of_axis : of_axes_) {
    moments.sum_wx.push_back(sum_of_lanes(of_axis.first));
    moments.sum_wxx.push_back(sum_of_lanes(of_axis.second));
  }
  return moments;
}

}  // namespace colonnade::frame
