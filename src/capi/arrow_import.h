// Imported Arrow data: schemas become fields, and arrays the flat arrays that a Writer takes.
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

// The type of a field in a schema.
struct ImportType {
  enum class Kind : std::uint8_t {
    numbers,
    half,      // 16-bit floats, which are stored with 32 bits
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
  std::size_t offset_width = 8;              // in bytes; for texts, bytes and lists
  std::uint64_t size = 0;                    // items of a fixed-size list
  bool is_dense = false;                     // of a union
  bool is_tuple = false;                     // a record that is a pair
  std::string name;
  std::string meaning;                 // of integers: "timestamp[us, tz=UTC]"
  std::vector<std::int8_t> codes;      // of a union: the type codes of its children
  std::vector<ImportType> children;    // none for the indices of a dictionary
  std::unique_ptr<ImportType> values;  // of a dictionary
};

// Throws ErrorKind::schema or unsupported, with the path of the field, for types that cannot be stored.
std::vector<ImportType> import_schema(const ArrowSchema& schema, bool optionals);
std::unique_ptr<Field> make_field(const ImportType& type);

// The flat arrays of a batch, and the memory of arrays that had to be copied.
struct ImportedArrays {
  std::vector<NamedArray> arrays;
  std::vector<std::shared_ptr<const void>> owners;
  std::uint64_t entries = 0;
};
// Throws ErrorKind::usage for an array that is not of these types, and ErrorKind::conversion for a missing
// value of a type that is not optional.
ImportedArrays import_array(const std::vector<ImportType>& fields, const ArrowArray& batch);

}  // namespace colonnade::capi

#endif
