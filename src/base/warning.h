// How the library warns; colonnade/warning.h sets the handler.
#ifndef COLONNADE_BASE_WARNING_H
#define COLONNADE_BASE_WARNING_H

#include <string>

#include "colonnade/warning.h"

namespace colonnade {

// One line: what was requested, what is done instead, and why.
void warn(const std::string& message) noexcept;

}  // namespace colonnade

#endif
