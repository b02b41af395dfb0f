// Operators on numbers and on lists of them: C++'s conversions, then one loop. Comparisons and logic give
// booleans, also for lists. Operators for records and strings are elsewhere.
//
// Unlike scalars, lists keep their item type under unary + - and ~, as in RVec.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "frame/expression/function.h"
#include "frame/functions/elementwise.h"
#include "frame/kernels/kernels.h"

namespace colonnade::frame {

namespace {

bool is_number(const ValueType& type) {
  return type.innermost().is_integer() || type.innermost().is_floating();
}

// The caller adds the operator and the types to the message.
Bound refuse(std::string_view needs) {
  return {nullptr, fmt::format("it needs {}", needs)};
}

// Checks the number of arguments, and passes records and strings on; empty for numbers.
std::optional<Bound> refuse_or_hand_on(const Call& call, std::size_t count) {
  if (call.arguments.size() != count)
    return Bound{nullptr, fmt::format("it takes {} operand{}", count, count == 1 ? "" : "s")};
  for (const Argument& argument : call.arguments)
    if (argument.type.innermost().is_string()) return string_operator(call);
  for (const Argument& argument : call.arguments)
    if (argument.type.innermost().is_record()) return record_operator(call);
  for (const Argument& argument : call.arguments)
    if (!is_number(argument.type)) return refuse("numbers, or lists of them");
  return std::nullopt;
}

Bound bound(const Call& call, ElementSignature signature) {
  Bound made = bind_elementwise(std::string(call.name), std::move(signature), call);
  if (made.kernel == nullptr && made.why_not.empty()) return refuse("numbers, or lists of them");
  return made;
}

ElementType element_of_argument(const Argument& argument) {
  return argument.type.innermost().element();
}

// The value of a constant integer, if the argument is one in range.
std::optional<std::int64_t> constant_integer(const Argument& argument) {
  if (argument.constant == nullptr || !argument.type.is_scalar() || !argument.type.is_integer())
    return std::nullopt;
  const Operand operand{argument.constant->data, true};
  std::int64_t value = 0;
  conversion_loop(argument.type.element(), ElementType::int64)(1, &operand, &value);
  return value;
}

// ---- Binary arithmetic and comparisons

struct BinaryOperator {
  const char* symbol;
  Operation operation;
  enum class Kind : std::uint8_t { arithmetic, division, integer, comparison } kind;
};

using enum BinaryOperator::Kind;
constexpr std::array binary_operators = {
    BinaryOperator{"+", Operation::add, arithmetic},
    BinaryOperator{"-", Operation::subtract, arithmetic},
    BinaryOperator{"*", Operation::multiply, arithmetic},
    BinaryOperator{"/", Operation::divide, division},
    BinaryOperator{"%", Operation::remainder, division},
    BinaryOperator{"&", Operation::bit_and, integer},
    BinaryOperator{"|", Operation::bit_or, integer},
    BinaryOperator{"^", Operation::bit_xor, integer},
    BinaryOperator{"<", Operation::less, comparison},
    BinaryOperator{"<=", Operation::less_equal, comparison},
    BinaryOperator{">", Operation::greater, comparison},
    BinaryOperator{">=", Operation::greater_equal, comparison},
    BinaryOperator{"==", Operation::equal, comparison},
    BinaryOperator{"!=", Operation::not_equal, comparison},
};

Bound bind_binary(const BinaryOperator& op, const Call& call) {
  if (auto other = refuse_or_hand_on(call, 2)) return *other;
  const ElementType left = element_of_argument(call.arguments[0]);
  const ElementType right = element_of_argument(call.arguments[1]);
  // Comparisons of equal small types need no promotion.
  const ElementType common = op.kind == comparison && left == right ? left : common_element(left, right);
  const bool floating = common == ElementType::float32 || common == ElementType::float64;
  if (floating && (op.kind == integer || op.operation == Operation::remainder))
    return refuse(op.operation == Operation::remainder ? "integers; fmod takes others" : "integers");
  ElementSignature signature{op.kind == comparison ? ElementType::boolean : common,
                             {common, common},
                             element_loop(op.operation, common)};
  if (op.kind == division && !floating) {
    const auto divisor = constant_integer(call.arguments[1]);
    signature.only_where_needed = !divisor || *divisor == 0;
  }
  return bound(call, std::move(signature));
}

// The type of the left side determines the result; the right side is a number of bits.
Bound bind_shift(Operation operation, const Call& call) {
  if (auto other = refuse_or_hand_on(call, 2)) return *other;
  const ElementType left = promoted(element_of_argument(call.arguments[0]));
  const ElementType right = element_of_argument(call.arguments[1]);
  const ElementLoop loop = element_loop(operation, left);
  if (loop == nullptr || promoted(right) == ElementType::float32 || promoted(right) == ElementType::float64)
    return refuse("integers");
  ElementSignature signature{left, {left, ElementType::int64}, loop, true};
  if (const auto bits = constant_integer(call.arguments[1]))
    signature.only_where_needed = *bits < 0 || *bits >= static_cast<std::int64_t>(8 * size_of(left));
  return bound(call, std::move(signature));
}

Bound bind_logic(Operation operation, const Call& call) {
  if (auto other = refuse_or_hand_on(call, call.arguments.size() == 1 ? 1 : 2)) return *other;
  return bound(call,
               {ElementType::boolean, std::vector<ElementType>(call.arguments.size(), ElementType::boolean),
                element_loop(operation, ElementType::boolean)});
}

// ---- Unary operators

template <class T>
void copy_elements(std::size_t count, const Operand* operands, void* out) {
  const auto* from = static_cast<const T*>(operands[0].data);
  std::copy_n(from, count, static_cast<T*>(out));
}

ElementLoop copy_loop(ElementType element) {
  switch (size_of(element)) {
    case 1:
      return copy_elements<std::uint8_t>;
    case 2:
      return copy_elements<std::uint16_t>;
    case 4:
      return copy_elements<std::uint32_t>;
    default:
      return copy_elements<std::uint64_t>;
  }
}

Bound bind_unary(std::optional<Operation> operation, const Call& call) {
  if (auto other = refuse_or_hand_on(call, 1)) return *other;
  const Argument& argument = call.arguments.front();
  const ElementType from = element_of_argument(argument);
  const bool keeps_type = argument.type.is_list() && from != ElementType::boolean;
  const ElementType element = keeps_type ? from : promoted(from);
  const ElementLoop loop = operation ? element_loop(*operation, element) : copy_loop(element);
  if (loop == nullptr) return refuse("an integer");
  return bound(call, {element, {element}, loop});
}

Bound bind_cast(const Call& call) {
  if (call.template_types.size() != 1 || call.arguments.size() != 1)
    return {nullptr, "a cast needs one type and one value"};
  const auto target = type_of_name(call.template_types.front());
  if (!target)
    return {nullptr, fmt::format("'{}' is not a type that expressions know", call.template_types.front())};
  KernelPtr kernel = conversion(call.arguments.front().type, *target);
  if (kernel == nullptr)
    return {nullptr,
            fmt::format("{} cannot be converted to {}", call.arguments.front().type.name(), target->name())};
  return {std::move(kernel), {}};
}

// The kernel's key is the name in the table, however the operator was written.
Function operation_function(const std::string& name, std::string signature,
                            std::function<Bound(const Call&)> bind) {
  auto named = [name, bind = std::move(bind)](const Call& call) {
    return bind({name, call.template_types, call.arguments});
  };
  return {name, std::move(signature), std::move(named)};
}

}  // namespace

std::vector<Function> operator_functions() {
  std::vector<Function> functions;
  for (const BinaryOperator& op : binary_operators)
    functions.push_back(operation_function(fmt::format("operator{}", op.symbol),
                                           fmt::format("a {} b", op.symbol),
                                           [&op](const Call& call) { return bind_binary(op, call); }));
  const auto add = [&functions](const char* name, const char* signature, auto bind, auto operation) {
    functions.push_back(operation_function(
        name, signature, [bind, operation](const Call& call) { return bind(operation, call); }));
  };
  add("operator<<", "a << bits", bind_shift, Operation::shift_left);
  add("operator>>", "a >> bits", bind_shift, Operation::shift_right);
  add("operator&&", "a && b", bind_logic, Operation::logical_and);
  add("operator||", "a || b", bind_logic, Operation::logical_or);
  add("unary!", "!a", bind_logic, Operation::logical_not);
  add("unary-", "-a", bind_unary, std::optional(Operation::negate));
  add("unary~", "~a", bind_unary, std::optional(Operation::bit_not));
  add("unary+", "+a", bind_unary, std::optional<Operation>());
  functions.push_back({"cast", "type(value) or static_cast<type>(value)", bind_cast});
  return functions;
}

}  // namespace colonnade::frame
