// How the library warns; see colonnade/warning.h for who listens.
#ifndef COLONNADE_BASE_WARNING_H
#define COLONNADE_BASE_WARNING_H

#include <string>

#include "colonnade/warning.h"

namespace colonnade {

// One line: what was asked for, what is done instead, and why.
void warn(const std::string& message) noexcept;

}  // namespace colonnade

#endif
