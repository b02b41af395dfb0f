// Named buffers of this process, "memory:name": files without a file system, for tests and for data
// that need no disk. A buffer lives until remove_memory_file(), even if it is not open.
// Thread-safe.
#ifndef COLONNADE_IO_MEMORY_MEMORY_FILE_H
#define COLONNADE_IO_MEMORY_MEMORY_FILE_H

#include <memory>
#include <string>
#include <vector>

#include "io/file_system.h"

namespace colonnade::io {

std::shared_ptr<FileSystem> memory_file_system();
// Replaces the file system for all URIs "memory:...", for simulations; returns the previous one, which must
// be restored. No file may be open, and no other thread may open one.
std::shared_ptr<FileSystem> replace_memory_file_system(std::shared_ptr<FileSystem> files);
std::vector<std::string> list_memory_files(const std::string& prefix);

// The whole content of a buffer; `uri` with or without "memory:". Throws ErrorKind::not_found.
Bytes memory_file_content(const std::string& uri);
void store_memory_file(const std::string& uri, ByteSpan content);
void remove_memory_file(const std::string& uri) noexcept;

}  // namespace colonnade::io

#endif
