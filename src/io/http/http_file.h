// "https://host/folder/file.root": a file of a web server.
//
// Reading: requests for single ranges, many at once over kept connections (HTTP/2 where the server offers
// it). Opening asks for the first and the last 64 KiB at once, which tells the size as well; HEAD is not
// needed. All requests name the version that was there at opening (If-Match, or else If-Unmodified-Since),
// and what comes back is compared with it, its size included: a file that changes while it is open is an
// error, never a mixture. From a server that knows no ranges, files of up to 64 MiB are read as a whole at
// opening; larger ones are refused. After a redirection, requests go straight to where it led, until that
// place refuses.
//
// Writing: the file is kept in a temporary local file and sent when it is closed, by PUT. Where the server
// can rename (WebDAV's MOVE), it is sent under another name first, so that it appears whole or not at all; to
// other servers it is sent under its own name. Files are not changed in place: opening one for update is
// ErrorKind::unsupported.
//
// Listing: the links of a folder's index page.
#ifndef COLONNADE_IO_HTTP_HTTP_FILE_H
#define COLONNADE_IO_HTTP_HTTP_FILE_H

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/random_access_file.h"

namespace colonnade::io {

std::unique_ptr<RandomAccessFile> open_http_for_reading(const std::string& uri,
                                                        const ReadFileOptions& options);
std::unique_ptr<WritableFile> open_http_for_writing(const std::string& uri, OpenMode mode,
                                                    const WriteFileOptions& options);
// What the index page of the folder "https://host/folder/" leads to within it: files, and folders with a
// slash at the end, as whole URIs. Throws ErrorKind::unsupported where there is no such page.
std::vector<std::string> list_http_folder(const std::string& folder);
// Where the "?" of a query stands, or the end.
std::size_t http_query_at(std::string_view uri);

}  // namespace colonnade::io

#endif
