// PageArena: memory for sealed pages, packed in large blocks. Compressed pages have any size: with separate
// allocations, allocator gaps and slack would add up over thousands of columns.
#ifndef COLONNADE_PAGE_PAGE_ARENA_H
#define COLONNADE_PAGE_PAGE_ARENA_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/huge_pages.h"

namespace colonnade::page {

class PageArena {
 public:
  // Valid until clear().
  MutableByteSpan take(std::size_t size) {
    while (current_ < blocks_.size() && blocks_[current_].size() - filled_ < size) {
      ++current_;
      filled_ = 0;
    }
    if (current_ == blocks_.size()) add_block(size);
    const MutableByteSpan taken = blocks_[current_].span().subspan(filled_, size);
    filled_ += size;
    return taken;
  }
  // Keeps the blocks for reuse.
  void clear() noexcept {
    current_ = 0;
    filled_ = 0;
  }

 private:
  static constexpr std::size_t smallest = std::size_t{64} << 10;
  static constexpr std::size_t largest = std::size_t{8} << 20;

  // Doubles the capacity, so that few data need little memory.
  void add_block(std::size_t size) {
    const std::size_t usual = std::clamp(std::bit_ceil(reserved_), smallest, largest);
    const std::size_t wanted = std::max(size, usual);
    // Small pages, at a page fault each, are in front of the first whole huge page and behind the last.
    const bool is_large = wanted >= huge_page_size;
    AlignedBuffer& block =
        blocks_.emplace_back(wanted, is_large ? huge_page_size : AlignedBuffer::default_alignment);
    prefer_huge_pages(block.data(), block.size());
    reserved_ += block.size();
  }

  std::vector<AlignedBuffer> blocks_;
  std::size_t current_ = 0;  // the block being filled
  std::size_t filled_ = 0;   // bytes used in it
  std::size_t reserved_ = 0;
};

}  // namespace colonnade::page

#endif
