// What DataFrame calls on its graph: the compiled part of
// colonnade/dataframe.h.
#ifndef COLONNADE_DETAIL_FRAME_GRAPH_H
#define COLONNADE_DETAIL_FRAME_GRAPH_H

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "colonnade/accumulator.h"
#include "colonnade/block.h"
#include "colonnade/frame_results.h"
#include "colonnade/options.h"

namespace colonnade {

// Progress of a pass.
struct FrameProgress {
  std::uint64_t entries = 0;  // done
  std::uint64_t total = 0;
  std::uint64_t bytes = 0;  // read from storage
  double seconds = 0;
};

struct FrameOptions {
  unsigned threads = 0;  // 0: one per processor that this process may use
  // Process only the entries [first, last).
  std::uint64_t first = 0;
  std::uint64_t last = ~std::uint64_t{0};
  ReadOptions read = {};
  // Called about ten times a second by the thread that waits for a result. Returning false stops the pass
  // with an error; the DataFrame stays usable.
  std::function<bool(const FrameProgress&)> progress = {};
};

// A key of a join: a column that both sides have, or an expression on this side and a column of the other.
struct JoinKey {
  JoinKey(const char* both) : here(both), there(both) {}
  JoinKey(const std::string& both) : here(both), there(both) {}
  JoinKey(std::string expression, std::string column)
      : here(std::move(expression)), there(std::move(column)) {}

