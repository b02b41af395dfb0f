// The C library's own versions of the functions that this program replaces.
#ifndef COLONNADE_SIMULATE_REAL_CALLS_H
#define COLONNADE_SIMULATE_REAL_CALLS_H

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace colonnade::simulate {

template <class Function>
Function* real_call(const char* name) noexcept {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "simulate: the system has no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace colonnade::simulate

// A function of ours that the linker uses instead of the system's. It does not conflict with the header's
// declaration and its attributes.
#define SIMULATED(name) __asm__(name)

#endif
