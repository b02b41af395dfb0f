// Declarations shared by the kinds of histograms.
#ifndef COLONNADE_FRAME_RESULTS_HISTOGRAM_H
#define COLONNADE_FRAME_RESULTS_HISTOGRAM_H

#include <memory>
#include <string>
#include <vector>

#include "frame/results/axis.h"
#include "frame/results/kinds.h"

namespace colonnade::frame {

struct HistogramSettings {
  std::string what;
  std::string name;
  std::string title;
  bool weighted = false;
  Binning binning;
  std::vector<std::string> names;  // texts of the arguments
};

// For histograms with an automatic axis.
std::unique_ptr<ResultAccumulator> make_automatic_histogram(
    std::shared_ptr<const HistogramSettings> settings);

}  // namespace colonnade::frame

#endif
