// The extension module colonnade._core.
#include "register.h"

NB_MODULE(_core, module) {
  using namespace colonnade::python;
  module.doc() = "The C++ side of the package colonnade; use the package instead.";
  module.attr("version") = COLONNADE_VERSION;
  register_errors(module);
  register_types(module);
  register_descriptor(module);
  register_statistics(module);
  register_fields(module);
  register_reader(module);
  register_writer(module);
  register_parallel_writer(module);
  register_files(module);
  register_repair(module);
  register_copy(module);
  register_garbage(module);
  register_frame(module);
}
