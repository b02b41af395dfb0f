// The costs of a graph's parts in a pass: assigns the costs of steps to columns, nodes and results.
//
// An expression belongs to the first node that needs it, otherwise to the first result: shared expressions
// are computed once, and later users get them for free.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "frame/graph/state.h"

namespace colonnade::frame {

class CostSheet {
 public:
  CostSheet(const Graph::State& state, const Graph::State::Pass& pass, const Program& program)
      : state_(state),
        owners_(state.pool->size(), no_owner),
        selection_owners_(state.selections.size(), no_owner),
        rows_of_(state.pool->size()),
        output_owners_(program.outputs.size(), no_owner) {
    claim_columns();
    for (const auto& [id, node] : state.nodes) claim(id, node);
    for (std::size_t o = 0; o < output_owners_.size(); ++o)
      claim_output(o, pass.result_of_output[o], program.outputs[o]);
  }

  void add(const Graph::State::Pass& pass, const StepCost& cost) {
    std::size_t owner = no_owner;
    if (cost.kind == StepCost::Kind::output) owner = output_owners_[cost.id];
    if (cost.kind == StepCost::Kind::value || cost.kind == StepCost::Kind::moved) owner = owners_[cost.id];
    if (cost.kind == StepCost::Kind::selection && cost.id != StepCost::inner)
      owner = selection_owners_[pass.selections[cost.id]];
    Line& line = owner == no_owner ? other_ : lines_[owner];
    line.used = true;
    line.cost.bytes += cost.total.bytes;
    line.cost.seconds += static_cast<double>(cost.total.nanoseconds) * 1e-9;
    if (owner == no_owner) return;
    if (cost.kind == StepCost::Kind::value)
      line.cost.rows = std::max(line.cost.rows, rows_of_[cost.id] += cost.total.rows);
    if (cost.kind == StepCost::Kind::output) line.cost.rows = std::max(line.cost.rows, cost.total.rows);
    if (cost.kind == StepCost::Kind::selection) {
      const SelectionId selection = pass.selections[cost.id];
      if (line.selection == selection) line.cost.rows_left = cost.total.rows_left;
      if (state_.selections[selection].kind != Selection::Kind::condition) line.cost.rows = cost.total.rows;
    }
  }

  std::vector<PassCost> take() {
    std::vector<PassCost> costs;
    for (Line& line : lines_)
      if (line.used) costs.push_back(std::move(line.cost));
    if (other_.used) costs.push_back(std::move(other_.cost));
    return costs;
  }

 private:
  static constexpr std::size_t no_owner = ~std::size_t{0};
  struct Line {
    PassCost cost;
    bool used = false;
    std::optional<SelectionId> selection = {};  // at the end of a filter or a range
  };

  std::size_t add_line(PassCost cost) {
    lines_.push_back({std::move(cost)});
    return lines_.size() - 1;
  }

  void claim_columns() {
    for (ExpressionId id = 0; id < owners_.size(); ++id) {
      const Expression& expression = (*state_.pool)[id];
      if (expression.op == Op::column)
        owners_[id] = add_line({.kind = PassCost::Kind::column,
                                .what = "read",
                                .name = state_.source->path(expression.column),
                                .text = {}});
    }
  }

  // Assigns an expression and its arguments, unless they are assigned already.
  void claim(ExpressionId id, std::size_t owner) {
    std::vector<ExpressionId> open = {id};
    while (!open.empty()) {
      const ExpressionId top = open.back();
      open.pop_back();
      const Expression& expression = (*state_.pool)[top];
      if (owners_[top] != no_owner || expression.op == Op::constant) continue;
      owners_[top] = owner;
      open.insert(open.end(), expression.arguments.begin(), expression.arguments.end());
    }
  }

