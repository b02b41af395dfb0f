// What the DataFrame's bindings share: Python objects that C++ keeps, and threads that are inside Python
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

// What Python sees of a ValuesPtr.
struct PyValues {
  ValuesPtr values;
};

// A Python object that any thread may drop, with or without the interpreter's lock.
using KeptObject = std::shared_ptr<nanobind::object>;
inline KeptObject keep_object(nanobind::object object) {
  return {new nanobind::object(std::move(object)), [](const nanobind::object* kept) {
            if (!nanobind::is_alive()) return;  // at exit: the interpreter is gone, and the object with it
            const nanobind::gil_scoped_acquire held;
            delete kept;
          }};
}

// The Python objects that a part of a graph keeps, for the garbage collector: a callable knows the module
// that it stands in, and so the DataFrame that knows the callable. Touched with the interpreter's lock alone.
using KeptObjects = std::shared_ptr<std::vector<KeptObject>>;

// A definition with what it keeps.
struct PyDefinition {
  frame::Definition definition;
  KeptObjects kept = std::make_shared<std::vector<KeptObject>>();
};

// The Python functions of an accumulator that Python computes; none for others.
KeptObjects kept_by(const Accumulator& accumulator);

// While one lives this thread runs Python code on behalf of a pass: it must not wait for that pass.
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

// A result that Python code computes: a state that blocks are added to and that others are merged into.
class PyAccumulator;

// Calls Python now and then. What Python raises, an interrupt of the user included, stops the pass in good
// order and is raised when that has come to rest.
class PassWatcher {
 public:
  explicit PassWatcher(nanobind::object call) : call_(std::move(call)) {}
  bool operator()(const frame::PassProgress& progress);
  void rethrow();

 private:
  nanobind::object call_;
  std::unique_ptr<nanobind::python_error> failure_;
};

void register_frame_values(nanobind::module_& module);
void register_frame_callables(nanobind::module_& module);
void register_frame_sources(nanobind::module_& module);
void register_frame_results(nanobind::module_& module);
void register_frame_graph(nanobind::module_& module);

// The state of a result that is a PyAccumulator.
nanobind::object python_state(const Accumulator& accumulator);

}  // namespace colonnade::python

#endif
