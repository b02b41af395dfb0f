// The names of local files. A writer takes an exclusive advisory lock (flock) before it changes anything, so
// that a second writer is refused and the first one's file stays intact. The lock belongs to the descriptor:
// a process that died leaves none. Between the opening of a file and its lock another writer may put a new
// file in its place: the locked file is therefore compared with what the name refers to now.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "io/local/local_file.h"
#include "io/local/local_system.h"
#include "io/local/write_calls.h"

namespace colonnade::io {
namespace {

namespace fs = std::filesystem;

enum class Lock { taken, busy, unknown };

Lock lock_exclusively(FileDescriptor& file, const std::string& uri) {
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return Lock::busy;
    if (has_no_locks(errno)) return Lock::unknown;
    fail_system(uri, "lock", errno);
  }
  file.note_lock();
  return Lock::taken;
}

bool is_called(const FileDescriptor& file, const std::string& path) {
  struct stat ours{};
  struct stat named{};
  return ::fstat(file.get(), &ours) == 0 && ::stat(path.c_str(), &named) == 0 &&
         ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

// Gives a file the access list of another one, or none: that of its folder (default ACL) may name users who
// could not read the old file. False if it has one that the new file does not get.
bool copy_access_list(const FileDescriptor& file, const std::string& from) {
  constexpr const char* name = "system.posix_acl_access";
  std::vector<char> list(XATTR_SIZE_MAX);
  const ssize_t size = ::getxattr(from.c_str(), name, list.data(), list.size());
  if (size > 0) return ::fsetxattr(file.get(), name, list.data(), static_cast<std::size_t>(size), 0) == 0;
  ::fremovexattr(file.get(), name);
  return true;
}

// Copies owner and permissions as far as the system allows. If the group or an access list, whose mask is
// where the rights of the group are otherwise, cannot be kept, the group gets no more rights than all other
// users.
void make_like(const FileDescriptor& file, const std::string& path, const struct stat& like,
               const std::string& uri) {
  mode_t mode = like.st_mode & 0777;
  const bool has_list = copy_access_list(file, path);
  const bool has_group = ::fchown(file.get(), like.st_uid, like.st_gid) == 0 ||
                         ::fchown(file.get(), static_cast<uid_t>(-1), like.st_gid) == 0;
  if (!has_list || !has_group) {
    const mode_t group = ((mode >> 3) & mode & 07) << 3;
    mode = (mode & ~static_cast<mode_t>(070)) | group;
  }
  if (::fchmod(file.get(), mode) == 0) return;
  const int code = errno;
  struct stat now{};  // some file systems have one mode for all files
  if (::fstat(file.get(), &now) != 0 || (now.st_mode & 0777) != mode)
    fail_system(uri, "set the permissions of the new file", code);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Links in /proc stand for open files. If one has no name, because it was removed for instance, what the link
// says is no path: a file of that name would be another one.
void refuse_nameless(const fs::path& link, const fs::path& target, const std::string& uri) {
  struct statfs where{};
  if (::statfs(link.parent_path().c_str(), &where) != 0 || where.f_type != PROC_SUPER_MAGIC) return;
  struct stat open{};
  struct stat named{};
  if (::stat(link.c_str(), &open) != 0) return;
  const fs::path path = target.is_absolute() ? target : link.parent_path() / target;
  if (::stat(path.c_str(), &named) == 0 && named.st_dev == open.st_dev && named.st_ino == open.st_ino) return;
  throw Error(
      ErrorKind::io,
      fmt::format("cannot open for writing: it is an open file without a name, \"{}\"", target.string()),
      "name a file", {.uri = uri});
}

class LocalFileSystem final : public FileSystem {
 public:
  explicit LocalFileSystem(WriteCalls calls) : calls_(std::move(calls)) {}

  std::unique_ptr<RandomAccessFile> open_for_reading(const std::string& uri,
                                                     const ReadFileOptions& options) override {
    return open_local_for_reading(uri, options);
  }

  std::string path_of(const std::string& uri) override {
    constexpr int most_links = 40;  // the kernel's limit
    std::error_code failure;
    const fs::path given = local_path(uri);
    fs::path path = fs::absolute(given, failure);  // the working folder may change
    if (failure) path = given;
    for (int links = 0;; ++links) {
      const fs::path next = fs::read_symlink(path, failure);
      if (failure) return path.string();  // not a link
      if (links == most_links) fail_system(uri, "open for writing", ELOOP);
      refuse_nameless(path, next, uri);
      path = next.is_absolute() ? next : path.parent_path() / next;
    }
  }

  bool exists(const std::string& path, const std::string& uri) override {
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0) return true;
    if (errno != ENOENT) fail_system(uri, "open for writing", errno);
    return false;
  }

  LockedFile open(const std::string& path, const std::string& uri, const WriteFileOptions& options) override {
    constexpr int most_attempts = 1000;
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      struct stat status{};
      FileDescriptor file = open_regular(path, uri, O_RDWR, status);
      const Lock lock = lock_exclusively(file, uri);
      if (lock == Lock::busy) return {};
      if (!is_called(file, path)) continue;  // another file has replaced it, or it was removed
      return {writable_file(uri, std::move(file), calls_, options), lock == Lock::taken};
    }
    throw Error(
        ErrorKind::io, "cannot open for writing: each time there is another file of this name",
        "look for a program that replaces it; or another folder, if the file system numbers files anew",
        {.uri = uri});
  }

  LockedFile create(const std::string& path, const std::string& uri, const std::string& like,
                    const WriteFileOptions& options) override {
    struct stat old{};
    if (!like.empty() && ::stat(like.c_str(), &old) != 0) fail_system(uri, "examine", errno);
    // Users who may not read the result cannot read it during the writing, either.
    FileDescriptor file = make_new(path, uri, like.empty() ? 0666 : 0600);
    const Lock lock = lock_exclusively(file, uri);
    // Another writer has looked for leftovers before this file was locked, and has removed it.
    if (lock == Lock::busy || !is_called(file, path)) return {};
    if (!like.empty()) make_like(file, like, old, uri);
    return {writable_file(uri, std::move(file), calls_, options), lock == Lock::taken};
  }

  void rename(const std::string& from, const std::string& to, const std::string& uri) override {
    if (calls_.rename(from.c_str(), to.c_str()) != 0)
      fail_system(uri, fmt::format("move the finished file \"{}\" to its place", from), errno);
  }

  bool rename_new(const std::string& from, const std::string& to, const std::string& uri) override {
    if (calls_.rename_new(from.c_str(), to.c_str()) == 0) return true;
    if (errno == EEXIST) return false;
    fail_system(uri, fmt::format("move the finished file \"{}\" to its place", from), errno);
  }

  void remove(const std::string& path) override { ::unlink(path.c_str()); }

  bool is_same(const std::string& path, const std::string& other) override {
    struct stat one{};
    struct stat two{};
    return ::stat(path.c_str(), &one) == 0 && ::lstat(other.c_str(), &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
  }

  bool is_locked(const std::string& path, const std::string& uri) override {
    struct stat status{};
    FileDescriptor file = open_regular(path, uri, O_RDONLY, status);
    if (::flock(file.get(), LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    file.note_lock();
    return false;
  }

  void sync_folder(const std::string& path, const std::string& uri) override {
    const std::string name = folder_of(path);
    int number = -1;
    do number = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (number < 0 && errno == EINTR);
    const FileDescriptor folder(number);
    if (folder.get() < 0) fail_system(uri, fmt::format("open the folder \"{}\" to flush it", name), errno);
    while (!is_flushed(calls_.fsync(folder.get())))
      if (errno != EINTR) fail_system(uri, fmt::format("flush the folder \"{}\" to the device", name), errno);
  }

  // Not by a directory_iterator: without memory the one of libstdc++ ends the program.
  std::vector<std::string> names_beside(const std::string& path) override {
    const auto close = [](DIR* folder) { ::closedir(folder); };
    const std::unique_ptr<DIR, decltype(close)> folder(::opendir(folder_of(path).c_str()), close);
    std::vector<std::string> names;
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    return names;
  }

  // Snapshots of version 0.1 were written in folders ".f.root.PID-0", under their final name.
  void remove_old_leftovers(const std::string& path) override {
    const std::string name = fs::path(path).filename().string();
    for (const std::string& other : names_beside(path)) {
      if (!other.starts_with("." + name + ".")) continue;
      const std::string number = other.substr(name.size() + 2);
      const std::size_t dash = number.find('-');
      if (dash == 0 || dash == std::string::npos || dash + 1 == number.size() ||
          number.find_first_not_of("0123456789-") != std::string::npos)
        continue;
      const fs::path folder = fs::path(folder_of(path)) / other;
      try {
        const LockedFile found = open((folder / name).string(), path, {});
        if (found.file != nullptr && found.is_locked) remove((folder / name).string());
      } catch (const Error&) {  // not empty, or another user's
      }
      ::rmdir(folder.c_str());
    }
  }

 private:
  static FileDescriptor make_new(const std::string& path, const std::string& uri, mode_t mode) {
    int number = -1;
    do number = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    while (number < 0 && errno == EINTR);
    if (number >= 0) return FileDescriptor(number);
    if (errno != EACCES && errno != EPERM && errno != EROFS) fail_system(uri, "open for writing", errno);
    throw Error(ErrorKind::io,
                fmt::format("cannot open for writing: no file can be made in the folder \"{}\" ({})",
                            folder_of(path), system_text(errno)),
                "choose another folder: a new file is written beside its place, and moved there when it is "
                "complete",
                {.uri = uri});
  }

  WriteCalls calls_;
};

bool in_memory(int file) {
  struct statfs status{};
  return ::fstatfs(file, &status) == 0 && status.f_type == TMPFS_MAGIC;
}

}  // namespace

WriteCalls WriteCalls::of_system() {
  return {
      .pwrite = ::pwrite,
      .pwritev = ::pwritev,
      .pread = ::pread,
      .copy_range = [](int from, off_t* begin, int file, off_t* offset,
                       std::size_t count) { return ::copy_file_range(from, begin, file, offset, count, 0); },
      .share_range =
          [](int from, off_t begin, int file, off_t offset, std::uint64_t count) {
            const file_clone_range range{from, static_cast<std::uint64_t>(begin), count,
                                         static_cast<std::uint64_t>(offset)};
            return ::ioctl(file, FICLONERANGE, &range);
          },
      .fallocate =
          [](int file, int mode, off_t offset, off_t count) {
            // Space ahead spares a disk extents. In tmpfs it is pages of memory, cleared for nothing.
            if ((mode & FALLOC_FL_KEEP_SIZE) != 0 && in_memory(file)) return errno = EOPNOTSUPP, -1;
            return ::fallocate(file, mode, offset, count);
          },
      .ftruncate = ::ftruncate,
      .fdatasync = ::fdatasync,
      .fsync = ::fsync,
      .rename = ::rename,
      .rename_new = [](const char* from, const char* to) { return rename_exclusively(AT_FDCWD, from, to); },
      .close = ::close,
      .set_direct =
          [](int file, bool on) {
            const int flags = ::fcntl(file, F_GETFL);
            return flags < 0 ? -1 : ::fcntl(file, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT);
          },
      .is_on_network = [](int file) { return io::is_on_network(file); }};
}

std::shared_ptr<FileSystem> local_file_system() {
  static const std::shared_ptr<FileSystem> instance = local_file_system(WriteCalls::of_system());
  return instance;
}

std::shared_ptr<FileSystem> local_file_system(WriteCalls calls) {
  return std::make_shared<LocalFileSystem>(std::move(calls));
}

}  // namespace colonnade::io
