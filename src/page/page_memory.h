// PageMemory: memory of the sealed pages of an open cluster until they are written. A container that still
// writes after it has returned keeps it; meanwhile the next pages use another one.
#ifndef COLONNADE_PAGE_PAGE_MEMORY_H
#define COLONNADE_PAGE_PAGE_MEMORY_H

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "base/aligned_buffer.h"
#include "page/page_arena.h"

namespace colonnade::page {

struct PageMemory {
  PageArena arena;                  // of pages that were copied
  std::vector<AlignedBuffer> kept;  // memory taken over with its page
};

// Two PageMemory objects: one is filled while the other is written. One thread at a time calls lend(); any
// thread may release the result.
class PageMemoryPool : public std::enable_shared_from_this<PageMemoryPool> {
 public:
  PageMemoryPool() { free_.reserve(most); }

  // Returns an unused PageMemory; waits until there is one.
  std::unique_ptr<PageMemory> take() {
    std::unique_lock lock(mutex_);
    if (free_.empty() && made_ < most) {
      auto memory = std::make_unique<PageMemory>();
      ++made_;
      return memory;
    }
    returned_.wait(lock, [&] { return !free_.empty(); });
    std::unique_ptr<PageMemory> memory = std::move(free_.back());
    free_.pop_back();
    return memory;
  }

  // `memory` returns to the pool with the last copy of the result.
  std::shared_ptr<void> lend(std::unique_ptr<PageMemory> memory) {
    return {memory.release(),
            [pool = shared_from_this()](PageMemory* returned) { pool->give_back(returned); }};
  }

 private:
  static constexpr int most = 2;

  void give_back(PageMemory* memory) noexcept {  // there is room
    const std::lock_guard lock(mutex_);
    free_.emplace_back(memory);
    returned_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<PageMemory>> free_;
  int made_ = 0;
};

}  // namespace colonnade::page

#endif
