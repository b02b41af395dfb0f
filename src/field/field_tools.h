// Small helpers that the field classes share.
#ifndef COLONNADE_FIELD_FIELD_TOOLS_H
#define COLONNADE_FIELD_FIELD_TOOLS_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "colonnade/error.h"
#include "colonnade/field.h"

namespace colonnade::field {

// The limit for one value in memory, without what it points to: a damaged header must not claim more.
inline constexpr std::size_t max_value_bytes = std::size_t{64} << 20;

// The stored field with the values of an enum or atomic, whose own field has no columns; returns other fields
// unchanged.
std::uint32_t unwrap(const Descriptor& descriptor, std::uint32_t id);

// The index of the first item of value `index`, if each value has `parts` items. Throws ErrorKind::format if
// a damaged index causes an overflow.
std::uint64_t first_part(std::uint64_t index, std::uint64_t parts);

// "std::vector" of "std::vector<float>".
std::string_view family_of(std::string_view type_name);

// True for strings. A collection may have their type name, too: its items are not bytes of text.
inline bool is_text(const FieldDescriptor& disk) {
  return disk.role == FieldRole::leaf && disk.type_name == "std::string";
}

// True for numbers and strings with the columns that they need, for which make_field() certainly succeeds.
// Most fields are, and making all fields of a data set with many thousands would take too long.
bool is_plainly_known(const Descriptor& descriptor, const FieldDescriptor& disk);

// Throws ErrorKind::unsupported if the columns or the array size of a leaf are not those that `made`, its
// field as stored, reads: readers would take values from wrong positions, and not all from the same.
void check_leaf(const Descriptor& descriptor, const FieldDescriptor& disk, const Field& made);

// A field that stores values as the type of `disk_field`: with the names of classes and enumerations. Throws
// ErrorKind::unsupported if it cannot be made.
std::unique_ptr<Field> make_whole_field(const Descriptor& descriptor, std::uint32_t disk_field);

// What a type name does not determine about its values in memory: the types of its enumerations. An
// enumeration that is read as stored has the stored size, whatever its size in the program.
std::string hidden_layout(const Field& field);

// Appends `text` as a JSON string; bytes that are not control characters pass unchanged.
void print_quoted(std::string_view text, std::string& out);

}  // namespace colonnade::field

#endif
