// Moments of histograms: the sums that ROOT's histograms keep in addition to bins, so that means and spreads
// are those of the values. Only fills in range on every axis count.
//
// The terms are doubles: w, w * w, w * x and (w * x) * x, each product rounded as in ROOT. The sums are
// exact, so that neither the order of the fills nor their partition matters.
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
  // The largest terms of the last chunk, by which the next one is sliced. Not part of the sums.
  double largest_first = 0, largest_second = 0;
};
// Each adds numbers and their squares:
//
// Values in range.
void add_values(const AxisRange& range, const double* values, std::size_t count, ExactPair& to);
// The weights of points in range.
void add_weights(const AxisRange& range, const double* points, const double* weights, std::size_t count,
                 ExactPair& to);
// weight * point and weight * point * point of points in range.
void add_weighted(const AxisRange& range, const double* points, const double* weights, std::size_t count,
                  ExactPair& to);
// Sets the marks of values out of range to NaN.
void mark_outside(const AxisRange& range, const double* values, std::size_t count, double* marks);

// ---- Sums

class MomentSums {
 public:
  explicit MomentSums(std::size_t axes) : of_axes_(axes) {}
  // Adds the coordinates of a chunk of fills, axis by axis. Unweighted: total() gets their number separately.
  void add(const Binning& binning, std::size_t axis, const double* values, std::size_t count);
  // The same, then the weights: only their products with the coordinates, or their own sums as well. Values
  // must stay valid until then.
  void add_coordinates(const Binning& binning, std::size_t axis, const double* values, std::size_t count);
  void add_weighted(const double* weights, std::size_t count);
  void add_weights(const double* weights, std::size_t count);
  void add(const MomentSums& other);
  Moments total() const { return total(of_weights_.first, of_weights_.second); }
  // With sums of the weights, and of their squares, kept elsewhere.
  Moments total(const ExactSum<1>& weights, const ExactSum<1>& squares) const;

  void save(SavedWriter& to) const;
  // For a state that is saved in slices, the first one has the moments.
  void save_in(std::uint64_t slice, SavedWriter& to) const {
    slice == 0 ? save(to) : MomentSums(of_axes_.size()).save(to);
  }
  void load(SavedReader& from);

 private:
  double* column(std::size_t which) const;
  void mark(const Binning& binning, std::size_t axis, const double* values, std::size_t count) const;

  // Which points count, and their coordinates on one axis.
  AxisRange range_;
  const double* points_ = nullptr;

  ExactPair of_weights_;
  std::vector<ExactPair> of_axes_;
};

}  // namespace colonnade::frame

#endif
