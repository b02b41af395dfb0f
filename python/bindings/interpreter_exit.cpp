// Threads that are in here when the program ends. Before 3.14, Python ends a thread that asks for the
// interpreter lock then (pthread_exit), and unwinding it through C++ code ends the program with SIGABRT. Such
// threads wait for the end of the process instead, as in 3.14. No thread that may come here is joined after
// the interpreter's end: those of Arrow, which are, have left before, see colonnade/reading/streams.py. The
// linker puts these functions around Python's, see CMakeLists.txt.
#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <exception>

namespace {

[[noreturn]] void wait_for_end_of_process() noexcept {
  while (true) ::pause();
}

template <class Call>
auto survive_exit(Call call) noexcept {
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    wait_for_end_of_process();
  } catch (...) {  // of another library, which has left Python's code in any state
    std::terminate();
  }
}

}  // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
void __real_PyEval_RestoreThread(PyThreadState* state);
PyGILState_STATE __real_PyGILState_Ensure();
PyObject* __real_PyObject_Vectorcall(PyObject* call, PyObject* const* args, std::size_t count,
                                     PyObject* names);
PyObject* __real_PyObject_VectorcallMethod(PyObject* name, PyObject* const* args, std::size_t count,
                                           PyObject* names);

void __wrap_PyEval_RestoreThread(PyThreadState* state) {
  survive_exit([&] { __real_PyEval_RestoreThread(state); });
}

PyGILState_STATE __wrap_PyGILState_Ensure() {
  if (!nanobind::is_alive()) wait_for_end_of_process();
  return survive_exit([] { return __real_PyGILState_Ensure(); });
}

PyObject* __wrap_PyObject_Vectorcall(PyObject* call, PyObject* const* args, std::size_t count,
                                     PyObject* names) {
  return survive_exit([&] { return __real_PyObject_Vectorcall(call, args, count, names); });
}

PyObject* __wrap_PyObject_VectorcallMethod(PyObject* name, PyObject* const* args, std::size_t count,
                                           PyObject* names) {
  return survive_exit([&] { return __real_PyObject_VectorcallMethod(name, args, count, names); });
}
// NOLINTEND(bugprone-reserved-identifier)
}
