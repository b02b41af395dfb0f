// ChainSchema: the fields of all files of a chain as one schema, and the field of each file for each of them.
//
// Fields are matched by name at any depth. Types that differ become one that holds the values of both: wider
// numbers, vectors for arrays of different lengths, optional values for plain and optional ones. Fields that
// some files lack are an error, or become optional, or are left out.
#ifndef COLONNADE_DATASET_CHAINS_SCHEMA_H
#define COLONNADE_DATASET_CHAINS_SCHEMA_H

#include <cstdint>
#include <optional>
#include <vector>

#include "colonnade/chain.h"
#include "colonnade/descriptor.h"
#include "dataset/chains/files.h"

namespace colonnade::dataset {

// The kind of a field, for the walk over arrays.
enum class FieldForm : std::uint8_t {
  unreadable,
  scalar,
  text,
  count,  // of the items of a collection
  list,
  nullable,
  array,
  bitset,
  record,
  product,  // pair, tuple
  variant,
  wrapper,  // enum, atomic
};
FieldForm form_of(const FieldDescriptor& field);

struct ChainSchema {
  // Fields without columns; the entries of each file are one cluster.
  Descriptor descriptor;
  // Of a schema of the files.
  struct Mapping {
    std::vector<std::uint32_t>
        stored;  // by field of the chain: the stored one; invalid_id where there is none
    std::vector<std::optional<ElementType>> elements;  // by stored field: what its numbers are read as
  };
  std::vector<Mapping> mappings;

  // Do all files have the field and all below it?
  bool is_everywhere(std::uint32_t field, std::size_t schema) const;
};

// Whether an optional field of the chain is a value in a file that is always there.
bool is_plain(const Descriptor& chain, std::uint32_t field, const ChainSchema::Mapping& mapping,
              const Descriptor& stored);

// Throws ErrorKind::schema for incompatible types, and for missing fields with MissingFields::error; the
// message names two files.
ChainSchema merge_schemas(const ChainFiles& files, MissingFields missing);

}  // namespace colonnade::dataset

#endif
