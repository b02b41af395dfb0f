// FieldOf<T>: how make_field<T> handles a type. This header declares it and holds what its specialisations
// share. Part of colonnade/field_types.h.
#ifndef COLONNADE_DETAIL_FIELD_OF_H
#define COLONNADE_DETAIL_FIELD_OF_H

#include <memory>
#include <new>
#include <string_view>
#include <type_traits>

#include "colonnade/field.h"

namespace colonnade::detail {

template <class... T>
struct Types {};

template <class T>
inline constexpr bool always_false = false;

// FieldOf<T> has, for every T,
//   storable   true if make() compiles; for a class, regardless of its members
//   make       makes the field
//   explain    fails to compile with the reason, if not storable
//   Children   the types of the sub-fields, empty for classes
// The parts that put requirements on the type (proxies, constructors) are instantiated only if it is
// storable, so that one mistake gives one error.
template <class T>
struct FieldOf;

template <class... T>
inline constexpr bool all_storable = (FieldOf<T>::storable && ...);

template <class First, class... Rest>
void explain_first() {
  if constexpr (!FieldOf<First>::storable) {
    FieldOf<First>::explain();
  } else if constexpr (sizeof...(Rest) > 0) {
    explain_first<Rest...>();
  }
}

template <class T>
std::unique_ptr<Field> make_part(std::string_view name) {
  if constexpr (FieldOf<T>::storable) {
    return FieldOf<T>::make(name);
  } else {
    FieldOf<T>::explain();
    return nullptr;
  }
}

template <class T>
void construct_value(void* memory) {
  ::new (memory) T();
}
template <class T>
void destroy_value(void* memory) noexcept {
  static_cast<T*>(memory)->~T();
}
template <class T>
constexpr ValueOps value_ops() {
  return {sizeof(T), alignof(T), &construct_value<T>, &destroy_value<T>};
}

}  // namespace colonnade::detail

#endif
