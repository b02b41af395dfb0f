// The loops of sums, means and standard deviations: exact sums of whole chunks of numbers.
#ifndef COLONNADE_FRAME_RESULTS_REDUCTION_LOOPS_H
#define COLONNADE_FRAME_RESULTS_REDUCTION_LOOPS_H

#include <cstddef>

#include "frame/results/exact_sum.h"

namespace colonnade::frame {

// Adds at most Fills::chunk numbers, or those and their squares. `limit` is a power of two above the numbers
// of an earlier chunk, by which this one is sliced, or 0. It is not part of the sums.
void add_numbers(const double* numbers, std::size_t count, ExactSum<1>& sum, double& limit);
void add_numbers_and_squares(const double* numbers, std::size_t count, ExactSum<1>& sum, ExactSum<2>& squares,
                             double& limit);
// Adds products with weights, and of those with the numbers, except where the weight is zero.
// `largest_weight` is the `limit` of the weights.
void add_weighted_numbers(const double* numbers, const double* weights, std::size_t count,
                          double largest_weight, ExactSum<2>& sum, ExactSum<3>& squares, double& limit);

}  // namespace colonnade::frame

#endif
