// PageSealer: encodes and compresses pages in the thread pool and gives them back in the order in which they
// came. What may be under way is limited, in pages and in bytes; who waits for a page that nobody has begun
// seals it himself, so that no number of threads comes to a standstill.
//
// Belongs to one thread at a time.
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

// A page on its way.
struct PageBeingSealed {
  // Its place in the cluster.
  std::uint32_t column = 0;
  std::size_t number = 0;  // among the column's pages
  // The elements: `values` lies in `memory`.
  AlignedBuffer memory;
  const std::byte* values = nullptr;
  std::size_t elements = 0;
  ElementType element = ElementType::byte;
  ColumnEncoding encoding;
  // When it is sealed.
  AlignedBuffer block;
  std::uint64_t sum = 0;  // XXH3 of the block
  std::exception_ptr failure;
  // For the owner: how many bytes may wait to be written once this page is among them.
  std::size_t most_waiting = std::numeric_limits<std::size_t>::max();
};

class PageSealer {
 public:
  explicit PageSealer(const codec::CompressionSettings& compression, ThreadPool& pool = ThreadPool::shared());
  ~PageSealer();  // waits for pages that are being sealed; the others are dropped
  PageSealer(const PageSealer&) = delete;
  PageSealer& operator=(const PageSealer&) = delete;

  void submit(PageBeingSealed page);
  bool empty() const noexcept { return jobs_.empty(); }
  // Whether the oldest page should be taken before another one comes.
  bool full() const noexcept;
  PageBeingSealed& newest() noexcept;
  // The oldest page, sealed, or with the reason why it could not be.
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
