// Axes as `hist` and Boost.Histogram have them, which put each value into the bin that those put it into:
// regular ones with a transform, circular ones, integers, categories. Bin 0 takes what is below, the last one
// what is above or nowhere, as on all axes; who does not want them leaves them out of what comes back.
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
  std::string text;           // tells apart axes whose bins cannot be added
  bool integral = false;      // refuses values that are not integers or Boolean
  bool ordered = true;        // are bins ranges of the values?
  // to[i] += stride * bin of values[i]
  std::function<void(const double* values, std::size_t count, std::uint32_t stride, std::uint32_t* to)>
      add_bins;

  // {"kind": "regular", "variable", "integer", "category" or "boolean"}; see the .cpp file for what goes with
  // each.
  static std::shared_ptr<const SpecialAxis> parse(const Options& options);
};

}  // namespace colonnade::frame

#endif
