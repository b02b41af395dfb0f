// Common parts of the functions over lists: row-wise access to arguments, selection of loops by type, checks
// of calls, and kernels made of plain functions.
//
// A function over lists is one or two passes over flat items with offsets; nothing is allocated per row.
#ifndef COLONNADE_FRAME_FUNCTIONS_LISTS_H
#define COLONNADE_FRAME_FUNCTIONS_LISTS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frame/expression/function.h"
#include "frame/functions/flat_kernel.h"

namespace colonnade::frame::lists {

// ---- Arguments, row by row

class ListView {
 public:
  explicit ListView(const Values& list) noexcept : offsets_(list.offsets), step_(list.constant ? 0 : 1) {}

  std::int64_t begin(std::size_t row) const noexcept { return offsets_[row * step_]; }
  std::size_t count(std::size_t row) const noexcept {
    return static_cast<std::size_t>(offsets_[row * step_ + 1] - offsets_[row * step_]);
  }
  // True if the offsets are those of the rows, so that another list of the same shape can share them.
  bool plain() const noexcept { return step_ == 1; }
  const std::int64_t* offsets() const noexcept { return offsets_; }
  // Of all rows together.
  std::size_t total(std::size_t rows) const noexcept {
    return plain() ? static_cast<std::size_t>(offsets_[rows]) : rows * (rows > 0 ? count(0) : 0);
  }

 private:
  const std::int64_t* offsets_;
  std::size_t step_;
};

template <class T>
class ScalarView {
 public:
  explicit ScalarView(const Values& values) noexcept
      : data_(values.as<T>()), step_(values.constant ? 0 : 1) {}
  T operator[](std::size_t row) const noexcept { return data_[row * step_]; }

 private:
  const T* data_;
  std::size_t step_;
};

// The items of a list with one array element each, even if they are constant (scalars, and members of
// records).
ValuesPtr dense_items(const Values& list, BlockMemory& memory);
// The values at `indices`.
ValuesPtr pick(const ValuesPtr& values, std::span<const std::int64_t> indices, BlockMemory& memory);

// Throws unless the rows of two lists have equally many items. `what` names them: "a list and its mask".
void require_same_sizes(const CallContext& context, const ListView& a, const ListView& b,
                        std::string_view what);
[[noreturn]] void fail_at(const CallContext& context, std::size_t row, const std::string& problem,
                          const std::string& advice);
// For an index that a list of `count` items does not have.
[[noreturn]] void fail_index(const CallContext& context, std::size_t row, std::int64_t index,
                             std::size_t count);

// More items in one row are a mistake, not an event.
inline constexpr std::uint64_t most_items = 100'000'000;

// ---- Types

// Bool, characters, integers and floating point numbers; but not std::byte, as in C++.
bool is_number(const ValueType& type);
bool is_number_list(const ValueType& type);
// std::common_type of two numbers.
ElementType common_item(ElementType a, ElementType b);
// Of the items of a list that a number may stand in for: theirs. But comparisons have items of `int` in ROOT,
// which -1 is one of.
ElementType beside_number(const ValueType& item, const ValueType& number);

// Calls f.operator()<T>() with the C++ type of a number.
template <class F>
decltype(auto) with_number(ElementType element, F&& f) {
  switch (element) {
    case ElementType::boolean:
      return f.template operator()<bool>();
    case ElementType::character:
    case ElementType::int8:
      return f.template operator()<std::int8_t>();
    case ElementType::byte:
    case ElementType::uint8:
      return f.template operator()<std::uint8_t>();
    case ElementType::int16:
      return f.template operator()<std::int16_t>();
    case ElementType::uint16:
      return f.template operator()<std::uint16_t>();
    case ElementType::int32:
      return f.template operator()<std::int32_t>();
    case ElementType::uint32:
      return f.template operator()<std::uint32_t>();
    case ElementType::int64:
      return f.template operator()<std::int64_t>();
    case ElementType::float32:
      return f.template operator()<float>();
    case ElementType::float64:
      return f.template operator()<double>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

// Calls f.operator()<U>() with the unsigned type of the element's width, for code that only moves elements.
template <class F>
decltype(auto) with_width(ElementType element, F&& f) {
  switch (size_of(element)) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

// ---- Kernels

using Body = std::function<ValuesPtr(const CallContext&, std::span<const ValuesPtr>)>;

// A kernel as a function. If all arguments are constants, the body gets them as ordinary values of one row.
struct Recipe {
  std::string key;
  ValueType result;
  std::vector<KernelPtr> conversions;  // of arguments, before the body gets them; null: none
  Body body;
  bool may_throw = false;
  std::optional<FlatCode::Kind> flat;  // the operation of the body, if flat programs have it
};
Bound make_bound(Recipe recipe);

// The kernel from one type to another, null if they are equal. Throws ErrorKind::type if there is none.
KernelPtr convert(const ValueType& from, const ValueType& to);

// ---- Calls

// An entry of the table. `pattern` lists the arguments of the function: N a list of numbers, I a list of
// integers, L any list, S any list or a string, n a number, i an integer, * anything; arguments after ? are
// optional.
Function function(std::string name, std::string signature, std::string pattern,
                  std::function<Bound(const Call&)> bind);
// Why a call does not match a pattern; empty if it does.
std::string misfit(const Call& call, std::string_view pattern);

// ---- Parts of list_functions()

std::vector<Function> subscript_functions();  // lists_subscript.cpp: [], .size, .at, ...
std::vector<Function> reduction_functions();  // lists_reduce.cpp: Sum, Max, Any, ...
std::vector<Function> order_functions();      // lists_order.cpp: Sort, Argsort, Reverse, ...
std::vector<Function> selection_functions();  // lists_select.cpp: Take, Drop, Where, Intersect, ...
std::vector<Function> creation_functions();   // lists_create.cpp: Range, Enumerate, {a, b}, ...

}  // namespace colonnade::frame::lists

#endif
