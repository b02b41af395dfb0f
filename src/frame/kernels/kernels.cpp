// The fast loops, compiled once per instruction set and selected on first use (Highway's foreach_target).
//
// One loop serves arrays and constants: a constant operand is broadcast to one vector, which the
// loop loads again and again (its offset is masked to 0). The elements after the last whole
// vector are computed in a vector as well, through copies, so that nothing beyond the arrays is
// accessed.
#include "frame/kernels/kernels.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "base/each_target.h"
#include "base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frame/kernels/kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace colonnade::frame::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
// Without vectors there is nothing to gain.
void fill(Kernels&) {}
#else

namespace hn = hwy::HWY_NAMESPACE;

// An operand as whole vectors. Tag is one of its element.
template <class Tag>
class Vectors {
 public:
  using T = hn::TFromD<Tag>;
  static constexpr std::size_t lanes = hn::MaxLanes(Tag{});

  HWY_INLINE explicit Vectors(const Operand& operand) : data_(static_cast<const T*>(operand.data)) {
    if (!operand.constant) return;
    hn::StoreU(hn::Set(Tag{}, *data_), Tag{}, buffer_);
    data_ = buffer_;
    mask_ = 0;
  }
  Vectors(const Vectors&) = delete;
  Vectors& operator=(const Vectors&) = delete;

  HWY_INLINE hn::Vec<Tag> at(std::size_t place) const { return hn::LoadU(Tag{}, data_ + (place & mask_)); }
  // The last vector, with `count` elements.
  HWY_INLINE hn::Vec<Tag> last(std::size_t place, std::size_t count) {
    if (mask_ != 0) {
      hn::StoreU(hn::Zero(Tag{}), Tag{}, buffer_);
      std::memcpy(buffer_, data_ + place, count * sizeof(T));
    }
    return hn::LoadU(Tag{}, buffer_);
  }

 private:
  const T* data_;
  std::size_t mask_ = ~std::size_t{0};
  T buffer_[lanes];
};

// The destination of results: vectors of numbers, and masks as bytes 0 or 1.
template <class Tag>
struct StoreNumbers {
  using T = hn::TFromD<Tag>;
  static HWY_INLINE void store(hn::Vec<Tag> vector, T* out) { hn::StoreU(vector, Tag{}, out); }
};

// The bytes for every eight bits.
struct BytesOfBits {
  std::uint64_t bytes[256];
  constexpr BytesOfBits() : bytes{} {
    for (unsigned bits = 0; bits < 256; ++bits)
      for (unsigned bit = 0; bit < 8; ++bit)
        bytes[bits] |= std::uint64_t{(bits >> bit) & 1}
                       << (std::endian::native == std::endian::little ? 8 * bit : 56 - 8 * bit);
  }
};
constexpr BytesOfBits bytes_of_bits;

template <class Tag>
struct StoreMasks {
  using T = std::uint8_t;
  static constexpr std::size_t lanes = hn::MaxLanes(Tag{});
  static HWY_INLINE void store(hn::Mask<Tag> mask, T* out) {
    std::uint8_t bits[8];
    hn::StoreMaskBits(Tag{}, mask, bits);
    constexpr std::size_t at_once = HWY_MIN(lanes, 8);
    for (std::size_t i = 0; i < lanes; i += at_once)
      std::memcpy(out + i, &bytes_of_bits.bytes[bits[i / 8]], at_once);
  }
};

template <class Element, class F, template <class> class Store>
void binary(std::size_t count, const Operand* operands, void* out_bytes) {
  using Tag = hn::ScalableTag<Element>;
  using Out = typename Store<Tag>::T;
  constexpr std::size_t lanes = hn::MaxLanes(Tag{});
  Vectors<Tag> a(operands[0]);
  Vectors<Tag> b(operands[1]);
  auto* out = static_cast<Out*>(out_bytes);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) Store<Tag>::store(F::run(a.at(i), b.at(i)), out + i);
  if (i == count) return;
  Out rest[lanes];
  Store<Tag>::store(F::run(a.last(i, count - i), b.last(i, count - i)), rest);
  std::memcpy(out + i, rest, (count - i) * sizeof(Out));
}

