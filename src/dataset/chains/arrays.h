// Whole arrays of a chain: the arrays of its files, in the types of the common schema, concatenated.
#ifndef COLONNADE_DATASET_CHAINS_ARRAYS_H
#define COLONNADE_DATASET_CHAINS_ARRAYS_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "colonnade/columnar.h"
#include "dataset/chains/state.h"

namespace colonnade::dataset {

// Fields of the common schema that the paths need: they, what is below them, and what is above them.
std::vector<bool> wanted_fields(const ChainState& chain, std::span<const std::string> paths);
// The same as fields that are stored in a file.
std::vector<bool> stored_fields(const ChainState& chain, std::size_t file, const std::vector<bool>& wanted);

std::vector<ColumnArray> read_chain_arrays(ChainState& chain, std::span<const std::string> paths,
                                           std::uint64_t first, std::uint64_t last, std::uint64_t ahead = 0);

}  // namespace colonnade::dataset

#endif
