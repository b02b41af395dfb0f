// Common parts of the mathematical functions: checks of calls, selection of the loop for float or double, and
// table entries made from plain functions.
#ifndef COLONNADE_FRAME_FUNCTIONS_MATH_H
#define COLONNADE_FRAME_FUNCTIONS_MATH_H

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "colonnade/columnar.h"
#include "frame/expression/function.h"
#include "frame/functions/elementwise.h"
#include "frame/kernels/mathematics.h"
#include "frame/kernels/plain.h"

namespace colonnade::frame {

// TMath's functions and constants (functions/tmath.cpp); math_functions() has them, too.
std::vector<Function> tmath_functions();
// Gamma functions and distributions of TMath and ROOT::Math (functions/distributions.cpp); likewise.
std::vector<Function> distribution_functions();
// Quantiles, Landau's and Voigt's distribution, Bessel functions (functions/quantiles.cpp); likewise.
std::vector<Function> quantile_functions();

namespace math {

// The reason to refuse a call with other than `fewest` to `most` numbers, or lists of them.
std::optional<Bound> refuse(const Call& call, std::size_t fewest, std::size_t most);
Bound bound(const Call& call, ElementSignature signature, std::string key);

// float for float, double for everything else.
ElementType promoted_to_float(ElementType element) noexcept;
// float if all arguments are, double otherwise.
ElementType common_float(std::span<const Argument> arguments) noexcept;
ElementType item_of(const Argument& argument) noexcept;

// The loops of a function of this many floats, or this many doubles.
struct Loops {
  ElementLoop of_float = nullptr;
  ElementLoop of_double = nullptr;
  ElementType result_of_float = ElementType::float32;
  ElementType result_of_double = ElementType::float64;
};

template <class F, class T, std::size_t... i>
constexpr std::pair<ElementLoop, ElementType> loop_of(std::index_sequence<i...>) {
  using R = std::invoke_result_t<F, std::enable_if_t<(i < 99), T>...>;
  return {&plain_loop<F, R, std::enable_if_t<(i < 99), T>...>, element_of<R>()};
}

template <class F, std::size_t count>
constexpr Loops loops_of() {
  const auto of_float = loop_of<F, float>(std::make_index_sequence<count>{});
  const auto of_double = loop_of<F, double>(std::make_index_sequence<count>{});
  return {of_float.first, of_double.first, of_float.second, of_double.second};
}

// A function of the table by its loops.
Function function(const std::string& name, std::size_t count, const Loops& loops);

// A function of `count` floats, or of `count` doubles: overloaded for both in C++.
template <std::size_t count, class F>
Function overloaded(const std::string& name, F) {
  return function(name, count, loops_of<F, count>());
}

// A function of doubles only.
template <std::size_t count, class F>
Function of_doubles(const std::string& name, F) {
  Loops loops;
  const auto loop = loop_of<F, double>(std::make_index_sequence<count>{});
  loops.of_double = loop.first;
  loops.result_of_double = loop.second;
  return function(name, count, loops);
}

// With the loops of the mathematical kernels: of `count` floats, or of `count` doubles; or of doubles only.
Function of_kernel(const std::string& name, std::size_t count, Mathematics function);
Function of_double_kernel(const std::string& name, std::size_t count, Mathematics function);

// With an operation of the vector kernels: |x| and the square root.
Function exact(const std::string& name, Operation operation);
// The smaller or the larger of two numbers. Floating-point numbers may have loops of their own.
Function either_of_two(const std::string& name, Operation operation, const Loops& own = {});

// One of several functions by the number of arguments, of which there are at least `fewest`.
Function by_count(std::string name, std::string signature, std::vector<Function> functions,
                  std::size_t fewest);

}  // namespace math

}  // namespace colonnade::frame

#endif
