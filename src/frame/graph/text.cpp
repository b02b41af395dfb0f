// Queries of a graph, and the graph as text: for users, and for Graphviz.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "frame/graph/graph.h"
#include "frame/graph/state.h"

namespace colonnade::frame {

std::string graph_parts::text_of(const Definition& definition) {
  if (!definition.make_kernel) return definition.text;
  return fmt::format("{}({})", definition.join ? "join" : "callable", fmt::join(definition.columns, ", "));
}

std::string graph_parts::text_of_filter(const Node& node) {
  switch (node.kind) {
    case Node::Kind::filter_available:
      return fmt::format("available: {}", node.columns.front());
    case Node::Kind::filter_missing:
      return fmt::format("missing: {}", node.columns.front());
    default:
      return text_of(node.computation.definition);
  }
}

// ---- Queries

const Source& Graph::source() const noexcept {
  return *state_->source;
}

std::vector<std::string> Graph::column_names(NodeId node) const {
  return state_->names_of(state_->node(node).names);
}

std::vector<std::string> Graph::defined_column_names(NodeId node) const {
  std::vector<ColumnId> made = state_->node(node).names.columns();
  std::erase_if(made, [&](ColumnId id) { return !state_->columns[id].defined; });
  std::ranges::sort(made, {}, [&](ColumnId id) { return state_->columns[id].origin; });
  std::vector<std::string> names;
  for (const ColumnId id : made) names.push_back(state_->columns[id].name);
  return names;
}

std::vector<std::string> Graph::filter_names(NodeId node) const {
  state_->node(node);
  std::vector<std::string> names;
  for (const NodeId filter : state_->filters_before(node, false)) {
    const Node& found = state_->nodes[filter];
    names.push_back(!found.name.empty() ? found.name : text_of_filter(found));
  }
  return names;
}

std::vector<std::string> Graph::variation_names(NodeId id) const {
  const Node& node = state_->node(id);
  VariationSet all = node.varied_by;
  for (const ColumnId column : node.names.columns()) all = unite(all, state_->columns[column].varied_by);
  std::vector<std::string> names = {"nominal"};
  if (all != nullptr)
    for (const VariationId variation : *all) names.push_back(state_->variations[variation].full);
  return names;
}

namespace {

// The kind of a node for NodeNames; empty if it has none there.
std::string_view kind_name(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::alias:
      return "alias";
    case Node::Kind::filter:
      return "filter";
    case Node::Kind::filter_available:
      return "filter_available";
    case Node::Kind::filter_missing:
      return "filter_missing";
    case Node::Kind::range:
      return "range";
    case Node::Kind::vary:
      return "vary";
    default:
      return {};
  }
}

}  // namespace

std::vector<NodeNames> Graph::names_above(NodeId id) const {
  state_->node(id);
  std::vector<NodeNames> found;
  const auto add = [&](const Node& node) {
    if (const std::string_view kind = kind_name(node.kind); !kind.empty())
      found.push_back({std::string(kind), node.name, node.columns, node.tags});
  };
  if (id == root) {
    for (const auto& [at, node] : state_->nodes) add(node);
    return found;
  }
  for (NodeId at = id; at != root; at = state_->nodes[at].parent) add(state_->nodes[at]);
  std::ranges::reverse(found);
  return found;
}

ValueType Graph::column_type(NodeId node, const std::string& expression) const {
  Garbage garbage;
  state_->settle(garbage);
  return (*state_->pool)[state_->bind(state_->node(node).names, expression).nominal].type;
}

std::shared_ptr<const Field> Graph::stored_field(NodeId node, const std::string& column) const {
  Garbage garbage;
  state_->settle(garbage);
  return state_->stored_field(state_->bind(state_->node(node).names, column).nominal);
}

bool Graph::has_column(NodeId node, const std::string& name) const {
  try {
    return state_->find(state_->node(node).names, name, 0, nullptr).has_value();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported) return false;  // a field that cannot be a column
    if (error.kind() != ErrorKind::usage) throw;
    return true;  // several friends have it
  }
}

