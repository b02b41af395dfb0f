// What a copy makes of a schema: the fields that are wanted, renumbered, and where their columns come from.
#ifndef COLONNADE_DATASET_COPYING_SCHEMA_H
#define COLONNADE_DATASET_COPYING_SCHEMA_H

#include <cstdint>
#include <string>
#include <vector>

#include "colonnade/descriptor.h"
#include "page/page_source.h"

namespace colonnade::dataset {

// A column of the copy that the source has not: so many zeros for each value below the field `parent` of the
// source, or for each entry if there is none.
struct ZeroColumn {
  std::uint32_t column = invalid_id;
  std::uint32_t parent = invalid_id;
  std::uint64_t factor = 0;
};

// The fields of the copy that the source has, in the order in which they are in the source.
struct WalkOrder {
  std::vector<std::uint32_t> top;
  std::vector<std::vector<std::uint32_t>> children;  // by field
};

struct CopySchema {
  Descriptor descriptor;     // of the copy; fields, columns, aliases and type infos, without clusters
  std::vector<bool> fields;  // which of the source's are copied
  std::vector<std::uint32_t> target_of;  // by physical column of the source; invalid_id: not copied
  // Where the copy has more than this source, or has it in another order; `descriptor` is then what the
  // source alone would make.
  bool is_mapped = false;
  std::vector<ZeroColumn> zeros = {};
  WalkOrder order = {};
};

// Which fields a copy of those at `paths`, or that match a wildcard there, needs: these and all below them,
// what is above them, the sources of projected ones, and the other parts of pairs, tuples and variants. All
// if there are no paths. Throws ErrorKind::not_found for an unknown path.
std::vector<bool> select_fields(const page::PageSource& source, const std::vector<std::string>& paths);

// For pages that are copied as they are: all representations, late columns as late as they were.
CopySchema schema_of_pages(const Descriptor& source, std::vector<bool> fields);
// For columns that are encoded again: one representation of each field, which holds what all of them hold,
// and nothing is late. Throws ErrorKind::unsupported for a field that cannot be read.
CopySchema schema_of_values(const Descriptor& source, std::vector<bool> fields);

// The number of the representation with the most bits.
std::size_t widest_representation(const Descriptor& descriptor, const FieldDescriptor& field);

// What a column is decoded to. Columns of doubles are all decoded to doubles, however they are stored.
ElementType element_of(const Descriptor& descriptor, const ColumnDescriptor& column);
// Gives `column` an encoding that holds what its own and the other one hold. Both are decoded to `element`.
void widen_column(ColumnDescriptor& column, const ColumnEncoding& other, ElementType element);
// Whether it holds zero exactly: columns with a range hold equidistant numbers.
bool holds_zero(const ColumnEncoding& encoding);
void widen_for_zero(ColumnDescriptor& column, ElementType element);

// What people call the field's type.
std::string type_text(const FieldDescriptor& field);
// The path of what a projected field shows; empty for others.
std::string source_path(const Descriptor& descriptor, const FieldDescriptor& field);
// Properties in which two fields may differ.
struct FreeProperties {
  bool alias = false;  // how a program spells the type: "Double32_t" says no more than "double"
  bool versions = false;
};
// Says in what the second field, `b`, differs from the first of the same path and type; empty if in nothing.
std::string property_difference(const Descriptor& first, const FieldDescriptor& a, const Descriptor& second,
                                const FieldDescriptor& b, FreeProperties free = {});
// Says in what the second schema first differs from the first; empty if it does not.
std::string first_difference(const Descriptor& first, const Descriptor& second);

}  // namespace colonnade::dataset

#endif
