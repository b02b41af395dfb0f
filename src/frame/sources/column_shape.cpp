// See column_shape.h.
#include "frame/sources/column_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/utf8.h"
#include "codec/column_codec.h"
#include "colonnade/error.h"
#include "dataset/element_types.h"
#include "dataset/schema_walk.h"
#include "field/field_tools.h"

namespace colonnade::frame {
namespace {

using Kind = ColumnShape::Kind;

// Pairs and tuples.
constexpr std::array<std::string_view, 2> products = {"std::pair<", "std::tuple<"};

bool is_product(std::string_view name) {
  return std::ranges::any_of(products, [&](std::string_view product) { return name.starts_with(product); });
}

// The names of pairs, tuples and records without a class have the types of their members here: arrays of
// fixed size are lists, and files of a chain may differ.
ValueType record_of(std::string name, std::vector<ValueType::Member> members) {
  if (name.empty() || name.starts_with('{')) name = ValueType::record("", members).name();
  for (const std::string_view product : products) {
    if (!name.starts_with(product)) continue;
    std::string types;
    for (const auto& [member, type] : members)
      types += fmt::format("{}{}", types.empty() ? "" : ",", type.name());
    name = fmt::format("{}{}>", product, types);
  }
  return ValueType::record(std::move(name), std::move(members));
}

class Walk {
 public:
  Walk(const Descriptor& descriptor, bool count) : descriptor_(descriptor), count_(count) {}

  // The shape of `rest` below a field, or of the field itself.
  std::optional<ColumnShape> find(std::uint32_t id, std::string_view rest) const {
    const FieldDescriptor& f = descriptor_.fields[id];
    if (rest.empty()) return count_ ? count_of(f) : std::optional(whole(f));
    switch (structure(f)) {
      case Kind::list:
        if (f.children.size() != 1) return std::nullopt;
        return wrap(list_of(f), find_in_item(f, rest));
      case Kind::array:
        if (f.children.size() != 1) return std::nullopt;
        return wrap(array_of(f), find_in_item(f, rest));
      case Kind::record:
        return find_member(f, rest);
      default:
        return std::nullopt;
    }
  }

  // The child with the longest name that starts the path, and the rest of the path.
  template <class Ids>
  std::optional<ColumnShape> find_among(const Ids& ids, std::string_view path) const {
    std::uint32_t best = invalid_id;
    std::size_t longest = 0;
    for (const std::uint32_t id : ids) {
      const std::string& name = descriptor_.fields[id].name;
      const bool fits = path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
      if (!fits || (best != invalid_id && name.size() <= longest)) continue;
      best = id;
      longest = name.size();
    }
    if (best == invalid_id) return std::nullopt;
    const bool ends = path.size() == longest;
    if (!ends && path.size() == longest + 1) return std::nullopt;  // "jets."
    return find(best, ends ? std::string_view() : path.substr(longest + 1));
  }

  ColumnShape whole(const FieldDescriptor& f) const {
    check_readable(f);
    switch (structure(f)) {
      case Kind::text: {
        ColumnShape shape = make(f, Kind::text, ValueType::string());
        shape.stored = {dataset::columns_of(f, 0), ElementType::index, 1};
        shape.characters = {dataset::columns_of(f, 1), ElementType::character, 1};
        shape.items = shape.characters;
        return shape;
      }
      case Kind::list:
        return *wrap(list_of(f), whole(descriptor_.fields[f.children.front()]));
      case Kind::array:
        return *wrap(array_of(f), f.children.empty() ? scalar(f) : whole(descriptor_.fields[f.children[0]]));
      case Kind::record:
        return record(f);
      case Kind::variant:
        return variant(f);
      case Kind::count: {
        // Signed, so that "n - 3 < 0" behaves as expected (decision 49).
        const bool is_wide = f.type_name.find("uint64") != std::string::npos;
        ColumnShape shape = make(f, Kind::count, is_wide ? ElementType::int64 : ElementType::int32);
        shape.stored = {dataset::columns_of(f, 0), ElementType::index, 1};
        return shape;
      }
      default:
        break;
    }
    // The only child of enums and atomics holds their value.
    if (f.representations.empty() && f.children.size() == 1)
      return whole(descriptor_.fields[f.children.front()]);
    return scalar(f);
  }

  // A path for every field with a supported type, including nested ones.
  void collect(const FieldDescriptor& f, const std::string& path, std::vector<std::string>& paths) const {
    if (whole_if_supported(f)) paths.push_back(path);
    collect_members(f, path, paths);
  }

