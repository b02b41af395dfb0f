// FieldOf<std::variant>, and how to make a variant valueless. Part of colonnade/field_types.h.
#ifndef COLONNADE_DETAIL_VARIANTS_H
#define COLONNADE_DETAIL_VARIANTS_H

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "colonnade/detail/field_of.h"
#include "colonnade/error.h"

namespace colonnade::detail {

// Converts to T by throwing: a variant that emplaces from it loses its value, unless the library keeps the
// old one, as libstdc++ does for types that it can move without throwing.
struct NoValue {};
template <class T>
struct Thrower {
  [[noreturn]] operator T() const { throw NoValue{}; }
};

template <class V, std::size_t I>
bool lose_value(V& variant) {
  using T = std::variant_alternative_t<I, V>;
  if constexpr (!std::is_scalar_v<T> && std::is_constructible_v<T, Thrower<T>>) {
    try {
      variant.template emplace<I>(Thrower<T>{});
    } catch (const NoValue&) {
      return variant.valueless_by_exception();
    }
  }
  return false;
}

#ifdef __GLIBCXX__
// libstdc++ lays a variant out as the union of the alternatives and, behind it, the index in one byte (up to
// 254 alternatives); 255 stands for no value. This layout is not guaranteed, so it is tested on two
// alternatives before it is used.
template <class... T>
struct IndexByte {
  static constexpr std::size_t largest = std::max({sizeof(T)...});
  static constexpr std::size_t alignment = std::max({alignof(T)...});
  static constexpr std::size_t offset = (largest + alignment - 1) / alignment * alignment;

  template <std::size_t I>
  static bool shows() {
    alignas(std::variant<T...>) unsigned char memory[sizeof(std::variant<T...>)];
    for (unsigned char& byte : memory) byte = 0xee;
    ::new (static_cast<void*>(memory)) std::variant<T...>(std::in_place_index<I>);
    return memory[offset] == I;
  }
  static bool is_known() {
    static const bool known = offset < sizeof(std::variant<T...>) && shows<0>() && shows<sizeof...(T) - 1>();
    return known;
  }
};
#endif

[[noreturn]] inline void refuse_no_value() {
  throw Error(ErrorKind::conversion,
              "the stored std::variant has no value, and this one always has a value in this C++ library",
              "read it with the type given by name, or leave it out");
}

template <class... T>
struct VariantAccess {
  using V = std::variant<T...>;

  static int active(const void* variant) {
    const std::size_t index = static_cast<const V*>(variant)->index();
    return index < sizeof...(T) ? static_cast<int>(index) : -1;
  }
  template <std::size_t I>
  static void* emplace_one(void* variant) {
    return std::addressof(static_cast<V*>(variant)->template emplace<I>());
  }
  template <std::size_t I>
  static const void* get_one(const void* variant) {
    return std::get_if<I>(static_cast<const V*>(variant));
  }
  static void* emplace(void* variant, std::size_t k) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      static constexpr void* (*table[])(void*) = {&emplace_one<I>...};
      return table[k](variant);
    }(std::index_sequence_for<T...>());
  }
  static const void* get(const void* variant, std::size_t k) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      static constexpr const void* (*table[])(const void*) = {&get_one<I>...};
      return table[k](variant);
    }(std::index_sequence_for<T...>());
  }
  static void reset(void* variant) {
    if (active(variant) < 0) return;
#ifdef __GLIBCXX__
    if constexpr ((std::is_trivially_copyable_v<T> && ...)) {
      if (IndexByte<T...>::is_known()) {
        static_cast<unsigned char*>(variant)[IndexByte<T...>::offset] = 0xff;
        return;
      }
    }
#endif
    const bool lost = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (lose_value<V, I>(*static_cast<V*>(variant)) || ...);
    }(std::index_sequence_for<T...>());
    if (!lost) refuse_no_value();
  }
};

template <class... T>
struct FieldOf<std::variant<T...>> {
  using Children = Types<T...>;
  static constexpr bool few_enough = sizeof...(T) <= 125;
  static constexpr bool storable = few_enough && all_storable<T...>;
  static std::unique_ptr<Field> make(std::string_view name) {
    using Access = VariantAccess<T...>;
    constexpr VariantOps ops{value_ops<std::variant<T...>>(), &Access::active, &Access::emplace, &Access::get,
                             &Access::reset};
    std::vector<std::unique_ptr<Field>> alternatives;
    std::size_t number = 0;
    (alternatives.push_back(FieldOf<T>::make("_" + std::to_string(number++))), ...);
    return variant_field(std::string(name), ops, std::move(alternatives));
  }
  static void explain() {
    if constexpr (!few_enough) {
      static_assert(few_enough, "colonnade: a stored std::variant has at most 125 alternatives");
    } else {
      explain_first<T...>();
    }
  }
};

}  // namespace colonnade::detail

#endif
