// Data sets that several processes write: for distributed snapshots in Python.
#include "colonnade/shared_writer.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "dataset/writing/open_writer.h"
#include "dataset/writing/schema.h"
#include "register.h"
#include "writer_handles.h"

namespace nb = nanobind;

namespace colonnade::python {

void register_shared_writer(nb::module_& module) {
  using Released = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<SharedWriter>(module, "SharedWriter",
                           "A data set of an object store that processes write in parts.")
      .def_prop_ro("ticket", &SharedWriter::ticket)
      .def(
          "commit",
          [](SharedWriter& self, const std::vector<std::string>& parts, nb::handle call) {
            const auto add = before_commit(call);
            const nb::gil_scoped_release released;
            return self.commit(parts, add);
          },
          nb::arg("parts"), nb::arg("before_commit").none() = nb::none(),
          nb::sig("def commit(self, parts: collections.abc.Sequence[str], before_commit: "
                  "collections.abc.Callable[[AttributeAppender], object] | None = None) -> int"))
      .def("discard", &SharedWriter::discard, Released())
      .def_static("is_open", &SharedWriter::is_open, nb::arg("uri"), nb::arg("ticket"), Released(),
                  "Whether the writer with this ticket still waits for parts.");
  module.def(
      "open_shared_writer",
      [](const std::string& name, const std::string& uri, const WriteOptions& options,
         const std::string& mode) {
        return SharedWriter::open(name, uri, options, dataset::write_mode_of(mode));
      },
      nb::arg("name"), nb::arg("uri"), nb::arg("options"), nb::arg("mode") = "recreate", Released());
  module.def(
      "check_target",
      [](const std::string& name, const std::string& uri, const WriteOptions& options,
         const std::string& mode) {
        dataset::check_target(name, uri, options, dataset::write_mode_of(mode));
      },
      nb::arg("name"), nb::arg("uri"), nb::arg("options"), nb::arg("mode"), Released(),
      "Throw what a writer would throw when it opens.");
}

}  // namespace colonnade::python