  // The outermost fields without a supported type.
  void collect_left_out(const FieldDescriptor& f, const std::string& path,
                        std::vector<LeftOut>& left_out) const {
    try {
      whole(f);
    } catch (const Error& error) {
      left_out.push_back({path, error.problem()});
      return;
    }
    const Kind kind = structure(f);
    if ((kind == Kind::list || kind == Kind::array) && !f.children.empty())
      return collect_left_out(descriptor_.fields[f.children.front()], path, left_out);
    if (kind != Kind::record) return;
    for (const dataset::NamedMember& member : dataset::members_of(descriptor_, f.id))
      collect_left_out(descriptor_.fields[member.field], path + "." + shown_name(member.name), left_out);
  }

 private:
  Kind structure(const FieldDescriptor& f) const {
    if (field::is_text(f)) return Kind::text;
    if (f.type_name.starts_with("ROOT::RNTupleCardinality")) return Kind::count;
    if (f.role == FieldRole::collection && f.children.size() == 1) return Kind::list;
    if (f.role == FieldRole::record) return Kind::record;
    if (f.role == FieldRole::variant) return Kind::variant;
    if (f.array_size > 0 && f.role == FieldRole::leaf) return Kind::array;
    return Kind::scalar;
  }

  static ColumnShape make(const FieldDescriptor& f, Kind kind, ValueType type) {
    ColumnShape shape;
    shape.kind = kind;
    shape.field = f.id;
    shape.type = std::move(type);
    return shape;
  }

