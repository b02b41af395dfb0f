// ExactCells: a few sums of doubles for each bin of a histogram, none of them rounded before the end.
//
// A sum is an integer of 128 bits that counts multiples of a power of two, the same one for all bins:
//
//   bit  127  126 .. 116   115 .............. 52   52 ......... 0
//        sign  carries     mantissas of terms, shifted by 0 to 63
//
// The power is chosen by the first terms, so that terms up to 2^23 times larger and 2^40 times smaller than
// the largest of them fit. The few that do not, and integers that would overflow, go to an ExactSum of their
// own beside the bin, which holds anything. So a sum is exact whatever is added and in whatever order, and
// sums of some of the terms may be added up in any order and grouping: there is one result, the true sum
// rounded once.
//
// Memory: 16 bytes for each sum of a bin, about 600 more for one that terms of very different sizes went to.
#ifndef COLONNADE_FRAME_RESULTS_EXACT_CELLS_H
#define COLONNADE_FRAME_RESULTS_EXACT_CELLS_H

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

#include "frame/results/cells.h"
#include "frame/results/exact_sum.h"
#include "frame/results/saved.h"

namespace colonnade::frame {

// Which doubles are multiples of 2^exponent() and small enough to be shifted into an integer.
class ExactWindow {
 public:
  bool is_chosen() const noexcept { return lowest_ != nothing_fits; }
  void choose(double largest) noexcept {
    const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(largest) >> 52 & 0x7ff);
    lowest_ = static_cast<unsigned>(std::clamp(biased - below, 1, 2046 - most_shifted));
  }
  // Of the lowest bit of an integer.
  int exponent() const noexcept { return static_cast<int>(lowest_) - 1075; }
  // The integer that x is; false if it is none, or too large, or zero.
  bool place(double x, Int128& to) const noexcept {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const unsigned shift = static_cast<unsigned>(bits >> 52 & 0x7ff) - lowest_;
    if (shift > most_shifted) return false;
    const std::uint64_t mantissa = (bits & 0xfffffffffffffu) | std::uint64_t{1} << 52;
    const std::uint64_t sign = std::uint64_t{0} - (bits >> 63);
    const Wide size = Wide{mantissa >> 1 >> (63 - shift)} << 64 | mantissa << shift;
    const Wide flip = Wide{sign} << 64 | sign;
    to = static_cast<Int128>((size ^ flip) - flip);
    return true;
  }

 private:
  static constexpr int below = 40;
  static constexpr int most_shifted = 63;
  static constexpr unsigned nothing_fits = 4096;
  unsigned lowest_ = nothing_fits;  // biased exponent of the smallest terms that fit
};

template <std::size_t columns>
class ExactCells {
 public:
  explicit ExactCells(std::size_t bins) : bins_(bins) {}

  // `terms(i)` gives the numbers to add to bins[i].
  template <class Terms>
  void add(const std::uint32_t* bins, std::size_t count, const Terms& terms) {
    if (count == 0) return;
    if (cells_.empty()) cells_.make(bins_ * columns);
    choose_windows(count, terms);
    const std::array<ExactWindow, columns> windows = windows_;
    Int128* const cells = cells_.data();
    for (std::size_t i = 0; i < count; ++i) {
      const std::array<double, columns> added = terms(i);
      Int128* const cell = cells + std::size_t{bins[i]} * columns;
      for (std::size_t k = 0; k < columns; ++k) {
        Int128 number = 0;
        if (!windows[k].place(added[k], number) || __builtin_add_overflow(cell[k], number, &number))
            [[unlikely]]
          add_far(std::size_t{bins[i]} * columns + k, added[k]);
        else
          cell[k] = number;
      }
    }
  }
  ExactCells empty_copy() const { return ExactCells(bins_); }
  void add(ExactCells&& other) {
    if (cells_.empty() && far_.empty()) {
      *this = std::move(other);
      return;
    }
    add(static_cast<const ExactCells&>(other));
  }
  void add(const ExactCells& other) {
    if (other.cells_.empty() && other.far_.empty()) return;
    if (cells_.empty()) cells_.make(bins_ * columns);
    for (std::size_t k = 0; k < columns; ++k)
      if (!windows_[k].is_chosen()) windows_[k] = other.windows_[k];
    for (std::size_t i = 0; i < other.cells_.size(); ++i) {
      if (other.cells_[i] == 0) continue;
      const ExactWindow window = other.windows_[i % columns];
      Int128 number = 0;
      if (window.exponent() != windows_[i % columns].exponent() ||
          __builtin_add_overflow(cells_[i], other.cells_[i], &number))
        far(i).add_scaled(other.cells_[i], window.exponent());
      else
        cells_[i] = number;
    }
    for (const auto& [i, sum] : other.far_) far(i).add(*sum);
  }

