// Arrow data on its way in: schemas to fields, and arrays to the flat arrays that a Writer takes.
//
// Producers are programs in the same process; their pointers are trusted, their numbers are not: lengths,
// offsets, codes and formats are checked before they are used.
#ifndef COLONNADE_CAPI_ARROW_IMPORT_H
#define COLONNADE_CAPI_ARROW_IMPORT_H

#include <colonnade.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "colonnade/columnar.h"
#include "colonnade/field.h"
#include "colonnade/model.h"

namespace colonnade::capi {

// What a schema says of a field.
struct ImportType {
  enum class Kind : std::uint8_t {
    numbers,
    half,      // floats of 16 bits, which are stored as floats of 32
    booleans,  // bits
    texts,
    bytes,
    text_views,
    byte_views,
    lists,
    fixed_lists,
    records,
    variants,
    optionals  // of the child, which has the same array
  };
  Kind kind = Kind::numbers;
  ElementType element = ElementType::int32;  // of numbers
  std::size_t offset_width = 8;              // bytes: of texts, bytes and lists
  std::uint64_t size = 0;                    // items of a fixed-size list
  bool is_dense = false;                     // of a union
  bool is_tuple = false;                     // a record that is a pair
  std::string name;
  std::string meaning;                 // of integers: "timestamp[us, tz=UTC]"
  std::vector<std::int8_t> codes;      // of a union: those of the children
  std::vector<ImportType> children;    // of a dictionary's indices none
  std::unique_ptr<ImportType> values;  // of a dictionary
};

// Throws ErrorKind::schema or unsupported for what cannot be stored, with the path of the field.
std::vector<ImportType> import_schema(const ArrowSchema& schema, bool optionals);
std::unique_ptr<Field> make_field(const ImportType& type);

// Flat arrays of a batch, with the memory of those that had to be made.
struct ImportedArrays {
  std::vector<NamedArray> arrays;
  std::vector<std::shared_ptr<const void>> owners;
  std::uint64_t entries = 0;
};
// Throws ErrorKind::usage for an array that is not of these types, and ErrorKind::conversion for a missing
// value where none can be.
ImportedArrays import_array(const std::vector<ImportType>& fields, const ArrowArray& batch);

}  // namespace colonnade::capi

#endif
