// ColumnShape: the meaning of a path in a schema - the nesting of lists and records, and the stored columns
// below - and the type of its values in expressions.
#ifndef COLONNADE_FRAME_SOURCES_COLUMN_SHAPE_H
#define COLONNADE_FRAME_SOURCES_COLUMN_SHAPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "colonnade/block.h"
#include "colonnade/descriptor.h"
#include "colonnade/field.h"

namespace colonnade::frame {

struct ColumnShape {
  enum class Kind : std::uint8_t {
    scalar,
    text,
    list,
    array,    // a list with exactly `length` items
    record,   // a child for each member
    variant,  // a child for each alternative
    count,    // the number of items of a list
    array_count
  };
  // A stored column by its physical ids, one per representation.
  struct StoredColumn {
    std::vector<std::uint32_t> columns;
    ElementType element = ElementType::index;
    std::uint64_t per_value = 1;
  };

  Kind kind = Kind::scalar;
  ValueType type;
  std::uint32_t field = invalid_id;
  StoredColumn stored;                // scalar: the elements; text, list, count: the ends; variant: the tags
  StoredColumn characters;            // of a text
  std::optional<StoredColumn> items;  // of a list, count: gives the number of items
  std::uint64_t length = 0;           // of an array
  std::vector<ColumnShape> children;
};

// Finds columns of a schema, which must outlive it, by their paths. With thousands of columns a search
// through all fields for each would take too long.
class ColumnFinder {
 public:
  explicit ColumnFinder(const Descriptor& descriptor);

  // "pt", "jets.pt", "#jets", "R_rdf_sizeof_jets"; nullopt if the path does not exist. Throws
  // ErrorKind::unsupported if expressions do not support its type.
  std::optional<ColumnShape> find(std::string_view path) const;

 private:
  std::optional<ColumnShape> find_as_stored(std::string_view path) const;
  std::optional<ColumnShape> find_stored(std::string_view path, bool count) const;

  const Descriptor* descriptor_;
  std::unordered_map<std::string_view, std::uint32_t> top_level_;  // by name
};

// Every path with a supported type: top-level fields, each followed by the members of records. Names that are
// not UTF-8 are shown with "\xff", here and in the types of records.
std::vector<std::string> column_paths(const Descriptor& descriptor);

// The field that stores a whole column as the data set does; null if it cannot be made.
std::unique_ptr<Field> stored_field(const Descriptor& descriptor, const ColumnShape& shape);

// A field that is not a column, and has no members that are.
struct LeftOut {
  std::string path;
  std::string why;
};
std::vector<LeftOut> left_out_paths(const Descriptor& descriptor);

// The type that holds the values of both without loss, which the reader can convert; nullopt if none
// does.
std::optional<ValueType> common_type(const ValueType& a, const ValueType& b);

// Makes the column's values read as `type`, a common type. Returns false if a stored column cannot be read as
// such.
bool read_as(ColumnShape& shape, const Descriptor& descriptor, const ValueType& type);

}  // namespace colonnade::frame

#endif
