// C++ functions for data frames, in a user's shared library. Such a library needs this header only:
//
//   #include <colonnade/functions.h>
//
//   float scale_factor(float pt, float eta) { return pt > 20 ? 0.98F : 1.02F + 0.01F * eta; }
//   double scalar_sum(std::span<const float> pt) { return std::accumulate(pt.begin(), pt.end(), 0.0); }
//
//   COLONNADE_FUNCTIONS("2026.1", colonnade::function<scale_factor>("scale_factor"),
//                       colonnade::function<scalar_sum>("scalar_sum"))
//
//   c++ -std=c++20 -O2 -fPIC -shared functions.cpp -o libfunctions.so
//
// Python's `colonnade.library("libfunctions.so")` makes them available by name. Parameters are numbers, bool,
// std::span<const T> and std::vector<T> of them, std::string_view and std::string; results are numbers, bool,
// std::vector<T>, and std::string. Several threads may call a function at the same time. An exception ends
// the pass; its text becomes the message.
//
// The interface between the library and Colonnade is C, so that different compilers may build the
// two.
#ifndef COLONNADE_FUNCTIONS_H
#define COLONNADE_FUNCTIONS_H

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace colonnade {

// The values of an argument for some rows: one per row, or those from offsets[row] to offsets[row + 1].
struct FunctionColumn {
  const void* items;
  const std::int64_t* offsets;  // null if each row has one value
};
// The receiver of the results.
struct FunctionResult {
  void* items;  // room for one number per row
  void* self;
  void (*append)(void* self, const void* items, std::int64_t count);  // the next row of a list or text
  void (*fail)(void* self, const char* why);
};
struct FunctionDescription {
  const char* name;
  const char* result;             // type names: "std::int32_t", "std::vector<float>", "std::string"
  const char* const* parameters;  // null-terminated
  // Calls the function for each row. Returns non-zero after reporting an error.
  int (*call)(const FunctionColumn* columns, std::int64_t rows, const FunctionResult* result);
};
struct FunctionList {
  std::uint32_t abi;
  const char* version;
  std::int64_t size;
  const FunctionDescription* functions;
};

}  // namespace colonnade

#define COLONNADE_FUNCTIONS_ABI 1

#define COLONNADE_FUNCTIONS(version_text, ...)                                                             \
  extern "C" __attribute__((visibility("default"))) const colonnade::FunctionList* colonnade_functions() { \
    static const colonnade::FunctionDescription listed[] = {__VA_ARGS__};                                  \
    static const colonnade::FunctionList list = {COLONNADE_FUNCTIONS_ABI, (version_text),                  \
                                                 sizeof(listed) / sizeof(listed[0]), listed};              \
    return &list;                                                                                          \
  }

