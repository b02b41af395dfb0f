// See axis.h.
#include "frame/results/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/histogram/axis/variable.hpp>
#include <cmath>
#include <limits>

#include "colonnade/error.h"

namespace colonnade::frame {

RegularAxis RegularAxis::make(std::uint32_t bins, double low, double high) {
  return {bins, low, high, (high - low) / bins, bins / (high - low)};
}

bool RegularAxis::can_be(std::uint32_t bins, double low, double high) noexcept {
  return low < high && std::isfinite(high - low) && (high - low) / bins >= std::numeric_limits<double>::min();
}

std::uint32_t RegularAxis::find(double x) const noexcept {
  if (x < low) return 0;
  if (!(x < high)) return bins + 1;
  const double guess = std::min(std::floor((x - low) * inverse), static_cast<double>(bins));
  std::uint32_t bin = static_cast<std::uint32_t>(guess) + 1;
  if (x < low + guess * width) {
    --bin;
  } else if (x >= low + (guess + 1) * width) {
    ++bin;
  }
  return std::min(bin, bins + 1);
}

AxisRange RegularAxis::range() const noexcept {
  // The upper edge of the last bin, as computed by find(), may be rounded below `high`.
  return {low, std::min(high, low + bins * width)};
}

struct Axis::Variable {
  boost::histogram::axis::variable<double> axis;
  std::vector<double> edges;
};

namespace {

// The number of edges that are not above x: equals the axis' own search, but without unpredictable
// branches.
std::uint32_t edges_up_to(const std::vector<double>& edges, double x) {
  const double* at = edges.data();
  for (std::size_t left = edges.size(); left > 1;) {
    const std::size_t half = left / 2;
    at += static_cast<std::size_t>(at[half] <= x) * half;
    left -= half;
  }
  return static_cast<std::uint32_t>(at - edges.data()) + static_cast<std::uint32_t>(*at <= x);
}

}  // namespace

Axis Axis::parse(const Options& options) {
  Axis axis;
  axis.name_ = options.text("name");
  if (options.has("kind")) {
    axis.special_ = SpecialAxis::parse(options);
    return axis;
  }
  options.only({"bins", "low", "high", "edges", "name"});
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  if (options.has("edges")) {
    if (options.has("bins") || options.has("low") || options.has("high"))
      options.refuse("edges", "either edges, or bins with low and high");
    const std::vector<double> edges = options.numbers("edges");
    const bool grow = std::adjacent_find(edges.begin(), edges.end(),
                                         [](double a, double b) { return !(a < b); }) == edges.end();
    if (edges.size() < 2 || edges.size() > most || !grow)
      options.refuse("edges", "two or more growing numbers");
    axis.variable_ = std::make_shared<const Variable>(
        Variable{boost::histogram::axis::variable<double>(edges.begin(), edges.end()), edges});
    return axis;
  }
  if (!options.has("bins")) options.refuse("bins", "the number of bins, or edges");
  const auto bins = static_cast<std::uint32_t>(options.count("bins", 0, 1, most));
  if (options.has("low") != options.has("high"))
    options.refuse(options.has("low") ? "high" : "low", "both low and high, or neither");
  axis.regular_.bins = bins;
  axis.automatic_ = !options.has("low");
  if (axis.automatic_) return axis;
  const double low = options.number("low", 0);
  const double high = options.number("high", 0);
  if (!RegularAxis::can_be(bins, low, high))
    options.refuse("high",
                   low < high
                       ? fmt::format("a number at a distance from low = {} that {} bins can share", low, bins)
                       : fmt::format("a number above low = {}", low));
  axis.set_range(low, high);
  return axis;
}

std::uint32_t Axis::bins() const noexcept {
  if (special_ != nullptr) return static_cast<std::uint32_t>(special_->edges.size() - 1);
  return variable_ != nullptr ? static_cast<std::uint32_t>(variable_->axis.size()) : regular_.bins;
}

void Axis::set_range(double low, double high) {
  regular_ = RegularAxis::make(regular_.bins, low, high);
}

AxisRange Axis::range() const noexcept {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (automatic_) return widest();
  if (special_ != nullptr && !special_->ordered) return {-infinity, infinity};
  if (special_ != nullptr) return {special_->edges.front(), special_->edges.back()};
  if (variable_ == nullptr) return regular_.range();
  return {variable_->edges.front(), variable_->edges.back()};
}

std::uint32_t Axis::find(double x) const {
  if (special_ != nullptr) {
    std::uint32_t bin = 0;
    special_->add_bins(&x, 1, 1, &bin);
    return bin;
  }
  if (variable_ == nullptr) return regular_.find(x);
  return static_cast<std::uint32_t>(variable_->axis.index(x) + 1);
}

void Axis::add_bins(const double* values, std::size_t count, std::uint32_t stride, std::uint32_t* to) const {
  if (special_ != nullptr) return special_->add_bins(values, count, stride, to);
  if (variable_ == nullptr) return frame::add_bins(regular_, values, count, stride, to);
  const std::vector<double>& edges = variable_->edges;
  const auto overflow = static_cast<std::uint32_t>(edges.size());
  for (std::size_t i = 0; i < count; ++i)
    to[i] += stride * (std::isnan(values[i]) ? overflow : edges_up_to(edges, values[i]));
}

AxisValue Axis::value() const {
  AxisValue value;
  value.name = name_;
  if (special_ != nullptr) {
    value.edges = special_->edges;
    return value;
  }
  value.regular = variable_ == nullptr;
  value.edges.resize(bins() + 1);
  for (std::uint32_t k = 0; k <= bins(); ++k)
    value.edges[k] = value.regular ? regular_.low + k * regular_.width : variable_->axis.value(k);
  if (value.regular) value.edges.back() = regular_.high;
  return value;
}

std::string Axis::text() const {
  if (special_ != nullptr) return special_->text;
  if (automatic_) return fmt::format("{} bins", regular_.bins);
  if (variable_ == nullptr)
    return fmt::format("{} bins from {} to {}", regular_.bins, regular_.low, regular_.high);
  std::string edges;
  for (int k = 0; k <= variable_->axis.size(); ++k) edges += fmt::format(" {}", variable_->axis.value(k));
  return fmt::format("edges{}", edges);
}

// ---- Binning

Binning Binning::parse(const Options& options, std::size_t least_axes) {
  Binning binning;
  for (const Options& axis : options.objects("axes")) binning.axes_.push_back(Axis::parse(axis));
  if (binning.axes_.size() < least_axes)
    options.refuse("axes", "a list with one axis or more, such as {\"bins\": 100, \"low\": 0, \"high\": 1}");
  double cells = 1;
  for (const Axis& axis : binning.axes_) cells *= axis.bins() + 2.;
  if (cells > std::numeric_limits<std::int32_t>::max())
    throw Error(
        ErrorKind::resource, fmt::format("{} has {:.3g} bins", options.what(), cells),
        fmt::format("use at most {} with those beyond the edges", std::numeric_limits<std::int32_t>::max()));
  binning.cells_ = static_cast<std::uint32_t>(cells);
  return binning;
}

bool Binning::automatic() const noexcept {
  return std::any_of(axes_.begin(), axes_.end(), [](const Axis& axis) { return axis.automatic(); });
}

void Binning::require_integers(const ResultSpec& spec, std::span<const ValueType> types) const {
  for (std::size_t k = 0; k < axes_.size() && k < types.size(); ++k) {
    if (!axes_[k].integral()) continue;
    ValueType of = types[k];
    while (of.is_list()) of = of.item();
    if (of.is_integer()) continue;
    throw Error(ErrorKind::type,
                fmt::format("an axis of {} cannot be filled with '{}', which is '{}'", axes_[k].text(),
                            k < spec.arguments.size() ? spec.arguments[k] : "", types[k].name()),
                "int(...) of it, or a regular axis");
  }
}

bool Binning::is_inner(std::uint32_t bin) const noexcept {
  for (const Axis& axis : axes_) {
    const std::uint32_t of_axis = bin % (axis.bins() + 2);
    if (of_axis == 0 || of_axis > axis.bins()) return false;
    bin /= axis.bins() + 2;
  }
  return true;
}

std::string Binning::text() const {
  std::string text;
  for (const Axis& axis : axes_) text += fmt::format("{}{}", text.empty() ? "" : " x ", axis.text());
  return text;
}

std::vector<AxisValue> Binning::values() const {
  std::vector<AxisValue> values;
  values.reserve(axes_.size());
  for (const Axis& axis : axes_) values.push_back(axis.value());
  return values;
}

}  // namespace colonnade::frame
