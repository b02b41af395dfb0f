// Writing an open file on an XRootD server.
#ifndef COLONNADE_IO_XROOTD_XROOTD_WRITER_H
#define COLONNADE_IO_XROOTD_XROOTD_WRITER_H

#include <cstdint>
#include <memory>
#include <string>

#include "io/random_access_file.h"
#include "io/xrootd/xrootd_client.h"

namespace colonnade::io {

// `handle` is open for update; the file has `size` bytes. `kept` is let go of when the file is closed.
std::unique_ptr<WritableFile> make_xrootd_writer(const std::string& uri, std::shared_ptr<XrootdHandle> handle,
                                                 std::uint64_t size, std::shared_ptr<void> kept);

}  // namespace colonnade::io

#endif
