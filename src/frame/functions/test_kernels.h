// For tests of functions: values from C++ vectors, calls by name, results back as vectors.
#ifndef COLONNADE_FRAME_FUNCTIONS_TEST_KERNELS_H
#define COLONNADE_FRAME_FUNCTIONS_TEST_KERNELS_H

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "frame/expression/function.h"

namespace colonnade::frame::calls {

// Scalars, strings, or lists, one per row.
template <class T>
ValuesPtr values_of(const std::vector<T>& rows);

template <class T>
struct Maker {
  static ValueType type() { return element_of<T>(); }
  static ValuesPtr make(const std::vector<T>& rows) {
    auto kept = std::make_shared<std::vector<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>>(
        rows.begin(), rows.end());
    return make_scalars(element_of<T>(), rows.size(), kept->data(), kept);
  }
};

template <class T>
struct Maker<std::vector<T>> {
  static ValueType type() { return ValueType::list(Maker<T>::type()); }
  static ValuesPtr make(const std::vector<std::vector<T>>& rows) {
    auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
    std::vector<T> items;
    for (const auto& row : rows) {
      items.insert(items.end(), row.begin(), row.end());
      offsets->push_back(static_cast<std::int64_t>(items.size()));
    }
    return make_list(rows.size(), offsets->data(), values_of(items), offsets);
  }
};

template <>
struct Maker<std::string> {
  static ValueType type() { return ValueType::string(); }
  static ValuesPtr make(const std::vector<std::string>& rows) {
    auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
    std::vector<char> characters;
    for (const auto& row : rows) {
      characters.insert(characters.end(), row.begin(), row.end());
      offsets->push_back(static_cast<std::int64_t>(characters.size()));
    }
    return make_string(rows.size(), offsets->data(), values_of(characters), offsets);
  }
};

template <class T>
ValuesPtr values_of(const std::vector<T>& rows) {
  return Maker<T>::make(rows);
}

template <class T>
ValuesPtr constant_of(std::size_t rows, T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return make_constant(rows, value);
  else
    return make_constant_string(rows, value);
}

// Element `place` of values.
template <class T>
struct Taker {
  static T take(const Values& values, std::size_t place) {
    return values.as<T>()[values.constant ? 0 : place];
  }
};
template <class T>
struct Taker<std::vector<T>> {
  static std::vector<T> take(const Values& values, std::size_t place) {
    const std::int64_t* offsets = values.offsets + (values.constant ? 0 : place);
    std::vector<T> items;
    for (auto i = offsets[0]; i < offsets[1]; ++i)
      items.push_back(Taker<T>::take(values.items(), static_cast<std::size_t>(i)));
    return items;
  }
};
template <>
struct Taker<std::string> {
  static std::string take(const Values& values, std::size_t place) {
    const auto characters = Taker<std::vector<char>>::take(values, place);
    return {characters.begin(), characters.end()};
  }
};

// All rows. Throws std::logic_error if the values are of another type.
template <class T>
std::vector<T> rows_of(const Values& values) {
  if (values.type != Maker<T>::type())
    throw std::logic_error("got " + values.type.name() + " instead of " + Maker<T>::type().name());
  std::vector<T> rows;
  for (std::size_t i = 0; i < values.size; ++i) rows.push_back(Taker<T>::take(values, i));
  return rows;
}

// The functions of numbers and strings.
inline const Function* function_called(std::string_view name) {
  static const std::vector<Function> functions = [] {
    std::vector<Function> all = operator_functions();
    for (const auto& table : {math_functions(), string_functions()})
      all.insert(all.end(), table.begin(), table.end());
    return all;
  }();
  for (const Function& function : functions)
    if (function.name == name) return &function;
  throw std::logic_error("there is no function " + std::string(name));
}

inline Bound bind(std::string_view name, const std::vector<ValuesPtr>& arguments,
                  const std::vector<std::string>& template_types = {}) {
  std::vector<Argument> described;
  for (const ValuesPtr& argument : arguments)
    described.push_back({argument->type, argument->constant ? argument.get() : nullptr});
  return function_called(name)->bind({name, template_types, described});
}

inline ValuesPtr run(const Kernel& kernel, const std::vector<ValuesPtr>& arguments, std::size_t rows,
                     std::uint64_t first_entry = 0) {
  static BlockMemory memory;
  const Rows all{first_entry, rows, nullptr};
  const CallContext context{memory, all};
  return kernel.run(context, arguments);
}

// The result of a function for some rows, starting with entry 1000.
inline ValuesPtr call(std::string_view name, const std::vector<ValuesPtr>& arguments,
                      const std::vector<std::string>& template_types = {}) {
  const Bound bound = bind(name, arguments, template_types);
  if (bound.kernel == nullptr) throw std::logic_error(std::string(name) + ": " + bound.why_not);
  ValuesPtr result = run(*bound.kernel, arguments, arguments.empty() ? 3 : arguments.front()->size, 1000);
  if (!(result->type == bound.kernel->result()))
    throw std::logic_error("the result is not of the type that was promised");
  return result;
}

}  // namespace colonnade::frame::calls

#endif
