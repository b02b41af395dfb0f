// Counts and reductions to one number: count, sum, min, max, mean, stddev, stats.
//
// Sums of floating-point numbers are exact until the end (exact_sum.h), those of integers have 128 bits; so
// the result does not depend on the partition of the entries.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "colonnade/error.h"
#include "frame/results/counts.h"
#include "frame/results/element_visit.h"
#include "frame/results/kinds.h"
#include "frame/results/reduction_loops.h"

namespace colonnade::frame {
namespace {

struct Settings {
  std::string what;
  ElementType element = ElementType::float64;
  std::variant<std::int64_t, double> start;
  std::vector<std::string> names;
};

// ---- Count

struct CountState {
  explicit CountState(const std::shared_ptr<const Settings>&) {}
  void add(const Rows& rows, std::span<const ValuesPtr>) { count += rows.size; }
  void merge(const CountState& later) { count += later.count; }
  ResultValue value() const { return count; }
  void save(SavedWriter& to) const { to.number(count); }
  void load(SavedReader& from) { count = from.number<std::uint64_t>(); }
  std::uint64_t count = 0;
};

// ---- Sum

// Every value once, with constants repeated.
template <class Use>
void for_each_value(const ValuesPtr& argument, const Use& use) {
  const Leaves leaves = leaves_of(argument);
  visit_element(leaves.element, [&]<class T>(std::type_identity<T>) {
    const T* data = static_cast<const T*>(leaves.data);
    if (leaves.constant) {
      for (std::size_t i = 0; i < leaves.size; ++i) use(*data);
    } else {
      for (std::size_t i = 0; i < leaves.size; ++i) use(data[i]);
    }
  });
}

// The values in chunks, as doubles: use(numbers, count).
template <class T, class Use>
void for_each_chunk(const Leaves& leaves, std::type_identity<T>, const Use& use) {
  const T* data = static_cast<const T*>(leaves.data);
  double numbers[Fills::chunk];
  if (leaves.constant) std::fill_n(numbers, std::min(Fills::chunk, leaves.size), static_cast<double>(*data));
  for (std::size_t first = 0; first < leaves.size; first += Fills::chunk) {
    const std::size_t n = std::min(Fills::chunk, leaves.size - first);
    if constexpr (std::is_same_v<T, double>) {
      use(leaves.constant ? numbers : data + first, n);
    } else {
      if (!leaves.constant) std::copy_n(data + first, n, numbers);
      use(numbers, n);
    }
  }
}

// The sum of integers. Those of up to 32 bits are added in 64 bits first.
template <class T>
Int128 sum_of_integers(const Leaves& leaves, std::type_identity<T>) {
  const T* data = static_cast<const T*>(leaves.data);
  if (leaves.constant)
    return leaves.size == 0 ? Int128{0} : static_cast<Int128>(*data) * static_cast<Int128>(leaves.size);
  using Part = std::conditional_t<sizeof(T) == 8, Int128,
                                  std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
  constexpr std::size_t most = std::size_t{1} << 31;
  Int128 sum = 0;
  for (std::size_t first = 0; first < leaves.size; first += most) {
    const std::size_t end = first + std::min(most, leaves.size - first);
    Part part = 0;
    for (std::size_t i = first; i < end; ++i) part += static_cast<Part>(data[i]);
    sum += static_cast<Int128>(part);
  }
  return sum;
}

// The exact double of every number is the number itself.
template <class T>
constexpr bool is_exact_as_double = std::is_floating_point_v<T> || sizeof(T) < 8;

bool is_signed(ElementType element) {
  return visit_element(element, []<class T>(std::type_identity<T>) { return std::is_signed_v<T>; }) ||
         element == ElementType::boolean;
}

struct IntegerSumState {
  explicit IntegerSumState(std::shared_ptr<const Settings> s) : settings(std::move(s)) {}
  void add(const Rows&, std::span<const ValuesPtr> arguments) {
    const Leaves leaves = leaves_of(arguments[0]);
    visit_element(leaves.element, [&]<class T>(std::type_identity<T> type) {
      if constexpr (std::is_integral_v<T>) sum += sum_of_integers(leaves, type);
    });
  }
  void merge(const IntegerSumState& later) { sum += later.sum; }
  // In 64 bits, if it fits.
  ResultValue value() const {
    if (const double* start = std::get_if<double>(&settings->start)) return static_cast<double>(sum) + *start;
    const Int128 total = sum + std::get<std::int64_t>(settings->start);
    const bool has_sign = is_signed(settings->element) || total < 0;
    if (has_sign && total == static_cast<std::int64_t>(total)) return static_cast<std::int64_t>(total);
    if (total == static_cast<Int128>(static_cast<std::uint64_t>(total)))
      return static_cast<std::uint64_t>(total);
    return static_cast<double>(total);
  }
  void save(SavedWriter& to) const {
    to.number(static_cast<std::uint64_t>(sum));
    to.number(static_cast<std::int64_t>(sum >> 64));
  }
  void load(SavedReader& from) {
    const auto low = from.number<std::uint64_t>();
    const auto high = from.number<std::int64_t>();
    if (high > std::int64_t{1} << 60 || high < -(std::int64_t{1} << 60))
      SavedReader::fail("a sum that is too large");
    sum = static_cast<Int128>((static_cast<Wide>(static_cast<std::uint64_t>(high)) << 64) | low);
  }
  std::shared_ptr<const Settings> settings;
  Int128 sum = 0;
};

struct RealSumState {
  explicit RealSumState(std::shared_ptr<const Settings> s) : settings(std::move(s)) {}
  void add(const Rows&, std::span<const ValuesPtr> arguments) {
    const Leaves leaves = leaves_of(arguments[0]);
    visit_element(leaves.element, [&](auto type) {
      for_each_chunk(leaves, type, [&](const double* x, std::size_t n) { add_numbers(x, n, sum, limit); });
    });
  }
  void merge(const RealSumState& later) { sum.add(later.sum); }
  ResultValue value() const {
    ExactSum<1> total = sum;
    total.add(std::visit([](auto start) { return static_cast<double>(start); }, settings->start));
    return total.value();
  }
  void save(SavedWriter& to) const { to.sum(sum); }
  void load(SavedReader& from) { sum = from.sum<1>(); }
  std::shared_ptr<const Settings> settings;
  ExactSum<1> sum;
  double limit = 0;  // see add_numbers()
};

// ---- Min, max

template <class T>
using Widest = std::conditional_t<std::is_floating_point_v<T>, double,
                                  std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

// Without values, mean, spread, minimum and maximum are NaN (decision 47).
constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

// For Kind::min or max. NaN is never the minimum or maximum, unless all values are NaN.
template <bool is_min>
struct ExtremeState {
  explicit ExtremeState(std::shared_ptr<const Settings> s) : settings(std::move(s)) {
    visit_element(settings->element, [&]<class T>(std::type_identity<T>) {
      using Limits = std::numeric_limits<std::conditional_t<std::is_floating_point_v<T>, double, T>>;
      extreme = static_cast<Widest<T>>(is_min ? Limits::max() : Limits::lowest());
    });
    if (settings->element == ElementType::boolean) extreme = std::uint64_t{is_min ? 1 : 0};
  }
  void add(const Rows&, std::span<const ValuesPtr> arguments) {
    const Leaves leaves = leaves_of(arguments[0]);
    if (leaves.size == 0) return;
    visit_element(leaves.element, [&]<class T>(std::type_identity<T>) {
      const T* data = static_cast<const T*>(leaves.data);
      const std::size_t stored = leaves.constant ? 1 : leaves.size;
      T best = is_min ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
      if constexpr (std::is_floating_point_v<T>)
        best = is_min ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
      bool nan = false;
      bool number = false;
      for (std::size_t i = 0; i < stored; ++i) {
        best = better(data[i], best) ? data[i] : best;
        nan = nan || data[i] != data[i];
        number = number || data[i] == data[i];
      }
      take(static_cast<Widest<T>>(best), nan, number);
    });
  }
  void merge(const ExtremeState& later) {
    std::visit([&](auto best) { take(best, later.nan_seen, later.number_seen); }, later.extreme);
  }
  ResultValue value() const {
    if (!number_seen) return no_value;
    return std::visit([](auto best) -> ResultValue { return best; }, extreme);
  }
  void save(SavedWriter& to) const {
    std::visit([&](auto best) { to.number(best); }, extreme);
    to.number(static_cast<std::uint8_t>(nan_seen));
    to.number(static_cast<std::uint8_t>(number_seen));
  }
  void load(SavedReader& from) {
    std::visit([&]<class T>(T& best) { best = from.number<T>(); }, extreme);
    nan_seen = from.flag();
    number_seen = from.flag();
  }

