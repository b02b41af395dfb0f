// Locates the client library in the Python package of XRootD, which is on no system search path.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "io/xrootd/xrootd_library.h"
#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {

// Registers the path of the package without importing or loading any of it.
void find_xrootd() {
  try {
    const nb::object spec = nb::module_::import_("importlib.util").attr("find_spec")("pyxrootd");
    if (spec.is_none()) return;
    for (const nb::handle folder : spec.attr("submodule_search_locations"))
      io::add_xrootd_folder(nb::cast<std::string>(folder));
  } catch (const nb::python_error&) {  // a broken package counts as missing
  }
}

}  // namespace colonnade::python
