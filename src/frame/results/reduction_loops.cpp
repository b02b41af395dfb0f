// The loops of sums, means and standard deviations, compiled once per instruction set (Highway's
// foreach_target).
//
// Numbers are cut into slices as in moment_loops.cpp. A square is the sum of two doubles, its rounded value
// and what rounding took away, which are sliced each on its own.
#include "frame/results/reduction_loops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/vector_targets.h"
#include "frame/results/fills.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frame/results/reduction_loops.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "frame/kernels/double_double-inl.h"

HWY_BEFORE_NAMESPACE();
namespace colonnade::frame::HWY_NAMESPACE {
namespace {

// A unit is 2^unit_bits times larger than any term, and there are fewer terms than that.
constexpr int unit_bits = 11;
static_assert(Fills::chunk < std::size_t{1} << unit_bits);
// Fewer numbers than this are added one by one.
constexpr std::size_t few = 16;

template <int slices>
class SlicedSum {
 public:
  // For terms of up to this size, a power of two.
  explicit SlicedSum(double limit) {
    double unit = limit * (1 << unit_bits);
    for (int k = 0; k < slices; ++k, unit *= 0x1p-53 * (1 << unit_bits)) {
      units_[k] = set(unit);
      sums_[k] = hn::Zero(D());
    }
  }
  // What extends below the slices.
  HWY_INLINE V add(V rest) {
    for (int k = 0; k < slices; ++k) {
      const V taken = (units_[k] + rest) - units_[k];
      rest = rest - taken;
      sums_[k] = sums_[k] + taken;
    }
    return rest;
  }
  template <int factors>
  void add_to(ExactSum<factors>& to) const {
    for (int k = 0; k < slices; ++k)
      if (const double sum = hn::GetLane(hn::SumOfLanes(D(), sums_[k])); sum != 0) to.add(sum);
  }

 private:
  V units_[slices];
  V sums_[slices];
};

// Calls use(numbers) for all numbers, with zeros behind the last one.
template <class Use>
HWY_INLINE void for_each_vector(const double* numbers, std::size_t count, const Use& use) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) use(hn::LoadU(D(), numbers + i));
  if (i == count) return;
  double rest[lanes] = {};
  std::copy(numbers + i, numbers + count, rest);
  use(hn::LoadU(D(), rest));
}

// The same for two arrays.
template <class Use>
HWY_INLINE void for_each_pair(const double* first, const double* second, std::size_t count, const Use& use) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) use(hn::LoadU(D(), first + i), hn::LoadU(D(), second + i));
  if (i == count) return;
  double rest[lanes] = {}, second_rest[lanes] = {};
  std::copy(first + i, first + count, rest);
  std::copy(second + i, second + count, second_rest);
  use(hn::LoadU(D(), rest), hn::LoadU(D(), second_rest));
}

struct Numbers {
  ExactSum<1>& sum;

  void add_at(const double* numbers, std::size_t i) const { sum.add(numbers[i]); }
  // Whether numbers up to this size can be sliced.
  static bool takes(double largest) { return largest < 0x1p1000 && largest >= 0x1p-800; }
  // Adds all, or none if one is larger than the limit or extends below the slices.
  template <int slices>
  bool add_slices(const double* numbers, std::size_t count, double limit) const {
    SlicedSum<slices> sliced(limit);
    M wrong = hn::Ne(hn::Zero(D()), hn::Zero(D()));
    for_each_vector(numbers, count, [&](V x) HWY_ATTR {
      const M beyond = hn::Not(hn::Le(hn::Abs(x), set(limit)));
      wrong = hn::Or(wrong, hn::Or(beyond, hn::Ne(sliced.add(x), hn::Zero(D()))));
    });
    if (!hn::AllFalse(D(), wrong)) return false;
    sliced.add_to(sum);
    return true;
  }
};

struct NumbersAndSquares {
  ExactSum<1>& sum;
  ExactSum<2>& squares;

  void add_at(const double* numbers, std::size_t i) const {
    sum.add(numbers[i]);
    squares.add_product(numbers[i], numbers[i]);
  }
  static bool takes(double largest) { return largest < 0x1p400 && largest >= 0x1p-400; }
  template <int slices>
  bool add_slices(const double* numbers, std::size_t count, double limit) const {
    SlicedSum<slices> sliced(limit);
    SlicedSum<slices + 1> rounded(limit * limit), lost(limit * limit * 0x1p-53);
    M wrong = hn::Ne(hn::Zero(D()), hn::Zero(D()));
    for_each_vector(numbers, count, [&](V x) HWY_ATTR {
      const V size = hn::Abs(x);
      const M beyond = hn::Not(hn::Le(size, set(limit)));
      // What rounding takes away from the square of a smaller number may be below the smallest double.
      const M tiny = hn::And(hn::Lt(size, set(0x1p-480)), hn::Ne(x, hn::Zero(D())));
      const DD square = square_of(x);
      const V below = hn::Or(hn::Abs(sliced.add(x)),
                             hn::Or(hn::Abs(rounded.add(square.hi)), hn::Abs(lost.add(square.lo))));
      wrong = hn::Or(wrong, hn::Or(hn::Or(beyond, tiny), hn::Ne(below, hn::Zero(D()))));
    });
    if (!hn::AllFalse(D(), wrong)) return false;
    sliced.add_to(sum);
    rounded.add_to(squares);
    lost.add_to(squares);
    return true;
  }
};

