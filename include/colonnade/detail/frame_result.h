// Results of a DataFrame and their values. Part of colonnade/dataframe.h.
#ifndef COLONNADE_DETAIL_FRAME_RESULT_H
#define COLONNADE_DETAIL_FRAME_RESULT_H

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "colonnade/detail/frame_graph.h"
#include "colonnade/frame_results.h"

namespace colonnade {

using Histogram = frame::HistogramValue;
using Profile = frame::ProfileValue;
using Graph = frame::GraphValue;
using Statistics = frame::StatsValue;
using FilterCount = frame::FilterCount;

// The cut flow: how many rows every named filter let pass.
struct Report {
  std::vector<FilterCount> filters;
  const FilterCount& operator[](std::string_view name) const;  // throws ErrorKind::not_found
  std::string as_string() const;                               // a line per filter
};

// Names, title and axes of a histogram: {"h", "mass", 100, 0, 200}, {"h", "mass", {0, 1, 10}}, or axis by
// axis.
struct HistogramModel {
  HistogramModel() = default;
  HistogramModel(std::string histogram_name, std::string histogram_title, std::vector<Axis> of)
      : name(std::move(histogram_name)), title(std::move(histogram_title)), axes(std::move(of)) {}
  HistogramModel(std::string histogram_name, std::string histogram_title, std::vector<double> edges)
      : HistogramModel(std::move(histogram_name), std::move(histogram_title),
                       std::vector{Axis(std::move(edges))}) {}
  HistogramModel(std::string histogram_name, std::string histogram_title, unsigned bins, double low,
                 double high)
      : HistogramModel(std::move(histogram_name), std::move(histogram_title),
                       std::vector{Axis(bins, low, high)}) {}
  HistogramModel(std::string histogram_name, std::string histogram_title, unsigned x_bins, double x_low,
                 double x_high, unsigned y_bins, double y_low, double y_high)
      : HistogramModel(std::move(histogram_name), std::move(histogram_title),
                       std::vector{Axis(x_bins, x_low, x_high), Axis(y_bins, y_low, y_high)}) {}
  HistogramModel(std::string histogram_name, std::string histogram_title, unsigned x_bins, double x_low,
                 double x_high, unsigned y_bins, double y_low, double y_high, unsigned z_bins, double z_low,
                 double z_high)
      : HistogramModel(std::move(histogram_name), std::move(histogram_title),
                       std::vector{Axis(x_bins, x_low, x_high), Axis(y_bins, y_low, y_high),
                                   Axis(z_bins, z_low, z_high)}) {}
  std::string name, title;
  std::vector<Axis> axes;
  std::string spread;  // of a profile, the kind of its errors: "" (of the mean), "s", "i" or "g" as in ROOT
};

// A result, computed by the first pass after it was booked. Copies share the value; once the last one is
// gone, passes no longer compute it.
template <class T>
class Result {
 public:
  // Runs a pass if necessary. The value lives as long as the result and its copies.
  const T& value() const {
    if (shared_->value == nullptr) {
      if (!is_ready()) detail::frame_run(graph(), id());
      shared_->value = shared_->fetch(graph(), id(), {});
    }
    return *shared_->value;
  }
  const T& operator*() const { return value(); }
  const T* operator->() const { return &value(); }
  // True if value() starts no pass.
  bool is_ready() const { return detail::frame_is_ready(graph(), id()); }

  using Fetch = std::shared_ptr<const T> (*)(const detail::FrameGraph&, detail::ResultId, std::string_view);
  Result(detail::FrameGraphPtr graph, detail::ResultId id, Fetch fetch)
      : shared_(std::make_shared<Shared>(std::move(graph), id, fetch)) {}

 private:
  template <class U>
  friend class Variations;
  friend class AnyResult;
  struct Shared {
    Shared(detail::FrameGraphPtr graph, detail::ResultId id, Fetch with)
        : booking(std::move(graph), id), fetch(with) {}
    detail::FrameBooking booking;
    Fetch fetch;
    std::shared_ptr<const T> value;
  };
  detail::FrameGraph& graph() const { return *shared_->booking.graph; }
  detail::ResultId id() const { return shared_->booking.id; }
  std::shared_ptr<Shared> shared_;
};

// A result for the nominal values and for every variation that reaches it, all computed in one pass.
template <class T>
class Variations {
 public:
  explicit Variations(const Result<T>& of)
      : result_(of), keys_(detail::frame_vary_result(of.graph(), of.id())) {}

  // "nominal", then "name:tag" in the order of creation.
  const std::vector<std::string>& keys() const noexcept { return keys_; }
  const T& operator[](const std::string& key) const {
    auto& value = values_[key];
    if (value == nullptr) {
      if (!result_.is_ready()) detail::frame_run(result_.graph(), result_.id());
      value = result_.shared_->fetch(result_.graph(), result_.id(), key);
    }
    return *value;
  }

 private:
  friend class AnyResult;
  Result<T> result_;
  std::vector<std::string> keys_;
  mutable std::map<std::string, std::shared_ptr<const T>> values_;
};

template <class T>
Variations<T> variations_for(const Result<T>& result) {
  return Variations<T>(result);
}

// A result of any type, for run_graphs().
class AnyResult {
 public:
  template <class T>
  AnyResult(const Result<T>& result) : graph_(result.shared_->booking.graph) {}
  template <class T>
  AnyResult(const Variations<T>& variations) : AnyResult(variations.result_) {}
  const detail::FrameGraphPtr& graph() const noexcept { return graph_; }

 private:
  detail::FrameGraphPtr graph_;
};

// Computes everything that is booked in the graphs of these results, all graphs in one pass with one pool of
// threads.
void run_graphs(std::span<const AnyResult> results);
inline void run_graphs(std::initializer_list<AnyResult> results) {
  run_graphs(std::span(results.begin(), results.size()));
}

}  // namespace colonnade

#endif