  [[noreturn]] void refuse(const FieldDescriptor& f, const std::string& why) const {
    const std::string what = !f.type_name.empty()          ? fmt::format("a column of type '{}'", f.type_name)
                             : f.role == FieldRole::record ? "an untyped record"
                                                           : "an untyped collection";
    throw Error(ErrorKind::unsupported, fmt::format("{} {}", what, why), "",
                {.field = descriptor_.path_of(f.id)});
  }
  void check_readable(const FieldDescriptor& f) const {
    if (!f.unreadable.empty()) refuse(f, "cannot be read: " + f.unreadable);
    if (f.role == FieldRole::streamer) refuse(f, "can only be read by ROOT, which streamed it");
  }
  std::optional<ColumnShape> whole_if_supported(const FieldDescriptor& f) const {
    try {
      return whole(f);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  ColumnShape scalar(const FieldDescriptor& f) const {
    if (f.representations.empty() || f.representations.front().empty()) refuse(f, "has no stored column");
    const ColumnType stored = descriptor_.columns[f.representations.front().front()].encoding.type;
    const ElementType element = dataset::element_of_field(descriptor_, f).value_or(natural_element(stored));
    if (element == ElementType::index || element == ElementType::switch_) refuse(f, "is not a number");
    ColumnShape shape = make(f, Kind::scalar, element);
    shape.stored = {dataset::columns_of(f, 0), element, 1};
    return shape;
  }

  ColumnShape list_of(const FieldDescriptor& f) const {
    check_readable(f);
    const bool nullable =
        f.type_name.starts_with("std::optional<") || f.type_name.starts_with("std::unique_ptr<");
    // wrap() sets its item.
    ColumnShape shape = make(f, Kind::list, nullable ? ValueType::optional({}) : ValueType::list({}));
    shape.stored = {dataset::columns_of(f, 0), ElementType::index, 1};
    if (const auto counter = dataset::counting_column(descriptor_, f.children.front()))
      shape.items = {counter->columns, counter->element, counter->per_value};
    return shape;
  }

  ColumnShape array_of(const FieldDescriptor& f) const {
    check_readable(f);
    ColumnShape shape = make(f, Kind::array, ElementType::uint64);
    shape.length = f.array_size;
    return shape;
  }

  static std::optional<ColumnShape> wrap(ColumnShape outer, std::optional<ColumnShape> inner) {
    if (!inner) return std::nullopt;
    outer.type = outer.type.is_optional() ? ValueType::optional(inner->type) : ValueType::list(inner->type);
    outer.children.push_back(std::move(*inner));
    return outer;
  }

  ColumnShape record(const FieldDescriptor& f) const {
    ColumnShape shape = make(f, Kind::record, ElementType::uint64);
    std::vector<ValueType::Member> members;
    add_members(f, shape, members);
    if (members.empty())
      refuse(f, f.children.empty() ? "without members has no values that could be a column"
                                   : "has no member with a type in expressions");
    // Elements have numbers: without one, others would take its place.
    const bool is_whole = members.size() == f.children.size() || !is_product(f.type_name);
    shape.type = record_of(is_whole ? f.type_name : "", std::move(members));
    return shape;
  }

  ColumnShape variant(const FieldDescriptor& f) const {
    ColumnShape shape = make(f, Kind::variant, ElementType::uint64);
    shape.stored = {dataset::columns_of(f, 0), ElementType::switch_, 1};
    std::vector<ValueType> alternatives;
    for (const std::uint32_t child : f.children) {
      shape.children.push_back(whole(descriptor_.fields[child]));
      alternatives.push_back(shape.children.back().type);
    }
    shape.type = ValueType::variant(alternatives);
    return shape;
  }

  // Skips members without a supported type; includes those of base classes.
  void add_members(const FieldDescriptor& f, ColumnShape& shape,
                   std::vector<ValueType::Member>& members) const {
    for (const dataset::NamedMember& named : dataset::members_of(descriptor_, f.id)) {
      auto member = whole_if_supported(descriptor_.fields[named.field]);
      if (!member) continue;
      members.emplace_back(shown_name(named.name), member->type);
      shape.children.push_back(std::move(*member));
    }
  }

  std::optional<ColumnShape> find_member(const FieldDescriptor& f, std::string_view path) const {
    check_readable(f);
    if (auto found = find_among(f.children, path)) return found;
    const auto members = dataset::members_of(descriptor_, f.id);
    const auto* const member = with_context({.field = descriptor_.path_of(f.id)},
                                            [&] { return dataset::find_member(members, path); });
    if (member == nullptr) return std::nullopt;
    const bool ends = path.size() == member->name.size();
    if (!ends && path.size() == member->name.size() + 1) return std::nullopt;
    return find(member->field, ends ? std::string_view() : path.substr(member->name.size() + 1));
  }

  // "jets.pt" and, as stored, "jets._0.pt" are the same.
  std::optional<ColumnShape> find_in_item(const FieldDescriptor& f, std::string_view path) const {
    const std::uint32_t item = f.children.front();
    if (auto found = find(item, path)) return found;
    if (path == "_0") return find(item, {});
    if (path.starts_with("_0.")) return find(item, path.substr(3));
    return std::nullopt;
  }

  std::optional<ColumnShape> count_of(const FieldDescriptor& f) const {
    switch (structure(f)) {
      case Kind::list: {
        ColumnShape shape = list_of(f);
        shape.kind = Kind::count;
        shape.type = ElementType::uint64;
        return shape;
      }
      case Kind::array: {
        ColumnShape shape = array_of(f);
        shape.kind = Kind::array_count;
        return shape;
      }
      default:
        return std::nullopt;
    }
  }

  void collect_members(const FieldDescriptor& f, const std::string& path,
                       std::vector<std::string>& paths) const {
    if (!f.unreadable.empty()) return;
    const Kind kind = structure(f);
    if ((kind == Kind::list || kind == Kind::array) && !f.children.empty())
      return collect_members(descriptor_.fields[f.children.front()], path, paths);
    if (kind != Kind::record) return;
    for (const dataset::NamedMember& member : dataset::members_of(descriptor_, f.id))
      collect(descriptor_.fields[member.field], path + "." + shown_name(member.name), paths);
  }

  const Descriptor& descriptor_;
  bool count_;
};

}  // namespace

ColumnFinder::ColumnFinder(const Descriptor& descriptor) : descriptor_(&descriptor) {
  for (const std::uint32_t id : descriptor.top_level_fields())
    top_level_.try_emplace(descriptor.fields[id].name, id);
}

// The field with the longest name that starts the path, and the rest of the path.
std::optional<ColumnShape> ColumnFinder::find_stored(std::string_view path, bool count) const {
  for (std::size_t end = path.size(); end != std::string_view::npos;
       end = end == 0 ? std::string_view::npos : path.rfind('.', end - 1)) {
    const auto found = top_level_.find(path.substr(0, end));
    if (found == top_level_.end()) continue;
    if (end + 1 == path.size()) return std::nullopt;  // "jets."
    const std::string_view rest = end == path.size() ? std::string_view() : path.substr(end + 1);
    return Walk(*descriptor_, count).find(found->second, rest);
  }
  return std::nullopt;
}

std::optional<ColumnShape> ColumnFinder::find_as_stored(std::string_view path) const {
  if (auto found = find_stored(path, false)) return found;
  constexpr std::string_view size_of_list = "R_rdf_sizeof_";
  if (path.starts_with("#")) return find_stored(path.substr(1), true);
  if (path.starts_with(size_of_list)) return find_stored(path.substr(size_of_list.size()), true);
  return std::nullopt;
}

std::optional<ColumnShape> ColumnFinder::find(std::string_view path) const {
  if (auto found = find_as_stored(path)) return found;
  const std::string stored = stored_name(path);
  return stored == path ? std::nullopt : find_as_stored(stored);
}

std::vector<std::string> column_paths(const Descriptor& descriptor) {
  std::vector<std::string> paths;
  const Walk walk(descriptor, false);
  for (const std::uint32_t id : descriptor.top_level_fields())
    walk.collect(descriptor.fields[id], shown_name(descriptor.fields[id].name), paths);
  return paths;
}

std::vector<LeftOut> left_out_paths(const Descriptor& descriptor) {
  std::vector<LeftOut> left_out;
  const Walk walk(descriptor, false);
  for (const std::uint32_t id : descriptor.top_level_fields())
    walk.collect_left_out(descriptor.fields[id], shown_name(descriptor.fields[id].name), left_out);
  return left_out;
}

namespace {

// The type of a value that is always there in one file, and an optional in another.
std::optional<ValueType> optional_of(const ValueType& optional, const ValueType& value) {
  auto item = common_type(optional.item(), value);
  return item ? std::optional(ValueType::optional(std::move(*item))) : std::nullopt;
}

}  // namespace

std::optional<ValueType> common_type(const ValueType& a, const ValueType& b) {
  if (a.is_optional() != b.is_optional())
    if (auto both = a.is_optional() ? optional_of(a, b) : optional_of(b, a)) return both;
  if (a.kind() != b.kind()) return std::nullopt;
  if (a.is_list()) {
    auto item = common_type(a.item(), b.item());
    if (!item) return std::nullopt;
    const bool optional = a.is_optional() && b.is_optional();
    return optional ? ValueType::optional(std::move(*item)) : ValueType::list(std::move(*item));
  }
  if (a == b && !a.is_record()) return a;
  if (a.is_scalar()) {
    if (const auto both = dataset::common_element(a.element(), b.element())) return ValueType(*both);
    return std::nullopt;
  }
  if (!a.is_record() || a.members().size() != b.members().size() || a.is_variant() != b.is_variant())
    return std::nullopt;
  std::vector<ValueType::Member> members;
  for (const auto& [name, type] : a.members()) {
    const std::size_t other = b.find_member(name);
    if (other == b.members().size()) return std::nullopt;
    auto both = common_type(type, b.members()[other].second);
    if (!both) return std::nullopt;
    members.emplace_back(name, std::move(*both));
  }
  if (!a.is_variant()) return record_of(a.class_name(), std::move(members));
  std::vector<ValueType> alternatives;
  for (const auto& [name, type] : members) alternatives.push_back(type.item());
  return ValueType::variant(alternatives);
}

namespace {

// The values of a column as optionals, each an array of one item.
ColumnShape always_present(ColumnShape value) {
  ColumnShape shape;
  shape.kind = Kind::array;
  shape.type = ValueType::optional(value.type);
  shape.field = value.field;
  shape.length = 1;
  shape.children.push_back(std::move(value));
  return shape;
}

}  // namespace

std::unique_ptr<Field> stored_field(const Descriptor& descriptor, const ColumnShape& shape) {
  std::uint32_t id = shape.field;
  // The shape of an enumeration or atomic is that of its value.
  for (std::uint32_t parent = descriptor.fields[id].parent; parent != id;
       parent = descriptor.fields[id].parent) {
    const FieldDescriptor& outer = descriptor.fields[parent];
    if (outer.role != FieldRole::leaf || outer.array_size > 0) break;
    id = parent;
  }
  try {
    return field::make_whole_field(descriptor, id);
  } catch (const Error&) {
    return nullptr;
  }
}

bool read_as(ColumnShape& shape, const Descriptor& descriptor, const ValueType& type) {
  if (type.is_optional() && !(shape.type.is_optional() && common_type(shape.type.item(), type.item()))) {
    if (!read_as(shape, descriptor, type.item())) return false;
    shape = always_present(std::move(shape));
    return true;
  }
  const ValueType own = std::exchange(shape.type, type);
  if (own.kind() != type.kind()) return false;
  switch (shape.kind) {
    case Kind::scalar:
      shape.stored.element = type.element();
      return std::all_of(shape.stored.columns.begin(), shape.stored.columns.end(), [&](std::uint32_t column) {
        return codec::can_decode(descriptor.columns[column].encoding.type, type.element());
      });
    case Kind::list:
    case Kind::array:
      return read_as(shape.children.front(), descriptor, type.item());
    case Kind::record: {
      // Orders the members as in the common type.
      std::vector<ColumnShape> ordered;
      for (const auto& [name, member_type] : type.members()) {
        const std::size_t member = own.find_member(name);
        if (member == own.members().size()) return false;
        ordered.push_back(std::move(shape.children[member]));
        if (!read_as(ordered.back(), descriptor, member_type)) return false;
      }
      shape.children = std::move(ordered);
      return true;
    }
    case Kind::variant:
      for (std::size_t k = 0; k < shape.children.size(); ++k)
        if (!read_as(shape.children[k], descriptor, type.members()[k].second.item())) return false;
      return true;
    case Kind::count:
      return type.is_integer() && size_of(type.element()) >= 4;
    default:
      return true;
  }
}

}  // namespace colonnade::frame
