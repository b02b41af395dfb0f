// See rows.h. Compiled once per instruction set and selected on first use (Highway's
// foreach_target).
#include "frame/executor/rows.h"

#include <algorithm>
#include <array>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frame/executor/rows.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace colonnade::frame::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::size_t count(const std::uint8_t* condition, std::size_t size) {
  const hn::ScalableTag<std::uint8_t> bytes;
  const std::size_t lanes = hn::Lanes(bytes);
  std::size_t total = 0, at = 0;
  while (at + lanes <= size) {
    auto zeros = hn::Zero(bytes);  // per lane, counted downwards from 0: masks are -1
    const std::size_t stop = std::min(size - lanes, at + 254 * lanes);
    std::size_t looked_at = 0;
    for (; at <= stop; at += lanes, looked_at += lanes)
      zeros =
          hn::Sub(zeros, hn::VecFromMask(bytes, hn::Eq(hn::LoadU(bytes, condition + at), hn::Zero(bytes))));
    const auto sums = hn::SumsOf8(zeros);
    total += looked_at - hn::GetLane(hn::SumOfLanes(hn::DFromV<decltype(sums)>(), sums));
  }
  for (; at < size; ++at) total += condition[at] != 0 ? 1 : 0;
  return total;
}

// For each byte the numbers of the bits that are set, in order, and zeros behind them.
constexpr std::array<std::uint8_t, 256 * 8> bits_in_byte = [] {
  std::array<std::uint8_t, 256 * 8> numbers{};
  for (std::size_t byte = 0; byte < 256; ++byte)
    for (std::size_t bit = 0, found = 0; bit < 8; ++bit)
      if ((byte >> bit) % 2 == 1) numbers[8 * byte + found++] = static_cast<std::uint8_t>(bit);
  return numbers;
}();

// For each eight rows, their positions come from a table. Highway's compressed store would copy its own table
// to the stack each time with GCC 12. Stores write eight positions, and the next one overwrites the surplus.
// That stays within bounds: the output never exceeds the input read so far.
std::size_t positions(const std::uint8_t* condition, std::size_t size, bool wanted, std::uint32_t* out) {
  const hn::ScalableTag<std::uint8_t> bytes;
  const hn::CappedTag<std::uint32_t, 8> numbers;
  const hn::Rebind<std::uint8_t, decltype(numbers)> few;
  const std::size_t lanes = hn::Lanes(bytes), steps = hn::Lanes(numbers);
  std::size_t written = 0, at = 0;
  std::array<std::uint8_t, std::max<std::size_t>(hn::MaxLanes(bytes) / 8, 8)> taken;
  for (; lanes % 8 == 0 && at + lanes <= size; at += lanes) {
    const auto is_false = hn::Eq(hn::LoadU(bytes, condition + at), hn::Zero(bytes));
    hn::StoreMaskBits(bytes, wanted ? hn::Not(is_false) : is_false, taken.data());
    for (std::size_t k = 0; k < lanes / 8; ++k) {
      const std::uint8_t* const places = bits_in_byte.data() + std::size_t{8} * taken[k];
      const auto first = hn::Set(numbers, static_cast<std::uint32_t>(at + 8 * k));
      for (std::size_t i = 0; i < 8; i += steps)
        hn::StoreU(hn::Add(hn::PromoteTo(numbers, hn::LoadU(few, places + i)), first), numbers,
                   out + written + i);
      written += static_cast<std::size_t>(std::popcount(taken[k]));
    }
  }
  for (; at < size; ++at)
    if ((condition[at] != 0) == wanted) out[written++] = static_cast<std::uint32_t>(at);
  return written;
}

}  // namespace
}  // namespace colonnade::frame::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace colonnade::frame {

namespace {

HWY_EXPORT(count);
HWY_EXPORT(positions);

}  // namespace

std::size_t count_true(const std::uint8_t* condition, std::size_t size) noexcept {
  return HWY_DYNAMIC_DISPATCH(count)(condition, size);
}

std::size_t positions_where(const std::uint8_t* condition, std::size_t size, bool wanted,
                            std::uint32_t* out) noexcept {
  return HWY_DYNAMIC_DISPATCH(positions)(condition, size, wanted, out);
}

}  // namespace colonnade::frame
#endif
