// The bin search on regular axes, compiled once per instruction set (Highway's foreach_target). All variants
// give the same bins as RegularAxis::find().
#include <cstddef>
#include <cstdint>

#include "base/vector_targets.h"
#include "frame/results/axis.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frame/results/axis_bins.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace colonnade::frame::HWY_NAMESPACE {
namespace {

void find_bins(const RegularAxis& axis, const double* values, std::size_t count, std::uint32_t stride,
               std::uint32_t* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  std::size_t i = 0;
// Without vectors there is nothing to gain.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  const hn::ScalableTag<double> numbers;
  const hn::Rebind<std::int32_t, decltype(numbers)> integers;
  const auto low = hn::Set(numbers, axis.low);
  const auto high = hn::Set(numbers, axis.high);
  const auto width = hn::Set(numbers, axis.width);
  const auto inverse = hn::Set(numbers, axis.inverse);
  const auto bins = hn::Set(numbers, static_cast<double>(axis.bins));
  const auto beyond = hn::Set(numbers, axis.bins + 1.);
  const auto one = hn::Set(numbers, 1.);
  const auto steps = hn::Set(integers, static_cast<std::int32_t>(stride));
  for (; i + hn::Lanes(numbers) <= count; i += hn::Lanes(numbers)) {
    const auto x = hn::LoadU(numbers, values + i);
    // The two comparisons decide; the guess is arbitrary if x is outside.
    const auto guess = hn::Min(hn::Floor(hn::Mul(hn::Sub(x, low), inverse)), bins);
    const auto after = hn::Add(guess, one);
    const auto below = hn::Lt(x, hn::Add(low, hn::Mul(guess, width)));
    const auto above = hn::Ge(x, hn::Add(low, hn::Mul(after, width)));
    auto bin = hn::Add(after, hn::IfThenElseZero(above, one));
    bin = hn::IfThenElse(below, guess, bin);
    bin = hn::Min(bin, beyond);
    bin = hn::IfThenElse(hn::Lt(x, high), bin, beyond);
    bin = hn::IfThenZeroElse(hn::Lt(x, low), bin);
    auto* at = reinterpret_cast<std::int32_t*>(to + i);
    const auto sum = hn::Add(hn::LoadU(integers, at), hn::Mul(hn::DemoteTo(integers, bin), steps));
    hn::StoreU(sum, integers, at);
  }
#endif
  for (; i < count; ++i) to[i] += stride * axis.find(values[i]);
}

}  // namespace
}  // namespace colonnade::frame::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace colonnade::frame {

HWY_EXPORT(find_bins);

void add_bins(const RegularAxis& axis, const double* values, std::size_t count, std::uint32_t stride,
              std::uint32_t* to) {
  HWY_DYNAMIC_DISPATCH(find_bins)(axis, values, count, stride, to);
}

}  // namespace colonnade::frame
#endif
