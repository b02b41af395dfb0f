// Maps colonnade::Error to the Python exceptions of colonnade.errors, which have the kind and the
// context.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <exception>

#include "base/redacted.h"
#include "colonnade/error.h"
#include "register.h"
#include "text.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

void raise(const Error& error) {
  try {
    const ErrorContext& where = error.context();
    const nb::object exception =
        nb::module_::import_("colonnade.errors")
            .attr("make_error")(name_of(error.kind()), text(error.problem()), text(error.advice()),
                                text(where.uri), text(where.data_set), text(where.field), where.column,
                                where.cluster, where.page, where.offset);
    PyErr_SetObject(exception.type().ptr(), exception.ptr());
  } catch (nb::python_error& failure) {
    failure.restore();
  }
}

void translate(const std::exception_ptr& pointer, void*) {
  if (PyErr_Occurred() != nullptr) return;  // an Interruptible has set it
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    raise(error);
  } catch (const std::bad_alloc&) {
    raise(Error(ErrorKind::resource, "there is not enough memory", "less at once"));
  } catch (const std::length_error&) {
    raise(Error(ErrorKind::resource, "there is not enough memory", "less at once"));
  }
}

}  // namespace

void register_errors(nb::module_& module) {
  nb::register_exception_translator(translate, nullptr);
  module.def(
      "redacted", [](const std::string& given) { return text(redacted(given)); }, nb::arg("text"),
      nb::sig("def redacted(text: str) -> str"),
      "The text without the secrets of URIs, parameters and headers.");
}

}  // namespace colonnade::python
