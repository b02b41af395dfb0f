// Arguments of the writers from Python: flat arrays with their position in the schema, and the schema itself.
#ifndef COLONNADE_PYTHON_WRITTEN_ARRAYS_H
#define COLONNADE_PYTHON_WRITTEN_ARRAYS_H

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "colonnade/columnar.h"
#include "colonnade/error.h"
#include "colonnade/field.h"
#include "colonnade/model.h"
#include "colonnade/options.h"

namespace colonnade::python {

using WrittenArray =
    nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::ndim<1>, nanobind::device::cpu>;
using PathArray = std::tuple<std::string, ArrayRole, ElementType, WrittenArray>;
using Projection = std::tuple<const Field*, Model::Sources>;

inline constexpr const char* append_signature =
    "def append(self, arrays: collections.abc.Sequence[tuple[str, ArrayRole, ElementType, "
    "numpy.typing.NDArray[typing.Any]]]) -> None";
inline constexpr const char* append_help = "Arrays as (path, role, element type, NumPy array).";

inline std::vector<NamedArray> views_of(const std::vector<PathArray>& given) {
  std::vector<NamedArray> views;
  for (const auto& [path, role, element, array] : given) {
    if (array.itemsize() != size_of(element))
      throw Error(ErrorKind::usage, "the array's items do not have the size of its element type", {},
                  {.field = path});
    views.push_back({path, {role, element, array.data(), array.size()}});
  }
  return views;
}

// Of entries, as (first, last).
inline std::vector<IndexRange> ranges_in(const nanobind::list& given) {
  std::vector<IndexRange> ranges;
  for (const auto& [first, last] :
       nanobind::cast<std::vector<std::tuple<std::uint64_t, std::uint64_t>>>(given))
    ranges.emplace_back(first, last);
  return ranges;
}

inline std::unique_ptr<Model> make_model(const std::vector<const Field*>& fields,
                                         const std::vector<Projection>& projections) {
  auto model = Model::create();
  for (const Field* field : fields) model->add_field(field->clone(field->name()));
  for (const auto& [field, sources] : projections)
    model->add_projected_field(field->clone(field->name()), sources);
  return model;
}

}  // namespace colonnade::python

#endif
