// MemoryBudget: limits the memory of the partial results of all parts in flight, for the whole process. A
// partial that would exceed it waits for its turn and then needs no memory of its own.
//
// Thread-safe.
#ifndef COLONNADE_FRAME_RESULTS_MEMORY_BUDGET_H
#define COLONNADE_FRAME_RESULTS_MEMORY_BUDGET_H

#include <atomic>
#include <cstddef>

namespace colonnade::frame {

class MemoryBudget {
 public:
  constexpr explicit MemoryBudget(std::size_t limit) noexcept : limit_(limit) {}
  // Returns false if that exceeds the budget.
  bool fits(std::size_t more) const noexcept {
    return used_.load(std::memory_order_relaxed) + more <= limit_;
  }
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

  // The share of one user.
  class Share {
   public:
    explicit Share(MemoryBudget& budget) noexcept : budget_(budget) {}
    ~Share() { set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    void set(std::size_t bytes) noexcept {
      budget_.used_.fetch_add(bytes - bytes_, std::memory_order_relaxed);
      bytes_ = bytes;
    }

   private:
    MemoryBudget& budget_;
    std::size_t bytes_ = 0;
  };

  // For fills that wait to be added to histograms, profiles, graphs and reductions.
  static MemoryBudget& of_fills() noexcept {
    static MemoryBudget budget(std::size_t{64} << 20);
    return budget;
  }
  // For rows that wait to be written.
  static MemoryBudget& of_rows() noexcept {
    static MemoryBudget budget(std::size_t{256} << 20);
    return budget;
  }

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> used_ = 0;
};

}  // namespace colonnade::frame

#endif
