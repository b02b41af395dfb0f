// Description of classes: how the library learns the members and bases of the classes that it stores.
//
// A plain aggregate needs no description, see colonnade/reflect.h. All other classes have three ways, in this
// order of precedence; each works for class templates, too.
//
// 1. A specialisation of Describe, which may rename members and leave some out:
//      template <> struct colonnade::Describe<ns::Track> {
//        static constexpr auto bases = colonnade::bases<ns::Object>;                 // optional
//        static constexpr auto members = [](auto&& member) {
//          member("pt", &ns::Track::pt_);
//          member("hits", &ns::Track::hits_);
//        };
//        static constexpr std::uint32_t version = 2;                                 // optional
//      };
//    Private members are reachable if the class says `friend struct colonnade::Describe<ns::Track>;`.
// 2. One line inside of the class; private members and bases are reachable:
//      class Track : public Object { ... COLONNADE_DESCRIBE(Track, (Object), pt_, hits_) };
// 3. One line after the class, in the global namespace, for public members:
//      COLONNADE_DESCRIBE_STRUCT(ns::Track, (ns::Object), pt, hits)
//
// Bases stand in parentheses, () for none. A macro line takes up to 340 members. With the macros, the class
// version is given in the global namespace, before the class is first stored:
// COLONNADE_CLASS_VERSION(ns::Track, 2).
//
// ClassInfo is the query interface. Everything here is stateless and may be called from any thread.
#ifndef COLONNADE_DESCRIBE_H
#define COLONNADE_DESCRIBE_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "colonnade/reflect.h"

namespace colonnade {

template <class T>
struct Describe;

template <class... B>
struct Bases {};
template <class... B>
inline constexpr Bases<B...> bases{};

// The version of an unversioned class, as the format stores it.
inline constexpr std::uint32_t unversioned = 0xffffffffu;
template <class T>
inline constexpr std::uint32_t class_version = unversioned;

// Where the description of a class comes from; none: the class needs one.
enum class DescriptionRoute { none, specialisation, macro, automatic };

namespace detail {

struct IgnoreMember {
  template <class M>
  void operator()(std::string_view, M) const {}
};

template <class T>
concept HasSpecialisation = requires { Describe<T>::members(IgnoreMember{}); };
template <class T>
concept HasMacro = requires { colonnade_members(std::type_identity<T>{}, IgnoreMember{}); };

template <class T>
consteval DescriptionRoute route_of() {
  if constexpr (!std::is_class_v<T>) {
    return DescriptionRoute::none;
  } else if constexpr (HasSpecialisation<T>) {
    return DescriptionRoute::specialisation;
  } else if constexpr (HasMacro<T>) {
    return DescriptionRoute::macro;
  } else {
    return reflect::is_reflectable<T> ? DescriptionRoute::automatic : DescriptionRoute::none;
  }
}

template <class T>
consteval auto bases_of() {
  if constexpr (route_of<T>() == DescriptionRoute::macro) {
    return colonnade_bases(std::type_identity<T>{});
  } else if constexpr (requires { Describe<T>::bases; }) {
    return Describe<T>::bases;
  } else {
    return Bases<>{};
  }
}

template <class T>
consteval std::uint32_t version_of() {
  if constexpr (requires { Describe<T>::version; }) {
    return Describe<T>::version;
  } else {
    return class_version<T>;
  }
}

// Offsets come from pointers to members, which in the Itanium C++ ABI are the offsets: no object is needed.
// Converting a pointer to member from a base to T adds the offset of the base. (C-style casts, as only they
// reach private bases; a virtual base has no such conversion.)
template <class T, class C, class M>
std::size_t offset_of(M C::* member) {
  static_assert(sizeof member == sizeof(std::ptrdiff_t), "the Itanium C++ ABI is assumed");
  return static_cast<std::size_t>(std::bit_cast<std::ptrdiff_t>((M T::*)member));
}
template <class T, class B>
concept StorableBase = requires(char B::* first) { (char T::*)first; };
template <class T, class B>
std::size_t base_offset() {
  if constexpr (!std::is_base_of_v<B, T> || std::is_same_v<B, T>) {
    static_assert(!sizeof(B), "a base in the description is not a base of the class");
  } else if constexpr (!StorableBase<T, B>) {
    static_assert(!sizeof(B), "virtual and ambiguous bases cannot be stored");
  } else {
    return offset_of<T>(std::bit_cast<char B::*>(std::ptrdiff_t{0}));
  }
}

}  // namespace detail

// The description of T, by any of the ways. Names live as long as the program.
template <class T>
struct ClassInfo {
  static constexpr DescriptionRoute route = detail::route_of<T>();
  static constexpr bool available = route != DescriptionRoute::none;
  static constexpr std::uint32_t version = detail::version_of<T>();

  // "ns::Track", "ns::Vec<float,3>": as stored in data sets.
  static std::string name() { return reflect::type_name<T>(); }

