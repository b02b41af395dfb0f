// Graph: the lazy plan of a DataFrame. Nodes and results are added and checked at once; nothing is read
// before run(). One pass computes everything that was booked since the last one.
//
//   root --> define m --> filter "m > 5" --> histogram
//        `-> vary pt   `-> snapshot
//
// The graph keeps the plan: texts, callables, specifications of results; to_json() returns all of it.
// Compiling binds it, once for the nominal values and once for every variation that affects a result. Names
// that no variation affects bind to the same expressions, and conditions on them to the same selections, so
// that variations cost only what differs. One thread at a time.
#ifndef COLONNADE_FRAME_GRAPH_GRAPH_H
#define COLONNADE_FRAME_GRAPH_GRAPH_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frame/executor/program.h"
#include "frame/results/result.h"

namespace colonnade::frame {

class Join;
class KeptCursors;

using NodeId = std::uint32_t;
using ResultId = std::uint32_t;

// How a value is computed: by a text, or by a callable over columns.
struct Definition {
  std::string text;
  // Returns the kernel for these argument types; throws ErrorKind::type if they do not fit.
  std::function<KernelPtr(std::span<const ValueType>)> make_kernel;
  std::vector<std::string> columns;  // arguments of the callable: expressions
  // From this the callable can be rebuilt elsewhere, in the format of its maker; empty: it cannot be sent.
  std::string payload;
  // For a join, which plans describe in their own form (joins/join.h): the join, and its definition
  // here.
  std::shared_ptr<Join> join;
  std::string join_part;
  bool is_constant = false;  // a function without parameters that expressions use by its name alone
  bool of_sample = false;  // a text that depends on the file alone: it may use no column and no entry number

  Definition(std::string expression) : text(std::move(expression)) {}
  Definition(const char* expression) : text(expression) {}
  Definition(std::function<KernelPtr(std::span<const ValueType>)> make, std::vector<std::string> arguments,
             std::string sendable = {})
      : make_kernel(std::move(make)), columns(std::move(arguments)), payload(std::move(sendable)) {}
};

// The permissions of a plan from another process, beyond computing; see docs/security.md.
struct PlanRights {
  // Rebuilds the callable of a payload, which may be arbitrary code. Null: plans with callables are
  // refused.
  std::function<Definition(const std::string& payload, std::vector<std::string> columns)> remake = {};
  // True if the plan may read, or write (a snapshot), this URI. Null: anything that the process may.
  std::function<bool(const std::string& uri, bool writes)> may_use = {};
};

// The cost of a part of a pass: reading a column, a node, a result, or everything else.
struct PassCost {
  enum class Kind : std::uint8_t { column, node, result, other };
  Kind kind = Kind::other;
  std::string what;        // "read", "define", "filter", "histogram", ...
  std::string name;        // of the column or the filter
  std::string text;        // the expression, or the arguments of the result
  std::uint64_t rows = 0;  // rows for which it was computed
  // For nodes that drop rows; empty if the rows were dropped together with those of the next filter.
  std::optional<std::uint64_t> rows_left = {};
  std::uint64_t bytes = 0;  // of the values, in memory
  double seconds = 0;       // summed over threads
};

// The numbers of kept objects; for tests, as memory use is proportional.
struct GraphCounts {
  std::size_t nodes = 0, columns = 0, results = 0, selections = 0, expressions = 0;
};

// A filter, a range, an alias or a variation, as it was asked for.
struct NodeNames {
  std::string kind;  // filter, filter_available, filter_missing, range, alias, vary
  std::string name;  // as it was given
  std::vector<std::string> columns;
  std::vector<std::string> tags;
};

class Graph {
 public:
  static constexpr NodeId root = 0;
  // Released objects. Destroying them frees the memory, which may run code of callables.
  using Garbage = std::vector<std::shared_ptr<void>>;

