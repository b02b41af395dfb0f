// Progress of copies, merges and passes, reported to Python now and then.
#ifndef COLONNADE_PYTHON_WATCHER_H
#define COLONNADE_PYTHON_WATCHER_H

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

namespace colonnade::python {

// An exception raised by the callable, including an interrupt by the user, stops the work cleanly and is
// raised again by rethrow() once the work has ended.
class Watcher {
 public:
  explicit Watcher(nanobind::object call) : call_(std::move(call)) {}

  template <class Progress>
  bool operator()(const Progress& progress) {
    const nanobind::gil_scoped_acquire held;
    try {
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
      if (call_.is_none()) return true;
      return nanobind::cast<bool>(call_(progress));
    } catch (nanobind::python_error& error) {
      failure_ = std::make_unique<nanobind::python_error>(std::move(error));
      return false;
    }
  }
  void rethrow() {
    if (failure_) throw nanobind::python_error(std::move(*failure_));
  }

 private:
  nanobind::object call_;
  std::unique_ptr<nanobind::python_error> failure_;
};

}  // namespace colonnade::python

#endif
