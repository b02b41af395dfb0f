// Questions to a descriptor that views, columnar reads and printing share.
#ifndef COLONNADE_DATASET_SCHEMA_WALK_H
#define COLONNADE_DATASET_SCHEMA_WALK_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/descriptor.h"
#include "page/page_source.h"

namespace colonnade::dataset {

// The field at a path; throws ErrorKind::not_found with the nearest names.
std::uint32_t find_field(const page::PageSource& source, std::string_view path);
// `where`: for the error.
std::uint32_t find_field(const Descriptor& descriptor, std::string_view path, ErrorContext where);

// A member of a record under the name that programs give it.
struct NamedMember {
  std::string name;
  std::uint32_t field = invalid_id;
};
// The members of a record, those of its base classes among them, in the order in which they are stored. A
// name that is inherited more than once, or that another member hides, is told apart by the base: "Base::x".
std::vector<NamedMember> members_of(const Descriptor& descriptor, std::uint32_t record);

// The member whose name starts a path, the longest such name if several do; null if none. Throws
// ErrorKind::not_found with the candidates for the name of several inherited members.
const NamedMember* find_member(const std::vector<NamedMember>& members, std::string_view path);

// Does the field hold the members of a base class?
bool is_base(const FieldDescriptor& field);

// Has the field exactly one value per entry?
bool is_per_entry(const Descriptor& descriptor, std::uint32_t field);

// A column from which the values of a field can be counted: its own or that of a part that every value has.
struct CountingColumn {
  std::vector<std::uint32_t> columns;  // one per representation
  ElementType element = ElementType::index;
  std::uint64_t per_value = 1;
};
std::optional<CountingColumn> counting_column(const Descriptor& descriptor, std::uint32_t field);

// Throws ErrorKind::format unless `ends` never decrease from `begin` and stay within `items`.
void check_ends(const page::PageSource& source, std::uint32_t field, std::size_t cluster, std::uint64_t begin,
                std::span<const std::uint64_t> ends, std::uint64_t items);

// Throws ErrorKind::format unless every element has a tag within the alternatives and points to one of its
// `limits[tag - 1]` values.
void check_switches(const page::PageSource& source, std::uint32_t field, std::size_t cluster,
                    std::span<const SwitchElement> elements, std::span<const std::uint64_t> limits);

// The physical columns number `k` of a field, one per representation.
std::vector<std::uint32_t> columns_of(const FieldDescriptor& field, std::size_t k);

}  // namespace colonnade::dataset

#endif
