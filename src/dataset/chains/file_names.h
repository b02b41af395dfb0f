// The files that match names with wildcards.
#ifndef COLONNADE_DATASET_CHAINS_FILE_NAMES_H
#define COLONNADE_DATASET_CHAINS_FILE_NAMES_H

#include <span>
#include <string>
#include <vector>

namespace colonnade::dataset {

// A file, and the path of a data set in it; empty: it has only one.
struct NamedFile {
  std::string uri;
  std::string data_set;
};

// Expands the wildcards *, ? and [a-z], which do not match slashes, and "**/", any number of folders (hidden
// ones and symbolic links to folders left out), in alphabetical order: in local paths, of which an existing
// one with exactly this spelling takes precedence, as does an existing folder of "obj:", and for transports
// that can list files. What comes back is not to be expanded again: the name of a file may hold a wildcard.
// Throws ErrorKind::not_found if nothing matches, unsupported for a transport that cannot list.
std::vector<std::string> expand_names(std::span<const std::string> uris);
// The same data set in all files.
std::vector<NamedFile> expand_names(const std::string& data_set, std::span<const std::string> uris);

}  // namespace colonnade::dataset

#endif