namespace colonnade {
namespace detail {

// As "float" or "std::vector<float>"; integers by their size and sign.
template <class T>
consteval const char* function_type_name(bool list) {
  static_assert(std::is_integral_v<T> || std::is_same_v<T, float> || std::is_same_v<T, double>,
                "numbers, bool, std::span<const T>, std::vector<T>, std::string_view, std::string");
  if (std::is_same_v<T, bool>) return list ? "std::vector<bool>" : "bool";
  if (std::is_same_v<T, float>) return list ? "std::vector<float>" : "float";
  if (std::is_same_v<T, double>) return list ? "std::vector<double>" : "double";
  constexpr const char* names[][2] = {
      {"std::uint8_t", "std::vector<std::uint8_t>"},   {"std::int8_t", "std::vector<std::int8_t>"},
      {"std::uint16_t", "std::vector<std::uint16_t>"}, {"std::int16_t", "std::vector<std::int16_t>"},
      {"std::uint32_t", "std::vector<std::uint32_t>"}, {"std::int32_t", "std::vector<std::int32_t>"},
      {"std::uint64_t", "std::vector<std::uint64_t>"}, {"std::int64_t", "std::vector<std::int64_t>"}};
  std::size_t place = std::is_signed_v<T> ? 1 : 0;
  for (std::size_t size = sizeof(T); size > 1; size /= 2) place += 2;
  return names[place][list ? 1 : 0];
}

// The values of one type: its name, how to read one from a column, and how to store a result.
template <class T>
struct FunctionValue {
  static constexpr const char* name = function_type_name<T>(false);
  static T get(const FunctionColumn& column, std::int64_t row) {
    return static_cast<const T*>(column.items)[row];
  }
  static void put(const FunctionResult& result, std::int64_t row, T value) {
    static_cast<T*>(result.items)[row] = value;
  }
};
template <class T>
struct FunctionValue<std::span<const T>> {
  static constexpr const char* name = function_type_name<T>(true);
  static std::span<const T> get(const FunctionColumn& column, std::int64_t row) {
    const std::int64_t begin = column.offsets[row];
    return {static_cast<const T*>(column.items) + begin,
            static_cast<std::size_t>(column.offsets[row + 1] - begin)};
  }
};
template <class T>
struct FunctionValue<std::vector<T>> {
  static constexpr const char* name = function_type_name<T>(true);
  static std::vector<T> get(const FunctionColumn& column, std::int64_t row) {
    const auto items = FunctionValue<std::span<const T>>::get(column, row);
    return {items.begin(), items.end()};
  }
  static void put(const FunctionResult& result, std::int64_t, const std::vector<T>& value) {
    static_assert(!std::is_same_v<T, bool>, "lists of bool are std::vector<std::int8_t>");
    result.append(result.self, value.data(), static_cast<std::int64_t>(value.size()));
  }
};
template <>
struct FunctionValue<std::string_view> {
  static constexpr const char* name = "std::string";
  static std::string_view get(const FunctionColumn& column, std::int64_t row) {
    const auto text = FunctionValue<std::span<const char>>::get(column, row);
    return {text.data(), text.size()};
  }
};
template <>
struct FunctionValue<std::string> {
  static constexpr const char* name = "std::string";
  static std::string get(const FunctionColumn& column, std::int64_t row) {
    return std::string(FunctionValue<std::string_view>::get(column, row));
  }
  static void put(const FunctionResult& result, std::int64_t, const std::string& value) {
    result.append(result.self, value.data(), static_cast<std::int64_t>(value.size()));
  }
};

template <auto called, class Type = decltype(called)>
struct FunctionAdapter;
template <auto called, class R, class... A>
struct FunctionAdapter<called, R (*)(A...)> {
  static constexpr const char* parameters[] = {FunctionValue<std::remove_cvref_t<A>>::name..., nullptr};
  static constexpr const char* result = FunctionValue<std::remove_cvref_t<R>>::name;

  static int call(const FunctionColumn* columns, std::int64_t rows, const FunctionResult* to) noexcept {
    try {
      call_all(columns, rows, *to, std::index_sequence_for<A...>());
      return 0;
    } catch (const std::exception& error) {
      to->fail(to->self, error.what());
    } catch (...) {
      to->fail(to->self, "something other than a std::exception was thrown");
    }
    return 1;
  }

 private:
  template <std::size_t... k>
  static void call_all([[maybe_unused]] const FunctionColumn* columns, std::int64_t rows,
                       const FunctionResult& to, std::index_sequence<k...>) {
    for (std::int64_t row = 0; row < rows; ++row)
      FunctionValue<std::remove_cvref_t<R>>::put(
          to, row, called(FunctionValue<std::remove_cvref_t<A>>::get(columns[k], row)...));
  }
};
template <auto called, class R, class... A>
struct FunctionAdapter<called, R (*)(A...) noexcept> : FunctionAdapter<called, R (*)(A...)> {};

}  // namespace detail

// A function for COLONNADE_FUNCTIONS, with its name in expressions.
template <auto called>
constexpr FunctionDescription function(const char* name) {
  using Adapter = detail::FunctionAdapter<called>;
  return {name, Adapter::result, Adapter::parameters, &Adapter::call};
}

}  // namespace colonnade

#endif
