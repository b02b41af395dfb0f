// Helpers shared by reading and writing of local files: descriptors, loops around system calls, and errors
// that name the refused operation. Every loop continues after a signal (EINTR) and after a short transfer.
#ifndef COLONNADE_IO_LOCAL_LOCAL_SYSTEM_H
#define COLONNADE_IO_LOCAL_LOCAL_SYSTEM_H

#include <sys/stat.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace colonnade::io {

// The system's text for an errno.
std::string system_text(int code);

// What to try after an errno at `uri`; empty if there is nothing to say.
std::string system_advice(int code, std::string_view uri = {});

// Throws the system's error `code` (errno) for `action` ("read 5 bytes").
[[noreturn]] void fail_system(const std::string& uri, std::string_view action, int code,
                              std::optional<std::uint64_t> offset = {});

// Owns a file descriptor. Those of standard streams that the process was started without are changed for
// others: what anything prints there would overwrite the file.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number) noexcept;
  FileDescriptor(FileDescriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)), locked_by_(std::exchange(other.locked_by_, 0)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor();
  int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }
  // Records that this process holds a lock (flock) on the file. A forked child shares the lock for as long as
  // it lives: closing alone would not release it.
  void note_lock() noexcept;
  void unlock() noexcept;

 private:
  int number_;
  int locked_by_ = 0;  // a process id
};

// Opens a regular file, or throws; fills `status`. A new file gets the permissions `mode`.
FileDescriptor open_regular(const std::string& path, const std::string& uri, int flags, struct stat& status,
                            mode_t mode = 0666);

// Whether an error of flock() means that there are no locks: in the file system, or in a container that does
// not let the call through.
bool has_no_locks(int code) noexcept;

// The outcome of fsync() and its kind: true also where the file system has nothing to flush. Else errno has
// the reason.
bool is_flushed(int result) noexcept;

// Renames within a folder (AT_FDCWD for paths), unless the new name exists: -1 and EEXIST. File systems that
// cannot do this atomically make a second link. Without links it returns -1 and ENOTSUP.
int rename_or_link(int folder, const char* from, const char* to) noexcept;
// The same, but without links it checks first: locks keep other writers out until it is done. (An empty file
// that reserves the name would be visible, could be locked, and would remain if the process is killed.)
int rename_exclusively(int folder, const char* from, const char* to) noexcept;

// Whether another machine or program stores what is written (NFS, SMB, FUSE, ...). It may be slow, or gone.
// It may also refuse what write() has accepted, because of a quota for example: only fsync() or close() tell.
bool is_on_network(int file) noexcept;
bool is_on_network(const std::string& path) noexcept;

// Drops the first `done` bytes of the vectors from `first` on; returns the new first one.
std::size_t advance(std::vector<iovec>& vectors, std::size_t first, std::size_t done);

// The number of vectors from `first` on that fit one system call. A single larger one is passed unchanged:
// the kernel shortens it.
int batch_of(const std::vector<iovec>& vectors, std::size_t first);

// Reads all vectors from `offset` on with `preadv`. `size`: at opening, for the message.
using PreadvCall = std::function<ssize_t(int file, const iovec* parts, int count, off_t offset)>;
void read_all(int file, const std::string& uri, std::uint64_t size, std::uint64_t offset,
              std::vector<iovec>& vectors, const PreadvCall& preadv);

// A read reached the end of the file at `end`, before its size at opening.
[[noreturn]] void fail_truncated(const std::string& uri, std::uint64_t end, std::uint64_t size);

// Throws ErrorKind::format unless the range lies in a file of `size` bytes.
void check_range(const std::string& uri, std::uint64_t size, std::uint64_t offset, std::uint64_t count);

}  // namespace colonnade::io

#endif
