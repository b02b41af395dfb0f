// The state of a Graph: nodes, the columns that they make, selections, results. Shared by the files of this
// folder.
//
// A computation is bound for the nominal values when it is booked, and for a variation when a pass needs it:
// only computations that use something the variation changes are bound again, each once.
//
// The numbers of nodes, columns and results are permanent; those of expressions and selections change when
// unused ones are swept (sweep.cpp).
#ifndef COLONNADE_FRAME_GRAPH_STATE_H
#define COLONNADE_FRAME_GRAPH_STATE_H

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/floating_point.h"
#include "colonnade/error.h"
#include "frame/expression/function.h"
#include "frame/graph/graph.h"
#include "frame/graph/names.h"
#include "frame/graph/numbered.h"

namespace colonnade::frame {

namespace graph_parts {

using ColumnId = std::uint32_t;

// A definition with resolved names.
struct Computation {
  Definition definition{std::string()};
  std::vector<Formula> formulas;  // the text, or the arguments of the callable
  KernelPtr kernel;               // of a callable
  std::vector<ValueType> kernel_types;
  NameMap names;               // the scope at its node
  std::vector<ColumnId> uses;  // columns of nodes, not of the source
  VariationSet varied_by;      // variations that change its value
  ExpressionId nominal = 0;
};

// The meaning of a name from a node on.
struct Column {
  enum class Kind : std::uint8_t {
    computed,  // by the computation of the node
    alias,     // `before`
    varied,    // `before`, but in some variations items[i]
    fallback   // `before` if the sample has it, otherwise the computation of the node
  };
  Kind kind = Kind::computed;
  std::string name;
  NodeId node = 0;
  std::optional<ColumnId> before;
  ExpressionId nominal = 0;         // of the column itself
  ExpressionId before_nominal = 0;  // if `before` is empty: a column of the source
  VariationSet varied_by;
  std::vector<VariationId> variations;  // of `varied`
  std::vector<ExpressionId> items;
  std::string alias_of;     // of an alias: the name of its column
  std::string source_path;  // of an alias for a column of the source
  bool defined = false;     // by the user, not by the source
  ColumnId origin = 0;      // the column that first had the name
};

struct Node {
  enum class Kind : std::uint8_t {
    root,
    define,
    redefine,
    alias,
    filter,
    filter_available,
    filter_missing,
    default_value_for,
    range,
    vary
  };
  Kind kind = Kind::root;
  NodeId parent = 0;
  std::string name;                  // of the column, the filter or the variation
  std::vector<std::string> columns;  // to which it refers
  std::vector<ColumnId> made;        // columns of its own
  std::vector<std::string> tags;
  Computation computation;
  Computation available;  // of default_value_for: whether a row has the column; of filters: which rows
  std::uint64_t begin = 0, end = 0, stride = 1;
  std::vector<bool> of_sample;

  NameMap names;
  SelectionId selection = 0;  // nominal, in State::selections
  VariationSet varied_by;     // variations that change the selection
  bool after_range = false;
  std::uint32_t holders = 1;  // nodes and results that build on it, and holders that call Graph::release()
};

struct Variation {
  std::string name, tag, full;  // full: name:tag
};

// A filter of a report, with the indices of its counts.
struct Cut {
  std::string name;
  std::size_t all = 0, passed = 0;
};

// A result for the nominal values or for one variation: one accumulator; for a report, one per selection.
struct Instance {
  VariationId variation = 0;
  std::vector<std::shared_ptr<Accumulator>> accumulators;
  std::vector<SelectionId> selections;  // of a report that is not ready
  std::vector<Cut> cuts;
  bool ready = false;
  bool stale = false;   // a pass was aborted: the accumulators must be recreated
  bool failed = false;  // it made a pass fail: skipped until it is requested
};

// What a snapshot with variations computes instead of its arguments.
struct Expansion {
  SelectionId selection = 0;
  std::vector<ExpressionId> arguments;
};

struct BookedResult {
  enum class Kind : std::uint8_t { specified, own, report };
  Kind kind = Kind::specified;
  NodeId node = 0;
  ResultSpec spec;
  std::vector<Computation> arguments;
  VariationSet varied_by;  // with those of the node
  std::vector<Instance> instances;
  bool all_variations = false;
  std::optional<Expansion> expansion;  // one instance for all variations
};

// Of a callable "callable(x, y)", of a joined column "join(key)".
std::string text_of(const Definition& definition);
std::string text_of_filter(const Node& node);

// Adds the node to errors in its text.
template <class Work>
decltype(auto) booking(const std::string& what, Work&& work) {
  const StandardFloatingPoint state;  // for constants, which are computed at once
  try {
    return std::forward<Work>(work)();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", what, error.problem()), error.advice(), error.context());
  }
}

}  // namespace graph_parts

using namespace graph_parts;

struct Graph::State {
  explicit State(std::shared_ptr<Source> of);

