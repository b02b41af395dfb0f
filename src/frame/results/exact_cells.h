// ExactCells: a few sums of doubles for each bin of a histogram, rounded only at the end.
//
// A sum is a 128-bit integer that counts multiples of a power of two, the same one for all bins:
//
//   bit  127  126 .. 116   115 .............. 52   52 ......... 0
//        sign  carries     mantissas of terms, shifted by 0 to 63
//
// The first terms determine the power, so that terms up to 2^23 times larger and 2^40 times smaller
// than the largest of them fit. The few that do not fit, and integers that would overflow, go to the
// bin's own ExactSum, which holds anything. So a sum is exact for any terms in any order, and
// partial sums may be added in any order and grouping: the result is always the true sum, rounded
// once.
//
// Shifting is slower than adding doubles. Histograms that are small relative to their number of fills
// therefore first collect terms of similar sizes in two doubles: one for the multiples of 2^(top - 30), one
// for the remainders. Both are exact for up to `before_drain` terms; then they are drained to the integer.
//
//   |x| < 2^top      x = multiple of 2^(top - 30)  +  rest, at most 2^(top - 31), a multiple of 2^(top - 68)
//
// Memory: 16 bytes for each sum of a bin, 32 in small histograms, about 600 more for one with terms of very
// different sizes.
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

// The doubles that are multiples of 2^exponent() and small enough to be shifted into an integer.
class ExactWindow {
 public:
  bool is_chosen() const noexcept { return lowest_ != nothing_fits; }
  void choose(double largest) noexcept {
    const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(largest) >> 52 & 0x7ff);
    lowest_ = static_cast<unsigned>(std::clamp(biased - below, 1, 2046 - most_shifted));
  }
  // The exponent of an integer's lowest bit.
  int exponent() const noexcept { return static_cast<int>(lowest_) - 1075; }
  // The integer for x; returns false if x is not one, is too large, or zero.
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

// The doubles that two doubles can collect: those with certain adjacent exponents.
class ExactSplit {
 public:
  static constexpr int exponents = 16;  // a power of two
  // Terms between two drains: their remainders, 2^16 times 2^(top - 31), stay below 2^53 * 2^(top -
  // 68).
  static constexpr std::size_t before_drain = std::size_t{1} << 16;

  void choose(double largest) noexcept {
    const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(largest) >> 52 & 0x7ff);
    if (biased < 200 || biased > 1900) return;
    lowest_ = static_cast<std::uint64_t>(biased + above - exponents);
    rounder_ = std::ldexp(1.5, biased + above - 1023 - 30 + 52);
  }
  // Less than `exponents` for a number that fits; the same holds for the bitwise "or" of several.
  std::uint64_t distance(double x) const noexcept {
    return (std::bit_cast<std::uint64_t>(x) << 1 >> 53) - lowest_;
  }
  // Adding and subtracting this rounds to a multiple of 2^(top - 30).
  double rounder() const noexcept { return rounder_; }

 private:
  static constexpr int above = 4;  // the largest of the first terms has exponent top - 4
  std::uint64_t lowest_ = 4096;    // biased exponent; initially nothing fits
  double rounder_ = 0;
};

template <std::size_t columns>
class ExactCells {
 public:
  explicit ExactCells(std::size_t bins) : bins_(bins) {}