  void claim(NodeId id, const Node& node) {
    if (node.kind == Node::Kind::root || node.kind == Node::Kind::alias) return;
    const std::size_t owner = add_line(cost_of(node));
    if (node.selection != state_.nodes[node.parent].selection) lines_[owner].selection = node.selection;
    if (!node.computation.formulas.empty()) claim(node.computation.nominal, owner);
    for (const ColumnId made : node.made) {
      const Column& column = state_.columns[made];
      claim(column.nominal, owner);
      for (const ExpressionId item : column.items) claim(item, owner);
      for (const VariationId variation : varied(column.varied_by))
        if (const auto found = state_.values_.find(std::uint64_t{made} << 32 | variation);
            found != state_.values_.end())
          claim(found->second, owner);
    }
    claim_selections(node.selection, state_.nodes[node.parent].selection, owner);
    for (const VariationId variation : varied(node.varied_by)) {
      const auto mine = state_.node_selections_.find(std::uint64_t{id} << 32 | variation);
      if (mine == state_.node_selections_.end()) continue;
      const auto above = state_.node_selections_.find(std::uint64_t{node.parent} << 32 | variation);
      claim_selections(
          mine->second,
          above != state_.node_selections_.end() ? above->second : state_.nodes[node.parent].selection,
          owner);
    }
  }

  void claim_selections(SelectionId from, SelectionId until, std::size_t owner) {
    for (SelectionId at = from; at != until && at != 0; at = state_.selections[at].parent) {
      if (selection_owners_[at] != no_owner) continue;
      selection_owners_[at] = owner;
      if (state_.selections[at].kind == Selection::Kind::condition)
        claim(state_.selections[at].condition, owner);
    }
  }

  void claim_output(std::size_t output, ResultId id, const Output& of) {
    const auto known = std::ranges::find(result_lines_, id, &std::pair<ResultId, std::size_t>::first);
    std::size_t owner = known == result_lines_.end() ? no_owner : known->second;
    if (owner == no_owner) {
      const BookedResult& result = state_.results[id];
      std::string what = result.kind == BookedResult::Kind::report ? "report"
                         : result.kind == BookedResult::Kind::own  ? "callable"
                                                                   : result.spec.kind;
      owner = add_line({.kind = PassCost::Kind::result,
                        .what = std::move(what),
                        .name = {},
                        .text = fmt::format("{}", fmt::join(result.spec.arguments, ", "))});
      result_lines_.emplace_back(id, owner);
    }
    output_owners_[output] = owner;
    for (const ExpressionId argument : of.arguments) claim(argument, owner);
  }

  static std::vector<VariationId> varied(const VariationSet& set) {
    return set == nullptr ? std::vector<VariationId>() : *set;
  }

  static PassCost cost_of(const Node& node) {
    PassCost cost{.kind = PassCost::Kind::node, .what = {}, .name = node.name, .text = {}};
    switch (node.kind) {
      case Node::Kind::filter:
      case Node::Kind::filter_available:
      case Node::Kind::filter_missing:
        cost.what = "filter";
        cost.text = text_of_filter(node);
        break;
      case Node::Kind::range:
        cost.what = "range";
        cost.text = fmt::format("{} to {}, every {}", node.begin,
                                node.end == 0 ? "end" : std::to_string(node.end), node.stride);
        break;
      case Node::Kind::vary:
        cost.what = "vary";
        cost.text = text_of(node.computation.definition);
        break;
      default:
        cost.what = "define";
        cost.text = text_of(node.computation.definition);
    }
    return cost;
  }

  const Graph::State& state_;
  std::vector<Line> lines_;
  Line other_{.cost = {.what = "other", .name = {}, .text = {}}};
  std::vector<std::size_t> owners_;  // lines, by expression
  std::vector<std::size_t> selection_owners_;
  std::vector<bool> is_nominal_;        // selections of variations are excluded from row counts
  std::vector<std::uint64_t> rows_of_;  // by expression
  std::vector<std::size_t> output_owners_;
  std::vector<std::pair<ResultId, std::size_t>> result_lines_;
};

void Graph::State::note_costs(const Pass& pass, const Program& program, std::span<const StepCost> costs) {
  CostSheet sheet(*this, pass, program);
  for (const StepCost& cost : costs) sheet.add(pass, cost);
  last_costs = sheet.take();
}

const std::vector<PassCost>& Graph::last_costs() const noexcept {
  return state_->last_costs;
}

}  // namespace colonnade::frame
