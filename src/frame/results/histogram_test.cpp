// Histograms, profiles and graphs: against plain references, at the edges, and for every split.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/each_target.h"
#include "base/test_sanitized.h"
#include "frame/results/axis.h"
#include "frame/results/cells.h"
#include "frame/results/moments.h"
#include "frame/results/test_results.h"

namespace colonnade::frame {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

const char* const ten_bins = R"({"axes": [{"bins": 10, "low": 0, "high": 1, "name": "x"}]})";
const char* const automatic = R"({"axes": [{"bins": 128}]})";

void expect_same(const Moments& a, const Moments& b) {
  EXPECT_EQ(a.sum_w, b.sum_w);
  EXPECT_EQ(a.sum_w2, b.sum_w2);
  EXPECT_EQ(a.sum_wx, b.sum_wx);
  EXPECT_EQ(a.sum_wxx, b.sum_wxx);
}

void expect_same(const HistogramValue& a, const HistogramValue& b) {
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(a.variances, b.variances);
  EXPECT_EQ(a.entries, b.entries);
  ASSERT_EQ(a.axes.size(), b.axes.size());
  for (std::size_t k = 0; k < a.axes.size(); ++k) EXPECT_EQ(a.axes[k].edges, b.axes[k].edges);
  expect_same(a.moments, b.moments);
}

// ---- Axes

TEST(Axis, EdgesBelongToTheBinAbove) {
  for (const auto& [bins, low, high] : {std::tuple{100u, 0.1, 7.3},
                                        {100u, 5050., 5500.},
                                        {37u, -1.7, 2.9},
                                        {7u, -3., 1e-3},
                                        {1000u, 0., 1.}}) {
    const RegularAxis axis = RegularAxis::make(bins, low, high);
    for (std::uint32_t k = 0; k < bins; ++k) {
      const double edge = low + k * axis.width;
      EXPECT_EQ(axis.find(edge), k + 1) << edge;
      EXPECT_EQ(axis.find(std::nextafter(edge, -infinity)), k) << edge;
    }
    EXPECT_EQ(axis.find(high), bins + 1);
    EXPECT_EQ(axis.find(infinity), bins + 1);
    EXPECT_EQ(axis.find(-infinity), 0u);
    EXPECT_EQ(axis.find(nan), bins + 1);
  }
}

TEST(Axis, VectorsFindTheBinsThatSingleValuesFind) {
  std::vector<double> values = normal_numbers(10000, 0.5, 0.4);
  const RegularAxis axis = RegularAxis::make(13, 0.1, 0.9);
  for (std::uint32_t k = 0; k <= 13; ++k)
    for (const double to : {-infinity, 0.1 + k * axis.width, infinity})
      values.push_back(std::nextafter(0.1 + k * axis.width, to));
  for (const double x : {nan, infinity, -infinity, 1e308, -1e308, 5e-324, -0., 1e19, -1e19})
    values.push_back(x);
  with_each_target([&] {
    std::vector<std::uint32_t> bins(values.size(), 7);
    add_bins(axis, values.data(), values.size(), 3, bins.data());
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(bins[i], 7 + 3 * axis.find(values[i])) << values[i];
  });
}

TEST(Axis, RangeEndsWhereTheLastBinDoes) {
  bool is_rounded = false;
  for (std::uint32_t bins = 1; bins < 200; ++bins) {
    const RegularAxis axis = RegularAxis::make(bins, 0.1, 7.3);
    const AxisRange range = axis.range();
    EXPECT_EQ(axis.find(range.low), 1u);
    EXPECT_EQ(axis.find(std::nextafter(range.high, -infinity)), bins);
    EXPECT_EQ(axis.find(range.high), bins + 1);
    is_rounded = is_rounded || range.high < axis.high;
  }
  EXPECT_TRUE(is_rounded);
}

// ---- Histograms

TEST(Histogram, CountsWithBothEnds) {
  const Pass pass({"histogram", {"x"}, ten_bins},
                  {column<double>({-0.1, 0, 0.05, 0.1, 0.95, 1, 2, nan, infinity, -infinity})});
  const auto h = pass.get<HistogramValue>();
  EXPECT_EQ(h.values, (std::vector<double>{2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 4}));
  EXPECT_EQ(h.entries, 10u);
  EXPECT_FALSE(h.weighted);
  EXPECT_TRUE(h.variances.empty());
  EXPECT_EQ(h.axes[0].name, "x");
  EXPECT_EQ(h.axes[0].edges.size(), 11u);
  EXPECT_EQ(h.axes[0].edges.back(), 1);
}

TEST(Histogram, NothingFilled) {
  const auto h = Pass({"histogram", {"x"}, ten_bins}, {column<float>({})}).get<HistogramValue>();
  EXPECT_EQ(h.values, std::vector<double>(12, 0));
  EXPECT_EQ(h.entries, 0u);
}

TEST(Histogram, VariableEdges) {
  const Pass pass({"histogram", {"x"}, R"({"axes": [{"edges": [0, 1, 10, 100]}]})"},
                  {column<double>({-1, 0, 0.5, 1, 9.99, 10, 99, 100, nan})});
  const auto h = pass.get<HistogramValue>();
  EXPECT_EQ(h.values, (std::vector<double>{1, 2, 2, 2, 2}));
  EXPECT_FALSE(h.axes[0].regular);
  EXPECT_EQ(h.axes[0].edges, (std::vector<double>{0, 1, 10, 100}));
}

TEST(Axis, VariableEdgesAreFoundAlike) {
  for (const std::size_t bins : {1, 2, 3, 4, 7, 8, 31, 100}) {
    std::vector<double> edges = normal_numbers(bins + 1, 0, 1, static_cast<unsigned>(bins));
    std::sort(edges.begin(), edges.end());
    std::string json;
    for (const double edge : edges) json += (json.empty() ? "" : ", ") + fmt::format("{:.17g}", edge);
    const Axis axis = Axis::parse(Options("{\"edges\": [" + json + "]}", "an axis"));
    std::vector<double> values = normal_numbers(500, 0, 1.5);
    for (const double edge : edges)
      for (const double to : {-infinity, edge, infinity}) values.push_back(std::nextafter(edge, to));
    for (const double x : {nan, infinity, -infinity}) values.push_back(x);
    std::vector<std::uint32_t> found(values.size(), 0);
    axis.add_bins(values.data(), values.size(), 1, found.data());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(found[i], axis.find(values[i])) << values[i];
  }
}

TEST(Histogram, AllTypesOfNumbers) {
  const auto filled = [](ValuesPtr values) {
    return Pass({"histogram", {"x"}, R"({"axes": [{"bins": 3, "low": 0, "high": 3}]})"}, {std::move(values)})
        .get<HistogramValue>()
        .values;
  };
  const std::vector<double> expected = {0, 1, 2, 0, 0};
  const bool flags[] = {true, false, true};
  EXPECT_EQ(filled(make_scalars(ElementType::boolean, 3, flags, nullptr)), expected);
  EXPECT_EQ(filled(column<std::int8_t>({0, 1, 1})), expected);
  EXPECT_EQ(filled(column<std::uint64_t>({0, 1, 1})), expected);
  EXPECT_EQ(filled(column<float>({0, 1, 1.5f})), expected);
  EXPECT_EQ(filled(make_constant<std::int16_t>(4, 2)), (std::vector<double>{0, 0, 0, 4, 0}));
}

TEST(Histogram, ListsAndScalarsBesideThem) {
  const char* const options = R"({"axes": [{"bins": 10, "low": 0, "high": 10}], "weighted": true})";
  const ValuesPtr lists = list_column<float>({{1, 2, 0}, {}, {1, 2, 1}, {5}});
  const ValuesPtr scalars = column<double>({0.5, 100, 1.5, 4});
  const auto by_list = Pass({"histogram", {"v", "w"}, options}, {lists, scalars});
  EXPECT_EQ(by_list.get<HistogramValue>().values,
            (std::vector<double>{0, .5, 3.5, 2, 0, 0, 4, 0, 0, 0, 0, 0}));
  EXPECT_EQ(by_list.get<HistogramValue>().entries, 7u);
  const auto by_scalar = Pass({"histogram", {"s", "v"}, options}, {scalars, lists});
  EXPECT_EQ(by_scalar.get<HistogramValue>().values,
            (std::vector<double>{0, 3, 4, 0, 0, 5, 0, 0, 0, 0, 0, 0}));
  for (const Way& way : ways()) {
    expect_same(by_list.get<HistogramValue>(way), by_list.get<HistogramValue>());
    expect_same(by_scalar.get<HistogramValue>(way), by_scalar.get<HistogramValue>());
  }
}

TEST(Histogram, ListsWithinListsBesideLists) {
  const ValuesPtr inner = list_column<double>({{1, 2}, {}, {3}, {4, 5}});
  const auto offsets = std::make_shared<std::vector<std::int64_t>>(std::vector<std::int64_t>{0, 2, 2, 4});
  const ValuesPtr deep = make_list(3, offsets->data(), inner, offsets);
  const ValuesPtr weights = make_list(3, offsets->data(), column<double>({10, 20, 30, 40}), offsets);
  const char* const options = R"({"axes": [{"bins": 6, "low": 0, "high": 6}], "weighted": true})";
  EXPECT_EQ(Pass({"histogram", {"d", "w"}, options}, {deep, weights}).get<HistogramValue>({3, 1}).values,
            (std::vector<double>{0, 0, 10, 10, 30, 40, 40, 0}));
}

TEST(Histogram, ListsOfDifferentLengths) {
  const Pass pass(
      {"histogram", {"a", "b"}, R"({"axes": [{"bins": 9, "low": 0, "high": 9}], "weighted": true})"},
      {list_column<float>({{1}, {1, 2}}), list_column<float>({{1}, {1}})});
  expect_error([&] { pass.value(); }, ErrorKind::usage, {"entry 1", "'a'", "'b'", "1 items", "2"});
}

// The true sums of the terms added to each bin.
class TrueSums {
 public:
  explicit TrueSums(std::size_t bins) : sums_(bins) {}
  ExactSum<1>& operator[](std::size_t bin) { return sums_[bin]; }
  std::vector<double> values() const {
    std::vector<double> values;
    for (const ExactSum<1>& sum : sums_) values.push_back(sum.value());
    return values;
  }

