// Random numbers from a seed, the same on every machine (the distributions of the standard library are not).
#ifndef COLONNADE_SIMULATE_RANDOM_H
#define COLONNADE_SIMULATE_RANDOM_H

#include <cstdint>
#include <span>

namespace colonnade::simulate {

// SplitMix64: the next number, and a way to mix numbers.
constexpr std::uint64_t mix(std::uint64_t number) noexcept {
  number += 0x9e3779b97f4a7c15U;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(mix(seed)) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    return mix(state_);
  }
  // In [0, end); `end` is small.
  std::uint64_t below(std::uint64_t end) noexcept { return end == 0 ? 0 : next() % end; }
  std::int64_t between(std::int64_t first, std::int64_t last) noexcept {
    return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first + 1)));
  }
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) noexcept { return probability > 0 && unit() < probability; }
  template <class T>
  const T& pick(std::span<const T> of) noexcept {
    return of[static_cast<std::size_t>(below(of.size()))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace colonnade::simulate

#endif
