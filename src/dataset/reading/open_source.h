// Opens a data set by name, or the only one of a file.
#ifndef COLONNADE_DATASET_READING_OPEN_SOURCE_H
#define COLONNADE_DATASET_READING_OPEN_SOURCE_H

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "page/page_source.h"

namespace colonnade::dataset {

// `name` may be empty if there is only one. Marks fields of types that this version does not know. Throws
// ErrorKind::not_found, usage, io, format, unsupported.
std::shared_ptr<page::PageSource> open_source(std::string_view name, const std::string& uri,
                                              const ReadOptions& options);

// Fields of types that this version does not know, with the reason.
std::vector<std::pair<std::uint32_t, std::string>> unknown_types(const Descriptor& descriptor);

}  // namespace colonnade::dataset

#endif
