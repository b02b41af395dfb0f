// For tests: returns the error that a call throws.
#ifndef COLONNADE_BASE_TEST_ERRORS_H
#define COLONNADE_BASE_TEST_ERRORS_H

#include <gtest/gtest.h>

#include "colonnade/error.h"

namespace colonnade {

// Fails the test if the call does not throw.
template <class Work>
Error error_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorKind::usage, "nothing was thrown");
}

}  // namespace colonnade

#endif
