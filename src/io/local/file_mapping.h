// A file as memory, read safely: whoever touches a mapping of a file that another program has truncated is
// killed (SIGBUS), so the kernel copies from it for us and says how far it came.
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

  // Maps the first `size` bytes. What the system refuses leaves it empty; `errno` says why.
  bool map(int file, std::uint64_t size) noexcept;
  // Copies a range. False if a part of it cannot be had this way, as what lies behind the mapping: then read
  // the file.
  bool copy(std::uint64_t offset, MutableByteSpan into) const noexcept;

 private:
  int file_ = -1;
  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace colonnade::io

#endif
