// finish(), first half: the tree of fields, the columns of each field, projections, and unreadable fields.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>

#include "format/envelope.h"
#include "format/envelope_check.h"
#include "format/envelope_layout.h"

namespace colonnade::format {
namespace {

// The reason why a field is unreadable is repeated for all fields that depend on it.
constexpr std::size_t longest_reason = 256;

std::string shortened(std::string_view text, std::size_t longest) {
  return text.size() <= longest ? std::string(text) : fmt::format("{}...", text.substr(0, longest));
}

std::string label(const FieldDescriptor& field) {
  return fmt::format("field {} {}", field.id, quoted(field.name));
}

[[noreturn]] void fail_field(const FieldDescriptor& field, const std::string& why) {
  throw Error(ErrorKind::format, fmt::format("{}: {}", label(field), why));
}

[[noreturn]] void fail_column(std::size_t column, const std::string& why) {
  throw Error(ErrorKind::format, fmt::format("column {}: {}", column, why), "", {.column = column});
}

// Fields are large, and there may be many: the data for several passes are copied out once.
struct Tree {
  std::vector<std::uint32_t> parents;
  std::vector<std::uint32_t> depth;  // 1 at the top
  bool has_projections = false;
};

// The parents of all fields, with ids checked; resets what an earlier link_schema() stored in the fields.
Tree open_tree(Descriptor& descriptor) {
  auto& fields = descriptor.fields;
  Tree tree;
  tree.parents.reserve(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    FieldDescriptor& field = fields[i];
    if (field.id != i) fail_field(field, fmt::format("stands at position {}", i));
    if (field.parent >= fields.size())
      fail_field(field, fmt::format("parent {} does not exist ({} fields)", field.parent, fields.size()));
    tree.parents.push_back(field.parent);
    if (field.source_field) tree.has_projections = true;
    field.children.clear();
    field.representations.clear();
    field.unreadable.clear();
    field.contradicted = false;
  }
  return tree;
}

// The depth of every field; throws on a cycle. Walks each parent link once.
void measure_depth(const std::vector<FieldDescriptor>& fields, Tree& tree) {
  constexpr std::uint32_t under_way = invalid_id;
  auto& depth = tree.depth;
  depth.assign(fields.size(), 0);
  std::vector<std::uint32_t> path;
  for (std::uint32_t start = 0; start < fields.size(); ++start) {
    path.clear();
    std::uint32_t above = 0;
    for (std::uint32_t at = start;;) {
      if (depth[at] == under_way) fail_field(fields[at], "is its own ancestor");
      if (depth[at] != 0) {
        above = depth[at];
        break;
      }
      depth[at] = under_way;
      path.push_back(at);
      if (tree.parents[at] == at) break;
      at = tree.parents[at];
    }
    for (; !path.empty(); path.pop_back()) depth[path.back()] = ++above;
    if (depth[start] > max_field_depth)
      fail_field(fields[start], fmt::format("nested {} deep, more than {}", depth[start], max_field_depth));
  }
}

// By depth, fields of one depth by id.
FieldOrder order_of(const Tree& tree) {
  std::vector<std::uint32_t> next(max_field_depth + 2, 0);
  for (const std::uint32_t level : tree.depth) ++next[level + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  FieldOrder order(tree.depth.size());
  for (std::uint32_t id = 0; id < order.size(); ++id) order[next[tree.depth[id]]++] = id;
  return order;
}

// Readers keep the path of every field; deep trees with long names can make the paths longer than the
// header.
void take_paths(const Descriptor& descriptor, const FieldOrder& order, MemoryLimit& limit) {
  std::vector<std::uint64_t> length(descriptor.fields.size(), 0);
  for (const std::uint32_t id : order) {
    const FieldDescriptor& field = descriptor.fields[id];
    length[id] = field.name.size() + 1 + (field.parent == id ? 0 : length[field.parent]);
    limit.take(1, length[id], "paths of fields");
  }
}

FieldOrder link_fields(Descriptor& descriptor, Tree& tree) {
  tree = open_tree(descriptor);
  measure_depth(descriptor.fields, tree);
  for (std::uint32_t id = 0; id < tree.parents.size(); ++id)
    if (tree.parents[id] != id) descriptor.fields[tree.parents[id]].children.push_back(id);
  return order_of(tree);
}

void check_encoding(const ColumnDescriptor& column) {
  const bool is_quantised = column.raw_type == static_cast<std::uint16_t>(ColumnType::real32_quant);
  if (is_quantised && !column.has_range) fail_column(column.id, "Real32Quant without a range of values");
  if (column.has_range && !(column.encoding.min <= column.encoding.max))
    fail_column(column.id,
                fmt::format("range of values from {} to {}", column.encoding.min, column.encoding.max));
  if (!is_known(column.encoding.type)) return;
  if (!is_valid(column.encoding))
    fail_column(column.id, fmt::format("{} cannot have {} bits on storage", name_of(column.encoding.type),
                                       column.encoding.bits));
}

void check_group_sizes(const Descriptor& descriptor) {
  for (const FieldDescriptor& field : descriptor.fields)
    for (const ColumnIds& group : field.representations)
      if (group.size() != field.representations.front().size())
        fail_field(field, fmt::format("representations with {} and {} columns",
                                      field.representations.front().size(), group.size()));
}

void link_columns(Descriptor& descriptor) {
  auto& fields = descriptor.fields;
  bool has_alternatives = false;
  for (std::size_t i = 0; i < descriptor.columns.size(); ++i) {
    const ColumnDescriptor& column = descriptor.columns[i];
    if (column.id != i) fail_column(i, fmt::format("has the id {}", column.id));
    if (column.field >= fields.size())
      fail_column(i, fmt::format("field {} does not exist ({} fields)", column.field, fields.size()));
    FieldDescriptor& field = fields[column.field];
    if (field.source_field) fail_column(i, fmt::format("belongs to the projected {}", label(field)));
    check_encoding(column);
    auto& groups = field.representations;
    if (column.representation == groups.size())
      groups.emplace_back();
    else if (groups.empty() || column.representation != groups.size() - 1)
      fail_column(i, fmt::format("representation {} follows {} representations of {}", column.representation,
                                 groups.size(), label(field)));
    groups.back().push_back(column.id);
    if (column.representation > 0) has_alternatives = true;
  }
  if (has_alternatives) check_group_sizes(descriptor);
}

void check_sources(const Descriptor& descriptor) {
  const auto& fields = descriptor.fields;
  for (const FieldDescriptor& field : fields) {
    if (!field.source_field) continue;
    if (*field.source_field >= fields.size())
      fail_field(field, fmt::format("projects field {}, which does not exist ({} fields)",
                                    *field.source_field, fields.size()));
    if (fields[*field.source_field].source_field)
      fail_field(field,
                 fmt::format("projects {}, which is projected itself", label(fields[*field.source_field])));
  }
}

// The alias columns of each field, checked one by one.
std::vector<std::vector<std::uint32_t>> collect_aliases(const Descriptor& descriptor) {
  std::vector<std::vector<std::uint32_t>> aliases(descriptor.fields.size());
  for (std::size_t i = 0; i < descriptor.aliases.size(); ++i) {
    const AliasColumnDescriptor& alias = descriptor.aliases[i];
    const auto fail = [i](const std::string& why) {
      throw Error(ErrorKind::format, fmt::format("alias column {}: {}", i, why));
    };
    if (alias.physical_column >= descriptor.columns.size())
      fail(fmt::format("physical column {} does not exist ({} columns)", alias.physical_column,
                       descriptor.columns.size()));
    if (alias.field >= descriptor.fields.size())
      fail(fmt::format("field {} does not exist ({} fields)", alias.field, descriptor.fields.size()));
    if (!descriptor.fields[alias.field].source_field)
      fail(fmt::format("{} is not projected", label(descriptor.fields[alias.field])));
    aliases[alias.field].push_back(alias.physical_column);
  }
  return aliases;
}

// The columns of a projected field: those that the aliases name in their first representation, and the
// corresponding columns of all others, since a writer may have added representations to the source without
// new aliases.
void resolve_projection(const Descriptor& descriptor, const std::vector<std::uint32_t>& aliases,
                        FieldDescriptor& field) {
  const ColumnDescriptor& first = descriptor.columns[aliases.front()];
  const FieldDescriptor& owner = descriptor.fields[first.field];
  std::vector<std::size_t> positions;
  for (const std::uint32_t id : aliases) {
    const ColumnDescriptor& column = descriptor.columns[id];
    if (column.field != first.field)
      fail_field(field, fmt::format("alias columns of both {} and {}", label(owner),
                                    label(descriptor.fields[column.field])));
    if (column.representation != first.representation) continue;
    const auto& group = owner.representations[first.representation];
    positions.push_back(
        static_cast<std::size_t>(std::lower_bound(group.begin(), group.end(), id) - group.begin()));
  }
  field.representations.resize(owner.representations.size());
  for (std::size_t i = 0; i < owner.representations.size(); ++i)
    for (const std::size_t position : positions)
      field.representations[i].push_back(owner.representations[i][position]);
}

void link_projections(Descriptor& descriptor, const Tree& tree) {
  if (tree.has_projections) check_sources(descriptor);
  if (descriptor.aliases.empty()) return;
  const auto aliases = collect_aliases(descriptor);
  // Many representations times many aliases could take far more memory than the file has bytes.
  std::size_t budget = 256 + 4 * (descriptor.columns.size() + descriptor.aliases.size());
  for (FieldDescriptor& field : descriptor.fields) {
    const auto& own = aliases[field.id];
    if (own.empty()) continue;
    const auto& owner = descriptor.fields[descriptor.columns[own.front()].field];
    const std::size_t cost = owner.representations.size() * own.size();
    if (cost > budget)
      throw Error(
          ErrorKind::unsupported,
          fmt::format("{}: projects {} representations with {} alias columns, more than this version handles",
                      label(field), owner.representations.size(), own.size()));
    budget -= cost;
    resolve_projection(descriptor, own, field);
  }
}

template <class Accepts>
bool has_one_column(const Descriptor& descriptor, const FieldDescriptor& field, Accepts&& accepts) {
  const auto fits = [&](const auto& group) {
    return group.size() == 1 && accepts(descriptor.columns[group.front()].encoding.type);
  };
  return !field.representations.empty() &&
         std::all_of(field.representations.begin(), field.representations.end(), fits);
}

// Starts inside a collection, where the number of missing elements before it is unknown. That is valid
// for an additional representation of a field with earlier data: another representation is active before
// it.
bool is_nested_late(const Descriptor& descriptor, const ColumnDescriptor& column) {
  if (!column.deferred || column.deferred_suppressed || column.first_element == 0) return false;
  for (std::uint32_t at = column.field; descriptor.fields[at].parent != at;) {
    at = descriptor.fields[at].parent;
    const FieldRole role = descriptor.fields[at].role;
    if (role == FieldRole::collection || role == FieldRole::variant) return true;
  }
  return false;
}

// What repeats the values of a field, as it is stored.
std::vector<std::uint32_t> repeated_by(const Descriptor& descriptor, std::uint32_t id) {
  std::vector<std::uint32_t> above;
  while (descriptor.fields[id].parent != id) {
    id = descriptor.fields[id].parent;
    const FieldDescriptor& field = descriptor.fields[id];
    if (field.role == FieldRole::collection || field.role == FieldRole::variant || field.array_size > 0)
      above.push_back(field.source_field.value_or(id));
  }
  return above;
}

bool is_projected_elsewhere(const Descriptor& descriptor, const FieldDescriptor& field) {
  if (!field.source_field || field.representations.empty()) return false;
  const ColumnDescriptor& column = descriptor.columns[field.representations.front().front()];
  return repeated_by(descriptor, field.id) != repeated_by(descriptor, column.field);
}

// Why the field's own description makes it unreadable; empty if it does not.
std::string own_reason(const Descriptor& descriptor, const FieldDescriptor& field) {
  if (field.raw_role >= known_roles)
    return fmt::format("structural role {:#04x} is unknown to this version", field.raw_role);
  if (field.role == FieldRole::streamer)
    return "streamer field (role 0x04): its objects are serialised by ROOT's own streamer";
  if (field.field_version > known_field_version)
    return fmt::format("field version {} is unknown to this version", field.field_version);
  // Readers multiply the numbers of leaves only: other fields would be read from wrong positions.
  if (field.array_size > 0 && (field.role != FieldRole::leaf || field.type_name == "std::string"))
    return fmt::format("an array of {} values that is not a std::array", field.array_size);
  for (const auto& group : field.representations)
    for (const std::uint32_t id : group) {
      const ColumnDescriptor& column = descriptor.columns[id];
      if (!is_known(column.encoding.type))
        return fmt::format("column type {:#04x} is unknown to this version", column.raw_type);
      if (is_nested_late(descriptor, column))
        return fmt::format("column {} starts at element {} inside of a collection", id, column.first_element);
    }
  if (is_projected_elsewhere(descriptor, field)) return "projects a field that is in other collections";
  if (field.role == FieldRole::collection) {
    if (field.children.size() != 1)
      return fmt::format("a collection with {} sub-fields, not 1", field.children.size());
    if (!has_one_column(descriptor, field, is_index)) return "a collection without its one index column";
  }
  const auto is_switch = [](ColumnType type) { return type == ColumnType::switch_; };
  if (field.role == FieldRole::variant && !has_one_column(descriptor, field, is_switch))
    return "a variant without its one switch column";
  if (field.role == FieldRole::record && !field.representations.empty())
    return "a record with columns of its own";
  return {};
}

// Propagates marks between fields. Each field keeps the first cause only, so that messages stay short in deep
// trees.
class Spreader {
 public:
  Spreader(Descriptor& descriptor, const FieldOrder& order)
      : fields_(descriptor.fields), order_(order), cause_(descriptor.fields.size(), invalid_id) {
    for (const FieldDescriptor& field : fields_)
      if (!field.unreadable.empty()) cause_[field.id] = field.id;
  }

  void run() {
    along_tree();
    for (FieldDescriptor& field : fields_)
      if (field.source_field) mark_by(field, fields_[*field.source_field], "its source");
    along_tree();
  }

 private:
  // A record is readable without one of its members, unless members are numbered instead of named. No other
  // field is readable without a sub-field, and no sub-field without its parents.
  void along_tree() {
    for (const std::uint32_t id : std::views::reverse(order_)) {
      FieldDescriptor& parent = fields_[fields_[id].parent];
      const bool counted =
          parent.type_name.starts_with("std::pair<") || parent.type_name.starts_with("std::tuple<");
      if (parent.role != FieldRole::record || counted) mark_by(parent, fields_[id], "its sub-field");
    }
    for (const std::uint32_t id : order_) mark_by(fields_[id], fields_[fields_[id].parent], "its parent");
  }

  void mark_by(FieldDescriptor& field, const FieldDescriptor& other, const char* relation) {
    if (!field.unreadable.empty() || other.unreadable.empty()) return;
    const std::uint32_t cause = cause_[other.id];
    field.unreadable =
        fmt::format("{} {} cannot be read: {}", relation, quoted(other.name), fields_[cause].unreadable);
    cause_[field.id] = cause;
  }

  std::vector<FieldDescriptor>& fields_;
  const FieldOrder& order_;
  std::vector<std::uint32_t> cause_;
};

}  // namespace

std::string quoted(std::string_view name) {
  return fmt::format("\"{}\"", shortened(name, 64));
}

FieldOrder link_schema(Descriptor& descriptor, MemoryLimit* limit) {
  Tree tree;
  FieldOrder order = link_fields(descriptor, tree);
  if (limit != nullptr) take_paths(descriptor, order, *limit);
  link_columns(descriptor);
  link_projections(descriptor, tree);
  for (FieldDescriptor& field : descriptor.fields) field.unreadable = own_reason(descriptor, field);
  return order;
}

void spread_unreadable(Descriptor& descriptor, const FieldOrder& order) {
  Spreader(descriptor, order).run();
}

void mark_unreadable(Descriptor& descriptor,
                     const std::vector<std::pair<std::uint32_t, std::string>>& reasons) {
  FieldOrder order = descriptor.top_level_fields();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const FieldIds& children = descriptor.fields[order[i]].children;
    order.insert(order.end(), children.begin(), children.end());
  }
  for (const auto& [field, reason] : reasons)
    if (descriptor.fields[field].unreadable.empty())
      descriptor.fields[field].unreadable = shortened(reason, longest_reason);
  spread_unreadable(descriptor, order);
}

void finish(Descriptor& descriptor, MemoryLimit* limit) {
  const FieldOrder order = link_schema(descriptor, limit);
  if (!check_clusters(descriptor, order)) spread_unreadable(descriptor, order);
}

}  // namespace colonnade::format
