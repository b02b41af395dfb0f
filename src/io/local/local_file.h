// Files of the operating system: "path", "file:path", "file:///path" (percent-encoded).
#ifndef COLONNADE_IO_LOCAL_LOCAL_FILE_H
#define COLONNADE_IO_LOCAL_LOCAL_FILE_H

#include <memory>
#include <string>
#include <string_view>

#include "io/file_system.h"
#include "io/random_access_file.h"

namespace colonnade::io {

std::shared_ptr<FileSystem> local_file_system();
std::unique_ptr<RandomAccessFile> open_local_for_reading(const std::string& uri,
                                                         const ReadFileOptions& options);

// The path of a local URI. Throws ErrorKind::usage for another host or a malformed percent sequence.
std::string local_path(const std::string& uri);
std::string local_path(const std::string& uri, std::string_view scheme);  // with another scheme, "obj:"

}  // namespace colonnade::io

#endif
