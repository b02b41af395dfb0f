// See local_system.h.
#include "io/local/local_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace colonnade::io {
namespace {

constexpr std::size_t most_parts = 1024;                  // of one system call on Linux (IOV_MAX)
constexpr std::size_t most_bytes = std::size_t{1} << 30;  // Linux transfers at most 2 GiB - 4 KiB in one call

bool is_space(char letter) {
  return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

// Of `man 2 statfs` and the kernel's magic.h.
constexpr std::array<std::uint32_t, 12> network_file_systems = {
    0x6969,      // NFS
    0x517b,      // SMB
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB 2
    0x65735546,  // FUSE
    0x00c36400,  // Ceph
    0x0bd00bd0,  // Lustre
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0x5346414f,  // AFS
    0x6b414653,  // AFS of the kernel
    0x01021997,  // 9P
};

bool is_on_network(const struct statfs& status) noexcept {
  return std::ranges::find(network_file_systems, static_cast<std::uint32_t>(status.f_type)) !=
         network_file_systems.end();
}

}  // namespace

std::string system_advice(int code, std::string_view uri) {
  switch (code) {
    case ENOENT:  // lines of a list, perhaps from Windows, end with "\r\n"
      if (!uri.empty() && (is_space(uri.front()) || is_space(uri.back())))
        return "the name without the white space around it";
      if (uri.starts_with('~') || uri.starts_with('$'))
        return "the path in full: only a shell knows what '~' and '$HOME' stand for";
      return "check the path";
    case ENOTDIR:
      return "check the path, of which a part is a file; a data set in a file is 'f.root:Events'";
    case ELOOP:
      return "check the symbolic links";
    case ENAMETOOLONG:
      return "a shorter name";
    case EACCES:
    case EPERM:
      return "check the permissions of the file and of its folder";
    case EROFS:
      return "another folder: this file system is mounted for reading only";
    case EMFILE:
    case ENFILE:
      return "close other files or raise the limit of open files (ulimit -n)";
    case ENOSPC:
      return "free space on the device or choose another one";
    case EDQUOT:
      return "free space within the quota, have it raised, or choose another device";
    case EFBIG:
      return "raise the limit of file sizes (ulimit -f)";
    case EIO:
      return "check the device and the system's log";
    case ESTALE:
      return "open it again: it was replaced or removed on its server";
    case ENOTCONN:
      return "mount the file system again: the program behind it has ended";
    default:
      return {};
  }
}

std::string system_text(int code) {
  return std::generic_category().message(code);
}

void fail_system(const std::string& uri, std::string_view action, int code,
                 std::optional<std::uint64_t> offset) {
  const ErrorKind kind = code == ENOENT || code == ENOTDIR ? ErrorKind::not_found : ErrorKind::io;
  throw Error(kind, fmt::format("cannot {} ({})", action, system_text(code)), system_advice(code, uri),
              {.uri = uri, .offset = offset});
}

FileDescriptor::FileDescriptor(int number) noexcept : number_(number) {
  if (number < 0 || number > STDERR_FILENO) return;
  const int other = ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (other < 0) return;
  ::close(number);
  number_ = other;
}

FileDescriptor::~FileDescriptor() {
  unlock();
  if (number_ >= 0) ::close(number_);
}

void FileDescriptor::note_lock() noexcept {
  locked_by_ = ::getpid();
}

void FileDescriptor::unlock() noexcept {
  if (number_ >= 0 && std::exchange(locked_by_, 0) == ::getpid()) ::flock(number_, LOCK_UN);
}

bool has_no_locks(int code) noexcept {
  return code == ENOLCK || code == ENOTSUP || code == ENOSYS || code == EINVAL || code == EPERM;
}

bool is_flushed(int result) noexcept {
  return result == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS;
}

bool is_on_network(int file) noexcept {
  struct statfs status{};
  return ::fstatfs(file, &status) == 0 && is_on_network(status);
}

bool is_on_network(const std::string& path) noexcept {
  struct statfs status{};
  return ::statfs(path.c_str(), &status) == 0 && is_on_network(status);
}

// O_NONBLOCK keeps open() from waiting for the other end of a pipe; it has no effect on regular files.
FileDescriptor open_regular(const std::string& path, const std::string& uri, int flags, struct stat& status,
                            mode_t mode) {
  int number = -1;
  do number = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, mode);
  while (number < 0 && errno == EINTR);
  const bool writing = (flags & O_ACCMODE) != O_RDONLY;
  if (number < 0 && errno != EISDIR) fail_system(uri, writing ? "open for writing" : "open", errno);
  FileDescriptor file(number);
  if (number >= 0 && ::fstat(file.get(), &status) != 0) fail_system(uri, "examine", errno);
  if (number < 0 || S_ISDIR(status.st_mode))
    throw Error(ErrorKind::io, "cannot open: it is a directory", "name a file inside it", {.uri = uri});
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::io, "cannot open: it is not a regular file",
                writing ? "the name of a file" : "copy its content to a file first", {.uri = uri});
  return file;
}

