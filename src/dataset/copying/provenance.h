// Provenance: the inputs of a merged data set, kept as an attribute set that its footer links to.
//
//   _rangeStart, _rangeLen | _userData { uri, data_set, version, size, fingerprint, clusters, depth }
//
// One entry per input, in the order of its entries. The inputs of an input follow it with a greater depth.
#ifndef COLONNADE_DATASET_COPYING_PROVENANCE_H
#define COLONNADE_DATASET_COPYING_PROVENANCE_H

#include <cstdint>
#include <string>
#include <vector>

#include "colonnade/descriptor.h"
#include "container/container.h"
#include "page/page_source.h"

namespace colonnade::dataset {

inline constexpr const char* provenance_name = "merged_inputs";

struct InputRecord {
  std::uint64_t first_entry = 0;
  std::uint64_t entries = 0;
  std::string uri;
  std::string data_set;
  std::string version;            // the transport's version of the file; may be empty
  std::uint64_t size = 0;         // of the file
  std::uint64_t fingerprint = 0;  // a hash of the positions and checksums of its metadata
  std::uint64_t clusters = 0;
  std::uint64_t depth = 0;  // 0: an input of this data set
};

// Describes a data set that was opened as an input; its range is not known yet.
InputRecord describe_input(const page::PageSource& source);

// Whether it still has the data that it had `before`, by size, fingerprint and version. Permissions and links
// of a local file may have changed.
bool is_unchanged(const InputRecord& before, const InputRecord& now);

// The input of that name, else an unchanged local file that had another name; null if there is none.
const InputRecord* find_input(const std::vector<InputRecord>& inputs, const InputRecord& input);

// Empty if there is no provenance.
std::vector<InputRecord> read_provenance(const page::PageSource& source);

// Writes it to the container; the next footer must link to it.
AttributeSetRecord write_provenance(container::WriteContainer& container, const WriteOptions& options,
                                    const std::string& writer, const std::vector<InputRecord>& inputs);

}  // namespace colonnade::dataset

#endif
