// Graph: the lazy plan of a DataFrame. Nodes and results are added and checked at once; nothing is read
// before run(). One pass computes everything that was booked since the last one.
//
//   root --> define m --> filter "m > 5" --> histogram
//        `-> vary pt   `-> snapshot
//
// What the graph keeps is the plan: texts, callables, specifications of results; to_json() is all of it.
// Compiling binds it, once for the nominal values and once for every variation that reaches a result; names
// that no variation touches bind to the same expressions, and conditions on them to the same selections, so
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

using NodeId = std::uint32_t;
using ResultId = std::uint32_t;

// How something is computed: by a text, or by a callable over columns.
struct Definition {
  std::string text;
  // The kernel for these argument types; throws ErrorKind::type where they do not fit.
  std::function<KernelPtr(std::span<const ValueType>)> make_kernel;
  std::vector<std::string> columns;  // arguments of the callable: expressions
  // What remakes the callable elsewhere, as its maker understands it; empty: it cannot be sent.
  std::string payload;
  // Of a join, see joins/join.h, which is sent as what it is: the join, and which of its definitions this is.
  std::shared_ptr<Join> join;
  std::string join_part;

  Definition(std::string expression) : text(std::move(expression)) {}
  Definition(const char* expression) : text(expression) {}
  Definition(std::function<KernelPtr(std::span<const ValueType>)> make, std::vector<std::string> arguments,
             std::string sendable = {})
      : make_kernel(std::move(make)), columns(std::move(arguments)), payload(std::move(sendable)) {}
};

// What a plan that comes from elsewhere may do beyond computing; see docs/security.md.
struct PlanRights {
  // Gives the callable of a payload back, which may be code that does anything. Null: plans with callables
  // are refused.
  std::function<Definition(const std::string& payload, std::vector<std::string> columns)> remake = {};
  // May the plan read, or write (a snapshot), this URI? Null: what the process may.
  std::function<bool(const std::string& uri, bool writes)> may_use = {};
};

// What a part of a pass took: reading a column, a node, a result, or what belongs to none of these.
struct PassCost {
  enum class Kind : std::uint8_t { column, node, result, other };
  Kind kind = Kind::other;
  std::string what;        // "read", "define", "filter", "histogram", ...
  std::string name;        // of the column or the filter
  std::string text;        // the expression, or the arguments of the result
  std::uint64_t rows = 0;  // that it was computed for
  // Of what drops rows; none where the rows were dropped together with those of the next filter.
  std::optional<std::uint64_t> rows_left = {};
  std::uint64_t bytes = 0;  // of the values, in memory
  double seconds = 0;       // summed over threads
};

// How many there are; for tests, as memory goes with them.
struct GraphCounts {
  std::size_t nodes = 0, columns = 0, results = 0, selections = 0, expressions = 0;
};

class Graph {
 public:
  static constexpr NodeId root = 0;
  // What was given up. Whoever drops it frees the memory, which may run what callables do when they end.
  using Garbage = std::vector<std::shared_ptr<void>>;

  explicit Graph(std::shared_ptr<Source> source);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // ---- Nodes. Throw ErrorKind::usage, not_found, type; the graph is then as before.
  NodeId define(NodeId parent, const std::string& name, Definition definition);    // a new name
  NodeId redefine(NodeId parent, const std::string& name, Definition definition);  // an existing one
  NodeId alias(NodeId parent, const std::string& name, const std::string& column);
  NodeId filter(NodeId parent, Definition condition, const std::string& name = {});
  NodeId filter_available(NodeId parent, const std::string& column);
  NodeId filter_missing(NodeId parent, const std::string& column);
  NodeId default_value_for(NodeId parent, const std::string& column, Definition value);
  // Entries begin, begin + stride, ... before end (0: no end) of those that reach the node, in entry order.
  NodeId range(NodeId parent, std::uint64_t begin, std::uint64_t end, std::uint64_t stride = 1);
  // Varied values of `columns`. One column: a text "{down, up}", or a callable that gives a list with one
  // item per tag. Several: "{{x down, x up}, {y down, y up}}". The variations are called name:tag.
  NodeId vary(NodeId parent, std::vector<std::string> columns, Definition values,
              std::vector<std::string> tags, const std::string& name);

  // A function that texts of this graph may call from now on, besides those of the language. A definition
  // with a callable gives its kernels. Functions stay; a name is given once.
  void add_function(const std::string& name, Definition definition);

  // The caller holds the nodes that it adds, and may hold them more often. A node that nobody holds, and upon
  // which no node and no result stands, is no more; the root stays.
  void hold(NodeId node);
  Garbage release(NodeId node);

  // ---- Results
  ResultId book(NodeId node, const ResultSpec& spec);
  // An accumulator of the caller's own.
  ResultId book(NodeId node, std::vector<std::string> arguments, std::shared_ptr<Accumulator> accumulator);
  ResultId report(NodeId node);
  // The same result for every variation that reaches it; results of the variations are then there after the
  // pass, under "nominal" and "name:tag". Gives these names. A snapshot gets the columns of all variations,
  // see snapshot.cpp.
  std::vector<std::string> vary_result(ResultId result);

