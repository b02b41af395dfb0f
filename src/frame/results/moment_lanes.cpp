// The loops of moments, compiled once per instruction set (Highway's foreach_target). All give the same bits,
// as each lane is a sum of its own.
#include <cstddef>
#include <limits>

#include "base/vector_targets.h"
#include "frame/results/moments.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frame/results/moment_lanes.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace colonnade::frame::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t lanes = LaneSums::lanes;
using OneNumber = hn::CappedTag<double, 1>;
using Numbers = hn::CappedTag<double, lanes>;

template <class Tag>
struct Pair {
  hn::Vec<Tag> first, second;
};

// `terms(tag, i)` gives what to add for the numbers from i on, as many as the tag has.
template <class Terms>
void add_to_lanes(std::size_t count, std::size_t before, LaneSums& to, const Terms& terms) {
  const OneNumber one;
  const Numbers numbers;
  std::size_t i = 0;
  const auto add_one = [&]() HWY_ATTR {
    const Pair<OneNumber> pair = terms(one, i);
    to.add((before + i) % lanes, hn::GetLane(pair.first), hn::GetLane(pair.second));
  };
  for (; i < count && (before + i) % lanes != 0; ++i) add_one();
  constexpr std::size_t width = hn::MaxLanes(Numbers());
  Pair<Numbers> sums[lanes / width];
  for (std::size_t k = 0; k < lanes / width; ++k) {
    sums[k].first = hn::LoadU(numbers, to.first.data() + k * width);
    sums[k].second = hn::LoadU(numbers, to.second.data() + k * width);
  }
  for (; i + lanes <= count; i += lanes) {
    for (std::size_t k = 0; k < lanes / width; ++k) {
      const Pair<Numbers> pair = terms(numbers, i + k * width);
      sums[k].first = hn::Add(sums[k].first, pair.first);
      sums[k].second = hn::Add(sums[k].second, pair.second);
    }
  }
  for (std::size_t k = 0; k < lanes / width; ++k) {
    hn::StoreU(sums[k].first, numbers, to.first.data() + k * width);
    hn::StoreU(sums[k].second, numbers, to.second.data() + k * width);
  }
  for (; i < count; ++i) add_one();
}

template <class Tag>
auto is_in_range(Tag tag, hn::Vec<Tag> x, const AxisRange& range) {
  return hn::And(hn::Ge(x, hn::Set(tag, range.low)), hn::Lt(x, hn::Set(tag, range.high)));
}

void values_to_lanes(const AxisRange& range, const double* values, std::size_t count, std::size_t before,
                     LaneSums& to) {
  add_to_lanes(count, before, to, [&]<class Tag>(Tag tag, std::size_t i) HWY_ATTR -> Pair<Tag> {
    const auto x = hn::LoadU(tag, values + i);
    const auto kept = hn::IfThenElseZero(is_in_range(tag, x, range), x);
    return {kept, hn::Mul(kept, kept)};
  });
}

void weights_to_lanes(const double* points, const double* weights, std::size_t count, std::size_t before,
                      LaneSums& to) {
  add_to_lanes(count, before, to, [&]<class Tag>(Tag tag, std::size_t i) HWY_ATTR -> Pair<Tag> {
    const auto x = hn::LoadU(tag, points + i);
    const auto kept = hn::IfThenElseZero(hn::Eq(x, x), hn::LoadU(tag, weights + i));
    return {kept, hn::Mul(kept, kept)};
  });
}

void weighted_to_lanes(const double* points, const double* weights, std::size_t count, std::size_t before,
                       LaneSums& to) {
  add_to_lanes(count, before, to, [&]<class Tag>(Tag tag, std::size_t i) HWY_ATTR -> Pair<Tag> {
    const auto x = hn::LoadU(tag, points + i);
    const auto weighted = hn::Mul(hn::LoadU(tag, weights + i), x);
    const auto kept = hn::Eq(x, x);
    return {hn::IfThenElseZero(kept, weighted), hn::IfThenElseZero(kept, hn::Mul(weighted, x))};
  });
}

void mark_those_outside(const AxisRange& range, const double* values, std::size_t count, double* marks) {
  std::size_t i = 0;
  const auto mark = [&]<class Tag>(Tag tag) HWY_ATTR {
    const auto inside = is_in_range(tag, hn::LoadU(tag, values + i), range);
    const auto nan = hn::Set(tag, std::numeric_limits<double>::quiet_NaN());
    hn::StoreU(hn::IfThenElse(inside, hn::LoadU(tag, marks + i), nan), tag, marks + i);
  };
  for (; i + hn::MaxLanes(Numbers()) <= count; i += hn::MaxLanes(Numbers())) mark(Numbers());
  for (; i < count; ++i) mark(OneNumber());
}

}  // namespace
}  // namespace colonnade::frame::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace colonnade::frame {

HWY_EXPORT(values_to_lanes);
HWY_EXPORT(weights_to_lanes);
HWY_EXPORT(weighted_to_lanes);
HWY_EXPORT(mark_those_outside);

void add_values(const AxisRange& range, const double* values, std::size_t count, std::size_t before,
                LaneSums& to) {
  HWY_DYNAMIC_DISPATCH(values_to_lanes)(range, values, count, before, to);
}

void add_weights(const double* points, const double* weights, std::size_t count, std::size_t before,
                 LaneSums& to) {
  HWY_DYNAMIC_DISPATCH(weights_to_lanes)(points, weights, count, before, to);
}

void add_weighted(const double* points, const double* weights, std::size_t count, std::size_t before,
                  LaneSums& to) {
  HWY_DYNAMIC_DISPATCH(weighted_to_lanes)(points, weights, count, before, to);
}

void mark_outside(const AxisRange& range, const double* values, std::size_t count, double* marks) {
  HWY_DYNAMIC_DISPATCH(mark_those_outside)(range, values, count, marks);
}

}  // namespace colonnade::frame
#endif
