// See schema.h.
#include "dataset/chains/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "codec/column_codec.h"
#include "colonnade/error.h"
#include "dataset/element_types.h"
#include "dataset/schema_walk.h"
#include "field/field_tools.h"

namespace colonnade::dataset {

FieldForm form_of(const FieldDescriptor& f) {
  const std::string_view family = field::family_of(f.type_name);
  if (!f.unreadable.empty() || f.role == FieldRole::streamer) return FieldForm::unreadable;
  if (field::is_text(f)) return FieldForm::text;
  if (family == "ROOT::RNTupleCardinality") return FieldForm::count;
  if (f.role == FieldRole::collection)
    return family == "std::optional" || family == "std::unique_ptr" ? FieldForm::nullable : FieldForm::list;
  if (f.role == FieldRole::record)
    return family == "std::pair" || family == "std::tuple" ? FieldForm::product : FieldForm::record;
  if (f.role == FieldRole::variant) return FieldForm::variant;
  if (f.array_size > 0) return f.children.empty() ? FieldForm::bitset : FieldForm::array;
  return f.representations.empty() && f.children.size() == 1 ? FieldForm::wrapper : FieldForm::scalar;
}

namespace {

// A stored field of one schema: part of a merged field.
struct SchemaField {
  std::size_t schema = 0;
  std::uint32_t field = invalid_id;
};
using SchemaFields = std::vector<SchemaField>;

class Merger {
 public:
  Merger(const ChainFiles& files, MissingFields missing) : schemas_(files.schemas()), missing_(missing) {
    merged_.mappings.resize(schemas_.size());
    for (std::size_t i = 0; i < schemas_.size(); ++i)
      merged_.mappings[i].elements.resize(schemas_[i].descriptor.fields.size());
  }

  ChainSchema merge() {
    std::vector<std::vector<std::uint32_t>> tops;
    SchemaFields everywhere;
    for (std::size_t i = 0; i < schemas_.size(); ++i) {
      tops.push_back(schemas_[i].descriptor.top_level_fields());
      everywhere.push_back({i, invalid_id});
    }
    add_named(invalid_id, everywhere, tops);
    return std::move(merged_);
  }

 private:
  const FieldDescriptor& stored(const SchemaField& part) const {
    return schemas_[part.schema].descriptor.fields[part.field];
  }
  FieldForm form(const SchemaField& part) const { return form_of(stored(part)); }
  const std::string& uri(const SchemaField& part) const { return schemas_[part.schema].uri; }
  std::string type(const SchemaField& part) const {
    const FieldDescriptor& f = stored(part);
    if (!f.type_alias.empty()) return f.type_alias;
    if (!f.type_name.empty()) return f.type_name;
    return f.role == FieldRole::collection ? "an untyped collection" : "an untyped record";
  }
  FieldDescriptor& field(std::uint32_t id) { return merged_.descriptor.fields[id]; }
  bool all(const SchemaFields& parts, FieldForm wanted) const {
    return std::ranges::all_of(parts, [&](const SchemaField& part) { return form(part) == wanted; });
  }
  bool any(const SchemaFields& parts, FieldForm wanted) const {
    return std::ranges::any_of(parts, [&](const SchemaField& part) { return form(part) == wanted; });
  }
  // Have all parts the same value of this?
  template <class Get>
  bool agree(const SchemaFields& parts, Get get) const {
    return std::ranges::all_of(parts, [&](const SchemaField& part) {
      return std::invoke(get, stored(part)) == std::invoke(get, stored(parts.front()));
    });
  }
  SchemaFields children_of(const SchemaFields& parts, std::size_t k) const {
    SchemaFields below;
    for (const SchemaField& part : parts) below.push_back({part.schema, stored(part).children[k]});
    return below;
  }

