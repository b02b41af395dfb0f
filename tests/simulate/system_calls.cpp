// The system calls for local files and folders. Those for paths below "/sim", and for files opened there, go
// to the file system of the world; all others to the system.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "colonnade/error.h"
#include "container/object_store/directory.h"
#include "file_system.h"
#include "real_calls.h"
#include "world.h"

namespace colonnade::simulate {
namespace {

std::set<const void*>& open_folders() {
  static std::set<const void*> folders;
  return folders;
}

bool is_ours(int file) noexcept {
  return file >= first_simulated_file;
}

// Resolves the path, if it is ours.
bool resolve(int folder, const char* path, std::string& full) {
  if (path == nullptr || World::inside() == nullptr) return false;
  if (path[0] == '/') {
    full = path;
  } else {
    if (!is_ours(folder)) return false;
    const OpenFile* open = FileSystem::of_world()->find(folder);
    if (open == nullptr) return false;
    full = open->path + "/" + path;
  }
  return is_simulated(full) && FileSystem::of_world() != nullptr;
}

// In a folder store only anchors are visible; files are examined now and then, too.
bool is_in_store(const std::string& path) {
  return path.find("/store") != std::string::npos;
}

bool is_anchor(const std::string& path) {
  return !is_in_store(path) || (path.find("/0/0/") != std::string::npos && path.ends_with("-0"));
}

template <class Call, class What>
auto step(Call&& call, bool changes, const What& what, bool shows = true)
    -> decltype(call(*FileSystem::of_world())) {
  World& world = *World::inside();
  if (!world.begin_operation()) {
    errno = EIO;
    return -1;
  }
  world.tell(what);
  if (changes && !world.process().is_observer && world.fault(world.rates.fail, "the system refuses it")) {
    errno = world.random().chance(0.5) ? ENOSPC : EIO;
    return -1;
  }
  const auto result = call(*FileSystem::of_world());
  const int code = errno;
  if (changes && result >= 0 && (shows || world.random().chance(0.04))) world.note_change();
  if (!world.end_operation()) {
    errno = EIO;
    return -1;
  }
  errno = code;
  return result;
}

std::string name_of(int file) {
  const OpenFile* open = FileSystem::of_world()->find(file);
  return open != nullptr ? open->path.substr(4) : "?";
}

// Records the new owner of the data set of a record in a folder.
void note_claim(FileSystem& files, const std::string& path) {
  const Bytes* const bytes = files.content_of(path);
  if (bytes == nullptr || path.ends_with("/0-0")) return;  // the counter of generations
  World& world = *World::inside();
  std::uint64_t writer = 0;
  try {
    const container::PlaceRecord record = container::read_place_record(*bytes);
    if (record.claim) writer = record.claim->writer;
  } catch (const Error&) {  // the observer will find it
    return;
  }
  if (std::exchange(files.claims[path], writer) != writer && writer != 0)
    world.process().claimed = world.steps();
}

Bytes joined(const iovec* parts, int count) {
  Bytes bytes;
  for (int i = 0; i < count; ++i) {
    const auto* const begin = static_cast<const std::byte*>(parts[i].iov_base);
    bytes.insert(bytes.end(), begin, begin + parts[i].iov_len);
  }
  return bytes;
}

std::int64_t write_at(int file, Bytes bytes, std::uint64_t offset) {
  World& world = *World::inside();
  if (world.breaks(Rule::head_is_one_write) && offset < 512 && bytes.size() > 60 && bytes.size() < 300) {
    // In two pieces, between which the process or the machine may die.
    const auto first = static_cast<std::size_t>(world.random().between(4, 55));
    const std::size_t cut = bytes.size() - first;
    const Bytes rest(bytes.begin() + static_cast<std::ptrdiff_t>(cut), bytes.end());
    bytes.resize(cut);
    const auto write_piece = [&](const Bytes& piece, std::uint64_t at) {
      return step([&](FileSystem& files) { return files.write(file, piece, at); }, true,
                  [] { return std::string("writes half the head"); });
    };
    if (write_piece(bytes, offset) < 0 || write_piece(rest, offset + cut) < 0) return -1;
    return static_cast<std::int64_t>(cut + rest.size());
  }
  if (world.breaks(Rule::writes_in_place) && offset > 600 && world.random().chance(0.02)) offset += 1;
  const auto whole = static_cast<std::int64_t>(bytes.size());
  if (world.breaks(Rule::writes_are_whole) && bytes.size() > 16 && world.random().chance(0.02))
    bytes.resize(bytes.size() - 8);
  return step(
      [&](FileSystem& files) { return files.write(file, bytes, offset) < 0 ? std::int64_t{-1} : whole; },
      true, [&] { return fmt::format("writes {} bytes at {} of {}", bytes.size(), offset, name_of(file)); },
      offset < 1024 && !is_in_store(name_of(file)));
}

std::int64_t read_at(int file, const iovec* parts, int count, std::uint64_t offset) {
  return step(
      [&](FileSystem& files) {
        std::int64_t all = 0;
        for (int i = 0; i < count; ++i) {
          const std::int64_t done = files.read(file, static_cast<std::byte*>(parts[i].iov_base),
                                               parts[i].iov_len, offset + static_cast<std::uint64_t>(all));
          if (done < 0) return done;
          all += done;
          if (done < static_cast<std::int64_t>(parts[i].iov_len)) break;
        }
        return all;
      },
      false, [&] { return fmt::format("reads at {} of {}", offset, name_of(file)); });
}

int open_ours(const std::string& path, int flags, mode_t mode) {
  const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0;
  return step(
      [&](FileSystem& files) { return files.open(path, flags, mode); }, changes,
      [&] { return fmt::format("opens {}{}", path.substr(4), (flags & O_CREAT) != 0 ? ", makes it" : ""); },
      !is_in_store(path));
}

// Not a step: invisible to other processes.
int status_ours(const std::string& path, struct stat* into) {
  return FileSystem::of_world()->status(path, into);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(arguments, unsigned int)) : 0;
}

template <class Function, class... Arguments>
auto real(const char* name, Arguments... arguments) {
  return real_call<Function>(name)(arguments...);
}

}  // namespace
}  // namespace colonnade::simulate

