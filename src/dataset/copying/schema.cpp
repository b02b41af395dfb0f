// See schema.h.
#include "dataset/copying/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "dataset/schema_walk.h"

namespace colonnade::dataset {
namespace {

// ---- Selecting

class Selection {
 public:
  explicit Selection(const Descriptor& descriptor)
      : descriptor_(descriptor), chosen_(descriptor.fields.size()), below_(descriptor.fields.size()) {}

  // The field, all below it, and what is needed above it.
  void add(std::uint32_t id) {
    add_below(id);
    while (descriptor_.fields[id].parent != id) {
      id = descriptor_.fields[id].parent;
      if (needs_all_parts(descriptor_.fields[id]))
        add_below(id);
      else
        choose(id);
    }
  }

  std::vector<bool> take() { return std::move(chosen_); }

 private:
  // Their readers count on every part.
  static bool needs_all_parts(const FieldDescriptor& field) {
    return field.role == FieldRole::variant || field.type_name.starts_with("std::pair<") ||
           field.type_name.starts_with("std::tuple<");
  }

  void add_below(std::uint32_t id) {
    if (below_[id]) return;
    below_[id] = true;
    choose(id);
    for (const std::uint32_t child : descriptor_.fields[id].children) add_below(child);
  }

  void choose(std::uint32_t id) {
    if (chosen_[id]) return;
    chosen_[id] = true;
    if (descriptor_.fields[id].source_field) add(*descriptor_.fields[id].source_field);
  }

  const Descriptor& descriptor_;
  std::vector<bool> chosen_;
  std::vector<bool> below_;  // with all below
};

// ---- Renumbering

class Rebuilder {
 public:
  Rebuilder(const Descriptor& source, std::vector<bool> fields) : from_(source) {
    schema_.fields = std::move(fields);
    schema_.target_of.assign(from_.columns.size(), invalid_id);
    to().name = from_.name;
    to().description = from_.description;
    to().feature_flags = from_.feature_flags;
    to().type_infos = from_.type_infos;
  }

  void fields() {
    new_ids_.assign(from_.fields.size(), invalid_id);
    std::uint32_t next = 0;
    for (std::uint32_t id = 0; id < from_.fields.size(); ++id)
      if (schema_.fields[id]) new_ids_[id] = next++;
    for (std::uint32_t id = 0; id < from_.fields.size(); ++id)
      if (schema_.fields[id]) add_field(from_.fields[id]);
  }

  void column(const ColumnDescriptor& column) {
    ColumnDescriptor copy = column;
    copy.id = static_cast<std::uint32_t>(to().columns.size());
    copy.field = new_ids_[column.field];
    schema_.target_of[column.id] = copy.id;
    to().columns.push_back(copy);
  }

  // When all columns are there.
  void alias(std::uint32_t field, std::uint32_t physical_column) {
    to().aliases.push_back({schema_.target_of[physical_column], new_ids_[field]});
  }

  // The columns of the fields, numbered anew, when all are there.
  void link(const std::vector<std::size_t>& only = {}) {
    for (std::uint32_t id = 0; id < from_.fields.size(); ++id) {
      if (!schema_.fields[id]) continue;
      FieldDescriptor& field = to().fields[new_ids_[id]];
      const auto& groups = from_.fields[id].representations;
      for (std::size_t group = 0; group < groups.size(); ++group) {
        if (!only.empty() && group != only[id]) continue;
        ColumnIds columns;
        for (const std::uint32_t column : groups[group]) columns.push_back(schema_.target_of[column]);
        field.representations.push_back(columns);
      }
    }
  }

  bool wants(std::uint32_t field) const { return schema_.fields[field]; }
  Descriptor& to() noexcept { return schema_.descriptor; }
  CopySchema take() { return std::move(schema_); }

 private:
  void add_field(const FieldDescriptor& field) {
    FieldDescriptor copy = field;
    copy.id = new_ids_[field.id];
    copy.parent = new_ids_[field.parent];
    if (field.source_field) copy.source_field = new_ids_[*field.source_field];
    copy.unreadable.clear();
    copy.contradicted = false;
    copy.representations.clear();
    copy.children.clear();
    for (const std::uint32_t child : field.children)
      if (schema_.fields[child]) copy.children.push_back(new_ids_[child]);
    to().fields.push_back(std::move(copy));
  }

