// Reading whole arrays straight from the columns; see colonnade/columnar.h for what belongs to each field.
#ifndef COLONNADE_DATASET_COLUMNAR_READER_H
#define COLONNADE_DATASET_COLUMNAR_READER_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "colonnade/columnar.h"
#include "page/page_source.h"

namespace colonnade::dataset {

std::vector<ColumnArray> read_arrays(page::PageSource& source, std::span<const std::string> paths,
                                     std::uint64_t first, std::uint64_t last);

}  // namespace colonnade::dataset

#endif
