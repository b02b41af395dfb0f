// The loops of moments, compiled once per instruction set (Highway's foreach_target).
//
// A chunk of terms is added up without rounding: each term is cut into two or three slices of 42 bits,
// counted from the largest term on, and the slices of all terms are integers of the same unit, whose sum a
// double holds (S. Rump, T. Ogita, S. Oishi, "Accurate floating-point summation", 2008). Terms that do not
// end with the third slice, or that are infinite or NaN, are added one by one. What comes out is exact, so
// that it does not depend on how many numbers a vector has.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/vector_targets.h"
#include "frame/results/fills.h"
#include "frame/results/moments.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frame/results/moment_loops.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace colonnade::frame::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using OneNumber = hn::CappedTag<double, 1>;
using Numbers = hn::CappedTag<double, 8>;

// Terms of a chunk are fewer than 2^11.
constexpr int count_bits = 11;
static_assert(Fills::chunk < std::size_t{1} << count_bits);
// Fewer than these are added one by one.
constexpr std::size_t few = 16;

template <class Tag>
struct Pair {
  hn::Vec<Tag> first, second;
};

void add_one_by_one(const double* terms, std::size_t count, ExactSum<1>& to) {
  for (std::size_t i = 0; i < count; ++i)
    if (terms[i] != 0) to.add(terms[i]);
}

// A power of two that is 2^count_bits times larger than any term.
double first_unit(double largest) {
  return std::ldexp(1., std::ilogb(largest) + 1 + count_bits);
}

// Terms up to `largest`, filled up with zeros to full vectors.
void add_terms(const double* terms, std::size_t count, double largest, ExactSum<1>& to) {
  if (largest == 0) return;
  if (!(largest < 0x1p1000) || largest < 0x1p-800) return add_one_by_one(terms, count, to);
  const Numbers numbers;
  const double unit = first_unit(largest);
  constexpr double next = 0x1p-53 * (1 << count_bits);
  const auto unit0 = hn::Set(numbers, unit);
  const auto unit1 = hn::Set(numbers, unit * next);
  const auto unit2 = hn::Set(numbers, unit * next * next);
  auto sum0 = hn::Zero(numbers), sum1 = sum0, sum2 = sum0, left = sum0;
  const auto slice = [](auto of, auto& rest) HWY_ATTR {
    const auto taken = hn::Sub(hn::Add(of, rest), of);
    rest = hn::Sub(rest, taken);
    return taken;
  };
  for (std::size_t i = 0; i < count; i += hn::MaxLanes(numbers)) {
    auto rest = hn::LoadU(numbers, terms + i);
    sum0 = hn::Add(sum0, slice(unit0, rest));
    sum1 = hn::Add(sum1, slice(unit1, rest));
    left = hn::Max(left, hn::Abs(rest));
  }
  if (hn::GetLane(hn::MaxOfLanes(numbers, left)) != 0) {  // terms of very different sizes
    left = hn::Zero(numbers);
    for (std::size_t i = 0; i < count; i += hn::MaxLanes(numbers)) {
      auto rest = hn::LoadU(numbers, terms + i);
      slice(unit0, rest);
      slice(unit1, rest);
      sum2 = hn::Add(sum2, slice(unit2, rest));
      left = hn::Max(left, hn::Abs(rest));
    }
    if (hn::GetLane(hn::MaxOfLanes(numbers, left)) != 0) return add_one_by_one(terms, count, to);
  }
  for (const auto sum :
       {hn::GetLane(hn::SumOfLanes(numbers, sum0)), hn::GetLane(hn::SumOfLanes(numbers, sum1)),
        hn::GetLane(hn::SumOfLanes(numbers, sum2))})
    if (sum != 0) to.add(sum);
}

