// Reading without the interpreter lock, in which waits for servers end when a signal's handler raises an
// exception, as that of Ctrl-C does.
#ifndef COLONNADE_PYTHON_INTERRUPTIBLE_H
#define COLONNADE_PYTHON_INTERRUPTIBLE_H

#include <nanobind/nanobind.h>

#include <exception>
#include <memory>

#include "base/interruption.h"

namespace colonnade::python {

// In place of gil_scoped_release. Interrupted leaves the call as the exception that the handler raised.
class Interruptible {
 public:
  Interruptible() : interruption_([this] { return asks(); }) {}
  ~Interruptible() {
    if (!raised_) return;
    const nanobind::gil_scoped_acquire held;
    if (std::uncaught_exceptions() > before_) {
      raised_->restore();
      raised_.reset();
    } else if (Py_AddPendingCall(&raise, raised_.get()) == 0) {  // all that was waited for had come
      static_cast<void>(raised_.release());
    } else {
      PyErr_SetInterrupt();
      raised_.reset();
    }
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  // Once the call has returned.
  static int raise(void* raised) {
    std::unique_ptr<nanobind::python_error>(static_cast<nanobind::python_error*>(raised))->restore();
    return -1;
  }

  bool asks() {
    if (raised_) return true;
    const nanobind::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) raised_ = std::make_unique<nanobind::python_error>();
    return raised_ != nullptr;
  }

  const int before_ = std::uncaught_exceptions();
  std::unique_ptr<nanobind::python_error> raised_;
  const nanobind::gil_scoped_release released_;
  const Interruption interruption_;
};

}  // namespace colonnade::python

#endif
