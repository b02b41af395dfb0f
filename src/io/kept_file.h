// What is complete but cannot be sent to its place is kept in a local file (decision 83).
#ifndef COLONNADE_IO_KEPT_FILE_H
#define COLONNADE_IO_KEPT_FILE_H

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace colonnade::io {

// A new name in TMPDIR, or in /tmp.
std::string temporary_path(std::string_view ending);

// Writes a file that only its owner can read, and returns its path; empty if there is no room for it.
std::string keep_file(const std::string& uri, ByteSpan content);

}  // namespace colonnade::io

#endif
