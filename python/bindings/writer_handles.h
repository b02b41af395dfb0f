// What Python gets of writers that C++ opened: to add attribute sets before a commit.
#ifndef COLONNADE_PYTHON_WRITER_HANDLES_H
#define COLONNADE_PYTHON_WRITER_HANDLES_H

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>

#include "colonnade/attributes.h"
#include "colonnade/writer.h"

namespace colonnade::python {

// A Writer of Python; None for a null pointer.
nanobind::object to_python(std::shared_ptr<Writer> writer);

// Calls a Python function with an AttributeAppender that is usable during the call; None calls nothing. The
// caller must keep `call` and need not hold the interpreter lock when the result is called.
std::function<void(AttributeAppender&)> before_commit(nanobind::handle call);

}  // namespace colonnade::python

#endif
