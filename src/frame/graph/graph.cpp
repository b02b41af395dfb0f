// Booking nodes. See graph.h.
#include "frame/graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/processor.h"
#include "frame/expression/special_names.h"
#include "frame/graph/kernels.h"
#include "frame/graph/state.h"
#include "frame/joins/join.h"
#include "frame/results/element_visit.h"
#include "frame/values/values.h"

namespace colonnade::frame {

namespace {

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c); });
}

bool is_reserved(std::string_view name) {
  static constexpr std::array<std::string_view, 9> keywords = {"true", "false", "return", "auto", "const",
                                                               "if",   "else",  "for",    "while"};
  return special_op(name) || std::ranges::find(keywords, name) != keywords.end();
}

void check_new_name(const std::string& name, std::string_view what = "a column") {
  if (!is_identifier(name))
    throw Error(ErrorKind::usage, fmt::format("'{}' is not a valid name for {}", name, what),
                "use letters, digits and underscores, and no digit first");
  if (is_reserved(name))
    throw Error(ErrorKind::usage, fmt::format("'{}' is reserved in expressions", name), "use another name");
}

// Names of functions may have namespaces.
void check_function_name(const std::string& name) {
  std::string_view rest = name;
  for (std::size_t colons = rest.find("::"); colons != std::string_view::npos; colons = rest.find("::")) {
    check_new_name(std::string(rest.substr(0, colons)), "a function");
    rest.remove_prefix(colons + 2);
  }
  check_new_name(std::string(rest), "a function");
  if (find_function(name) != nullptr || type_of_name(name))
    throw Error(ErrorKind::usage, fmt::format("'{}' is already a function of the language", name),
                "use another name");
}

Node child_of(Graph::State& state, NodeId parent, Node::Kind kind) {
  Graph::Garbage garbage;
  state.settle(garbage);
  const Node& above = state.node(parent);
  Node node;
  node.kind = kind;
  node.parent = parent;
  node.names = above.names;
  node.selection = above.selection;
  node.varied_by = above.varied_by;
  node.after_range = above.after_range;
  return node;
}

NodeId add_node(Graph::State& state, Node node) {
  ++state.nodes[node.parent].holders;
  return state.nodes.add(std::move(node));
}

// Adds a node that makes columns.
NodeId add_columns(Graph::State& state, Node node, std::vector<Column> made) {
  for (Column& column : made) {
    const ColumnId number = state.columns.next();
    const auto shadowed = state.named_column(node.names, column.name);
    column.node = state.nodes.next();
    column.origin = shadowed ? state.columns[*shadowed].origin : number;
    node.names = node.names.with(state.name_table.add(column.name), number);
    node.made.push_back(state.columns.add(std::move(column)));
  }
  return add_node(state, std::move(node));
}

Column computed_column(const std::string& name, const Computation& computation) {
  Column column;
  column.name = name;
  column.nominal = computation.nominal;
  column.varied_by = computation.varied_by;
  column.defined = true;
  return column;
}

// The meaning of a name at the parent, for a column that builds on it.
Column column_before(Graph::State& state, const NameMap& names, Column::Kind kind, const std::string& name) {
  std::vector<ColumnId> uses;
  const auto value = state.find(names, name, 0, &uses);
  if (!value) state.throw_unknown(names, name);
  Column column;
  column.kind = kind;
  column.name = name;
  column.nominal = column.before_nominal = *value;
  if (!uses.empty()) {
    column.before = uses.front();
    column.varied_by = state.columns[*column.before].varied_by;
    column.defined = state.columns[*column.before].defined;
  }
  return column;
}

// The name of the column that an alias stands for; empty for other names.
std::string alias_of(const Graph::State& state, const NameMap& names, const std::string& name) {
  const auto column = state.named_column(names, name);
  return column ? state.columns[*column].alias_of : std::string();
}

void check_no_alias(const Graph::State& state, const NameMap& names, const std::string& name) {
  if (const std::string of = alias_of(state, names, name); !of.empty())
    throw Error(ErrorKind::usage, fmt::format("'{}' is an alias of '{}'", name, of),
                fmt::format("change '{}', which its aliases follow", of));
}

