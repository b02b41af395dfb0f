// The origin of an expression in a graph, for messages of failed passes.
#include <fmt/format.h>

#include <algorithm>

#include "frame/graph/state.h"

namespace colonnade::frame {
namespace {

std::string where(std::string_view what, std::string_view name, const std::string& text) {
  return fmt::format("in {}{}, \"{}\"", what, name.empty() ? "" : fmt::format(" '{}'", name), text);
}

std::string where(const Node& node) {
  if (node.computation.definition.join) return fmt::format("in the joined column '{}'", node.name);
  const std::string text = text_of(node.computation.definition);
  switch (node.kind) {
    case Node::Kind::filter:
      return where("the filter", node.name, text);
    case Node::Kind::vary:
      return where("the variation", node.name, text);
    case Node::Kind::default_value_for:
      return where("the default value of", node.name, text);
    default:
      return where("the definition of", node.name, text);
  }
}

}  // namespace

// The first node or result whose expression needs it: later ones only use the column.
std::string Graph::State::origin_of(ExpressionId id) const {
  std::vector<bool> needs(pool->size());
  for (ExpressionId each = id; each < needs.size(); ++each)
    needs[each] = each == id || std::ranges::any_of((*pool)[each].arguments,
                                                    [&](ExpressionId argument) { return needs[argument]; });
  const auto is_in = [&](const Computation& computation) {
    return !computation.formulas.empty() && needs[computation.nominal];
  };
  for (const auto& [number, node] : nodes)
    if (is_in(node.computation)) return where(node);
  // Values of a varied column.
  for (const auto& [number, column] : columns)
    if (std::ranges::any_of(column.items, [&](ExpressionId item) { return needs[item]; }))
      return where(nodes[column.node]);
  for (const auto& [number, result] : results)
    for (const Computation& argument : result.arguments)
      if (is_in(argument))
        return where(fmt::format("an argument of the {}", result.spec.kind), "",
                     text_of(argument.definition));
  return {};
}

}  // namespace colonnade::frame