// ---- the library's calls, by the system's names, also those for large files ----

using namespace colonnade::simulate;

extern "C" {

#define COLONNADE_OPEN(function, name)                                      \
  int function(const char* path, int flags, ...) SIMULATED(name);           \
  int function(const char* path, int flags, ...) {                          \
    va_list arguments;                                                      \
    va_start(arguments, flags);                                             \
    const mode_t mode = mode_of(flags, arguments);                          \
    va_end(arguments);                                                      \
    std::string full;                                                       \
    if (resolve(AT_FDCWD, path, full)) return open_ours(full, flags, mode); \
    return real<int(const char*, int, ...)>(name, path, flags, mode);       \
  }
COLONNADE_OPEN(simulated_open, "open")
COLONNADE_OPEN(simulated_open64, "open64")

#define COLONNADE_OPENAT(function, name)                                           \
  int function(int folder, const char* path, int flags, ...) SIMULATED(name);      \
  int function(int folder, const char* path, int flags, ...) {                     \
    va_list arguments;                                                             \
    va_start(arguments, flags);                                                    \
    const mode_t mode = mode_of(flags, arguments);                                 \
    va_end(arguments);                                                             \
    std::string full;                                                              \
    if (resolve(folder, path, full)) return open_ours(full, flags, mode);          \
    return real<int(int, const char*, int, ...)>(name, folder, path, flags, mode); \
  }
COLONNADE_OPENAT(simulated_openat, "openat")
COLONNADE_OPENAT(simulated_openat64, "openat64")

int simulated_close(int file) SIMULATED("close");
int simulated_close(int file) {
  static const auto system = real_call<int(int)>("close");
  if (!is_ours(file)) return system(file);
  if (FileSystem::of_world() == nullptr) return 0;
  if (World::inside()->process().is_observer) return FileSystem::of_world()->close(file);
  return step([&](FileSystem& files) { return files.close(file); }, false,
              [&] { return fmt::format("closes {}", name_of(file)); });
}

#define COLONNADE_FSTAT(function, name)                                   \
  int function(int file, struct stat* into) SIMULATED(name);              \
  int function(int file, struct stat* into) {                             \
    if (is_ours(file)) return FileSystem::of_world()->status(file, into); \
    return real<int(int, struct stat*)>(name, file, into);                \
  }
COLONNADE_FSTAT(simulated_fstat, "fstat")
COLONNADE_FSTAT(simulated_fstat64, "fstat64")

#define COLONNADE_STAT(function, name)                                 \
  int function(const char* path, struct stat* into) SIMULATED(name);   \
  int function(const char* path, struct stat* into) {                  \
    std::string full;                                                  \
    if (resolve(AT_FDCWD, path, full)) return status_ours(full, into); \
    return real<int(const char*, struct stat*)>(name, path, into);     \
  }
COLONNADE_STAT(simulated_stat, "stat")
COLONNADE_STAT(simulated_stat64, "stat64")
COLONNADE_STAT(simulated_lstat, "lstat")
COLONNADE_STAT(simulated_lstat64, "lstat64")

#define COLONNADE_FSTATAT(function, name)                                                   \
  int function(int folder, const char* path, struct stat* into, int flags) SIMULATED(name); \
  int function(int folder, const char* path, struct stat* into, int flags) {                \
    std::string full;                                                                       \
    if (resolve(folder, path, full)) return status_ours(full, into);                        \
    return real<int(int, const char*, struct stat*, int)>(name, folder, path, into, flags); \
  }
COLONNADE_FSTATAT(simulated_fstatat, "fstatat")
COLONNADE_FSTATAT(simulated_fstatat64, "fstatat64")

#define COLONNADE_PREADV(function, name)                                                       \
  ssize_t function(int file, const iovec* parts, int count, off_t offset) SIMULATED(name);     \
  ssize_t function(int file, const iovec* parts, int count, off_t offset) {                    \
    if (is_ours(file)) return read_at(file, parts, count, static_cast<std::uint64_t>(offset)); \
    return real<ssize_t(int, const iovec*, int, off_t)>(name, file, parts, count, offset);     \
  }
COLONNADE_PREADV(simulated_preadv, "preadv")
COLONNADE_PREADV(simulated_preadv64, "preadv64")

#define COLONNADE_PREAD(function, name)                                                    \
  ssize_t function(int file, void* into, std::size_t count, off_t offset) SIMULATED(name); \
  ssize_t function(int file, void* into, std::size_t count, off_t offset) {                \
    const iovec part{into, count};                                                         \
    if (is_ours(file)) return read_at(file, &part, 1, static_cast<std::uint64_t>(offset)); \
    return real<ssize_t(int, void*, std::size_t, off_t)>(name, file, into, count, offset); \
  }
COLONNADE_PREAD(simulated_pread, "pread")
COLONNADE_PREAD(simulated_pread64, "pread64")

#define COLONNADE_PWRITEV(function, name)                                                               \
  ssize_t function(int file, const iovec* parts, int count, off_t offset) SIMULATED(name);              \
  ssize_t function(int file, const iovec* parts, int count, off_t offset) {                             \
    if (is_ours(file)) return write_at(file, joined(parts, count), static_cast<std::uint64_t>(offset)); \
    return real<ssize_t(int, const iovec*, int, off_t)>(name, file, parts, count, offset);              \
  }
COLONNADE_PWRITEV(simulated_pwritev, "pwritev")
COLONNADE_PWRITEV(simulated_pwritev64, "pwritev64")

#define COLONNADE_PWRITE(function, name)                                                            \
  ssize_t function(int file, const void* from, std::size_t count, off_t offset) SIMULATED(name);    \
  ssize_t function(int file, const void* from, std::size_t count, off_t offset) {                   \
    const iovec part{const_cast<void*>(from), count};                                               \
    if (is_ours(file)) return write_at(file, joined(&part, 1), static_cast<std::uint64_t>(offset)); \
    return real<ssize_t(int, const void*, std::size_t, off_t)>(name, file, from, count, offset);    \
  }
COLONNADE_PWRITE(simulated_pwrite, "pwrite")
COLONNADE_PWRITE(simulated_pwrite64, "pwrite64")

#define COLONNADE_FTRUNCATE(function, name)                                                                  \
  int function(int file, off_t size) SIMULATED(name);                                                        \
  int function(int file, off_t size) {                                                                       \
    if (!is_ours(file)) return real<int(int, off_t)>(name, file, size);                                      \
    const off_t wanted = World::inside()->breaks(Rule::truncate_keeps) && size > 0 ? size - 1 : size;        \
    return step([&](FileSystem& files) { return files.truncate(file, static_cast<std::uint64_t>(wanted)); }, \
                true, [&] { return fmt::format("truncates {} to {}", name_of(file), size); });               \
  }
COLONNADE_FTRUNCATE(simulated_ftruncate, "ftruncate")
COLONNADE_FTRUNCATE(simulated_ftruncate64, "ftruncate64")

#define COLONNADE_FALLOCATE(function, name)                                   \
  int function(int file, int mode, off_t offset, off_t size) SIMULATED(name); \
  int function(int file, int mode, off_t offset, off_t size) {                \
    if (is_ours(file)) return 0;                                              \
    return real<int(int, int, off_t, off_t)>(name, file, mode, offset, size); \
  }
COLONNADE_FALLOCATE(simulated_fallocate, "fallocate")
COLONNADE_FALLOCATE(simulated_fallocate64, "fallocate64")

#define COLONNADE_FADVISE(function, name)                                       \
  int function(int file, off_t offset, off_t size, int advice) SIMULATED(name); \
  int function(int file, off_t offset, off_t size, int advice) {                \
    if (is_ours(file)) return 0;                                                \
    return real<int(int, off_t, off_t, int)>(name, file, offset, size, advice); \
  }
COLONNADE_FADVISE(simulated_fadvise, "posix_fadvise")
COLONNADE_FADVISE(simulated_fadvise64, "posix_fadvise64")

#define COLONNADE_FLUSH(function, name)                                            \
  int function(int file) SIMULATED(name);                                          \
  int function(int file) {                                                         \
    if (!is_ours(file)) return real<int(int)>(name, file);                         \
    return step([&](FileSystem& files) { return files.flush(file); }, true,        \
                [&] { return fmt::format("{} {}", name, name_of(file)); }, false); \
  }
COLONNADE_FLUSH(simulated_fsync, "fsync")
COLONNADE_FLUSH(simulated_fdatasync, "fdatasync")

int simulated_syncfs(int file) SIMULATED("syncfs");
int simulated_syncfs(int file) {
  if (!is_ours(file)) return real<int(int)>("syncfs", file);
  return step([&](FileSystem& files) { return files.flush_all(); }, true,
              [] { return std::string("syncfs"); });
}

int simulated_flock(int file, int operation) SIMULATED("flock");
int simulated_flock(int file, int operation) {
  if (!is_ours(file)) return real<int(int, int)>("flock", file, operation);
  while (true) {
    const int result = step([&](FileSystem& files) { return files.lock(file, operation); }, false,
                            [&] { return fmt::format("locks {}", name_of(file)); });
    World& world = *World::inside();
    if (result == 0 && (operation & LOCK_EX) != 0 && !is_in_store(name_of(file)))
      world.process().claimed = world.steps();
    const bool waits = result != 0 && errno == EWOULDBLOCK && (operation & LOCK_NB) == 0;
    if (!waits || world.process().dead) return result;
    world.sleep_until(world.now() + millisecond);
  }
}

static int rename_ours(const std::string& from, const std::string& to, bool replace) {
  return step(
      [&](FileSystem& files) {
        const int result = files.rename(from, to, replace);
        if (result == 0 && is_in_store(to) && is_anchor(to)) note_claim(files, to);
        return result;
      },
      true, [&] { return fmt::format("renames {} to {}", from.substr(4), to.substr(4)); }, is_anchor(to));
}

int simulated_rename(const char* from, const char* to) SIMULATED("rename");
int simulated_rename(const char* from, const char* to) {
  std::string old_path;
  std::string new_path;
  if (resolve(AT_FDCWD, from, old_path) && resolve(AT_FDCWD, to, new_path))
    return rename_ours(old_path, new_path, true);
  return real<int(const char*, const char*)>("rename", from, to);
}

int simulated_renameat(int a, const char* from, int b, const char* to) SIMULATED("renameat");
int simulated_renameat(int a, const char* from, int b, const char* to) {
  std::string old_path;
  std::string new_path;
  if (resolve(a, from, old_path) && resolve(b, to, new_path)) return rename_ours(old_path, new_path, true);
  return real<int(int, const char*, int, const char*)>("renameat", a, from, b, to);
}

int simulated_renameat2(int a, const char* from, int b, const char* to, unsigned flags)
    SIMULATED("renameat2");
int simulated_renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
  std::string old_path;
  std::string new_path;
  if (resolve(a, from, old_path) && resolve(b, to, new_path))
    return rename_ours(old_path, new_path, (flags & RENAME_NOREPLACE) == 0);
  return real<int(int, const char*, int, const char*, unsigned)>("renameat2", a, from, b, to, flags);
}

