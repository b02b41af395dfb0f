// The values of a DataFrame's results: plain data, copied freely. Copies of a
// snapshot's value share its writer.
#ifndef COLONNADE_FRAME_RESULTS_H
#define COLONNADE_FRAME_RESULTS_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colonnade {
class Writer;
}

namespace colonnade::frame {

struct StatsValue {
  std::uint64_t count = 0;
  double sum = 0, mean = 0, stddev = 0, min = 0, max = 0;
  double sum_of_weights = 0, sum_of_squared_weights = 0;  // unweighted: every weight is 1
};

struct AxisValue {
  std::string name;
  std::vector<double> edges;  // bins + 1
  bool regular = false;
};

// Sums over the fills that are in range on every axis, as in ROOT's histograms: they give means and spreads
// of the values, not of the bins.
struct Moments {
  double sum_w = 0, sum_w2 = 0;         // of the weights (1 if unweighted) and of their squares
  std::vector<double> sum_wx, sum_wxx;  // per axis, of the coordinates and of their squares
};

// Bins with underflow and overflow on both ends of every axis; the first axis varies fastest.
struct HistogramValue {
  std::string name, title;
  std::vector<AxisValue> axes;
  bool weighted = false;
  std::vector<double> values;     // sums of weights
  std::vector<double> variances;  // sums of squared weights; empty unless weighted
  std::uint64_t entries = 0;      // fills
  Moments moments;
};

struct ProfileValue {
  std::string name, title, spread;
  std::vector<AxisValue> axes;
  std::vector<double> sum_w, sum_w2, sum_wy, sum_wyy;  // per bin, as above
  std::vector<double> sum_wx, sum_wxx;                 // per axis, of fills in range on every axis
  std::uint64_t entries = 0;
};

struct GraphValue {
  std::string name, title;
  std::vector<double> x, y;
  std::vector<double> errors[4];  // x low, x high, y low, y high; empty without errors
};

struct SnapshotValue {
  std::string uri, name;
  std::uint64_t entries = 0;
  std::shared_ptr<Writer> writer = nullptr;  // of a snapshot that is left uncommitted, {"commit": false}
};

// How many rows a filter of a report let pass.
struct FilterCount {
  std::string name;
  std::uint64_t all = 0;
  std::uint64_t passed = 0;
};

}  // namespace colonnade::frame

#endif
