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

// Opens a container of which many data sets will be opened.
std::shared_ptr<container::ReadContainer> open_for_many(const std::string& uri, const ReadOptions& options);

// The same as open_source(), in a container that open_for_many() has opened, if it is given; it is replaced
// if another process has changed the file.
std::shared_ptr<page::PageSource> open_source(std::string_view name, const std::string& uri,
                                              const ReadOptions& options,
                                              std::shared_ptr<container::ReadContainer>& opened);

// Fields of types that this version does not know, with the reason.
std::vector<std::pair<std::uint32_t, std::string>> unknown_types(const Descriptor& descriptor);

}  // namespace colonnade::dataset

#endif
