// "root://host//folder/name.root" (and roots:, xroot:, xroots:): files on XRootD servers.
//
// Reading: small reads are combined into vector reads, as many in flight as requested. A lost connection is
// made again; a file that has another size or modification time by then is an error. While a file is read,
// its status is queried at most once a second; a change is an error from then on.
//
// Writing: to a temporary file that is renamed, as on a local disk. Servers allow one writer per file, which
// keeps other writers out; where a server does not enforce this, no file is removed and no writer refused.
// Readers that have the old file open when it is replaced keep reading it, and so may, depending on the
// server, readers that open it meanwhile.
#ifndef COLONNADE_IO_XROOTD_XROOTD_FILE_H
#define COLONNADE_IO_XROOTD_XROOTD_FILE_H

#include <memory>
#include <string>
#include <vector>

#include "io/file_system.h"
#include "io/random_access_file.h"

namespace colonnade::io {

std::shared_ptr<FileSystem> xrootd_file_system();
std::unique_ptr<RandomAccessFile> open_xrootd_for_reading(const std::string& uri);
// The URIs of what is in a folder, "root://host//folder/"; those of folders end in a slash.
std::vector<std::string> list_xrootd_folder(const std::string& folder);

}  // namespace colonnade::io

#endif
