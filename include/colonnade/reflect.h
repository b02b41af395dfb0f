// Reflection of plain aggregates: the names, types and offsets of a struct's members, without macro or
// dictionary.
//
//   struct Hit { float x, y; std::vector<int> channels; };
//   reflect::for_each_member<Hit>([](std::string_view name, std::size_t offset, auto type) { ... });
//
// A member of an aggregate can always be initialised by empty braces, arrays and nested structs as a whole,
// so the largest N for which T{{}, {}, ...} compiles is the number of members. A structured binding with N
// names then reaches each member. On an object that is declared but never defined, it gives constant
// addresses, whose spelling in the compiler's function names contains the member's name; on raw storage it
// gives the offsets.
//
// Limits: at most 128 members, no base class, no bit-field, no reference; each member default-initialisable.
// What does not fit has is_reflectable<T> == false and obstacle<T> says why; describe it with
// colonnade/describe.h instead. Everything here is stateless and may be called from any thread. The names
// live as long as the program.
#ifndef COLONNADE_REFLECT_H
#define COLONNADE_REFLECT_H

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "colonnade/detail/bindings.h"

namespace colonnade::reflect {

// Why a type cannot be reflected.
enum class Obstacle {
  none,
  not_a_class,       // fundamental types, arrays, enumerations, unions
  not_an_aggregate,  // private members, constructors or virtual functions
  has_base,          // a structured binding does not tell which members belong to the base
  tuple_like,        // std::array and other types with std::tuple_size: members are not their interface
  too_many_members,  // more than 128
  uninitialisable,   // a member that empty braces do not initialise, such as a reference
};

namespace detail {

template <class T>
concept TupleLike = requires { sizeof(std::tuple_size<T>); };

// Converts to the bases of T and to nothing else.
template <class T>
struct AnyBase {
  template <class B>
    requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>)
  operator B() const;
};
template <class T>
inline constexpr bool has_base = requires { T{AnyBase<T>{}}; };

// The largest N in [Low, High] with takes_braces. No smaller number fails, so bisection finds
// it.
template <class T, std::size_t Low, std::size_t High>
consteval std::size_t count_between() {
  if constexpr (Low == High) {
    return Low;
  } else {
    constexpr std::size_t middle = (Low + High + 1) / 2;
    if constexpr (takes_braces<T, middle>) {
      return count_between<T, middle, High>();
    } else {
      return count_between<T, Low, middle - 1>();
    }
  }
}

template <class T>
consteval std::size_t count() {
  if constexpr (std::is_empty_v<T>) {
    return 0;
  } else if constexpr (!takes_braces<T, 8>) {
    return count_between<T, 0, 7>();
  } else if constexpr (!takes_braces<T, 32>) {
    return count_between<T, 8, 31>();
  } else {
    return count_between<T, 32, max_members>();
  }
}

template <class T>
consteval Obstacle find_obstacle() {
  if constexpr (!std::is_class_v<T>) {
    return Obstacle::not_a_class;
  } else if constexpr (!std::is_aggregate_v<T>) {
    return Obstacle::not_an_aggregate;
  } else if constexpr (TupleLike<T>) {
    return Obstacle::tuple_like;
  } else if constexpr (has_base<T>) {
    return Obstacle::has_base;
  } else if constexpr (std::is_empty_v<T>) {
    return Obstacle::none;
  } else if constexpr (!takes_braces<T, 1>) {
    return Obstacle::uninitialisable;
  } else if constexpr (takes_braces<T, max_members + 1>) {
    return Obstacle::too_many_members;
  } else {
    return Obstacle::none;
  }
}

// Storage for a T that is never constructed: only the addresses of its members are used.
template <class T>
union Room {
  char nothing;
  T value;
  constexpr Room() : nothing() {}
  ~Room() {}
};
template <class T>
inline constinit Room<T> room{};

template <auto* Member>
consteval auto raw_name() {
  // GCC: "... [with auto* Member = (& room<S>....S::x)]", Clang: "... [Member = &room.value.x]".
  std::string_view text = __PRETTY_FUNCTION__;
  const auto in_identifier = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || static_cast<signed char>(c) < 0;
  };
  std::size_t end = text.size();
  while (!in_identifier(text[end - 1])) --end;
  std::size_t begin = end;
  while (in_identifier(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// A minimal tuple of pointers, to keep compile times low.
template <std::size_t I, class P>
struct IndexedPointer {
  P pointer;
};
template <class Indices, class... P>
struct IndexedPointers;
template <std::size_t... I, class... P>
struct IndexedPointers<std::index_sequence<I...>, P...> : IndexedPointer<I, P>... {};
template <std::size_t I, class P>
consteval P pointer_at(const IndexedPointer<I, P>& found) {
  return found.pointer;
}

template <class T, std::size_t... I>
consteval auto find_names(std::index_sequence<I...>) {
  constexpr auto pointers = Binding<sizeof...(I)>::apply(room<T>.value, []<class... P>(P... p) {
    return IndexedPointers<std::index_sequence<I...>, P...>{{p}...};
  });
  return std::array<std::string_view, sizeof...(I)>{raw_name<pointer_at<I>(pointers)>()...};
}

}  // namespace detail

template <class T>
inline constexpr Obstacle obstacle = detail::find_obstacle<std::remove_cv_t<T>>();

// True if member_count and for_each_member work for T.
template <class T>
inline constexpr bool is_reflectable = obstacle<T> == Obstacle::none;

template <class T>
consteval std::size_t member_count() {
  static_assert(is_reflectable<T>,
                "T cannot be reflected automatically: see colonnade::reflect::obstacle<T>");
  return detail::count<std::remove_cv_t<T>>();
}

// The names of T's members in the order of their declaration.
template <class T>
inline constexpr auto member_names = detail::find_names<T>(std::make_index_sequence<member_count<T>()>());

// Calls f(std::string_view name, std::size_t offset, std::type_identity<M>) for each member in order. M is
// the declared type without const.
template <class T, class F>
void for_each_member(F&& f) {
  constexpr std::size_t n = member_count<T>();
  if constexpr (n > 0) {
    auto& object = detail::room<T>.value;
    const auto* const start = reinterpret_cast<const volatile char*>(&detail::room<T>);
    detail::Binding<n>::apply(object, [&]<class... M>(M*... member) {
      std::size_t i = 0;
      (f(member_names<T>[i++],
         static_cast<std::size_t>(reinterpret_cast<const volatile char*>(member) - start),
         std::type_identity<std::remove_cv_t<M>>{}),
       ...);
    });
  }
}

// The qualified name of a class or enumeration, normalised as data sets store it: "ns::Outer::Inner",
// "ns::Vec<float>". Local classes and those of unnamed namespaces have their plain names. Compiled into the
// library.
std::string normalized_type_name(const std::type_info& type);

template <class T>
std::string type_name() {
  return normalized_type_name(typeid(T));
}

}  // namespace colonnade::reflect

#endif
