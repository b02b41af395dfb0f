// Data frames: nodes from expression texts, and results.
#include <cmath>
#include <limits>
#include <memory>

#include "capi/boundary.h"
#include "capi/stream.h"
#include "capi/write_options.h"
#include "colonnade/dataframe.h"

using namespace colonnade;
using namespace colonnade::capi;
using colonnade::detail::DefineHow;
using colonnade::detail::FrameBooking;
using colonnade::detail::NodeId;

struct colonnade_frame {
  detail::FrameGraphPtr graph;
  NodeId node = 0;
  std::shared_ptr<const void> held;  // the node
};

struct colonnade_result {
  enum class Kind { number, histogram, take, report };
  Kind kind = Kind::number;
  std::vector<std::unique_ptr<FrameBooking>> booked;  // several of a take
  std::vector<std::string> columns;                   // of a take

  detail::FrameGraph& graph() const { return *booked.front()->graph; }

  // What was fetched, for the pointers that callers get.
  Histogram histogram;
  std::vector<std::size_t> bins;
  std::vector<const double*> edges;
  std::vector<FilterCount> filters;
  std::vector<colonnade_cut> cuts;
};

namespace colonnade::capi {
namespace {

using Kind = colonnade_result::Kind;

std::unique_ptr<colonnade_frame> make_frame(detail::FrameGraphPtr graph, NodeId node) {
  auto frame = std::make_unique<colonnade_frame>();
  frame->held = detail::frame_hold(graph, node);
  frame->graph = std::move(graph);
  frame->node = node;
  return frame;
}

colonnade_status define(const colonnade_frame* frame, DefineHow how, const char* name, const char* expression,
                        colonnade_frame** out) {
  return guarded([&] {
    need(frame, "the frame");
    need(out, "out");
    const std::string named = how == DefineHow::filter ? text_or(name, "") : text_of(name, "the name");
    const NodeId node = detail::frame_define(*frame->graph, frame->node, how, named,
                                             {text_of(expression, "the expression"), {}, {}});
    *out = make_frame(frame->graph, node).release();
  });
}

void add(colonnade_result& result, const colonnade_frame& frame, detail::ResultId id) {
  result.booked.push_back(std::make_unique<FrameBooking>(frame.graph, id));
}

std::unique_ptr<colonnade_result> book(const colonnade_frame& frame, Kind kind, const std::string& name,
                                       std::vector<std::string> arguments,
                                       const std::string& options = "{}") {
  auto result = std::make_unique<colonnade_result>();
  result->kind = kind;
  add(*result, frame, detail::frame_book(*frame.graph, frame.node, name, std::move(arguments), options));
  return result;
}

// Computes what was asked for, and with it all that is booked.
void compute(const colonnade_result& result) {
  for (const auto& booking : result.booked)
    if (!detail::frame_is_ready(*booking->graph, booking->id))
      detail::frame_run(*booking->graph, booking->id);
}

const FrameBooking& computed(const colonnade_result* result, Kind kind, const char* what) {
  need(result, "the result");
  if (result->kind != kind) throw Error(ErrorKind::usage, std::string("the result is not a ") + what);
  compute(*result);
  return *result->booked.front();
}

using Number = std::variant<std::int64_t, std::uint64_t, double>;

Number number_in(const colonnade_result* result) {
  need(result, "the result");
  if (result->kind != Kind::number) throw Error(ErrorKind::usage, "the result is not a number");
  compute(*result);
  return detail::frame_number(result->graph(), result->booked.front()->id, {});
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
    throw Error(ErrorKind::conversion, "the result is more than a signed integer of 64 bits holds");
  }
  throw Error(ErrorKind::conversion,
              std::isnan(std::get<double>(number)) ? "the result is not a number: there were no values"
                                                   : "the result is not an integer of 64 bits",
              "colonnade_result_double()");
}

std::vector<Axis> axes_of(const colonnade_axis* axes, std::size_t count) {
  if (count == 0) throw Error(ErrorKind::usage, "a histogram has at least one axis");
  need(axes, "the axes");
  std::vector<Axis> result;
  for (std::size_t i = 0; i < count; ++i) {
    const colonnade_axis& axis = axes[i];
    if (axis.edges != nullptr) {
      result.emplace_back(std::vector<double>(axis.edges, axis.edges + axis.bins + 1),
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

  ArrowColumn schema() override {
    ArrowColumn whole = columns();
    return whole;
  }
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

}  // namespace
}  // namespace colonnade::capi

extern "C" {

colonnade_status colonnade_frame_open(const char* name, const char* const* uris, size_t num_uris,
                                      const colonnade_frame_options* options, colonnade_frame** out) {
  return guarded([&] {
    need(out, "out");
    const auto given = options_of(options, "colonnade_frame_options");
    FrameOptions frame;
    frame.threads = given.threads;
    frame.first = given.first;
    if (given.last > 0) frame.last = given.last;
    frame.read.cache = text_or(given.cache, "");
    const auto files = texts_of(uris, num_uris, "a URI");
    *out = make_frame(detail::open_frame(text_or(name, ""), files, frame), 0).release();
  });
}

void colonnade_frame_release(colonnade_frame* frame) {
  delete frame;
}

colonnade_status colonnade_frame_define(const colonnade_frame* frame, const char* name,
                                        const char* expression, colonnade_frame** out) {
  return define(frame, DefineHow::define, name, expression, out);
}

colonnade_status colonnade_frame_redefine(const colonnade_frame* frame, const char* name,
                                          const char* expression, colonnade_frame** out) {
  return define(frame, DefineHow::redefine, name, expression, out);
}

colonnade_status colonnade_frame_default_value(const colonnade_frame* frame, const char* column,
                                               const char* expression, colonnade_frame** out) {
  return define(frame, DefineHow::default_value, column, expression, out);
}

colonnade_status colonnade_frame_filter(const colonnade_frame* frame, const char* condition, const char* name,
                                        colonnade_frame** out) {
  return define(frame, DefineHow::filter, name, condition, out);
}

colonnade_status colonnade_frame_range(const colonnade_frame* frame, uint64_t begin, uint64_t end,
                                       uint64_t stride, colonnade_frame** out) {
  return guarded([&] {
    need(frame, "the frame");
    need(out, "out");
    *out = make_frame(frame->graph, detail::frame_range(*frame->graph, frame->node, begin, end, stride))
               .release();
  });
}

colonnade_status colonnade_frame_columns(const colonnade_frame* frame, colonnade_strings** out) {
  return guarded([&] {
    need(frame, "the frame");
    need(out, "out");
    auto names = std::make_unique<colonnade_strings>();
    names->items = detail::frame_column_names(*frame->graph, frame->node);
    *out = names.release();
  });
}

colonnade_status colonnade_frame_snapshot(const colonnade_frame* frame, const char* name, const char* uri,
                                          const char* const* columns, size_t num_columns,
                                          const colonnade_write_options* options, uint64_t* num_entries) {
  return guarded([&] {
    need(frame, "the frame");
    const auto given = options_of(options, "colonnade_write_options");
    if (options != nullptr && given.mode != COLONNADE_WRITE_REPLACE)
      throw Error(ErrorKind::usage, "a snapshot replaces an existing data set",
                  "mode = COLONNADE_WRITE_REPLACE");
    auto chosen = texts_of(columns, num_columns, "a column");
    if (chosen.empty()) chosen = detail::frame_whole_columns(*frame->graph, frame->node);
    const std::string how = detail::snapshot_options(chosen, text_of(name, "the name"),
                                                     text_of(uri, "the URI"), write_options(given));
    const auto result = book(*frame, Kind::number, "snapshot", chosen, how);
    compute(*result);
    const auto written =
        detail::frame_value<frame::SnapshotValue>(result->graph(), result->booked[0]->id, {});
    if (num_entries != nullptr) *num_entries = written.entries;
  });
}

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
    if (num_results > 0) need(results, "the results");
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
    const FrameBooking& booking = computed(result, Kind::histogram, "histogram");
    if (result->bins.empty()) {
      result->histogram = detail::frame_value<Histogram>(*booking.graph, booking.id, {});
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
    for (std::size_t i = 0; i < result->booked.size(); ++i)
      columns.emplace_back(result->columns[i],
                           detail::frame_taken(*result->booked[i]->graph, result->booked[i]->id, {}));
    const std::size_t entries = columns.front().second->size;
    to_stream(std::make_unique<TakenBatches>(std::move(columns), entries), out);
  });
}

colonnade_status colonnade_result_report(colonnade_result* result, const colonnade_cut** cuts,
                                         size_t* num_cuts) {
  return guarded([&] {
    need(cuts, "cuts");
    need(num_cuts, "num_cuts");
    const FrameBooking& booking = computed(result, Kind::report, "report");
    if (result->cuts.empty()) {
      result->filters = detail::frame_report_value(*booking.graph, booking.id, {});
      for (const FilterCount& filter : result->filters)
        result->cuts.push_back({filter.name.c_str(), filter.all, filter.passed});
    }
    *cuts = result->cuts.data();
    *num_cuts = result->cuts.size();
  });
}

}  // extern "C"