 private:
  std::vector<ExactSum<1>> sums_;
};

TEST(Histogram, WeightsAreAddedExactly) {
  const std::size_t n = 20000;
  const auto x = normal_numbers(n, 0.5, 0.3);
  const auto w = normal_numbers(n, 1, 0.1, 7);
  const Pass pass(
      {"histogram", {"x", "w"}, R"({"axes": [{"bins": 10, "low": 0, "high": 1}], "weighted": true})"},
      {column(x), column(w)});
  const RegularAxis axis = RegularAxis::make(10, 0, 1);
  TrueSums sums(12);
  TrueSums squares(12);
  for (std::size_t i = 0; i < n; ++i) {
    sums[axis.find(x[i])].add(w[i]);
    squares[axis.find(x[i])].add(w[i] * w[i]);
  }
  const auto first = pass.get<HistogramValue>();
  for (const Way& way : ways()) {
    const auto h = pass.get<HistogramValue>(way);
    EXPECT_EQ(h.values, sums.values());
    EXPECT_EQ(h.variances, squares.values());
    EXPECT_EQ(h.entries, n);
    expect_same(h.moments, first.moments);
  }
}

TEST(Histogram, SeveralDimensions) {
  const auto x = normal_numbers(3000, 0, 1, 1);
  const auto y = normal_numbers(3000, 0, 1, 2);
  const auto z = normal_numbers(3000, 0, 1, 3);
  const Pass pass({"histogram", {"x", "y", "z"}, R"({"axes": [{"bins": 4, "low": -2, "high": 2},
                   {"edges": [-1, 0, 3]}, {"bins": 3, "low": -1, "high": 1}]})"},
                  {column(x), column(y), column(z)});
  std::vector<double> expected(6 * 4 * 5, 0);
  const auto variable = [](double v) { return v < -1 ? 0u : v < 0 ? 1u : v < 3 ? 2u : 3u; };
  for (std::size_t i = 0; i < x.size(); ++i)
    ++expected[RegularAxis::make(4, -2, 2).find(x[i]) + 6 * variable(y[i]) +
               24 * RegularAxis::make(3, -1, 1).find(z[i])];
  for (const Way& way : ways()) EXPECT_EQ(pass.get<HistogramValue>(way).values, expected);
}

