// Named buffers of this process, "memory:name": files without a file system, for tests and for data that need
// no disk. A buffer lives until remove_memory_file() even when nobody has it open. Any thread may use any of
// this.
#ifndef COLONNADE_IO_MEMORY_MEMORY_FILE_H
#define COLONNADE_IO_MEMORY_MEMORY_FILE_H

#include <memory>
#include <string>
#include <vector>

#include "io/random_access_file.h"

namespace colonnade::io {

std::unique_ptr<RandomAccessFile> open_memory_for_reading(const std::string& uri,
                                                          const ReadFileOptions& options = {});
std::unique_ptr<WritableFile> open_memory_for_writing(const std::string& uri, OpenMode mode,
                                                      const WriteFileOptions& options = {});
std::vector<std::string> list_memory_files(const std::string& prefix);

// The content of a buffer as a whole; `uri` with or without "memory:". Throws ErrorKind::not_found.
Bytes memory_file_content(const std::string& uri);
void store_memory_file(const std::string& uri, ByteSpan content);
void remove_memory_file(const std::string& uri) noexcept;

}  // namespace colonnade::io

#endif