// The computation of a joined column that rows may lack because a join found no match.
const Computation* joined_optional(const Graph::State& state, const NameMap& names, const std::string& name) {
  std::optional<ColumnId> id = state.column_of(names, name);
  const auto kind = [&] { return state.columns[*id].kind; };
  while (id && (kind() == Column::Kind::alias || kind() == Column::Kind::varied))
    id = state.columns[*id].before;
  if (!id || kind() != Column::Kind::computed) return nullptr;
  const Column& column = state.columns[*id];
  const Computation& computation = state.nodes[column.node].computation;
  const bool is_optional = (*state.pool)[column.nominal].type.is_optional();
  return computation.definition.join && is_optional ? &computation : nullptr;
}

// Whether the join found a match. The column may be optional on the other side, too, so the number of the
// entry there tells, as the join gave it: that column may have other values by now.
Computation match_of(Graph::State& state, const Computation& joined, bool found) {
  const NameMap names = joined.names;
  return state.bind(names, column_text(joined.definition.columns.front()) + (found ? " >= 0" : " < 0"));
}

std::vector<bool> samples_with(Graph::State& state, const NameMap& names, const std::string& column) {
  if (!state.find(names, column, 0, nullptr)) state.throw_unknown(names, column);
  std::vector<bool> of_sample(state.source->samples().size(), true);
  const auto id = state.column_of(names, column);
  const auto kind = id ? state.columns[*id].kind : Column::Kind::alias;
  if (kind == Column::Kind::varied || kind == Column::Kind::computed) {
    const NameMap before = state.nodes[state.columns[*id].node].computation.names;
    const std::string name = state.columns[*id].name;
    if (!state.find(before, name, 0, nullptr)) return of_sample;
    of_sample = samples_with(state, before, name);
    if (kind == Column::Kind::computed && std::ranges::find(of_sample, false) != of_sample.end())
      throw Error(ErrorKind::usage,
                  fmt::format("'{}' was redefined, and some files did not have it before", name),
                  "filter by its files, or give a default value, before redefine");
    return of_sample;
  }
  const auto path = state.source_path(names, column);
  const auto number = path ? state.source->find(*path) : std::nullopt;
  if (number)
    for (unsigned sample = 0; sample < of_sample.size(); ++sample)
      of_sample[sample] = state.source->has(*number, sample);
  return of_sample;
}

// True if the integer type has all numbers of the other one.
bool has_numbers_of(ElementType type, ElementType other) {
  if (type == ElementType::boolean || other == ElementType::boolean) return other == ElementType::boolean;
  return visit_element(type, [&]<class T>(std::type_identity<T>) {
    return visit_element(other, [&]<class F>(std::type_identity<F>) {
      if constexpr (std::is_floating_point_v<T> || std::is_floating_point_v<F>) {
        return false;
      } else {
        return std::in_range<T>(std::numeric_limits<F>::min()) &&
               std::in_range<T>(std::numeric_limits<F>::max());
      }
    });
  });
}

// True if an integer type lacks numbers of the other one.
bool may_change(const ValueType& from, const ValueType& to) {
  return to.is_integer() && (from.is_integer() || from.is_floating()) &&
         !has_numbers_of(to.element(), from.element());
}

// Integers of a column's type do not change: neither fractions nor high bits get lost.
void check_fits(const ExpressionPool& pool, ExpressionId value, const ValueType& type,
                const std::string& column, const std::string& advice) {
  const ValueType& given = pool[value].type;
  const ValueType &from = given.innermost(), &to = type.innermost();
  if (!may_change(from, to)) return;
  const bool is_number = given.is_scalar() && pool[value].constant != nullptr;
  if (is_number && !first_misfit(*pool[value].constant, to.element())) return;
  throw Error(ErrorKind::type,
              is_number
                  ? fmt::format("{} is not a {}, the type of '{}'", text_of(*pool[value].constant, 0),
                                type.name(), column)
                  : fmt::format("not every {} is a {}, the type of '{}'", given.name(), type.name(), column),
              advice);
}

}  // namespace

