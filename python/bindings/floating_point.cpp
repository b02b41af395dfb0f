// Python code whose values must not depend on the floating-point state of the thread, see
// base/floating_point.h.
#include "base/floating_point.h"

#include <nanobind/nanobind.h>

#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

nb::object with_standard_floating_point(const nb::callable& work) {
  const StandardFloatingPoint state;
  return work();
}

}  // namespace

void register_floating_point(nb::module_& module) {
  module.def(
      "with_standard_floating_point", &with_standard_floating_point, nb::arg("work"),
      nb::sig("def with_standard_floating_point(work: collections.abc.Callable[[], object]) -> typing.Any"),
      "Call something while numbers are rounded to nearest and subnormal numbers are kept.");
}

}  // namespace colonnade::python
