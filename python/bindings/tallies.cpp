// How often each number is there, for quantiles; colonnade/frame/tallies.py has the whole.
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "base/huge_pages.h"
#include "colonnade/error.h"
#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

template <class T>
using Input = nb::ndarray<const T, nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// Memory that is not cleared, and can be made smaller where it is.
template <class T>
class Array {
 public:
  explicit Array(std::size_t size)
      : data_(static_cast<T*>(std::malloc(std::max<std::size_t>(size, 1) * sizeof(T)))) {
    if (!data_) throw std::bad_alloc();
    prefer_huge_pages(data_.get(), size * sizeof(T));
  }
  T* data() const noexcept { return data_.get(); }
  T& operator[](std::size_t i) const noexcept { return data_.get()[i]; }
  // The first ones, for NumPy.
  Output<T> take(std::size_t size) && {
    T* data = data_.release();
    if (void* const smaller = std::realloc(data, std::max<std::size_t>(size, 1) * sizeof(T)))
      data = static_cast<T*>(smaller);
    const nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return Output<T>(data, {size}, owner);
  }

 private:
  struct Free {
    void operator()(T* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
};

// The bits of a number in the order of the numbers.
std::uint64_t key_of(double value) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // no negative zeros
  return bits ^ ((bits & sign) != 0 ? ~std::uint64_t{0} : sign);
}

std::tuple<Output<std::uint64_t>, std::int64_t, double, double> tally_keys(const Input<double>& values,
                                                                           unsigned shift) {
  if (shift > 63) throw Error(ErrorKind::usage, "a key has 64 bits, one of which is left");
  Array<std::uint64_t> keys(values.size());
  std::size_t count = 0;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  {
    const nb::gil_scoped_release released;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = values.data()[i];
      keys[count] = key_of(value) >> shift;
      count += value == value ? 1 : 0;  // NOLINT(misc-redundant-expression): not for NaN
      low = value < low ? value : low;
      high = value > high ? value : high;
    }
  }
  const auto nan = static_cast<std::int64_t>(values.size() - count);
  return {std::move(keys).take(count), nan, low + 0.0, high + 0.0};
}

// Sorts by one digit after the other, the lowest first. Digits that are the same in all keys are left out.
Output<std::uint64_t> tally_sort(const Input<std::uint64_t>& keys) {
  constexpr unsigned digits = 8, bits = 8;
  const std::size_t size = keys.size();
  Array<std::uint64_t> sorted(size), other(size);
  {
    const nb::gil_scoped_release released;
    std::array<std::array<std::size_t, std::size_t{1} << bits>, digits> places{};
    const auto digit_of = [](std::uint64_t key, unsigned digit) {
      return key >> (bits * digit) & ((1U << bits) - 1);
    };
    for (std::size_t i = 0; i < size; ++i)
      for (unsigned digit = 0; digit < digits; ++digit) ++places[digit][digit_of(keys.data()[i], digit)];
    const std::uint64_t* from = keys.data();
    for (unsigned digit = 0; digit < digits; ++digit) {
      std::array<std::size_t, std::size_t{1} << bits>& place = places[digit];
      if (std::ranges::find(place, size) != place.end()) continue;
      std::exclusive_scan(place.begin(), place.end(), place.begin(), std::size_t{0});
      for (std::size_t i = 0; i < size; ++i) other[place[digit_of(from[i], digit)]++] = from[i];
      std::swap(sorted, other);
      from = sorted.data();
    }
    if (from == keys.data()) std::copy_n(from, size, sorted.data());
  }
  return std::move(sorted).take(size);
}

// Keys in growing order, each with how often it is there. What is equal to the last one is added to it, in
// registers: that one is written with the next, or by end().
class Counted {
 public:
  Counted(std::uint64_t* keys, std::int64_t* counts) : keys_(keys), counts_(counts) {}

  void add(std::uint64_t key, std::int64_t count) noexcept {
    const bool is_new = key != key_;
    keys_[size_] = key_;
    counts_[size_] = static_cast<std::int64_t>(count_);
    size_ += is_new && is_any_ ? 1 : 0;
    // Counts of a state from elsewhere may be anything: they wrap around.
    count_ = (is_new ? 0 : count_) + static_cast<std::uint64_t>(count);
    key_ = key;
    is_any_ = true;
  }
  // Their number.
  std::size_t end() noexcept {
    if (!is_any_) return 0;
    keys_[size_] = key_;
    counts_[size_] = static_cast<std::int64_t>(count_);
    return size_ + 1;
  }

 private:
  std::uint64_t* keys_;
  std::int64_t* counts_;
  std::size_t size_ = 0;
  std::uint64_t key_ = 0;
  std::uint64_t count_ = 0;
  bool is_any_ = false;
};

