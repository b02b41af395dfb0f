// Every fast loop against its plain definition, on special and random numbers, for every instruction set of
// this processor.
#include "frame/kernels/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "colonnade/columnar.h"

namespace colonnade::frame {
namespace {

// Around vector widths, and some more.
constexpr std::size_t counts[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130, 1001};

template <class T>
void push(std::vector<std::byte>& bytes, T value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

template <class T>
T interesting(std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    const T values[] = {0,
                        -T{0},
                        1,
                        -1,
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::denorm_min(),
                        -Limits::denorm_min(),
                        Limits::max(),
                        Limits::min() / 4,
                        T(2147483648.0),
                        T(-2147483649.0),
                        T(9223372036854775808.0),
                        T(-9223372036854775808.0),
                        T(9223371761976868864.0)};
    if (random() % 3 == 0) return values[random() % std::size(values)];
    if (random() % 2 == 0) return static_cast<T>(static_cast<std::int64_t>(random() % 200) - 100) / 8;
    return std::uniform_real_distribution<T>(-1e10, 1e10)(random);
  } else {
    const T values[] = {
        0, 1, static_cast<T>(-1), Limits::min(), Limits::max(), static_cast<T>(Limits::max() - 1)};
    if (random() % 3 == 0) return values[random() % std::size(values)];
    return static_cast<T>(random() % 2 == 0 ? random() : random() % 10);
  }
}

std::vector<std::byte> random_elements(ElementType element, std::size_t count, std::mt19937_64& random) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < count; ++i) switch (element) {
      case ElementType::boolean:
        push(bytes, static_cast<std::uint8_t>(random() % 2));
        break;
      case ElementType::byte:
      case ElementType::uint8:
        push(bytes, interesting<std::uint8_t>(random));
        break;
      case ElementType::character:
      case ElementType::int8:
        push(bytes, interesting<std::int8_t>(random));
        break;
      case ElementType::int16:
        push(bytes, interesting<std::int16_t>(random));
        break;
      case ElementType::uint16:
        push(bytes, interesting<std::uint16_t>(random));
        break;
      case ElementType::int32:
        push(bytes, interesting<std::int32_t>(random));
        break;
      case ElementType::uint32:
        push(bytes, interesting<std::uint32_t>(random));
        break;
      case ElementType::int64:
        push(bytes, interesting<std::int64_t>(random));
        break;
      case ElementType::uint64:
        push(bytes, interesting<std::uint64_t>(random));
        break;
      case ElementType::float32:
        push(bytes, interesting<float>(random));
        break;
      default:
        push(bytes, interesting<double>(random));
        break;
    }
  return bytes;
}

// All NaNs become the same, since their bits may differ.
void unify_nan(ElementType element, std::vector<std::byte>& bytes) {
  const auto unify = [&bytes]<class T>(T nan) {
    for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
      T value;
      std::memcpy(&value, bytes.data() + i, sizeof(T));
      if (std::isnan(value)) std::memcpy(bytes.data() + i, &nan, sizeof(T));
    }
  };
  if (element == ElementType::float32) unify(std::numeric_limits<float>::quiet_NaN());
  if (element == ElementType::float64) unify(std::numeric_limits<double>::quiet_NaN());
}

