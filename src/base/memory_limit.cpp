#include "base/memory_limit.h"

#include <fmt/format.h>
#include <unistd.h>

namespace colonnade {

void MemoryLimit::fail(std::uint64_t count, std::uint64_t bytes, const char* what) const {
  throw Error(
      ErrorKind::format,
      fmt::format("{}: {} times {} bytes of memory are more than a file of this size can need ({} are left)",
                  what, count, bytes, left_),
      "check that the file comes from where it should");
}

std::uint64_t machine_memory() noexcept {
  static const std::uint64_t all = [] {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long size = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size)
                                 : ~std::uint64_t{0};
  }();
  return all;
}

}  // namespace colonnade
