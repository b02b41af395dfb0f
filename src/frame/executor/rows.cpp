// See rows.h. Compiled once per instruction set and selected on first use (Highway's
// foreach_target).
#include "frame/executor/rows.h"

#include <algorithm>

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

// Compressed stores write whole vectors, and the next one overwrites the surplus. That stays within bounds:
// the output never exceeds the input read so far.
std::size_t positions(const std::uint8_t* condition, std::size_t size, bool wanted, std::uint32_t* out) {
  const hn::ScalableTag<std::uint32_t> numbers;
  const hn::Rebind<std::uint8_t, decltype(numbers)> bytes;
  const std::size_t lanes = hn::Lanes(numbers);
  const auto flip = hn::Set(numbers, wanted ? 0 : 1);
  const auto one = hn::Set(numbers, 1);
  std::size_t written = 0, at = 0;
  for (; at + lanes <= size; at += lanes) {
    const auto holds = hn::Min(hn::PromoteTo(numbers, hn::LoadU(bytes, condition + at)), one);
    const auto takes = hn::Ne(hn::Xor(holds, flip), hn::Zero(numbers));
    written +=
        hn::CompressStore(hn::Iota(numbers, static_cast<std::uint32_t>(at)), takes, numbers, out + written);
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
