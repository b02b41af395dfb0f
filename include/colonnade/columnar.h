// Whole arrays in and out of a data set: flat values plus offsets, field by field, without a C++ object per
// entry.
//
// A field is spelled by its arrays:
//
//   scalar        values
//   string        offsets at its path, characters as values at its path
//   collection    offsets at its path, the arrays of its item at path + "._0"
//                 (the items of maps are pairs, those of optional are zero or one)
//   array         nothing at its path; the items, size times as many, at path + "._0"
//   bitset        size booleans per value, the least significant bit first
//   record        nothing at its path; its members at path + ".member"
//   variant       tags at its path (1 for the first alternative, 0 for no value)
//                 the values of each alternative, in order, at path + "._0", "._1", ...
//   enum, atomic  values at path + "._0" (writing accepts them at the path as well)
//
// Offsets are n + 1 numbers from 0 on that never decrease; item i spans offsets[i] to offsets[i + 1].
#ifndef COLONNADE_COLUMNAR_H
#define COLONNADE_COLUMNAR_H

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "colonnade/column_type.h"

namespace colonnade {

// The element type of an arithmetic C++ type.
template <class T>
constexpr ElementType element_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) {
    return ElementType::boolean;
  } else if constexpr (std::is_same_v<U, char>) {
    return ElementType::character;
  } else if constexpr (std::is_same_v<U, std::byte>) {
    return ElementType::byte;
  } else if constexpr (std::is_same_v<U, float>) {
    return ElementType::float32;
  } else if constexpr (std::is_same_v<U, double>) {
    return ElementType::float64;
  } else {
    static_assert(std::is_integral_v<U>, "an array view needs numbers, bool, char or std::byte");
    if constexpr (sizeof(U) == 1) return std::is_signed_v<U> ? ElementType::int8 : ElementType::uint8;
    if constexpr (sizeof(U) == 2) return std::is_signed_v<U> ? ElementType::int16 : ElementType::uint16;
    if constexpr (sizeof(U) == 4) return std::is_signed_v<U> ? ElementType::int32 : ElementType::uint32;
    if constexpr (sizeof(U) == 8) return std::is_signed_v<U> ? ElementType::int64 : ElementType::uint64;
  }
}

enum class ArrayRole : std::uint8_t { values, offsets, tags };

// A view of the caller's array. The memory must stay valid until the call that takes it returns.
struct ArrayView {
  ArrayRole role = ArrayRole::values;
  ElementType element = ElementType::uint8;
  const void* data = nullptr;
  std::size_t size = 0;  // elements

  ArrayView() = default;
  ArrayView(ArrayRole r, ElementType e, const void* d, std::size_t n)
      : role(r), element(e), data(d), size(n) {}
  template <std::ranges::contiguous_range Range>
  ArrayView(const Range& range)
      : element(element_of<std::ranges::range_value_t<Range>>()),
        data(std::ranges::data(range)),
        size(std::ranges::size(range)) {}

  static ArrayView offsets(std::span<const std::int64_t> ends) {
    return {ArrayRole::offsets, ElementType::int64, ends.data(), ends.size()};
  }
  static ArrayView tags(std::span<const std::int32_t> tags) {
    return {ArrayRole::tags, ElementType::int32, tags.data(), tags.size()};
  }
};

struct NamedArray {
  std::string path;
  ArrayView array;
};

// An array that a columnar read produced; it owns its memory.
struct ColumnArray {
  std::uint32_t field = invalid_field;
  ArrayRole role = ArrayRole::values;
  ElementType element = ElementType::uint8;
  std::size_t size = 0;               // elements
  std::shared_ptr<std::byte[]> data;  // size * size_of(element) bytes, aligned to 64
  static constexpr std::uint32_t invalid_field = 0xffffffffu;

  template <class T>
  std::span<const T> view() const {
    return {static_cast<const T*>(static_cast<const void*>(data.get())), size};
  }
};

}  // namespace colonnade

#endif
