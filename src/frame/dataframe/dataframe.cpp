// The library's part of colonnade/dataframe.h: the graph behind a DataFrame.
#include "colonnade/dataframe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/warning.h"
#include "colonnade/error.h"
#include "dataset/nearest.h"
#include "frame/expression/special_names.h"
#include "frame/graph/graph.h"
#include "frame/joins/join.h"
#include "frame/sources/chain.h"
#include "frame/values/values.h"

namespace colonnade {

namespace detail {

class FrameGraph {
 public:
  FrameGraph(std::shared_ptr<frame::Source> source, FrameOptions with)
      : options(std::move(with)), graph(std::move(source)) {
    if (options.first != 0 || options.last != ~std::uint64_t{0})
      graph.restrict_entries(options.first, options.last);
  }
  FrameOptions options;
  frame::Graph graph;
};

namespace {

// The text of an argument: one that is exactly the name of a column is that column, as "a-b" or "1".
std::string argument_text(const FrameGraph& graph, NodeId node, const std::string& argument) {
  return graph.graph.is_taken(node, argument) ? frame::column_text(argument) : argument;
}

std::vector<std::string> argument_texts(const FrameGraph& graph, NodeId node,
                                        std::vector<std::string> arguments) {
  for (std::string& argument : arguments) argument = argument_text(graph, node, argument);
  return arguments;
}

frame::Definition definition_of(const FrameGraph& graph, NodeId node, FrameDefinition definition) {
  if (!definition.make_kernel) {
    frame::Definition text(std::move(definition.text));
    text.of_sample = definition.of_sample;
    return text;
  }
  return {std::move(definition.make_kernel), argument_texts(graph, node, std::move(definition.columns))};
}

frame::RunOptions run_options(const FrameOptions& options) {
  frame::RunOptions run;
  run.threads = options.threads;
  if (options.progress)
    run.progress = [&options](const frame::PassProgress& progress) {
      return options.progress({progress.entries, progress.total, progress.bytes, progress.seconds});
    };
  return run;
}

}  // namespace

// ---- Frames

FrameGraphPtr open_frame(const std::string& name, std::span<const std::string> uris,
                         const FrameOptions& options) {
  return std::make_shared<FrameGraph>(frame::open_chain(name, uris, options.read), options);
}

FrameGraphPtr empty_frame(std::uint64_t entries, const FrameOptions& options) {
  return std::make_shared<FrameGraph>(frame::empty_source(entries), options);
}

FrameGraphPtr cached_frame(FrameGraph& graph, NodeId node, std::vector<std::string> columns) {
  if (columns.empty()) columns = frame_whole_columns(graph, node);
  const std::vector<std::string> texts = argument_texts(graph, node, columns);
  const ResultId result = graph.graph.book(node, {"take", texts, names_options(columns)});
  frame::ResultValue value;
  try {
    frame_run(graph);
    value = graph.graph.value(result);
  } catch (...) {
    graph.graph.forget(result);
    throw;
  }
  graph.graph.forget(result);
  FrameOptions options = graph.options;
  options.first = 0;
  options.last = ~std::uint64_t{0};
  std::vector<frame::NamedValues>& kept = std::get<frame::ArraysValue>(value).columns;
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i].stored = graph.graph.stored_field(node, texts[i]);
  return std::make_shared<FrameGraph>(frame::array_source(std::move(kept)), std::move(options));
}

std::vector<std::string> frame_whole_columns(const FrameGraph& graph, NodeId node) {
  if (const auto* chain = dynamic_cast<const frame::Chain*>(&graph.graph.source()))
    for (const frame::LeftOut& field : chain->left_out())
      warn(fmt::format("'{}' is left out: {}", field.path, field.why));
  std::vector<std::string> whole;
  for (const std::string& name : graph.graph.column_names(node)) {
    if (name.find('.') != std::string::npos) continue;  // part of an existing column
    if (frame::special_op(name)) {
      warn(fmt::format("'{0}' is left out: expressions reserve the name, `{0}` is the column", name));
      continue;
    }
    try {
      graph.graph.column_type(node, frame::column_text(name));
      whole.push_back(name);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
    }
  }
  return whole;
}

// ---- Nodes

NodeId frame_define(FrameGraph& graph, NodeId node, DefineHow how, const std::string& name,
                    FrameDefinition definition) {
  switch (how) {
    case DefineHow::define:
      return graph.graph.define(node, name, definition_of(graph, node, std::move(definition)));
    case DefineHow::redefine:
      return graph.graph.redefine(node, name, definition_of(graph, node, std::move(definition)));
    case DefineHow::default_value:
      return graph.graph.default_value_for(node, name, definition_of(graph, node, std::move(definition)));
    case DefineHow::filter:
      break;
  }
  return graph.graph.filter(node, definition_of(graph, node, std::move(definition)), name);
}

NodeId frame_alias(FrameGraph& graph, NodeId node, const std::string& name, const std::string& column) {
  return graph.graph.alias(node, name, column);
}

NodeId frame_available(FrameGraph& graph, NodeId node, const std::string& column, bool available) {
  return available ? graph.graph.filter_available(node, column) : graph.graph.filter_missing(node, column);
}

NodeId frame_range(FrameGraph& graph, NodeId node, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t stride) {
  return graph.graph.range(node, begin, end, stride);
}

NodeId frame_join(FrameGraph& graph, NodeId node, const std::string& name, std::span<const std::string> uris,
                  std::span<const JoinKey> on, const JoinOptions& options) {
  std::vector<std::string> keys;
  frame::JoinedColumns wanted;
  for (const auto& [here, there] : on) {
    wanted.keys.push_back(argument_text(graph, node, here));
    keys.push_back(there);
  }
  const auto join = frame::Join::make(
      frame::open_chain(name, uris, options.read), std::move(keys),
      options.first_of_duplicates ? frame::Join::Duplicates::first : frame::Join::Duplicates::error,
      options.table);
  wanted.inner = !options.left;
  frame::name_columns(*join, wanted, name, options.prefix,
                      options.columns.empty() ? join->columns() : options.columns,
                      [&](const std::string& column) { return graph.graph.is_taken(node, column); });
  return join->add_to(graph.graph, node, wanted);
}

NodeId frame_vary(FrameGraph& graph, NodeId node, std::vector<std::string> columns,
                  FrameDefinition definition, std::vector<std::string> tags, const std::string& name) {
  return graph.graph.vary(node, std::move(columns), definition_of(graph, node, std::move(definition)),
                          std::move(tags), name);
}

// ---- Results

ResultId frame_book(FrameGraph& graph, NodeId node, const std::string& kind,
                    std::vector<std::string> arguments, const std::string& options) {
  return graph.graph.book(node, {kind, argument_texts(graph, node, std::move(arguments)), options});
}

ResultId frame_book(FrameGraph& graph, NodeId node, std::vector<std::string> arguments,
                    std::shared_ptr<Accumulator> accumulator) {
  return graph.graph.book(node, argument_texts(graph, node, std::move(arguments)), std::move(accumulator));
}

ResultId frame_report(FrameGraph& graph, NodeId node) {
  return graph.graph.report(node);
}

std::vector<std::string> frame_vary_result(FrameGraph& graph, ResultId result) {
  return graph.graph.vary_result(result);
}

void frame_forget(FrameGraph& graph, ResultId result) noexcept {
  try {
    graph.graph.forget(result);
  } catch (const std::bad_alloc&) {  // it stays in the graph
  }
}

std::shared_ptr<const void> frame_hold(const FrameGraphPtr& graph, NodeId node) {
  if (node == frame::Graph::root) return nullptr;
  return {nullptr, [graph, node](std::nullptr_t) {
            try {
              graph->graph.release(node);
            } catch (const std::bad_alloc&) {  // it stays in the graph
            }
          }};
}

bool frame_is_ready(const FrameGraph& graph, ResultId result) {
  return graph.graph.is_ready(result);
}

void frame_run(FrameGraph& graph) {
  graph.graph.run(run_options(graph.options));
}

void frame_run(FrameGraph& graph, ResultId wanted) {
  graph.graph.retry(wanted);
  frame_run(graph);
}

void frame_run(std::span<FrameGraph* const> graphs) {
  if (graphs.empty()) return;
  std::vector<frame::Graph*> all;
  for (FrameGraph* graph : graphs) all.push_back(&graph->graph);
  frame::Graph::run(all, run_options(graphs.front()->options));
}

std::shared_ptr<Accumulator> frame_accumulator(const FrameGraph& graph, ResultId result,
                                               std::string_view variation) {
  return graph.graph.share_accumulator(result, variation);
}

std::vector<FilterCount> frame_report_value(const FrameGraph& graph, ResultId result,
                                            std::string_view variation) {
  return graph.graph.report_value(result, variation);
}

namespace {

// Whether an integer of the requested type can hold a number, whose digits after the point are cut off.
template <class T, class V>
bool is_held(V number) {
  if constexpr (std::is_integral_v<V>) {
    return std::in_range<T>(number);
  } else {
    const double end = std::ldexp(1., std::numeric_limits<T>::digits);
    return (std::is_signed_v<T> ? number >= -end : number > -1) && number < end;  // not NaN
  }
}

// The number in a result, in the requested type.
template <class T>
T number_of(const frame::ResultValue& value) {
  return std::visit(
      []<class V>(const V& number) -> T {
        if constexpr (std::is_arithmetic_v<V>) {
          if constexpr (std::is_integral_v<T>) {
            if (!is_held<T>(number))
              throw Error(ErrorKind::conversion,
                          fmt::format("the result is {}, which {} cannot hold", number,
                                      std::is_signed_v<T> ? "std::int64_t" : "std::uint64_t"),
                          "ask for a double");
          }
          return static_cast<T>(number);
        } else {
          throw Error(ErrorKind::type, "the result is not a number");
        }
      },
      value);
}

template <class T>
T alternative_of(frame::ResultValue value) {
  if (T* found = std::get_if<T>(&value)) return std::move(*found);
  throw Error(ErrorKind::type, "the result is of another kind than requested");
}

}  // namespace

template <>
double frame_value(const FrameGraph& graph, ResultId result, std::string_view variation) {
  return number_of<double>(graph.graph.value(result, variation));
}
template <>
std::int64_t frame_value(const FrameGraph& graph, ResultId result, std::string_view variation) {
  return number_of<std::int64_t>(graph.graph.value(result, variation));
}
template <>
std::uint64_t frame_value(const FrameGraph& graph, ResultId result, std::string_view variation) {
  return number_of<std::uint64_t>(graph.graph.value(result, variation));
}
template <>
Statistics frame_value(const FrameGraph& graph, ResultId result, std::string_view variation) {
  return alternative_of<Statistics>(graph.graph.value(result, variation));
}
template <>
Histogram frame_value(const FrameGraph& graph, ResultId result, std::string_view variation) {
  return alternative_of<Histogram>(graph.graph.value(result, variation));
}
template <>
Profile frame_value(const FrameGraph& graph, ResultId result, std::string_view variation) {
  return alternative_of<Profile>(graph.graph.value(result, variation));
}
template <>
Graph frame_value(const FrameGraph& graph, ResultId result, std::string_view variation) {
  return alternative_of<Graph>(graph.graph.value(result, variation));
}
template <>
frame::SnapshotValue frame_value(const FrameGraph& graph, ResultId result, std::string_view variation) {
  return alternative_of<frame::SnapshotValue>(graph.graph.value(result, variation));
}
template <>
DisplayValue frame_value(const FrameGraph& graph, ResultId result, std::string_view variation) {
  const auto arrays = alternative_of<frame::ArraysValue>(graph.graph.value(result, variation));
  DisplayValue display;
  for (const frame::NamedValues& column : arrays.columns) {
    display.columns.push_back(column.name);
    display.rows.resize(std::max(display.rows.size(), column.values->size));
    for (std::size_t row = 0; row < column.values->size; ++row)
      display.rows[row].push_back(frame::text_of(*column.values, row));
  }
  return display;
}

std::variant<std::int64_t, std::uint64_t, double> frame_number(const FrameGraph& graph, ResultId result,
                                                               std::string_view variation) {
  return std::visit(
      []<class V>(const V& number) -> std::variant<std::int64_t, std::uint64_t, double> {
        if constexpr (std::is_arithmetic_v<V>) {
          return number;
        } else {
          throw Error(ErrorKind::type, "the result is not a number");
        }
      },
      graph.graph.value(result, variation));
}

ValuesPtr frame_taken(const FrameGraph& graph, ResultId result, std::string_view variation) {
  return alternative_of<frame::ArraysValue>(graph.graph.value(result, variation)).columns.at(0).values;
}

// ---- Queries

ValueType frame_column_type(const FrameGraph& graph, NodeId node, const std::string& expression) {
  return graph.graph.column_type(node, argument_text(graph, node, expression));
}
std::vector<std::string> frame_column_names(const FrameGraph& graph, NodeId node) {
  return graph.graph.column_names(node);
}
std::vector<std::string> frame_defined_column_names(const FrameGraph& graph, NodeId node) {
  return graph.graph.defined_column_names(node);
}
std::vector<std::string> frame_filter_names(const FrameGraph& graph, NodeId node) {
  return graph.graph.filter_names(node);
}
std::vector<std::string> frame_variation_names(const FrameGraph& graph, NodeId node) {
  return graph.graph.variation_names(node);
}
bool frame_has_column(const FrameGraph& graph, NodeId node, const std::string& name) {
  return graph.graph.has_column(node, name);
}
std::string frame_describe(const FrameGraph& graph, NodeId node) {
  return graph.graph.describe(node);
}
std::string frame_dot(const FrameGraph& graph) {
  return graph.graph.dot();
}
unsigned frame_passes(const FrameGraph& graph) noexcept {
  return graph.graph.passes();
}
const FrameOptions& frame_options(const FrameGraph& graph) noexcept {
  return graph.options;
}

std::vector<SampleInfo> frame_samples(const FrameGraph& graph) {
  std::vector<SampleInfo> samples;
  for (const frame::Sample& sample : graph.graph.source().samples())
    samples.push_back({sample.name, sample.first, sample.entries, static_cast<unsigned>(samples.size())});
  return samples;
}

}  // namespace detail