  [[noreturn]] void fail_types(const SchemaField& a, const SchemaField& b) const {
    const std::string path = schemas_[a.schema].descriptor.path_of(a.field);
    throw Error(ErrorKind::schema,
                fmt::format("the field '{}' is {} in {} and {} in {}, and no type holds both", path, type(a),
                            uri(a), type(b), uri(b)),
                "read these files separately", {.uri = uri(b), .field = path});
  }
  // For parts that are not alike: the first one and one that is unlike it.
  [[noreturn]] void fail_forms(const SchemaFields& parts) const {
    for (const SchemaField& part : parts)
      if (form(part) != form(parts.front())) fail_types(parts.front(), part);
    for (const SchemaField& part : parts)
      if (type(part) != type(parts.front())) fail_types(parts.front(), part);
    fail_types(parts.front(), parts.back());
  }

  // ---- Members, by name

  // `ids`: of each of `owners`, which have them.
  template <class Ids>
  void add_named(std::uint32_t parent, const SchemaFields& owners, const std::vector<Ids>& ids) {
    std::vector<std::string> names;
    std::map<std::string, SchemaFields> parts;
    for (std::size_t i = 0; i < owners.size(); ++i) {
      for (const std::uint32_t id : ids[i]) {
        const SchemaField part{owners[i].schema, id};
        const auto [found, is_new] = parts.try_emplace(stored(part).name);
        if (is_new) names.push_back(stored(part).name);
        if (found->second.empty() || found->second.back().schema != part.schema)
          found->second.push_back(part);
      }
    }
    for (const std::string& name : names) {
      const SchemaFields& having = parts[name];
      if (having.size() == owners.size()) {
        add(name, parent, having);
      } else if (missing_ == MissingFields::error) {
        fail_missing(having.front(), *std::ranges::find_if(owners, [&](const SchemaField& owner) {
                       return std::ranges::none_of(
                           having, [&](const SchemaField& h) { return h.schema == owner.schema; });
                     }));
      } else if (missing_ == MissingFields::fill) {
        const bool are_bases =
            std::ranges::all_of(having, [&](const SchemaField& part) { return is_base(stored(part)); });
        are_bases ? add_base(name, parent, owners, having) : add_filled(name, parent, having);
      }
    }
  }

  [[noreturn]] void fail_missing(const SchemaField& there, const SchemaField& lacking) const {
    const std::string path = schemas_[there.schema].descriptor.path_of(there.field);
    throw Error(ErrorKind::schema,
                fmt::format("the field '{}' is in {} but not in {}", path, uri(there), uri(lacking)),
                "missing=\"fill\" for missing values there, or missing=\"skip\" to leave the field out",
                {.uri = uri(lacking), .field = path});
  }

  // The members of a base class that some classes lack are members of the class like others: each is filled.
  void add_base(const std::string& name, std::uint32_t parent, const SchemaFields& owners,
                const SchemaFields& having) {
    const std::uint32_t id = begin(name, parent, having);
    set_role(id, FieldRole::record);
    field(id).type_name = stored(having.front()).type_name;
    SchemaFields parts;
    std::vector<FieldIds> ids;
    for (const SchemaField& owner : owners) {
      const auto own = std::ranges::find(having, owner.schema, &SchemaField::schema);
      parts.push_back({owner.schema, own == having.end() ? invalid_id : own->field});
      ids.push_back(own == having.end() ? FieldIds() : stored(*own).children);
    }
    add_named(id, parts, ids);
  }

  // A field that some files lack: optional, unless it is anyhow. Optional values beside lists are lists.
  void add_filled(const std::string& name, std::uint32_t parent, const SchemaFields& parts) {
    if (any(parts, FieldForm::unreadable) || (any(parts, FieldForm::nullable) && !all_lists(parts))) {
      add(name, parent, parts);
      return;
    }
    const std::uint32_t id = begin(name, parent, parts);
    make_nullable(id, parts, parts);
  }

  // ---- One field

  std::uint32_t begin(const std::string& name, std::uint32_t parent, const SchemaFields& parts) {
    auto& fields = merged_.descriptor.fields;
    const auto id = static_cast<std::uint32_t>(fields.size());
    FieldDescriptor& f = fields.emplace_back();
    f.id = id;
    f.parent = parent == invalid_id ? id : parent;
    f.name = name;
    f.description = stored(parts.front()).description;
    if (parent != invalid_id) fields[parent].children.push_back(id);
    for (auto& mapping : merged_.mappings) mapping.stored.push_back(invalid_id);
    for (const SchemaField& part : parts) merged_.mappings[part.schema].stored[id] = part.field;
    return id;
  }