// ---- Moments

Moments no_moments(std::size_t axes) {
  Moments moments;
  moments.sum_wx.assign(axes, 0);
  moments.sum_wxx.assign(axes, 0);
  return moments;
}

// For the points in range, one after the other.
Moments moments_of(const std::vector<AxisRange>& ranges, const std::vector<std::vector<double>>& columns,
                   const std::vector<double>& weights) {
  Moments moments = no_moments(ranges.size());
  for (std::size_t i = 0; i < columns[0].size(); ++i) {
    bool inside = true;
    for (std::size_t k = 0; k < ranges.size(); ++k)
      inside = inside && columns[k][i] >= ranges[k].low && columns[k][i] < ranges[k].high;
    if (!inside) continue;
    const double weight = weights.empty() ? 1 : weights[i];
    moments.sum_w += weight;
    moments.sum_w2 += weight * weight;
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      moments.sum_wx[k] += weight * columns[k][i];
      moments.sum_wxx[k] += weight * columns[k][i] * columns[k][i];
    }
  }
  return moments;
}

// Up to the order of summation.
void expect_near(const Moments& found, const Moments& expected) {
  const auto near = [&](double a, double b) { EXPECT_NEAR(a, b, 1e-12 * expected.sum_w2); };
  near(found.sum_w, expected.sum_w);
  near(found.sum_w2, expected.sum_w2);
  ASSERT_EQ(found.sum_wx.size(), expected.sum_wx.size());
  for (std::size_t k = 0; k < expected.sum_wx.size(); ++k) {
    near(found.sum_wx[k], expected.sum_wx[k]);
    near(found.sum_wxx[k], expected.sum_wxx[k]);
  }
}

