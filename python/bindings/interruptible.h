// What happens when a signal's handler raises an exception, as that of Ctrl-C does: reading without the
// interpreter lock no longer waits for servers, and finalizers, which cannot raise it, pass it on.
#ifndef COLONNADE_PYTHON_INTERRUPTIBLE_H
#define COLONNADE_PYTHON_INTERRUPTIBLE_H

#include <nanobind/nanobind.h>

#include <exception>
#include <memory>
#include <utility>

#include "base/interruption.h"

namespace colonnade::python {

// Raises an exception of a signal's handler, once the call that is running has returned.
inline void raise_later(std::unique_ptr<nanobind::python_error> raised) {
  const auto raise = [](void* kept) {
    std::unique_ptr<nanobind::python_error>(static_cast<nanobind::python_error*>(kept))->restore();
    return -1;
  };
  if (Py_AddPendingCall(raise, raised.get()) == 0)
    static_cast<void>(raised.release());
  else
    PyErr_SetInterrupt();
}

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
    } else {  // all that was waited for had come
      raise_later(std::move(raised_));
    }
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
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
