// Type names: the parser and the normaliser for C++ type names as RNTuple spells them.
//
// parse_type_name() reads one type (grammar at the top of type_name.cpp) into a tree and changes no name.
// normalize() applies the rules of the specification, section "Type Name Normalization", and returns the
// tree of the normalised type. A node whose source spelling is an alias that data sets record (Double32_t,
// size_t, ROOT::RVecF, ...) keeps that spelling in `alias`. All results are values; any thread may call any
// function.
//
// Errors are colonnade::Error of kind `schema`; the message quotes the name and the position of the
// error. Names may come from files: length and nesting are limited, so work and memory are bounded by the
// input.
#ifndef COLONNADE_FIELD_TYPE_NAME_H
#define COLONNADE_FIELD_TYPE_NAME_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace colonnade::field {

inline constexpr std::size_t max_type_name_length = 64 * 1024;
inline constexpr std::size_t max_type_name_depth = 64;
inline constexpr std::size_t max_variant_alternatives = 125;

struct TypeArgument;

// One type. "ns::Outer<int,3>::Inner<float>" is name "ns::Outer", two arguments and one nested node, "Inner".
struct TypeName {
  std::string name;                // "std::vector", "float", "ns::Event"
  std::vector<TypeArgument> args;  // template arguments
  bool is_template = false;        // "Foo<>" is a template without arguments
  bool is_const = false;
  bool is_volatile = false;
  std::vector<TypeName> nested;  // what follows the arguments after "::", outermost first
  std::string alias;             // set by normalize(): the original spelling, if it is recorded

  friend bool operator==(const TypeName&, const TypeName&) = default;
};

// A template argument: a type, or an integer (sign and magnitude, so that every 64-bit value
// fits). Named constants ("true", "ns::Colour::red") are spelled like types and parsed as
// such.
struct TypeArgument {
  TypeName type;
  bool is_integer = false;
  bool negative = false;
  std::uint64_t magnitude = 0;

  friend bool operator==(const TypeArgument&, const TypeArgument&) = default;
};

TypeName parse_type_name(std::string_view text);

// The name without redundant spaces. to_string ignores aliases, to_alias_string prints them instead of the
// node.
std::string to_string(const TypeName& type);
std::string to_alias_string(const TypeName& type);

struct NormalizedName {
  TypeName type;      // the resolved type; nodes keep their alias
  std::string name;   // "std::vector<double>"
  std::string alias;  // "std::vector<Double32_t>", or empty if it would repeat `name`
};

// Guarantees for the standard types in the result: std::array and std::bitset have a positive size,
// std::vector, sets, std::optional, std::unique_ptr, std::atomic, ROOT::VecOps::RVec one type, maps and
// std::pair two types, std::tuple at least one, std::variant 1 to 125, ROOT::RNTupleCardinality an unsigned
// 32- or 64-bit integer.
NormalizedName normalize(std::string_view text);

// The normalised name of a C++ type; local classes and those of unnamed namespaces keep their plain name.
std::string normalized_name_of(const std::type_info& type);

}  // namespace colonnade::field

#endif
