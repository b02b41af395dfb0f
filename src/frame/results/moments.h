// Moments of histograms: the sums that ROOT's histograms keep beside their bins, so that means and spreads
// are those of the values. Fills count that are in range on every axis.
//
// Numbers are added to eight sums in turn, so that a processor can do several at once. What comes out depends
// on the order of the numbers alone, neither on the processor nor on how they come in chunks.
#ifndef COLONNADE_FRAME_RESULTS_MOMENTS_H
#define COLONNADE_FRAME_RESULTS_MOMENTS_H

#include <array>
#include <cstddef>
#include <vector>

#include "frame/results/axis.h"
#include "frame/results/result.h"
#include "frame/results/saved.h"

namespace colonnade::frame {

Moments no_moments(std::size_t axes);
void add_moments(Moments& to, const Moments& later);
void save_moments(const Moments& moments, SavedWriter& to);
Moments load_moments(SavedReader& from, std::size_t axes);
// Without those of the weights.
void save_coordinates(const Moments& moments, SavedWriter& to);
void load_coordinates(Moments& moments, SavedReader& from);

// ---- Loops

struct LaneSums {
  static constexpr std::size_t lanes = 8;
  void add(std::size_t lane, double x, double xx) {
    first[lane] += x;
    second[lane] += xx;
  }
  std::array<double, lanes> first{}, second{};
};
// Each adds `count` numbers and their squares, those that are left out as zeros; `before` is how many were
// added already.
//
// Values in range.
void add_values(const AxisRange& range, const double* values, std::size_t count, std::size_t before,
                LaneSums& to);
// The weights of points that are not NaN.
void add_weights(const double* points, const double* weights, std::size_t count, std::size_t before,
                 LaneSums& to);
// weight * point and weight * point^2 of points that are not NaN.
void add_weighted(const double* points, const double* weights, std::size_t count, std::size_t before,
                  LaneSums& to);
// Makes NaN of the marks of values that are not in range.
void mark_outside(const AxisRange& range, const double* values, std::size_t count, double* marks);

// ---- Sums

class MomentSums {
 public:
  explicit MomentSums(std::size_t axes) : of_axes_(axes) {}
  // The coordinates of a chunk of fills, axis by axis. Without weights: total() leaves their number open.
  void add(const Binning& binning, std::size_t axis, const double* values, std::size_t count);
  // A column for each axis, NaN where a fill is out of range.
  void add(const std::vector<std::vector<double>>& columns, const std::vector<double>& weights);
  void add_point(const double* point, double weight);
  void add(const Moments& later);
  Moments total() const;

 private:
  std::size_t before_ = 0;
  LaneSums of_weights_;
  std::vector<LaneSums> of_axes_;
};

}  // namespace colonnade::frame

#endif