Graph::State::State(std::shared_ptr<Source> of) : source(std::move(of)), variations(1) {
  check_instruction_set();
  nodes.add({});
  variations[0].full = "nominal";
  selections.emplace_back();
}

const Node& Graph::State::node(NodeId id) const {
  if (nodes.contains(id)) return nodes[id];
  throw Error(ErrorKind::usage,
              fmt::format("the graph has {} nodes, but none with number {}", nodes.size(), id));
}

Graph::Graph(std::shared_ptr<Source> source) : state_(std::make_unique<State>(std::move(source))) {}
Graph::~Graph() = default;

// ---- Columns

void Graph::add_function(const std::string& name, Definition definition) {
  check_function_name(name);
  if (state_->functions.contains(name))
    throw Error(ErrorKind::usage, fmt::format("there is already a function '{}'", name), "use another name");
  Function function{
      name, fmt::format("the function '{}' of this data frame", name), {}, definition.is_constant};
  function.bind = [make = definition.make_kernel](const Call& call) -> Bound {
    std::vector<ValueType> types;
    for (const Argument& argument : call.arguments) types.push_back(argument.type);
    return {make(types), {}};
  };
  state_->functions.emplace(name, State::OwnFunction{std::move(definition), std::move(function)});
}

NodeId Graph::define(NodeId parent, const std::string& name, Definition definition) {
  return booking(fmt::format("define '{}'", name), [&] {
    Node node = child_of(*state_, parent, Node::Kind::define);
    check_new_name(name);
    if (state_->find(node.names, name, 0, nullptr))
      throw Error(ErrorKind::usage, "there is already a column of that name",
                  "use redefine to give it other values from here on");
    node.name = name;
    node.computation = state_->bind(node.names, std::move(definition));
    Column column = computed_column(name, node.computation);
    return add_columns(*state_, std::move(node), {std::move(column)});
  });
}

NodeId Graph::redefine(NodeId parent, const std::string& name, Definition definition) {
  return booking(fmt::format("redefine '{}'", name), [&] {
    Node node = child_of(*state_, parent, Node::Kind::redefine);
    if (is_reserved(name)) check_new_name(name);
    if (!state_->find(node.names, name, 0, nullptr)) state_->throw_unknown(node.names, name);
    check_no_alias(*state_, node.names, name);
    node.name = name;
    node.computation = state_->bind(node.names, std::move(definition));
    Column column = computed_column(name, node.computation);
    return add_columns(*state_, std::move(node), {std::move(column)});
  });
}

NodeId Graph::alias(NodeId parent, const std::string& name, const std::string& column) {
  return booking(fmt::format("alias '{}'", name), [&] {
    Node node = child_of(*state_, parent, Node::Kind::alias);
    check_new_name(name);
    if (state_->find(node.names, name, 0, nullptr))
      throw Error(ErrorKind::usage, "there is already a column of that name", "use another name");
    Column made = column_before(*state_, node.names, Column::Kind::alias, column);
    made.name = name;
    made.defined = true;
    made.alias_of = alias_of(*state_, node.names, column);
    if (made.alias_of.empty()) made.alias_of = column;
    if (!made.before) {
      made.source_path = column;
    } else if (state_->columns[*made.before].name == column) {
      made.source_path = state_->columns[*made.before].source_path;
    }
    node.name = name;
    node.columns = {column};
    return add_columns(*state_, std::move(node), {std::move(made)});
  });
}

