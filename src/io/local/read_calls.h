// The system calls for reading a local file, as function objects, so that tests can make each of them fail.
#ifndef COLONNADE_IO_LOCAL_READ_CALLS_H
#define COLONNADE_IO_LOCAL_READ_CALLS_H

#include <sys/types.h>
#include <sys/uio.h>

#include <functional>
#include <memory>
#include <string>

#include "io/random_access_file.h"

namespace colonnade::io {

// They return -1 and set errno on failure, like the system's.
struct ReadCalls {
  std::function<ssize_t(int file, const iovec* parts, int count, off_t offset)> preadv;
  std::function<int(int file, bool on)> set_direct;  // switches direct I/O on or off
  // The ring's result of a request: bytes read or a negative errno.
  std::function<int(int result)> completion;

  static ReadCalls of_system();
};

// open_local_for_reading() with other calls.
std::unique_ptr<RandomAccessFile> open_local_for_reading(const std::string& uri,
                                                         const ReadFileOptions& options, ReadCalls calls);

}  // namespace colonnade::io

#endif
