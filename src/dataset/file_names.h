// The files that match a name with wildcards.
#ifndef COLONNADE_DATASET_FILE_NAMES_H
#define COLONNADE_DATASET_FILE_NAMES_H

#include <span>
#include <string>
#include <vector>

namespace colonnade::dataset {

// Expands the wildcards *, ? and [a-z], which do not match slashes, in alphabetical order: in local paths, of
// which an existing one with exactly this spelling takes precedence, and for transports that can list files.
// Throws ErrorKind::not_found if nothing matches, unsupported for a transport that cannot list.
std::vector<std::string> expand_names(std::span<const std::string> uris);

}  // namespace colonnade::dataset

#endif
