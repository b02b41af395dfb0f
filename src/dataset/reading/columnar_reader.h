// Reading whole arrays straight from the columns; colonnade/columnar.h lists the arrays of each field.
#ifndef COLONNADE_DATASET_READING_COLUMNAR_READER_H
#define COLONNADE_DATASET_READING_COLUMNAR_READER_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colonnade/columnar.h"
#include "dataset/schema_walk.h"
#include "page/page_source.h"

namespace colonnade::dataset {

// `ahead`: entries up to this one will be asked for next. The pages at the border of both are decoded once,
// and what is announced of a server far away comes meanwhile.
std::vector<ColumnArray> read_arrays(page::PageSource& source, const FieldFinder& finder,
                                     std::span<const std::string> paths, std::uint64_t first,
                                     std::uint64_t last, std::uint64_t ahead = 0);

// Reads the marked fields, by id; a field needs those above it. `elements`, by id, overrides the number types
// of the fields.
std::vector<ColumnArray> read_arrays(page::PageSource& source, std::vector<bool> wanted,
                                     std::span<const std::optional<ElementType>> elements,
                                     std::uint64_t first, std::uint64_t last, std::uint64_t ahead = 0);
// Says that these will be read next, before anything else of the source.
void announce_arrays(page::PageSource& source, const std::vector<bool>& wanted, std::uint64_t first,
                     std::uint64_t last);

// The marked fields at the top. The others are not looked at: of many fields, few may be read at a time.
std::vector<std::uint32_t> tops_of(const Descriptor& descriptor, const std::vector<bool>& wanted);

// Memory for an array. Throws ErrorKind::resource if it exceeds the machine's together with
// `bytes_before`.
ColumnArray make_array(std::uint32_t field, ArrayRole role, ElementType element, std::uint64_t size,
                       std::uint64_t bytes_before = 0);

}  // namespace colonnade::dataset

#endif
