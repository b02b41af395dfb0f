// FieldOf<T> of types that are not containers: arithmetic types, enumerations, classes with their read rules,
// strings, bits. Part of colonnade/field_types.h.
#ifndef COLONNADE_DETAIL_PLAIN_TYPES_H
#define COLONNADE_DETAIL_PLAIN_TYPES_H

#include <bitset>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colonnade/describe.h"
#include "colonnade/detail/field_of.h"
#include "colonnade/detail/unstorable.h"
#include "colonnade/types.h"

namespace colonnade::detail {

// ---- One column: arithmetic types

struct Scalar {
  ElementType element;
  std::string_view name;  // empty: not a scalar that can be stored
};

// Integers are identified by size and sign, so that long and long long are the same type, as in a file.
template <class T>
constexpr Scalar integer_of() {
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return is_signed ? Scalar{ElementType::int8, "std::int8_t"}
                       : Scalar{ElementType::uint8, "std::uint8_t"};
    case 2:
      return is_signed ? Scalar{ElementType::int16, "std::int16_t"}
                       : Scalar{ElementType::uint16, "std::uint16_t"};
    case 4:
      return is_signed ? Scalar{ElementType::int32, "std::int32_t"}
                       : Scalar{ElementType::uint32, "std::uint32_t"};
    case 8:
      return is_signed ? Scalar{ElementType::int64, "std::int64_t"}
                       : Scalar{ElementType::uint64, "std::uint64_t"};
    default:
      return {};
  }
}

template <class T>
constexpr Scalar scalar_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return {ElementType::boolean, "bool"};
  } else if constexpr (std::is_same_v<T, char>) {
    return {ElementType::character, "char"};
  } else if constexpr (std::is_same_v<T, std::byte>) {
    return {ElementType::byte, "std::byte"};
  } else if constexpr (std::is_same_v<T, float>) {
    return {ElementType::float32, "float"};
  } else if constexpr (std::is_same_v<T, double>) {
    return {ElementType::float64, "double"};
  } else if constexpr (std::is_integral_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T> &&
                       !is_wide_character<T>) {
    return integer_of<T>();
  } else {
    return {};
  }
}

// ---- Enumerations

template <class E>
std::unique_ptr<Field> make_enum(std::string_view name) {
  using Inner = std::underlying_type_t<E>;
  // As bytes: a file may hold a number outside the enumeration's range, which must not even be loaded as an
  // E.
  constexpr WrapperOps ops{value_ops<E>(),
                           [](const void* outer, void* inner) { std::memcpy(inner, outer, sizeof(Inner)); },
                           [](void* outer, const void* inner) { std::memcpy(outer, inner, sizeof(Inner)); }};
  return enum_field(std::string(name), reflect::type_name<E>(), ops, FieldOf<Inner>::make("_0"));
}

// ---- Classes

// Bases need not be constructible on their own: abstract bases, and bases with a protected constructor, are
// not.
template <class T>
constexpr ValueOps class_ops() {
  if constexpr (is_storable_class<T>()) {
    return value_ops<T>();
  } else {
    return {sizeof(T), alignof(T), nullptr, nullptr};
  }
}

template <class T>
std::vector<Member> make_members();

template <class T>
concept HasReadRule = requires { typename ReadRule<T>::Source; };

template <class T>
ReadRuleHook make_read_rule() {
  using Rule = ReadRule<T>;
  using Source = typename Rule::Source;
  ReadRuleHook hook;
  // Without a class name: only the members must match, since the stored class has another name.
  hook.source = record_field("", "", "", value_ops<Source>(), make_members<Source>(), 0, nullptr);
  hook.apply = [](const void* source, void* target) {
    Rule::apply(*static_cast<const Source*>(source), *static_cast<T*>(target));
  };
  if constexpr (requires { Rule::source_class; }) hook.source_class = Rule::source_class;
  if constexpr (requires { Rule::min_version; }) hook.min_version = Rule::min_version;
  if constexpr (requires { Rule::max_version; }) hook.max_version = Rule::max_version;
  return hook;
}

template <class T>
std::shared_ptr<const std::function<ReadRuleHook()>> read_rule() {
  if constexpr (!HasReadRule<T>) {
    return nullptr;
  } else if constexpr (!requires(const typename ReadRule<T>::Source& source, T& target) {
                         ReadRule<T>::apply(source, target);
                       }) {
    static_assert(always_false<T>,
                  "colonnade: ReadRule<T> needs static void apply(const Source&, T&), see colonnade/types.h");
    return nullptr;
  } else if constexpr (!is_storable_class<typename ReadRule<T>::Source>()) {
    explain_class<typename ReadRule<T>::Source>();
    return nullptr;
  } else {
    static const auto rule = std::make_shared<const std::function<ReadRuleHook()>>(&make_read_rule<T>);
    return rule;
  }
}

