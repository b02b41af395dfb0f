// The meaning of names and definitions at a node, for the nominal values and for variations. See state.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_set>

#include "dataset/nearest.h"
#include "frame/expression/function.h"
#include "frame/expression/special_names.h"
#include "frame/graph/kernels.h"
#include "frame/graph/state.h"

namespace colonnade::frame {

namespace {

constexpr std::array<std::string_view, 2> size_prefixes = {"R_rdf_sizeof_", "#"};

std::uint64_t varied_key(std::uint32_t what, VariationId variation) {
  return std::uint64_t{what} << 32 | variation;
}

// The items of "{a, b}" or "RVec<T>{a, b}"; empty if the text has another form.
std::optional<std::vector<std::string>> split_braces(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  const std::size_t open = text.find('{');
  if (open == std::string_view::npos || text.back() != '}') return std::nullopt;
  for (const char c : text.substr(0, open))
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && !is_space(c) &&
        std::string_view("_:<>").find(c) == std::string_view::npos)
      return std::nullopt;
  std::vector<std::string> items(1);
  int depth = 0;
  char quote = 0;
  const std::string_view inner = text.substr(open + 1, text.size() - open - 2);
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const char c = inner[i];
    if (quote != 0) {
      if (c == '\\' && i + 1 < inner.size()) items.back() += inner[i++];
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (std::string_view("([{").find(c) != std::string_view::npos) {
      ++depth;
    } else if (std::string_view(")]}").find(c) != std::string_view::npos) {
      if (--depth < 0) return std::nullopt;
    } else if (c == ',' && depth == 0) {
      items.emplace_back();
      continue;
    }
    items.back() += inner[i];
  }
  return items;
}

}  // namespace

// The scope of a node for one variation.
class NodeScope : public Scope {
 public:
  NodeScope(Graph::State& state, const NameMap& names, VariationId variation, std::vector<ColumnId>* uses)
      : state_(state), names_(names), variation_(variation), uses_(uses) {}
  std::optional<ExpressionId> find(std::string_view name) const override {
    return state_.find(names_, name, variation_, uses_);
  }
  std::vector<std::string> names() const override { return state_.names_of(names_); }
  const Function* find_function(std::string_view name) const override {
    const auto found = state_.functions.find(name);
    return found == state_.functions.end() ? nullptr : &found->second.function;
  }
  std::vector<std::string> function_names() const override {
    std::vector<std::string> names;
    for (const auto& [name, function] : state_.functions) names.push_back(name);
    return names;
  }

 private:
  Graph::State& state_;
  const NameMap& names_;
  VariationId variation_;
  std::vector<ColumnId>* uses_;
};

namespace {

[[noreturn]] void throw_depends_on_entries(std::string_view name) {
  throw Error(ErrorKind::usage,
              fmt::format("'{}' depends on the entry, but this column on the file alone", name),
              "define, or an expression of rdfsampleinfo_");
}

// The scope of a text that depends on the file alone.
class SampleScope final : public NodeScope {
 public:
  using NodeScope::NodeScope;
  std::optional<ExpressionId> find(std::string_view name) const override {
    if (NodeScope::find(name)) throw_depends_on_entries(name);
    return std::nullopt;
  }
  std::optional<ExpressionId> find_special(Op op) const override {
    if (op == Op::entry) throw_depends_on_entries("rdfentry_");
    return std::nullopt;
  }
  std::vector<std::string> names() const override { return {"rdfsampleinfo_"}; }
};

}  // namespace

// ---- Names

std::optional<ColumnId> Graph::State::named_column(const NameMap& names, std::string_view name) const {
  const auto number = name_table.find(name);
  return number ? names.find(*number) : std::nullopt;
}

std::optional<ColumnId> Graph::State::column_of(const NameMap& names, std::string_view name) const {
  const auto column = named_column(names, name);
  if (!column || columns[*column].alias_of.empty()) return column;
  const auto now = named_column(names, columns[*column].alias_of);
  return now ? now : column;
}

std::optional<ExpressionId> Graph::State::source_column(std::string_view path) {
  const auto known = source_columns_.find(path);
  if (known != source_columns_.end()) return known->second;
  const auto column = source->find(path);
  std::optional<ExpressionId> expression;
  if (column) expression = pool->column(*column, source->type(*column));
  source_columns_.emplace(path, expression);
  return expression;
}

