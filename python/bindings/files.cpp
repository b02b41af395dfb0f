// What a file holds.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "colonnade/reader.h"
#include "register.h"
#include "text.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

nb::typed<nb::list, nb::str> list_data_sets(const std::string& uri) {
  std::vector<std::string> names;
  {
    const nb::gil_scoped_release released;
    names = data_sets(uri);
  }
  nb::list result;
  for (const std::string& name : names) result.append(text(name));
  return result;
}

}  // namespace

void register_files(nb::module_& module) {
  nb::class_<StoredObject>(module, "StoredObject", "An object of a ROOT file that is no data set.")
      .def_prop_ro("path", [](const StoredObject& self) { return text(self.path); })
      .def_prop_ro("class_name", [](const StoredObject& self) { return text(self.class_name); })
      .def_ro("size", &StoredObject::size, "Bytes on storage.");
  module.def("data_sets", &list_data_sets, nb::arg("uri"), "Paths of the data sets of a file.");
  module.def("stored_objects", &stored_objects, nb::arg("uri"), nb::call_guard<nb::gil_scoped_release>(),
             "The other objects of a file.");
}

}  // namespace colonnade::python
