// The files that a name with wildcards stands for.
#ifndef COLONNADE_DATASET_FILE_NAMES_H
#define COLONNADE_DATASET_FILE_NAMES_H

#include <span>
#include <string>
#include <vector>

namespace colonnade::dataset {

// Wildcards *, ? and [a-z], which stand for no slash, are expanded in alphabetical order: in local paths, of
// which one that exists as it is spelt wins, and where the transport can list its files. Throws
// ErrorKind::not_found where nothing fits, unsupported for a transport that cannot list.
std::vector<std::string> expand_names(std::span<const std::string> uris);

}  // namespace colonnade::dataset

#endif
