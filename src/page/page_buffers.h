// PageBuffers: recycled memory for sealed and decoded pages. The block returned last is reused first, because
// it is still in the cache and backed by physical memory. Any thread may take and return blocks. A forked
// child does not take back blocks lent before the fork.
#ifndef COLONNADE_PAGE_PAGE_BUFFERS_H
#define COLONNADE_PAGE_PAGE_BUFFERS_H

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/process.h"

namespace colonnade::page {

class PageBuffers : public std::enable_shared_from_this<PageBuffers> {
  // A part of a slab. All blocks of a slab have the same size; the last of them frees the slab.
  struct Block {
    std::byte* data = nullptr;
    std::size_t size = 0;
    std::shared_ptr<AlignedBuffer> slab;
  };

 public:
  // Keeps at most `keep` bytes of unused memory.
  explicit PageBuffers(std::size_t keep);

  // A block that returns to the pool when this object is destroyed.
  class Loan {
   public:
    Loan() = default;
    Loan(Loan&& other) noexcept { swap(other); }
    Loan& operator=(Loan&& other) noexcept {
      Loan(std::move(other)).swap(*this);
      return *this;
    }
    ~Loan() {
      if (home_) home_->take_back(std::move(block_));
    }
    std::byte* data() const noexcept { return block_.data; }
    std::size_t capacity() const noexcept { return block_.size; }

   private:
    friend class PageBuffers;
    Loan(std::shared_ptr<PageBuffers> home, Block block) : home_(std::move(home)), block_(std::move(block)) {}
    void swap(Loan& other) noexcept {
      home_.swap(other.home_);
      std::swap(block_, other.block_);
    }
    std::shared_ptr<PageBuffers> home_;
    Block block_;
  };

  // At least `size` bytes, aligned to `alignment` (a power of 2, at most 256 KiB) and to 64.
  Loan lend(std::size_t size, std::size_t alignment = AlignedBuffer::default_alignment);

  struct Statistics {
    std::size_t lent = 0;  // bytes in use
    std::size_t kept = 0;  // unused bytes kept for reuse
    std::size_t peak_lent = 0;
    std::size_t allocations = 0;
  };
  Statistics statistics() const;

 private:
  Block allocate(std::size_t size);
  void take_back(Block block) noexcept;
  void note_lent(std::size_t size);

  const std::size_t keep_;
  const Process process_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<Block>> free_;  // by size
  Statistics statistics_;
};

}  // namespace colonnade::page

#endif
