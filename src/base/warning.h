// How the library warns; colonnade/warning.h sets the handler.
#ifndef COLONNADE_BASE_WARNING_H
#define COLONNADE_BASE_WARNING_H

#include <concepts>
#include <string>

#include "colonnade/warning.h"

namespace colonnade {

// One line: what was requested, what is done instead, and why.
void warn(const std::string& message) noexcept;

namespace detail {
// In place of a warning that there is no memory for.
void warn_of_memory() noexcept;
}  // namespace detail

// The same for destructors and the like, where making the message must not throw.
template <std::invocable MakeMessage>
void warn(const MakeMessage& message) noexcept {
  try {
    warn(message());
  } catch (...) {
    detail::warn_of_memory();
  }
}

}  // namespace colonnade

#endif