// ---- Results as text

const FilterCount& Report::operator[](std::string_view name) const {
  for (const FilterCount& filter : filters)
    if (filter.name == name) return filter;
  std::vector<std::string> names;
  for (const FilterCount& filter : filters) names.push_back(filter.name);
  throw Error(ErrorKind::not_found, fmt::format("the report has no filter '{}'", name),
              dataset::did_you_mean(name, names));
}

std::string Report::as_string() const {
  const auto percent = [](std::uint64_t part, std::uint64_t all) {
    return all == 0 ? 0.0 : 100 * static_cast<double>(part) / static_cast<double>(all);
  };
  std::string text;
  for (const FilterCount& filter : filters)
    text += fmt::format("{:<20}: pass={:<10} all={:<10} -- eff={:.2f} % cumulative eff={:.2f} %\n",
                        filter.name, filter.passed, filter.all, percent(filter.passed, filter.all),
                        percent(filter.passed, filters.front().all));
  return text;
}

std::string DisplayValue::as_string() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    widths.push_back(columns[i].size());
    for (const auto& row : rows) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      text += fmt::format("{:>{}}{}", cells[i], widths[i], i + 1 < cells.size() ? "  " : "\n");
  };
  add_line(columns);
  for (const auto& row : rows) add_line(row);
  return text;
}