// Passes with the same parts give the same bits, for any blocks and order of work.
void expect_moments(const Pass& pass, const Moments& expected) {
  const auto one = pass.get<HistogramValue>({1, 100}).moments;
  expect_near(one, expected);
  for (const Way& way : ways()) expect_same(pass.get<HistogramValue>(way).moments, one);
  for (const std::size_t parts : {1, 4})
    for (const std::size_t block : {1, 13, 1024, 5000}) {
      expect_same(pass.get<HistogramValue>({parts, block}).moments, one);
      expect_same(pass.get<HistogramValue>({parts, block, true}).moments, one);
    }
}

TEST(Moments, OfValuesInRange) {
  const ValuesPtr x = column<double>({-1, 0, 0.25, nan, 0.5, 1, infinity, 0.75, -infinity});
  const auto unweighted = Pass({"histogram", {"x"}, ten_bins}, {x}).get<HistogramValue>().moments;
  expect_same(unweighted, {4, 4, {1.5}, {0.875}});
  const ValuesPtr w = column<double>({nan, 1, 2, nan, -4, nan, nan, 8, infinity});
  const Pass weighted(
      {"histogram", {"x", "w"}, R"({"axes": [{"bins": 10, "low": 0, "high": 1}], "weighted": true})"},
      {x, w});
  for (const Way& way : ways())
    expect_same(weighted.get<HistogramValue>(way).moments, {7, 85, {4.5}, {3.625}});
}

TEST(Moments, OfNothing) {
  for (const char* options :
       {ten_bins, automatic, R"({"axes": [{"edges": [0, 1]}, {"bins": 3, "low": 0, "high": 1}]})"}) {
    const bool two = std::string(options).find("edges") != std::string::npos;
    const std::vector<ValuesPtr> columns(two ? 2 : 1, column<float>({}));
    const auto h = Pass({"histogram", std::vector<std::string>(columns.size(), "x"), options}, columns)
                       .get<HistogramValue>();
    expect_same(h.moments, no_moments(columns.size()));
  }
}

TEST(Moments, OfOneAxis) {
  const auto x = normal_numbers(9001, 0.5, 0.5);
  const auto w = normal_numbers(9001, 1, 1, 7);
  expect_moments(Pass({"histogram", {"x"}, ten_bins}, {column(x)}), moments_of({{0, 1}}, {x}, {}));
  expect_moments(Pass({"histogram", {"x", "w"}, R"({"axes": [{"edges": [-0.5, 0, 2]}], "weighted": true})"},
                      {column(x), column(w)}),
                 moments_of({{-0.5, 2}}, {x}, w));
}

TEST(Moments, CountOnlyFillsInRangeOnEveryAxis) {
  const auto x = normal_numbers(3001, 0, 1, 1);
  const auto y = normal_numbers(3001, 0, 1, 2);
  const auto w = normal_numbers(3001, 1, 1, 3);
  const std::string axes = R"("axes": [{"bins": 4, "low": -1, "high": 2}, {"edges": [-1, 0, 3]}])";
  expect_moments(Pass({"histogram", {"x", "y"}, "{" + axes + "}"}, {column(x), column(y)}),
                 moments_of({{-1, 2}, {-1, 3}}, {x, y}, {}));
  expect_moments(Pass({"histogram", {"x", "y", "w"}, "{" + axes + R"(, "weighted": true})"},
                      {column(x), column(y), column(w)}),
                 moments_of({{-1, 2}, {-1, 3}}, {x, y}, w));
}

TEST(Moments, OfListsWithScalarsBesideThem) {
  const ValuesPtr lists = list_column<float>({{1, 2, 0}, {}, {1, 2, 1}, {5}});
  const Pass pass({"histogram", {"v", "s"}, R"({"axes": [{"bins": 4, "low": 0, "high": 4},
                   {"bins": 4, "low": 0, "high": 4}]})"},
                  {lists, column<double>({0.5, 100, 1.5, 4})});
  for (const Way& way : ways()) expect_same(pass.get<HistogramValue>(way).moments, {6, 6, {7, 6}, {11, 7.5}});
}

