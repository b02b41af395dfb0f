// What reading and writing local files share: descriptors, the loops around system calls, and errors that say
// what the system refused. Every loop continues after a signal (EINTR) and after a short transfer.
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

// What the system calls an errno.
std::string system_text(int code);

// Throws the error of the system `code` (errno) for `action` ("read 5 bytes").
[[noreturn]] void fail_system(const std::string& uri, std::string_view action, int code,
                              std::optional<std::uint64_t> offset = {});

// Owns a file descriptor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)), locked_by_(std::exchange(other.locked_by_, 0)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor();
  int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }
  // That this process holds a lock (flock). A child that is forked meanwhile has it, too, for as long as it
  // lives: closing alone would not end it.
  void note_lock() noexcept;
  void unlock() noexcept;

 private:
  int number_;
  int locked_by_ = 0;  // a process
};

// Opens a regular file, or throws; `status` becomes that of the file. A new one gets the permissions `mode`.
FileDescriptor open_regular(const std::string& path, const std::string& uri, int flags, struct stat& status,
                            mode_t mode = 0666);

// Renames within a folder (AT_FDCWD for paths), unless something has that name: -1 and EEXIST. File systems
// that cannot do this in one step make a second link. Where there are no links either it is -1 and ENOTSUP.
int rename_or_link(int folder, const char* from, const char* to) noexcept;
// The same, but without links it is looked first: other writers are kept out by their locks until it is done.
// (A name that is reserved by an empty file would be seen, locked, and left behind by whoever is killed.)
int rename_exclusively(int folder, const char* from, const char* to) noexcept;

// Drops the first `done` bytes of the vectors from `first` on; returns the new first one.
std::size_t advance(std::vector<iovec>& vectors, std::size_t first, std::size_t done);

// How many vectors from `first` on fit one system call. A single larger one is passed as it is: the kernel
// shortens it.
int batch_of(const std::vector<iovec>& vectors, std::size_t first);

// Reads all vectors from `offset` on with `preadv`. `size` is that of the opening, for the message.
using PreadvCall = std::function<ssize_t(int file, const iovec* parts, int count, off_t offset)>;
void read_all(int file, const std::string& uri, std::uint64_t size, std::uint64_t offset,
              std::vector<iovec>& vectors, const PreadvCall& preadv);

// A read met the end of the file at `end`, before the size seen at opening.
[[noreturn]] void fail_truncated(const std::string& uri, std::uint64_t end, std::uint64_t size);

// Throws ErrorKind::format unless the range lies in a file of `size` bytes.
void check_range(const std::string& uri, std::uint64_t size, std::uint64_t offset, std::uint64_t count);

}  // namespace colonnade::io

#endif
