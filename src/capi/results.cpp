// Results of data frames: numbers, histograms, columns, cut flows, and these under variations.
#include <cmath>
#include <limits>
#include <memory>

#include "capi/boundary.h"
#include "capi/frame.h"
#include "capi/stream.h"

using namespace colonnade;
using namespace colonnade::capi;

namespace colonnade::capi {

using Kind = colonnade_result::Kind;
using ResultPart = colonnade_result::ResultPart;

namespace {

void add(colonnade_result& result, const colonnade_frame& frame, detail::ResultId id) {
  result.parts.push_back({std::make_shared<detail::FrameBooking>(frame.graph, id), {}, {}});
}

}  // namespace

std::unique_ptr<colonnade_result> book(const colonnade_frame& frame, Kind kind, const std::string& name,
                                       std::vector<std::string> arguments, const std::string& options) {
  auto result = std::make_unique<colonnade_result>();
  result->kind = kind;
  add(*result, frame, detail::frame_book(*frame.graph, frame.node, name, std::move(arguments), options));
  return result;
}

void compute(const colonnade_result& result) {
  for (const ResultPart& part : result.parts)
    if (!detail::frame_is_ready(part.graph(), part.id())) detail::frame_run(part.graph(), part.id());
}

namespace {

const ResultPart& computed(const colonnade_result* result, Kind kind, const char* what) {
  need(result, "the result");
  if (result->kind != kind) throw Error(ErrorKind::usage, std::string("the result is not a ") + what);
  compute(*result);
  return result->parts.front();
}

using Number = std::variant<std::int64_t, std::uint64_t, double>;

Number number_in(const colonnade_result* result) {
  const ResultPart& part = computed(result, Kind::number, "number");
  return detail::frame_number(part.graph(), part.id(), part.variation);
}

double to_double(const Number& number) {
  return std::visit(
      []<class V>(V value) {
        const auto real = static_cast<double>(value);
        // 2^64 and 2^63 are doubles, but no integers of these types.
        if constexpr (std::is_integral_v<V>)
          if (real >= std::ldexp(1., std::numeric_limits<V>::digits) || static_cast<V>(real) != value)
            throw Error(ErrorKind::conversion, "the result is an integer that a double cannot hold",
                        "colonnade_result_int64()");
        return real;
      },
      number);
}

std::int64_t to_int64(const Number& number) {
  if (const auto* value = std::get_if<std::int64_t>(&number)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&number)) {
    if (*value <= std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      return static_cast<std::int64_t>(*value);
    throw Error(ErrorKind::conversion, "the result does not fit in a signed 64-bit integer");
  }
  throw Error(ErrorKind::conversion,
              std::isnan(std::get<double>(number)) ? "the result is not a number: there were no values"
                                                   : "the result is not an integer of 64 bits",
              "colonnade_result_double()");
}

std::vector<Axis> axes_of(const colonnade_axis* axes, std::size_t count) {
  if (count == 0) throw Error(ErrorKind::usage, "a histogram has at least one axis");
  need(axes, "the list of axes");
  std::vector<Axis> result;
  for (std::size_t i = 0; i < count; ++i) {
    const colonnade_axis& axis = axes[i];
    if (axis.edges != nullptr) {
      result.emplace_back(std::vector<double>(axis.edges, axis.edges + std::size_t{axis.bins} + 1),
                          text_or(axis.name, ""));
    } else {
      result.emplace_back(axis.bins, axis.low, axis.high, text_or(axis.name, ""));
    }
  }
  return result;
}

// The columns of a take, in one batch.
class TakenBatches final : public Batches {
 public:
  TakenBatches(std::vector<std::pair<std::string, ValuesPtr>> columns, std::size_t entries)
      : columns_(std::move(columns)), entries_(entries) {}

  ArrowColumn schema() override { return columns(); }
  std::optional<ArrowColumn> next() override {
    if (std::exchange(given_, true)) return std::nullopt;
    return columns();
  }

