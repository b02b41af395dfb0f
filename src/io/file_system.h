// FileSystem: the names of files. All operations of writers on files, except writing to an open one, go
// through these few functions, so that a simulated file system can replace the real one (see memory_file.h
// for `memory:`).
//
// A new file is written to a temporary file next to its target, and renamed when it is complete (publish());
// until then the target stays:
//
//   f.root                        what is there, if anything; locked, so that no second writer comes
//   .f.root.0123456789abcdef.part the new file, locked; the number is random
//
// A process that opens f.root for writing looks for such files. A locked one belongs to a running writer: the
// second writer is refused. Others were left by processes that died, and are removed. If a file system has no
// locks, the two cases cannot be told apart, and nothing is removed.
#ifndef COLONNADE_IO_FILE_SYSTEM_H
#define COLONNADE_IO_FILE_SYSTEM_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/random_access_file.h"

namespace colonnade::io {

struct LockedFile {
  std::unique_ptr<WritableFile> file;  // null: another writer has locked it
  bool is_locked = true;               // false: the file system has no locks
  // Where a server that is started anew has forgotten its locks: what tells the file from another one of its
  // name. Else empty.
  std::string version = {};
};

// Thread-safe. Paths are results of path_of(), possibly with another last part. Messages name a file by its
// `uri`.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual std::unique_ptr<RandomAccessFile> open_for_reading(const std::string& uri,
                                                             const ReadFileOptions& options) = 0;
  // The file that `uri` refers to, through all links; it need not exist.
  virtual std::string path_of(const std::string& uri) = 0;
  virtual bool exists(const std::string& path, const std::string& uri) = 0;
  // Opens and locks the regular file at `path`. Throws ErrorKind::not_found or io.
  virtual LockedFile open(const std::string& path, const std::string& uri,
                          const WriteFileOptions& options) = 0;
  // The same for a new file. It gets owner and permissions of the file at `like`, unless that is
  // empty.
  virtual LockedFile create(const std::string& path, const std::string& uri, const std::string& like,
                            const WriteFileOptions& options) = 0;
  // Atomically replaces `to`.
  virtual void rename(const std::string& from, const std::string& to, const std::string& uri) = 0;
  // The same if `to` does not exist; returns false if it does. The default checks first, for transports
  // without an atomic operation.
  virtual bool rename_new(const std::string& from, const std::string& to, const std::string& uri) {
    if (exists(to, uri)) return false;
    rename(from, to, uri);
    return true;
  }
  virtual void remove(const std::string& path) = 0;
  // True if these are two names of one file. Default: files have one name.
  virtual bool is_same(const std::string& /*path*/, const std::string& /*other*/) { return false; }
  // True if a writer has locked the file at `path`. Default: no locks.
  virtual bool is_locked(const std::string& /*path*/, const std::string& /*uri*/) { return false; }
  // Waits until the names in the folder of `path` are on the device.
  virtual void sync_folder(const std::string& path, const std::string& uri) = 0;
  // The names in the folder of `path`; empty if it cannot be listed.
  virtual std::vector<std::string> names_beside(const std::string& path) = 0;
  // Removes what earlier versions may have left of a file at `path`. Default: does nothing.
  virtual void remove_old_leftovers(const std::string& /*path*/) {}
};

// OpenMode::update opens an existing file. The others begin a temporary file; see
// WritableFile::publish().
std::unique_ptr<WritableFile> open_for_writing(std::shared_ptr<FileSystem> files, const std::string& uri,
                                               OpenMode mode, const WriteFileOptions& options);

// The error for a file that another writer has open.
[[noreturn]] void fail_locked(const std::string& uri);

// True if a name, without folders, is that of a temporary file.
bool is_aside_name(std::string_view name) noexcept;

}  // namespace colonnade::io

#endif
