// The NumPy types of elements in memory.
#ifndef COLONNADE_PYTHON_DTYPES_H
#define COLONNADE_PYTHON_DTYPES_H

#include <nanobind/ndarray.h>

#include <cstdint>

#include "colonnade/column_type.h"

namespace colonnade::python {

inline nanobind::dlpack::dtype dtype_of(ElementType element) {
  switch (element) {
    case ElementType::boolean:
      return nanobind::dtype<bool>();
    case ElementType::byte:
    case ElementType::character:
    case ElementType::uint8:
      return nanobind::dtype<std::uint8_t>();
    case ElementType::int8:
      return nanobind::dtype<std::int8_t>();
    case ElementType::int16:
      return nanobind::dtype<std::int16_t>();
    case ElementType::uint16:
      return nanobind::dtype<std::uint16_t>();
    case ElementType::int32:
      return nanobind::dtype<std::int32_t>();
    case ElementType::uint32:
      return nanobind::dtype<std::uint32_t>();
    case ElementType::int64:
      return nanobind::dtype<std::int64_t>();
    case ElementType::uint64:
    case ElementType::index:
    case ElementType::switch_:
      return nanobind::dtype<std::uint64_t>();
    case ElementType::float32:
      return nanobind::dtype<float>();
    case ElementType::float64:
      return nanobind::dtype<double>();
  }
  return nanobind::dtype<std::uint8_t>();
}

}  // namespace colonnade::python

#endif