std::optional<ExpressionId> Graph::State::find(const NameMap& names, std::string_view name,
                                               VariationId variation, std::vector<ColumnId>* uses) {
  const auto look_at = [&](ColumnId column) {
    if (uses != nullptr && std::ranges::find(*uses, column) == uses->end()) uses->push_back(column);
    return value(column, variation);
  };
  if (const auto column = column_of(names, name)) return look_at(*column);
  // A member of a column made by a node is not a column of the source, unless the node only renamed it.
  for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = name.rfind('.', dot - 1)) {
    const auto column = column_of(names, name.substr(0, dot));
    if (!column) continue;
    const std::string& path = columns[*column].source_path;
    if (path.empty()) return std::nullopt;
    return source_column(path + std::string(name.substr(dot)));
  }
  for (const std::string_view prefix : size_prefixes) {
    if (!name.starts_with(prefix)) continue;
    const auto column = column_of(names, name.substr(prefix.size()));
    if (!column) continue;
    if (const std::string& path = columns[*column].source_path; !path.empty())
      return source_column(std::string(prefix) + path);
    const ExpressionId list = look_at(*column);
    const Argument argument{(*pool)[list].type, nullptr};
    const Function* size = find_function(".size");
    const Bound bound = size == nullptr ? Bound{} : size->bind({".size", {}, std::span(&argument, 1)});
    if (bound.kernel == nullptr) return std::nullopt;
    return pool->call(bound.kernel, {list});
  }
  if (const auto column = source_column(name)) return column;
  if (const auto op = special_op(name)) return pool->special(*op);
  const auto [size_of, hash] = size_prefixes;
  if (name.starts_with(hash))
    return find(names, std::string(size_of).append(name.substr(1)), variation, uses);
  return std::nullopt;
}

std::vector<std::string> Graph::State::names_of(const NameMap& names) const {
  std::vector<ColumnId> made = names.columns();
  std::ranges::sort(made, {}, [&](ColumnId id) { return columns[id].origin; });
  std::vector<std::string> all = source->names();
  const std::unordered_set<std::string> in_source(all.begin(), all.end());
  for (const ColumnId id : made)
    if (columns[id].defined && !in_source.contains(columns[id].name)) all.push_back(columns[id].name);
  return all;
}

std::optional<std::string> Graph::State::source_path(const NameMap& names, const std::string& name) const {
  std::optional<ColumnId> column = column_of(names, name);
  if (!column) {
    for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0;
         dot = name.rfind('.', dot - 1))
      if (const auto made = column_of(names, name.substr(0, dot))) {
        const std::string& path = columns[*made].source_path;
        return path.empty() ? std::nullopt : std::optional(path + name.substr(dot));
      }
    return name;
  }
  if (columns[*column].source_path.empty()) return std::nullopt;
  return columns[*column].source_path;
}

void Graph::State::throw_unknown(const NameMap& names, std::string_view name) const {
  throw Error(ErrorKind::not_found, fmt::format("there is no column '{}'", name),
              dataset::did_you_mean(name, names_of(names)));
}

// ---- Definitions

ExpressionId Graph::State::call(Computation& computation, std::vector<ExpressionId> arguments) {
  std::vector<ValueType> types;
  types.reserve(arguments.size());
  for (const ExpressionId argument : arguments) types.push_back((*pool)[argument].type);
  if (computation.kernel == nullptr || computation.kernel_types != types) {
    computation.kernel = computation.definition.make_kernel(types);
    computation.kernel_types = std::move(types);
  }
  return pool->call(computation.kernel, std::move(arguments));
}

Computation Graph::State::bind(const NameMap& names, Definition definition) {
  Computation bound;
  bound.definition = std::move(definition);
  bound.names = names;
  const NodeScope scope(*this, names, 0, &bound.uses);
  if (bound.definition.make_kernel) {
    std::vector<ExpressionId> arguments;
    for (const std::string& column : bound.definition.columns) {
      bound.formulas.emplace_back(column);
      arguments.push_back(bound.formulas.back().bind(*pool, scope));
      ++bindings;
    }
    bound.nominal = call(bound, std::move(arguments));
  } else {
    const Formula& formula = bound.formulas.emplace_back(bound.definition.text);
    bound.nominal = bound.definition.of_sample ? formula.bind(*pool, SampleScope(*this, names, 0, nullptr))
                                               : formula.bind(*pool, scope);
    ++bindings;
  }
  for (const ColumnId use : bound.uses) bound.varied_by = unite(bound.varied_by, columns[use].varied_by);
  return bound;
}

std::vector<ExpressionId> Graph::State::items_of(ExpressionId list, std::size_t count) {
  const ValueType type = (*pool)[list].type;
  if (!type.is_list())
    throw Error(
        ErrorKind::type,
        fmt::format("the values of {} variations are of type {}, which is not a list", count, type.name()),
        "write {down, up}, or give a list with one item per tag");
  std::vector<ExpressionId> items;
  for (std::size_t i = 0; i < count; ++i) items.push_back(pool->call(varied_item(type, i, count), {list}));
  return items;
}

