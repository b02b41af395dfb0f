// For tests of functions over lists: random jagged data, calls by name, comparison row by row.
#ifndef COLONNADE_FRAME_FUNCTIONS_LISTS_TESTING_H
#define COLONNADE_FRAME_FUNCTIONS_LISTS_TESTING_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "colonnade/error.h"
#include "frame/functions/test_kernels.h"

namespace colonnade::frame::expression_testing {

template <class T>
using Lists = std::vector<std::vector<T>>;
using Arguments = std::vector<ValuesPtr>;

inline Bound bind_call(std::string_view name, const Arguments& arguments,
                       const std::vector<std::string>& template_types = {}) {
  const Function* function = find_function(name);
  if (function == nullptr) throw std::logic_error("there is no function " + std::string(name));
  std::vector<Argument> described;
  for (const auto& argument : arguments) described.push_back({argument->type, nullptr});
  return function->bind({name, template_types, described});
}

// For rows from entry 1000 on.
inline ValuesPtr result_of(std::string_view name, const Arguments& arguments,
                           const std::vector<std::string>& template_types = {}) {
  const Bound bound = bind_call(name, arguments, template_types);
  if (bound.kernel == nullptr) throw std::logic_error(std::string(name) + " " + bound.why_not);
  auto result = calls::run(*bound.kernel, arguments, arguments.empty() ? 1 : arguments[0]->size, 1000);
  if (result->type != bound.kernel->result())
    throw std::logic_error("the result is of another type than promised");
  return result;
}

inline std::string why_not(std::string_view name, const Arguments& arguments,
                           const std::vector<std::string>& template_types = {}) {
  const Bound bound = bind_call(name, arguments, template_types);
  return bound.kernel == nullptr ? bound.why_not : "it binds";
}

// The problem that a call throws.
inline std::string problem_of(std::string_view name, const Arguments& arguments) {
  try {
    result_of(name, arguments);
  } catch (const Error& error) {
    return error.problem();
  }
  return "no error";
}

// ---- Data

// Mostly short lists, also empty and long ones.
template <class T>
Lists<T> random_lists(unsigned seed, std::size_t fewest = 0, std::size_t rows = 300) {
  std::mt19937 random(seed);
  Lists<T> lists(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t size = row % 17 == 0 ? 20 + random() % 30 : random() % 7;
    for (std::size_t i = 0; i < std::max(size, fewest); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        lists[row].push_back(std::uniform_real_distribution<T>(-5, 5)(random));
      } else {
        lists[row].push_back(static_cast<T>(random() % 7));
      }
    }
  }
  return lists;
}

// The same sizes, other items.
template <class T, class U>
Lists<T> random_like(const Lists<U>& shape, unsigned seed) {
  const auto items = random_lists<T>(seed, 60, shape.size());
  Lists<T> lists(shape.size());
  for (std::size_t row = 0; row < shape.size(); ++row)
    lists[row].assign(items[row].begin(),
                      items[row].begin() + static_cast<std::ptrdiff_t>(shape[row].size()));
  return lists;
}

// ---- Comparison: NaN equals NaN, everything else bit by bit

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a == b ? std::signbit(a) == std::signbit(b) : a != a && b != b;
  } else {
    return a == b;
  }
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  bool all = a.size() == b.size();
  for (std::size_t i = 0; all && i < a.size(); ++i) all = same<T>(a[i], b[i]);
  return all;
}

// Compares the result with `expected(row)`.
template <class F>
void expect_rows(const ValuesPtr& result, F expected) {
  using R = decltype(expected(std::size_t{0}));
  const auto rows = calls::rows_of<R>(*result);
  for (std::size_t row = 0; row < rows.size(); ++row)
    ASSERT_TRUE(same(rows[row], expected(row)))
        << "row " << row << ": " << ::testing::PrintToString(rows[row]) << " instead of "
        << ::testing::PrintToString(expected(row));
}

}  // namespace colonnade::frame::expression_testing

#endif