  std::string here, there;
};

// How another data set is joined, see DataFrame::join().
struct JoinOptions {
  bool left = false;                      // keep rows without a match; the joined columns become optionals
  std::vector<std::string> columns = {};  // of the other data set; if empty, all but the keys
  std::string prefix = {};                // of all new names; if empty, "Name_" for those that are taken
  bool first_of_duplicates = false;       // if several entries have the same key; otherwise an error
  // The file of the table of keys; created if it is missing or belongs to other files.
  std::string table = {};
  ReadOptions read = {};
};

// A file of the source, for DataFrame::define_per_sample.
struct SampleInfo {
  std::string name;  // "uri/Events"
  std::uint64_t first = 0;
  std::uint64_t entries = 0;
  unsigned number = 0;
  bool contains(std::string_view text) const { return name.find(text) != std::string::npos; }
};

// An axis of a histogram: equal bins, or bins between edges. Without a range, the values determine it.
struct Axis {
  Axis() = default;
  Axis(unsigned number, double from, double to, std::string axis_name = {})
      : bins(number), low(from), high(to), name(std::move(axis_name)) {}
  Axis(std::vector<double> between, std::string axis_name = {})
      : edges(std::move(between)), name(std::move(axis_name)) {}
  unsigned bins = 128;
  double low = 0, high = 0;
  std::vector<double> edges;
  std::string name;
};

// The first rows of some columns, as text.
struct DisplayValue {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::string as_string() const;  // a table
};

namespace detail {

class FrameGraph;
using FrameGraphPtr = std::shared_ptr<FrameGraph>;
using NodeId = std::uint32_t;
using ResultId = std::uint32_t;

// How a column is computed: a text, or a kernel over columns.
struct FrameDefinition {
  std::string text;
  std::function<KernelPtr(std::span<const ValueType>)> make_kernel;
  std::vector<std::string> columns;
  bool of_sample = false;  // a text that depends on the file alone
};

enum class DefineHow : std::uint8_t { define, redefine, filter, default_value };

FrameGraphPtr open_frame(const std::string& name, std::span<const std::string> uris,
                         const FrameOptions& options);
FrameGraphPtr empty_frame(std::uint64_t entries, const FrameOptions& options);
// A frame over columns of `node`, computed by this call.
FrameGraphPtr cached_frame(FrameGraph& graph, NodeId node, std::vector<std::string> columns);

NodeId frame_define(FrameGraph& graph, NodeId node, DefineHow how, const std::string& name,
                    FrameDefinition definition);
NodeId frame_alias(FrameGraph& graph, NodeId node, const std::string& name, const std::string& column);
NodeId frame_available(FrameGraph& graph, NodeId node, const std::string& column, bool available);
NodeId frame_range(FrameGraph& graph, NodeId node, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t stride);
NodeId frame_join(FrameGraph& graph, NodeId node, const std::string& name, std::span<const std::string> uris,
                  std::span<const JoinKey> on, const JoinOptions& options);
NodeId frame_vary(FrameGraph& graph, NodeId node, std::vector<std::string> columns,
                  FrameDefinition definition, std::vector<std::string> tags, const std::string& name);

// `options` is JSON.
ResultId frame_book(FrameGraph& graph, NodeId node, const std::string& kind,
                    std::vector<std::string> arguments, const std::string& options);
ResultId frame_book(FrameGraph& graph, NodeId node, std::vector<std::string> arguments,
                    std::shared_ptr<Accumulator> accumulator);
ResultId frame_report(FrameGraph& graph, NodeId node);
std::vector<std::string> frame_vary_result(FrameGraph& graph, ResultId result);
void frame_forget(FrameGraph& graph, ResultId result) noexcept;
// Takes ownership of a node: releases it when the last copy goes.
std::shared_ptr<const void> frame_hold(const FrameGraphPtr& graph, NodeId node);
bool frame_is_ready(const FrameGraph& graph, ResultId result);
void frame_run(FrameGraph& graph);
void frame_run(FrameGraph& graph, ResultId wanted);  // retries a result that made an earlier pass fail
void frame_run(std::span<FrameGraph* const> graphs);
void frame_draw(const std::string& dot, const std::string& path);

// For a result that is ready.
std::shared_ptr<Accumulator> frame_accumulator(const FrameGraph& graph, ResultId result,
                                               std::string_view variation);
std::vector<frame::FilterCount> frame_report_value(const FrameGraph& graph, ResultId result,
                                                   std::string_view variation);
template <class T>
T frame_value(const FrameGraph& graph, ResultId result, std::string_view variation);
template <>
double frame_value(const FrameGraph&, ResultId, std::string_view);
template <>
std::int64_t frame_value(const FrameGraph&, ResultId, std::string_view);
template <>
std::uint64_t frame_value(const FrameGraph&, ResultId, std::string_view);
template <>
frame::StatsValue frame_value(const FrameGraph&, ResultId, std::string_view);
template <>
frame::HistogramValue frame_value(const FrameGraph&, ResultId, std::string_view);
template <>
frame::ProfileValue frame_value(const FrameGraph&, ResultId, std::string_view);
template <>
frame::GraphValue frame_value(const FrameGraph&, ResultId, std::string_view);
template <>
frame::SnapshotValue frame_value(const FrameGraph&, ResultId, std::string_view);
template <>
DisplayValue frame_value(const FrameGraph&, ResultId, std::string_view);
// A number in its own type. Throws ErrorKind::type for other results.
std::variant<std::int64_t, std::uint64_t, double> frame_number(const FrameGraph& graph, ResultId result,
                                                               std::string_view variation);
// The only column of a "take".
ValuesPtr frame_taken(const FrameGraph& graph, ResultId result, std::string_view variation);

ValueType frame_column_type(const FrameGraph& graph, NodeId node, const std::string& expression);
std::vector<std::string> frame_column_names(const FrameGraph& graph, NodeId node);
std::vector<std::string> frame_defined_column_names(const FrameGraph& graph, NodeId node);
std::vector<std::string> frame_filter_names(const FrameGraph& graph, NodeId node);
std::vector<std::string> frame_variation_names(const FrameGraph& graph, NodeId node);
// The columns that are not members of another one and have a supported type.
std::vector<std::string> frame_whole_columns(const FrameGraph& graph, NodeId node);
bool frame_has_column(const FrameGraph& graph, NodeId node, const std::string& name);
std::string frame_describe(const FrameGraph& graph, NodeId node);
std::string frame_dot(const FrameGraph& graph);
unsigned frame_passes(const FrameGraph& graph) noexcept;
std::vector<SampleInfo> frame_samples(const FrameGraph& graph);
const FrameOptions& frame_options(const FrameGraph& graph) noexcept;
std::string histogram_options(const std::string& name, const std::string& title, std::span<const Axis> axes,
                              bool weighted, const std::string& spread = {});
std::string graph_options(const std::string& name, const std::string& title, unsigned errors);
std::string display_options(std::span<const std::string> names, unsigned rows);
std::string names_options(std::span<const std::string> names);
std::string snapshot_options(std::span<const std::string> names, const std::string& name,
                             const std::string& uri, const WriteOptions& options, WriteMode mode);

// A booked result; it is cancelled when the last copy is gone.
struct FrameBooking {
  FrameBooking(FrameGraphPtr of, ResultId number) : graph(std::move(of)), id(number) {}
  ~FrameBooking() { frame_forget(*graph, id); }
  FrameBooking(const FrameBooking&) = delete;
  FrameBooking& operator=(const FrameBooking&) = delete;
  FrameGraphPtr graph;
  ResultId id;
};

// ---- Arguments of functions

// The kernel that converts a column to what a function takes; null if none is needed. Throws ErrorKind::type
// with the column and both types.
std::vector<KernelPtr> argument_conversions(std::span<const std::string> columns,
                                            std::span<const ValueType> given,
                                            std::span<const ValueType> taken);
// The converted values, with one element per row.
ValuesPtr prepare_argument(const CallContext& context, const ValuesPtr& values, const Kernel* conversion);
// The one element of `values` for `size` rows.
ValuesPtr repeat_element(const ValuesPtr& values, std::size_t size);
[[noreturn]] void throw_wrong_arity(std::size_t taken, std::size_t given);

}  // namespace detail
}  // namespace colonnade

#endif