template <class Element, class F, template <class> class Store>
void unary(std::size_t count, const Operand* operands, void* out_bytes) {
  using Tag = hn::ScalableTag<Element>;
  using Out = typename Store<Tag>::T;
  constexpr std::size_t lanes = hn::MaxLanes(Tag{});
  Vectors<Tag> a(operands[0]);
  auto* out = static_cast<Out*>(out_bytes);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) Store<Tag>::store(F::run(a.at(i)), out + i);
  if (i == count) return;
  Out rest[lanes];
  Store<Tag>::store(F::run(a.last(i, count - i)), rest);
  std::memcpy(out + i, rest, (count - i) * sizeof(Out));
}

// Converts elements to another type, in vectors with as many lanes as the wider type has.
template <class From, class To, class F>
void convert(std::size_t count, const Operand* operands, void* out_bytes) {
  constexpr bool to_is_wider = sizeof(To) >= sizeof(From);
  using Wide = hn::ScalableTag<std::conditional_t<to_is_wider, To, From> >;
  using FromTag = hn::Rebind<From, Wide>;
  using ToTag = hn::Rebind<To, Wide>;
  constexpr std::size_t lanes = hn::MaxLanes(Wide{});
  Vectors<FromTag> in(operands[0]);
  auto* out = static_cast<To*>(out_bytes);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(F::run(ToTag{}, in.at(i)), ToTag{}, out + i);
  if (i == count) return;
  To rest[lanes];
  hn::StoreU(F::run(ToTag{}, in.last(i, count - i)), ToTag{}, rest);
  std::memcpy(out + i, rest, (count - i) * sizeof(To));
}

// ---- Operations on vectors

#define COLONNADE_BINARY(name, expression)             \
  struct name {                                        \
    template <class V>                                 \
    static HWY_INLINE auto run(const V a, const V b) { \
      return expression;                               \
    }                                                  \
  }
COLONNADE_BINARY(Add, hn::Add(a, b));
COLONNADE_BINARY(Subtract, hn::Sub(a, b));
COLONNADE_BINARY(Multiply, hn::Mul(a, b));
COLONNADE_BINARY(Divide, hn::Div(a, b));
COLONNADE_BINARY(Minimum, hn::IfThenElse(hn::Lt(b, a), b, a));
COLONNADE_BINARY(Maximum, hn::IfThenElse(hn::Lt(a, b), b, a));
COLONNADE_BINARY(BitAnd, hn::And(a, b));
COLONNADE_BINARY(BitOr, hn::Or(a, b));
COLONNADE_BINARY(BitXor, hn::Xor(a, b));
COLONNADE_BINARY(Less, hn::Lt(a, b));
COLONNADE_BINARY(Greater, hn::Gt(a, b));
COLONNADE_BINARY(Equal, hn::Eq(a, b));
// Not Ne, which is false for NaN on some processors.
COLONNADE_BINARY(NotEqual, hn::Not(hn::Eq(a, b)));
#undef COLONNADE_BINARY

// Highway compares integers with < and > only.
struct LessEqual {
  template <class V>
  static HWY_INLINE auto run(const V a, const V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V> >()) {
      return hn::Le(a, b);
    } else {
      return hn::Not(hn::Lt(b, a));
    }
  }
};
struct GreaterEqual {
  template <class V>
  static HWY_INLINE auto run(const V a, const V b) {
    return LessEqual::run(b, a);
  }
};

struct BitNot {
  template <class V>
  static HWY_INLINE V run(const V a) {
    return hn::Not(a);
  }
};
struct Negate {
  template <class V>
  static HWY_INLINE V run(const V a) {
    return hn::Neg(a);
  }
};
struct Absolute {
  template <class V>
  static HWY_INLINE V run(const V a) {
    return hn::Abs(a);
  }
};
struct SquareRoot {
  template <class V>
  static HWY_INLINE V run(const V a) {
    return hn::Sqrt(a);
  }
};
struct Truth {
  template <class V>
  static HWY_INLINE auto run(const V a) {
    return hn::Not(hn::Eq(a, hn::Zero(hn::DFromV<V>{})));
  }
};
// For bytes 0 and 1.
struct Flip {
  template <class V>
  static HWY_INLINE V run(const V a) {
    return hn::Xor(a, hn::Set(hn::DFromV<V>{}, 1));
  }
};