  void add(const std::string& name, std::uint32_t parent, SchemaFields parts) {
    if (any(parts, FieldForm::unreadable)) return add_unreadable(name, parent, parts);
    // Values of enums and atomics go together with other numbers as what they are stored as.
    const auto family = [](const FieldDescriptor& f) {
      return f.type_name.starts_with("std::atomic<") ? "std::atomic" : f.type_name;
    };
    if (!all(parts, FieldForm::wrapper) || !agree(parts, family))
      for (SchemaField& part : parts)
        while (form(part) == FieldForm::wrapper) part.field = stored(part).children.front();
    const std::uint32_t id = begin(name, parent, parts);
    fill_in(id, parts);
  }

  void add_unreadable(const std::string& name, std::uint32_t parent, const SchemaFields& parts) {
    const std::uint32_t id = begin(name, parent, parts);
    const SchemaField& broken = *std::ranges::find_if(
        parts, [&](const SchemaField& part) { return form(part) == FieldForm::unreadable; });
    const std::string& why = stored(broken).unreadable;
    FieldDescriptor& f = field(id);
    f.type_name = stored(broken).type_name;
    f.type_alias = stored(broken).type_alias;
    f.unreadable = fmt::format("{} (in {})", why.empty() ? "only ROOT, which streamed it, can read it" : why,
                               uri(broken));
  }

  void fill_in(std::uint32_t id, const SchemaFields& parts) {
    const auto is_listed = [&](const SchemaField& part) {
      const FieldForm own = form(part);
      return own == FieldForm::list || own == FieldForm::array || own == FieldForm::nullable;
    };
    if (all(parts, FieldForm::scalar)) return make_scalar(id, parts);
    if (all(parts, FieldForm::text) || (all(parts, FieldForm::bitset) && agree_on_size(parts)))
      return copy_type(id, parts);
    if (all(parts, FieldForm::count)) return make_count(id, parts);
    if (all(parts, FieldForm::array) && agree_on_size(parts)) return make_array(id, parts);
    if (any(parts, FieldForm::nullable) && !all_lists(parts))
      return make_nullable(id, parts, items_of(parts));
    if (std::ranges::all_of(parts, is_listed)) return make_list(id, parts);
    if (all(parts, FieldForm::record)) return make_record(id, parts);
    if (all(parts, FieldForm::product) && agree_on_children(parts)) return make_product(id, parts);
    if (all(parts, FieldForm::variant) && agree_on_children(parts)) return make_variant(id, parts);
    if (all(parts, FieldForm::wrapper)) return make_wrapper(id, parts);
    fail_forms(parts);
  }

  bool agree_on_size(const SchemaFields& parts) const { return agree(parts, &FieldDescriptor::array_size); }
  bool agree_on_children(const SchemaFields& parts) const {
    return agree(parts, [](const FieldDescriptor& f) { return f.children.size(); });
  }
  // Optional values and lists make lists, as in a data frame; optional lists and lists make optional lists.
  bool all_lists(const SchemaFields& parts) const {
    bool has_list = false;
    bool has_optional_list = false;
    for (const SchemaField& part : parts) {
      const FieldForm own = form(part);
      if (own == FieldForm::list || own == FieldForm::array) {
        has_list = true;
      } else if (own == FieldForm::nullable) {
        const FieldForm item = form({part.schema, stored(part).children.front()});
        has_optional_list |= item == FieldForm::list || item == FieldForm::array;
      } else {
        return false;
      }
    }
    return has_list && !has_optional_list;
  }
  // Of optional values their items, and plain values themselves.
  SchemaFields items_of(const SchemaFields& parts) const {
    SchemaFields items;
    for (const SchemaField& part : parts)
      items.push_back(
          form(part) == FieldForm::nullable ? SchemaField{part.schema, stored(part).children.front()} : part);
    return items;
  }

  // ---- Types. The name is that of the parts where they agree.

