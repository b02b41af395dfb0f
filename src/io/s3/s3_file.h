// "s3://bucket/key.root": an object in S3 as a file.
//
// Reading: ranged GETs of the object that was there when the file was opened; one that was replaced since is
// noticed (If-Match) and not mixed with the other.
//
// Writing: a multipart upload. Parts are sent in the background as soon as they are full; the object appears,
// whole, when the file is closed, and not at all if it is not. Until then whatever was at the key stays. A
// part that was sent cannot be changed or read any more, only the first one is kept to the end. An object
// that is there cannot be changed in place: opening it for update is ErrorKind::unsupported.
#ifndef COLONNADE_IO_S3_S3_FILE_H
#define COLONNADE_IO_S3_S3_FILE_H

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/random_access_file.h"

namespace colonnade::io {

std::unique_ptr<RandomAccessFile> open_s3_for_reading(const std::string& uri, const ReadFileOptions& options);
std::unique_ptr<WritableFile> open_s3_for_writing(const std::string& uri, OpenMode mode,
                                                  const WriteFileOptions& options);
// Keys that end with ".root" or ".bare", and URIs that end with "?file", are files. Other keys are prefixes
// of object stores if they have no ending, or a slash or "?store" at the end; else ErrorKind::usage.
bool names_s3_file(const std::string& uri);
std::string without_s3_mark(const std::string& uri);
std::size_t s3_query_at(std::string_view uri);  // where "?file" or "?store" begins, or the end
std::vector<std::string> list_s3_files(const std::string& prefix);

}  // namespace colonnade::io

#endif
