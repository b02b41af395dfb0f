// Garbage collection in object stores.
#include "colonnade/garbage.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "interruptible.h"
#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {

void register_garbage(nb::module_& module) {
  nb::class_<RemovedGeneration>(module, "RemovedGeneration", "What a writer left behind.")
      .def_ro("data_set", &RemovedGeneration::data_set)
      .def_ro("generation", &RemovedGeneration::generation)
      .def_ro("objects", &RemovedGeneration::objects)
      .def_ro("uncommitted_part", &RemovedGeneration::uncommitted_part);
  nb::class_<GarbageClaim>(module, "GarbageClaim", "Who is, or was, writing a data set.")
      .def_ro("data_set", &GarbageClaim::data_set)
      .def_ro("writer", &GarbageClaim::writer);
  nb::class_<GarbageReport>(module, "GarbageReport", "What collect_garbage found and did.")
      .def_ro("removed", &GarbageReport::removed)
      .def_ro("released", &GarbageReport::released)
      .def_ro("kept", &GarbageReport::kept)
      .def_ro("leftovers", &GarbageReport::leftovers)
      .def_ro("problems", &GarbageReport::problems);
  module.def(
      "collect_garbage",
      [](const std::string& uri, bool dry_run, std::optional<double> older_than, bool force) {
        return collect_garbage(uri, {.dry_run = dry_run, .older_than = older_than, .force = force});
      },
      nb::arg("uri"), nb::arg("dry_run"), nb::arg("older_than").none(), nb::arg("force"),
      nb::call_guard<Interruptible>(), "Remove what writers left behind in an object store.");
  module.def(
      "remove_data_set",
      [](const std::string& uri, const std::string& data_set) { remove_data_set(uri, data_set); },
      nb::arg("uri"), nb::arg("data_set"), nb::call_guard<Interruptible>(),
      "Remove a data set from an object store.");
}

}  // namespace colonnade::python
