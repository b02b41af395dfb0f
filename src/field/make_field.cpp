// Fields of types known by name only, and fields that read a data set as it is stored.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "codec/column_codec.h"
#include "colonnade/field.h"
#include "field/erased.h"
#include "field/field_tools.h"
#include "field/type_name.h"

namespace colonnade {
namespace {

using field::TypeName;
using Fields = std::vector<std::unique_ptr<Field>>;

struct NamedScalar {
  std::string_view name;
  ElementType element;
};
constexpr std::array<NamedScalar, 13> scalars = {{{"bool", ElementType::boolean},
                                                  {"std::byte", ElementType::byte},
                                                  {"char", ElementType::character},
                                                  {"std::int8_t", ElementType::int8},
                                                  {"std::uint8_t", ElementType::uint8},
                                                  {"std::int16_t", ElementType::int16},
                                                  {"std::uint16_t", ElementType::uint16},
                                                  {"std::int32_t", ElementType::int32},
                                                  {"std::uint32_t", ElementType::uint32},
                                                  {"std::int64_t", ElementType::int64},
                                                  {"std::uint64_t", ElementType::uint64},
                                                  {"float", ElementType::float32},
                                                  {"double", ElementType::float64}}};

constexpr std::array<std::string_view, 8> one_item_families = {
    "std::vector",   "ROOT::VecOps::RVec",      "std::set",      "std::unordered_set",
    "std::multiset", "std::unordered_multiset", "std::optional", "std::unique_ptr"};
constexpr std::array<std::string_view, 4> map_families = {"std::map", "std::unordered_map", "std::multimap",
                                                          "std::unordered_multimap"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const NamedScalar* find_scalar(std::string_view name) {
  for (const NamedScalar& scalar : scalars)
    if (scalar.name == name) return &scalar;
  return nullptr;
}

std::unique_ptr<Field> make_product(std::string name, std::string_view family, Fields members,
                                    std::string class_name = {}, std::uint32_t version = 0) {
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!family.empty() && class_name.empty()) members[i]->set_name(fmt::format("_{}", i));
  const field::Layout layout = field::lay_out(members, family == "std::tuple");
  std::vector<detail::Member> placed;
  for (std::size_t i = 0; i < members.size(); ++i)
    placed.push_back({layout.offsets[i], std::move(members[i])});
  return detail::record_field(std::move(name), family, std::move(class_name), layout.ops, std::move(placed),
                              version, nullptr);
}

std::unique_ptr<Field> make_collection(std::string name, std::string_view family,
                                       std::unique_ptr<Field> item) {
  auto proxy = field::make_erased_proxy(family, *item);
  return detail::collection_field(std::move(name), family, std::move(proxy), std::move(item));
}

std::unique_ptr<Field> make_variant(std::string name, Fields alternatives) {
  // One byte holds the current alternative, and 255 stands for none.
  constexpr std::size_t most = 254;
  if (alternatives.empty() || alternatives.size() > most)
    throw Error(ErrorKind::unsupported,
                fmt::format("a std::variant of {} alternatives, not 1 to {}", alternatives.size(), most), "",
                {.field = std::move(name)});
  const detail::VariantOps ops = field::erased_variant_ops(alternatives);
  return detail::variant_field(std::move(name), ops, std::move(alternatives));
}

std::unique_ptr<Field> make_atomic(std::string name, std::unique_ptr<Field> inner) {
  const detail::WrapperOps ops = field::erased_wrapper_ops(*inner);
  return detail::atomic_field(std::move(name), ops, std::move(inner));
}

std::unique_ptr<Field> make_cardinality(std::string name, std::string_view size_type) {
  return detail::cardinality_field(std::move(name),
                                   size_type == "std::uint32_t" ? ElementType::uint32 : ElementType::uint64);
}

std::unique_ptr<Field> from_type(std::string name, const TypeName& type);

Fields from_arguments(const TypeName& type) {
  Fields fields;
  for (const auto& argument : type.args)
    fields.push_back(from_type(fmt::format("_{}", fields.size()), argument.type));
  return fields;
}

// The caller, who knows the whole path, adds the name of the field.
[[noreturn]] void refuse_name(const TypeName& type) {
  throw Error(ErrorKind::type,
              fmt::format("'{}' is not a type that can be made from its name", field::to_string(type)),
              "use make_field<T> for a class or enum of your own, or make_record_field for a record without "
              "C++ type");
}

std::unique_ptr<Field> from_type(std::string name, const TypeName& type) {
  if (type.alias == "Double32_t") return detail::double32_field(std::move(name));
  if (const NamedScalar* scalar = find_scalar(type.name))
    return detail::scalar_field(std::move(name), scalar->element, std::string(scalar->name));
  if (type.name == "std::string") return detail::string_field(std::move(name));
  // A template without arguments, "std::vector", is not a type; existing arguments are
  // valid.
  if (type.args.empty()) refuse_name(type);
  if (type.name == "std::array")
    return detail::array_field(std::move(name), type.args[1].magnitude, from_type("_0", type.args[0].type));
  if (type.name == "std::bitset")
    return detail::bitset_field(std::move(name), type.args[0].magnitude,
                                field::erased_bitset_ops(type.args[0].magnitude));
  if (contains(one_item_families, type.name))
    return make_collection(std::move(name), type.name, from_type("_0", type.args[0].type));
  if (contains(map_families, type.name))
    return make_collection(std::move(name), type.name, make_product("_0", "std::pair", from_arguments(type)));
  if (type.name == "std::pair" || type.name == "std::tuple")
    return make_product(std::move(name), type.name, from_arguments(type));
  if (type.name == "std::variant") return make_variant(std::move(name), from_arguments(type));
  if (type.name == "std::atomic") return make_atomic(std::move(name), from_type("_0", type.args[0].type));
  if (type.name == "ROOT::RNTupleCardinality")
    return make_cardinality(std::move(name), field::to_string(type.args[0].type));
  refuse_name(type);
}

// ---- Fields as stored

// `readable`: what this version cannot read is left out, and classes become records by their members.
// `whole`: the names of classes stay, and what would be lost is an error.
enum class Made : std::uint8_t { readable, whole };

std::unique_ptr<Field> from_disk(const Descriptor& descriptor, const FieldDescriptor& disk, Made made);

Fields readable_children(const Descriptor& descriptor, const FieldDescriptor& disk, Made made) {
  Fields fields;
  for (const std::uint32_t id : disk.children)
    if (descriptor.fields[id].unreadable.empty() || made == Made::whole)
      fields.push_back(from_disk(descriptor, descriptor.fields[id], made));
  return fields;
}

bool has_columns_of(const Descriptor& descriptor, const FieldDescriptor& disk,
                    std::span<const ElementType> elements) {
  if (disk.representations.empty()) return elements.empty();
  return std::all_of(disk.representations.begin(), disk.representations.end(), [&](const ColumnIds& group) {
    return std::equal(group.begin(), group.end(), elements.begin(), elements.end(),
                      [&](std::uint32_t column, ElementType element) {
                        return codec::can_decode(descriptor.columns[column].encoding.type, element);
                      });
  });
}

bool is_stored_in_64_bits(const Descriptor& descriptor, const FieldDescriptor& disk) {
  return std::ranges::any_of(disk.representations, [&](const ColumnIds& group) {
    return std::ranges::any_of(group, [&](std::uint32_t column) {
      const ColumnType type = descriptor.columns[column].encoding.type;
      return type == ColumnType::real64 || type == ColumnType::split_real64;
    });
  });
}

std::unique_ptr<Field> leaf_from_disk(const Descriptor& descriptor, const FieldDescriptor& disk, Made made) {
  const std::string_view family = field::family_of(disk.type_name);
  if (disk.array_size > 0 && disk.children.size() == 1)
    return detail::array_field(disk.name, disk.array_size,
                               from_disk(descriptor, descriptor.fields[disk.children[0]], made));
  if (family == "std::bitset")
    return detail::bitset_field(disk.name, disk.array_size, field::erased_bitset_ops(disk.array_size));
  if (disk.type_name == "std::string") return detail::string_field(disk.name);
  if (family == "ROOT::RNTupleCardinality")
    return make_cardinality(disk.name,
                            disk.type_name.find("uint32") != std::string::npos ? "std::uint32_t" : "");
  if (disk.representations.empty() && disk.children.size() == 1) {
    auto inner = from_disk(descriptor, descriptor.fields[disk.children[0]], made);
    if (family == "std::atomic") return make_atomic(disk.name, std::move(inner));
    // ROOT stores an enumeration over std::int8_t as `char`.
    if (inner->type_name() == "char") inner = detail::scalar_field("_0", ElementType::int8, "char");
    const detail::WrapperOps ops = field::erased_wrapper_ops(*inner);
    return detail::enum_field(disk.name, disk.type_name, ops, std::move(inner));
  }
  // Written again, it would have 32 bits.
  const bool is_wide = made == Made::whole && is_stored_in_64_bits(descriptor, disk);
  if (disk.type_alias == "Double32_t" && !is_wide) return detail::double32_field(disk.name);
  if (const NamedScalar* scalar = find_scalar(disk.type_name))
    return detail::scalar_field(disk.name, scalar->element, disk.type_name);
  throw Error(ErrorKind::unsupported,
              fmt::format("the stored type '{}' is unknown to this version", disk.type_name),
              "use a newer version of Colonnade", {.field = descriptor.path_of(disk.id)});
}

std::unique_ptr<Field> from_disk(const Descriptor& descriptor, const FieldDescriptor& disk, Made made) {
  if (!disk.unreadable.empty())
    throw Error(ErrorKind::unsupported,
                fmt::format("the stored type '{}' cannot be read: {}", disk.type_name, disk.unreadable), "",
                {.field = descriptor.path_of(disk.id)});
  const std::string_view family = field::family_of(disk.type_name);
  switch (disk.role) {
    case FieldRole::record: {
      const bool product = family == "std::pair" || family == "std::tuple";
      Fields members = readable_children(descriptor, disk, made);
      if (made == Made::whole && !product && !disk.type_name.empty())
        return make_product(disk.name, "class", std::move(members), disk.type_name, disk.type_version);
      return make_product(disk.name, product ? family : "", std::move(members));
    }
    case FieldRole::collection: {
      auto item = from_disk(descriptor, descriptor.fields[disk.children.at(0)], made);
      const bool holds_pairs = field::family_of(item->type_name()) == "std::pair";
      const bool known =
          contains(one_item_families, family) || (holds_pairs && contains(map_families, family));
      if (made == Made::whole && !known && !disk.type_name.empty())
        throw Error(ErrorKind::unsupported,
                    fmt::format("'{}' is no collection that can be made from its name", disk.type_name), "",
                    {.field = descriptor.path_of(disk.id)});
      return make_collection(disk.name, known ? family : "", std::move(item));
    }
    case FieldRole::variant:
      return make_variant(disk.name, readable_children(descriptor, disk, made));
    default:
      return leaf_from_disk(descriptor, disk, made);
  }
}

// The last number in "std::array<float,3>" and "std::bitset<3>".
std::uint64_t size_in(std::string_view type_name) {
  const std::string_view number = type_name.substr(type_name.find_last_of(",< ") + 1);
  std::uint64_t size = 0;
  std::from_chars(number.data(), number.data() + number.size(), size);
  return size;
}

}  // namespace

void field::check_leaf(const Descriptor& descriptor, const FieldDescriptor& disk, const Field& made) {
  std::vector<ElementType> elements;
  for (std::size_t k = 0; k < made.column_count(); ++k) elements.push_back(made.element(k));
  const std::string_view family = field::family_of(disk.type_name);
  const bool is_sized = family == "std::array" || family == "std::bitset";
  const std::uint64_t size = is_sized ? size_in(disk.type_name) : 0;
  if (disk.array_size == size && made.array_size() == size && has_columns_of(descriptor, disk, elements))
    return;
  throw Error(
      ErrorKind::unsupported,
      fmt::format("the columns or the array size of the field do not fit its type '{}'", disk.type_name), "",
      {.field = descriptor.path_of(disk.id)});
}

bool field::is_plainly_known(const Descriptor& descriptor, const FieldDescriptor& disk) {
  if (disk.role != FieldRole::leaf || disk.array_size > 0) return false;
  constexpr std::array text = {ElementType::index, ElementType::character};
  if (disk.type_name == "std::string") return has_columns_of(descriptor, disk, text);
  const NamedScalar* const scalar = find_scalar(disk.type_name);
  return scalar != nullptr && has_columns_of(descriptor, disk, {&scalar->element, 1});
}

std::unique_ptr<Field> make_field(std::string_view name, std::string_view type_name) {
  try {
    return from_type(std::string(name), field::normalize(type_name).type);
  } catch (const Error& error) {
    // What the parser calls a broken schema is, for this caller, a type that cannot be stored.
    const ErrorKind kind = error.kind() == ErrorKind::schema ? ErrorKind::type : error.kind();
    ErrorContext where = error.context();
    where.field = name;
    throw Error(kind, error.problem(), error.advice(), std::move(where));
  }
}

std::unique_ptr<Field> make_field(const Descriptor& descriptor, std::uint32_t disk_field) {
  return from_disk(descriptor, descriptor.fields[disk_field], Made::readable);
}

std::unique_ptr<Field> field::make_whole_field(const Descriptor& descriptor, std::uint32_t disk_field) {
  return from_disk(descriptor, descriptor.fields[disk_field], Made::whole);
}

std::unique_ptr<Field> make_record_field(std::string_view name, std::vector<std::unique_ptr<Field>> members) {
  return make_product(std::string(name), "", std::move(members));
}

std::unique_ptr<Field> make_class_field(std::string_view name, std::string_view class_name,
                                        std::vector<std::unique_ptr<Field>> members) {
  return make_product(std::string(name), "class", std::move(members), std::string(class_name));
}

std::unique_ptr<Field> make_collection_field(std::string_view name, std::unique_ptr<Field> item) {
  return make_collection(std::string(name), "", std::move(item));
}

std::unique_ptr<Field> make_collection_field(std::string_view name, std::string_view family,
                                             std::unique_ptr<Field> item) {
  return make_collection(std::string(name), family, std::move(item));
}

}  // namespace colonnade