  // Calls f(std::size_t offset, std::type_identity<B>) for each direct base that is stored, in order.
  template <class F>
  static void for_each_base(F&& f) {
    check();
    [&]<class... B>(Bases<B...>) {
      (f(detail::base_offset<T, B>(), std::type_identity<B>{}), ...);
    }(detail::bases_of<T>());
  }

  // Calls f(std::string_view name, std::size_t offset, std::type_identity<M>) for each member that is stored,
  // in order; M is the declared type without const. Excludes members of bases.
  template <class F>
  static void for_each_member(F&& f) {
    check();
    const auto call = [&f]<class C, class M>(std::string_view name, M C::* member) {
      if constexpr (!std::is_object_v<M>) {
        static_assert(!sizeof(C), "a member in the description is a function: only data can be stored");
      } else if constexpr (!std::is_base_of_v<C, T>) {
        static_assert(!sizeof(C), "a member in the description belongs to another class");
      } else {
        f(name, detail::offset_of<T>(member), std::type_identity<std::remove_cv_t<M>>{});
      }
    };
    if constexpr (route == DescriptionRoute::specialisation) {
      Describe<T>::members(call);
    } else if constexpr (route == DescriptionRoute::macro) {
      colonnade_members(std::type_identity<T>{}, call);
    } else if constexpr (route == DescriptionRoute::automatic) {
      reflect::for_each_member<T>(f);
    }
  }

 private:
  static constexpr void check() {
    static_assert(
        available,
        "this type is neither a plain aggregate nor described: put COLONNADE_DESCRIBE(Class, (Bases), "
        "members...) into the class, see colonnade/describe.h");
  }
};

}  // namespace colonnade

// Applies macro(argument, x) to each x that follows, by rescanning: 4 * 4 * 4 * 4 + ... times.
#define COLONNADE_PARENTHESES ()
#define COLONNADE_RESCAN(...) \
  COLONNADE_RESCAN3(COLONNADE_RESCAN3(COLONNADE_RESCAN3(COLONNADE_RESCAN3(__VA_ARGS__))))
#define COLONNADE_RESCAN3(...) \
  COLONNADE_RESCAN2(COLONNADE_RESCAN2(COLONNADE_RESCAN2(COLONNADE_RESCAN2(__VA_ARGS__))))
#define COLONNADE_RESCAN2(...) \
  COLONNADE_RESCAN1(COLONNADE_RESCAN1(COLONNADE_RESCAN1(COLONNADE_RESCAN1(__VA_ARGS__))))
#define COLONNADE_RESCAN1(...) \
  COLONNADE_RESCAN0(COLONNADE_RESCAN0(COLONNADE_RESCAN0(COLONNADE_RESCAN0(__VA_ARGS__))))
#define COLONNADE_RESCAN0(...) __VA_ARGS__
#define COLONNADE_FOR_EACH(macro, argument, ...) \
  __VA_OPT__(COLONNADE_RESCAN(COLONNADE_FOR_EACH_STEP(macro, argument, __VA_ARGS__)))
#define COLONNADE_FOR_EACH_STEP(macro, argument, x, ...) \
  macro(argument, x) __VA_OPT__(COLONNADE_FOR_EACH_AGAIN COLONNADE_PARENTHESES(macro, argument, __VA_ARGS__))
#define COLONNADE_FOR_EACH_AGAIN() COLONNADE_FOR_EACH_STEP

#define COLONNADE_UNPACK(...) __VA_ARGS__
#define COLONNADE_DESCRIBE_MEMBER(Class, name) colonnade_member(#name, &Class::name);

#define COLONNADE_DESCRIBE(Class, BasesInParentheses, ...)                                        \
  friend constexpr ::colonnade::Bases<COLONNADE_UNPACK BasesInParentheses> colonnade_bases(       \
      ::std::type_identity<Class>) {                                                              \
    return {};                                                                                    \
  }                                                                                               \
  template <class ColonnadeVisitor>                                                               \
  friend constexpr void colonnade_members(::std::type_identity<Class>,                            \
                                          [[maybe_unused]] ColonnadeVisitor&& colonnade_member) { \
    COLONNADE_FOR_EACH(COLONNADE_DESCRIBE_MEMBER, Class, __VA_ARGS__)                             \
  }

#define COLONNADE_DESCRIBE_STRUCT(Class, BasesInParentheses, ...)                          \
  template <>                                                                              \
  struct colonnade::Describe<Class> {                                                      \
    static constexpr auto bases = ::colonnade::bases<COLONNADE_UNPACK BasesInParentheses>; \
    static constexpr auto members = []([[maybe_unused]] auto&& colonnade_member) {         \
      COLONNADE_FOR_EACH(COLONNADE_DESCRIBE_MEMBER, Class, __VA_ARGS__)                    \
    };                                                                                     \
  };

#define COLONNADE_CLASS_VERSION(Class, number) \
  template <>                                  \
  inline constexpr ::std::uint32_t colonnade::class_version<Class> = number;

#endif
