// See element_types.h.
#include "dataset/element_types.h"

#include <utility>

namespace colonnade::dataset {
namespace {

constexpr std::pair<std::string_view, ElementType> by_name[] = {
    {"bool", ElementType::boolean},         {"std::int8_t", ElementType::int8},
    {"std::uint8_t", ElementType::uint8},   {"std::int16_t", ElementType::int16},
    {"std::uint16_t", ElementType::uint16}, {"std::int32_t", ElementType::int32},
    {"std::uint32_t", ElementType::uint32}, {"std::int64_t", ElementType::int64},
    {"std::uint64_t", ElementType::uint64}, {"float", ElementType::float32},
    {"double", ElementType::float64},       {"char", ElementType::character},
    {"std::byte", ElementType::byte}};

bool is_floating(ElementType e) {
  return e == ElementType::float32 || e == ElementType::float64;
}

bool is_integer(ElementType e) {  // including bool and char
  return !is_floating(e) && e != ElementType::byte && e != ElementType::index && e != ElementType::switch_;
}

bool is_signed(ElementType e) {
  return e == ElementType::character || e == ElementType::int8 || e == ElementType::int16 ||
         e == ElementType::int32 || e == ElementType::int64;
}

ElementType common_integer(ElementType a, ElementType b) {
  if (a == ElementType::boolean) return b;
  if (b == ElementType::boolean) return a;
  if (is_signed(a) == is_signed(b)) {
    if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
    return a == ElementType::character ? b : a;
  }
  const ElementType with_sign = is_signed(a) ? a : b;
  const ElementType without = is_signed(a) ? b : a;
  if (size_of(with_sign) > size_of(without)) return with_sign;
  switch (size_of(without)) {
    case 1:
      return ElementType::int16;
    case 2:
      return ElementType::int32;
    default:
      return ElementType::int64;
  }
}

}  // namespace

std::optional<ElementType> element_of_type(std::string_view type_name) {
  for (const auto& [name, element] : by_name)
    if (type_name == name) return element;
  return std::nullopt;
}

std::optional<ElementType> element_of_field(const Descriptor& descriptor, const FieldDescriptor& field) {
  const std::optional<ElementType> element = element_of_type(field.type_name);
  if (element != ElementType::character || field.parent == field.id) return element;
  const FieldDescriptor& parent = descriptor.fields[field.parent];
  const bool is_enumeration = parent.role == FieldRole::leaf && parent.representations.empty() &&
                              parent.array_size == 0 && !parent.type_name.starts_with("std::atomic<");
  return is_enumeration ? ElementType::int8 : element;
}

std::string_view type_of_element(ElementType wanted) {
  for (const auto& [name, element] : by_name)
    if (element == wanted) return name;
  return {};
}

std::optional<ElementType> common_element(ElementType a, ElementType b) {
  if (a == b) return a;
  if (is_floating(a) && is_floating(b)) return ElementType::float64;
  if (is_integer(a) && is_integer(b)) return common_integer(a, b);
  return std::nullopt;
}

}  // namespace colonnade::dataset
