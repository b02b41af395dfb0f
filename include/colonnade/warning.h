// Warnings: what the library did in another way than it was asked to, where that is no error (direct I/O that
// a file system refuses, say). They go to standard error unless a program takes them.
#ifndef COLONNADE_WARNING_H
#define COLONNADE_WARNING_H

#include <functional>
#include <string>

namespace colonnade {

// Gets one line without its end. May be called from any thread, several at once; an exception that leaves it
// is dropped.
using WarningHandler = std::function<void(const std::string& message)>;

// From now on warnings of the whole process go to `handler`; an empty one prints "colonnade: <message>" to
// standard error, as in the beginning. Returns the former one. Safe from any thread.
WarningHandler set_warning_handler(WarningHandler handler);

}  // namespace colonnade

#endif
