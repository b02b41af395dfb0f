// An object store in a folder, "obj:///path": it needs nothing but a file system. Any number of processes may
// use a store at once, including a child after a fork. Each value is a file:
//
//   path/
//     colonnade-store          what tells a store from any other folder: "Colonnade object store, layout 1"
//     lock                     held (flock) while a value is replaced on condition; always empty
//     7/                       group
//       42/                    object 7:42
//         3-0                  the value of distribution key 3 and attribute key 0, all its bytes
//         .5f3c...-12.tmp      a value while it is written (locked), or what a process that died has left
//
// A value is written under a temporary name and renamed, so that there is the old one, the new one or none,
// whatever happens to the process. After sync() that holds for the machine, too. The version of a value is
// the number, time and size of its file; the time is set to the nanosecond, so that two replacements never
// have the same one. Other files in a store are ignored and never removed.
#ifndef COLONNADE_IO_LOCAL_LOCAL_STORE_H
#define COLONNADE_IO_LOCAL_LOCAL_STORE_H

#include <sys/types.h>
#include <sys/uio.h>

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "io/object_store.h"

namespace colonnade::io {

// With `create` the folder is made if necessary (but not its parents), and an empty folder becomes a store.
std::shared_ptr<ObjectStore> open_local_store(const std::string& uri, const StoreOptions& options = {});

// The system calls for moving values, as function objects, so that tests can make each of them fail. They
// return -1 and set errno on failure, like the system's. Paths are relative to the folder of the store.
struct StoreCalls {
  std::function<int(int folder, const char* path, int flags)> open;  // O_CREAT makes files of mode 0666
  std::function<int(int folder, const char* path)> make_folder;
  std::function<ssize_t(int file, const iovec* parts, int count, off_t offset)> pwritev;
  std::function<ssize_t(int file, const iovec* parts, int count, off_t offset)> preadv;
  std::function<int(int folder, const char* from, const char* to, bool replace)> rename;
  std::function<int(int file)> lock;  // flock, non-blocking
  std::function<int(int file)> fsync;
  std::function<bool(int file)> is_on_network;
  std::function<int(int file)> syncfs;

  static StoreCalls of_system();
};
// With `create`, a folder that holds nothing but these names becomes a store, too, and keeps them.
std::shared_ptr<ObjectStore> open_local_store(const std::string& uri, const StoreOptions& options,
                                              StoreCalls calls, std::span<const std::string> remains = {});

}  // namespace colonnade::io

#endif
