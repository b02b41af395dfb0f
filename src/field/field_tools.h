// Small helpers that the field classes share.
#ifndef COLONNADE_FIELD_FIELD_TOOLS_H
#define COLONNADE_FIELD_FIELD_TOOLS_H

#include <cstdint>
#include <string>
#include <string_view>

#include "colonnade/error.h"
#include "colonnade/field.h"

namespace colonnade::field {

// Of one value in memory, not counting what it points to: a damaged header must not ask for more.
inline constexpr std::size_t max_value_bytes = std::size_t{64} << 20;

// The stored field that holds the values of an enum or atomic, whose own field has no columns; other fields
// are returned as they are.
std::uint32_t unwrap(const Descriptor& descriptor, std::uint32_t id);

// The number of the first part of value `index`, of which each has `parts`. Throws ErrorKind::format where a
// damaged index has none.
std::uint64_t first_part(std::uint64_t index, std::uint64_t parts);

// "std::vector" of "std::vector<float>".
std::string_view family_of(std::string_view type_name);

// Is this a number or a string, for which make_field() surely makes a field? Most fields are, and of a data
// set with many thousands of them nobody wants to make all.
bool is_plainly_known(const FieldDescriptor& disk);

// What the name of a type leaves open about its values in memory: the types below its enumerations. An
// enumeration that is read as stored has the size of the stored one, whatever it is in the program.
std::string hidden_layout(const Field& field);

// Appends `text` as a JSON string; bytes that are no control characters pass unchanged.
void print_quoted(std::string_view text, std::string& out);

}  // namespace colonnade::field

#endif
