// Finalizers and ends of `with` blocks written in Python. Handlers of signals run between any two
// instructions of Python, so also in those of a finalizer, and Python ignores what is raised there: Ctrl-C
// would be lost. In the end of a block it is not ignored, but may come before the first instruction, so that
// nothing is closed.
#include <memory>
#include <utility>

#include "interruptible.h"
#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {

void register_finalizers(nb::module_& module) {
  using Function = nb::typed<nb::callable, void(...)>;
  module.def(
      "finalizer",
      [](Function finalize) {
        const auto finish = [finalize](nb::handle self) {
          try {
            finalize(self);
          } catch (nb::python_error& error) {
            if (error.matches(PyExc_Exception)) throw;  // its own
            auto raised = std::make_unique<nb::python_error>(error);
            finalize(self);
            raise_later(std::move(raised));
          }
        };
        return nb::cast<Function>(nb::cpp_function(finish, nb::is_method(), nb::name("__del__")));
      },
      nb::arg("finalize"),
      "Make a `__del__` of a function. An exception of a signal's handler ends the function, which is then "
      "called\n"
      "again and must complete what it began; the exception is raised in what runs next.");
  module.def(
      "leaving",
      [](Function leave, Function abort) {
        const auto end = [leave, abort](nb::handle self, nb::args of_block) {
          try {
            leave(self, *of_block);
          } catch (nb::python_error& error) {
            if (!error.matches(PyExc_Exception)) abort(self);
            throw;
          }
        };
        return nb::cast<Function>(nb::cpp_function(end, nb::is_method(), nb::name("__exit__")));
      },
      nb::arg("leave"), nb::arg("abort"),
      "Make an `__exit__` of a function. If an exception of a signal's handler ends it, `abort` is called.");
}

}  // namespace colonnade::python