template <class T>
std::unique_ptr<Field> make_class(std::string_view name) {
  return record_field(std::string(name), "class", ClassInfo<T>::name(), class_ops<T>(), make_members<T>(),
                      ClassInfo<T>::version, read_rule<T>());
}

template <class B>
std::unique_ptr<Field> make_base(std::size_t number) {
  if constexpr (is_storable_base<B>()) {
    return make_class<B>(":_" + std::to_string(number));
  } else {
    explain_class<B>();
    return nullptr;
  }
}

// Not a template, so that each class adds little code.
inline void add_member(std::vector<Member>& members, std::size_t offset, std::string_view name,
                       std::unique_ptr<Field> (*make)(std::string_view)) {
  members.push_back({offset, make(name)});
}
inline void add_base(std::vector<Member>& members, std::size_t offset,
                     std::unique_ptr<Field> (*make)(std::size_t)) {
  members.push_back({offset, make(members.size())});
}

template <class T>
std::vector<Member> make_members() {
  std::vector<Member> members;
  ClassInfo<T>::for_each_base(
      [&]<class B>(std::size_t offset, std::type_identity<B>) { add_base(members, offset, &make_base<B>); });
  ClassInfo<T>::for_each_member(
      [&]<class M>(std::string_view name, std::size_t offset, std::type_identity<M>) {
        add_member(members, offset, name, &make_part<M>);
      });
  return members;
}

// ---- The field of a type: scalars, enumerations, classes

template <class T>
constexpr bool is_storable_plain() {
  if constexpr (std::is_const_v<T> || std::is_volatile_v<T>) {
    return false;
  } else if constexpr (!scalar_of<T>().name.empty()) {
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    return !scalar_of<std::underlying_type_t<T>>().name.empty();
  } else {
    return is_storable_class<T>();
  }
}

template <class T>
struct FieldOf {
  using Children = Types<>;
  static constexpr bool storable = is_storable_plain<T>();
  static std::unique_ptr<Field> make(std::string_view name) {
    constexpr Scalar scalar = scalar_of<T>();
    if constexpr (!scalar.name.empty()) {
      return scalar_field(std::string(name), scalar.element, std::string(scalar.name));
    } else if constexpr (std::is_enum_v<T>) {
      return make_enum<T>(name);
    } else {
      return make_class<T>(name);
    }
  }
  static void explain() { explain_unstorable<T>(); }
};

template <>
struct FieldOf<std::string> {
  using Children = Types<>;
  static constexpr bool storable = true;
  static std::unique_ptr<Field> make(std::string_view name) { return string_field(std::string(name)); }
};

// Read and written as the double that it begins with.
static_assert(sizeof(Double32) == sizeof(double) && std::is_standard_layout_v<Double32>);
template <>
struct FieldOf<Double32> {
  using Children = Types<>;
  static constexpr bool storable = true;
  static std::unique_ptr<Field> make(std::string_view name) { return double32_field(std::string(name)); }
};

template <class Size>
struct FieldOf<Cardinality<Size>> {
  static_assert(sizeof(Cardinality<Size>) == sizeof(Size) && std::is_standard_layout_v<Cardinality<Size>>);
  using Children = Types<>;
  static constexpr bool storable = true;
  static std::unique_ptr<Field> make(std::string_view name) {
    return cardinality_field(std::string(name), scalar_of<Size>().element);
  }
};

template <std::size_t N>
struct FieldOf<std::bitset<N>> {
  using Children = Types<>;
  static constexpr bool storable = N > 0;
  static std::unique_ptr<Field> make(std::string_view name) {
    using B = std::bitset<N>;
    constexpr BitsetOps ops{value_ops<B>(),
                            [](const void* bits, std::size_t i) { return (*static_cast<const B*>(bits))[i]; },
                            [](void* bits, std::size_t i, bool bit) { (*static_cast<B*>(bits))[i] = bit; }};
    return bitset_field(std::string(name), N, ops);
  }
  static void explain() {
    static_assert(N > 0 || always_false<std::bitset<N>>,
                  "colonnade: a std::bitset without bits cannot be stored");
  }
};

}  // namespace colonnade::detail

#endif