NodeId Graph::default_value_for(NodeId parent, const std::string& column, Definition value) {
  if (const std::string of = alias_of(*state_, state_->node(parent).names, column); !of.empty())
    return default_value_for(parent, of, std::move(value));
  return booking(fmt::format("default_value_for '{}'", column), [&] {
    Node node = child_of(*state_, parent, Node::Kind::default_value_for);
    Column made = column_before(*state_, node.names, Column::Kind::fallback, column);
    node.name = column;
    node.computation = state_->bind(node.names, std::move(value));
    ValueType type = (*state_->pool)[made.before_nominal].type;
    if (const Computation* joined = joined_optional(*state_, node.names, column)) {
      node.available = match_of(*state_, *joined, true);
      if (!joined->definition.join->type(joined->definition).is_optional()) type = ValueType(type.item());
    } else {
      node.of_sample = samples_with(*state_, node.names, column);
      const auto flag = [kernel = sample_flag(node.of_sample)](std::span<const ValueType>) { return kernel; };
      node.available = state_->bind(node.names, Definition(flag, {}));
      // The default may never be needed.
      if (std::ranges::find(node.of_sample, false) == node.of_sample.end()) made.kind = Column::Kind::alias;
    }
    check_fits(*state_->pool, node.computation.nominal, type, column, "give a value of that type");
    const ExpressionId filled =
        state_->with_default(type, node.available.nominal, made.before_nominal, node.computation.nominal);
    if (made.kind == Column::Kind::fallback) {
      made.nominal = filled;
      for (const Computation* each : {&node.computation, &node.available})
        made.varied_by = unite(made.varied_by, each->varied_by);
    }
    return add_columns(*state_, std::move(node), {std::move(made)});
  });
}

namespace {

void check_tags(const std::vector<std::string>& tags, const std::string& name) {
  if (tags.empty()) throw Error(ErrorKind::usage, "there are no tags", "give one tag per variation");
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (tags[i].empty() || tags[i].find(':') != std::string::npos)
      throw Error(ErrorKind::usage, fmt::format("'{}' is not a tag", tags[i]), "give names without a colon");
    if (std::find(tags.begin(), tags.begin() + static_cast<std::ptrdiff_t>(i), tags[i]) !=
        tags.begin() + static_cast<std::ptrdiff_t>(i))
      throw Error(ErrorKind::usage, fmt::format("the tag '{}' is given twice", tags[i]));
  }
  if (name.empty() || name.find(':') != std::string::npos)
    throw Error(ErrorKind::usage, fmt::format("'{}' is not a valid name for a variation", name),
                "give a name without a colon");
}

// As a value of the column. Python has one type of integers: those of callables are checked one by one.
ExpressionId varied_value(ExpressionPool& pool, ExpressionId value, const Column& column,
                          const std::string& variation, bool is_of_callable) {
  const ValueType given = pool[value].type, type = pool[column.nominal].type;
  const std::string advice =
      fmt::format("give the column a type for all values first: redefine('{}', 'double({})')", column.name,
                  column_text(column.name));
  if (!is_of_callable || !given.innermost().is_integer())
    check_fits(pool, value, type, column.name, advice);
  else if (may_change(given.innermost(), type.innermost()))
    value = pool.call(fitting(given, type, column.name, variation, advice), {value});
  return pool.convert(value, type);
}

}  // namespace

