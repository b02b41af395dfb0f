// Asks the kernel to back a large block that is about to be written with huge pages: its first use then costs
// one page fault per 2 MiB instead of 512. Only a hint: a system without huge pages ignores it.
#ifndef COLONNADE_BASE_HUGE_PAGES_H
#define COLONNADE_BASE_HUGE_PAGES_H

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace colonnade {

inline constexpr std::size_t huge_page_size = std::size_t{2} << 20;

// How large to make a block of `bytes` that is aligned to huge_page_size, so that its end is in a huge page,
// too, unless that would waste more than a quarter.
constexpr std::size_t in_huge_pages(std::size_t bytes) noexcept {
  const std::size_t whole = (bytes + huge_page_size - 1) / huge_page_size * huge_page_size;
  return whole - bytes <= bytes / 4 ? whole : bytes;
}

// Below this size, the gain is not worth the system call.
inline constexpr std::size_t huge_page_threshold = std::size_t{512} << 10;

inline void prefer_huge_pages([[maybe_unused]] void* data, std::size_t bytes) noexcept {
  if (bytes < huge_page_threshold) return;
#ifdef MADV_HUGEPAGE
  // The advice covers whole small pages, including the allocator's header: neighbouring blocks then stay one
  // mapping, which huge pages may span.
  constexpr std::uintptr_t page = 4096;
  const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(data) % page;
  const std::size_t whole = (before + bytes + page - 1) / page * page;
  static_cast<void>(::madvise(static_cast<std::byte*>(data) - before, whole, MADV_HUGEPAGE));
#endif
}

}  // namespace colonnade

#endif
