// How files are named while they are written beside their place; see file_system.h.
#ifndef COLONNADE_IO_ASIDE_STEM_H
#define COLONNADE_IO_ASIDE_STEM_H

#include <string>
#include <string_view>

namespace colonnade::io {

// The beginning of the names of all temporary files for the file at `path`: ".NAME.", where a long NAME is
// shortened so that they fit the limit of file systems. A random number of 16 hexadecimal digits and ".part"
// follow.
std::string aside_stem(std::string_view path);

}  // namespace colonnade::io

#endif