struct Promote {
  template <class To, class V>
  static HWY_INLINE hn::Vec<To> run(To to, const V a) {
    return hn::PromoteTo(to, a);
  }
};
struct Demote {
  template <class To, class V>
  static HWY_INLINE hn::Vec<To> run(To to, const V a) {
    return hn::DemoteTo(to, a);
  }
};
struct ToFloats {
  template <class To, class V>
  static HWY_INLINE hn::Vec<To> run(To to, const V a) {
    return hn::ConvertTo(to, a);
  }
};
// Bytes to float, via int.
struct BytesToFloats {
  template <class To, class V>
  static HWY_INLINE hn::Vec<To> run(To to, const V a) {
    return hn::ConvertTo(to, hn::PromoteTo(hn::Rebind<std::int32_t, To>{}, a));
  }
};

// Float to integer: saturates, and NaN becomes 0.
struct ToIntegers {
  template <class To, class V>
  static HWY_INLINE hn::Vec<To> run(To to, const V a) {
    const V number = hn::IfThenElseZero(hn::Eq(a, a), a);
    if constexpr (sizeof(hn::TFromD<To>) < sizeof(hn::TFromV<V>)) {
      return hn::DemoteTo(to, number);
    } else {
      return hn::ConvertTo(to, number);
    }
  }
};

// ---- The table

template <class T>
void fill_comparisons(Kernels& table, ElementType element) {
  table.at(Operation::less, element) = &binary<T, Less, StoreMasks>;
  table.at(Operation::less_equal, element) = &binary<T, LessEqual, StoreMasks>;
  table.at(Operation::greater, element) = &binary<T, Greater, StoreMasks>;
  table.at(Operation::greater_equal, element) = &binary<T, GreaterEqual, StoreMasks>;
  table.at(Operation::equal, element) = &binary<T, Equal, StoreMasks>;
  table.at(Operation::not_equal, element) = &binary<T, NotEqual, StoreMasks>;
  table.at(Operation::truth, element) = &unary<T, Truth, StoreMasks>;
  table.at(Operation::minimum, element) = &binary<T, Minimum, StoreNumbers>;
  table.at(Operation::maximum, element) = &binary<T, Maximum, StoreNumbers>;
}

template <class T>
void fill_floats(Kernels& table, ElementType element) {
  table.at(Operation::add, element) = &binary<T, Add, StoreNumbers>;
  table.at(Operation::subtract, element) = &binary<T, Subtract, StoreNumbers>;
  table.at(Operation::multiply, element) = &binary<T, Multiply, StoreNumbers>;
  table.at(Operation::divide, element) = &binary<T, Divide, StoreNumbers>;
  table.at(Operation::negate, element) = &unary<T, Negate, StoreNumbers>;
  table.at(Operation::absolute, element) = &unary<T, Absolute, StoreNumbers>;
  table.at(Operation::square_root, element) = &unary<T, SquareRoot, StoreNumbers>;
}

// Signed and unsigned integers of one width share these, thanks to two's complement.
template <class T>
void fill_integers(Kernels& table, ElementType signed_, ElementType unsigned_) {
  for (const ElementType element : {signed_, unsigned_}) {
    table.at(Operation::add, element) = &binary<T, Add, StoreNumbers>;
    table.at(Operation::subtract, element) = &binary<T, Subtract, StoreNumbers>;
    table.at(Operation::multiply, element) = &binary<T, Multiply, StoreNumbers>;
    table.at(Operation::bit_and, element) = &binary<T, BitAnd, StoreNumbers>;
    table.at(Operation::bit_or, element) = &binary<T, BitOr, StoreNumbers>;
    table.at(Operation::bit_xor, element) = &binary<T, BitXor, StoreNumbers>;
    table.at(Operation::bit_not, element) = &unary<T, BitNot, StoreNumbers>;
  }
}

