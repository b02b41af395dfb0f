// Shared by the DataFrame's bindings: Python objects owned by C++, and threads that run Python
// code.
#ifndef COLONNADE_PYTHON_FRAME_PYTHON_H
#define COLONNADE_PYTHON_FRAME_PYTHON_H

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "colonnade/accumulator.h"
#include "colonnade/block.h"
#include "frame/graph/graph.h"

namespace colonnade::python {

// The Python view of a ValuesPtr.
struct PyValues {
  ValuesPtr values;
};

// A Python object that any thread may drop, with or without the interpreter lock.
using KeptObject = std::shared_ptr<nanobind::object>;
inline KeptObject keep_object(nanobind::object object) {
  return {new nanobind::object(std::move(object)), [](const nanobind::object* kept) {
            if (!nanobind::is_alive()) return;  // at exit the interpreter and the object are gone
            const nanobind::gil_scoped_acquire held;
            delete kept;
          }};
}

// The Python objects kept by a part of a graph, for the garbage collector: a callable refers to its module,
// and thereby to the DataFrame that refers to the callable. Access requires the interpreter lock.
using KeptObjects = std::shared_ptr<std::vector<KeptObject>>;

// A definition and the objects that it keeps.
struct PyDefinition {
  frame::Definition definition;
  KeptObjects kept = std::make_shared<std::vector<KeptObject>>();
};

// The Python functions of a PyAccumulator; empty for others.
KeptObjects kept_by(const Accumulator& accumulator);

// While one lives, this thread runs Python code on behalf of a pass or a definition: it must not wait for
// those.
class InsideCallable {
 public:
  InsideCallable() noexcept { ++depth(); }
  ~InsideCallable() { --depth(); }
  InsideCallable(const InsideCallable&) = delete;
  InsideCallable& operator=(const InsideCallable&) = delete;
  static bool here() noexcept { return depth() > 0; }

 private:
  static int& depth() noexcept {
    thread_local int count = 0;
    return count;
  }
};

// A result computed by Python code: a state that takes blocks and merges with other
// states.
class PyAccumulator;

void register_frame_values(nanobind::module_& module);
void register_frame_callables(nanobind::module_& module);
void register_frame_sources(nanobind::module_& module);
void register_frame_results(nanobind::module_& module);
void register_frame_graph(nanobind::module_& module);

// The state of a PyAccumulator.
nanobind::object python_state(const Accumulator& accumulator);

}  // namespace colonnade::python

#endif
