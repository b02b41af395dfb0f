// Opening local files for reading.
#include "io/local/local_file.h"

#include <fcntl.h>

#include <utility>

#include "io/local/local_reader.h"
#include "io/local/read_calls.h"

namespace colonnade::io {

std::unique_ptr<RandomAccessFile> open_local_for_reading(const std::string& uri,
                                                         const ReadFileOptions& options) {
  return open_local_for_reading(uri, options, ReadCalls::of_system());
}

std::unique_ptr<RandomAccessFile> open_local_for_reading(const std::string& uri,
                                                         const ReadFileOptions& options, ReadCalls calls) {
  struct stat status{};
  FileDescriptor file = open_regular(local_path(uri), uri, O_RDONLY, status);
  return std::make_unique<LocalFile>(uri, std::move(file), static_cast<std::uint64_t>(status.st_size),
                                     options, std::move(calls));
}

}  // namespace colonnade::io