  void copy_type(std::uint32_t id, const SchemaFields& parts) {
    const FieldDescriptor& first = stored(parts.front());
    FieldDescriptor& f = field(id);
    f.role = first.role;
    f.raw_role = first.raw_role;
    f.array_size = first.array_size;
    if (!agree(parts, &FieldDescriptor::type_name)) return;
    f.type_name = first.type_name;
    if (agree(parts, &FieldDescriptor::type_alias)) f.type_alias = first.type_alias;
  }

  void set_role(std::uint32_t id, FieldRole role) {
    field(id).role = role;
    field(id).raw_role = static_cast<std::uint16_t>(role);
  }

  ElementType element_of(const SchemaField& part) const {
    const FieldDescriptor& f = stored(part);
    const Descriptor& descriptor = schemas_[part.schema].descriptor;
    if (const auto named = element_of_field(descriptor, f)) return *named;
    const std::uint32_t column = f.representations.front().front();
    return natural_element(descriptor.columns[column].encoding.type);
  }

  void make_scalar(std::uint32_t id, const SchemaFields& parts) {
    ElementType common = element_of(parts.front());
    for (const SchemaField& part : parts) {
      const auto both = common_element(common, element_of(part));
      if (!both) fail_types(parts.front(), part);
      common = *both;
    }
    copy_type(id, parts);
    if (field(id).type_name.empty()) field(id).type_name = type_of_element(common);
    for (const SchemaField& part : parts) {
      const auto& columns = schemas_[part.schema].descriptor.columns;
      for (const std::uint32_t column : columns_of(stored(part), 0))
        if (!codec::can_decode(columns[column].encoding.type, common))
          throw Error(ErrorKind::unsupported,
                      fmt::format("the field's elements cannot be read as {}", field(id).type_name), "",
                      {.uri = uri(part), .field = schemas_[part.schema].descriptor.path_of(part.field)});
      merged_.mappings[part.schema].elements[part.field] = common;
    }
  }

  void make_count(std::uint32_t id, const SchemaFields& parts) {
    copy_type(id, parts);
    if (field(id).type_name.empty()) field(id).type_name = "ROOT::RNTupleCardinality<std::uint64_t>";
  }

  void make_array(std::uint32_t id, const SchemaFields& parts) {
    copy_type(id, parts);
    add("_0", id, children_of(parts, 0));
    if (is_whole(id) && field(id).type_name.empty())
      field(id).type_name =
          fmt::format("std::array<{},{}>", field(field(id).children[0]).type_name, field(id).array_size);
  }

  void make_list(std::uint32_t id, const SchemaFields& parts) {
    const bool agrees = agree(parts, &FieldDescriptor::type_name) && all(parts, FieldForm::list);
    if (agrees) copy_type(id, parts);
    set_role(id, FieldRole::collection);
    add("_0", id, children_of(parts, 0));
    if (!is_whole(id) || agrees) return;
    const FieldDescriptor& item = field(field(id).children[0]);
    const std::string_view family = field::family_of(stored(parts.front()).type_name);
    const bool same_family = all(parts, FieldForm::list) && agree(parts, [](const FieldDescriptor& f) {
                               return std::string(field::family_of(f.type_name));
                             });
    std::string arguments = item.type_name;
    if (same_family && family.ends_with("map") && item.children.size() == 2)
      arguments = fmt::format("{},{}", field(item.children[0]).type_name, field(item.children[1]).type_name);
    if (!arguments.empty())
      field(id).type_name = fmt::format(
          "{}<{}>", same_family && !family.empty() ? family : std::string_view("std::vector"), arguments);
  }

  // `items`: what is in the optional values.
  void make_nullable(std::uint32_t id, const SchemaFields& parts, const SchemaFields& items) {
    const bool agrees = agree(parts, &FieldDescriptor::type_name) && all(parts, FieldForm::nullable);
    if (agrees) copy_type(id, parts);
    set_role(id, FieldRole::collection);
    add("_0", id, items);
    if (!is_whole(id) || agrees) return;
    const FieldDescriptor& item = field(field(id).children[0]);
    std::string name = item.type_name;
    if (name.empty()) name = item.role == FieldRole::collection ? "collection" : "record";
    field(id).type_name = fmt::format("std::optional<{}>", name);
  }

