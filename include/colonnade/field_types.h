// make_field<T>: the field of a C++ type that is known at compile time, nested to any depth.
//
//   auto field = colonnade::make_field<std::map<std::string, std::vector<Hit>>>("hits");
//
// What can be stored:
//   - bool, char, std::byte, integers of up to 64 bits, float, double, Double32; std::string; enumerations
//   - std::vector, RVec, std::[unordered_][multi]set and map, with any allocator, order and hash
//   - std::optional, std::unique_ptr, std::variant, std::pair, std::tuple, std::array, built-in arrays
//   - std::bitset, std::atomic, Cardinality
//   - classes: plain aggregates, and what colonnade/describe.h describes, with members and bases
// All of them, their items and their members must be default constructible: values are made, then read into.
// Other types do not compile; a single error says what to do, and the notes after it name the member.
//
// A std::variant whose stored value is "no value" becomes valueless by exception. Some variants of libstdc++
// never are: if all alternatives are trivially copyable, index() is then 255 and std::visit must not be
// called; otherwise reading such a value throws ErrorKind::conversion.
//
// The functions here are stateless and may be called from any thread; the caller owns the field.
#ifndef COLONNADE_FIELD_TYPES_H
#define COLONNADE_FIELD_TYPES_H

#include <memory>
#include <string_view>

#include "colonnade/detail/containers.h"
#include "colonnade/detail/field_of.h"
#include "colonnade/detail/plain_types.h"
#include "colonnade/detail/self_reference.h"
#include "colonnade/detail/variants.h"
#include "colonnade/field.h"
#include "colonnade/types.h"

namespace colonnade {

// The field of a C++ type.
template <class T>
std::unique_ptr<Field> make_field(std::string_view name) {
  if constexpr (!detail::FieldOf<T>::storable) {
    detail::FieldOf<T>::explain();
    return nullptr;
  } else if constexpr (detail::holds_itself<T>()) {
    static_assert(detail::always_false<T>,
                  "colonnade: a class that holds values of itself, in whatever container, cannot be "
                  "stored: its schema would have no end; keep the values in one std::vector and refer to "
                  "them by number");
    return nullptr;
  } else {
    return detail::FieldOf<T>::make(name);
  }
}

}  // namespace colonnade

#endif