TEST(Moments, OfAutomaticRanges) {
  const double all = 1e300;
  const auto x = normal_numbers(9000, 1, 50);
  const auto w = normal_numbers(9000, 1, 1, 7);
  const Pass unweighted({"histogram", {"x"}, automatic}, {column(x)});
  const Pass weighted({"histogram", {"x", "w"}, R"({"axes": [{"bins": 50}], "weighted": true})"},
                      {column(x), column(w)});
  const auto expected = moments_of({{-all, all}}, {x}, {});
  for (const Way& way : ways()) {
    const auto moments = unweighted.get<HistogramValue>(way).moments;
    EXPECT_EQ(moments.sum_w, 9000);
    EXPECT_NEAR(moments.sum_wx[0], expected.sum_wx[0], 1e-7);
    EXPECT_NEAR(moments.sum_wxx[0] / expected.sum_wxx[0], 1, 1e-12);
    expect_same(weighted.get<HistogramValue>(way), weighted.get<HistogramValue>());
  }
  const auto of_weights = moments_of({{-all, all}}, {x}, w);
  const auto found = weighted.get<HistogramValue>({5, 128}).moments;
  EXPECT_NEAR(found.sum_w / of_weights.sum_w, 1, 1e-12);
  EXPECT_NEAR(found.sum_w2 / of_weights.sum_w2, 1, 1e-12);
  EXPECT_NEAR(found.sum_wxx[0] / of_weights.sum_wxx[0], 1, 1e-12);
  const auto few = Pass({"histogram", {"x"}, automatic}, {column<double>({1, 2, nan, infinity})});
  for (const Way& way : ways()) expect_same(few.get<HistogramValue>(way).moments, {2, 2, {3}, {5}});
}

TEST(Moments, EveryInstructionSetGivesTheSameBits) {
  std::vector<double> x = normal_numbers(100, 0, 1);
  const std::vector<double> w = normal_numbers(100, 1, 1, 2);
  x[3] = nan;
  x[50] = infinity;
  const AxisRange range{-1, 1.5};
  with_each_target([&] {
    for (const std::size_t count : {0, 1, 3, 7, 8, 9, 25, 90}) {
      std::vector<double> marks(count + 1, 0);
      mark_outside(range, x.data(), count, marks.data());
      std::vector<double> points(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(std::isnan(marks[i]), !(x[i] >= -1 && x[i] < 1.5)) << x[i];
        points[i] += marks[i];
      }
      EXPECT_EQ(marks[count], 0);
      ExactPair to[3];
      add_values(range, x.data(), count, to[0]);
      add_weights(range, points.data(), w.data(), count, to[1]);
      add_weighted(range, points.data(), w.data(), count, to[2]);
      ExactPair expected[3];
      for (std::size_t i = 0; i < count; ++i) {
        if (std::isnan(points[i])) continue;
        expected[0].add(x[i], x[i] * x[i]);
        expected[1].add(w[i], w[i] * w[i]);
        expected[2].add(w[i] * x[i], w[i] * x[i] * x[i]);
      }
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(to[k].first.settled(), expected[k].first.settled()) << k << " " << count;
        EXPECT_EQ(to[k].second.settled(), expected[k].second.settled()) << k << " " << count;
        EXPECT_EQ(to[k].first.special(), expected[k].first.special()) << k << " " << count;
      }
    }
  });
}

// Bytes in use according to the allocator; 0 if a sanitizer replaces it.
std::size_t allocated() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(Histogram, AThousandTakeTheMemoryOfOneSet) {
  constexpr std::size_t histograms = 1000;
  const ResultSpec spec{"histogram", {"x"}, R"({"axes": [{"bins": 20000, "low": 0, "high": 1}]})"};
  const std::vector<ValueType> types = {ElementType::float64};
  const std::vector<ValuesPtr> block = {column(normal_numbers(2000, 0.5, 0.2))};
  const std::size_t before = allocated();
  std::vector<std::unique_ptr<ResultAccumulator>> results;
  // Two parts in flight at the same time, as with two threads.
  TestContext contexts[2] = {TestContext(true), TestContext(false)};
  std::vector<std::unique_ptr<Partial>> partials[2];
  for (std::size_t i = 0; i < histograms; ++i) {
    results.push_back(make_accumulator(spec, types));
    for (std::size_t part = 0; part < 2; ++part) {
      partials[part].push_back(results.back()->begin(contexts[part]));
      partials[part].back()->add({0, 2000}, block);
    }
  }
  const std::size_t one_set = histograms * 20002 * sizeof(double);
  EXPECT_LT(allocated() - before, one_set / 2 + one_set / 10);
  for (std::size_t part = 0; part < 2; ++part)
    for (std::size_t i = 0; i < histograms; ++i) results[i]->merge(std::move(partials[part][i]));
  EXPECT_EQ(std::get<HistogramValue>(results[999]->value()).entries, 4000u);
}

TEST(Histogram, CountsTake32BitsEach) {
  CountCells cells(20002);
  EXPECT_EQ(cells.bytes(), 0u);
  const std::vector<std::uint32_t> bins(1000, 5);
  cells.add(bins.data(), bins.size());
  EXPECT_EQ(cells.bytes(), 20002 * 4u);
}

TEST(Histogram, CountsGrowBeyond32Bits) {
  CountCells cells(3);
  const std::vector<std::uint32_t> bins = {0, 2, 2};
  cells.add(bins.data(), bins.size());
  cells.add_entries(std::numeric_limits<std::uint32_t>::max() - std::uint64_t{4});
  cells.add(bins.data(), bins.size());
  EXPECT_EQ(cells.bytes(), 3 * 8u);
  EXPECT_EQ(cells.at(0), 2u);
  EXPECT_EQ(cells.at(2), 4u);
  EXPECT_EQ(cells.entries(), std::numeric_limits<std::uint32_t>::max() + std::uint64_t{2});
}

