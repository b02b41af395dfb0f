// The registry of transports: which back end serves which URI scheme. A new back end needs one folder, one
// function that returns its Transport, and one row of the table in io.cpp.
#ifndef COLONNADE_IO_TRANSPORT_H
#define COLONNADE_IO_TRANSPORT_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_system.h"
#include "io/object_store.h"
#include "io/random_access_file.h"

namespace colonnade::io {

struct Transport {
  std::string_view scheme;  // lower case, without the colon
  // All functions get the whole URI, so that messages name what the caller wrote. A read-only transport has
  // no writer.
  std::unique_ptr<RandomAccessFile> (*open_for_reading)(const std::string& uri,
                                                        const ReadFileOptions& options) = nullptr;
  std::unique_ptr<WritableFile> (*open_for_writing)(const std::string& uri, OpenMode mode,
                                                    const WriteFileOptions& options) = nullptr;
  // For transports with objects.
  std::shared_ptr<ObjectStore> (*open_store)(const std::string& uri, const StoreOptions& options) = nullptr;
  // True if `uri` names a file; null: every URI does if the transport has files.
  bool (*names_file)(const std::string& uri) = nullptr;
  // The URIs of the files with this prefix, for transports that can list.
  std::vector<std::string> (*list_files)(const std::string& prefix) = nullptr;
  // The entries of the folder "scheme://host/folder/", for transports that can only list by folders: files,
  // and folders with a slash at the end. Throws ErrorKind::unsupported if the server does not list the
  // folder, or not for this user.
  std::vector<std::string> (*list_folder)(const std::string& folder) = nullptr;
  // For transports with file names, instead of the two functions that open files.
  std::shared_ptr<FileSystem> (*file_system)() = nullptr;
  // The position of a URI's query, for transports whose URIs may have wildcards and a query.
  std::size_t (*query_at)(std::string_view uri) = nullptr;
};

// The transport that serves `uri`; a text that is not a URI is a local path. A colon alone does not make a
// URI ("run:1.root" is a path) unless it follows a known scheme. Throws ErrorKind::unsupported for
// "other://...", which names the known schemes.
const Transport& transport_for(std::string_view uri);
// The same; null in place of an error.
const Transport* find_transport(std::string_view uri);

// The position of the first wildcard (*, ?, [) of a URI; npos: none.
std::size_t wildcard_in(const std::string& uri);
// The URIs of the files that match wildcards, which do not match slashes, sorted. A folder "**" stands for
// any number of folders. Throws ErrorKind::unsupported for a transport that cannot list.
std::vector<std::string> match_files(const std::string& pattern);

}  // namespace colonnade::io

#endif
