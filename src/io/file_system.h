// FileSystem: the names of files. What writers do to files besides writing into an open one goes through
// these few functions, so that a simulated file system can stand in for the real one (`memory:` can be given
// another, see memory_file.h).
//
// A new file is written aside, beside its place, and renamed when it is complete (publish()); until then what
// is in its place stays:
//
//   f.root                        what is there, if anything; locked, so that no second writer comes
//   .f.root.0123456789abcdef.part the new file, locked; the number is random
//
// Whoever opens f.root for writing looks for such files. One that somebody has locked is of a writer that is
// alive: the second writer is refused. The others were left by processes that died, and are removed. Where a
// file system knows no locks nobody can tell, and nothing is removed.
#ifndef COLONNADE_IO_FILE_SYSTEM_H
#define COLONNADE_IO_FILE_SYSTEM_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/random_access_file.h"

namespace colonnade::io {

struct LockedFile {
  std::unique_ptr<WritableFile> file;  // null: another writer has it
  bool is_locked = true;               // false: the file system knows no locks
};

// Any thread may call any of these. Paths are what path_of() gave, or such with another last part. Messages
// call a file by its `uri`.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual std::unique_ptr<RandomAccessFile> open_for_reading(const std::string& uri,
                                                             const ReadFileOptions& options) = 0;
  // The file that `uri` means, through all links, whether it is there or not.
  virtual std::string path_of(const std::string& uri) = 0;
  virtual bool exists(const std::string& path, const std::string& uri) = 0;
  // Opens and locks the regular file at `path`. Throws ErrorKind::not_found or io.
  virtual LockedFile open(const std::string& path, const std::string& uri,
                          const WriteFileOptions& options) = 0;
  // The same for one that is not there yet. It gets owner and permissions of the file at `like`, if that is
  // not empty.
  virtual LockedFile create(const std::string& path, const std::string& uri, const std::string& like,
                            const WriteFileOptions& options) = 0;
  // Replaces what is at `to`, in one step.
  virtual void rename(const std::string& from, const std::string& to, const std::string& uri) = 0;
  // The same if nothing is there; false: something is. The default looks first, for transports that cannot do
  // better.
  virtual bool rename_new(const std::string& from, const std::string& to, const std::string& uri) {
    if (exists(to, uri)) return false;
    rename(from, to, uri);
    return true;
  }
  virtual void remove(const std::string& path) = 0;
  // Whether these are two names of one file. Default: files have one name.
  virtual bool is_same(const std::string& /*path*/, const std::string& /*other*/) { return false; }
  // Waits until the names in the folder of `path` are on the device.
  virtual void sync_folder(const std::string& path, const std::string& uri) = 0;
  // The names in the folder of `path`; none where it cannot be listed.
  virtual std::vector<std::string> names_beside(const std::string& path) = 0;
  // Removes what earlier versions may have left of a file at `path`. Default: nothing.
  virtual void remove_old_leftovers(const std::string& /*path*/) {}
};

// OpenMode::update opens what is there. The others begin a new file aside; see WritableFile::publish().
std::unique_ptr<WritableFile> open_for_writing(std::shared_ptr<FileSystem> files, const std::string& uri,
                                               OpenMode mode, const WriteFileOptions& options);

// Whether a name, without folders, is that of a file that is written aside.
bool is_aside_name(std::string_view name) noexcept;

}  // namespace colonnade::io

#endif
