// Removal of unused objects: nodes and results go at once, expressions and selections when there are many.
// Notebook sessions last for days, and book and drop results all the time.
#include <algorithm>
#include <utility>

#include "frame/graph/state.h"

namespace colonnade::frame {

// ---- Nodes

void Graph::hold(NodeId id) {
  state_->node(id);
  if (id != root) ++state_->nodes[id].holders;
}

Graph::Garbage Graph::release(NodeId id) {
  state_->node(id);
  if (id == root) return {};
  const auto released = std::make_shared<State::Released>();
  Garbage garbage = {released};
  state_->release(id, *released);
  state_->settle(garbage);
  return garbage;
}

void Graph::State::release(NodeId id, Released& released) {
  ++left_over_;
  while (--nodes[id].holders == 0) {  // the graph holds the root
    const Node& node = nodes[id];
    for (const ColumnId made : node.made) {
      name_table.release(columns[made].name);
      columns.move_to(released.columns, made);
    }
    const NodeId parent = node.parent;
    nodes.move_to(released.nodes, id);
    ++left_over_;
    id = parent;
  }
}

// ---- Expressions and selections

// A sweep visits everything, so it is delayed until its cost is small per removed or added object.
void Graph::State::settle(Graph::Garbage& garbage) {
  const std::size_t there = nodes.size() + results.size();
  if (left_over_ * 2 <= there && pool->size() <= 2 * after_sweep_) return;
  forget_values_of_the_dead();
  sweep_selections();
  sweep_expressions(garbage);
  left_over_ = 0;
  after_sweep_ = std::max<std::size_t>(pool->size(), 500);
}

// All numbers of expressions kept anywhere, except the columns of the source, which are found by
// name.
template <class Visit>
void Graph::State::visit_expressions(Visit&& visit) {
  for (auto& [id, node] : nodes) {
    visit(node.computation.nominal);
    visit(node.available.nominal);
  }
  for (auto& [id, column] : columns) {
    visit(column.nominal);
    visit(column.before_nominal);
    for (ExpressionId& item : column.items) visit(item);
  }
  for (auto& [id, result] : results) {
    for (Computation& argument : result.arguments) visit(argument.nominal);
    if (result.expansion)
      for (ExpressionId& argument : result.expansion->arguments) visit(argument);
  }
  for (Selection& selection : selections) visit(selection.condition);
  for (auto& [key, value] : values_) visit(value);
}

template <class Visit>
void Graph::State::visit_selections(Visit&& visit) {
  for (auto& [id, node] : nodes) visit(node.selection);
  for (auto& [id, result] : results) {
    if (result.expansion) visit(result.expansion->selection);
    for (Instance& instance : result.instances)
      for (SelectionId& selection : instance.selections) visit(selection);
  }
  for (auto& [key, selection] : node_selections_) visit(selection);
}

void Graph::State::forget_values_of_the_dead() {
  const auto number_in = [](std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); };
  std::erase_if(values_, [&](const auto& value) { return !columns.contains(number_in(value.first)); });
  std::erase_if(node_selections_, [&](const auto& each) { return !nodes.contains(number_in(each.first)); });
}

void Graph::State::sweep_selections() {
  std::vector<bool> needed(selections.size());
  needed[0] = true;
  visit_selections([&](SelectionId id) { needed[id] = true; });
  for (std::size_t id = selections.size(); id-- > 1;)  // parents have lower numbers
    if (needed[id]) needed[selections[id].parent] = true;
  std::vector<SelectionId> numbers(selections.size());
  std::vector<Selection> kept;
  kept.reserve(selections.size());
  selection_ids_.clear();
  for (std::size_t id = 0; id < selections.size(); ++id) {
    if (!needed[id]) continue;
    numbers[id] = static_cast<SelectionId>(kept.size());
    selections[id].parent = numbers[selections[id].parent];
    kept.push_back(std::move(selections[id]));
  }
  selections = std::move(kept);
  visit_selections([&](SelectionId& id) { id = numbers[id]; });
}

void Graph::State::sweep_expressions(Graph::Garbage& garbage) {
  std::vector<bool> needed(pool->size());
  if (needed.empty()) return;
  needed[0] = true;  // the default of expression numbers
  visit_expressions([&](ExpressionId id) { needed[id] = true; });
  const auto swept = std::make_shared<std::vector<Expression>>();
  garbage.push_back(swept);
  const std::vector<ExpressionId> numbers = pool->keep(needed, *swept);
  visit_expressions([&](ExpressionId& id) { id = numbers[id]; });
  std::erase_if(source_columns_,
                [&](const auto& column) { return !column.second || !needed[*column.second]; });
  for (auto& [path, expression] : source_columns_) expression = numbers[*expression];
  for (SelectionId id = 0; id < selections.size(); ++id) selection_ids_.emplace(key_of(selections[id]), id);
}

GraphCounts Graph::counts() const noexcept {
  return {state_->nodes.size(), state_->columns.size(), state_->results.size(), state_->selections.size(),
          state_->pool->size()};
}

}  // namespace colonnade::frame