  explicit Graph(std::shared_ptr<Source> source);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // ---- Nodes. These throw ErrorKind::usage, not_found, type; the graph then stays unchanged.
  NodeId define(NodeId parent, const std::string& name, Definition definition);    // a new name
  NodeId redefine(NodeId parent, const std::string& name, Definition definition);  // an existing one
  NodeId alias(NodeId parent, const std::string& name, const std::string& column);
  NodeId filter(NodeId parent, Definition condition, const std::string& name = {});
  NodeId filter_available(NodeId parent, const std::string& column);
  NodeId filter_missing(NodeId parent, const std::string& column);
  NodeId default_value_for(NodeId parent, const std::string& column, Definition value);
  // Entries begin, begin + stride, ... before end (0: no end) of those that reach the node, in
  // order.
  NodeId range(NodeId parent, std::uint64_t begin, std::uint64_t end, std::uint64_t stride = 1);
  // Varied values of `columns`. One column: a text "{down, up}", or a callable that returns a list with one
  // item per tag. Several: "{{x down, x up}, {y down, y up}}". The variations are called name:tag.
  NodeId vary(NodeId parent, std::vector<std::string> columns, Definition values,
              std::vector<std::string> tags, const std::string& name);

  // Adds a function that texts of this graph may call, besides those of the language. A definition with a
  // callable provides its kernels. Functions are permanent; names are unique.
  void add_function(const std::string& name, Definition definition);

  // The caller holds the nodes that it adds, and may hold them several times. A node without holders, and
  // without nodes or results below it, is removed; the root stays.
  void hold(NodeId node);
  Garbage release(NodeId node);

  // ---- Results
  ResultId book(NodeId node, const ResultSpec& spec);
  // A custom accumulator.
  ResultId book(NodeId node, std::vector<std::string> arguments, std::shared_ptr<Accumulator> accumulator);
  ResultId report(NodeId node);
  // Also computes the result for every variation that affects it; after the pass, the results are available
  // under "nominal" and "name:tag". Returns these names. A snapshot gets the columns of all variations, see
  // snapshot.cpp.
  std::vector<std::string> vary_result(ResultId result);

  // Cancels a result: no pass computes it any more, and it must not be accessed. A second time changes
  // nothing.
  Garbage forget(ResultId result);

  bool is_ready(ResultId result) const;
  // True if it made a pass fail.
  bool is_failed(ResultId result) const;
  // Makes run() compute a result again that had made a pass fail.
  void retry(ResultId result);
  // Computes everything that is booked and not ready, except results that made a pass fail: they would make
  // this one fail, too. Without such results there is no pass.
  RunReport run(const RunOptions& options = {});
  static RunReport run(std::span<Graph* const> graphs, const RunOptions& options = {});
  // Computes one result alone, for the entries [first, last), in a pass of its own; for callers that process
  // the data in steps. Other results stay booked. Throws ErrorKind::usage behind a range: a step does not
  // determine which entries it keeps.
  RunReport run_step(ResultId result, std::uint64_t first, std::uint64_t last,
                     const RunOptions& options = {});
  // For RunOptions of steps that follow each other from the first entry on: what comes after a step is on its
  // way when the step ends.
  std::shared_ptr<KeptCursors> keep_cursors() const;
  unsigned passes() const noexcept;
  // The number of texts bound to names so far: the cost of booking and compiling.
  std::uint64_t bindings() const noexcept;
  GraphCounts counts() const noexcept;

  // The accumulator of a ready result; throws ErrorKind::usage otherwise, not_found for an unknown variation.
  Accumulator& accumulator(ResultId result, std::string_view variation = {}) const;
  std::shared_ptr<Accumulator> share_accumulator(ResultId result, std::string_view variation = {}) const;
  ResultValue value(ResultId result, std::string_view variation = {}) const;
  std::vector<FilterCount> report_value(ResultId result, std::string_view variation = {}) const;

