// Tells which classes can be stored. For all other types, gives the reason and a remedy: the only error of a
// make_field<T> that does not compile. Part of colonnade/field_types.h.
#ifndef COLONNADE_DETAIL_UNSTORABLE_H
#define COLONNADE_DETAIL_UNSTORABLE_H

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <variant>

#include "colonnade/describe.h"
#include "colonnade/detail/field_of.h"

namespace colonnade::detail {

template <class T>
inline constexpr bool is_wide_character = std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
                                          std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;

template <class T>
concept Complete = requires { sizeof(T); };

// Supported types of namespace std are listed one by one; the members of its aggregates are not an interface.
template <class T>
constexpr bool is_standard() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;  // "... [with T = std::list<int>]"
  return text.find("[with T = std::") != text.npos || text.find("[T = std::") != text.npos;
}

template <class T>
constexpr bool has_description() {
  if constexpr (is_standard<T>()) {
    return ClassInfo<T>::available && ClassInfo<T>::route != DescriptionRoute::automatic;
  } else {
    return ClassInfo<T>::available;
  }
}

// Bases that are neither virtual nor ambiguous: a pointer to member converts. (A C-style cast reaches private
// bases.)
template <class T, class B>
inline constexpr bool is_plain_base = requires(char B::* member) { (char T::*)member; };
template <class T, class... B>
constexpr bool are_plain_bases(Bases<B...>) {
  return (is_plain_base<T, B> && ...);
}

// The requirements on a sub-object, and on a value of its own.
template <class T>
constexpr bool is_storable_base() {
  if constexpr (std::is_class_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T> && Complete<T>) {
    if constexpr (has_description<T>()) return are_plain_bases<T>(bases_of<T>());
  }
  return false;
}
template <class T>
constexpr bool is_storable_class() {
  if constexpr (is_storable_base<T>()) return std::is_default_constructible_v<T> && std::is_destructible_v<T>;
  return false;
}

template <class T>
void explain_undescribed() {
  constexpr reflect::Obstacle obstacle = reflect::obstacle<T>;
  if constexpr (std::is_same_v<T, std::monostate>) {
    static_assert(
        always_false<T>,
        "colonnade: std::monostate cannot be stored; leave it out: a stored std::variant can have no "
        "value anyway, or use std::optional");
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    static_assert(always_false<T>, "colonnade: std::string_view does not own its text; use std::string");
  } else if constexpr (is_standard<T>()) {
    static_assert(always_false<T>,
                  "colonnade: this type of the standard library cannot be stored; use std::vector, "
                  "std::array, a set or a map for many values, std::optional or std::unique_ptr for one "
                  "that may be absent, std::string for text");
  } else if constexpr (obstacle == reflect::Obstacle::has_base) {
    static_assert(always_false<T>,
                  "colonnade: a class with a base class must be described: put COLONNADE_DESCRIBE(Class, "
                  "(Bases), members...) into the class, see colonnade/describe.h");
  } else if constexpr (obstacle == reflect::Obstacle::too_many_members) {
    static_assert(always_false<T>,
                  "colonnade: an aggregate with more than 128 members must be described: put "
                  "COLONNADE_DESCRIBE(Class, (), members...) into the class, see colonnade/describe.h");
  } else if constexpr (obstacle == reflect::Obstacle::uninitialisable) {
    static_assert(always_false<T>,
                  "colonnade: this class has a member that cannot be default constructed, such as a "
                  "reference, or a bit-field; make it a plain value, or describe the class without it, "
                  "see colonnade/describe.h");
  } else {
    static_assert(always_false<T>,
                  "colonnade: this class is neither a plain aggregate nor described: put "
                  "COLONNADE_DESCRIBE(Class, (Bases), members...) into the class, see colonnade/describe.h");
  }
}

template <class T>
void explain_class() {
  if constexpr (!Complete<T>) {
    static_assert(always_false<T>,
                  "colonnade: this class is declared but not defined here; include its header");
  } else if constexpr (!has_description<T>()) {
    explain_undescribed<T>();
  } else if constexpr (!are_plain_bases<T>(bases_of<T>())) {
    static_assert(always_false<T>,
                  "colonnade: the description of this class names a base that is virtual, ambiguous or no "
                  "base at all; leave it out");
  } else if constexpr (std::is_abstract_v<T>) {
    static_assert(always_false<T>,
                  "colonnade: values of an abstract class cannot be stored; store a class derived from it");
  } else {
    static_assert(always_false<T>,
                  "colonnade: this class needs a public default constructor and destructor: a value is "
                  "made first and read into");
  }
}

template <class T>
void explain_arithmetic() {
  if constexpr (is_wide_character<T>) {
    static_assert(always_false<T>,
                  "colonnade: wchar_t, char8_t, char16_t and char32_t cannot be stored; use char, "
                  "std::string, or an integer of the same size");
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(always_false<T>,
                  "colonnade: of the floating-point types only float, double and Double32 can be stored");
  } else {
    static_assert(always_false<T>, "colonnade: integers of more than 64 bits cannot be stored");
  }
}

template <class T>
void explain_unstorable() {
  if constexpr (std::is_reference_v<T>) {
    static_assert(always_false<T>, "colonnade: a reference cannot be stored; store the value itself");
  } else if constexpr (std::is_function_v<T>) {
    static_assert(always_false<T>, "colonnade: a function cannot be stored");
  } else if constexpr (std::is_void_v<T>) {
    static_assert(always_false<T>, "colonnade: void has no values to store");
  } else if constexpr (std::is_volatile_v<T>) {
    static_assert(always_false<T>,
                  "colonnade: a volatile value cannot be stored; drop volatile, or use std::atomic");
  } else if constexpr (std::is_const_v<T>) {
    static_assert(always_false<T>, "colonnade: a const value cannot be read into; drop const");
  } else if constexpr (std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T>) {
    static_assert(always_false<T>,
                  "colonnade: a pointer cannot be stored; store the value itself, or std::unique_ptr or "
                  "std::optional for one that may be absent, or std::vector for many");
  } else if constexpr (std::is_array_v<T>) {
    static_assert(always_false<T>, "colonnade: an array of unknown size cannot be stored; use std::vector");
  } else if constexpr (std::is_union_v<T>) {
    static_assert(always_false<T>,
                  "colonnade: a union does not know which member it holds; use std::variant");
  } else if constexpr (std::is_arithmetic_v<T> || std::is_integral_v<T>) {
    explain_arithmetic<T>();
  } else if constexpr (std::is_enum_v<T>) {
    explain_arithmetic<std::underlying_type_t<T>>();
  } else if constexpr (std::is_class_v<T>) {
    explain_class<T>();
  } else {
    static_assert(always_false<T>,
                  "colonnade: this type cannot be stored, see colonnade/field_types.h for what can");
  }
}

}  // namespace colonnade::detail

#endif