  // Gives a result up: no pass computes it any more, nothing may be asked of it.
  Garbage forget(ResultId result);

  bool is_ready(ResultId result) const;
  // Was it the reason why a pass failed?
  bool is_failed(ResultId result) const;
  // Takes a result up again that was the reason why a pass failed.
  void retry(ResultId result);
  // Computes everything that is booked and not ready, but for what made a pass fail: that would make this one
  // fail, too. No pass if nothing is.
  RunReport run(const RunOptions& options = {});
  static RunReport run(std::span<Graph* const> graphs, const RunOptions& options = {});
  // Computes one result alone, of the entries [first, last), with all that a pass needs for it; for those who
  // go through the data in steps. Other results stay booked. Throws ErrorKind::usage behind a range: which
  // entries it keeps does not follow from a step.
  RunReport run_step(ResultId result, std::uint64_t first, std::uint64_t last,
                     const RunOptions& options = {});
  unsigned passes() const noexcept;
  // How often a text was bound to names so far: what booking and compiling cost.
  std::uint64_t bindings() const noexcept;
  GraphCounts counts() const noexcept;

  // Of a result that is ready; throws ErrorKind::usage otherwise, not_found for an unknown variation.
  Accumulator& accumulator(ResultId result, std::string_view variation = {}) const;
  std::shared_ptr<Accumulator> share_accumulator(ResultId result, std::string_view variation = {}) const;
  ResultValue value(ResultId result, std::string_view variation = {}) const;
  std::vector<FilterCount> report_value(ResultId result, std::string_view variation = {}) const;

  // ---- Questions
  const Source& source() const noexcept;
  // The parts of the entries that passes look at.
  std::vector<Part> parts() const;
  // About how many stored bytes of each part the results need that are booked and not computed.
  std::vector<std::uint64_t> part_bytes() const;
  // Does a range stand above?
  bool is_after_range(NodeId node) const;
  std::vector<std::string> column_names(NodeId node) const;          // of the source, then defined ones
  std::vector<std::string> defined_column_names(NodeId node) const;  // definitions and aliases
  std::vector<std::string> filter_names(NodeId node) const;          // in order, unnamed ones by their text
  std::vector<std::string> variation_names(NodeId node) const;
  ValueType column_type(NodeId node, const std::string& expression) const;
  bool has_column(NodeId node, const std::string& name) const;
  std::string describe(NodeId node) const;  // a text of several lines
  std::string dot() const;                  // the graph for Graphviz
  // What the last pass took: columns, nodes in their order, results. Nothing before the first.
  const std::vector<PassCost>& last_costs() const noexcept;

  // ---- The plan elsewhere
  // Throws ErrorKind::unsupported naming what cannot be sent.
  std::string to_json() const;
  // What results at these nodes need, or all nodes, without results, and with an index of the source: who has
  // the plan books the results again. Numbers of nodes are those here.
  std::string plan(const std::optional<std::vector<NodeId>>& nodes) const;
  // Throws ErrorKind::usage for what the plan asks and `rights` do not grant, before anything is opened, and
  // ErrorKind::format for what is no plan.
  static std::unique_ptr<Graph> from_json(std::string_view json, const PlanRights& rights);
  // The entries to look at: those of the user, from which ranges count.
  void restrict_entries(std::uint64_t first, std::uint64_t last);
  // Rows that reach a range, for a variation of them ("nominal"), before a stretch of entries.
  struct Reached {
    NodeId range = 0;
    std::string variation;
    std::uint64_t rows = 0;
  };
  // Of these entries a stretch, for a worker that has a share of them: passes look at it alone, ranges behind
  // filters go on from `reached`, and results behind ranges can be merged as others can.
  void set_stretch(std::uint64_t first, std::uint64_t last, std::vector<Reached> reached);
  // How many entries callables see at once, at most.
  void set_block_entries(std::uint32_t entries);
  // The accumulators of everything booked, saved and merged with those of the graph that saw the entries
  // before. If merging throws, the results are to be computed anew.
  std::vector<std::byte> save_results() const;
  void merge_results(std::span<const std::byte> later);
  // One result alone. Where is_mergeable() says no, and no stretch is set, what was computed of all entries
  // is taken over as it is.
  std::vector<std::byte> save_result(ResultId result) const { return save_result(result, 0, 1); }
  void merge_result(ResultId result, std::span<const std::byte> later);
  // Slices of a large result travel and merge one by one, see Accumulator: how many of about so many bytes,
  // and one of them.
  std::uint64_t slices_of(ResultId result, std::uint64_t bytes) const;
  std::vector<std::byte> save_result(ResultId result, std::uint64_t slice, std::uint64_t of) const;
  // Can it be put together from stretches of the entries? Not behind a range, which counts from the first
  // entry on.
  bool is_mergeable(ResultId result) const;
  // All results are to be computed anew, for other entries.
  void begin_anew();

  struct State;  // frame/graph/state.h

 private:
  void check_ready(ResultId result) const;
  std::unique_ptr<State> state_;
};

}  // namespace colonnade::frame

#endif
