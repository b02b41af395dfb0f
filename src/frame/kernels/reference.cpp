// The definition of every operation: one element at a time.
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "frame/kernels/kernels.h"
#include "frame/kernels/plain.h"

namespace colonnade::frame {

namespace {

// Signed integers wrap: computes in the unsigned type, at least as wide as int.
template <class T>
using Wrapping = std::make_unsigned_t<decltype(T{} + 0)>;

// Floating-point numbers directly, integers in unsigned arithmetic.
template <class Op>
struct Arithmetic {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return Op{}(a, b);
    else
      return static_cast<T>(Op{}(static_cast<Wrapping<T>>(a), static_cast<Wrapping<T>>(b)));
  }
};
using Add = Arithmetic<std::plus<>>;
using Subtract = Arithmetic<std::minus<>>;
using Multiply = Arithmetic<std::multiplies<>>;

struct DivideFloats {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct DivideIntegers {
  template <class T>
  T operator()(std::size_t place, T a, T b) const {
    if (b == 0) throw ElementFault{place, "integer division by zero"};
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return Subtract{}(T{0}, a);
    return a / b;
  }
};
struct Remainder {
  template <class T>
  T operator()(std::size_t place, T a, T b) const {
    if (b == 0) throw ElementFault{place, "remainder of an integer division by zero"};
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return 0;
    return a % b;
  }
};
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

struct BitAnd {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct BitNot {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
template <class T>
unsigned shift_amount(std::size_t place, std::int64_t amount) {
  if (amount < 0) throw ElementFault{place, "shift by a negative number of bits"};
  if (amount >= std::numeric_limits<Wrapping<T>>::digits)
    throw ElementFault{place, "shift by as many bits as the number has, or more"};
  return static_cast<unsigned>(amount);
}
struct ShiftLeft {
  template <class T>
  T operator()(std::size_t place, T a, std::int64_t amount) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) << shift_amount<T>(place, amount));
  }
};
struct ShiftRight {
  template <class T>
  T operator()(std::size_t place, T a, std::int64_t amount) const {
    return static_cast<T>(a >> shift_amount<T>(place, amount));
  }
};

struct Negate {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>)
      return -a;
    else
      return Subtract{}(T{0}, a);
  }
};
struct Absolute {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::abs(a);
    else
      return a < 0 ? Negate{}(a) : a;
  }
};
struct SquareRoot {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};

struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct Equal {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Truth {
  template <class T>
  bool operator()(T a) const {
    return a != 0;
  }
};
struct LogicalAnd {
  bool operator()(bool a, bool b) const { return a && b; }
};
struct LogicalOr {
  bool operator()(bool a, bool b) const { return a || b; }
};
struct LogicalNot {
  bool operator()(bool a) const { return !a; }
};

template <class To>
struct Convert {
  template <class From>
  To operator()(From value) const {
    if constexpr (std::is_same_v<To, bool>) {
      return value != From{0};
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      // Powers of two, so that they are exact: the first value that is too large, and the smallest one.
      constexpr From end = From{2} * static_cast<From>((std::numeric_limits<To>::max() >> 1) + 1);
      constexpr From begin = static_cast<From>(std::numeric_limits<To>::min());
      if (value >= end) return std::numeric_limits<To>::max();
      if (value > begin - 1 && value < end) return static_cast<To>(value);
      return value <= begin ? std::numeric_limits<To>::min() : To{0};
    } else {
      return static_cast<To>(value);
    }
  }
};

// ---- The table

template <class T, class F>
constexpr ElementLoop same = &plain_loop<F, T, T, T>;
template <class T, class F>
constexpr ElementLoop unary = &plain_loop<F, T, T>;
template <class T, class F>
constexpr ElementLoop compare = &plain_loop<F, bool, T, T>;

template <class T>
void fill_integers(Kernels& table, ElementType element) {
  table.at(Operation::divide, element) = &faulty_loop<DivideIntegers, T, T, T>;
  table.at(Operation::remainder, element) = &faulty_loop<Remainder, T, T, T>;
  table.at(Operation::shift_left, element) = &faulty_loop<ShiftLeft, T, T, std::int64_t>;
  table.at(Operation::shift_right, element) = &faulty_loop<ShiftRight, T, T, std::int64_t>;
  table.at(Operation::bit_and, element) = same<T, BitAnd>;
  table.at(Operation::bit_or, element) = same<T, BitOr>;
  table.at(Operation::bit_xor, element) = same<T, BitXor>;
  table.at(Operation::bit_not, element) = unary<T, BitNot>;
}

template <class T>
void fill_numbers(Kernels& table, ElementType element) {
  table.at(Operation::add, element) = same<T, Add>;
  table.at(Operation::subtract, element) = same<T, Subtract>;
  table.at(Operation::multiply, element) = same<T, Multiply>;
  table.at(Operation::negate, element) = unary<T, Negate>;
  table.at(Operation::absolute, element) = unary<T, Absolute>;
  if constexpr (std::is_floating_point_v<T>) {
    table.at(Operation::divide, element) = same<T, DivideFloats>;
    table.at(Operation::square_root, element) = unary<T, SquareRoot>;
  } else {
    fill_integers<T>(table, element);
  }
}

template <class T>
void fill_ordered(Kernels& table, ElementType element) {
  table.at(Operation::minimum, element) = same<T, Minimum>;
  table.at(Operation::maximum, element) = same<T, Maximum>;
  table.at(Operation::less, element) = compare<T, Less>;
  table.at(Operation::less_equal, element) = compare<T, LessEqual>;
  table.at(Operation::greater, element) = compare<T, Greater>;
  table.at(Operation::greater_equal, element) = compare<T, GreaterEqual>;
  table.at(Operation::equal, element) = compare<T, Equal>;
  table.at(Operation::not_equal, element) = compare<T, NotEqual>;
  table.at(Operation::truth, element) = &plain_loop<Truth, bool, T>;
}

template <std::size_t from, std::size_t... to>
void fill_conversions(Kernels& table, std::index_sequence<to...>) {
  ((table.conversions[from][to] =
        &plain_loop<Convert<NumberedElement<to>>, NumberedElement<to>, NumberedElement<from>>),
   ...);
}

template <std::size_t... element>
Kernels make_table(std::index_sequence<element...> elements) {
  Kernels table;
  const auto fill = [&]<class T>(ElementType type, std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, bool>) fill_numbers<T>(table, type);
    fill_ordered<T>(table, type);
  };
  (fill(static_cast<ElementType>(element), std::type_identity<NumberedElement<element>>{}), ...);
  (fill_conversions<element>(table, elements), ...);
  table.at(Operation::logical_and, ElementType::boolean) = &plain_loop<LogicalAnd, bool, bool, bool>;
  table.at(Operation::logical_or, ElementType::boolean) = &plain_loop<LogicalOr, bool, bool, bool>;
  table.at(Operation::logical_not, ElementType::boolean) = &plain_loop<LogicalNot, bool, bool>;
  return table;
}

}  // namespace

const Kernels& reference_kernels() noexcept {
  static const Kernels table = make_table(std::make_index_sequence<element_count>{});
  return table;
}

}  // namespace colonnade::frame