// ---- Automatic ranges

std::pair<double, double> range_of(const std::vector<double>& values, int bins = 128) {
  const auto h =
      Pass({"histogram", {"x"}, fmt::format(R"({{"axes": [{{"bins": {}}}]}})", bins)}, {column(values)})
          .get<HistogramValue>();
  return {h.axes[0].edges.front(), h.axes[0].edges.back()};
}

TEST(AutomaticHistogram, TakesItsRangeFromTheValues) {
  using Range = std::pair<double, double>;
  EXPECT_EQ(range_of({0, 1, 127}), Range(0, 128));
  EXPECT_EQ(range_of({-64, 63.9}), Range(-64, 64));
  EXPECT_EQ(range_of({0, 97}), Range(0, 104));  // the width of a bin is a multiple of 1 / 16
  EXPECT_EQ(range_of({-3, 5}, 1), Range(-3, 6));
  EXPECT_EQ(range_of({5, 5, 5}), Range(4, 6));
  EXPECT_EQ(range_of({}), Range(-1, 1));
  EXPECT_EQ(range_of({nan, infinity}), Range(-1, 1));
  EXPECT_EQ(range_of({-1, nan, 5, -infinity}), range_of({5, -1}));
  EXPECT_LT(range_of({1e15, 1e15 + 1}).first, 1e15 + 1);
}

TEST(AutomaticHistogram, LeavesOutWhatIsNotFinite) {
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) values.push_back(i == 1 ? nan : i == 5 ? infinity : i == 7 ? -infinity : i);
  const auto h = Pass({"histogram", {"x"}, automatic}, {column(values)}).get<HistogramValue>();
  EXPECT_EQ(h.values.back(), 2);
  EXPECT_EQ(h.values.front(), 1);
  EXPECT_EQ(h.entries, 20u);
}

// Numbers of similar or very different sizes, some equal, some infinite.
std::vector<double> numbers_of_any_kind(std::mt19937_64& random, std::size_t count) {
  std::vector<double> values = normal_numbers(count, 0, 1, static_cast<unsigned>(random()));
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  const double shift = below(2) == 0 ? 0 : std::ldexp(1., below(80) - 40);
  const int spread = below(3) == 0 ? 1 + below(400) : 1;
  const int scale = below(3) == 0 ? below(1900) - 950 : below(20) - 10;
  const bool rises = below(3) == 0;
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = std::ldexp(values[i] + shift, std::clamp(scale + below(spread), -1070, 440));
    if (rises) values[i] = static_cast<double>(i) * 0.37 - 5;
    if (below(500) == 0) values[i] = std::array{0., nan, infinity, -infinity, -1e-320, 1e307}[below(6)];
  }
  return values;
}

// The bins are those of an axis with the resulting edges; every finite value is in one.
void expect_bins_of(const HistogramValue& h, const std::vector<std::vector<double>>& columns,
                    const std::vector<double>& weights) {
  std::vector<RegularAxis> axes;
  std::size_t cells = 1;
  for (const AxisValue& axis : h.axes) {
    axes.push_back(RegularAxis::make(static_cast<std::uint32_t>(axis.edges.size() - 1), axis.edges.front(),
                                     axis.edges.back()));
    cells *= axis.edges.size() + 1;
  }
  TrueSums sums(cells);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::size_t bin = 0;
    std::size_t stride = 1;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const double x = columns[k][i];
      const std::uint32_t of_axis = axes[k].find(x);
      EXPECT_EQ(of_axis >= 1 && of_axis <= axes[k].bins, std::abs(x) < 0x1p1000) << x;
      bin += stride * of_axis;
      stride *= axes[k].bins + 2;
    }
    sums[bin].add(weights[i]);
  }
  EXPECT_EQ(h.values, sums.values());
}

// The values span at least this share of the range, unless they are too close together.
void expect_tight(const AxisValue& axis, const std::vector<double>& values, double share) {
  double least = infinity;
  double greatest = -infinity;
  for (const double x : values) {
    if (!(std::abs(x) < 0x1p1000)) continue;
    least = std::min(least, x);
    greatest = std::max(greatest, x);
  }
  const double wide = axis.edges.back() - axis.edges.front();
  const double bins = static_cast<double>(axis.edges.size() - 1);
  if (bins < 8 || greatest - least < std::ldexp(std::max(-least, greatest), -25)) return;
  EXPECT_GE((greatest - least) / wide, share) << least << " to " << greatest << ", " << bins;
}