int simulated_linkat(int a, const char* from, int b, const char* to, int flags) SIMULATED("linkat");
int simulated_linkat(int a, const char* from, int b, const char* to, int flags) {
  std::string old_path;
  std::string new_path;
  if (resolve(a, from, old_path) && resolve(b, to, new_path))
    return step([&](FileSystem& files) { return files.link(old_path, new_path); }, true,
                [&] { return fmt::format("links {} to {}", new_path.substr(4), old_path.substr(4)); });
  return real<int(int, const char*, int, const char*, int)>("linkat", a, from, b, to, flags);
}

static int remove_ours(const std::string& path, bool is_folder) {
  return step([&](FileSystem& files) { return files.remove(path, is_folder); }, true,
              [&] { return fmt::format("removes {}", path.substr(4)); }, is_anchor(path));
}

int simulated_unlink(const char* path) SIMULATED("unlink");
int simulated_unlink(const char* path) {
  std::string full;
  if (resolve(AT_FDCWD, path, full)) return remove_ours(full, false);
  return real<int(const char*)>("unlink", path);
}

int simulated_unlinkat(int folder, const char* path, int flags) SIMULATED("unlinkat");
int simulated_unlinkat(int folder, const char* path, int flags) {
  std::string full;
  if (resolve(folder, path, full)) return remove_ours(full, (flags & AT_REMOVEDIR) != 0);
  return real<int(int, const char*, int)>("unlinkat", folder, path, flags);
}

