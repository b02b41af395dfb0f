// ChainIndex: lengths and schemas of the files of a chain, so that readers open only the files that they
// read.
#ifndef COLONNADE_DATASET_CHAINS_INDEX_H
#define COLONNADE_DATASET_CHAINS_INDEX_H

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/descriptor.h"

namespace colonnade::dataset {

struct ChainIndex {
  struct File {
    std::string uri;
    std::string data_set;
    std::uint64_t entries = 0;
    std::uint64_t parts = 0;  // that a data frame cuts it into; 0: unknown
    unsigned schema = 0;
    std::uint64_t identity = 0;  // PageSource::identity()
    std::string place;           // the uri in every working folder; empty: of this one
  };
  struct Schema {
    Descriptor descriptor;  // fields and columns alone
    std::string uri;        // of the first file that has it
  };
  std::vector<File> files;
  std::vector<Schema> schemas;

  // Appends the files; returns the index of its first schema here.
  std::vector<unsigned> append(ChainIndex more);
};

// nullopt: a schema has parts that this version does not write; then files must be opened.
std::optional<nlohmann::json> to_json(const ChainIndex& index);
// Throws nlohmann's exceptions, and ErrorKind::format.
ChainIndex chain_index_from(const nlohmann::json& json);
// The same from text; throws ErrorKind::format for anything else.
ChainIndex read_chain_index(std::string_view text);

// The properties of a schema that matter for reading, as bytes of this process: schemas with the same are
// read alike.
std::string fingerprint(const Descriptor& descriptor);

}  // namespace colonnade::dataset

#endif
