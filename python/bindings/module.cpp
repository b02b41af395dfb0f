// The extension module colonnade._core.
#include <nanobind/stl/string.h>

#include "base/processor.h"
#include "register.h"

NB_MODULE(_core, module) {
  using namespace colonnade::python;
  colonnade::check_instruction_set();
  // No leaks: threads that wait for the end of the process, and readers of PyArrow, keep what they use.
  nanobind::set_leak_warnings(false);
  module.doc() = "The C++ side of the package colonnade; use the package instead.";
  module.attr("version") = COLONNADE_VERSION;
  module.def("instruction_set", &colonnade::instruction_set,
             "The best instruction set in use; COLONNADE_CPU may allow less than the processor has.");
  register_errors(module);
  register_finalizers(module);
  register_types(module);
  register_descriptor(module);
  register_statistics(module);
  register_fields(module);
  register_reader(module);
  register_chain(module);
  register_joining(module);
  register_writer(module);
  register_parallel_writer(module);
  register_shared_writer(module);
  register_files(module);
  register_repair(module);
  register_copy(module);
  register_garbage(module);
  register_cache(module);
  register_batches(module);
  register_texts(module);
  register_floating_point(module);
  for (auto* of_frame : {&register_frame, &register_tallies})
    if (of_frame != nullptr) of_frame(module);
  find_xrootd();
}
