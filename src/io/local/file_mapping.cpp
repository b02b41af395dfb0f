// See file_mapping.h and docs/decisions/0004-mappings-are-copied-from.md.
#include "io/local/file_mapping.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

namespace colonnade::io {

FileMapping::~FileMapping() {
  if (begin_ != nullptr) ::munmap(begin_, size_);
}

bool FileMapping::map(int file, std::uint64_t size) noexcept {
  if (size == 0 || size > std::numeric_limits<std::size_t>::max()) {
    errno = size == 0 ? 0 : ENOMEM;
    return false;
  }
  void* place = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_SHARED, file, 0);
  if (place == MAP_FAILED) return false;
  file_ = file;
  begin_ = static_cast<std::byte*>(place);
  size_ = static_cast<std::size_t>(size);
  return true;
}

bool FileMapping::copy(std::uint64_t offset, MutableByteSpan into) const noexcept {
  if (begin_ == nullptr || offset > size_ || into.size() > size_ - offset) return false;
  std::byte* from = begin_ + offset;
  for (MutableByteSpan rest = into; !rest.empty();) {
    const iovec to{rest.data(), rest.size()};
    const iovec there{from, rest.size()};
    const ssize_t done = ::process_vm_readv(::getpid(), &to, 1, &there, 1, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    from += done;
    rest = rest.subspan(static_cast<std::size_t>(done));
  }
  // The last page of a mapping continues after the end of the file, with zeros: they are content only if the
  // file still has its old length.
  struct stat status{};
  return ::fstat(file_, &status) == 0 && static_cast<std::uint64_t>(status.st_size) >= offset + into.size();
}

}  // namespace colonnade::io