  std::shared_ptr<Source> source;
  std::shared_ptr<ExpressionPool> pool = std::make_shared<ExpressionPool>();
  NameTable name_table;
  Numbered<Node> nodes;
  Numbered<Column> columns;
  std::vector<Variation> variations;  // [0] is nominal
  std::map<std::string, VariationId, std::less<>> variation_ids;
  std::vector<Selection> selections;
  Numbered<BookedResult> results;
  struct OwnFunction {
    Definition definition;
    Function function;
  };
  std::map<std::string, OwnFunction, std::less<>> functions;
  std::uint64_t first = 0, last = 0;
  bool restricted = false;
  struct ContinuedRange {
    std::uint64_t first = 0, last = 0;
    std::vector<Graph::Reached> reached;
  };
  std::optional<ContinuedRange> stretch;
  std::uint32_t block_entries = usual_large_block_entries;
  unsigned passes = 0;
  std::uint64_t bindings = 0;

  // ---- bind.cpp: the meaning of names and definitions. The value of a name for a variation; adds the
  // columns of nodes that it uses to `uses`.
  std::optional<ExpressionId> find(const NameMap& names, std::string_view name, VariationId variation,
                                   std::vector<ColumnId>* uses);
  std::vector<std::string> names_of(const NameMap& names) const;
  std::optional<ColumnId> named_column(const NameMap& names, std::string_view name) const;
  // The same, but of an alias what its column is there.
  std::optional<ColumnId> column_of(const NameMap& names, std::string_view name) const;
  std::optional<ExpressionId> source_column(std::string_view path);
  // The source path of a name; empty if a node computes it.
  std::optional<std::string> source_path(const NameMap& names, const std::string& name) const;
  // Binds the definition for the nominal values.
  Computation bind(const NameMap& names, Definition definition);
  // A list of items for each column that varies, one item per tag.
  std::vector<std::vector<ExpressionId>> bind_items(Computation& computation,
                                                    const std::vector<Column>& varied, std::size_t tags);
  ExpressionId value(const Computation& computation, VariationId variation);
  // `before` if the row has it, otherwise the default value; both as the type.
  ExpressionId with_default(const ValueType& type, ExpressionId available, ExpressionId before,
                            ExpressionId default_value);
  ExpressionId value(ColumnId column, VariationId variation);
  [[noreturn]] void throw_unknown(const NameMap& names, std::string_view name) const;

