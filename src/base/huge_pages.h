// Asks the kernel to back a large block that is about to be written with huge pages: its first use then costs
// one page fault per 2 MiB instead of 512. A wish: where the system has none, nothing changes.
#ifndef COLONNADE_BASE_HUGE_PAGES_H
#define COLONNADE_BASE_HUGE_PAGES_H

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace colonnade {

// Below this, what the kernel could join is not worth the call.
inline constexpr std::size_t huge_page_threshold = std::size_t{512} << 10;

inline void prefer_huge_pages([[maybe_unused]] void* data, std::size_t bytes) noexcept {
  if (bytes < huge_page_threshold) return;
#ifdef MADV_HUGEPAGE
  // Whole small pages, the allocator's own bytes in front included: neighbouring blocks then stay one
  // mapping, and huge pages may span them.
  constexpr std::uintptr_t page = 4096;
  const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(data) % page;
  const std::size_t whole = (before + bytes + page - 1) / page * page;
  static_cast<void>(::madvise(static_cast<std::byte*>(data) - before, whole, MADV_HUGEPAGE));
#endif
}

}  // namespace colonnade

#endif
