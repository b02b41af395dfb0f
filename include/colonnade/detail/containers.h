// FieldOf<T> of the standard containers, and the proxies through which fields fill them. Part of
// colonnade/field_types.h.
#ifndef COLONNADE_DETAIL_CONTAINERS_H
#define COLONNADE_DETAIL_CONTAINERS_H

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "colonnade/detail/field_of.h"
#include "colonnade/error.h"
#include "colonnade/reflect.h"
#include "colonnade/types.h"

namespace colonnade::detail {

// ---- Containers

// std::vector and RVec.
template <class C>
class VectorProxy final : public CollectionProxy {
 public:
  ValueOps ops() const override { return value_ops<C>(); }
  std::size_t size(const void* container) const override { return static_cast<const C*>(container)->size(); }
  const void* data(const void* container) const override { return static_cast<const C*>(container)->data(); }
  void* resize(void* container, std::size_t size) const override {
    C& items = *static_cast<C*>(container);
    if constexpr (std::is_move_constructible_v<typename C::value_type>) {
      items.resize(size);
    } else if (items.size() != size) {  // std::atomic: new items, as the old ones cannot move
      C fresh(size);
      items.swap(fresh);
    }
    return items.data();
  }
};

// std::vector<bool> stores bits; its items have no addresses.
template <class C>
class BitVectorProxy final : public CollectionProxy {
 public:
  ValueOps ops() const override { return value_ops<C>(); }
  std::size_t size(const void* container) const override { return static_cast<const C*>(container)->size(); }
  bool is_contiguous() const noexcept override { return false; }
  void for_each(const void* container, const std::function<void(const void*)>& visit) const override {
    for (const bool bit : *static_cast<const C*>(container)) visit(&bit);
  }
  void clear(void* container) const override { static_cast<C*>(container)->clear(); }
  void insert(void* container, void* item) const override {
    static_cast<C*>(container)->push_back(*static_cast<const bool*>(item));
  }
};

// Sets and maps. The items of a map are std::pair<const K, V> in the container and std::pair<K, V> outside.
template <class C, class Item>
class AssociativeProxy final : public CollectionProxy {
  static_assert(sizeof(typename C::value_type) == sizeof(Item) &&
                alignof(typename C::value_type) == alignof(Item));