  // ---- Queries
  const Source& source() const noexcept;
  // The parts of the entries to process.
  std::vector<Part> parts() const;
  // The approximate stored bytes of each part that the booked, unfinished results need.
  std::vector<std::uint64_t> part_bytes() const;
  // True if there is a range above the node.
  bool is_after_range(NodeId node) const;
  std::vector<std::string> column_names(NodeId node) const;          // of the source, then defined ones
  std::vector<std::string> defined_column_names(NodeId node) const;  // definitions and aliases
  std::vector<std::string> filter_names(NodeId node) const;          // in order, unnamed ones by their text
  std::vector<std::string> variation_names(NodeId node) const;
  // The filters, ranges, aliases and variations above, from the top; at the top those of the whole graph.
  std::vector<NodeNames> names_above(NodeId node) const;
  ValueType column_type(NodeId node, const std::string& expression) const;
  // See Source::stored_field; null if the column is computed.
  std::shared_ptr<const Field> stored_field(NodeId node, const std::string& column) const;
  bool has_column(NodeId node, const std::string& name) const;
  // Whether a new column cannot have the name: there is a column, or a field that cannot be one.
  bool is_taken(NodeId node, const std::string& name) const;
  std::string describe(NodeId node) const;   // a text of several lines
  std::string dot() const;                   // the graph for Graphviz
  std::string dot_above(NodeId node) const;  // the node and those above it alone
  std::string dot_above_result(ResultId result) const;
  // The costs of the last pass: columns, nodes in their order, results. Empty before the first pass.
  const std::vector<PassCost>& last_costs() const noexcept;

  // ---- Sending plans. Throws ErrorKind::unsupported and names the part that cannot be
  // sent.
  std::string to_json() const;
  // The nodes that results at these nodes need, or all nodes, without results, and with an index of the
  // source: the receiver books the results itself. The numbers of nodes are the same.
  std::string plan(const std::optional<std::vector<NodeId>>& nodes) const;
  // Throws ErrorKind::usage if the plan needs more than `rights`, before anything is opened, and
  // ErrorKind::format for an invalid plan.
  static std::unique_ptr<Graph> from_json(std::string_view json, const PlanRights& rights);
  // The entries to process, as the user chose them; ranges count from the first one.
  void restrict_entries(std::uint64_t first, std::uint64_t last);
  // The number of rows that reach a range, for a variation ("nominal"), before a certain entry.
  struct Reached {
    NodeId range = 0;
    std::string variation;
    std::uint64_t rows = 0;
  };
  // Restricts passes to part of these entries, for a worker with a share of them: ranges behind filters
  // continue from `reached`, and results behind ranges become mergeable.
  void set_stretch(std::uint64_t first, std::uint64_t last, std::vector<Reached> reached);
  // The maximum number of entries that callables see at once.
  void set_block_entries(std::uint32_t entries);
  // Saves the accumulators of everything booked; merges saved ones, which must be those of the graph with the
  // previous entries. If merging throws, the results must be recomputed.
  std::vector<std::byte> save_results() const;
  void merge_results(std::span<const std::byte> later);
  // The same for one result. If is_mergeable() is false, and no stretch is set, a result of all entries
  // replaces the accumulator's content.
  std::vector<std::byte> save_result(ResultId result) const { return save_result(result, 0, 1); }
  void merge_result(ResultId result, std::span<const std::byte> later);
  // Large results are sent and merged in slices, see Accumulator: the number of slices of about `bytes`, and
  // one of them.
  std::uint64_t slices_of(ResultId result, std::uint64_t bytes) const;
  std::vector<std::byte> save_result(ResultId result, std::uint64_t slice, std::uint64_t of) const;
  // True if it can be merged from parts of the entries. Not behind a range, which counts from the first
  // entry.
  bool is_mergeable(ResultId result) const;
  // Resets all results, to compute them for other entries.
  void begin_anew();

  struct State;  // frame/graph/state.h

 private:
  void check_ready(ResultId result) const;
  std::unique_ptr<State> state_;
};

}  // namespace colonnade::frame

#endif