namespace {

bool is_same(int folder, const char* one, const char* other) noexcept {
  struct stat a{};
  struct stat b{};
  return ::fstatat(folder, one, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstatat(folder, other, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

}  // namespace

int rename_or_link(int folder, const char* from, const char* to) noexcept {
  if (::renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return 0;
  // EPERM is also what containers say of calls that they do not let through.
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP && errno != EPERM) return -1;
  // If the answer of a server was lost, the system makes the link twice.
  if (::linkat(folder, from, folder, to, 0) == 0 || (errno == EEXIST && is_same(folder, from, to))) {
    ::unlinkat(folder, from, 0);
    return 0;
  }
  if (errno == EPERM || errno == ENOSYS || errno == EMLINK) errno = ENOTSUP;
  return -1;
}

int rename_exclusively(int folder, const char* from, const char* to) noexcept {
  if (rename_or_link(folder, from, to) == 0) return 0;
  if (errno != ENOTSUP) return -1;
  struct stat there{};
  if (::fstatat(folder, to, &there, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? ::renameat(folder, from, folder, to) : -1;
  errno = EEXIST;
  return -1;
}

std::size_t advance(std::vector<iovec>& vectors, std::size_t first, std::size_t done) {
  while (first < vectors.size() && done >= vectors[first].iov_len) done -= vectors[first++].iov_len;
  if (done > 0) {
    vectors[first].iov_base = static_cast<char*>(vectors[first].iov_base) + done;
    vectors[first].iov_len -= done;
  }
  return first;
}

int batch_of(const std::vector<iovec>& vectors, std::size_t first) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (first + count < vectors.size() && count < most_parts) {
    bytes += vectors[first + count].iov_len;
    if (count > 0 && bytes > most_bytes) break;
    ++count;
  }
  return static_cast<int>(count);
}

void read_all(int file, const std::string& uri, std::uint64_t size, std::uint64_t offset,
              std::vector<iovec>& vectors, const PreadvCall& preadv) {
  std::size_t first = advance(vectors, 0, 0);
  while (first < vectors.size()) {
    const ssize_t done =
        preadv(file, vectors.data() + first, batch_of(vectors, first), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_system(uri, fmt::format("read {} bytes", vectors[first].iov_len), errno, offset);
    if (done == 0) fail_truncated(uri, offset, size);
    offset += static_cast<std::uint64_t>(done);
    first = advance(vectors, first, static_cast<std::size_t>(done));
  }
}

void fail_truncated(const std::string& uri, std::uint64_t end, std::uint64_t size) {
  throw Error(ErrorKind::io,
              fmt::format("the file ends at byte {} although it had {} bytes when it was opened", end, size),
              "another program truncated it: open it again when it is complete", {.uri = uri, .offset = end});
}

void check_range(const std::string& uri, std::uint64_t size, std::uint64_t offset, std::uint64_t count) {
  if (offset > size || count > size - offset)
    throw Error(ErrorKind::format,
                fmt::format("{} bytes were requested beyond the end of the file ({} bytes)", count, size),
                "check that the file was transferred completely", {.uri = uri, .offset = offset});
}

}  // namespace colonnade::io
