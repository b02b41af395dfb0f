// Questions to a descriptor that views, columnar reads and printing share.
#ifndef COLONNADE_DATASET_SCHEMA_WALK_H
#define COLONNADE_DATASET_SCHEMA_WALK_H

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "colonnade/descriptor.h"
#include "page/page_source.h"

namespace colonnade::dataset {

// The field at a path; throws ErrorKind::not_found with the nearest names.
std::uint32_t find_field(const page::PageSource& source, std::string_view path);

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
