// PageMemory: memory of the sealed pages of an open cluster until they are written. A container that still
// writes after it has returned keeps it; meanwhile the next pages use another one.
#ifndef COLONNADE_PAGE_PAGE_MEMORY_H
#define COLONNADE_PAGE_PAGE_MEMORY_H

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "container/container.h"
#include "page/page_arena.h"

namespace colonnade::page {

struct PageMemory {
  PageArena arena;                  // of pages that were copied
  std::vector<AlignedBuffer> kept;  // memory taken over with its page
};

class LentMemory;

// Two PageMemory objects: one is filled while the other is written. One thread at a time calls lend(); any
// thread may release the result. One that a container keeps after a failure is replaced by another.
class PageMemoryPool : public std::enable_shared_from_this<PageMemoryPool> {
 public:
  PageMemoryPool() { free_.reserve(most); }

  // Returns an unused PageMemory; waits until there is one.
  std::unique_ptr<PageMemory> take() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return !free_.empty() || made_ < most; });
    if (free_.empty()) {
      auto memory = std::make_unique<PageMemory>();
      ++made_;
      return memory;
    }
    std::unique_ptr<PageMemory> memory = std::move(free_.back());
    free_.pop_back();
    return memory;
  }

  // `memory` returns to the pool with the last copy of the result.
  std::shared_ptr<LentMemory> lend(std::unique_ptr<PageMemory> memory);

 private:
  friend class LentMemory;
  static constexpr int most = 2;

  void give_back(std::unique_ptr<PageMemory> memory) noexcept {  // there is room
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
    returned_.notify_one();
  }
  void give_up() noexcept {
    const std::lock_guard lock(mutex_);
    --made_;
    returned_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<PageMemory>> free_;
  int made_ = 0;  // that are not given up
};

class LentMemory final : public container::PageBytes {
 public:
  LentMemory(std::shared_ptr<PageMemoryPool> pool, std::unique_ptr<PageMemory> memory)
      : pool_(std::move(pool)), memory_(std::move(memory)) {}
  ~LentMemory() override {
    if (memory_ && pool_) pool_->give_back(std::move(memory_));
  }
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;
  void kept() noexcept override {
    if (const auto pool = std::exchange(pool_, nullptr)) pool->give_up();
  }
  // Returns the memory to the caller, who must be the only owner of this object.
  std::unique_ptr<PageMemory> take_back() noexcept { return std::move(memory_); }

 private:
  std::shared_ptr<PageMemoryPool> pool_;  // null: given up
  std::unique_ptr<PageMemory> memory_;
};

inline std::shared_ptr<LentMemory> PageMemoryPool::lend(std::unique_ptr<PageMemory> memory) {
  try {
    return std::make_shared<LentMemory>(shared_from_this(), std::move(memory));
  } catch (...) {
    give_back(std::move(memory));
    throw;
  }
}

}  // namespace colonnade::page

#endif