  const Descriptor& from_;
  CopySchema schema_;
  std::vector<std::uint32_t> new_ids_;
};

// ---- Comparing

std::string column_text(const ColumnDescriptor& column) {
  std::string text = column.raw_type < column_type_count
                         ? fmt::format("{} of {} bits", name_of(column.encoding.type), column.encoding.bits)
                         : fmt::format("of the unknown type {:#04x}", column.raw_type);
  if (column.has_range) text += fmt::format(" from {} to {}", column.encoding.min, column.encoding.max);
  if (column.deferred) text += fmt::format(", added after element {}", column.first_element);
  return text;
}

bool same_field(const FieldDescriptor& a, const FieldDescriptor& b) {
  const auto key = [](const FieldDescriptor& field) {
    return std::tie(field.name, field.type_name, field.type_alias, field.role, field.raw_role, field.parent,
                    field.array_size, field.source_field, field.type_version, field.field_version,
                    field.type_checksum);
  };
  return key(a) == key(b);
}

bool same_column(const ColumnDescriptor& a, const ColumnDescriptor& b) {
  const auto key = [](const ColumnDescriptor& column) {
    return std::tie(column.field, column.raw_type, column.encoding, column.has_range, column.representation,
                    column.deferred, column.first_element);
  };
  return key(a) == key(b);
}

// ---- Widening

// Whether a column of encoding `a` can hold whatever one of encoding `b` holds. Encodings of reduced
// precision drop different bits, so that more bits alone are not enough.
bool holds(const ColumnEncoding& a, const ColumnEncoding& b, ElementType element) {
  if (a == b) return true;
  const bool is_wide = natural_element(b.type) == ElementType::float64 ||
                       (b.type == ColumnType::real32_quant && element == ElementType::float64);
  switch (a.type) {
    case ColumnType::real32:
    case ColumnType::split_real32:
      return !is_wide;
    case ColumnType::real16:
    case ColumnType::split_real16:
      return b.type == ColumnType::real16 || b.type == ColumnType::split_real16;
    case ColumnType::real32_trunc:
      return b.type == ColumnType::real32_trunc && a.bits >= b.bits;
    case ColumnType::real32_quant:
      return false;
    default:
      return a.bits >= b.bits;
  }
}

ColumnEncoding wider(const ColumnEncoding& a, const ColumnEncoding& b, ElementType element) {
  if (holds(a, b, element)) return a;
  if (holds(b, a, element)) return b;
  const ColumnEncoding single = default_encoding(ColumnType::split_real32);
  const bool is_enough = holds(single, a, element) && holds(single, b, element);
  return is_enough ? single : default_encoding(ColumnType::split_real64);
}

// ---- Differences

std::string field_difference(const Descriptor& first, const Descriptor& second, std::uint32_t id) {
  const FieldDescriptor& a = first.fields[id];
  const FieldDescriptor& b = second.fields[id];
  if (first.path_of(id) != second.path_of(id))
    return fmt::format("there is a field '{}' where there should be '{}'", second.path_of(id),
                       first.path_of(id));
  if (type_text(a) != type_text(b))
    return fmt::format("the field '{}' is {}, not {}", first.path_of(id), type_text(b), type_text(a));
  return property_difference(first, a, second, b);
}

std::string_view role_text(const FieldDescriptor& field) {
  if (field.raw_role != static_cast<std::uint16_t>(field.role)) return "of an unknown role";
  switch (field.role) {
    case FieldRole::collection:
      return "a collection";
    case FieldRole::record:
      return "a record";
    case FieldRole::variant:
      return "a variant";
    case FieldRole::streamer:
      return "streamed";
    default:
      return "a leaf";
  }
}

std::string alias_text(const FieldDescriptor& field) {
  return field.type_alias.empty() ? "none" : fmt::format("'{}'", field.type_alias);
}

std::string checksum_text(const FieldDescriptor& field) {
  return field.type_checksum ? fmt::format("{:#010x}", *field.type_checksum) : "none";
}

std::string projection_text(const std::string& source) {
  return source.empty() ? "stored itself" : fmt::format("projected from '{}'", source);
}

}  // namespace

std::string type_text(const FieldDescriptor& field) {
  std::string type = field.type_name;
  if (type.empty())
    type = field.role == FieldRole::collection ? "an untyped collection" : "an untyped record";
  return field.array_size > 0 ? fmt::format("{} ({} times)", type, field.array_size) : type;
}

std::string source_path(const Descriptor& descriptor, const FieldDescriptor& field) {
  return field.source_field ? descriptor.path_of(*field.source_field) : std::string();
}

std::string property_difference(const Descriptor& first, const FieldDescriptor& a, const Descriptor& second,
                                const FieldDescriptor& b, FreeProperties free) {
  const std::string start = fmt::format("the field '{}'", first.path_of(a.id));
  if (a.role != b.role || a.raw_role != b.raw_role)
    return fmt::format("{} is {}, not {}", start, role_text(b), role_text(a));
  if (!free.alias && a.type_alias != b.type_alias)
    return fmt::format("{} has the type alias {}, not {}", start, alias_text(b), alias_text(a));
  const std::string a_source = source_path(first, a);
  const std::string b_source = source_path(second, b);
  if (a_source != b_source)
    return fmt::format("{} is {}, not {}", start, projection_text(b_source), projection_text(a_source));
  if (free.versions) return {};
  if (a.type_version != b.type_version)
    return fmt::format("{} has version {} of the type '{}', not {}", start, b.type_version, type_text(b),
                       a.type_version);
  if (a.type_checksum != b.type_checksum)
    return fmt::format("{} has the type '{}' with the checksum {}, not {}", start, type_text(b),
                       checksum_text(b), checksum_text(a));
  if (a.field_version != b.field_version)
    return fmt::format("{} has the field version {}, not {}", start, b.field_version, a.field_version);
  return {};
}

std::vector<bool> select_fields(const page::PageSource& source, const std::vector<std::string>& paths) {
  const Descriptor& descriptor = source.descriptor();
  if (paths.empty()) return std::vector<bool>(descriptor.fields.size(), true);
  Selection selection(descriptor);
  for (const std::string& path : paths)
    for (const std::uint32_t id : find_fields(source, path)) selection.add(id);
  return selection.take();
}

CopySchema schema_of_pages(const Descriptor& from, std::vector<bool> fields) {
  const auto header_fields = static_cast<std::uint32_t>(
      std::count(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(from.header_fields), true));
  Rebuilder rebuilder(from, std::move(fields));
  rebuilder.fields();
  for (const ColumnDescriptor& column : from.columns) {
    if (column.id == from.header_columns)
      rebuilder.to().header_columns = static_cast<std::uint32_t>(rebuilder.to().columns.size());
    if (rebuilder.wants(column.field)) rebuilder.column(column);
  }
  if (from.header_columns >= from.columns.size())
    rebuilder.to().header_columns = static_cast<std::uint32_t>(rebuilder.to().columns.size());
  for (std::size_t i = 0; i < from.aliases.size(); ++i) {
    if (i == from.header_aliases)
      rebuilder.to().header_aliases = static_cast<std::uint32_t>(rebuilder.to().aliases.size());
    if (rebuilder.wants(from.aliases[i].field))
      rebuilder.alias(from.aliases[i].field, from.aliases[i].physical_column);
  }
  if (from.header_aliases >= from.aliases.size())
    rebuilder.to().header_aliases = static_cast<std::uint32_t>(rebuilder.to().aliases.size());
  rebuilder.link();
  rebuilder.to().header_fields = header_fields;
  rebuilder.to().header_type_infos = from.header_type_infos;
  return rebuilder.take();
}

std::size_t widest_representation(const Descriptor& descriptor, const FieldDescriptor& field) {
  std::size_t widest = 0;
  unsigned most = 0;
  for (std::size_t i = 0; i < field.representations.size(); ++i) {
    unsigned bits = 0;
    for (const std::uint32_t column : field.representations[i])
      bits += descriptor.columns[column].encoding.bits;
    if (bits > most) {
      most = bits;
      widest = i;
    }
  }
  return widest;
}

ElementType element_of(const Descriptor& descriptor, const ColumnDescriptor& column) {
  const ElementType natural = natural_element(column.encoding.type);
  const bool is_double = descriptor.fields[column.field].type_name == "double";
  return is_double && natural == ElementType::float32 ? ElementType::float64 : natural;
}

void widen_column(ColumnDescriptor& column, const ColumnEncoding& other, ElementType element) {
  column.encoding = wider(column.encoding, other, element);
  column.raw_type = static_cast<std::uint16_t>(column.encoding.type);
  column.has_range = column.encoding.type == ColumnType::real32_quant;
}

bool holds_zero(const ColumnEncoding& encoding) {
  return encoding.type != ColumnType::real32_quant || encoding.min == 0;
}

void widen_for_zero(ColumnDescriptor& column, ElementType element) {
  if (!holds_zero(column.encoding)) widen_column(column, default_encoding(ColumnType::split_real32), element);
}

CopySchema schema_of_values(const Descriptor& from, std::vector<bool> fields) {
  for (const FieldDescriptor& field : from.fields)
    if (fields[field.id] && !field.unreadable.empty())
      throw Error(ErrorKind::unsupported, fmt::format("the field cannot be decoded: {}", field.unreadable),
                  "copy without changing pages, clusters or schemas, or without this field",
                  {.field = from.path_of(field.id)});
  Rebuilder rebuilder(from, std::move(fields));
  rebuilder.fields();
  std::vector<std::size_t> chosen(from.fields.size(), 0);
  const auto owner_of = [&](const FieldDescriptor& field) -> const FieldDescriptor& {
    return field.source_field && !field.representations.empty() && !field.representations[0].empty()
               ? from.fields[from.columns[field.representations[0][0]].field]
               : field;
  };
  for (const FieldDescriptor& field : from.fields)
    chosen[field.id] = widest_representation(from, owner_of(field));
  for (const FieldDescriptor& field : from.fields) {
    if (!rebuilder.wants(field.id) || field.source_field || field.representations.empty()) continue;
    const ColumnIds& group = field.representations[chosen[field.id]];
    for (std::size_t k = 0; k < group.size(); ++k) {
      ColumnDescriptor column = from.columns[group[k]];
      const ElementType element = element_of(from, column);
      for (const std::uint32_t other : columns_of(field, k)) {
        if (element_of(from, from.columns[other]) == element)
          widen_column(column, from.columns[other].encoding, element);
        if (from.columns[other].deferred) widen_for_zero(column, element);
      }
      column.representation = 0;
      column.deferred = column.deferred_suppressed = false;
      column.first_element = 0;
      rebuilder.column(column);
    }
  }
  for (const FieldDescriptor& field : from.fields) {
    if (!rebuilder.wants(field.id) || !field.source_field || field.representations.empty()) continue;
    for (const std::uint32_t id : field.representations[chosen[field.id]]) rebuilder.alias(field.id, id);
  }
  rebuilder.link(chosen);
  Descriptor& to = rebuilder.to();
  to.header_fields = static_cast<std::uint32_t>(to.fields.size());
  to.header_columns = static_cast<std::uint32_t>(to.columns.size());
  to.header_aliases = static_cast<std::uint32_t>(to.aliases.size());
  to.header_type_infos = static_cast<std::uint32_t>(to.type_infos.size());
  return rebuilder.take();
}

std::string first_difference(const Descriptor& first, const Descriptor& second) {
  const std::size_t fields = std::min(first.fields.size(), second.fields.size());
  for (std::uint32_t id = 0; id < fields; ++id)
    if (!same_field(first.fields[id], second.fields[id])) return field_difference(first, second, id);
  if (first.fields.size() > fields)
    return fmt::format("there is no field '{}'", first.path_of(static_cast<std::uint32_t>(fields)));
  if (second.fields.size() > fields)
    return fmt::format("there is another field, '{}'", second.path_of(static_cast<std::uint32_t>(fields)));
  const std::size_t columns = std::min(first.columns.size(), second.columns.size());
  for (std::size_t id = 0; id < columns; ++id)
    if (!same_column(first.columns[id], second.columns[id]))
      return fmt::format("a column of the field '{}' is {}, not {}", second.path_of(second.columns[id].field),
                         column_text(second.columns[id]), column_text(first.columns[id]));
  if (first.columns.size() != second.columns.size())
    return fmt::format("there are {} columns, not {}", second.columns.size(), first.columns.size());
  for (std::size_t i = 0; i < std::min(first.aliases.size(), second.aliases.size()); ++i)
    if (first.aliases[i].field != second.aliases[i].field ||
        first.aliases[i].physical_column != second.aliases[i].physical_column)
      return fmt::format("the projected field '{}' has other columns",
                         second.path_of(second.aliases[i].field));
  if (first.aliases.size() != second.aliases.size()) return "there are other projected fields";
  return {};
}

}  // namespace colonnade::dataset