// How many bits fewer keys need so that there are no more than `most` different ones, at least one.
unsigned bits_to_drop(std::span<const std::uint64_t> keys, std::size_t most) {
  // Neighbours stay different while the highest bit in which they differ is left.
  std::array<std::size_t, 65> borders{};
  std::array<std::size_t, 65>
      more{};  // of every other pair: additions to the same number wait for each other
  std::size_t i = 1;
  for (; i + 1 < keys.size(); i += 2) {
    ++borders[std::bit_width(keys[i] ^ keys[i - 1])];
    ++more[std::bit_width(keys[i + 1] ^ keys[i])];
  }
  if (i < keys.size()) ++borders[std::bit_width(keys[i] ^ keys[i - 1])];
  for (std::size_t bit = 0; bit < borders.size(); ++bit) borders[bit] += more[bit];
  unsigned shift = 63;
  for (std::size_t different = 1 + borders[64]; shift > 0 && different + borders[shift] <= most; --shift)
    different += borders[shift];
  return shift;
}

std::tuple<Output<std::uint64_t>, Output<std::int64_t>, unsigned> tally_join(
    const Input<std::uint64_t>& keys, const Input<std::int64_t>& counts, const Input<std::uint64_t>& more,
    const Input<std::int64_t>& more_counts, std::size_t most) {
  // Without counts, each is there once.
  const bool is_counted = more_counts.size() > 0;
  if (keys.size() != counts.size() || (is_counted && more.size() != more_counts.size()))
    throw Error(ErrorKind::usage, "each key of a tally needs one count");
  const std::size_t total = keys.size() + more.size();
  Array<std::uint64_t> joined_keys(total);
  Array<std::int64_t> joined_counts(total);
  std::size_t size = 0;
  unsigned shift = 0;
  {
    const nb::gil_scoped_release released;
    const std::uint64_t *mine = keys.data(), *others = more.data();
    const std::uint64_t *const mine_end = mine + keys.size(), *const others_end = others + more.size();
    const std::int64_t* my_counts = counts.data();
    const std::int64_t once = 1;
    const std::int64_t* other_counts = is_counted ? more_counts.data() : &once;
    const std::ptrdiff_t other_step = is_counted ? 1 : 0;
    Counted joined(joined_keys.data(), joined_counts.data());
    while (mine != mine_end && others != others_end) {
      const std::uint64_t my_key = *mine, other_key = *others;
      const bool is_mine = my_key <= other_key;
      joined.add(is_mine ? my_key : other_key, is_mine ? *my_counts : *other_counts);
      mine += is_mine ? 1 : 0;
      my_counts += is_mine ? 1 : 0;
      others += is_mine ? 0 : 1;
      other_counts += is_mine ? 0 : other_step;
    }
    for (; mine != mine_end; ++mine, ++my_counts) joined.add(*mine, *my_counts);
    for (; others != others_end; ++others, other_counts += other_step) joined.add(*others, *other_counts);
    size = joined.end();
    if (size > most) {
      shift = bits_to_drop({joined_keys.data(), size}, most);
      Counted fewer(joined_keys.data(), joined_counts.data());
      for (std::size_t i = 0; i < size; ++i) fewer.add(joined_keys[i] >> shift, joined_counts[i]);
      size = fewer.end();
    }
  }
  return {std::move(joined_keys).take(size), std::move(joined_counts).take(size), shift};
}

}  // namespace

void register_tallies(nb::module_& module) {
  module.def(
      "tally_keys", &tally_keys, nb::arg("values"), nb::arg("shift"),
      nb::sig("def tally_keys(values: numpy.typing.NDArray[numpy.float64], shift: int) -> "
              "tuple[numpy.typing.NDArray[numpy.uint64], int, float, float]"),
      "The bits of numbers in the order of the numbers, without the last ones and without NaN; how many NaN "
      "there are, the lowest and the highest number.");
  module.def("tally_sort", &tally_sort, nb::arg("keys"),
             nb::sig("def tally_sort(keys: numpy.typing.NDArray[numpy.uint64]) -> "
                     "numpy.typing.NDArray[numpy.uint64]"),
             "Keys in growing order.");
  module.def(
      "tally_join", &tally_join, nb::arg("keys"), nb::arg("counts"), nb::arg("more"), nb::arg("more_counts"),
      nb::arg("most"),
      nb::sig("def tally_join(keys: numpy.typing.NDArray[numpy.uint64], counts: "
              "numpy.typing.NDArray[numpy.int64], more: numpy.typing.NDArray[numpy.uint64], more_counts: "
              "numpy.typing.NDArray[numpy.int64], most: int) -> tuple[numpy.typing.NDArray[numpy.uint64], "
              "numpy.typing.NDArray[numpy.int64], int]"),
      "Join sorted keys and add up their counts; without `more_counts`, each of `more` is there once. Where "
      "there are more than `most`, they lose as few of their last bits as possible, whose number comes "
      "last.");
}

}  // namespace colonnade::python
