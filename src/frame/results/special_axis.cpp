// See special_axis.h.
#include "frame/results/special_axis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <unordered_map>
#include <utility>

#include "colonnade/error.h"
#include "frame/kernels/mathematics.h"

namespace colonnade::frame {
namespace {

constexpr std::uint64_t most_bins = std::uint64_t{1} << 30;

// With Colonnade's own functions: those of the C library round differently from one processor to the next.
void transform(Mathematics function, std::size_t count, std::initializer_list<Operand> operands, double* to) {
  math_loop(function, ElementType::float64)(count, operands.begin(), to);
}

// to[i] += stride * (index(values[i]) + 1), where an index is -1 below the axis and `bins` above it.
template <class Index>
void add_by(SpecialAxis& made, Index index) {
  made.add_bins = [index = std::move(index)](const double* values, std::size_t count, std::uint32_t stride,
                                             std::uint32_t* to) {
    for (std::size_t i = 0; i < count; ++i)
      to[i] += stride * static_cast<std::uint32_t>(index(values[i]) + 1);
  };
}

// The relevant part of a regular axis: the relative position of x, 0 to 1.
struct Regular {
  double low = 0;
  double width = 1;  // of the whole axis
  int bins = 1;
  bool circular = false;
  bool closed = false;

  int index(double x) const noexcept {
    double z = (x - low) / width;
    if (circular) {
      if (!std::isfinite(z)) return bins;
      z -= std::floor(z);
      return static_cast<int>(z * bins);
    }
    if (z < 1) return z >= 0 ? static_cast<int>(z * bins) : -1;
    return closed && z == 1 ? bins - 1 : bins;
  }
};

// The bins by the index of the transformed values, in chunks.
template <class Transformed>
void add_transformed(SpecialAxis& made, const Regular& axis, Transformed transformed) {
  made.add_bins = [axis, transformed](const double* values, std::size_t count, std::uint32_t stride,
                                      std::uint32_t* to) {
    std::array<double, 256> some;
    for (std::size_t first = 0; first < count; first += some.size()) {
      const std::size_t size = std::min(some.size(), count - first);
      transformed(values + first, size, some.data());
      for (std::size_t i = 0; i < size; ++i)
        to[first + i] += stride * static_cast<std::uint32_t>(axis.index(some[i]) + 1);
    }
  };
}

// {"bins", "low", "width"} in transformed numbers: {"transform": "log", "sqrt" or "pow"} with {"power"};
// {"edges"} in plain numbers; {"circular"}; {"closed"}: the last edge belongs to the last bin.
void parse_regular(SpecialAxis& made, const Options& options) {
  options.only({"kind", "name", "bins", "low", "width", "edges", "transform", "power", "circular", "closed"});
  const auto bins = static_cast<int>(options.count("bins", 0, 1, most_bins));
  const Regular axis = {options.number("low", 0), options.number("width", 0), bins,
                        options.flag("circular", false), options.flag("closed", false)};
  made.edges = options.numbers("edges");
  if (!(axis.width != 0) || !std::isfinite(axis.low) || !std::isfinite(axis.width))
    options.refuse("width", "a finite number other than 0");
  if (made.edges.size() != static_cast<std::size_t>(bins) + 1) options.refuse("edges", "bins + 1 numbers");
  const std::string by = options.choice("transform", {"none", "log", "sqrt", "pow"});
  const double power = options.number("power", 1);
  made.text = fmt::format("{} bins from {} over {} by {} {}{}{}", bins, axis.low, axis.width, by, power,
                          axis.circular ? ", circular" : "", axis.closed ? ", closed" : "");
  if (by == "log")
    return add_transformed(made, axis, [](const double* values, std::size_t count, double* to) {
      transform(Mathematics::log, count, {{values, false}}, to);
    });
  if (by == "pow")
    return add_transformed(made, axis, [power](const double* values, std::size_t count, double* to) {
      transform(Mathematics::pow, count, {{values, false}, {&power, true}}, to);
    });
  if (by == "sqrt") return add_by(made, [axis](double x) { return axis.index(std::sqrt(x)); });
  add_by(made, [axis](double x) { return axis.index(x); });
}

// {"edges"}, and {"circular"} or {"closed"}: an axis with edges only has no kind.
void parse_variable(SpecialAxis& made, const Options& options) {
  options.only({"kind", "name", "edges", "circular", "closed"});
  made.edges = options.numbers("edges");
  const bool grow = std::ranges::adjacent_find(made.edges, std::greater_equal<>()) == made.edges.end();
  if (made.edges.size() < 2 || !grow) options.refuse("edges", "two or more growing numbers");
  const bool circular = options.flag("circular", false);
  const bool closed = options.flag("closed", false);
  if (!circular && !closed) options.refuse("kind", "none beside plain edges");
  made.text = fmt::format("edges {}{}{}", fmt::join(made.edges, " "), circular ? ", circular" : "",
                          closed ? ", closed" : "");
  add_by(made, [edges = made.edges, circular, closed](double x) {
    const double low = edges.front();
    const double high = edges.back();
    if (circular && !std::isfinite(x)) return static_cast<int>(edges.size()) - 1;
    if (circular) x -= std::floor((x - low) / (high - low)) * (high - low);
    if (closed && x == high) return static_cast<int>(edges.size()) - 2;
    return static_cast<int>(std::upper_bound(edges.begin(), edges.end(), x) - edges.begin()) - 1;
  });
}

// {"bins", "low"}, {"circular"}.
void parse_integer(SpecialAxis& made, const Options& options) {
  options.only({"kind", "name", "bins", "low", "circular"});
  const auto bins = static_cast<double>(options.count("bins", 0, 1, most_bins));
  const double low = std::floor(options.number("low", 0));
  const bool circular = options.flag("circular", false);
  made.integral = true;
  made.text = fmt::format("integers from {} to {}", low, low + bins);
  for (double k = 0; k <= bins; ++k) made.edges.push_back(low + k);
  made.add_bins = [=](const double* values, std::size_t count, std::uint32_t stride, std::uint32_t* to) {
    for (std::size_t i = 0; i < count; ++i) {
      double z = values[i] - low;
      if (circular) z -= std::floor(z / bins) * bins;
      to[i] += stride * static_cast<std::uint32_t>(std::clamp(z, -1., bins) + 1);
    }
  };
}

// {"categories"}: integers in any order.
void parse_category(SpecialAxis& made, const Options& options) {
  options.only({"kind", "name", "categories"});
  const std::vector<double> categories = options.numbers("categories");
  std::unordered_map<double, std::uint32_t> numbers;
  made.edges.push_back(0);
  for (const double category : categories) {
    made.edges.push_back(static_cast<double>(made.edges.size()));
    if (!numbers.emplace(category, static_cast<std::uint32_t>(numbers.size() + 1)).second)
      options.refuse("categories", "each category once");
  }
  if (categories.empty()) options.refuse("categories", "one category or more");
  made.integral = true;
  made.ordered = false;
  made.text = fmt::format("categories {}", fmt::join(categories, " "));
  made.add_bins = [numbers = std::move(numbers)](const double* values, std::size_t count,
                                                 std::uint32_t stride, std::uint32_t* to) {
    const auto other = static_cast<std::uint32_t>(numbers.size() + 1);
    for (std::size_t i = 0; i < count; ++i) {
      const auto found = numbers.find(values[i]);
      to[i] += stride * (found == numbers.end() ? other : found->second);
    }
  };
}

void parse_boolean(SpecialAxis& made, const Options& options) {
  options.only({"kind", "name"});
  made.integral = true;
  made.text = "false and true";
  made.edges = {0, 1, 2};
  made.add_bins = [](const double* values, std::size_t count, std::uint32_t stride, std::uint32_t* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] += stride * (values[i] != 0 ? 2u : 1u);
  };
}

}  // namespace

std::shared_ptr<const SpecialAxis> SpecialAxis::parse(const Options& options) {
  auto made = std::make_shared<SpecialAxis>();
  const std::string kind = options.choice("kind", {"regular", "variable", "integer", "category", "boolean"});
  if (kind == "regular") parse_regular(*made, options);
  if (kind == "variable") parse_variable(*made, options);
  if (kind == "integer") parse_integer(*made, options);
  if (kind == "category") parse_category(*made, options);
  if (kind == "boolean") parse_boolean(*made, options);
  return made;
}

}  // namespace colonnade::frame
