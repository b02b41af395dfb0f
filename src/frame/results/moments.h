// Moments of histograms: the sums that ROOT's histograms keep beside their bins, so that means and spreads
// are those of the values. Fills count that are in range on every axis.
//
// The sums are those of doubles: of w, w * w, w * x and (w * x) * x, each product rounded as ROOT does it.
// They are exact, so that neither the order of the fills nor how they are split matters.
#ifndef COLONNADE_FRAME_RESULTS_MOMENTS_H
#define COLONNADE_FRAME_RESULTS_MOMENTS_H

#include <cstddef>
#include <vector>

#include "frame/results/axis.h"
#include "frame/results/exact_sum.h"
#include "frame/results/result.h"
#include "frame/results/saved.h"

namespace colonnade::frame {

// ---- Loops, over at most Fills::chunk numbers

struct ExactPair {
  void add(double x, double y) {
    first.add(x);
    second.add(y);
  }
  void add(const ExactPair& other) {
    first.add(other.first);
    second.add(other.second);
  }
  ExactSum<1> first, second;
  // The largest terms of the last chunk: the next one is cut into slices by them. No part of the sums.
  double largest_first = 0, largest_second = 0;
};
// Each adds numbers and their squares.
//
// Values in range.
void add_values(const AxisRange& range, const double* values, std::size_t count, ExactPair& to);
// The weights of points in range.
void add_weights(const AxisRange& range, const double* points, const double* weights, std::size_t count,
                 ExactPair& to);
// weight * point and weight * point * point of points in range.
void add_weighted(const AxisRange& range, const double* points, const double* weights, std::size_t count,
                  ExactPair& to);
// Makes NaN of the marks of values that are not in range.
void mark_outside(const AxisRange& range, const double* values, std::size_t count, double* marks);

// ---- Sums

class MomentSums {
 public:
  explicit MomentSums(std::size_t axes) : of_axes_(axes) {}
  // The coordinates of a chunk of fills, axis by axis. Without weights: total() leaves their number open.
  void add(const Binning& binning, std::size_t axis, const double* values, std::size_t count);
  // The same, then the weights: only what they make of the coordinates, or their own sums as well. Values
  // stay where they are until then.
  void add_coordinates(const Binning& binning, std::size_t axis, const double* values, std::size_t count);
  void add_weighted(const double* weights, std::size_t count);
  void add_weights(const double* weights, std::size_t count);
  void add_point(const double* point, double weight);
  void add(const MomentSums& other);
  Moments total() const { return total(of_weights_.first, of_weights_.second); }
  // With sums of the weights, and of their squares, that were taken elsewhere.
  Moments total(const ExactSum<1>& weights, const ExactSum<1>& squares) const;

  void save(SavedWriter& to) const;
  // Those of a state that is saved in slices stand in the first one.
  void save_in(std::uint64_t slice, SavedWriter& to) const {
    slice == 0 ? save(to) : MomentSums(of_axes_.size()).save(to);
  }
  void load(SavedReader& from);

 private:
  double* column(std::size_t which) const;
  void mark(const Binning& binning, std::size_t axis, const double* values, std::size_t count) const;

  // Which points count, and where those of the chunk are, of one axis.
  AxisRange range_;
  const double* points_ = nullptr;

  ExactPair of_weights_;
  std::vector<ExactPair> of_axes_;
};

}  // namespace colonnade::frame

#endif