int simulated_rmdir(const char* path) SIMULATED("rmdir");
int simulated_rmdir(const char* path) {
  std::string full;
  if (resolve(AT_FDCWD, path, full)) return remove_ours(full, true);
  return real<int(const char*)>("rmdir", path);
}

int simulated_mkdirat(int folder, const char* path, mode_t mode) SIMULATED("mkdirat");
int simulated_mkdirat(int folder, const char* path, mode_t mode) {
  std::string full;
  if (resolve(folder, path, full))
    return step([&](FileSystem& files) { return files.make_folder(full, mode); }, true,
                [&] { return fmt::format("makes the folder {}", full.substr(4)); });
  return real<int(int, const char*, mode_t)>("mkdirat", folder, path, mode);
}

int simulated_mkdir(const char* path, mode_t mode) SIMULATED("mkdir");
int simulated_mkdir(const char* path, mode_t mode) {
  std::string full;
  if (resolve(AT_FDCWD, path, full)) return simulated_mkdirat(AT_FDCWD, path, mode);
  return real<int(const char*, mode_t)>("mkdir", path, mode);
}

#define COLONNADE_STATFS(function, name)                                                           \
  int function(int file, struct statfs* into) SIMULATED(name);                                     \
  int function(int file, struct statfs* into) {                                                    \
    if (!is_ours(file)) return real<int(int, struct statfs*)>(name, file, into);                   \
    *into = {};                                                                                    \
    const bool is_on_network =                                                                     \
        FileSystem::of_world()->is_on_network && !World::inside()->breaks(Rule::network_is_known); \
    into->f_type = is_on_network ? 0x6969 : 0xef53;                                                \
    return 0;                                                                                      \
  }