  double value(std::size_t bin, std::size_t column) const {
    const std::size_t i = bin * columns + column;
    const Int128 near = cells_.empty() ? 0 : cells_[i];
    const int exponent = windows_[column].exponent();
    const auto found = far_.find(i);
    if (found == far_.end()) return ExactSum<1>::rounded(near, exponent);
    ExactSum<1> sum = *found->second;
    if (near != 0) sum.add_scaled(near, exponent);
    return sum.value();
  }

  // Bytes of the integers once there are any.
  std::size_t bytes() const noexcept { return bins_ * columns * sizeof(Int128); }

  // The sums that are not zero: their places and what they are, the same bytes for equal sums.
  void save(SavedWriter& to) const {
    std::uint64_t used = 0;
    for_each_used([&](std::size_t, const ExactSum<1>&) { ++used; });
    to.number(used);
    for_each_used([&](std::size_t i, const ExactSum<1>& sum) {
      to.number(static_cast<std::uint64_t>(i));
      to.sum(sum);
    });
  }
  // Into one that is empty.
  void load(SavedReader& from) {
    const auto used = from.number<std::uint64_t>();
    if (used > bins_ * columns) SavedReader::fail("more sums than there are");
    std::uint64_t next = 0;
    for (std::uint64_t n = 0; n < used; ++n) {
      const auto i = from.number<std::uint64_t>();
      if (i < next || i >= bins_ * columns) SavedReader::fail("a bin beyond the last one");
      next = i + 1;
      put(static_cast<std::size_t>(i), from.sum<1>());
    }
  }

 private:
  template <class Terms>
  void choose_windows(std::size_t count, const Terms& terms) {
    const auto chosen = [](const ExactWindow& window) { return window.is_chosen(); };
    if (std::all_of(windows_.begin(), windows_.end(), chosen)) [[likely]]
      return;
    std::array<double, columns> largest{};
    for (std::size_t i = 0; i < count; ++i) {
      const std::array<double, columns> added = terms(i);
      for (std::size_t k = 0; k < columns; ++k)
        if (std::abs(added[k]) <= std::numeric_limits<double>::max())
          largest[k] = std::max(largest[k], std::abs(added[k]));
    }
    for (std::size_t k = 0; k < columns; ++k)
      if (!windows_[k].is_chosen() && largest[k] > 0) windows_[k].choose(largest[k]);
  }
  void add_far(std::size_t i, double x) {
    if (x != 0) far(i).add(x);
  }
  // A sum as an integer, if it is one that fits.
  void put(std::size_t i, const ExactSum<1>& sum) {
    if (cells_.empty()) cells_.make(bins_ * columns);
    ExactWindow& window = windows_[i % columns];
    const Parts parts = sum.parts();
    if (!window.is_chosen() && parts[0] != 0 && std::isfinite(parts[0])) window.choose(parts[0]);
    Int128 all = 0;
    for (const double part : parts) {
      Int128 number = 0;
      if (part != 0 && (!window.place(part, number) || __builtin_add_overflow(all, number, &all))) {
        far(i) = sum;
        return;
      }
    }
    if (sum.is_sum_of(parts))
      cells_[i] = all;
    else
      far(i) = sum;
  }
  ExactSum<1>& far(std::size_t i) {
    auto& sum = far_[i];
    if (sum == nullptr) sum = std::make_unique<ExactSum<1>>();
    return *sum;
  }
  template <class Use>
  void for_each_used(const Use& use) const {
    for (std::size_t i = 0; i < bins_ * columns; ++i) {
      const auto found = far_.find(i);
      const Int128 near = cells_.empty() ? 0 : cells_[i];
      if (near == 0 && found == far_.end()) continue;
      ExactSum<1> sum;
      if (found != far_.end()) sum = *found->second;
      if (near != 0) sum.add_scaled(near, windows_[i % columns].exponent());
      if (!sum.is_zero()) use(i, sum);
    }
  }

  std::size_t bins_;
  std::array<ExactWindow, columns> windows_;
  Cells<Int128> cells_;
  std::unordered_map<std::size_t, std::unique_ptr<ExactSum<1>>> far_;
};

}  // namespace colonnade::frame

#endif