  // ---- select.cpp: which rows, and what a pass computes for them
  SelectionId select(Selection selection);
  SelectionId narrow(SelectionId parent, ExpressionId condition);
  SelectionId first_rows(SelectionId parent, std::uint64_t rows);
  SelectionId selection_of(const Node& node, SelectionId parent, VariationId variation);
  SelectionId selection(NodeId node, VariationId variation);
  // All instances that a pass could fill, with fresh accumulators.
  void prepare(BookedResult& result);
  void prepare_report(const BookedResult& result, Instance& instance);
  std::vector<NodeId> filters_before(NodeId node, bool named) const;
  struct Pass {
    Program program;
    std::vector<Instance*> instances;
    std::vector<Instance*> of_output;
    Graph::State* state = nullptr;
    std::vector<ResultId> result_of_output;
    std::vector<SelectionId> selections;  // of the state, by those of the program
  };
  struct Step {
    ResultId result = 0;
    std::uint64_t first = 0, last = 0;
  };
  using ReachedSelections = std::vector<std::pair<SelectionId, std::uint64_t>>;
  ReachedSelections narrow_to_stretch(Program& program);
  // Everything requested, or one result for some entries.
  Pass compile(const std::optional<Step>& step = {});
  // Runs all of them in one pass.
  static RunReport run(std::span<Pass> passes, const RunOptions& options);

  // ---- sweep.cpp: removal of unused objects
  struct Released {
    Numbered<BookedResult> results;
    Numbered<Node> nodes;
    Numbered<Column> columns;
  };
  // A holder less. Needs no memory.
  void release(NodeId node, Released& released);
  // Sweeps expressions and selections if many are unused; their numbers change then.
  void settle(Graph::Garbage& garbage);

  // ---- costs.cpp
  std::vector<PassCost> last_costs;
  void note_costs(const Pass& pass, const Program& program, std::span<const StepCost> costs);

  // ---- origin.cpp: the origin of an expression, "in the definition of 'x', \"a[3]\""; empty if it is in
  // none.
  std::string origin_of(ExpressionId id) const;

  // ---- snapshot.cpp
  std::unique_ptr<ResultAccumulator> accumulator(const ResultSpec& spec,
                                                 std::span<const ExpressionId> arguments) const;
  StoredField stored_field(ExpressionId id) const;
  void expand_snapshot(BookedResult& result);

  const Node& node(NodeId id) const;
  const BookedResult& result(ResultId id) const;
  const Instance& instance(ResultId id, std::string_view variation) const;

 private:
  friend class CostSheet;
  std::vector<ColumnId> needs(const Column& column, VariationId variation) const;
  ExpressionId compute(const Computation& computation, VariationId variation);
  ExpressionId compute(const Column& column, VariationId variation);
  ExpressionId call(Computation& computation, std::vector<ExpressionId> arguments);
  SelectionId common_ancestor(std::span<const SelectionId> all) const;
  // The condition of `to` on the rows of its ancestor `from`; empty if they are equal.
  std::optional<ExpressionId> condition_between(SelectionId from, SelectionId to);
  std::vector<ExpressionId> items_of(ExpressionId list, std::size_t count);
  template <class Visit>
  void visit_expressions(Visit&& visit);
  template <class Visit>
  void visit_selections(Visit&& visit);
  void forget_values_of_the_dead();
  void sweep_selections();
  void sweep_expressions(Graph::Garbage& garbage);

  using SelectionKey = std::tuple<Selection::Kind, SelectionId, ExpressionId, std::uint64_t, std::uint64_t,
                                  std::uint64_t, std::vector<bool>>;
  static SelectionKey key_of(const Selection& selection) {
    return {selection.kind, selection.parent, selection.condition, selection.begin,
            selection.end,  selection.stride, selection.of_sample};
  }
  std::map<SelectionKey, SelectionId> selection_ids_;
  std::map<std::string, std::optional<ExpressionId>, std::less<>> source_columns_;
  std::unordered_map<std::uint64_t, ExpressionId> values_;          // by column and variation
  std::unordered_map<std::uint64_t, SelectionId> node_selections_;  // by node and variation
  std::size_t left_over_ = 0;      // nodes and results removed since the last sweep
  std::size_t after_sweep_ = 500;  // expressions left by the last sweep; initially, too few to sweep
};

}  // namespace colonnade::frame

#endif