COLONNADE_STATFS(simulated_fstatfs, "fstatfs")
COLONNADE_STATFS(simulated_fstatfs64, "fstatfs64")

int simulated_futimens(int file, const timespec times[2]) SIMULATED("futimens");
int simulated_futimens(int file, const timespec times[2]) {
  if (!is_ours(file)) return real<int(int, const timespec*)>("futimens", file, times);
  return FileSystem::of_world()->set_time(file, (times[1].tv_sec - 1767225600) * second + times[1].tv_nsec);
}

int simulated_fchmod(int file, mode_t mode) SIMULATED("fchmod");
int simulated_fchmod(int file, mode_t mode) {
  return is_ours(file) ? 0 : real<int(int, mode_t)>("fchmod", file, mode);
}

int simulated_fchown(int file, uid_t user, gid_t group) SIMULATED("fchown");
int simulated_fchown(int file, uid_t user, gid_t group) {
  return is_ours(file) ? 0 : real<int(int, uid_t, gid_t)>("fchown", file, user, group);
}

#define COLONNADE_FCNTL(function, name)                             \
  int function(int file, int command, ...) SIMULATED(name);         \
  int function(int file, int command, ...) {                        \
    va_list arguments;                                              \
    va_start(arguments, command);                                   \
    void* const argument = va_arg(arguments, void*);                \
    va_end(arguments);                                              \
    if (is_ours(file)) return command == F_GETFL ? O_RDWR : 0;      \
    return real<int(int, int, ...)>(name, file, command, argument); \
  }