void fill_conversions(Kernels& table) {
  using enum ElementType;
  table.conversion(float32, float64) = &convert<float, double, Promote>;
  table.conversion(float64, float32) = &convert<double, float, Demote>;
  table.conversion(int32, float64) = &convert<std::int32_t, double, Promote>;
  table.conversion(int32, float32) = &convert<std::int32_t, float, ToFloats>;
  table.conversion(int64, float64) = &convert<std::int64_t, double, ToFloats>;
  table.conversion(float32, int32) = &convert<float, std::int32_t, ToIntegers>;
  table.conversion(float64, int32) = &convert<double, std::int32_t, ToIntegers>;
  table.conversion(float64, int64) = &convert<double, std::int64_t, ToIntegers>;
  table.conversion(int32, int64) = &convert<std::int32_t, std::int64_t, Promote>;
  table.conversion(uint32, int64) = &convert<std::uint32_t, std::uint64_t, Promote>;
  table.conversion(uint32, uint64) = &convert<std::uint32_t, std::uint64_t, Promote>;
  for (const ElementType from : {boolean, byte, uint8}) {
    table.conversion(from, int32) = &convert<std::uint8_t, std::int32_t, Promote>;
    table.conversion(from, uint32) = &convert<std::uint8_t, std::uint32_t, Promote>;
    table.conversion(from, float32) = &convert<std::uint8_t, float, BytesToFloats>;
  }
  for (const ElementType from : {character, int8}) {
    table.conversion(from, int32) = &convert<std::int8_t, std::int32_t, Promote>;
    table.conversion(from, float32) = &convert<std::int8_t, float, BytesToFloats>;
  }
  table.conversion(int16, int32) = &convert<std::int16_t, std::int32_t, Promote>;
  table.conversion(uint16, int32) = &convert<std::uint16_t, std::int32_t, Promote>;
}

void fill(Kernels& table) {
  using enum ElementType;
  fill_floats<float>(table, float32);
  fill_floats<double>(table, float64);
  fill_integers<std::uint32_t>(table, int32, uint32);
  fill_integers<std::uint64_t>(table, int64, uint64);
  fill_comparisons<float>(table, float32);
  fill_comparisons<double>(table, float64);
  fill_comparisons<std::int32_t>(table, int32);
  fill_comparisons<std::uint32_t>(table, uint32);
  fill_comparisons<std::int64_t>(table, int64);
  fill_comparisons<std::uint64_t>(table, uint64);
  table.at(Operation::absolute, int32) = &unary<std::int32_t, Absolute, StoreNumbers>;
  table.at(Operation::negate, int32) = &unary<std::int32_t, Negate, StoreNumbers>;
  table.at(Operation::logical_and, boolean) = &binary<std::uint8_t, BitAnd, StoreNumbers>;
  table.at(Operation::logical_or, boolean) = &binary<std::uint8_t, BitOr, StoreNumbers>;
  table.at(Operation::logical_not, boolean) = &unary<std::uint8_t, Flip, StoreNumbers>;
  fill_conversions(table);
}
#endif

}  // namespace
}  // namespace colonnade::frame::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace colonnade::frame {

namespace {

HWY_EXPORT(fill);

Kernels chosen_kernels() {
  Kernels table = reference_kernels();
  HWY_DYNAMIC_DISPATCH(fill)(table);
  for (std::size_t from = 0; from < element_count; ++from) {  // two names of one operation
    const auto element = static_cast<ElementType>(from);
    if (table.at(Operation::truth, element) != nullptr)
      table.conversion(element, ElementType::boolean) = table.at(Operation::truth, element);
  }
  return table;
}

const Kernels& kernels() noexcept {
  static const Kernels table = chosen_kernels();
  return table;
}

}  // namespace

ElementLoop element_loop(Operation operation, ElementType element) noexcept {
  const auto number = static_cast<std::size_t>(element);
  return number < element_count ? kernels().operations[static_cast<std::size_t>(operation)][number] : nullptr;
}

ElementLoop conversion_loop(ElementType from, ElementType to) noexcept {
  const auto number = static_cast<std::size_t>(from);
  const auto other = static_cast<std::size_t>(to);
  return number < element_count && other < element_count ? kernels().conversions[number][other] : nullptr;
}

std::vector<Kernels> all_kernels() {
  std::vector<Kernels> tables;
  with_each_target([&] { tables.push_back(chosen_kernels()); });
  return tables;
}

}  // namespace colonnade::frame
#endif
