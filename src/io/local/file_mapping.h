// A file as memory, read safely: accessing a mapping of a file that another program has truncated kills the
// process (SIGBUS), so the kernel copies from it and reports how far it came.
#ifndef COLONNADE_IO_LOCAL_FILE_MAPPING_H
#define COLONNADE_IO_LOCAL_FILE_MAPPING_H

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace colonnade::io {

class FileMapping {
 public:
  FileMapping() = default;
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;
  ~FileMapping();

  // Maps the first `size` bytes. On failure the mapping stays empty; `errno` has the reason.
  bool map(int file, std::uint64_t size) noexcept;
  // Copies a range. Returns false if part of it is not mapped or not readable: then read the
  // file.
  bool copy(std::uint64_t offset, MutableByteSpan into) const noexcept;

 private:
  int file_ = -1;
  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace colonnade::io

#endif