TEST(AutomaticHistogram, IsTheSameInAnyOrderAndGrouping) {
  std::mt19937_64 random(17);
  for (int round = 0; round < (is_sanitized ? 15 : 60); ++round) {
    SCOPED_TRACE(round);
    const std::size_t count = random() % 3000;
    const std::size_t axes = 1 + random() % 3;
    std::vector<std::vector<double>> columns;
    std::vector<ValuesPtr> arguments;
    std::string options;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < axes; ++k) {
      columns.push_back(numbers_of_any_kind(random, count));
      arguments.push_back(column(columns.back()));
      names.push_back("x");
      options +=
          fmt::format(R"({}{{"bins": {}}})", k == 0 ? "" : ", ", 1 + random() % (axes == 1 ? 300 : 20));
    }
    std::vector<double> weights(count, 1);
    const bool weighted = random() % 2 == 0;
    if (weighted) {
      weights = normal_numbers(count, 1, 1, static_cast<unsigned>(round));
      arguments.push_back(column(weights));
      names.push_back("w");
    }
    const Pass pass(
        {"histogram", names, fmt::format(R"({{"axes": [{}], "weighted": {}}})", options, weighted)},
        arguments);
    const auto h = pass.get<HistogramValue>();
    expect_bins_of(h, columns, weights);
    for (std::size_t k = 0; k < axes; ++k) expect_tight(h.axes[k], columns[k], axes == 1 ? 0.75 : 0.3);
    const auto saved = pass.accumulate()->save();
    for (const Way& way : ways()) {
      expect_same(pass.get<HistogramValue>(way), h);
      EXPECT_EQ(pass.accumulate(way)->save(), saved);
    }
    if (HasFailure()) break;
  }
}

// An automatic axis, and one with a fixed range.
TEST(AutomaticHistogram, StandsBesideOtherAxes) {
  const auto x = normal_numbers(4000, 0, 3);
  const auto y = normal_numbers(4000, 0, 1, 2);
  const Pass pass({"histogram", {"y", "x"}, R"({"axes": [{"edges": [-1, 0, 2]}, {"bins": 9}]})"},
                  {column(y), column(x)});
  const auto h = pass.get<HistogramValue>();
  EXPECT_EQ(h.axes[0].edges, (std::vector<double>{-1, 0, 2}));
  EXPECT_EQ(std::accumulate(h.values.begin(), h.values.end(), 0.), 4000);
  for (const Way& way : ways()) expect_same(pass.get<HistogramValue>(way), h);
}

TEST(AutomaticHistogram, WhatWasSavedIsNotTrusted) {
  const Pass pass({"histogram", {"x"}, R"({"axes": [{"bins": 5}]})"}, {column(normal_numbers(50, 1, 50))});
  const auto saved = pass.accumulate()->save();
  std::mt19937_64 random(5);
  for (int round = 0; round < 3000; ++round) {
    auto bytes = saved;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (round % 5 == 0) bytes.resize(random() % bytes.size());
    const auto result = pass.accumulate();
    try {
      result->merge_saved(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format);
      continue;
    }
    EXPECT_EQ(std::get<HistogramValue>(result->value()).values.size(), 7u);
  }
}

TEST(AutomaticHistogram, TooManyBins) {
  const ResultSpec spec{"histogram", {"x", "y"}, R"({"axes": [{"bins": 40000}, {"bins": 40000}]})"};
  expect_error([&] { make_accumulator(spec, std::vector<ValueType>(2, ElementType::float64)); },
               ErrorKind::resource, {"range from the values", "low and high"});
}

// ---- Profiles

TEST(Profile, SumsPerBin) {
  const std::size_t n = 5000;
  const auto x = normal_numbers(n, 0.5, 0.3);
  const auto y = normal_numbers(n, 10, 2, 5);
  const auto w = normal_numbers(n, 1, 0.2, 6);
  const Pass pass({"profile",
                   {"x", "y", "w"},
                   R"({"axes": [{"bins": 10, "low": 0, "high": 1}], "weighted": true, "spread": "s"})"},
                  {column(x), column(y), column(w)});
  const RegularAxis axis = RegularAxis::make(10, 0, 1);
  TrueSums sum_w(12), sum_w2(12), sum_wy(12), sum_wyy(12);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t bin = axis.find(x[i]);
    sum_w[bin].add(w[i]);
    sum_w2[bin].add(w[i] * w[i]);
    sum_wy[bin].add(w[i] * y[i]);
    sum_wyy[bin].add(w[i] * y[i] * y[i]);
  }
  for (const Way& way : ways()) {
    const auto p = pass.get<ProfileValue>(way);
    EXPECT_EQ(p.sum_w, sum_w.values());
    EXPECT_EQ(p.sum_w2, sum_w2.values());
    EXPECT_EQ(p.sum_wy, sum_wy.values());
    EXPECT_EQ(p.sum_wyy, sum_wyy.values());
    EXPECT_EQ(p.entries, n);
    EXPECT_EQ(p.spread, "s");
  }
}

