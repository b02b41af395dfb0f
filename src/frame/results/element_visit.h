// Calls a function object with the C++ type of an element.
#ifndef COLONNADE_FRAME_RESULTS_ELEMENT_VISIT_H
#define COLONNADE_FRAME_RESULTS_ELEMENT_VISIT_H

#include <cstdint>
#include <type_traits>

#include "colonnade/column_type.h"
#include "colonnade/error.h"

namespace colonnade::frame {

// visit(std::type_identity<T>()); characters as in C++, bytes and bools as std::uint8_t.
template <class Visit>
decltype(auto) visit_element(ElementType element, Visit&& visit) {
  switch (element) {
    case ElementType::boolean:
    case ElementType::byte:
    case ElementType::uint8:
      return visit(std::type_identity<std::uint8_t>());
    case ElementType::character:
    case ElementType::int8:
      return visit(std::type_identity<std::int8_t>());
    case ElementType::int16:
      return visit(std::type_identity<std::int16_t>());
    case ElementType::uint16:
      return visit(std::type_identity<std::uint16_t>());
    case ElementType::int32:
      return visit(std::type_identity<std::int32_t>());
    case ElementType::uint32:
      return visit(std::type_identity<std::uint32_t>());
    case ElementType::int64:
      return visit(std::type_identity<std::int64_t>());
    case ElementType::uint64:
    case ElementType::index:
      return visit(std::type_identity<std::uint64_t>());
    case ElementType::float32:
      return visit(std::type_identity<float>());
    case ElementType::float64:
      return visit(std::type_identity<double>());
    case ElementType::switch_:
      break;
  }
  throw Error(ErrorKind::type, "a variant's tag is not a number");
}

}  // namespace colonnade::frame

#endif
