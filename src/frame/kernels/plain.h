// Plain loops made from functions of one element: for the reference, for operations without a vector form,
// and for libm functions, whose bits must not change.
#ifndef COLONNADE_FRAME_KERNELS_PLAIN_H
#define COLONNADE_FRAME_KERNELS_PLAIN_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "frame/kernels/kernels.h"

namespace colonnade::frame {

// The type that an element has in memory.
template <ElementType element>
struct ElementOf;
template <>
struct ElementOf<ElementType::boolean> : std::type_identity<bool> {};
template <>
struct ElementOf<ElementType::byte> : std::type_identity<std::uint8_t> {};
template <>
struct ElementOf<ElementType::character> : std::type_identity<char> {};
template <>
struct ElementOf<ElementType::int8> : std::type_identity<std::int8_t> {};
template <>
struct ElementOf<ElementType::uint8> : std::type_identity<std::uint8_t> {};
template <>
struct ElementOf<ElementType::int16> : std::type_identity<std::int16_t> {};
template <>
struct ElementOf<ElementType::uint16> : std::type_identity<std::uint16_t> {};
template <>
struct ElementOf<ElementType::int32> : std::type_identity<std::int32_t> {};
template <>
struct ElementOf<ElementType::uint32> : std::type_identity<std::uint32_t> {};
template <>
struct ElementOf<ElementType::int64> : std::type_identity<std::int64_t> {};
template <>
struct ElementOf<ElementType::uint64> : std::type_identity<std::uint64_t> {};
template <>
struct ElementOf<ElementType::float32> : std::type_identity<float> {};
template <>
struct ElementOf<ElementType::float64> : std::type_identity<double> {};

template <std::size_t element>
using NumberedElement = typename ElementOf<static_cast<ElementType>(element)>::type;

namespace detail {

template <class F, class R, class... A, std::size_t... i>
void plain_loop(std::size_t count, const Operand* operands, void* out, std::index_sequence<i...>) {
  const auto data = std::tuple<const A*...>{static_cast<const A*>(operands[i].data)...};
  // A step of zero for constant operands.
  const std::array<std::size_t, sizeof...(A)> step{(operands[i].constant ? std::size_t{0} : 1)...};
  auto* results = static_cast<R*>(out);
  for (std::size_t row = 0; row < count; ++row)
    results[row] = static_cast<R>(F{}(std::get<i>(data)[row * step[i]]...));
}

}  // namespace detail

// F is stateless and takes one element of each operand; R is the stored type.
template <class F, class R, class... A>
void plain_loop(std::size_t count, const Operand* operands, void* out) {
  detail::plain_loop<F, R, A...>(count, operands, out, std::index_sequence_for<A...>{});
}

// The same for functions that may reject an element: F takes the element's index first.
template <class F, class R, class A, class B>
void faulty_loop(std::size_t count, const Operand* operands, void* out) {
  const auto* a = static_cast<const A*>(operands[0].data);
  const auto* b = static_cast<const B*>(operands[1].data);
  const std::size_t step_a = operands[0].constant ? 0 : 1;
  const std::size_t step_b = operands[1].constant ? 0 : 1;
  auto* results = static_cast<R*>(out);
  for (std::size_t row = 0; row < count; ++row)
    results[row] = static_cast<R>(F{}(row, a[row * step_a], b[row * step_b]));
}

}  // namespace colonnade::frame

#endif
