// PageSealer: encodes and compresses pages in the thread pool and returns them in submission order. The
// number of pages and bytes in flight is limited. A thread that waits for a page that no thread has claimed
// seals it itself, so that the pool cannot deadlock.
//
// One thread at a time uses a sealer.
#ifndef COLONNADE_PAGE_PAGE_SEALER_H
#define COLONNADE_PAGE_PAGE_SEALER_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <limits>
#include <memory>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "codec/compression.h"
#include "colonnade/column_type.h"

namespace colonnade::page {

// A page to be sealed.
struct PageBeingSealed {
  // Its position in the cluster.
  std::uint32_t column = 0;
  std::size_t number = 0;  // among the column's pages
  // The elements: `values` points into `memory`.
  AlignedBuffer memory;
  const std::byte* values = nullptr;
  std::size_t elements = 0;
  ElementType element = ElementType::byte;
  ColumnEncoding encoding;
  // Set once it is sealed.
  AlignedBuffer block;
  std::uint64_t sum = 0;  // XXH3 of the block
  std::exception_ptr failure;
  // For the owner: the limit of unwritten bytes once this page is sealed.
  std::size_t most_waiting = std::numeric_limits<std::size_t>::max();
};

class PageSealer {
 public:
  explicit PageSealer(const codec::CompressionSettings& compression, ThreadPool& pool = ThreadPool::shared());
  ~PageSealer();  // waits for pages being sealed; drops the others
  PageSealer(const PageSealer&) = delete;
  PageSealer& operator=(const PageSealer&) = delete;

  void submit(PageBeingSealed page);
  bool empty() const noexcept { return jobs_.empty(); }
  // True if the oldest page should be taken before another one is added.
  bool full() const noexcept;
  PageBeingSealed& newest() noexcept;
  // The oldest page, sealed, or with the error of its sealing.
  PageBeingSealed take();

 private:
  enum class State { waiting, taken, done };
  struct Job {
    PageBeingSealed page;
    codec::CompressionSettings compression;
    std::atomic<State> state = State::waiting;
    bool claim() noexcept;
    void seal() noexcept;
  };

  codec::CompressionSettings compression_;
  ThreadPool& pool_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::size_t bytes_ = 0;  // of the elements of all jobs
};

}  // namespace colonnade::page

#endif
