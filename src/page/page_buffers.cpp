// See page_buffers.h.
#include "page/page_buffers.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace colonnade::page {
namespace {

// Sealed pages of a column differ a little in size; rounding lets them share blocks.
std::size_t rounded(std::size_t size) noexcept {
  const std::size_t step = size < (std::size_t{64} << 10) ? std::size_t{4} << 10 : std::size_t{64} << 10;
  return std::max((size + step - 1) / step * step, step);
}

bool is_aligned(const AlignedBuffer& block, std::size_t alignment) noexcept {
  return reinterpret_cast<std::uintptr_t>(block.data()) % alignment == 0;
}

}  // namespace

PageBuffers::Loan PageBuffers::lend(std::size_t size, std::size_t alignment) {
  const std::size_t wanted = rounded(size);
  {
    const std::lock_guard lock(mutex_);
    // Somewhat larger will do: half as much again.
    for (auto it = free_.lower_bound(wanted); it != free_.end() && it->first <= wanted + wanted / 2; ++it) {
      auto& blocks = it->second;
      if (blocks.empty() || !is_aligned(blocks.back(), alignment)) continue;
      AlignedBuffer block = std::move(blocks.back());
      blocks.pop_back();
      statistics_.kept -= block.capacity();
      statistics_.lent += block.capacity();
      statistics_.peak_lent = std::max(statistics_.peak_lent, statistics_.lent);
      return {shared_from_this(), std::move(block)};
    }
  }
  AlignedBuffer block(wanted, std::max(alignment, AlignedBuffer::default_alignment));
  const std::lock_guard lock(mutex_);
  ++statistics_.allocations;
  statistics_.lent += block.capacity();
  statistics_.peak_lent = std::max(statistics_.peak_lent, statistics_.lent);
  return {shared_from_this(), std::move(block)};
}

void PageBuffers::take_back(AlignedBuffer block) noexcept {
  const std::size_t size = block.capacity();
  const std::lock_guard lock(mutex_);
  statistics_.lent -= size;
  if (size > keep_) return;
  try {
    // The blocks kept longest are those of the sizes that are not asked for any more.
    for (auto it = free_.begin(); it != free_.end() && statistics_.kept + size > keep_;) {
      statistics_.kept -= it->first * it->second.size();
      it = free_.erase(it);
    }
    free_[size].push_back(std::move(block));
    statistics_.kept += size;
  } catch (const std::bad_alloc&) {  // then it is freed
  }
}

PageBuffers::Statistics PageBuffers::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace colonnade::page
