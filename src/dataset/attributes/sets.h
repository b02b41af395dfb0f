// Common to reading, writing and copying attribute sets: the form of such a data set.
//
//   _rangeStart: std::uint64_t    the first entry that the row is about
//   _rangeLen: std::uint64_t      how many
//   _userData: untyped record     its members are the fields of the set
#ifndef COLONNADE_DATASET_ATTRIBUTES_SETS_H
#define COLONNADE_DATASET_ATTRIBUTES_SETS_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/descriptor.h"
#include "colonnade/view.h"
#include "page/page_source.h"

namespace colonnade::dataset {

inline constexpr std::string_view range_start_field = "_rangeStart";
inline constexpr std::string_view range_length_field = "_rangeLen";
inline constexpr std::string_view user_data_field = "_userData";

// Null if there is no such set. Throws ErrorKind::format if there are several.
const AttributeSetRecord* find_attribute_set(const Descriptor& descriptor, std::string_view name);

// Marks fields of types that this version does not know. Throws ErrorKind::format, unsupported, io.
std::shared_ptr<page::PageSource> open_attribute_set(const page::PageSource& data_set,
                                                     const AttributeSetRecord& record);

// The entries of a row. Throws ErrorKind::format unless they are among `entries`.
IndexRange checked_range(const page::PageSource& set, std::uint64_t row, std::uint64_t first,
                         std::uint64_t count, std::uint64_t entries);
// The same for all rows.
void check_ranges(const std::shared_ptr<page::PageSource>& set, std::uint64_t entries);

// Rows by their ranges, see AttributeSet: those that contain all of these entries, and those that lie within
// them.
using RangeOf = std::function<IndexRange(std::uint64_t row)>;
std::vector<std::uint64_t> rows_covering(const IndexRange& rows, const RangeOf& range_of,
                                         const IndexRange& entries);
std::vector<std::uint64_t> rows_within(const IndexRange& rows, const RangeOf& range_of,
                                       const IndexRange& entries);

// The names of a set's own fields, and a row's text without the enclosing record.
std::vector<std::string> user_fields(const Descriptor& descriptor);
std::string without_user_data(const std::string& text);

// Throws ErrorKind::usage for an invalid name of an attribute set.
void check_attribute_set_name(std::string_view name);

}  // namespace colonnade::dataset

#endif
