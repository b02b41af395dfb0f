// "root://host//folder/name.root" (and roots:, xroot:, xroots:): files on XRootD servers.
//
// Reading: what is small goes into vector reads, as many in flight as are asked for. A connection that is
// lost is made again, to the same file alone: one that has another size or time by then is an error. While it
// is read, a file is asked about at most once a second; one that has changed is an error from then on.
//
// Writing: as on a local disk, aside and renamed. Who writes has the file to itself by the server's own rule
// that a file has one writer; where a server does not keep it, nothing is removed and nobody refused.
// Whoever has the old file open when it is replaced goes on reading that, and so does, by the server's ways,
// whoever opens it meanwhile.
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
