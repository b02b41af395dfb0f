// Recovers what a writer left behind its last checkpoint.
#include "colonnade/repair.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "interruptible.h"
#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {

void register_repair(nb::module_& module) {
  nb::class_<DroppedCluster>(module, "DroppedCluster", "A cluster that could not be brought back.")
      .def_ro("offset", &DroppedCluster::offset)
      .def_ro("first_entry", &DroppedCluster::first_entry)
      .def_ro("entries", &DroppedCluster::entries)
      .def_ro("reason", &DroppedCluster::reason);
  nb::class_<RepairReport>(module, "RepairReport", "What repair found and did.")
      .def_ro("data_set", &RepairReport::data_set)
      .def_ro("entries", &RepairReport::entries)
      .def_ro("clusters", &RepairReport::clusters)
      .def_ro("recovered_entries", &RepairReport::recovered_entries)
      .def_ro("recovered_clusters", &RepairReport::recovered_clusters)
      .def_ro("renumbered_clusters", &RepairReport::renumbered_clusters)
      .def_ro("dropped", &RepairReport::dropped)
      .def_ro("torn_records", &RepairReport::torn_records)
      .def_ro("scanned_bytes", &RepairReport::scanned_bytes)
      .def_ro("written", &RepairReport::written);
  module.def(
      "repair",
      [](const std::string& uri, const std::string& data_set, bool dry_run) {
        return repair(uri, data_set, {.dry_run = dry_run});
      },
      nb::arg("uri"), nb::arg("data_set"), nb::arg("dry_run"), nb::call_guard<Interruptible>(),
      "Bring back clusters behind the last checkpoint.");
}

}  // namespace colonnade::python
