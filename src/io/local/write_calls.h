// The system calls that writing a local file consists of, as values, so that tests can let any of them fail.
#ifndef COLONNADE_IO_LOCAL_WRITE_CALLS_H
#define COLONNADE_IO_LOCAL_WRITE_CALLS_H

#include <sys/types.h>
#include <sys/uio.h>

#include <functional>
#include <memory>
#include <string>

#include "io/random_access_file.h"

namespace colonnade::io {

// Each as the system's: -1 and errno on failure.
struct WriteCalls {
  std::function<ssize_t(int file, const void* from, std::size_t count, off_t offset)> pwrite;
  std::function<ssize_t(int file, const iovec* parts, int count, off_t offset)> pwritev;
  std::function<ssize_t(int file, void* into, std::size_t count, off_t offset)> pread;
  std::function<int(int file, int mode, off_t offset, off_t count)> fallocate;
  std::function<int(int file, off_t size)> ftruncate;
  std::function<int(int file)> fdatasync;
  std::function<int(int file)> close;
  std::function<int(int file, bool on)> set_direct;  // past the page cache from now on, or through it

  static WriteCalls of_system();
};

// open_local_for_writing() with other calls.
std::unique_ptr<WritableFile> open_local_for_writing(const std::string& uri, OpenMode mode,
                                                     const WriteFileOptions& options, WriteCalls calls);

}  // namespace colonnade::io

#endif
