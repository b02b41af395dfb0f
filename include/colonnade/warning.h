// Warnings: cases where the library deviates from a request without an error (for example if a file system
// refuses direct I/O). They go to standard error unless the program sets a handler.
#ifndef COLONNADE_WARNING_H
#define COLONNADE_WARNING_H

#include <functional>
#include <string>

namespace colonnade {

// Gets one line without its newline. Any thread may call it, several at once; an exception that leaves it is
// dropped.
using WarningHandler = std::function<void(const std::string& message)>;

// Sends the warnings of the whole process to `handler`; an empty one restores the default, which prints
// "colonnade: <message>" to standard error. Returns the former one. Safe from any thread.
WarningHandler set_warning_handler(WarningHandler handler);

}  // namespace colonnade

#endif
