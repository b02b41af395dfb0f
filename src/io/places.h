// Names of places: which are on this machine, what they are called in every working folder, and which mean
// the same file. What is a scheme decides find_transport(): "a:b.root" is a file of the working folder.
#ifndef COLONNADE_IO_PLACES_H
#define COLONNADE_IO_PLACES_H

#include <string>
#include <string_view>

namespace colonnade::io {

// Whether it is a file or folder of the file system.
bool is_local_file(std::string_view uri);
// Whether no server is asked for it.
bool is_local(std::string_view uri);

// The name in every working folder: a relative path becomes an absolute one, also in "file:" and "obj:".
// Other names stay as they are.
std::string absolute_name(const std::string& uri);
// The same, of a file without symbolic links and dots in its path.
std::string canonical_name(const std::string& uri);

// A text that all names of a file or store share, those of hard links included.
std::string identity_of(const std::string& uri);
bool is_same_place(const std::string& a, const std::string& b);

}  // namespace colonnade::io

#endif
