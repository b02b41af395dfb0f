// Reading an object in S3 as a file, on any client: what open_s3_for_reading() returns.
#ifndef COLONNADE_IO_S3_S3_FILE_READER_H
#define COLONNADE_IO_S3_S3_FILE_READER_H

#include <functional>
#include <memory>
#include <string>

#include "io/random_access_file.h"
#include "io/s3/s3_client.h"

namespace colonnade::io {

using OpenS3Queue = std::function<std::unique_ptr<S3Queue>(unsigned depth)>;

std::unique_ptr<RandomAccessFile> make_s3_reader(const std::string& uri, S3Opening opening,
                                                 OpenS3Queue open_queue);

}  // namespace colonnade::io

#endif