bool Graph::is_taken(NodeId node, const std::string& name) const {
  try {
    return state_->find(state_->node(node).names, name, 0, nullptr).has_value();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::usage) throw;
    return true;
  }
}

// ---- Describe

namespace {

std::string origin_of(const Graph::State& state, const NameMap& names, const std::string& name) {
  const auto column = state.named_column(names, name);
  if (!column) return "data set";
  const Node& node = state.nodes[state.columns[*column].node];
  std::string origin;
  switch (node.kind) {
    case Node::Kind::alias:
      return fmt::format("alias of {}", node.columns.front());
    case Node::Kind::default_value_for:
      return fmt::format("{}, default {}", node.of_sample.empty() ? "join" : "data set",
                         text_of(node.computation.definition));
    case Node::Kind::vary:
      origin = fmt::format("vary {}:{{{}}}", node.name, fmt::join(node.tags, ", "));
      break;
    default:
      origin = fmt::format("{} {}", node.kind == Node::Kind::redefine ? "redefine" : "define",
                           text_of(node.computation.definition));
  }
  constexpr std::size_t longest = 60;
  if (origin.size() > longest) origin = origin.substr(0, longest - 3) + "...";
  return origin;
}

// A text table; each column is as wide as its widest cell.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i + 1 < row.size() ? fmt::format("{:<{}}  ", row[i], widths[i]) : row[i];
    text += line + "\n";
  }
  return text;
}

std::string counted(std::uint64_t count, std::string_view what, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? what : many);
}

}  // namespace

std::string Graph::describe(NodeId id) const {
  const State& state = *state_;
  const Node& node = state.node(id);
  const auto samples = state.source->samples();
  std::string text = counted(state.source->entries(), "entry", "entries");
  if (!samples.empty()) text += " in " + counted(samples.size(), "sample", "samples");
  constexpr std::size_t most_samples = 10;
  for (std::size_t i = 0; i < std::min(samples.size(), most_samples); ++i)
    if (!samples[i].name.empty())
      text += fmt::format("\n  {}: {}", samples[i].name, counted(samples[i].entries, "entry", "entries"));
  if (samples.size() > most_samples) text += fmt::format("\n  and {} more", samples.size() - most_samples);
  if (state.restricted) text += fmt::format("\nentries from {} to {} only", state.first, state.last);

  const auto names = column_names(id);
  const auto defined = defined_column_names(id);
  const auto varied = variation_names(id);
  std::vector<std::vector<std::string>> facts = {
      {"Property", "Value"},
      {"--------", "-----"},
      {"Columns", std::to_string(names.size())},
      {"Columns from definitions", std::to_string(defined.size())},
      {"Filters", std::to_string(filter_names(id).size())},
      {"Variations",
       varied.size() == 1 ? "none" : fmt::format("{}", fmt::join(varied.begin() + 1, varied.end(), ", "))},
      {"Passes run", std::to_string(state.passes)}};
  text += "\n\n" + table(facts) + "\n";

  std::vector<std::vector<std::string>> columns = {{"Column", "Type", "Origin"},
                                                   {"------", "----", "------"}};
  for (const std::string& name : names) {
    std::string type;
    try {
      const auto value = state_->find(node.names, name, 0, nullptr);
      type = value ? (*state.pool)[*value].type.name() : "?";
    } catch (const Error& error) {
      type = "(" + error.problem() + ")";
    }
    columns.push_back({name, std::move(type), origin_of(state, node.names, name)});
  }
  return text + table(columns);
}

// ---- Graphviz

namespace {

struct Look {
  const char* color;
  const char* shape;
};

constexpr Look source_look{"#f4b400", "ellipse"}, column_look{"#4285f4", "ellipse"},
    filter_look{"#0f9d58", "hexagon"}, range_look{"#9574b4", "diamond"}, vary_look{"#db8a0b", "ellipse"},
    result_look{"#e47c7e", "box"}, ready_look{"#baf1e5", "box"};

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 80;
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == longest) {
      result += "...";
      break;
    }
    if (text[i] == '\n') {
      result += "\\n";
      continue;
    }
    if (text[i] == '"' || text[i] == '\\') result += '\\';
    result += text[i];
  }
  return result + "\"";
}

