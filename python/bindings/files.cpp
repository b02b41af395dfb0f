// What a file holds.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "colonnade/reader.h"
#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {

void register_files(nb::module_& module) {
  nb::class_<StoredObject>(module, "StoredObject", "An object of a ROOT file that is no data set.")
      .def_ro("path", &StoredObject::path)
      .def_ro("class_name", &StoredObject::class_name)
      .def_ro("size", &StoredObject::size, "Bytes on storage.");
  module.def("data_sets", &data_sets, nb::arg("uri"), nb::call_guard<nb::gil_scoped_release>(),
             "Paths of the data sets of a file.");
  module.def("stored_objects", &stored_objects, nb::arg("uri"), nb::call_guard<nb::gil_scoped_release>(),
             "The other objects of a file.");
}

}  // namespace colonnade::python
