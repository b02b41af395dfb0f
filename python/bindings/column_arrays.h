// The arrays of a columnar read as NumPy arrays, which share their memory.
#ifndef COLONNADE_PYTHON_COLUMN_ARRAYS_H
#define COLONNADE_PYTHON_COLUMN_ARRAYS_H

#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "colonnade/columnar.h"
#include "dtypes.h"

namespace colonnade::python {

using Array = nanobind::ndarray<nanobind::numpy>;
using FieldArray = std::tuple<std::uint32_t, ArrayRole, Array>;

inline Array to_numpy(ColumnArray& array) {
  using Memory = std::shared_ptr<std::byte[]>;
  static std::byte nothing;
  void* data = array.data && array.size > 0 ? array.data.get() : &nothing;
  nanobind::capsule owner(new Memory(std::move(array.data)),
                          [](void* p) noexcept { delete static_cast<Memory*>(p); });
  return Array(data, {array.size}, owner, {}, dtype_of(array.element));
}

inline std::vector<FieldArray> to_numpy(std::vector<ColumnArray> read) {
  std::vector<FieldArray> result;
  for (ColumnArray& array : read) {
    const auto field = array.field;
    const auto role = array.role;
    result.emplace_back(field, role, to_numpy(array));
  }
  return result;
}

}  // namespace colonnade::python

#endif
