// The function library as the expression language uses it: names, and a Kernel for given argument
// types.
//
// An operator is the function "operator+" (unary: "unary-", "unary!", "unary~", "unary+"), a subscript
// "operator[]", a method ".size" with the object as its first argument, a cast "cast" with the target as its
// template argument, a list in braces "make_list". The namespaces std, ROOT::VecOps and VecOps are removed
// from names before the look-up; "TMath::Abs" and "ROOT::Math::PtEtaPhiMVector" are in the table with
// theirs.
#ifndef COLONNADE_FRAME_EXPRESSION_FUNCTION_H
#define COLONNADE_FRAME_EXPRESSION_FUNCTION_H

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/block.h"

namespace colonnade::frame {

// The compile-time information about a call.
struct Argument {
  ValueType type;
  const Values* constant = nullptr;  // its only element, if it is a constant
};
struct Call {
  std::string_view name;                        // as written, for messages
  std::span<const std::string> template_types;  // the arguments in < >
  std::span<const Argument> arguments;
};

// A kernel, or the reason why there is none: "needs a list, got float". The kernel gets the arguments
// unconverted and converts what it needs.
struct Bound {
  KernelPtr kernel;
  std::string why_not;
};

struct Function {
  std::string name;
  std::string signature;  // for messages: "Sum(list) or Sum(list, start)"
  std::function<Bound(const Call&)> bind;
  bool is_constant = false;  // of a graph: its name stands alone, and nothing is called
};

// The tables of all files of src/frame/functions together. Each name occurs once.
const std::vector<Function>& all_functions();
// Null if there is no such function.
const Function* find_function(std::string_view name);

std::vector<Function> operator_functions();  // functions/operators.cpp: arithmetic, comparison, logic, casts
std::vector<Function> math_functions();      // functions/math.cpp: cmath, TMath
std::vector<Function>
list_functions();  // functions/lists.cpp: Sum, Sort, Take, operator[], .size, .empty (of strings, too), ...
std::vector<Function> combination_functions();  // functions/combinations.cpp
std::vector<Function> physics_functions();      // functions/physics.cpp: DeltaR, InvariantMass, four-vectors
std::vector<Function> string_functions();       // functions/strings.cpp: .find, .Contains, ...

// Operators for records, and for lists of them ("operator+" of four-vectors): functions/physics.cpp.
// operator_functions() calls it if an argument is one; the call's name is that of the table
// ("operator+").
Bound record_operator(const Call& call);
// The same for strings: functions/strings.cpp.
Bound string_operator(const Call& call);

// ---- Conversions, by C++ rules (functions/promotion.cpp)

// The result type of arithmetic between two scalars: int for smaller types, otherwise the larger one.
ElementType common_element(ElementType a, ElementType b) noexcept;
ElementType promoted(ElementType a) noexcept;
// A kernel from `from` to `to`, item by item within lists; null if C++ has no implicit conversion.
KernelPtr conversion(const ValueType& from, const ValueType& to);
// "float", "double", "int", "unsigned int", "long", "Long64_t", "UInt_t", "std::uint8_t", "bool",
// "std::string", "std::vector<float>", "ROOT::RVecF", "RVec<int>", "ROOT::Math::PtEtaPhiMVector", ...
std::optional<ValueType> type_of_name(std::string_view name);

}  // namespace colonnade::frame

#endif
