// The rows that reach a node, and what a pass computes for them. See state.h.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "frame/graph/state.h"

namespace colonnade::frame {

namespace {

std::uint64_t varied_key(NodeId node, VariationId variation) {
  return std::uint64_t{node} << 32 | variation;
}

// Whether a callable takes part, which may look at all rows of a block together.
bool has_callable(const ExpressionPool& pool, std::vector<ExpressionId> open) {
  std::unordered_set<ExpressionId> known(open.begin(), open.end());
  while (!open.empty()) {
    const Expression& e = pool[open.back()];
    open.pop_back();
    if (e.op == Op::call && e.kernel->takes_large_blocks()) return true;
    for (const ExpressionId argument : e.arguments)
      if (known.insert(argument).second) open.push_back(argument);
  }
  return false;
}

bool is_filter(Node::Kind kind) {
  return kind == Node::Kind::filter || kind == Node::Kind::filter_available ||
         kind == Node::Kind::filter_missing;
}

}  // namespace

// ---- Selections

SelectionId Graph::State::select(Selection selection) {
  const auto next = static_cast<SelectionId>(selections.size());
  const auto [place, is_new] = selection_ids_.emplace(key_of(selection), next);
  if (is_new) selections.push_back(std::move(selection));
  return place->second;
}

// One selection per operand of &&, so that conditions share common operands, and the columns of the second
// one are read only for rows that passed the first. A filter counts the rows before its first operand and
// after its last one.
SelectionId Graph::State::narrow(SelectionId parent, ExpressionId condition) {
  std::vector<ExpressionId> open = {condition};
  while (!open.empty()) {
    const ExpressionId next = open.back();
    open.pop_back();
    const Expression& expression = (*pool)[next];
    if (expression.op == Op::logical_and) {
      open.push_back(expression.arguments[1]);
      open.push_back(expression.arguments[0]);
    } else if (expression.op != Op::constant || expression.type != ValueType(ElementType::boolean) ||
               !expression.constant->as<bool>()[0]) {
      Selection selection;
      selection.kind = Selection::Kind::condition;
      selection.parent = parent;
      selection.condition = next;
      parent = select(std::move(selection));
    }
  }
  return parent;
}

SelectionId Graph::State::selection_of(const Node& node, SelectionId parent, VariationId variation) {
  Selection selection;
  selection.parent = parent;
  switch (node.kind) {
    case Node::Kind::filter:
      return narrow(parent, pool->as_condition(value(node.computation, variation)));
    case Node::Kind::filter_available:
    case Node::Kind::filter_missing:
      if (!node.available.formulas.empty())
        return narrow(parent, pool->as_condition(value(node.available, variation)));
      if (std::ranges::find(node.of_sample, false) == node.of_sample.end()) return parent;
      selection.kind = Selection::Kind::samples;
      selection.of_sample = node.of_sample;
      return select(std::move(selection));
    case Node::Kind::range:
      selection.kind = Selection::Kind::range;
      selection.begin = node.begin;
      selection.end = node.end;
      selection.stride = node.stride;
      return select(std::move(selection));
    default:
      return parent;
  }
}

SelectionId Graph::State::selection(NodeId id, VariationId variation) {
  std::vector<NodeId> open;
  SelectionId found = 0;
  for (NodeId at = id;; at = nodes[at].parent) {
    if (!contains(nodes[at].varied_by, variation)) {
      found = nodes[at].selection;
      break;
    }
    if (const auto known = node_selections_.find(varied_key(at, variation));
        known != node_selections_.end()) {
      found = known->second;
      break;
    }
    open.push_back(at);
  }
  for (; !open.empty(); open.pop_back()) {
    found = selection_of(nodes[open.back()], found, variation);
    node_selections_.emplace(varied_key(open.back(), variation), found);
  }
  return found;
}

// The first rows of a selection; a stretch of a longer run does not know how many of them were before it.
SelectionId Graph::State::first_rows(SelectionId parent, std::uint64_t rows) {
  if (stretch || rows == 0 || rows == std::numeric_limits<std::uint64_t>::max()) return parent;
  Selection selection;
  selection.kind = Selection::Kind::range;
  selection.parent = parent;
  selection.end = rows;
  return select(std::move(selection));
}

// ---- Instances

std::vector<NodeId> Graph::State::filters_before(NodeId id, bool named) const {
  std::vector<NodeId> filters;
  if (id == Graph::root) {  // for the whole graph
    for (const auto& [at, node] : nodes)
      if (is_filter(node.kind) && !(named && node.name.empty())) filters.push_back(at);
    return filters;
  }
  for (NodeId at = id; at != Graph::root; at = nodes[at].parent)
    if (is_filter(nodes[at].kind) && !(named && nodes[at].name.empty())) filters.push_back(at);
  std::ranges::reverse(filters);
  return filters;
}

void Graph::State::prepare_report(const BookedResult& result, Instance& instance) {
  const auto place_of = [&](SelectionId selection) {
    const auto found = std::ranges::find(instance.selections, selection);
    const auto place = static_cast<std::size_t>(found - instance.selections.begin());
    if (found == instance.selections.end()) {
      instance.selections.push_back(selection);
      instance.accumulators.push_back(make_accumulator({"count", {}, "{}"}, {}));
    }
    return place;
  };
  instance.selections.clear();
  instance.accumulators.clear();
  instance.cuts.clear();
  for (const NodeId filter : filters_before(result.node, true)) {
    const std::size_t all = place_of(selection(nodes[filter].parent, instance.variation));
    instance.cuts.push_back({nodes[filter].name, all, place_of(selection(filter, instance.variation))});
  }
}

void Graph::State::prepare(BookedResult& result) {
  if (result.all_variations && result.varied_by != nullptr && !result.expansion)
    for (const VariationId variation : *result.varied_by)
      if (std::ranges::find(result.instances, variation, &Instance::variation) == result.instances.end()) {
        Instance instance;
        instance.variation = variation;
        if (result.kind != BookedResult::Kind::report)
          instance.accumulators.push_back(result.instances.front().accumulators.front()->empty_copy());
        result.instances.push_back(std::move(instance));
      }
  for (Instance& instance : result.instances) {
    if (instance.ready) continue;
    if (instance.stale && result.kind != BookedResult::Kind::report)
      for (auto& accumulator : instance.accumulators) accumulator = accumulator->empty_copy();
    instance.stale = false;
    if (result.kind == BookedResult::Kind::report) prepare_report(result, instance);
  }
}

// ---- Programs

namespace {

// The selections that outputs need, renumbered, parents before children.
class SelectionSubset {
 public:
  explicit SelectionSubset(const std::vector<Selection>& all) : all_(all), numbers_(all.size(), unknown) {
    numbers_[0] = 0;
    chosen_.push_back(all[0]);
  }
  SelectionId add(SelectionId id) {
    std::vector<SelectionId> open;
    for (SelectionId at = id; numbers_[at] == unknown; at = all_[at].parent) open.push_back(at);
    for (; !open.empty(); open.pop_back()) {
      Selection selection = all_[open.back()];
      selection.parent = numbers_[selection.parent];
      numbers_[open.back()] = static_cast<SelectionId>(chosen_.size());
      originals_.push_back(open.back());
      chosen_.push_back(std::move(selection));
    }
    return numbers_[id];
  }
  // Has no effect if the selection was not added.
  void set_reached(SelectionId id, std::uint64_t rows) {
    if (id < numbers_.size() && numbers_[id] != unknown) chosen_[numbers_[id]].reached_before = rows;
  }
  std::vector<Selection> take() { return std::move(chosen_); }
  // Their original numbers.
  std::vector<SelectionId> take_originals() { return std::move(originals_); }