COLONNADE_FCNTL(simulated_fcntl, "fcntl")
COLONNADE_FCNTL(simulated_fcntl64, "fcntl64")

ssize_t simulated_readlink(const char* path, char* into, std::size_t size) SIMULATED("readlink");
ssize_t simulated_readlink(const char* path, char* into, std::size_t size) {
  std::string full;
  if (!resolve(AT_FDCWD, path, full))
    return real<ssize_t(const char*, char*, std::size_t)>("readlink", path, into, size);
  struct stat status{};
  if (status_ours(full, &status) == 0) errno = EINVAL;  // there are no links
  return -1;
}

// ---- folders ----

static DIR* open_folder(int file) {
  auto* const folder = new OpenFolder{.file = file};
  const int result =
      step([&](FileSystem& files) { return files.list(file, folder->names) ? 0 : (errno = ENOTDIR, -1); },
           false, [&] { return fmt::format("lists {}", name_of(file)); });
  if (result != 0) {
    delete folder;
    return nullptr;
  }
  open_folders().insert(folder);
  return reinterpret_cast<DIR*>(folder);
}

DIR* simulated_fdopendir(int file) SIMULATED("fdopendir");
DIR* simulated_fdopendir(int file) {
  return is_ours(file) ? open_folder(file) : real<DIR*(int)>("fdopendir", file);
}

DIR* simulated_opendir(const char* path) SIMULATED("opendir");
DIR* simulated_opendir(const char* path) {
  std::string full;
  if (!resolve(AT_FDCWD, path, full)) return real<DIR*(const char*)>("opendir", path);
  const int file = open_ours(full, O_RDONLY | O_DIRECTORY, 0);
  return file < 0 ? nullptr : open_folder(file);
}

static dirent* next_in(DIR* handle) {
  static dirent entry;
  auto* const folder = reinterpret_cast<OpenFolder*>(handle);
  if (folder->next == folder->names.size()) return nullptr;
  const std::string& name = folder->names[folder->next++];
  entry = {};
  entry.d_ino = 1;
  entry.d_type = DT_UNKNOWN;
  std::memcpy(entry.d_name, name.c_str(), std::min(name.size() + 1, sizeof entry.d_name));
  return &entry;
}

#define COLONNADE_READDIR(function, name)                        \
  dirent* function(DIR* folder) SIMULATED(name);                 \
  dirent* function(DIR* folder) {                                \
    if (open_folders().contains(folder)) return next_in(folder); \
    return real<dirent*(DIR*)>(name, folder);                    \
  }
COLONNADE_READDIR(simulated_readdir, "readdir")
COLONNADE_READDIR(simulated_readdir64, "readdir64")

int simulated_dirfd(DIR* folder) SIMULATED("dirfd");
int simulated_dirfd(DIR* folder) {
  if (open_folders().contains(folder)) return reinterpret_cast<OpenFolder*>(folder)->file;
  return real<int(DIR*)>("dirfd", folder);
}

int simulated_closedir(DIR* folder) SIMULATED("closedir");
int simulated_closedir(DIR* folder) {
  if (open_folders().erase(folder) == 0) return real<int(DIR*)>("closedir", folder);
  const std::unique_ptr<OpenFolder> own(reinterpret_cast<OpenFolder*>(folder));
  return simulated_close(own->file);
}
}