NodeId Graph::vary(NodeId parent, std::vector<std::string> columns, Definition values,
                   std::vector<std::string> tags, const std::string& name) {
  return booking(fmt::format("vary '{}'", fmt::join(columns, "', '")), [&] {
    State& state = *state_;
    Node node = child_of(state, parent, Node::Kind::vary);
    if (columns.empty()) throw Error(ErrorKind::usage, "there are no columns", "name what varies");
    check_tags(tags, name.empty() && columns.size() > 1 ? std::string() : name.empty() ? columns[0] : name);
    node.name = name.empty() ? columns[0] : name;
    std::vector<Column> made;
    for (const std::string& column : columns) {
      if (std::ranges::find(made, column, &Column::name) != made.end())
        throw Error(ErrorKind::usage, fmt::format("the column '{}' is given twice", column));
      if (special_op(column))
        throw Error(ErrorKind::usage, fmt::format("'{}' has no variations", column),
                    fmt::format("vary a column that is defined as '{}'", column));
      made.push_back(column_before(state, node.names, Column::Kind::varied, column));
      check_no_alias(state, node.names, column);
    }
    node.computation.definition = std::move(values);
    node.computation.names = node.names;
    auto items = state.bind_items(node.computation, made, tags.size());
    for (std::size_t i = 0; i < made.size(); ++i)
      for (std::size_t tag = 0; tag < tags.size(); ++tag)
        items[i][tag] = varied_value(*state.pool, items[i][tag], made[i], node.name + ":" + tags[tag],
                                     node.computation.definition.make_kernel != nullptr);

    std::vector<VariationId> ids;
    auto next = static_cast<VariationId>(state.variations.size());
    for (const std::string& tag : tags) {
      const auto known = state.variation_ids.find(node.name + ":" + tag);
      ids.push_back(known == state.variation_ids.end() ? next++ : known->second);
    }
    auto sorted = std::make_shared<std::vector<VariationId>>(ids);
    std::ranges::sort(*sorted);
    for (std::size_t i = 0; i < made.size(); ++i) {
      for (std::size_t tag = 0; tag < tags.size(); ++tag)
        if (contains(made[i].varied_by, ids[tag]))
          throw Error(
              ErrorKind::usage,
              fmt::format("'{}' already depends on the variation {}:{}", made[i].name, node.name, tags[tag]),
              "give the variation another name");
      made[i].variations = ids;
      made[i].items = std::move(items[i]);
      made[i].varied_by = unite(made[i].varied_by, sorted);
    }
    node.columns = std::move(columns);
    node.tags = std::move(tags);
    for (std::size_t tag = 0; tag < ids.size(); ++tag) {
      if (ids[tag] < state.variations.size()) continue;
      std::string full = node.name + ":" + node.tags[tag];
      state.variation_ids.emplace(full, ids[tag]);
      state.variations.push_back({node.name, node.tags[tag], std::move(full)});
    }
    return add_columns(state, std::move(node), std::move(made));
  });
}

// ---- Rows

NodeId Graph::filter(NodeId parent, Definition condition, const std::string& name) {
  const std::string what = name.empty() ? "filter" : fmt::format("filter '{}'", name);
  return booking(what, [&] {
    Node node = child_of(*state_, parent, Node::Kind::filter);
    node.name = name;
    node.computation = state_->bind(node.names, std::move(condition));
    node.selection = state_->selection_of(node, node.selection, 0);
    node.varied_by = unite(node.varied_by, node.computation.varied_by);
    return add_node(*state_, std::move(node));
  });
}

namespace {

// A filter by what the files have, or by what a join found.
NodeId filter_by(Graph::State& state, NodeId parent, Node::Kind kind, const std::string& column) {
  const bool has = kind == Node::Kind::filter_available;
  Node node = child_of(state, parent, kind);
  node.columns = {column};
  if (const Computation* joined = joined_optional(state, node.names, column)) {
    node.available = match_of(state, *joined, has);
    node.varied_by = unite(node.varied_by, node.available.varied_by);
  } else {
    node.of_sample = samples_with(state, node.names, column);
    if (!has) node.of_sample.flip();
  }
  node.selection = state.selection_of(node, node.selection, 0);
  return add_node(state, std::move(node));
}

}  // namespace

NodeId Graph::filter_available(NodeId parent, const std::string& column) {
  return booking("filter_available",
                 [&] { return filter_by(*state_, parent, Node::Kind::filter_available, column); });
}

NodeId Graph::filter_missing(NodeId parent, const std::string& column) {
  return booking("filter_missing",
                 [&] { return filter_by(*state_, parent, Node::Kind::filter_missing, column); });
}

NodeId Graph::range(NodeId parent, std::uint64_t begin, std::uint64_t end, std::uint64_t stride) {
  Node node = child_of(*state_, parent, Node::Kind::range);
  if (stride == 0 || (end != 0 && end < begin))
    throw Error(ErrorKind::usage, fmt::format("range({}, {}, {}) has no entries", begin, end, stride),
                "end must not be less than begin, or 0 for no end, and stride at least 1");
  node.begin = begin;
  node.end = end;
  node.stride = stride;
  node.selection = state_->selection_of(node, node.selection, 0);
  node.after_range = true;
  return add_node(*state_, std::move(node));
}

}  // namespace colonnade::frame