 private:
  static constexpr SelectionId unknown = 0xffffffffu;
  const std::vector<Selection>& all_;
  std::vector<SelectionId> numbers_;
  std::vector<Selection> chosen_;
  std::vector<SelectionId> originals_ = {0};
};

}  // namespace

// Restricts a program to the stretch, and returns the selections whose ranges had earlier rows.
Graph::State::ReachedSelections Graph::State::narrow_to_stretch(Program& program) {
  const std::uint64_t origin = program.first;
  program.first = std::clamp(stretch->first, program.first, program.last);
  program.last = std::clamp(stretch->last, program.first, program.last);
  program.left_before = program.first - origin;
  ReachedSelections reached;
  for (const Graph::Reached& each : stretch->reached) {
    const auto variation = variation_ids.find(each.variation);
    const bool is_known = each.variation == "nominal" || variation != variation_ids.end();
    if (!is_known || !nodes.contains(each.range) || nodes[each.range].kind != Node::Kind::range) continue;
    const VariationId number = each.variation == "nominal" ? 0 : variation->second;
    reached.emplace_back(selection(each.range, number), each.rows);
  }
  return reached;
}

Graph::State::Pass Graph::State::compile(const std::optional<Step>& step) {
  const StandardFloatingPoint state;
  // First everything that adds selections or expressions, then the program of what is needed.
  struct Wanted {
    SelectionId selection;
    std::vector<ExpressionId> arguments;
    std::shared_ptr<Accumulator> accumulator;
  };
  const auto is_left_out = [](const Instance& instance) { return instance.ready || instance.failed; };
  std::vector<Wanted> wanted;
  Pass pass;
  for (auto& [id, result] : results) {
    if (step && id != step->result) continue;
    prepare(result);
    for (Instance& instance : result.instances) {
      if (is_left_out(instance)) continue;
      pass.instances.push_back(&instance);
      const std::size_t outputs = result.kind == BookedResult::Kind::report ? instance.selections.size() : 1;
      pass.of_output.insert(pass.of_output.end(), outputs, &instance);
      pass.result_of_output.insert(pass.result_of_output.end(), outputs, id);
      if (result.kind == BookedResult::Kind::report) {
        for (std::size_t i = 0; i < instance.selections.size(); ++i)
          wanted.push_back({instance.selections[i], {}, instance.accumulators[i]});
        continue;
      }
      if (result.expansion) {
        wanted.push_back(
            {result.expansion->selection, result.expansion->arguments, instance.accumulators.front()});
        continue;
      }
      Wanted output{selection(result.node, instance.variation), {}, instance.accumulators.front()};
      for (const Computation& argument : result.arguments)
        output.arguments.push_back(value(argument, instance.variation));
      if (!has_callable(*pool, output.arguments))
        output.selection = first_rows(output.selection, output.accumulator->most_rows());
      wanted.push_back(std::move(output));
    }
  }
  pass.program.source = source;
  pass.program.pool = pool;
  pass.program.origin = [this](ExpressionId id) { return origin_of(id); };
  const std::uint64_t entries = source->entries();
  pass.program.first = step ? step->first : restricted ? std::min(first, entries) : 0;
  pass.program.last = step ? step->last : restricted ? std::min(last, entries) : entries;
  pass.program.large_block_entries = block_entries;
  const auto reached = stretch && !step ? narrow_to_stretch(pass.program) : ReachedSelections();
  SelectionSubset subset(selections);
  for (Wanted& output : wanted)
    pass.program.outputs.push_back(
        {subset.add(output.selection), std::move(output.arguments), std::move(output.accumulator)});
  for (const auto& [id, rows] : reached) subset.set_reached(id, rows);
  pass.program.selections = subset.take();
  pass.selections = subset.take_originals();
  pass.state = this;
  return pass;
}

}  // namespace colonnade::frame