TEST(Profile, UnweightedAndLimited) {
  const Pass pass(
      {"profile", {"x", "y"}, R"({"axes": [{"bins": 2, "low": 0, "high": 2}], "limits": [0, 5]})"},
      {column<double>({0.5, 0.5, 1.5, 1.5}), column<double>({1, 6, 5, nan})});
  const auto p = pass.get<ProfileValue>();
  EXPECT_EQ(p.sum_w, (std::vector<double>{0, 1, 1, 0}));
  EXPECT_EQ(p.sum_w2, p.sum_w);
  EXPECT_EQ(p.sum_wy, (std::vector<double>{0, 1, 5, 0}));
  EXPECT_EQ(p.entries, 2u);
}

// ---- Graphs

TEST(Graph, PointsInEntryOrder) {
  const Pass pass({"graph", {"x", "y"}, R"({"name": "g"})"},
                  {column<float>({3, 1, 2}), column<std::int32_t>({1, 2, 3})});
  for (const Way& way : ways()) {
    const auto g = pass.get<GraphValue>(way);
    EXPECT_EQ(g.x, (std::vector<double>{3, 1, 2}));
    EXPECT_EQ(g.y, (std::vector<double>{1, 2, 3}));
    EXPECT_TRUE(g.errors[0].empty());
  }
  const ValuesPtr x = column<double>({1, 2});
  const Pass with_errors({"graph", {"x", "y", "a", "b", "c", "d"}, R"({"errors": 4})"},
                         {x, x, x, x, x, column<double>({7, 8})});
  EXPECT_EQ(with_errors.get<GraphValue>({2, 1, true}).errors[3], (std::vector<double>{7, 8}));
}

// ---- Errors

TEST(Histogram, SaysWhatDoesNotFit) {
  const auto make = [](const char* options, std::size_t arguments = 1, const char* kind = "histogram") {
    return [=] {
      make_accumulator({kind, std::vector<std::string>(arguments, "x"), options},
                       std::vector<ValueType>(arguments, ElementType::float64));
    };
  };
  expect_error(make("{}"), ErrorKind::usage, {"'axes'", "missing"});
  expect_error(make(R"({"axes": [{"low": 0, "high": 1}]})"), ErrorKind::usage, {"'bins'", "missing"});
  expect_error(make(R"({"axes": [{"bins": 0, "low": 0, "high": 1}]})"), ErrorKind::usage,
               {"'bins'", "from 1"});
  expect_error(make(R"({"axes": [{"bins": 2.5, "low": 0, "high": 1}]})"), ErrorKind::usage,
               {"'bins'", "2.5"});
  expect_error(make(R"({"axes": [{"bins": 3, "low": 1, "high": 0}]})"), ErrorKind::usage,
               {"'high'", "above low = 1"});
  expect_error(make(R"({"axes": [{"bins": 3, "low": 0, "high": 5e-324}]})"), ErrorKind::usage, {"'high'"});
  expect_error(make(R"({"axes": [{"bins": 3, "low": -1e308, "high": 1e308}]})"), ErrorKind::usage,
               {"'high'"});
  expect_error(make(R"({"axes": [{"bins": 3, "low": 1}]})"), ErrorKind::usage, {"'high'", "both"});
  expect_error(make(R"({"axes": [{"edges": [0, 1, 1]}]})"), ErrorKind::usage, {"'edges'", "growing"});
  expect_error(make(R"({"axes": [{"edges": [0]}]})"), ErrorKind::usage, {"'edges'"});
  expect_error(make(R"({"axes": [{"edges": [0, 1], "bins": 1}]})"), ErrorKind::usage, {"'edges'", "either"});
  expect_error(make(R"({"axes": [{"bnis": 3}]})"), ErrorKind::usage, {"'bnis'", "bins"});
  expect_error(make(ten_bins, 2), ErrorKind::usage, {"2 arguments", "1 for 1 axis"});
  expect_error(
      make(R"({"axes": [{"bins": 1000000, "low": 0, "high": 1}, {"bins": 1000000, "low": 0, "high": 1}]})",
           2),
      ErrorKind::resource, {"1e+12"});
  expect_error(make(automatic, 2, "profile"), ErrorKind::usage, {"'axes'", "profile"});
  expect_error(make(R"({"axes": [{"bins": 1, "low": 0, "high": 1}], "spread": "x"})", 2, "profile"),
               ErrorKind::usage, {"'spread'", "'mean', 's'"});
  expect_error(make(R"({"errors": 2})", 4, "graph"), ErrorKind::usage, {"'errors'"});
  expect_error(make("{}", 3, "graph"), ErrorKind::usage, {"3 arguments", "'errors'"});
}

}  // namespace
}  // namespace colonnade::frame
