// PageBuffers: recycled memory for sealed and decoded pages. What comes back is handed out again, last one
// first, because it is still in the cache and its memory pages are mapped already. Any thread may take and
// return.
#ifndef COLONNADE_PAGE_PAGE_BUFFERS_H
#define COLONNADE_PAGE_PAGE_BUFFERS_H

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/aligned_buffer.h"

namespace colonnade::page {

class PageBuffers : public std::enable_shared_from_this<PageBuffers> {
 public:
  // Keeps at most `keep` bytes that nobody uses.
  explicit PageBuffers(std::size_t keep) : keep_(keep) {}

  // A block from here that goes back when this object dies.
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
    std::byte* data() noexcept { return block_.data(); }
    const std::byte* data() const noexcept { return block_.data(); }
    std::size_t capacity() const noexcept { return block_.capacity(); }

   private:
    friend class PageBuffers;
    Loan(std::shared_ptr<PageBuffers> home, AlignedBuffer block)
        : home_(std::move(home)), block_(std::move(block)) {}
    void swap(Loan& other) noexcept {
      home_.swap(other.home_);
      block_.swap(other.block_);
    }
    std::shared_ptr<PageBuffers> home_;
    AlignedBuffer block_;
  };

  // At least `size` bytes, aligned to `alignment` (a power of 2) and to 64.
  Loan lend(std::size_t size, std::size_t alignment = AlignedBuffer::default_alignment);

  struct Statistics {
    std::size_t lent = 0;  // bytes in use
    std::size_t kept = 0;  // bytes that wait to be used again
    std::size_t peak_lent = 0;
    std::size_t allocations = 0;
  };
  Statistics statistics() const;

 private:
  void take_back(AlignedBuffer block) noexcept;

  const std::size_t keep_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<AlignedBuffer>> free_;  // by capacity
  Statistics statistics_;
};

}  // namespace colonnade::page

#endif
