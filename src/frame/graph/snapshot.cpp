// A snapshot with variations: one data set in which every varied column has a column per variation.
//
//   x  x__scale_up  x__scale_down  y  passed__nominal  passed__scale_up  passed__scale_down
//
// It contains the entries that pass for the nominal values or any variation. If these have different filters,
// the "passed" columns tell which ones passed. Values of a variation that did not pass are zero or empty, as
// they may not even be defined there; nominal ones are there if a variation passed that does not change the
// column.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "frame/graph/kernels.h"
#include "frame/graph/state.h"
#include "frame/results/classes_of_files.h"
#include "frame/sources/class_infos.h"

namespace colonnade::frame {

namespace {

using nlohmann::json;

// A value of the type without items.
ValuesPtr no_values(const ValueType& type) {
  static constexpr std::int64_t offsets[2] = {0, 0};
  auto values = std::make_shared<Values>();
  values->type = type;
  values->data = offsets;
  if (!type.is_scalar()) values->data = nullptr;
  if (type.is_list() || type.is_string()) {
    values->offsets = offsets;
    values->children.push_back(no_values(type.item()));
  } else if (type.is_record()) {
    for (const auto& [name, member] : type.members()) values->children.push_back(no_values(member));
  }
  return values;
}

// One row: zero, empty, or all members zero.
ValuesPtr zero_value(const ValueType& type) {
  static constexpr std::uint64_t zero = 0;
  if (type.is_scalar()) return make_constant(type.element(), 1, &zero);
  auto values = std::make_shared<Values>(*no_values(type));
  values->size = 1;
  values->constant = true;
  if (type.is_record())
    for (std::size_t i = 0; i < values->children.size(); ++i)
      values->children[i] = zero_value(type.members()[i].second);
  return values;
}

// "x" and "scale:up" to "x__scale_up", as in RDataFrame.
std::string varied_name(const std::string& name, const std::string& variation) {
  std::string full = name + "__" + variation;
  std::ranges::replace(full, ':', '_');
  return full;
}

std::vector<std::string> field_names(const BookedResult& result, const json& options) {
  if (options.contains("names")) return options.at("names").get<std::vector<std::string>>();
  return result.spec.arguments;
}

}  // namespace

SelectionId Graph::State::common_ancestor(std::span<const SelectionId> all) const {
  SelectionId common = all.front();
  for (SelectionId other : all)
    while (common != other) {  // parents have lower numbers
      SelectionId& later = common > other ? common : other;
      later = selections[later].parent;
    }
  return common;
}

std::optional<ExpressionId> Graph::State::condition_between(SelectionId from, SelectionId to) {
  std::vector<SelectionId> path;
  for (; to != from; to = selections[to].parent) path.push_back(to);
  std::optional<ExpressionId> condition;
  for (; !path.empty(); path.pop_back()) {
    const Selection& selection = selections[path.back()];
    if (selection.kind == Selection::Kind::range)
      throw Error(ErrorKind::unsupported,
                  "a snapshot with variations cannot follow a range that counts other entries for each",
                  "put the range before the first filter that varies");
    const ExpressionId next = selection.kind == Selection::Kind::condition
                                  ? selection.condition
                                  : pool->call(sample_flag(selection.of_sample), {});
    condition = condition ? pool->logical(Op::logical_and, *condition, next) : next;
  }
  return condition;
}

std::unique_ptr<ResultAccumulator> Graph::State::accumulator(const ResultSpec& spec,
                                                             std::span<const ExpressionId> arguments) const {
  std::vector<ValueType> types;
  std::vector<StoredField> stored;
  for (const ExpressionId id : arguments) {
    types.push_back((*pool)[id].type);
    if (spec.kind == "snapshot") stored.push_back(stored_field(id));
  }
  auto made = make_accumulator(spec, types, stored);
  if (auto* const writes = dynamic_cast<WritesClasses*>(made.get()))
    writes->find_class_infos_by(
        [source = source](const dataset::ClassNames& names) { return class_infos(*source, names); });
  return made;
}

StoredField Graph::State::stored_field(ExpressionId id) const {
  const Expression& expression = (*pool)[id];
  return expression.op == Op::column ? source->stored_field(expression.column) : nullptr;
}

void Graph::State::expand_snapshot(BookedResult& result) {
  std::vector<VariationId> universes = {0};
  universes.insert(universes.end(), result.varied_by->begin(), result.varied_by->end());
  std::vector<SelectionId> selected;
  for (const VariationId variation : universes) selected.push_back(selection(result.node, variation));
  const SelectionId common = common_ancestor(selected);
  const bool differ = std::ranges::any_of(selected, [&](SelectionId id) { return id != selected.front(); });

  std::vector<std::optional<ExpressionId>> passed;
  std::optional<ExpressionId> any;
  bool always = false;
  for (const SelectionId id : selected) {
    passed.push_back(condition_between(common, id));
    always = always || !passed.back();
    if (passed.back()) any = any ? pool->logical(Op::logical_or, *any, *passed.back()) : *passed.back();
  }

  Expansion expansion;
  expansion.selection = always ? common : narrow(common, *any);
  json options = json::parse(result.spec.options);
  const std::vector<std::string> given = field_names(result, options);
  std::vector<std::string> names;
  const auto add = [&](std::string name, ExpressionId value) {
    names.push_back(std::move(name));
    expansion.arguments.push_back(value);
  };
  // The rows in which a column is defined. Its nominal values are also those of variations that do not change
  // it.
  const auto defined = [&](const Computation& argument, std::size_t universe) {
    std::optional<ExpressionId> condition = passed[universe];
    for (std::size_t other = 1; universe == 0 && condition && other < universes.size(); ++other) {
      if (contains(argument.varied_by, universes[other])) continue;
      if (!passed[other]) return passed[other];
      condition = pool->logical(Op::logical_or, *condition, *passed[other]);
    }
    return condition;
  };
  const auto add_value = [&](std::size_t i, std::size_t universe) {
    const Computation& argument = result.arguments[i];
    ExpressionId varied = value(argument, universes[universe]);
    if (argument.varied_by != nullptr)
      if (const auto condition = defined(argument, universe))
        varied = pool->choose(*condition, varied, pool->constant(zero_value((*pool)[varied].type)));
    add(universe == 0 ? given.at(i) : varied_name(given.at(i), variations[universes[universe]].full), varied);
  };
  for (std::size_t i = 0; i < result.arguments.size(); ++i)
    for (std::size_t universe = 0; universe < universes.size(); ++universe)
      if (universe == 0 || contains(result.arguments[i].varied_by, universes[universe]))
        add_value(i, universe);
  for (std::size_t universe = 0; differ && universe < universes.size(); ++universe)
    add(varied_name("passed", variations[universes[universe]].full),
        passed[universe] ? *passed[universe] : pool->constant(make_constant<bool>(1, true)));

  options["names"] = names;
  result.instances.front().accumulators = {
      accumulator({result.spec.kind, names, options.dump()}, expansion.arguments)};
  result.expansion = std::move(expansion);
}

}  // namespace colonnade::frame
