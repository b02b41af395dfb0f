// Detects classes that contain values of their own type. Part of colonnade/field_types.h.
#ifndef COLONNADE_DETAIL_SELF_REFERENCE_H
#define COLONNADE_DETAIL_SELF_REFERENCE_H

#include <string_view>
#include <type_traits>
#include <utility>

#include "colonnade/describe.h"
#include "colonnade/detail/field_of.h"
#include "colonnade/detail/plain_types.h"

namespace colonnade::detail {

// struct Node { std::vector<Node> children; }: the schema would be infinite. A walk over the types that
// tracks the enclosing classes finds it.
template <class T, class... Outer>
constexpr bool holds_itself();

template <class... Outer, class... T>
constexpr bool any_holds_itself(Types<T...>) {
  return (holds_itself<T, Outer...>() || ...);
}
template <class... Outer, class... B>
constexpr bool any_holds_itself(Bases<B...>) {
  return (holds_itself<B, Outer...>() || ...);
}

template <class T>
constexpr auto member_types() {
  constexpr std::size_t n = reflect::member_count<T>();
  if constexpr (n == 0) {
    return Types<>{};
  } else {
    return decltype(reflect::detail::Binding<n>::apply(
        std::declval<T&>(), []<class... M>(M*...) { return Types<std::remove_cv_t<M>...>{}; })){};
  }
}

template <class T, class... Outer>
constexpr bool class_holds_itself() {
  if constexpr (ClassInfo<T>::route == DescriptionRoute::automatic) {
    return any_holds_itself<Outer...>(member_types<T>());
  } else {
    bool found = any_holds_itself<Outer...>(bases_of<T>());
    const auto visit = [&found]<class C, class M>(std::string_view, M C::*) {
      found = found || holds_itself<std::remove_cv_t<M>, Outer...>();
    };
    if constexpr (ClassInfo<T>::route == DescriptionRoute::specialisation) {
      Describe<T>::members(visit);
    } else {
      colonnade_members(std::type_identity<T>{}, visit);
    }
    return found;
  }
}

template <class T, class... Outer>
constexpr bool holds_itself() {
  if constexpr ((std::is_same_v<T, Outer> || ...)) {
    return true;
  } else if constexpr (is_storable_base<T>()) {
    return class_holds_itself<T, Outer..., T>();
  } else {
    return any_holds_itself<Outer...>(typename FieldOf<T>::Children{});
  }
}

}  // namespace colonnade::detail

#endif
