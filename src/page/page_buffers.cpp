// See page_buffers.h. Blocks have power-of-two sizes up to 1 MiB, so that pages of similar sizes share them,
// and few sizes above. A reader that needs more than a little memory takes them from slabs of whole huge
// pages: a page fault per 4 KiB of memory costs more than decoding the data into it.
#include "page/page_buffers.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/huge_pages.h"

namespace colonnade::page {
namespace {

// Files may have many pages of a few bytes: reading them ahead must not take 4 KiB for each.
constexpr std::size_t smallest = 256;
constexpr std::size_t smallest_shared = huge_page_size / 32;
// Below this total, a reader gets its blocks one by one.
constexpr std::size_t little = std::size_t{4} << 20;

std::size_t block_size_for(std::size_t size) noexcept {
  if (size <= huge_page_size / 2) return std::max(std::bit_ceil(size), smallest);
  if (size > huge_page_size && in_huge_pages(size) > size) return in_huge_pages(size);
  constexpr std::size_t step = huge_page_size / 8;
  return (size + step - 1) / step * step;
}

// Whole huge pages, with no more than eight of the blocks that do not divide one.
std::size_t slab_size_for(std::size_t block) noexcept {
  return huge_page_size % block == 0 ? huge_page_size : std::lcm(block, huge_page_size);
}

}  // namespace

PageBuffers::PageBuffers(std::size_t keep) : keep_(keep) {}

void PageBuffers::note_lent(std::size_t size) {
  statistics_.lent += size;
  statistics_.peak_lent = std::max(statistics_.peak_lent, statistics_.lent);
}

PageBuffers::Loan PageBuffers::lend(std::size_t size, std::size_t alignment) {
  // Blocks up to 1 MiB are aligned to their size, larger ones to 256 KiB at least; larger alignments need
  // larger blocks.
  const std::size_t wanted = block_size_for(std::max(size, alignment));
  const std::lock_guard lock(mutex_);
  auto found = free_.lower_bound(wanted);
  // A block of up to twice the size is acceptable.
  while (found != free_.end() && found->second.empty() && found->first <= 2 * wanted) ++found;
  Block block;
  if (found != free_.end() && found->first <= 2 * wanted) {
    block = std::move(found->second.back());
    found->second.pop_back();
    statistics_.kept -= block.size;
  } else {
    block = allocate(wanted);
  }
  note_lent(block.size);
  return {shared_from_this(), std::move(block)};
}

PageBuffers::Block PageBuffers::allocate(std::size_t size) {
  ++statistics_.allocations;
  const bool shared =
      size >= smallest_shared && size <= huge_page_size && statistics_.lent + statistics_.kept >= little;
  const std::size_t whole = shared ? slab_size_for(size) : size;
  const std::size_t alignment =
      shared || size > huge_page_size / 2 ? huge_page_size : std::max(size, smallest);
  auto slab = std::make_shared<AlignedBuffer>(whole, alignment);
  if (whole >= huge_page_size) prefer_huge_pages(slab->data(), whole);
  for (std::size_t at = size; at < whole; at += size) {
    free_[size].push_back({slab->data() + at, size, slab});
    statistics_.kept += size;
  }
  return {slab->data(), size, slab};
}

void PageBuffers::take_back(Block block) noexcept {
  // A thread that does not exist in this forked child may have held the lock during the fork.
  if (!process_.is_current()) return;
  const std::lock_guard lock(mutex_);
  statistics_.lent -= block.size;
  try {
    if (statistics_.kept + block.size <= keep_) {
      const std::size_t size = block.size;
      free_[size].push_back(std::move(block));
      statistics_.kept += size;
    }
  } catch (const std::bad_alloc&) {  // freed instead
  }
}

PageBuffers::Statistics PageBuffers::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace colonnade::page
