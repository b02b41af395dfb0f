// The loops of moments, compiled once per instruction set (Highway's foreach_target).
//
// A chunk of terms is summed without rounding: each term is cut into two or three slices of 42 bits, aligned
// to the largest term of the previous chunk. The slices of all terms are integer multiples of one unit, whose
// sum a double represents exactly (S. Rump, T. Ogita, S. Oishi, "Accurate floating-point summation", 2008).
// Terms that extend below the third slice, infinities and NaN are added one by one. The result is exact, and
// so independent of the vector width.
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

// A chunk has fewer than 2^11 terms.
constexpr int count_bits = 11;
static_assert(Fills::chunk < std::size_t{1} << count_bits);
// Fewer terms than this are added one by one.
constexpr std::size_t few = 16;

template <class Tag>
struct Pair {
  hn::Vec<Tag> first, second;
};

void add_one_by_one(const double* terms, std::size_t count, ExactSum<1>& to) {
  for (std::size_t i = 0; i < count; ++i)
    if (terms[i] != 0) to.add(terms[i]);
}

// A power of two, 2^count_bits times larger than any term.
double first_unit(double largest) {
  return std::ldexp(1., std::ilogb(largest) + 1 + count_bits);
}

// The slices of terms up to a certain size, and the remainders.
template <class Tag, int slices>
struct Slices {
  explicit Slices(double largest) {
    double unit = first_unit(largest);
    for (int k = 0; k < slices; ++k, unit *= 0x1p-53 * (1 << count_bits)) {
      units[k] = hn::Set(Tag(), unit);
      sums[k] = hn::Zero(Tag());
    }
  }
  HWY_INLINE hn::Vec<Tag> add(hn::Vec<Tag> rest) {
    for (int k = 0; k < slices; ++k) {
      const auto taken = hn::Sub(hn::Add(units[k], rest), units[k]);
      rest = hn::Sub(rest, taken);
      sums[k] = hn::Add(sums[k], taken);
    }
    return rest;
  }
  void add_to(ExactSum<1>& to) const {
    for (int k = 0; k < slices; ++k)
      if (const double sum = hn::GetLane(hn::SumOfLanes(Tag(), sums[k])); sum != 0) to.add(sum);
  }

  hn::Vec<Tag> units[slices];
  hn::Vec<Tag> sums[slices];
};

// True if terms of this size can be sliced.
bool is_usual(double largest) {
  return largest < 0x1p1000 && largest >= 0x1p-800;
}

// Adds all at once if no term is larger than expected or extends below the slices; otherwise adds nothing.
// `terms(tag, i)` returns the terms of the numbers from i on, as many as the tag has.
template <int slices, class Terms>
bool add_slices(std::size_t count, ExactPair& to, const Terms& terms) {
  const OneNumber one;
  const Numbers numbers;
  Slices<Numbers, slices> first(to.largest_first), second(to.largest_second);
  Slices<OneNumber, slices> first_rest(to.largest_first), second_rest(to.largest_second);
  const auto add = [&]<class Tag>(Tag tag, std::size_t i, auto& to_first, auto& to_second,
                                  auto& wrong) HWY_ATTR {
    const Pair<Tag> pair = terms(tag, i);
    const auto is_wrong = [&](auto term, auto rest, double largest) HWY_ATTR {
      return hn::Or(hn::Not(hn::Le(hn::Abs(term), hn::Set(tag, largest))), hn::Ne(rest, hn::Zero(tag)));
    };
    wrong = hn::Or(wrong, is_wrong(pair.first, to_first.add(pair.first), to.largest_first));
    wrong = hn::Or(wrong, is_wrong(pair.second, to_second.add(pair.second), to.largest_second));
  };
  auto wrong = hn::Ne(hn::Zero(numbers), hn::Zero(numbers));
  auto wrong_rest = hn::Ne(hn::Zero(one), hn::Zero(one));
  std::size_t i = 0;
  for (; i + hn::MaxLanes(numbers) <= count; i += hn::MaxLanes(numbers))
    add(numbers, i, first, second, wrong);
  for (; i < count; ++i) add(one, i, first_rest, second_rest, wrong_rest);
  if (!hn::AllFalse(numbers, wrong) || !hn::AllFalse(one, wrong_rest)) return false;
  first.add_to(to.first);
  first_rest.add_to(to.first);
  second.add_to(to.second);
  second_rest.add_to(to.second);
  return true;
}

// Terms of any kind; their maximum is the expectation for the next chunk.
template <class Terms>
void add_unexpected(std::size_t count, ExactPair& to, const Terms& terms) {
  double first[Fills::chunk];
  double second[Fills::chunk];
  const OneNumber one;
  double largest_first = 0, largest_second = 0;
  bool finite = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Pair<OneNumber> pair = terms(one, i);
    first[i] = hn::GetLane(pair.first);
    second[i] = hn::GetLane(pair.second);
    largest_first = std::max(largest_first, std::abs(first[i]));
    largest_second = std::max(largest_second, std::abs(second[i]));
    finite = finite && std::isfinite(first[i]) && std::isfinite(second[i]);
  }
  if (finite && count >= few && is_usual(largest_first) && is_usual(largest_second)) {
    to.largest_first = largest_first;
    to.largest_second = largest_second;
    if (add_slices<3>(count, to, terms)) return;
  }
  add_one_by_one(first, count, to.first);
  add_one_by_one(second, count, to.second);
}

template <class Terms>
void add_pairs(std::size_t count, ExactPair& to, const Terms& terms) {
  if (count >= few && to.largest_first > 0 && to.largest_second > 0 &&
      (add_slices<2>(count, to, terms) || add_slices<3>(count, to, terms)))
    return;
  add_unexpected(count, to, terms);
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

void add_all_weights(const AxisRange& range, const double* points, const double* weights, std::size_t count,
                     ExactPair& to) {
  add_pairs(count, to, [&]<class Tag>(Tag tag, std::size_t i) HWY_ATTR -> Pair<Tag> {
    const auto x = hn::LoadU(tag, points + i);
    const auto kept = hn::IfThenElseZero(is_in_range(tag, x, range), hn::LoadU(tag, weights + i));
    return {kept, hn::Mul(kept, kept)};
  });
}

void add_all_weighted(const AxisRange& range, const double* points, const double* weights, std::size_t count,
                      ExactPair& to) {
  add_pairs(count, to, [&]<class Tag>(Tag tag, std::size_t i) HWY_ATTR -> Pair<Tag> {
    const auto x = hn::LoadU(tag, points + i);
    const auto weighted = hn::Mul(hn::LoadU(tag, weights + i), x);
    const auto kept = is_in_range(tag, x, range);
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

void add_weights(const AxisRange& range, const double* points, const double* weights, std::size_t count,
                 ExactPair& to) {
  HWY_DYNAMIC_DISPATCH(add_all_weights)(range, points, weights, count, to);
}

void add_weighted(const AxisRange& range, const double* points, const double* weights, std::size_t count,
                  ExactPair& to) {
  HWY_DYNAMIC_DISPATCH(add_all_weighted)(range, points, weights, count, to);
}

void mark_outside(const AxisRange& range, const double* values, std::size_t count, double* marks) {
  HWY_DYNAMIC_DISPATCH(mark_those_outside)(range, values, count, marks);
}

}  // namespace colonnade::frame
#endif
