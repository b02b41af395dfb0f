// The registry of transports: which scheme of a URI is served by which back end. Adding a back end means one
// folder, one function that returns its Transport, and one row of the table in io.cpp.
#ifndef COLONNADE_IO_TRANSPORT_H
#define COLONNADE_IO_TRANSPORT_H

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_system.h"
#include "io/object_store.h"
#include "io/random_access_file.h"

namespace colonnade::io {

struct Transport {
  std::string_view scheme;  // lower case, without the colon
  // All get the whole URI, so that messages name what the caller wrote. A transport that cannot write has no
  // writer.
  std::unique_ptr<RandomAccessFile> (*open_for_reading)(const std::string& uri,
                                                        const ReadFileOptions& options) = nullptr;
  std::unique_ptr<WritableFile> (*open_for_writing)(const std::string& uri, OpenMode mode,
                                                    const WriteFileOptions& options) = nullptr;
  // Of a transport that has objects.
  std::shared_ptr<ObjectStore> (*open_store)(const std::string& uri, const StoreOptions& options) = nullptr;
  // Whether `uri` names a file; without it all do if the transport has files.
  bool (*names_file)(const std::string& uri) = nullptr;
  // The URIs of the files that begin so, of a transport that can list.
  std::vector<std::string> (*list_files)(const std::string& prefix) = nullptr;
  // What is in the folder "scheme://host/folder/", of a transport that can only list by folders: files, and
  // folders with a slash at the end. Throws ErrorKind::unsupported for one that the server does not list,
  // to anyone or to this user.
  std::vector<std::string> (*list_folder)(const std::string& folder) = nullptr;
  // Of a transport that has names of files in place of the two functions that open them.
  std::shared_ptr<FileSystem> (*file_system)() = nullptr;
  // Where the query of a URI begins, of a transport whose URIs may have wildcards and one.
  std::size_t (*query_at)(std::string_view uri) = nullptr;
};

std::span<const Transport> transports() noexcept;

// The transport that serves `uri`; a text that is no URI is a local path. A colon alone makes no URI
// ("run:1.root" is a path) unless a transport is called so. Throws ErrorKind::unsupported for "other://...",
// naming the schemes there are.
const Transport& transport_for(std::string_view uri);

// The start of the first wildcard (*, ?, [) of a URI; npos: none.
std::size_t wildcard_in(const std::string& uri);
// The URIs of the files that fit wildcards, which stand for no slash, in order. Throws ErrorKind::unsupported
// for a transport that cannot list.
std::vector<std::string> match_files(const std::string& pattern);

}  // namespace colonnade::io

#endif
