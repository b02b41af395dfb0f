// Axes of `hist` and Boost.Histogram, with the same binning: regular ones with a transform, circular ones,
// integers, categories. Bin 0 is the underflow, the last one the overflow and values without a bin, as on all
// axes; callers that do not want them drop them from the result.
#ifndef COLONNADE_FRAME_RESULTS_SPECIAL_AXIS_H
#define COLONNADE_FRAME_RESULTS_SPECIAL_AXIS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frame/results/options.h"

namespace colonnade::frame {

struct SpecialAxis {
  std::vector<double> edges;  // of categories: 0, 1, ...
  std::string text;           // identifies compatible axes
  bool integral = false;      // refuses values that are not integers or Boolean
  bool ordered = true;        // bins are ranges of the values
  // to[i] += stride * bin of values[i]
  std::function<void(const double* values, std::size_t count, std::uint32_t stride, std::uint32_t* to)>
      add_bins;

  // {"kind": "regular", "variable", "integer", "category" or "boolean"}; the .cpp file lists the options of
  // each.
  static std::shared_ptr<const SpecialAxis> parse(const Options& options);
};

}  // namespace colonnade::frame

#endif
