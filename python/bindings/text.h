// Text from files: names and values need not be UTF-8; invalid bytes are shown as \xff instead of causing an
// error.
#ifndef COLONNADE_PYTHON_TEXT_H
#define COLONNADE_PYTHON_TEXT_H

#include <nanobind/nanobind.h>

#include <string_view>

namespace colonnade::python {

inline nanobind::str text(std::string_view bytes) {
  return nanobind::steal<nanobind::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

}  // namespace colonnade::python

#endif