  template <class T>
  static bool better(T a, T b) {
    return is_min ? a < b : b < a;
  }
  template <class T>
  void take(T best, bool nan, bool number) {
    T& mine = std::get<T>(extreme);
    if (number && (!number_seen || better(best, mine))) mine = best;
    nan_seen = nan_seen || nan;
    number_seen = number_seen || number;
  }

  std::shared_ptr<const Settings> settings;
  std::variant<std::int64_t, std::uint64_t, double> extreme;
  bool nan_seen = false;
  bool number_seen = false;
};

// ---- Mean, stddev

// A number as two doubles: an integer of 64 bits has more digits than one.
template <class T>
std::array<double, 2> exactly(T x) {
  const auto rounded = static_cast<double>(x);
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return {rounded, static_cast<double>(static_cast<Int128>(x) - static_cast<Int128>(rounded))};
  else
    return {rounded, 0};
}

// Also where the sum is beyond the largest double and the mean is not.
template <int factors>
double mean_of(const ExactSum<factors>& sum, double weights) {
  if (weights == 0) return no_value;
  const double total = sum.value();
  return std::isinf(total) ? std::ldexp(sum.shifted(-2).value() / weights, 64) : total / weights;
}

struct MeanState {
  explicit MeanState(const std::shared_ptr<const Settings>&) {}
  void add(const Rows&, std::span<const ValuesPtr> arguments) {
    const Leaves leaves = leaves_of(arguments[0]);
    visit_element(leaves.element, [&]<class T>(std::type_identity<T> type) {
      if constexpr (std::is_integral_v<T>) {
        sum.add_scaled(sum_of_integers(leaves, type), 0);
      } else {
        for_each_chunk(leaves, type, [&](const double* x, std::size_t n) { add_numbers(x, n, sum, limit); });
      }
    });
    count += leaves.size;
  }
  void merge(const MeanState& later) {
    sum.add(later.sum);
    count += later.count;
  }
  ResultValue value() const { return mean_of(sum, static_cast<double>(count)); }
  void save(SavedWriter& to) const {
    to.number(count);
    to.sum(sum);
  }
  void load(SavedReader& from) {
    count = from.number<std::uint64_t>();
    sum = from.sum<1>();
  }
  std::uint64_t count = 0;
  ExactSum<1> sum;
  double limit = 0;  // see add_numbers()
};

// Adds the sum of (a_i b_j) over all parts.
void add_products(ExactSum<2>& to, const Parts& a, const Parts& b, double sign) {
  for (const double x : a)
    for (const double y : b) to.add_product(sign * x, y);
}

Parts parts_of(double x) {
  return {x, 0, 0};
}

// (weights * squares - sum^2): the weighted sum of squared distances from the mean, times the sum of weights.
// There is no cancellation, since nothing was rounded.
double spread_of(const Parts& weights, const Parts& squares, const Parts& sum) {
  ExactSum<2> difference;
  add_products(difference, weights, squares, 1);
  add_products(difference, sum, sum, -1);
  return difference.value();
}

double root_of(double variance) {
  return variance > 0 || std::isnan(variance) ? std::sqrt(variance) : 0;
}

// By how many times 32 bits values are moved before they are squared, so that the squares are doubles.
template <int factors>
int shift_for(const ExactSum<factors>& squares) {
  const int exponent = squares.exponent();
  return std::abs(exponent) < 600 ? 0 : -exponent / 64;
}

struct StdDevState {
  explicit StdDevState(const std::shared_ptr<const Settings>&) {}
  void add(const Rows&, std::span<const ValuesPtr> arguments) {
    const Leaves leaves = leaves_of(arguments[0]);
    visit_element(leaves.element, [&]<class T>(std::type_identity<T> type) {
      if constexpr (is_exact_as_double<T>) {
        for_each_chunk(leaves, type, [&](const double* x, std::size_t n) {
          add_numbers_and_squares(x, n, sum, squares, limit);
        });
      } else {
        for_each_value(arguments[0], [&](auto value) { add_in_parts(value); });
      }
    });
    count += leaves.size;
  }
  template <class T>
  void add_in_parts(T value) {
    const auto [x, rest] = exactly(value);
    sum.add(x);
    squares.add_product(x, x);
    if (rest != 0) {
      sum.add(rest);
      squares.add_product(2 * x, rest);
      squares.add_product(rest, rest);
    }
  }
  void merge(const StdDevState& later) {
    sum.add(later.sum);
    squares.add(later.squares);
    count += later.count;
  }
  double result() const {
    if (count < 2) return no_value;
    const auto n = static_cast<double>(count);
    const int shift = shift_for(squares);
    const double spread =
        spread_of(parts_of(n), squares.shifted(2 * shift).parts(), sum.shifted(shift).parts());
    return std::ldexp(root_of(spread / n / (n - 1)), -32 * shift);
  }
  ResultValue value() const { return result(); }
  void save(SavedWriter& to) const {
    to.number(count);
    to.sum(sum);
    to.sum(squares);
  }
  void load(SavedReader& from) {
    count = from.number<std::uint64_t>();
    sum = from.sum<1>();
    squares = from.sum<2>();
  }
  std::uint64_t count = 0;
  ExactSum<1> sum;
  ExactSum<2> squares;
  double limit = 0;  // see add_numbers()
};

// ---- Stats

struct Range {
  void add(double x) {
    if (x < min) min = x;
    if (x > max) max = x;
  }
  void merge(const Range& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
  double least() const { return min <= max ? min : no_value; }
  double greatest() const { return min <= max ? max : no_value; }
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
};

struct StatsState {
  explicit StatsState(const std::shared_ptr<const Settings>& settings) : moments(settings) {}
  void add(const Rows& rows, std::span<const ValuesPtr> arguments) {
    moments.add(rows, arguments);
    for_each_value(arguments[0], [&](auto x) { range.add(static_cast<double>(x)); });
  }
  void merge(const StatsState& later) {
    range.merge(later.range);
    moments.merge(later.moments);
  }
  ResultValue value() const {
    StatsValue stats;
    stats.count = moments.count;
    stats.sum = moments.sum.value();
    stats.mean = mean_of(moments.sum, static_cast<double>(moments.count));
    stats.stddev = moments.result();
    stats.min = range.least();
    stats.max = range.greatest();
    stats.sum_of_weights = stats.sum_of_squared_weights = static_cast<double>(moments.count);
    return stats;
  }
  void save(SavedWriter& to) const {
    moments.save(to);
    to.number(range.min);
    to.number(range.max);
  }
  void load(SavedReader& from) {
    moments.load(from);
    range.min = from.number<double>();
    range.max = from.number<double>();
  }
  StdDevState moments;
  Range range;
};

// Like TStatistic: values of weight zero do not count at all.
struct WeightedStatsState {
  explicit WeightedStatsState(std::shared_ptr<const Settings> s) : settings(std::move(s)) {}
  void add(const Rows& rows, std::span<const ValuesPtr> arguments) {
    Fills fills(rows, arguments, settings->names);
    for (std::size_t first = 0; first < fills.size(); first += Fills::chunk) {
      const std::size_t n = std::min(Fills::chunk, fills.size() - first);
      const double* x = fills.column(0, first, n, Fills::scratch(0));
      const double* w = fills.column(1, first, n, Fills::scratch(1));
      add_numbers_and_squares(w, n, weights, squared_weights, largest_weight);
      add_weighted_numbers(x, w, n, largest_weight, sum, squares, limit);
      for (std::size_t i = 0; i < n; ++i) {
        if (w[i] == 0) continue;
        ++count;
        range.add(x[i]);
      }
    }
  }
  void merge(const WeightedStatsState& later) {
    range.merge(later.range);
    count += later.count;
    weights.add(later.weights);
    squared_weights.add(later.squared_weights);
    sum.add(later.sum);
    squares.add(later.squares);
  }
  ResultValue value() const {
    StatsValue stats;
    stats.count = count;
    stats.sum = sum.value();
    stats.sum_of_weights = weights.value();
    stats.sum_of_squared_weights = squared_weights.value();
    stats.mean = mean_of(sum, stats.sum_of_weights);
    stats.min = range.least();
    stats.max = range.greatest();
    stats.stddev = no_value;
    if (count > 1 && stats.sum_of_weights != 0) stats.stddev = spread(stats.sum_of_weights);
    return stats;
  }
  double spread(double total) const {
    const auto n = static_cast<double>(count);
    const int shift = shift_for(squares);
    const double spread =
        spread_of(weights.parts(), squares.shifted(2 * shift).parts(), sum.shifted(shift).parts());
    return std::ldexp(root_of(spread / total / total * (n / (n - 1))), -32 * shift);
  }
  void save(SavedWriter& to) const {
    to.number(count);
    to.sum(weights);
    to.sum(squared_weights);
    to.sum(sum);
    to.sum(squares);
    to.number(range.min);
    to.number(range.max);
  }
  void load(SavedReader& from) {
    count = from.number<std::uint64_t>();
    weights = from.sum<1>();
    squared_weights = from.sum<2>();
    sum = from.sum<2>();
    squares = from.sum<3>();
    range.min = from.number<double>();
    range.max = from.number<double>();
  }
  std::shared_ptr<const Settings> settings;
  std::uint64_t count = 0;
  ExactSum<1> weights;
  ExactSum<2> squared_weights, sum;
  ExactSum<3> squares;
  Range range;
  double largest_weight = 0, limit = 0;  // see add_numbers_and_squares() and add_weighted_numbers()
};

// ---- Making them

std::shared_ptr<Settings> settings_of(const Request& request) {
  auto settings = std::make_shared<Settings>();
  settings->what = request.spec.kind;
  settings->names = request.spec.arguments;
  if (!request.types.empty()) {
    settings->element = request.types.front().innermost().element();
    settings->what += " of " + request.types.front().innermost().name();
  }
  return settings;
}

template <class State>
std::unique_ptr<ResultAccumulator> make(std::shared_ptr<const Settings> settings) {
  return std::make_unique<StateAccumulator<State, Settings>>(std::move(settings));
}

template <class State>
std::unique_ptr<ResultAccumulator> make_of_one(const Request& request) {
  require_arguments(request.spec, request.types, 1, 1, "one argument");
  require_numbers(request.spec, request.types);
  request.options.only({});
  return make<State>(settings_of(request));
}

}  // namespace

bool is_count(const Accumulator& accumulator) noexcept {
  return dynamic_cast<const StateAccumulator<CountState, Settings>*>(&accumulator) != nullptr;
}

std::unique_ptr<ResultAccumulator> make_count(const Request& request) {
  require_arguments(request.spec, request.types, 0, 0, "no arguments");
  request.options.only({});
  return make<CountState>(settings_of(request));
}

std::unique_ptr<ResultAccumulator> make_sum(const Request& request) {
  require_arguments(request.spec, request.types, 1, 1, "one argument");
  require_numbers(request.spec, request.types);
  request.options.only({"start"});
  auto settings = settings_of(request);
  settings->start = request.options.integer_or_real("start");
  if (request.types.front().innermost().is_floating()) return make<RealSumState>(std::move(settings));
  return make<IntegerSumState>(std::move(settings));
}

std::unique_ptr<ResultAccumulator> make_min(const Request& request) {
  return make_of_one<ExtremeState<true>>(request);
}
std::unique_ptr<ResultAccumulator> make_max(const Request& request) {
  return make_of_one<ExtremeState<false>>(request);
}
std::unique_ptr<ResultAccumulator> make_mean(const Request& request) {
  return make_of_one<MeanState>(request);
}
std::unique_ptr<ResultAccumulator> make_stddev(const Request& request) {
  return make_of_one<StdDevState>(request);
}

std::unique_ptr<ResultAccumulator> make_stats(const Request& request) {
  require_arguments(request.spec, request.types, 1, 2, "a value and, if wanted, a weight");
  require_numbers(request.spec, request.types);
  request.options.only({});
  auto settings = settings_of(request);
  if (request.types.size() == 1) return make<StatsState>(std::move(settings));
  settings->what += " with weights";
  return make<WeightedStatsState>(std::move(settings));
}

}  // namespace colonnade::frame