 public:
  ValueOps ops() const override { return value_ops<C>(); }
  std::size_t size(const void* container) const override { return static_cast<const C*>(container)->size(); }
  bool is_contiguous() const noexcept override { return false; }
  void for_each(const void* container, const std::function<void(const void*)>& visit) const override {
    for (const auto& item : *static_cast<const C*>(container)) visit(&item);
  }
  void clear(void* container) const override { static_cast<C*>(container)->clear(); }
  void insert(void* container, void* item) const override {
    static_cast<C*>(container)->insert(std::move(*static_cast<Item*>(item)));
  }
};

[[noreturn]] inline void refuse_size(std::size_t size) {
  throw Error(ErrorKind::conversion, "an optional value cannot hold " + std::to_string(size) + " items");
}

template <class C>
class OptionalProxy final : public CollectionProxy {
 public:
  ValueOps ops() const override { return value_ops<C>(); }
  std::size_t size(const void* container) const override {
    return static_cast<const C*>(container)->has_value() ? 1 : 0;
  }
  const void* data(const void* container) const override {
    const C& value = *static_cast<const C*>(container);
    return value ? &*value : nullptr;
  }
  void* resize(void* container, std::size_t size) const override {
    C& value = *static_cast<C*>(container);
    if (size > 1) refuse_size(size);
    if (size == 0) {
      value.reset();
      return nullptr;
    }
    if (!value) value.emplace();
    return &*value;
  }
};

template <class C>
class PointerProxy final : public CollectionProxy {
 public:
  ValueOps ops() const override { return value_ops<C>(); }
  std::size_t size(const void* container) const override { return *static_cast<const C*>(container) ? 1 : 0; }
  const void* data(const void* container) const override { return static_cast<const C*>(container)->get(); }
  void* resize(void* container, std::size_t size) const override {
    C& value = *static_cast<C*>(container);
    if (size > 1) refuse_size(size);
    if (size == 0) {
      value.reset();
    } else if (!value) {
      value.reset(new typename C::element_type());
    }
    return value.get();
  }
};

// One proxy for each type of container. The fields share it; it lives as long as the last of them.
template <class Proxy>
std::shared_ptr<const CollectionProxy> shared_proxy() {
  static const std::shared_ptr<const CollectionProxy> proxy(static_cast<const CollectionProxy*>(new Proxy));
  return proxy;
}

struct FamilyName {
  char text[32] = {};
  template <std::size_t N>
  consteval FamilyName(const char (&name)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = name[i];
  }
};

template <FamilyName family, class Proxy, class Item>
struct CollectionOf {
  using Children = Types<Item>;
  static constexpr bool storable = FieldOf<Item>::storable;
  static std::unique_ptr<Field> make(std::string_view name) {
    return collection_field(std::string(name), family.text, shared_proxy<Proxy>(), FieldOf<Item>::make("_0"));
  }
  static void explain() { FieldOf<Item>::explain(); }
};

// Items of sets and maps are read into a temporary and moved in.
template <FamilyName family, class C, class Item>
struct AssociativeOf : CollectionOf<family, AssociativeProxy<C, Item>, Item> {
  static constexpr bool storable = [] {
    if constexpr (FieldOf<Item>::storable) {
      return std::is_move_constructible_v<Item>;
    } else {
      return false;
    }
  }();
  static void explain() {
    if constexpr (!FieldOf<Item>::storable) {
      FieldOf<Item>::explain();
    } else {
      static_assert(always_false<C>, "colonnade: the items of a stored set or map must be movable");
    }
  }
};

template <class T, class A>
struct FieldOf<std::vector<T, A>> : CollectionOf<"std::vector", VectorProxy<std::vector<T, A>>, T> {};
template <class A>
struct FieldOf<std::vector<bool, A>>
    : CollectionOf<"std::vector", BitVectorProxy<std::vector<bool, A>>, bool> {};
template <class T>
struct FieldOf<RVec<T>> : CollectionOf<"ROOT::VecOps::RVec", VectorProxy<RVec<T>>, T> {};
template <>
struct FieldOf<RVec<bool>> : CollectionOf<"ROOT::VecOps::RVec", BitVectorProxy<RVec<bool>>, bool> {};

template <class T, class O, class A>
struct FieldOf<std::set<T, O, A>> : AssociativeOf<"std::set", std::set<T, O, A>, T> {};
template <class T, class O, class A>
struct FieldOf<std::multiset<T, O, A>> : AssociativeOf<"std::multiset", std::multiset<T, O, A>, T> {};
template <class T, class H, class E, class A>
struct FieldOf<std::unordered_set<T, H, E, A>>
    : AssociativeOf<"std::unordered_set", std::unordered_set<T, H, E, A>, T> {};
template <class T, class H, class E, class A>
struct FieldOf<std::unordered_multiset<T, H, E, A>>
    : AssociativeOf<"std::unordered_multiset", std::unordered_multiset<T, H, E, A>, T> {};
template <class K, class V, class O, class A>
struct FieldOf<std::map<K, V, O, A>> : AssociativeOf<"std::map", std::map<K, V, O, A>, std::pair<K, V>> {};
template <class K, class V, class O, class A>
struct FieldOf<std::multimap<K, V, O, A>>
    : AssociativeOf<"std::multimap", std::multimap<K, V, O, A>, std::pair<K, V>> {};
template <class K, class V, class H, class E, class A>
struct FieldOf<std::unordered_map<K, V, H, E, A>>
    : AssociativeOf<"std::unordered_map", std::unordered_map<K, V, H, E, A>, std::pair<K, V>> {};
template <class K, class V, class H, class E, class A>
struct FieldOf<std::unordered_multimap<K, V, H, E, A>>
    : AssociativeOf<"std::unordered_multimap", std::unordered_multimap<K, V, H, E, A>, std::pair<K, V>> {};

template <class T>
struct FieldOf<std::optional<T>> : CollectionOf<"std::optional", OptionalProxy<std::optional<T>>, T> {};
template <class T>
struct FieldOf<std::unique_ptr<T>> : CollectionOf<"std::unique_ptr", PointerProxy<std::unique_ptr<T>>, T> {};
template <class T>
struct FieldOf<std::unique_ptr<T[]>> {
  using Children = Types<>;
  static constexpr bool storable = false;
  static void explain() {
    static_assert(always_false<T>,
                  "colonnade: a std::unique_ptr to an array does not know its size; use std::vector");
  }
};

// ---- Arrays, pairs, tuples, atomics

template <class T, std::size_t N>
struct ArrayOf {
  using Children = Types<T>;
  static constexpr bool storable = N > 0 && FieldOf<T>::storable;
  static std::unique_ptr<Field> make(std::string_view name) {
    return array_field(std::string(name), N, FieldOf<T>::make("_0"));
  }
  static void explain() {
    if constexpr (N == 0) {
      static_assert(always_false<T>, "colonnade: an array of size zero cannot be stored");
    } else {
      FieldOf<T>::explain();
    }
  }
};
template <class T, std::size_t N>
struct FieldOf<std::array<T, N>> : ArrayOf<T, N> {};
template <class T, std::size_t N>
struct FieldOf<T[N]> : ArrayOf<T, N> {};
// More specialised than T[N] for any const or volatile T.
template <class T, std::size_t N>
struct FieldOf<const T[N]> : ArrayOf<const T, N> {};
template <class T, std::size_t N>
struct FieldOf<volatile T[N]> : ArrayOf<volatile T, N> {};

template <class A, class B>
struct FieldOf<std::pair<A, B>> {
  using Children = Types<A, B>;
  static constexpr bool storable = all_storable<A, B>;
  static std::unique_ptr<Field> make(std::string_view name) {
    using Pair = std::pair<A, B>;
    const auto& pair = reflect::detail::room<Pair>.value;
    const auto* const start = reinterpret_cast<const char*>(&pair);
    std::vector<Member> members;
    add_member(members, static_cast<std::size_t>(reinterpret_cast<const char*>(&pair.first) - start), "_0",
               &make_part<A>);
    add_member(members, static_cast<std::size_t>(reinterpret_cast<const char*>(&pair.second) - start), "_1",
               &make_part<B>);
    return record_field(std::string(name), "std::pair", {}, value_ops<Pair>(), std::move(members), 0,
                        nullptr);
  }
  static void explain() { explain_first<A, B>(); }
};

template <class... T>
struct FieldOf<std::tuple<T...>> {
  using Children = Types<T...>;
  static constexpr bool storable = sizeof...(T) > 0 && all_storable<T...>;
  static std::unique_ptr<Field> make(std::string_view name) {
    using Tuple = std::tuple<T...>;
    const auto* const start = reinterpret_cast<const char*>(&reflect::detail::room<Tuple>.value);
    std::vector<Member> members;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (add_member(members,
                  static_cast<std::size_t>(reinterpret_cast<const char*>(std::addressof(
                                               std::get<I>(reflect::detail::room<Tuple>.value))) -
                                           start),
                  "_" + std::to_string(I), &make_part<T>),
       ...);
    }(std::index_sequence_for<T...>());
    return record_field(std::string(name), "std::tuple", {}, value_ops<Tuple>(), std::move(members), 0,
                        nullptr);
  }
  static void explain() {
    if constexpr (sizeof...(T) == 0) {
      static_assert(sizeof...(T) > 0, "colonnade: a std::tuple without elements cannot be stored");
    } else {
      explain_first<T...>();
    }
  }
};

template <class T>
struct FieldOf<std::atomic<T>> {
  using Children = Types<T>;
  static constexpr bool storable = FieldOf<T>::storable;
  static std::unique_ptr<Field> make(std::string_view name) {
    using A = std::atomic<T>;
    constexpr WrapperOps ops{
        value_ops<A>(),
        [](const void* outer, void* inner) {
          *static_cast<T*>(inner) = static_cast<const A*>(outer)->load();
        },
        [](void* outer, const void* inner) { static_cast<A*>(outer)->store(*static_cast<const T*>(inner)); }};
    return atomic_field(std::string(name), ops, FieldOf<T>::make("_0"));
  }
  static void explain() { FieldOf<T>::explain(); }
};

}  // namespace colonnade::detail

#endif