  void make_record(std::uint32_t id, const SchemaFields& parts) {
    set_role(id, FieldRole::record);
    // As in a data frame, classes of different names go by that of the first one.
    field(id).type_name = stored(parts.front()).type_name;
    std::vector<FieldIds> ids;
    for (const SchemaField& part : parts) ids.push_back(stored(part).children);
    add_named(id, parts, ids);
    if (field(id).children.empty() &&
        std::ranges::any_of(ids, [](const FieldIds& each) { return !each.empty(); }))
      drop(id);
  }

  void make_product(std::uint32_t id, const SchemaFields& parts) {
    copy_type(id, parts);
    if (!add_numbered(id, parts) || !field(id).type_name.empty()) return;
    const bool pairs =
        agree(parts, [](const FieldDescriptor& f) { return f.type_name.starts_with("std::pair<"); });
    field(id).type_name = fmt::format(
        "{}<{}>", pairs ? field::family_of(stored(parts.front()).type_name) : std::string_view("std::tuple"),
        types_of_children(id));
  }

  void make_variant(std::uint32_t id, const SchemaFields& parts) {
    copy_type(id, parts);
    if (!add_numbered(id, parts) || !field(id).type_name.empty()) return;
    field(id).type_name = fmt::format("std::variant<{}>", types_of_children(id));
  }

  void make_wrapper(std::uint32_t id, const SchemaFields& parts) {
    copy_type(id, parts);
    add("_0", id, children_of(parts, 0));
    if (is_whole(id) && field(id).type_name.empty())
      field(id).type_name = fmt::format("std::atomic<{}>", field(field(id).children[0]).type_name);
  }

  std::string types_of_children(std::uint32_t id) {
    std::string types;
    for (const std::uint32_t child : field(id).children)
      types += fmt::format("{}{}", types.empty() ? "" : ",", field(child).type_name);
    return types;
  }

  // False: a child is not left, and so the field is not.
  bool add_numbered(std::uint32_t id, const SchemaFields& parts) {
    const std::size_t count = stored(parts.front()).children.size();
    for (std::size_t k = 0; k < count; ++k) add(fmt::format("_{}", k), id, children_of(parts, k));
    if (field(id).children.size() != count) drop(id);
    return id < merged_.descriptor.fields.size();
  }

  // Has the field the child that its form needs? If not, nothing that all files have is left of it, and it
  // goes, too.
  bool is_whole(std::uint32_t id) {
    if (!field(id).children.empty()) return true;
    drop(id);
    return false;
  }

  // The field and what is below it, which are the last ones.
  void drop(std::uint32_t id) {
    auto& fields = merged_.descriptor.fields;
    const std::uint32_t parent = fields[id].parent;
    fields.resize(id);
    for (auto& mapping : merged_.mappings) mapping.stored.resize(id);
    if (parent != id) fields[parent].children.pop_back();
  }

  const ChainFiles::Schemas& schemas_;
  const MissingFields missing_;
  ChainSchema merged_;
};

}  // namespace

bool is_plain(const Descriptor& chain, std::uint32_t id, const ChainSchema::Mapping& mapping,
              const Descriptor& stored) {
  const FieldDescriptor& f = chain.fields[id];
  const std::uint32_t own = mapping.stored[id];
  if (form_of(f) != FieldForm::nullable || own == invalid_id) return false;
  return form_of(stored.fields[own]) != FieldForm::nullable || mapping.stored[f.children.front()] == own;
}

bool ChainSchema::is_everywhere(std::uint32_t id, std::size_t schema) const {
  if (mappings[schema].stored[id] == invalid_id) return false;
  const auto& children = descriptor.fields[id].children;
  return std::ranges::all_of(children, [&](std::uint32_t child) { return is_everywhere(child, schema); });
}

ChainSchema merge_schemas(const ChainFiles& files, MissingFields missing) {
  ChainSchema merged = Merger(files, missing).merge();
  merged.descriptor.name = files[0].data_set;
  for (std::size_t i = 0; i < files.size(); ++i)
    merged.descriptor.clusters.push_back(
        {.id = i, .first_entry = files[i].first, .entries = files[i].entries});
  merged.descriptor.header_fields = static_cast<std::uint32_t>(merged.descriptor.fields.size());
  return merged;
}

}  // namespace colonnade::dataset