// weight * number and weight * number * number, whose roundings are again terms. Numbers of weight zero do
// not count.
struct Weighted {
  const double* weights;
  double largest_weight;  // a power of two above all weights, or 0
  ExactSum<2>& sum;
  ExactSum<3>& squares;

  void add_at(const double* numbers, std::size_t i) const {
    if (weights[i] == 0) return;
    sum.add_product(weights[i], numbers[i]);
    squares.add_product(weights[i], numbers[i], numbers[i]);
  }
  static bool takes(double largest) { return largest < 0x1p200 && largest >= 0x1p-200; }
  template <int slices>
  bool add_slices(const double* numbers, std::size_t count, double limit) const {
    if (!takes(largest_weight)) return false;
    const double once = limit * largest_weight, twice = once * limit;
    SlicedSum<slices + 1> rounded(once), lost(once * 0x1p-53);
    SlicedSum<slices + 2> squared(twice), squares_lost(twice * 0x1p-53), lost_squared(twice * 0x1p-53),
        lost_twice(twice * 0x1p-106);
    M wrong = hn::Ne(hn::Zero(D()), hn::Zero(D()));
    for_each_pair(numbers, weights, count, [&](V number, V weight) HWY_ATTR {
      const M counts = hn::Ne(weight, hn::Zero(D()));
      const V x = hn::IfThenElseZero(counts, number);
      const auto is_unusual = [&](V size, double most) HWY_ATTR {
        const M tiny = hn::And(hn::Lt(size, set(0x1p-200)), hn::Ne(size, hn::Zero(D())));
        return hn::Or(tiny, hn::Not(hn::Le(size, set(most))));
      };
      const DD product_once = product(weight, x);
      const DD square = product(product_once.hi, x), of_lost = product(product_once.lo, x);
      const auto rest = [&](auto& to, V term) HWY_ATTR { return hn::Abs(to.add(term)); };
      const V below = hn::Or(hn::Or(hn::Or(rest(rounded, product_once.hi), rest(lost, product_once.lo)),
                                    hn::Or(rest(squared, square.hi), rest(squares_lost, square.lo))),
                             hn::Or(rest(lost_squared, of_lost.hi), rest(lost_twice, of_lost.lo)));
      wrong = hn::Or(
          wrong, hn::Or(hn::Or(is_unusual(hn::Abs(x), limit), is_unusual(hn::Abs(weight), largest_weight)),
                        hn::Ne(below, hn::Zero(D()))));
    });
    if (!hn::AllFalse(D(), wrong)) return false;
    rounded.add_to(sum);
    lost.add_to(sum);
    squared.add_to(squares);
    squares_lost.add_to(squares);
    lost_squared.add_to(squares);
    lost_twice.add_to(squares);
    return true;
  }
};

template <class Terms>
void add_chunk(const double* numbers, std::size_t count, const Terms& terms, double& limit) {
  if (count >= few) {
    if (limit > 0 && (terms.template add_slices<2>(numbers, count, limit) ||
                      terms.template add_slices<3>(numbers, count, limit)))
      return;
    V sizes = hn::Zero(D());
    M finite = hn::Eq(hn::Zero(D()), hn::Zero(D()));
    for_each_vector(numbers, count, [&](V x) HWY_ATTR {
      sizes = larger(hn::Abs(x), sizes);
      finite = hn::And(finite, hn::IsFinite(x));
    });
    const double largest = hn::GetLane(hn::MaxOfLanes(D(), sizes));
    if (hn::AllTrue(D(), finite) && Terms::takes(largest)) {
      limit = std::ldexp(1., std::ilogb(largest) + 1);
      if (terms.template add_slices<3>(numbers, count, limit)) return;
    }
  }
  for (std::size_t i = 0; i < count; ++i) terms.add_at(numbers, i);
}

void add_all(const double* numbers, std::size_t count, ExactSum<1>& sum, double& limit) {
  add_chunk(numbers, count, Numbers{sum}, limit);
}
void add_all_with_squares(const double* numbers, std::size_t count, ExactSum<1>& sum, ExactSum<2>& squares,
                          double& limit) {
  add_chunk(numbers, count, NumbersAndSquares{sum, squares}, limit);
}
void add_all_weighted(const double* numbers, const double* weights, std::size_t count, double largest_weight,
                      ExactSum<2>& sum, ExactSum<3>& squares, double& limit) {
  add_chunk(numbers, count, Weighted{weights, largest_weight, sum, squares}, limit);
}

}  // namespace
}  // namespace colonnade::frame::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace colonnade::frame {

HWY_EXPORT(add_all);
HWY_EXPORT(add_all_with_squares);
HWY_EXPORT(add_all_weighted);

void add_numbers(const double* numbers, std::size_t count, ExactSum<1>& sum, double& limit) {
  HWY_DYNAMIC_DISPATCH(add_all)(numbers, count, sum, limit);
}

void add_numbers_and_squares(const double* numbers, std::size_t count, ExactSum<1>& sum, ExactSum<2>& squares,
                             double& limit) {
  HWY_DYNAMIC_DISPATCH(add_all_with_squares)(numbers, count, sum, squares, limit);
}

void add_weighted_numbers(const double* numbers, const double* weights, std::size_t count,
                          double largest_weight, ExactSum<2>& sum, ExactSum<3>& squares, double& limit) {
  HWY_DYNAMIC_DISPATCH(add_all_weighted)
  (numbers, weights, count, largest_weight, sum, squares, limit);
}

}  // namespace colonnade::frame
#endif
