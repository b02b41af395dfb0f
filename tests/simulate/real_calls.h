// The functions of the C library that this program defines itself, as the system has them.
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

// A function of ours that the linker takes for the system's of that name. The header's declaration, with its
// attributes, is not met.
#define SIMULATED(name) __asm__(name)

#endif
