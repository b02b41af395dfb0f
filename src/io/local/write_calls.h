// The system calls for writing a local file, as function objects, so that tests can make each of them fail.
#ifndef COLONNADE_IO_LOCAL_WRITE_CALLS_H
#define COLONNADE_IO_LOCAL_WRITE_CALLS_H

#include <sys/types.h>
#include <sys/uio.h>

#include <functional>
#include <memory>
#include <string>

#include "io/file_system.h"
#include "io/local/local_system.h"

namespace colonnade::io {

// They return -1 and set errno on failure, like the system's.
struct WriteCalls {
  std::function<ssize_t(int file, const void* from, std::size_t count, off_t offset)> pwrite;
  std::function<ssize_t(int file, const iovec* parts, int count, off_t offset)> pwritev;
  std::function<ssize_t(int file, void* into, std::size_t count, off_t offset)> pread;
  std::function<ssize_t(int from, off_t* begin, int file, off_t* offset, std::size_t count)> copy_range;
  // Lets the file have the blocks of another one (FICLONERANGE).
  std::function<int(int from, off_t begin, int file, off_t offset, std::uint64_t count)> share_range;
  std::function<int(int file, int mode, off_t offset, off_t count)> fallocate;
  std::function<int(int file, off_t size)> ftruncate;
  std::function<int(int file)> fdatasync;
  std::function<int(int folder)> fsync;
  std::function<int(const char* from, const char* to)> rename;
  std::function<int(const char* from, const char* to)> rename_new;  // rename_exclusively()
  std::function<int(int file)> close;
  std::function<int(int file, bool on)> set_direct;  // switches direct I/O on or off
  std::function<bool(int file)> is_on_network;

  static WriteCalls of_system();
};

// Wraps an open file for writing.
std::unique_ptr<WritableFile> writable_file(const std::string& uri, FileDescriptor file, WriteCalls calls,
                                            const WriteFileOptions& options);

// local_file_system() with other calls.
std::shared_ptr<FileSystem> local_file_system(WriteCalls calls);

}  // namespace colonnade::io

#endif
