// The fields of a data set as a reader of whole arrays sees them, and the Arrow columns made of their arrays.
#ifndef COLONNADE_CAPI_READ_FIELDS_H
#define COLONNADE_CAPI_READ_FIELDS_H

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capi/arrow_column.h"
#include "colonnade/columnar.h"
#include "colonnade/descriptor.h"
#include "colonnade/field.h"
#include "dataset/schema_walk.h"

namespace colonnade::capi {

// A field that can be read.
struct ReadField {
  std::uint32_t id = invalid_id;
  std::string path;  // RNTuple's
  FieldKind kind = FieldKind::scalar;
  std::uint64_t size = 0;       // items of an array or a bitset
  bool is_tuple = false;        // a pair or tuple: its members are counted
  bool is_wide = false;         // a cardinality of 64 bits
  std::size_t alternative = 0;  // of a variant: which one this is
  const ReadField* parent = nullptr;
  std::vector<std::unique_ptr<ReadField>> children;
  // The members of a record under the names that programs use.
  std::vector<std::pair<std::string, const ReadField*>> members;
};

class ReadSchema {
 public:
  explicit ReadSchema(const Descriptor& descriptor);

  std::vector<std::string> names() const;  // of the top-level fields
  // Throws ErrorKind::not_found, and ErrorKind::unsupported for a field that cannot be read.
  const ReadField& find(const std::string& path) const;

 private:
  std::unique_ptr<ReadField> make(std::uint32_t id, const ReadField* parent, const Field& typed);

  const Descriptor& descriptor_;
  dataset::FieldFinder finder_;
  std::vector<std::unique_ptr<ReadField>> top_;
  std::map<std::uint32_t, const ReadField*> by_id_;
};

// The column of a field at any depth: records above it are dropped, lists and optionals above it stay.
// `arrays`: what a reader returned for the field and `count` entries.
ArrowColumn assemble(const ReadField& field, std::span<const ColumnArray> arrays, std::size_t count);

}  // namespace colonnade::capi

#endif
