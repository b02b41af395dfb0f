// A few hundred numbers at once: formulas are written as for single numbers, and their mathematical functions
// run vectorised in kernels/mathematics.h. Result types are those of C++ for single numbers.
#ifndef COLONNADE_FRAME_FUNCTIONS_BATCH_H
#define COLONNADE_FRAME_FUNCTIONS_BATCH_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "frame/kernels/mathematics.h"
#include "frame/values/values.h"

namespace colonnade::frame {

template <class T>
class Batch {
 public:
  using Item = T;
  static constexpr std::size_t capacity = 128;

  explicit Batch(std::size_t count) : count_(count) {}
  Batch(std::size_t count, const T* values, std::size_t step) : count_(count) {
    for (std::size_t i = 0; i < count; ++i) items_[i] = values[i * step];
  }

  std::size_t count() const { return count_; }
  T operator[](std::size_t i) const { return items_[i]; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T* data() const { return items_; }
  T* data() { return items_; }

 private:
  std::size_t count_;
  T items_[capacity];  // uninitialised: most are written at once
};

template <class T>
inline constexpr bool is_batch = false;
template <class T>
inline constexpr bool is_batch<Batch<T>> = true;

namespace detail {

// A scalar stands for as many equal numbers.
template <class T>
T item(const Batch<T>& batch, std::size_t i) {
  return batch[i];
}
template <class T>
  requires std::is_arithmetic_v<T>
T item(T number, std::size_t) {
  return number;
}
template <class T>
std::size_t count_of(const T& argument) {
  if constexpr (is_batch<T>)
    return argument.count();
  else
    return 0;
}

}  // namespace detail

// f of each item.
template <class F, class... A>
auto over(F f, const A&... arguments) {
  using R = decltype(f(detail::item(arguments, 0)...));
  Batch<R> result(std::max({detail::count_of(arguments)...}));
  for (std::size_t i = 0; i < result.count(); ++i) result[i] = f(detail::item(arguments, i)...);
  return result;
}

template <class A, class B>
concept OneIsBatch = is_batch<A> || is_batch<B>;

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses.
#define COLONNADE_BATCH_OPERATOR(symbol, function) \
  template <class A, class B>                      \
    requires OneIsBatch<A, B>                      \
  auto operator symbol(const A& a, const B& b) {   \
    return over(function{}, a, b);                 \
  }
// NOLINTEND(bugprone-macro-parentheses)
COLONNADE_BATCH_OPERATOR(+, std::plus<>)
COLONNADE_BATCH_OPERATOR(-, std::minus<>)
COLONNADE_BATCH_OPERATOR(*, std::multiplies<>)
COLONNADE_BATCH_OPERATOR(/, std::divides<>)
COLONNADE_BATCH_OPERATOR(<, std::less<>)
COLONNADE_BATCH_OPERATOR(<=, std::less_equal<>)
COLONNADE_BATCH_OPERATOR(>, std::greater<>)
COLONNADE_BATCH_OPERATOR(>=, std::greater_equal<>)
COLONNADE_BATCH_OPERATOR(==, std::equal_to<>)
COLONNADE_BATCH_OPERATOR(&&, std::logical_and<>)
COLONNADE_BATCH_OPERATOR(||, std::logical_or<>)
#undef COLONNADE_BATCH_OPERATOR

template <class T>
Batch<T> operator-(const Batch<T>& x) {
  return over([](T item) { return -item; }, x);
}

// condition ? a : b, item by item; both are computed.
template <class A, class B>
auto select(const Batch<bool>& condition, const A& a, const B& b) {
  return over([](bool c, auto x, auto y) { return c ? x : y; }, condition, a, b);
}
template <class To, class T>
Batch<To> cast(const Batch<T>& x) {
  return over([](T item) { return static_cast<To>(item); }, x);
}
inline bool any(const Batch<bool>& x) {
  return std::any_of(x.data(), x.data() + x.count(), std::identity{});
}

// ---- Mathematics

template <class T>
Batch<T> sqrt(const Batch<T>& x) {
  return over([](T item) { return std::sqrt(item); }, x);
}
template <class T>
Batch<T> abs(const Batch<T>& x) {
  return over([](T item) { return std::abs(item); }, x);
}

template <class T, class... More>
Batch<T> mathematics(Mathematics function, const Batch<T>& x, const More&... more) {
  const Operand operands[] = {{x.data(), false}, {more.data(), false}...};
  Batch<T> result(x.count());
  math_loop(function, element_of<T>())(x.count(), operands, result.data());
  return result;
}
template <class T>
Batch<T> exp(const Batch<T>& x) {
  return mathematics(Mathematics::exp, x);
}
template <class T>
Batch<T> log(const Batch<T>& x) {
  return mathematics(Mathematics::log, x);
}
template <class T>
Batch<T> sin(const Batch<T>& x) {
  return mathematics(Mathematics::sin, x);
}
template <class T>
Batch<T> cos(const Batch<T>& x) {
  return mathematics(Mathematics::cos, x);
}
template <class T>
Batch<T> sinh(const Batch<T>& x) {
  return mathematics(Mathematics::sinh, x);
}
template <class T>
Batch<T> cosh(const Batch<T>& x) {
  return mathematics(Mathematics::cosh, x);
}
template <class T>
Batch<T> acos(const Batch<T>& x) {
  return mathematics(Mathematics::acos, x);
}
template <class T>
Batch<T> atan(const Batch<T>& x) {
  return mathematics(Mathematics::atan, x);
}
template <class T>
Batch<T> atan2(const Batch<T>& y, const Batch<T>& x) {
  return mathematics(Mathematics::atan2, y, x);
}

// ---- Loops

// Calls f(begin, count) for batches of `total` elements.
template <class F>
void for_batches(std::size_t total, const F& f) {
  for (std::size_t begin = 0; begin < total; begin += Batch<double>::capacity)
    f(begin, std::min(total - begin, Batch<double>::capacity));
}

// The loop of a formula: F takes batches of A and returns one of R.
template <class F, class R, class... A>
void batch_loop(std::size_t count, const Operand* operands, void* out) {
  for_batches(count, [&](std::size_t begin, std::size_t size) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      const auto load = [&]<class T>(const Operand& operand, std::type_identity<T>) {
        return Batch<T>(size, static_cast<const T*>(operand.data) + (operand.constant ? 0 : begin),
                        operand.constant ? 0 : 1);
      };
      const Batch<R> result = F{}(load(operands[k], std::type_identity<A>{})...);
      std::copy_n(result.data(), size, static_cast<R*>(out) + begin);
    }(std::index_sequence_for<A...>{});
  });
}

}  // namespace colonnade::frame

#endif
