// Names of files with wildcards, and a cache that is used offline.
#ifndef COLONNADE_DATASET_CHAINS_OFFLINE_NAMES_H
#define COLONNADE_DATASET_CHAINS_OFFLINE_NAMES_H

#include <span>
#include <string>
#include <string_view>

namespace colonnade::dataset {

// Throws ErrorKind::usage if a server would be asked which files match, and `cache`, as in ReadOptions, is
// used offline: it may lack some of the files, so that its own would be no answer.
void refuse_offline_wildcards(std::span<const std::string> uris, std::string_view cache);

}  // namespace colonnade::dataset

#endif