  // `terms(i)` returns the numbers to add to bins[i].
  template <class Terms>
  void add(const std::uint32_t* bins, std::size_t count, const Terms& terms) {
    if (count == 0) return;
    if (cells_.empty()) cells_.make(bins_ * columns);
    choose_windows(count, terms);
    if (bins_ > most_collected) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::array<double, columns> added = terms(i);
        for (std::size_t k = 0; k < columns; ++k) add_number(std::size_t{bins[i]} * columns + k, added[k]);
      }
      return;
    }
    for (std::size_t first = 0; first < count;) {
      if (collected_ == ExactSplit::before_drain) drain();
      const std::size_t last = std::min(count, first + ExactSplit::before_drain - collected_);
      collect(bins, first, last, terms);
      collected_ += last - first;
      first = last;
    }
  }
  ExactCells empty_copy() const { return ExactCells(bins_); }
  void add(ExactCells&& other) {
    if (cells_.empty()) {
      *this = std::move(other);
      return;
    }
    add(static_cast<const ExactCells&>(other));
  }
  void add(const ExactCells& other) {
    add(other, [](std::size_t bin) { return bin; });
  }
  // Adds the sums of each bin of another one to those of bin_of(bin).
  template <class BinOf>
  void add(const ExactCells& other, const BinOf& bin_of) {
    if (other.cells_.empty()) return;
    if (cells_.empty()) cells_.make(bins_ * columns);
    for (std::size_t k = 0; k < columns; ++k) {
      if (windows_[k].is_chosen()) continue;
      windows_[k] = other.windows_[k];
      splits_[k] = other.splits_[k];
    }
    const auto place_of = [&](std::size_t i) { return bin_of(i / columns) * columns + i % columns; };
    for (std::size_t i = 0; i < other.cells_.size(); ++i) {
      if (other.cells_[i] == 0) continue;
      const ExactWindow window = other.windows_[i % columns];
      const std::size_t to = place_of(i);
      Int128 number = 0;
      if (window.exponent() != windows_[i % columns].exponent() ||
          __builtin_add_overflow(cells_[to], other.cells_[i], &number))
        far(to).add_scaled(other.cells_[i], window.exponent());
      else
        cells_[to] = number;
    }
    for (const auto& [i, sum] : other.far_) far(place_of(i)).add(*sum);
    for (std::size_t i = 0; i < other.pairs_.size(); ++i)
      if (other.pairs_[i] != 0) add_number(place_of(sum_of_pair(i)), other.pairs_[i]);
  }

  double value(std::size_t bin, std::size_t column) const {
    const std::size_t i = bin * columns + column;
    const Int128 near = cells_.empty() ? 0 : cells_[i];
    const int exponent = windows_[column].exponent();
    if (far_.empty() && pairs_.empty()) return ExactSum<1>::rounded(near, exponent);
    return sum_of(i).value();
  }

  // The total of the bins with keep(bin).
  template <class Keep>
  std::array<ExactSum<1>, columns> totals(const Keep& keep) const {
    std::array<ExactSum<1>, columns> totals;
    if (cells_.empty()) return totals;
    std::array<Int128, columns> near{};
    const auto flush = [&](std::size_t k) {
      if (near[k] != 0) totals[k].add_scaled(std::exchange(near[k], 0), windows_[k].exponent());
    };
    for (std::size_t bin = 0; bin < bins_; ++bin) {
      if (!keep(bin)) continue;
      for (std::size_t k = 0; k < columns; ++k) {
        const std::size_t i = bin * columns + k;
        Int128 sum = 0;
        if (__builtin_add_overflow(near[k], cells_[i], &sum)) {
          flush(k);
          sum = cells_[i];
        }
        near[k] = sum;
        if (pairs_.empty()) continue;
        totals[k].add(pairs_[upper_of(i)]);
        totals[k].add(pairs_[upper_of(i) + columns]);
      }
    }
    for (std::size_t k = 0; k < columns; ++k) flush(k);
    for (const auto& [i, sum] : far_)
      if (keep(i / columns)) totals[i % columns].add(*sum);
    return totals;
  }

  // Calls use(bin) for the loaded bins.
  template <class Use>
  void for_each_bin(const Use& use) const {
    for_each_used({0, bins_}, [&](std::size_t i, const ExactSum<1>&) { use(i / columns); });
  }

  // The memory of all sums.
  std::size_t bytes() const noexcept {
    return bins_ * columns * (sizeof(Int128) + (bins_ > most_collected ? 0 : 2 * sizeof(double)));
  }

  // The approximate size of a saved bin: sums of a few chunks.
  static constexpr std::size_t saved_bytes = columns * 40;

  // Saves the sums that are not zero with their indices; equal sums give equal bytes.
  void save(SavedWriter& to) const { save(to, {0, bins_}); }
  void save(SavedWriter& to, BinRange bins) const {
    std::uint64_t used = 0;
    for_each_used(bins, [&](std::size_t, const ExactSum<1>&) { ++used; });
    to.number(used);
    for_each_used(bins, [&](std::size_t i, const ExactSum<1>& sum) {
      to.number(static_cast<std::uint64_t>(i));
      to.sum(sum);
    });
  }
  // Loads into an empty one. The columns flagged as counts or sums of squares must not be negative.
  void load(SavedReader& from, unsigned counts, unsigned squares) {
    const auto used = from.number<std::uint64_t>();
    if (used > bins_ * columns) SavedReader::fail("more sums than there are");
    std::uint64_t next = 0;
    for (std::uint64_t n = 0; n < used; ++n) {
      const auto i = from.number<std::uint64_t>();
      if (i < next || i >= bins_ * columns) SavedReader::fail("a bin beyond the last one");
      next = i + 1;
      const ExactSum<1> sum = from.sum<1>();
      const double value = sum.value();
      const unsigned column = 1U << (i % columns);
      if ((column & (counts | squares)) != 0 && value < 0) SavedReader::fail("a sum below zero");
      if ((column & counts) != 0 && !std::isfinite(value)) SavedReader::fail("a count that is not a number");
      put(static_cast<std::size_t>(i), sum);
    }
  }

 private:
  // With more bins than this, checking all every before_drain terms does not pay off.
  static constexpr std::size_t most_collected = ExactSplit::before_drain / 16;

  // In pairs_ all upper parts of a bin precede its remainders.
  static std::size_t upper_of(std::size_t i) noexcept { return i / columns * columns * 2 + i % columns; }
  static std::size_t sum_of_pair(std::size_t at) noexcept {
    return at / (columns * 2) * columns + at % columns;
  }

  template <class Terms>
  void collect(const std::uint32_t* bins, std::size_t first, std::size_t last, const Terms& terms) {
    if (pairs_.empty()) pairs_.make(bins_ * columns * 2);
    if (all_fit(first, last, terms)) return collect_all(bins, first, last, terms);
    for (std::size_t i = first; i < last; ++i) {
      const std::array<double, columns> added = terms(i);
      for (std::size_t k = 0; k < columns; ++k) add_number(std::size_t{bins[i]} * columns + k, added[k]);
    }
  }
  // Loops that a compiler can vectorise.
  template <class Terms>
  bool all_fit(std::size_t first, std::size_t last, const Terms& terms) const {
    const std::array<ExactSplit, columns> splits = splits_;
    std::uint64_t distances = 0;
    for (std::size_t i = first; i < last; ++i) {
      const std::array<double, columns> added = terms(i);
      for (std::size_t k = 0; k < columns; ++k) distances |= splits[k].distance(added[k]);
    }
    return distances < ExactSplit::exponents;
  }
  template <class Terms>
  void collect_all(const std::uint32_t* bins, std::size_t first, std::size_t last, const Terms& terms) {
    std::array<double, columns> rounders{};
    for (std::size_t k = 0; k < columns; ++k) rounders[k] = splits_[k].rounder();
    double* const pairs = pairs_.data();
    for (std::size_t i = first; i < last; ++i) {
      const std::array<double, columns> added = terms(i);
      double* const pair = pairs + std::size_t{bins[i]} * columns * 2;
      std::array<double, columns> upper;
      for (std::size_t k = 0; k < columns; ++k) upper[k] = (added[k] + rounders[k]) - rounders[k];
      for (std::size_t k = 0; k < columns; ++k) pair[k] += upper[k];
      for (std::size_t k = 0; k < columns; ++k) pair[columns + k] += added[k] - upper[k];
    }
  }
  void drain() {
    for (std::size_t i = 0; i < pairs_.size(); ++i)
      if (const double x = std::exchange(pairs_[i], 0); x != 0) add_number(sum_of_pair(i), x);
    collected_ = 0;
  }
  // Adds to the integer if it fits, otherwise to the bin's ExactSum.
  void add_number(std::size_t i, double x) {
    Int128 number = 0;
    if (!windows_[i % columns].place(x, number) || __builtin_add_overflow(cells_[i], number, &number))
        [[unlikely]] {
      if (x != 0) far(i).add(x);
    } else {
      cells_[i] = number;
    }
  }
  ExactSum<1> sum_of(std::size_t i) const {
    ExactSum<1> sum;
    if (const auto found = far_.find(i); found != far_.end()) sum = *found->second;
    if (!cells_.empty() && cells_[i] != 0) sum.add_scaled(cells_[i], windows_[i % columns].exponent());
    if (!pairs_.empty()) {
      sum.add(pairs_[upper_of(i)]);
      sum.add(pairs_[upper_of(i) + columns]);
    }
    return sum;
  }

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
    for (std::size_t k = 0; k < columns; ++k) {
      if (windows_[k].is_chosen() || !(largest[k] > 0)) continue;
      windows_[k].choose(largest[k]);
      splits_[k].choose(largest[k]);
    }
  }
  // Stores a sum as an integer if it fits.
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
  void for_each_used(BinRange bins, const Use& use) const {
    for (std::size_t i = bins.first * columns; i < bins.last * columns; ++i) {
      const bool collected =
          !pairs_.empty() && (pairs_[upper_of(i)] != 0 || pairs_[upper_of(i) + columns] != 0);
      if (!collected && (cells_.empty() || cells_[i] == 0) && !far_.contains(i)) continue;
      const ExactSum<1> sum = sum_of(i);
      if (!sum.is_zero()) use(i, sum);
    }
  }

  std::size_t bins_;
  std::array<ExactWindow, columns> windows_;
  std::array<ExactSplit, columns> splits_;
  Cells<double> pairs_;        // two per sum, in small histograms
  std::size_t collected_ = 0;  // terms in them
  Cells<Int128> cells_;
  std::unordered_map<std::size_t, std::unique_ptr<ExactSum<1>>> far_;
};

}  // namespace colonnade::frame

#endif