std::string vertex(const std::string& name, const std::string& label, const Look& look) {
  return fmt::format("  {} [label={}, style=filled, fillcolor=\"{}\", shape={}];\n", name, in_quotes(label),
                     look.color, look.shape);
}

std::string node_vertex(const Graph::State& state, NodeId id) {
  const Node& node = state.nodes[id];
  const std::string name = fmt::format("n{}", id);
  const auto defined = [&](const char* what) {
    return vertex(name, fmt::format("{} {}\n{}", what, node.name, text_of(node.computation.definition)),
                  column_look);
  };
  switch (node.kind) {
    case Node::Kind::root: {
      const auto samples = state.source->samples();
      std::string label = samples.empty() || samples.front().name.empty() ? "source" : samples.front().name;
      if (samples.size() > 1) label += fmt::format("\nand {} more", samples.size() - 1);
      return vertex(name, label + fmt::format("\nentries: {}", state.source->entries()), source_look);
    }
    case Node::Kind::define:
      return defined("define");
    case Node::Kind::redefine:
      return defined("redefine");
    case Node::Kind::default_value_for:
      return defined("default value for");
    case Node::Kind::alias:
      return vertex(name, fmt::format("alias {}\n{}", node.name, node.columns.front()), column_look);
    case Node::Kind::range:
      return vertex(name,
                    fmt::format("range\n{} to {}, every {}", node.begin,
                                node.end == 0 ? "end" : std::to_string(node.end), node.stride),
                    range_look);
    case Node::Kind::vary:
      return vertex(name,
                    fmt::format("vary {}\n{}: {}", fmt::join(node.columns, ", "), node.name,
                                fmt::join(node.tags, ", ")),
                    vary_look);
    default:
      return vertex(
          name,
          node.name.empty() ? text_of_filter(node) : fmt::format("{}\n{}", node.name, text_of_filter(node)),
          filter_look);
  }
}

std::string result_vertex(const Graph& graph, const Graph::State& state, ResultId id) {
  const BookedResult& result = state.results[id];
  std::string label = result.kind == BookedResult::Kind::report ? "report"
                      : result.kind == BookedResult::Kind::own  ? "book"
                                                                : result.spec.kind;
  if (!result.spec.arguments.empty()) label += fmt::format("\n{}", fmt::join(result.spec.arguments, ", "));
  const std::string name = fmt::format("r{}", id);
  return vertex(name, label, graph.is_ready(id) ? ready_look : result_look) +
         fmt::format("  n{} -> {};\n", result.node, name);
}

std::string edge_and_vertex(const Graph::State& state, NodeId id) {
  std::string text = node_vertex(state, id);
  if (id != Graph::root) text += fmt::format("  n{} -> n{};\n", state.nodes[id].parent, id);
  return text;
}

std::string way_to(const Graph::State& state, NodeId last) {
  std::string text;
  for (NodeId at = last; at != Graph::root; at = state.nodes[at].parent)
    text.insert(0, edge_and_vertex(state, at));
  return edge_and_vertex(state, Graph::root) + text;
}

}  // namespace

std::string Graph::dot() const {
  std::string text = "digraph {\n";
  for (const auto& [id, node] : state_->nodes) text += edge_and_vertex(*state_, id);
  for (const auto& [id, result] : state_->results) text += result_vertex(*this, *state_, id);
  return text + "}\n";
}

std::string Graph::dot_above(NodeId node) const {
  state_->node(node);
  return "digraph {\n" + way_to(*state_, node) + "}\n";
}

std::string Graph::dot_above_result(ResultId result) const {
  return "digraph {\n" + way_to(*state_, state_->result(result).node) +
         result_vertex(*this, *state_, result) + "}\n";
}

}  // namespace colonnade::frame