// ---- DataFrame

void run_graphs(std::span<const AnyResult> results) {
  std::vector<detail::FrameGraph*> graphs;
  for (const AnyResult& result : results)
    if (std::ranges::find(graphs, result.graph().get()) == graphs.end())
      graphs.push_back(result.graph().get());
  detail::frame_run(graphs);
}

Result<DisplayValue> DataFrame::display(Names columns, unsigned rows) const {
  if (columns.empty()) columns = detail::frame_whole_columns(*graph_, node_);
  const std::string options = detail::display_options(columns, rows);
  return book_spec<DisplayValue>("display", std::move(columns), options);
}

Result<Report> DataFrame::report() const {
  const auto fetch = [](const detail::FrameGraph& graph, detail::ResultId id, std::string_view variation) {
    return std::make_shared<const Report>(Report{detail::frame_report_value(graph, id, variation)});
  };
  return {graph_, detail::frame_report(*graph_, node_), +fetch};
}

Result<frame::SnapshotValue> DataFrame::snapshot_later(const std::string& name, const std::string& uri,
                                                       const Names& columns, const WriteOptions& options,
                                                       WriteMode mode) const {
  const Names chosen = columns.empty() ? detail::frame_whole_columns(*graph_, node_) : columns;
  return book_spec<frame::SnapshotValue>("snapshot", chosen,
                                         detail::snapshot_options(chosen, name, uri, options, mode));
}

DataFrame DataFrame::snapshot(const std::string& name, const std::string& uri, const Names& columns,
                              const WriteOptions& options, WriteMode mode) const {
  snapshot_later(name, uri, columns, options, mode).value();
  FrameOptions reading = detail::frame_options(*graph_);
  reading.first = 0;
  reading.last = ~std::uint64_t{0};
  return {name, Names{uri}, reading};
}

std::vector<KernelPtr> DataFrame::conversions(const Names& columns,
                                              const std::vector<ValueType>& taken) const {
  if (columns.size() != taken.size()) detail::throw_wrong_arity(taken.size(), columns.size());
  std::vector<ValueType> given;
  for (const std::string& column : columns)
    given.push_back(detail::frame_column_type(*graph_, node_, column));
  return detail::argument_conversions(columns, given, taken);
}

void DataFrame::save_graph(const std::string& path) const {
  detail::frame_draw(save_graph(), path);
}

}  // namespace colonnade