// `terms(tag, i)` gives what to add for the numbers from i on, as many as the tag has.
template <class Terms>
void add_pairs(std::size_t count, ExactPair& to, const Terms& terms) {
  alignas(64) static thread_local double first[Fills::chunk + hn::MaxLanes(Numbers())];
  alignas(64) static thread_local double second[Fills::chunk + hn::MaxLanes(Numbers())];
  const OneNumber one;
  const Numbers numbers;
  const auto limit = hn::Set(numbers, std::numeric_limits<double>::max());
  auto most1 = hn::Zero(numbers), most2 = most1;
  auto wrong = hn::Lt(most1, most1);
  std::size_t i = 0;
  for (; i + hn::MaxLanes(numbers) <= count; i += hn::MaxLanes(numbers)) {
    const Pair<Numbers> pair = terms(numbers, i);
    hn::StoreU(pair.first, numbers, first + i);
    hn::StoreU(pair.second, numbers, second + i);
    const auto size1 = hn::Abs(pair.first), size2 = hn::Abs(pair.second);
    wrong = hn::Or(wrong, hn::Not(hn::And(hn::Le(size1, limit), hn::Le(size2, limit))));
    most1 = hn::Max(most1, size1);
    most2 = hn::Max(most2, size2);
  }
  double largest1 = hn::GetLane(hn::MaxOfLanes(numbers, most1));
  double largest2 = hn::GetLane(hn::MaxOfLanes(numbers, most2));
  bool finite = hn::AllFalse(numbers, wrong);
  for (; i < count; ++i) {
    const Pair<OneNumber> pair = terms(one, i);
    first[i] = hn::GetLane(pair.first);
    second[i] = hn::GetLane(pair.second);
    const double size1 = std::abs(first[i]), size2 = std::abs(second[i]);
    finite =
        finite && size1 <= std::numeric_limits<double>::max() && size2 <= std::numeric_limits<double>::max();
    largest1 = std::max(largest1, size1);
    largest2 = std::max(largest2, size2);
  }
  if (!finite || count < few) {
    add_one_by_one(first, count, to.first);
    add_one_by_one(second, count, to.second);
    return;
  }
  for (std::size_t k = count; k < count + hn::MaxLanes(numbers); ++k) first[k] = second[k] = 0;
  add_terms(first, count, largest1, to.first);
  add_terms(second, count, largest2, to.second);
}

template <class Tag>
auto is_in_range(Tag tag, hn::Vec<Tag> x, const AxisRange& range) {
  return hn::And(hn::Ge(x, hn::Set(tag, range.low)), hn::Lt(x, hn::Set(tag, range.high)));
}

void add_all_values(const AxisRange& range, const double* values, std::size_t count, ExactPair& to) {
  add_pairs(count, to, [&]<class Tag>(Tag tag, std::size_t i) HWY_ATTR -> Pair<Tag> {
    const auto x = hn::LoadU(tag, values + i);
    const auto kept = hn::IfThenElseZero(is_in_range(tag, x, range), x);
    return {kept, hn::Mul(kept, kept)};
  });
}

void add_all_weights(const double* points, const double* weights, std::size_t count, ExactPair& to) {
  add_pairs(count, to, [&]<class Tag>(Tag tag, std::size_t i) HWY_ATTR -> Pair<Tag> {
    const auto x = hn::LoadU(tag, points + i);
    const auto kept = hn::IfThenElseZero(hn::Eq(x, x), hn::LoadU(tag, weights + i));
    return {kept, hn::Mul(kept, kept)};
  });
}

void add_all_weighted(const double* points, const double* weights, std::size_t count, ExactPair& to) {
  add_pairs(count, to, [&]<class Tag>(Tag tag, std::size_t i) HWY_ATTR -> Pair<Tag> {
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

HWY_EXPORT(add_all_values);
HWY_EXPORT(add_all_weights);
HWY_EXPORT(add_all_weighted);
HWY_EXPORT(mark_those_outside);

void add_values(const AxisRange& range, const double* values, std::size_t count, ExactPair& to) {
  HWY_DYNAMIC_DISPATCH(add_all_values)(range, values, count, to);
}

void add_weights(const double* points, const double* weights, std::size_t count, ExactPair& to) {
  HWY_DYNAMIC_DISPATCH(add_all_weights)(points, weights, count, to);
}

void add_weighted(const double* points, const double* weights, std::size_t count, ExactPair& to) {
  HWY_DYNAMIC_DISPATCH(add_all_weighted)(points, weights, count, to);
}

void mark_outside(const AxisRange& range, const double* values, std::size_t count, double* marks) {
  HWY_DYNAMIC_DISPATCH(mark_those_outside)(range, values, count, marks);
}

}  // namespace colonnade::frame
#endif
