// Cells: the arrays in which histograms and profiles are summed. There is one set per result and process.
//
// The system provides the memory as zeros, resident only where something was filled.
#ifndef COLONNADE_FRAME_RESULTS_CELLS_H
#define COLONNADE_FRAME_RESULTS_CELLS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <span>

namespace colonnade::frame {

// A range of the bins: one of `of` slices of equal size.
struct BinRange {
  std::size_t first = 0;
  std::size_t last = 0;
  static BinRange of_slice(std::size_t bins, std::uint64_t slice, std::uint64_t of) {
    const auto border = [&](std::uint64_t k) {
      return bins / of * k + bins % of * k / of;  // cannot overflow: there are fewer slices than bins
    };
    return {static_cast<std::size_t>(border(slice)), static_cast<std::size_t>(border(slice + 1))};
  }
};
// The number of slices of about `bytes` for a state that takes `bytes_of_bin` per bin.
inline std::uint64_t slices_of(std::size_t bins, std::size_t bytes_of_bin, std::uint64_t bytes) {
  const std::uint64_t all = std::uint64_t{bins} * bytes_of_bin;
  return std::clamp<std::uint64_t>(all / std::max<std::uint64_t>(bytes, 1), 1,
                                   std::max<std::size_t>(bins, 1));
}

// Throws ErrorKind::resource.
void* zeroed_memory(std::size_t count, std::size_t size);

template <class T>
class Cells {
 public:
  bool empty() const noexcept { return memory_ == nullptr; }
  void make(std::size_t count) {
    memory_.reset(static_cast<T*>(zeroed_memory(count, sizeof(T))));
    size_ = count;
  }
  void drop() noexcept {
    memory_.reset();
    size_ = 0;
  }
  std::size_t size() const noexcept { return size_; }
  T* data() noexcept { return memory_.get(); }
  T& operator[](std::size_t i) noexcept { return memory_[i]; }
  const T& operator[](std::size_t i) const noexcept { return memory_[i]; }
  std::span<const T> view() const noexcept { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(T* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<T[], Free> memory_;
  std::size_t size_ = 0;
};

// Counts up to 2^64 - 1, kept in 32 bits while no bin can exceed that.
class CountCells {
 public:
  explicit CountCells(std::size_t cells) : cells_(cells) {}

  void add(const std::uint32_t* bins, std::size_t count) {
    if (count == 0) return;
    entries_ += count;
    if (entries_ > std::numeric_limits<std::uint32_t>::max() || !wide_.empty()) {
      widen();
      for (std::size_t i = 0; i < count; ++i) ++wide_[bins[i]];
    } else {
      if (narrow_.empty()) narrow_.make(cells_);
      std::uint32_t* counts = narrow_.data();
      for (std::size_t i = 0; i < count; ++i) ++counts[bins[i]];
    }
  }
  // Adds counts made elsewhere; `entries` of them in total.
  void add_counts(std::size_t bin, std::uint64_t count) {
    widen();
    wide_[bin] += count;
  }
  void add_entries(std::uint64_t entries) { entries_ += entries; }
  std::uint64_t at(std::size_t bin) const noexcept {
    return !wide_.empty() ? wide_[bin] : !narrow_.empty() ? narrow_[bin] : 0;
  }
  std::uint64_t entries() const noexcept { return entries_; }
  std::size_t size() const noexcept { return cells_; }
  std::size_t bytes() const noexcept {
    return wide_.size() * sizeof(std::uint64_t) + narrow_.size() * sizeof(std::uint32_t);
  }

 private:
  void widen() {
    if (!wide_.empty()) return;
    wide_.make(cells_);
    for (std::size_t i = 0; i < narrow_.size(); ++i) wide_[i] = narrow_[i];
    narrow_.drop();
  }
  std::size_t cells_;
  std::uint64_t entries_ = 0;
  Cells<std::uint32_t> narrow_;
  Cells<std::uint64_t> wide_;
};

}  // namespace colonnade::frame

#endif
