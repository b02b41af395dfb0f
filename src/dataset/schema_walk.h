// Queries of a descriptor for views, columnar reads and printing.
#ifndef COLONNADE_DATASET_SCHEMA_WALK_H
#define COLONNADE_DATASET_SCHEMA_WALK_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "colonnade/descriptor.h"
#include "page/page_source.h"

namespace colonnade::dataset {

// The field at a path; throws ErrorKind::not_found with similar names.
std::uint32_t find_field(const page::PageSource& source, std::string_view path);
// `where`: for the error.
std::uint32_t find_field(const Descriptor& descriptor, std::string_view path, ErrorContext where);
// The fields that a path or wildcards (*, ? and [a-z]: "Muon_*", "jets.*") name, in stored order. A wildcard
// ends at a ".". Throws ErrorKind::not_found if there is none.
std::vector<std::uint32_t> find_fields(const page::PageSource& source, std::string_view path);
// find_field() for many paths. Those of fields at the top are looked up: a search of all fields for each of
// them would take most of the time for wide data sets. The schema must live as long.
class FieldFinder {
 public:
  FieldFinder(const Descriptor& descriptor, ErrorContext where);
  std::uint32_t find(std::string_view path) const;

 private:
  const Descriptor& descriptor_;
  ErrorContext where_;
  std::unordered_map<std::string_view, std::uint32_t> top_level_;
};

// A member of a record under the name used in programs.
struct NamedMember {
  std::string name;
  std::uint32_t field = invalid_id;
};
// The members of a record, including those of its base classes, in stored order. A name that is inherited
// more than once, or hidden by another member, is qualified with the base: "Base::x".
std::vector<NamedMember> members_of(const Descriptor& descriptor, std::uint32_t record);

// The member whose name starts a path, the longest such name if there are several; null if there is none.
// Throws ErrorKind::not_found with the candidates if several inherited members have the name.
const NamedMember* find_member(const std::vector<NamedMember>& members, std::string_view path);

// True if the field holds the members of a base class.
bool is_base(const FieldDescriptor& field);

// True if the field has exactly one value per entry.
bool is_per_entry(const Descriptor& descriptor, std::uint32_t field);

// A column by which the values of a field can be counted: its own or that of a sub-field with one value each.
struct CountingColumn {
  std::vector<std::uint32_t> columns;  // one per representation
  ElementType element = ElementType::index;
  std::uint64_t per_value = 1;
};
std::optional<CountingColumn> counting_column(const Descriptor& descriptor, std::uint32_t field);

// Throws ErrorKind::format unless `ends` never decrease from `begin` and stay within `items`.
void check_ends(const page::PageSource& source, std::uint32_t field, std::size_t cluster, std::uint64_t begin,
                std::span<const std::uint64_t> ends, std::uint64_t items);

// Throws ErrorKind::format unless every element has a valid tag and points to one of the `limits[tag - 1]`
// values of its alternative.
void check_switches(const page::PageSource& source, std::uint32_t field, std::size_t cluster,
                    std::span<const SwitchElement> elements, std::span<const std::uint64_t> limits);

// The physical columns with number `k` of a field, one per representation.
std::vector<std::uint32_t> columns_of(const FieldDescriptor& field, std::size_t k);

}  // namespace colonnade::dataset

#endif
