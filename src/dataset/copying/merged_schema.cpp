// See merged_schema.h.
#include "dataset/copying/merged_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "colonnade/error.h"

namespace colonnade::dataset {
namespace {

constexpr std::uint32_t top = invalid_id;

// Records whose members may differ: others have the types of their parts in their names.
bool has_members(const FieldDescriptor& field) {
  return field.role == FieldRole::record && !field.type_name.starts_with("std::pair<") &&
         !field.type_name.starts_with("std::tuple<");
}

bool same_encoding(const ColumnDescriptor& a, const ColumnDescriptor& b) {
  return std::tie(a.raw_type, a.encoding, a.has_range) == std::tie(b.raw_type, b.encoding, b.has_range);
}

bool is_reduced(const Descriptor& descriptor, const ColumnIds& group) {
  return std::any_of(group.begin(), group.end(), [&](std::uint32_t id) {
    const ColumnType type = descriptor.columns[id].encoding.type;
    return type == ColumnType::real32_trunc || type == ColumnType::real32_quant;
  });
}

std::vector<std::uint32_t> children_of(const Descriptor& descriptor, std::uint32_t field) {
  const FieldIds& children = descriptor.fields[field].children;
  return {children.begin(), children.end()};
}

// An object of ROOT's own streamer is not empty: ROOT takes what follows in memory for one without bytes.
void check_has_zero(const Descriptor& descriptor, std::uint32_t field) {
  const FieldDescriptor& f = descriptor.fields[field];
  if (f.role == FieldRole::streamer) {
    const std::string path = descriptor.path_of(field);
    throw Error(
        ErrorKind::unsupported,
        fmt::format("some entries have no '{}', and there is no empty object of a streamer field", path),
        "take the fields that all have (filter), or leave this one out", {.field = path});
  }
  if (f.role == FieldRole::collection || f.role == FieldRole::variant) return;
  for (const std::uint32_t child : f.children) check_has_zero(descriptor, child);
}

}  // namespace

MergedSchema::MergedSchema(Descriptor first, const MergedSchemaOptions& options)
    : options_(options), to_(std::move(first)) {
  for (const FieldDescriptor& field : to_.fields) index(field.id);
  if (options_.behind) return;
  for (ColumnDescriptor& column : to_.columns) {
    column.deferred = column.deferred_suppressed = false;
    column.first_element = 0;
  }
}

void MergedSchema::fail(std::string problem, std::string field) const {
  if (options_.fields != MergeMode::strict) fail_in_every_mode(std::move(problem), std::move(field));
  throw Error(ErrorKind::schema, std::move(problem),
              "take the fields that all have (filter), those that any has (union), or name the columns that "
              "all have",
              {.field = std::move(field)});
}

void MergedSchema::fail_in_every_mode(std::string problem, std::string field) {
  throw Error(ErrorKind::schema, std::move(problem), "name the columns to merge, without this one",
              {.field = std::move(field)});
}

void MergedSchema::fail_encoding(std::string problem, std::string field) {
  throw Error(ErrorKind::schema, std::move(problem), "merge all inputs into a new file",
              {.field = std::move(field)});
}

void MergedSchema::index(std::uint32_t field) {
  const FieldDescriptor& f = to_.fields[field];
  known_[{f.parent == field ? top : f.parent, f.name}] = field;
}

std::uint32_t MergedSchema::find(std::uint32_t parent, const std::string& name) const {
  const auto found = known_.find({parent, name});
  return found == known_.end() ? invalid_id : found->second;
}

// ---- adding ----

void MergedSchema::add(const Descriptor& schema) {
  if ((schema.feature_flags & ~to_.feature_flags) != 0 && options_.behind)
    fail_encoding("it has feature flags that the existing data set does not have", "");
  to_.feature_flags |= schema.feature_flags;
  add_level(schema, schema.top_level_fields(), top);
  std::vector<std::uint32_t> field_of(schema.fields.size(), invalid_id);
  for (const FieldDescriptor& field : schema.fields)  // parents come before children
    field_of[field.id] = find(field.parent == field.id ? top : field_of[field.parent], field.name);
  project(schema, field_of);
}

// The parts of all but records are what the type says.
void MergedSchema::add_level(const Descriptor& from, const std::vector<std::uint32_t>& fields,
                             std::uint32_t parent) {
  const bool is_exact = parent != top && !has_members(to_.fields[parent]);
  check_lacks(from, fields, parent, is_exact);
  for (const std::uint32_t id : fields) {
    const FieldDescriptor& field = from.fields[id];
    const std::uint32_t same = find(parent, field.name);
    if (same == invalid_id) {
      if (options_.fields != MergeMode::union_ || is_exact)
        fail(fmt::format("there is another field, '{}'", from.path_of(id)), from.path_of(id));
      if (options_.behind && parent != top)
        fail_encoding(
            fmt::format("the member '{}' cannot be appended to the existing data set", from.path_of(id)),
            from.path_of(id));
      if (options_.behind.value_or(0) > 0) check_has_zero(from, id);
      add_field(from, id, parent);
      continue;
    }
    check_same(from, to_.fields[same], field);
    if (!field.source_field) add_columns(from, field, same);
    add_level(from, children_of(from, id), same);
  }
}

void MergedSchema::check_lacks(const Descriptor& from, const std::vector<std::uint32_t>& fields,
                               std::uint32_t parent, bool is_exact) const {
  if (options_.fields == MergeMode::union_ && !is_exact) return;
  std::unordered_set<std::string_view> names;
  for (const std::uint32_t id : fields) names.insert(from.fields[id].name);
  for (auto at = known_.lower_bound({parent, std::string()}); at != known_.end() && at->first.first == parent;
       ++at)
    if (!names.contains(at->first.second))
      fail(fmt::format("there is no field '{}'", to_.path_of(at->second)), to_.path_of(at->second));
}

void MergedSchema::check_same(const Descriptor& from, const FieldDescriptor& a,
                              const FieldDescriptor& b) const {
  const std::string path = to_.path_of(a.id);
  if (type_text(a) != type_text(b))
    fail_in_every_mode(fmt::format("the field '{}' is {}, not {}", path, type_text(b), type_text(a)), path);
  // Only versions of classes and other names of the same types are free in some modes.
  if (std::string why = property_difference(to_, a, from, b, {.alias = true, .versions = has_members(a)});
      !why.empty())
    fail_in_every_mode(std::move(why), path);
  if (options_.fields != MergeMode::strict) return;
  if (std::string why = property_difference(to_, a, from, b); !why.empty()) fail(std::move(why), path);
}

void MergedSchema::add_field(const Descriptor& from, std::uint32_t id, std::uint32_t parent) {
  FieldDescriptor field = from.fields[id];
  field.id = static_cast<std::uint32_t>(to_.fields.size());
  field.parent = parent == top ? field.id : parent;
  field.children.clear();
  field.representations.clear();
  if (field.source_field) field.source_field = invalid_id;  // project() says
  const std::uint32_t own = field.id;
  if (parent != top) to_.fields[parent].children.push_back(own);
  to_.fields.push_back(std::move(field));
  index(own);
  if (!from.fields[id].source_field)
    for (const ColumnIds& group : from.fields[id].representations) add_group(from, group, own);
  for (const std::uint32_t child : from.fields[id].children) add_field(from, child, own);
}

void MergedSchema::add_group(const Descriptor& from, const ColumnIds& group, std::uint32_t into) {
  ColumnIds columns;
  const std::size_t number = to_.fields[into].representations.size();
  for (const std::uint32_t id : group) {
    ColumnDescriptor column = from.columns[id];
    column.id = static_cast<std::uint32_t>(to_.columns.size());
    column.field = into;
    column.representation = static_cast<std::uint16_t>(number);
    column.deferred = column.deferred_suppressed = false;
    column.first_element = 0;
    if (options_.behind && columns.empty()) {
      column.first_element = to_.elements_before(into, *options_.behind);
      column.deferred = column.first_element > 0;
      column.deferred_suppressed = column.deferred && number > 0;
    }
    columns.push_back(column.id);
    to_.columns.push_back(column);
  }
  to_.fields[into].representations.push_back(columns);
}

std::size_t MergedSchema::find_group(const Descriptor& from, const ColumnIds& group,
                                     std::uint32_t field) const {
  const auto& groups = to_.fields[field].representations;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (std::equal(
            groups[i].begin(), groups[i].end(), group.begin(), group.end(),
            [&](std::uint32_t a, std::uint32_t b) { return same_encoding(to_.columns[a], from.columns[b]); }))
      return i;
  return groups.size();
}

void MergedSchema::add_columns(const Descriptor& from, const FieldDescriptor& field, std::uint32_t into) {
  for (const ColumnIds& group : field.representations) {
    const std::size_t found = find_group(from, group, into);
    if (!options_.keeps_pages) {
      if (found != widest_representation(to_, to_.fields[into])) widen(from, group, into);
      continue;
    }
    if (found < to_.fields[into].representations.size()) continue;
    const std::string path = to_.path_of(into);
    if (options_.behind)
      fail_encoding(
          fmt::format("the columns of the field '{}' have another encoding than in the existing data set",
                      path),
          path);
    // ROOT takes bits and ranges from the first representation.
    const auto& own = to_.fields[into].representations;
    if (is_reduced(from, group) ||
        std::any_of(own.begin(), own.end(), [&](const ColumnIds& other) { return is_reduced(to_, other); }))
      fail_encoding(
          fmt::format(
              "the field '{}' has another precision, which ROOT cannot read beside that of the others", path),
          path);
    add_group(from, group, into);
    has_new_groups_ = true;
  }
}

void MergedSchema::widen(const Descriptor& from, const ColumnIds& group, std::uint32_t into) {
  const std::string path = to_.path_of(into);
  const FieldDescriptor& own = to_.fields[into];
  const std::size_t widest = widest_representation(to_, own);
  if (own.representations.empty() || own.representations[widest].size() != group.size())
    fail_in_every_mode(fmt::format("the columns of the field '{}' are others", path), path);
  const ColumnIds columns = own.representations[widest];
  for (std::size_t k = 0; k < group.size(); ++k) {
    ColumnDescriptor& column = to_.columns[columns[k]];
    const ColumnDescriptor& other = from.columns[group[k]];
    const ElementType element = element_of(to_, column);
    if (element != element_of(from, other))
      fail_in_every_mode(fmt::format("the columns of the field '{}' hold other numbers", path), path);
    const ColumnEncoding before = column.encoding;
    widen_column(column, other.encoding, element);
    if (options_.behind && column.encoding != before)
      fail_encoding(
          fmt::format("the values of the field '{}' do not fit the columns of the existing data set, "
                      "which have another precision",
                      path),
          path);
  }
}

// Projected fields that are new say what they project.
void MergedSchema::project(const Descriptor& from, const std::vector<std::uint32_t>& field_of) {
  for (const FieldDescriptor& field : from.fields) {
    if (!field.source_field) continue;
    FieldDescriptor& own = to_.fields[field_of[field.id]];
    if (own.source_field != invalid_id) continue;
    own.source_field = field_of[*field.source_field];
    if (field.representations.empty()) continue;
    has_new_groups_ = true;  // finish() makes the aliases
    own.representations.emplace_back();
  }
}

// Projected fields share the representations of what they project.
void MergedSchema::finish() {
  if (has_new_groups_) {
    std::vector<AliasColumnDescriptor> aliases;
    if (options_.behind) aliases = to_.aliases;
    for (FieldDescriptor& field : to_.fields) {
      if (!field.source_field || field.representations.empty()) continue;
      const bool is_there = std::any_of(aliases.begin(), aliases.end(),
                                        [&](const AliasColumnDescriptor& a) { return a.field == field.id; });
      if (is_there) continue;
      field.representations = to_.fields[*field.source_field].representations;
      for (const ColumnIds& group : field.representations)
        for (const std::uint32_t column : group) aliases.push_back({column, field.id});
    }
    to_.aliases = std::move(aliases);
  }
  if (options_.behind) return;
  number_depth_first();
  to_.header_fields = static_cast<std::uint32_t>(to_.fields.size());
  to_.header_columns = static_cast<std::uint32_t>(to_.columns.size());
  to_.header_aliases = static_cast<std::uint32_t>(to_.aliases.size());
  to_.header_type_infos = static_cast<std::uint32_t>(to_.type_infos.size());
}

// Members that a later input adds to a record come behind all fields. Any order is valid, but ROOT's merger
// takes the pages of one column for those of another unless fields are numbered depth first.
void MergedSchema::number_depth_first() {
  std::vector<std::uint32_t> order;
  const auto visit = [&](const auto& self, std::uint32_t id) -> void {
    order.push_back(id);
    for (const std::uint32_t child : to_.fields[id].children) self(self, child);
  };
  for (const std::uint32_t id : to_.top_level_fields()) visit(visit, id);
  if (std::is_sorted(order.begin(), order.end())) return;
  std::vector<std::uint32_t> columns;
  for (const std::uint32_t id : order) {
    if (to_.fields[id].source_field) continue;
    for (const ColumnIds& group : to_.fields[id].representations)
      columns.insert(columns.end(), group.begin(), group.end());
  }
  renumber(order, columns);
}

namespace {

std::vector<std::uint32_t> inverse(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  return place;
}

}  // namespace

void MergedSchema::renumber(const std::vector<std::uint32_t>& fields,
                            const std::vector<std::uint32_t>& columns) {
  const std::vector<std::uint32_t> field_at = inverse(fields);
  const std::vector<std::uint32_t> column_at = inverse(columns);
  const auto old_fields = std::exchange(to_.fields, {});
  const auto old_columns = std::exchange(to_.columns, {});
  for (const std::uint32_t id : fields) {
    FieldDescriptor& field = to_.fields.emplace_back(old_fields[id]);
    field.id = field_at[id];
    field.parent = field_at[field.parent];
    for (std::uint32_t& child : field.children) child = field_at[child];
    if (field.source_field) field.source_field = field_at[*field.source_field];
    for (ColumnIds& group : field.representations)
      for (std::uint32_t& column : group) column = column_at[column];
  }
  for (const std::uint32_t id : columns) {
    ColumnDescriptor& column = to_.columns.emplace_back(old_columns[id]);
    column.id = column_at[id];
    column.field = field_at[column.field];
  }
  for (AliasColumnDescriptor& alias : to_.aliases)
    alias = {column_at[alias.physical_column], field_at[alias.field]};
  known_.clear();
  for (const FieldDescriptor& field : to_.fields) index(field.id);
}

// ---- mapping ----

SchemaMap MergedSchema::map(const Descriptor& schema) const {
  SchemaMap map;
  map.field_of.assign(schema.fields.size(), invalid_id);
  map.column_of.assign(schema.columns.size(), invalid_id);
  map_level(schema, schema.top_level_fields(), top, invalid_id, map);
  map.is_identity = map.missing.empty() && schema.columns.size() == to_.columns.size();
  for (std::size_t i = 0; i < map.column_of.size(); ++i) map.is_identity &= map.column_of[i] == i;
  for (const ColumnDescriptor& column : schema.columns) map.is_identity &= !column.deferred;
  for (const ColumnDescriptor& column : to_.columns) map.is_identity &= !column.deferred;
  return map;
}

void MergedSchema::map_level(const Descriptor& from, const std::vector<std::uint32_t>& fields,
                             std::uint32_t parent, std::uint32_t from_parent, SchemaMap& map) const {
  std::unordered_set<std::uint32_t> found;
  for (const std::uint32_t id : fields) {
    const std::uint32_t own = find(parent, from.fields[id].name);
    if (own == invalid_id) continue;
    found.insert(own);
    map.field_of[id] = own;
    if (!from.fields[id].source_field) map_columns(from, from.fields[id], map);
    map_level(from, children_of(from, id), own, id, map);
  }
  const auto own_fields = parent == top ? to_.top_level_fields() : children_of(to_, parent);
  if (found.size() == own_fields.size()) return;
  for (const std::uint32_t own : own_fields)
    if (!found.contains(own) && !to_.fields[own].source_field) map.missing.push_back({own, from_parent});
}

void MergedSchema::map_columns(const Descriptor& from, const FieldDescriptor& field, SchemaMap& map) const {
  const std::uint32_t own = map.field_of[field.id];
  const auto& groups = to_.fields[own].representations;
  for (const ColumnIds& group : field.representations) {
    const std::size_t number =
        options_.keeps_pages ? find_group(from, group, own) : widest_representation(to_, to_.fields[own]);
    for (std::size_t k = 0; number < groups.size() && k < group.size(); ++k)
      map.column_of[group[k]] = groups[number][k];
  }
}

namespace {

// Zeros for a field, with all below it, that stand for `factor` values for each that its place has.
void add_zeros(const Descriptor& target, std::uint32_t id, std::uint32_t parent, std::uint64_t factor,
               std::vector<ZeroColumn>& zeros) {
  const FieldDescriptor& field = target.fields[id];
  if (field.source_field) return;
  factor *= std::max<std::uint64_t>(field.array_size, 1);
  if (field.type_name.starts_with("std::array<") && field.type_name.ends_with(",0>") && field.array_size == 0)
    factor = 0;
  if (!field.representations.empty()) {
    const ColumnIds& group = field.representations[widest_representation(target, field)];
    for (std::size_t k = 0; k < group.size(); ++k) zeros.push_back({group[k], parent, k == 0 ? factor : 0});
  }
  const bool repeats = field.role == FieldRole::collection || field.role == FieldRole::variant ||
                       field.role == FieldRole::streamer;
  for (const std::uint32_t child : field.children)
    add_zeros(target, child, parent, repeats ? 0 : factor, zeros);
}

}  // namespace

void MergedSchema::hold_zeros(const Descriptor& schema) {
  const SchemaMap mapped = map(schema);
  std::vector<std::uint32_t> columns;
  std::vector<ZeroColumn> zeros;
  for (const SchemaMap::Missing& missing : mapped.missing) {
    check_has_zero(to_, missing.field);
    add_zeros(to_, missing.field, invalid_id, 1, zeros);
  }
  for (const ZeroColumn& zero : zeros)
    if (zero.factor > 0) columns.push_back(zero.column);
  for (const ColumnDescriptor& column : schema.columns)
    if (column.deferred) columns.push_back(mapped.column_of[column.id]);
  for (const std::uint32_t id : columns) {
    ColumnDescriptor& column = to_.columns[id];
    if (holds_zero(column.encoding)) continue;
    if (options_.keeps_pages || options_.behind) {
      const std::string path = to_.path_of(column.field);
      fail_encoding(fmt::format("some entries have no '{}', and its columns cannot hold zero", path), path);
    }
    widen_for_zero(column, element_of(to_, column));
  }
}

void map_schema(const SchemaMap& map, const Descriptor& target, CopySchema& schema) {
  std::vector<std::uint32_t> original;
  for (std::uint32_t id = 0; id < schema.fields.size(); ++id)
    if (schema.fields[id]) original.push_back(id);
  for (std::uint32_t& column : schema.target_of)
    if (column != invalid_id) column = map.column_of[column];
  schema.is_mapped = !map.is_identity;
  schema.zeros.clear();
  for (const SchemaMap::Missing& missing : map.missing)
    add_zeros(target, missing.field, missing.parent == invalid_id ? invalid_id : original[missing.parent], 1,
              schema.zeros);
  schema.order = {.top = {}, .children = std::vector<std::vector<std::uint32_t>>(target.fields.size())};
  for (const FieldDescriptor& field : schema.descriptor.fields) {
    const std::uint32_t own = map.field_of[field.id];
    auto& into =
        field.parent == field.id ? schema.order.top : schema.order.children[map.field_of[field.parent]];
    into.push_back(own);
  }
}

}  // namespace colonnade::dataset