// The result of a loop, in an array of exactly the right size, and the fault that ended it.
struct Outcome {
  std::vector<std::byte> bytes;
  std::size_t fault = ~std::size_t{0};
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome run(ElementLoop loop, std::size_t count, const std::vector<Operand>& operands, ElementType result) {
  const std::size_t size = count * size_of(result);
  Outcome outcome{std::vector<std::byte>(size + 64, std::byte{0xab}), ~std::size_t{0}};
  try {
    loop(count, operands.data(), outcome.bytes.data());
    for (std::size_t i = size; i < outcome.bytes.size(); ++i)
      EXPECT_EQ(outcome.bytes[i], std::byte{0xab}) << "written behind the end";
    unify_nan(result, outcome.bytes);
  } catch (const ElementFault& fault) {
    outcome.fault = fault.index;
    outcome.bytes.clear();
  }
  return outcome;
}

bool is_unary(Operation operation) {
  switch (operation) {
    case Operation::bit_not:
    case Operation::negate:
    case Operation::absolute:
    case Operation::square_root:
    case Operation::logical_not:
    case Operation::truth:
      return true;
    default:
      return false;
  }
}

// The types of the second operand and of the result.
ElementType second(Operation operation, ElementType element) {
  const bool shifts = operation == Operation::shift_left || operation == Operation::shift_right;
  return shifts ? ElementType::int64 : element;
}
ElementType result_of(Operation operation, ElementType element) {
  return operation >= Operation::less ? ElementType::boolean : element;
}

class EveryLoop : public ::testing::Test {
 protected:
  std::vector<Kernels> tables_ = all_kernels();
  std::mt19937_64 random_{12345};
};

TEST_F(EveryLoop, GivesWhatThePlainOneGives) {
  const Kernels& reference = reference_kernels();
  ASSERT_FALSE(tables_.empty());
  for (std::size_t o = 0; o < operation_count; ++o)
    for (std::size_t e = 0; e < element_count; ++e)
      for (const std::size_t count : counts) {
        const auto operation = static_cast<Operation>(o);
        const auto element = static_cast<ElementType>(e);
        const ElementLoop plain = reference.operations[o][e];
        if (plain == nullptr) continue;
        const auto a = random_elements(element, count + 1, random_);
        const auto b = random_elements(second(operation, element), count + 1, random_);
        for (unsigned constants = 0; constants < 4; ++constants) {
          std::vector<Operand> operands{{a.data(), (constants & 1) != 0}, {b.data(), (constants & 2) != 0}};
          if (is_unary(operation)) operands.pop_back();
          const Outcome expected = run(plain, count, operands, result_of(operation, element));
          for (const Kernels& table : tables_) {
            if (table.operations[o][e] == plain) continue;
            ASSERT_EQ(run(table.operations[o][e], count, operands, result_of(operation, element)), expected)
                << "operation " << o << " of " << name_of(element) << ", " << count << " elements, constants "
                << constants;
          }
        }
      }
}

TEST_F(EveryLoop, ConvertsAsThePlainOneDoes) {
  const Kernels& reference = reference_kernels();
  for (std::size_t from = 0; from < element_count; ++from)
    for (std::size_t to = 0; to < element_count; ++to)
      for (const std::size_t count : counts) {
        const auto in = random_elements(static_cast<ElementType>(from), count, random_);
        const std::vector<Operand> operands{{in.data(), false}};
        const ElementLoop plain = reference.conversions[from][to];
        ASSERT_NE(plain, nullptr);
        const Outcome expected = run(plain, count, operands, static_cast<ElementType>(to));
        for (const Kernels& table : tables_) {
          if (table.conversions[from][to] == plain) continue;
          ASSERT_EQ(run(table.conversions[from][to], count, operands, static_cast<ElementType>(to)), expected)
              << name_of(static_cast<ElementType>(from)) << " to " << name_of(static_cast<ElementType>(to));
        }
      }
}

// A table without its vector loops would still give correct results.
TEST_F(EveryLoop, IsFastForTheNumbersOfPhysics) {
  ASSERT_FALSE(tables_.empty()) << "no vectors on this processor";
  for (const Operation operation : {Operation::add, Operation::multiply, Operation::less, Operation::maximum})
    for (const ElementType element :
         {ElementType::float32, ElementType::float64, ElementType::int32, ElementType::int64}) {
      const auto& row = reference_kernels().operations[static_cast<std::size_t>(operation)];
      EXPECT_NE(element_loop(operation, element), row[static_cast<std::size_t>(element)]);
    }
}

template <class T>
std::vector<T> applied(Operation operation, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> out(a.size());
  const Operand operands[] = {{a.data(), false}, {b.data(), false}};
  element_loop(operation, element_of<T>())(a.size(), operands, out.data());
  return out;
}

template <class From, class To>
std::vector<To> converted(const std::vector<From>& from) {
  std::vector<To> out(from.size());
  const Operand operand{from.data(), false};
  conversion_loop(element_of<From>(), element_of<To>())(from.size(), &operand, out.data());
  return out;
}

using Limits = std::numeric_limits<std::int32_t>;

TEST(Arithmetic, OfIntegersHasNoGaps) {
  const std::vector<std::int32_t> a{Limits::max(), Limits::min(), Limits::min(), 7, -7};
  EXPECT_EQ(applied<std::int32_t>(Operation::add, a, {1, -1, 0, 1, 1}),
            (std::vector<std::int32_t>{Limits::min(), Limits::max(), Limits::min(), 8, -6}));
  EXPECT_EQ(applied<std::int32_t>(Operation::multiply, a, {2, -1, 2, 2, 2}),
            (std::vector<std::int32_t>{-2, Limits::min(), 0, 14, -14}));
  EXPECT_EQ(applied<std::int32_t>(Operation::divide, a, {-1, -1, 2, 2, 2}),
            (std::vector<std::int32_t>{-Limits::max(), Limits::min(), Limits::min() / 2, 3, -3}));
  EXPECT_EQ(applied<std::int32_t>(Operation::remainder, a, {-1, -1, 2, 2, 2}),
            (std::vector<std::int32_t>{0, 0, 0, 1, -1}));
}

TEST(Arithmetic, RefusesWhatHasNoResult) {
  const std::vector<std::int64_t> a{1, 2, 3};
  const auto fault_at = [&a](Operation operation, const std::vector<std::int64_t>& b) -> std::size_t {
    try {
      applied<std::int64_t>(operation, a, b);
    } catch (const ElementFault& fault) {
      return fault.index;
    }
    return 99;
  };
  EXPECT_EQ(fault_at(Operation::divide, {1, 1, 0}), 2u);
  EXPECT_EQ(fault_at(Operation::remainder, {1, 0, 1}), 1u);
  EXPECT_EQ(fault_at(Operation::shift_left, {63, 64, 1}), 1u);
  EXPECT_EQ(fault_at(Operation::shift_right, {-1, 64, 1}), 0u);
  EXPECT_EQ(fault_at(Operation::shift_right, {0, 1, 63}), 99u);
}

TEST(Arithmetic, MinimumKeepsTheFirstOfEquals) {
  const double nan = std::nan("");
  const auto minimum = applied<double>(Operation::minimum, {0.0, -0.0, nan, 1, 2}, {-0.0, 0.0, 1, nan, 1});
  EXPECT_FALSE(std::signbit(minimum[0]));
  EXPECT_TRUE(std::signbit(minimum[1]));
  EXPECT_TRUE(std::isnan(minimum[2]));
  EXPECT_EQ(minimum[3], 1);
  EXPECT_EQ(minimum[4], 1);
}

TEST(Conversion, OfFloatsBeyondAnIntegerStopsAtItsLimits) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ((converted<double, std::int32_t>(
                {1.9, -1.9, 2147483647.5, 2147483648.0, -2147483648.9, -inf, inf, std::nan("")})),
            (std::vector<std::int32_t>{1, -1, Limits::max(), Limits::max(), Limits::min(), Limits::min(),
                                       Limits::max(), 0}));
  EXPECT_EQ((converted<float, std::uint8_t>({-0.5f, -1.f, 255.9f, 256.f})),
            (std::vector<std::uint8_t>{0, 0, 255, 255}));
  EXPECT_EQ((converted<double, std::uint64_t>({18446744073709549568.0, 1e30, -3})),
            (std::vector<std::uint64_t>{18446744073709549568ull, ~0ull, 0}));
  EXPECT_EQ((converted<float, std::int64_t>({-9223372036854775808.f, 9223372036854775808.f})),
            (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()}));
}

}  // namespace
}  // namespace colonnade::frame