std::vector<std::vector<ExpressionId>> Graph::State::bind_items(Computation& computation,
                                                                const std::vector<Column>& varied,
                                                                std::size_t tags) {
  const std::size_t n_columns = varied.size();
  const Definition& definition = computation.definition;
  const NodeScope scope(*this, computation.names, 0, &computation.uses);
  std::vector<std::vector<ExpressionId>> items;
  const auto take_text = [&](const std::string& text) {
    const Formula& formula = computation.formulas.emplace_back(text);
    ++bindings;
    std::vector<ExpressionId> row =
        formula.bind_items(*pool, scope, (*pool)[varied[items.size()].nominal].type);
    if (row.size() == 1 && tags != 1) row = items_of(row.front(), tags);
    if (row.size() != tags)
      throw Error(ErrorKind::usage, fmt::format("'{}' has {} values for {} tags", text, row.size(), tags),
                  "give one value per tag");
    items.push_back(std::move(row));
  };
  const auto take_list = [&](ExpressionId list) {
    if (n_columns == 1) {
      items.push_back(items_of(list, tags));
    } else {
      for (const ExpressionId row : items_of(list, n_columns)) items.push_back(items_of(row, tags));
    }
  };
  if (definition.make_kernel) {
    computation = bind(computation.names, definition);
    take_list(computation.nominal);
  } else if (n_columns == 1) {
    take_text(definition.text);
  } else if (const auto texts = split_braces(definition.text); texts && texts->size() != n_columns) {
    throw Error(
        ErrorKind::usage,
        fmt::format("'{}' has values for {} columns, not for {}", definition.text, texts->size(), n_columns),
        "write {{down, up}, {down, up}}, one pair of braces per column");
  } else if (texts) {
    for (const std::string& text : *texts) take_text(text);
  } else {
    computation = bind(computation.names, definition);
    take_list(computation.nominal);
  }
  return items;
}

// ---- Variations

std::vector<ColumnId> Graph::State::needs(const Column& column, VariationId variation) const {
  if (column.kind == Column::Kind::computed) return nodes[column.node].computation.uses;
  if (column.kind == Column::Kind::varied &&
      std::ranges::find(column.variations, variation) != column.variations.end())
    return {};
  std::vector<ColumnId> needed;
  if (column.kind == Column::Kind::fallback) {
    const Node& node = nodes[column.node];
    needed = node.computation.uses;
    needed.insert(needed.end(), node.available.uses.begin(), node.available.uses.end());
  }
  if (column.before) needed.push_back(*column.before);
  return needed;
}

ExpressionId Graph::State::value(ColumnId id, VariationId variation) {
  if (!contains(columns[id].varied_by, variation)) return columns[id].nominal;
  if (const auto known = values_.find(varied_key(id, variation)); known != values_.end())
    return known->second;
  // Without recursion: chains of definitions may be thousands long.
  std::vector<ColumnId> open = {id};
  while (!open.empty()) {
    const ColumnId top = open.back();
    const std::size_t before = open.size();
    if (!values_.contains(varied_key(top, variation)))
      for (const ColumnId needed : needs(columns[top], variation))
        if (contains(columns[needed].varied_by, variation) &&
            !values_.contains(varied_key(needed, variation)))
          open.push_back(needed);
    if (open.size() != before) continue;
    open.pop_back();
    if (!values_.contains(varied_key(top, variation)))
      values_.emplace(varied_key(top, variation), compute(columns[top], variation));
  }
  return values_.at(varied_key(id, variation));
}

ExpressionId Graph::State::value(const Computation& computation, VariationId variation) {
  if (!contains(computation.varied_by, variation)) return computation.nominal;
  for (const ColumnId use : computation.uses) value(use, variation);
  return compute(computation, variation);
}

ExpressionId Graph::State::compute(const Computation& computation, VariationId variation) {
  const NodeScope scope(*this, computation.names, variation, nullptr);
  if (!computation.definition.make_kernel) {
    ++bindings;
    return computation.formulas.front().bind(*pool, scope);
  }
  std::vector<ExpressionId> arguments;
  for (const Formula& formula : computation.formulas) {
    arguments.push_back(formula.bind(*pool, scope));
    ++bindings;
  }
  // Varied values have the types of the nominal ones, so the same kernel takes them.
  return pool->call(computation.kernel, std::move(arguments));
}

ExpressionId Graph::State::compute(const Column& column, VariationId variation) {
  const auto before = [&] {
    return column.before ? value(*column.before, variation) : column.before_nominal;
  };
  switch (column.kind) {
    case Column::Kind::computed:
      return compute(nodes[column.node].computation, variation);
    case Column::Kind::alias:
      return before();
    case Column::Kind::varied: {
      const auto place = std::ranges::find(column.variations, variation);
      if (place == column.variations.end()) return before();
      return column.items[static_cast<std::size_t>(place - column.variations.begin())];
    }
    case Column::Kind::fallback:
      break;
  }
  const Node& node = nodes[column.node];
  return with_default((*pool)[column.nominal].type, value(node.available, variation), before(),
                      value(node.computation, variation));
}

ExpressionId Graph::State::with_default(const ValueType& type, ExpressionId available, ExpressionId before,
                                        ExpressionId default_value) {
  const Argument given{(*pool)[before].type, nullptr};
  if (!(given.type == type)) {
    const Bound value = frame::find_function(".value")->bind({".value", {}, std::span(&given, 1)});
    before = pool->call(value.kernel, {before});
  }
  if (!type.is_optional() || (*pool)[default_value].type.is_optional())
    return pool->choose(available, before, pool->convert(default_value, type));
  default_value = pool->convert(default_value, type.item());
  return pool->choose(available, before, pool->call(optional_of(type), {default_value}));
}

}  // namespace colonnade::frame