 private:
  ArrowColumn columns() const {
    std::vector<std::pair<std::string, ArrowColumn>> made;
    for (const auto& [name, values] : columns_) made.emplace_back(name, column_of(values));
    return record(entries_, std::move(made));
  }

  std::vector<std::pair<std::string, ValuesPtr>> columns_;
  std::size_t entries_;
  bool given_ = false;
};

// Books the variations that reach a result, and returns their names: "nominal" first. Columns of a take may
// be reached by different ones.
std::vector<std::string> vary(colonnade_result& result) {
  std::vector<std::string> names{"nominal"};
  for (ResultPart& part : result.parts) {
    part.variations = detail::frame_vary_result(part.graph(), part.id());
    for (const std::string& name : part.variations)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

std::unique_ptr<colonnade_result> under(colonnade_result& result, const std::string& variation) {
  const auto names = vary(result);
  if (std::ranges::find(names, variation) == names.end()) {
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    throw Error(ErrorKind::not_found, "no variation \"" + variation + "\" reaches the result",
                "one of: " + known);
  }
  auto varied = std::make_unique<colonnade_result>();
  varied->kind = result.kind;
  varied->columns = result.columns;
  varied->parts = result.parts;
  for (ResultPart& part : varied->parts) {
    const bool reaches = std::ranges::find(part.variations, variation) != part.variations.end();
    part.variation = reaches && variation != "nominal" ? variation : "";
  }
  return varied;
}

}  // namespace
}  // namespace colonnade::capi

extern "C" {

void colonnade_result_release(colonnade_result* result) {
  delete result;
}

colonnade_status colonnade_frame_count(const colonnade_frame* frame, colonnade_result** out) {
  return guarded([&] {
    need(frame, "the frame");
    need(out, "out");
    *out = book(*frame, Kind::number, "count", {}).release();
  });
}

colonnade_status colonnade_frame_statistic(const colonnade_frame* frame, const char* statistic,
                                           const char* column, colonnade_result** out) {
  return guarded([&] {
    need(frame, "the frame");
    need(out, "out");
    const std::string kind = text_of(statistic, "the statistic"), of = text_of(column, "the column");
    if (kind != "sum" && kind != "min" && kind != "max" && kind != "mean" && kind != "stddev")
      throw Error(ErrorKind::usage, "there is no statistic \"" + kind + "\"",
                  "sum, min, max, mean or stddev");
    *out = book(*frame, Kind::number, kind, {of}).release();
  });
}

colonnade_status colonnade_frame_histogram(const colonnade_frame* frame, const colonnade_axis* axes,
                                           const char* const* columns, size_t num_axes, const char* weight,
                                           colonnade_result** out) {
  return guarded([&] {
    need(frame, "the frame");
    need(out, "out");
    const std::vector<Axis> made = axes_of(axes, num_axes);
    auto arguments = texts_of(columns, num_axes, "a column");
    const std::string name = arguments.front();
    if (weight != nullptr) arguments.emplace_back(weight);
    *out = book(*frame, Kind::histogram, "histogram", std::move(arguments),
                detail::histogram_options(name, name, made, weight != nullptr))
               .release();
  });
}

colonnade_status colonnade_frame_take(const colonnade_frame* frame, const char* const* columns,
                                      size_t num_columns, colonnade_result** out) {
  return guarded([&] {
    need(frame, "the frame");
    need(out, "out");
    auto result = std::make_unique<colonnade_result>();
    result->kind = Kind::take;
    result->columns = texts_of(columns, num_columns, "a column");
    if (result->columns.empty()) throw Error(ErrorKind::usage, "no columns are named");
    for (const std::string& column : result->columns)
      add(*result, *frame,
          detail::frame_book(*frame->graph, frame->node, "take", {column},
                             detail::names_options(std::vector<std::string>{column})));
    *out = result.release();
  });
}

colonnade_status colonnade_frame_report(const colonnade_frame* frame, colonnade_result** out) {
  return guarded([&] {
    need(frame, "the frame");
    need(out, "out");
    auto result = std::make_unique<colonnade_result>();
    result->kind = Kind::report;
    add(*result, *frame, detail::frame_report(*frame->graph, frame->node));
    *out = result.release();
  });
}

colonnade_status colonnade_results_run(colonnade_result* const* results, size_t num_results) {
  return guarded([&] {
    if (num_results > 0) need(results, "the list of results");
    std::vector<detail::FrameGraph*> graphs;
    for (size_t i = 0; i < num_results; ++i) {
      need(results[i], "a result");
      detail::FrameGraph* graph = &results[i]->graph();
      if (std::find(graphs.begin(), graphs.end(), graph) == graphs.end()) graphs.push_back(graph);
    }
    detail::frame_run(graphs);
  });
}

colonnade_status colonnade_result_double(colonnade_result* result, double* out) {
  return guarded([&] {
    need(out, "out");
    *out = to_double(number_in(result));
  });
}

colonnade_status colonnade_result_int64(colonnade_result* result, int64_t* out) {
  return guarded([&] {
    need(out, "out");
    *out = to_int64(number_in(result));
  });
}

colonnade_status colonnade_result_histogram(colonnade_result* result, colonnade_histogram* out) {
  return guarded([&] {
    need(out, "out");
    const ResultPart& part = computed(result, Kind::histogram, "histogram");
    if (result->bins.empty()) {
      result->histogram = detail::frame_value<Histogram>(part.graph(), part.id(), part.variation);
      for (const auto& axis : result->histogram.axes) {
        result->bins.push_back(axis.edges.size() - 1);
        result->edges.push_back(axis.edges.data());
      }
    }
    const Histogram& of = result->histogram;
    *out = {result->bins.size(), result->bins.data(), result->edges.data(),
            of.values.size(),    of.values.data(),    of.variances.empty() ? nullptr : of.variances.data(),
            of.entries};
  });
}

colonnade_status colonnade_result_stream(colonnade_result* result, struct ArrowArrayStream* out) {
  return guarded([&] {
    need(out, "out");
    computed(result, Kind::take, "list of values");
    std::vector<std::pair<std::string, ValuesPtr>> columns;
    for (std::size_t i = 0; i < result->parts.size(); ++i) {
      const ResultPart& part = result->parts[i];
      columns.emplace_back(result->columns[i], detail::frame_taken(part.graph(), part.id(), part.variation));
    }
    const std::size_t entries = columns.front().second->size;
    to_stream(std::make_unique<TakenBatches>(std::move(columns), entries), out);
  });
}

colonnade_status colonnade_result_report(colonnade_result* result, const colonnade_cut** cuts,
                                         size_t* num_cuts) {
  return guarded([&] {
    need(cuts, "cuts");
    need(num_cuts, "num_cuts");
    const ResultPart& part = computed(result, Kind::report, "report");
    if (result->cuts.empty()) {
      result->filters = detail::frame_report_value(part.graph(), part.id(), part.variation);
      for (const FilterCount& filter : result->filters)
        result->cuts.push_back({filter.name.c_str(), filter.all, filter.passed});
    }
    *cuts = result->cuts.data();
    *num_cuts = result->cuts.size();
  });
}

colonnade_status colonnade_result_variations(colonnade_result* result, colonnade_strings** out) {
  return guarded([&] {
    need(result, "the result");
    need(out, "out");
    auto names = std::make_unique<colonnade_strings>();
    names->items = vary(*result);
    *out = names.release();
  });
}

colonnade_status colonnade_result_variation(colonnade_result* result, const char* variation,
                                            colonnade_result** out) {
  return guarded([&] {
    need(result, "the result");
    need(out, "out");
    *out = under(*result, text_of(variation, "the variation")).release();
  });
}

}  // extern "C"
