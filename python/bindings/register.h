// One function per concept; module.cpp calls them all. Bindings only translate calls and types: the user
// interface is written in Python, in python/colonnade.
#ifndef COLONNADE_PYTHON_REGISTER_H
#define COLONNADE_PYTHON_REGISTER_H

#include <nanobind/nanobind.h>

namespace colonnade::python {

void register_errors(nanobind::module_& module);
void register_finalizers(nanobind::module_& module);
void register_types(nanobind::module_& module);
void register_descriptor(nanobind::module_& module);
void register_statistics(nanobind::module_& module);
void register_fields(nanobind::module_& module);
void register_reader(nanobind::module_& module);
void register_chain(nanobind::module_& module);
void register_joining(nanobind::module_& module);
void register_writer(nanobind::module_& module);
void register_parallel_writer(nanobind::module_& module);
void register_shared_writer(nanobind::module_& module);
void register_files(nanobind::module_& module);
void register_repair(nanobind::module_& module);
void register_copy(nanobind::module_& module);
void register_garbage(nanobind::module_& module);
void register_cache(nanobind::module_& module);
// Null in the module without the data frame.
[[gnu::weak]] void register_frame(nanobind::module_& module);
void register_batches(nanobind::module_& module);
void register_texts(nanobind::module_& module);
[[gnu::weak]] void register_tallies(nanobind::module_& module);
void register_floating_point(nanobind::module_& module);
void find_xrootd();

}  // namespace colonnade::python

#endif
