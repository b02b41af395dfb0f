// ColumnShape: what a path means in a schema - the nesting of lists and records, and the stored columns under
// it -, and which type its values have in expressions.
#ifndef COLONNADE_FRAME_SOURCES_COLUMN_SHAPE_H
#define COLONNADE_FRAME_SOURCES_COLUMN_SHAPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/block.h"
#include "colonnade/descriptor.h"

namespace colonnade::frame {

struct ColumnShape {
  enum class Kind : std::uint8_t {
    scalar,
    text,
    list,
    array,   // a list of always `length` items
    record,  // a child for each member
    count,   // how many items a list has
    array_count
  };
  // A stored column, by its physical ids: one per representation.
  struct Stored {
    std::vector<std::uint32_t> columns;
    ElementType element = ElementType::index;
    std::uint64_t per_value = 1;
  };

  Kind kind = Kind::scalar;
  ValueType type;
  std::uint32_t field = invalid_id;
  Stored stored;                // scalar: the elements; text, list, count: the ends
  Stored characters;            // of a text
  std::optional<Stored> items;  // of a list, count: tells how many items there are
  std::uint64_t length = 0;     // of an array
  std::vector<ColumnShape> children;
};

// "pt", "jets.pt", "#jets", "R_rdf_sizeof_jets"; nullopt if there is no such thing. Throws
// ErrorKind::unsupported where it has no type in expressions.
std::optional<ColumnShape> find_shape(const Descriptor& descriptor, std::string_view path);

// Every path that has a type: top-level fields and the members of records behind each.
std::vector<std::string> column_paths(const Descriptor& descriptor);

// A field that is no column, nor any of its members.
struct LeftOut {
  std::string path;
  std::string why;
};
std::vector<LeftOut> left_out_paths(const Descriptor& descriptor);

// The type that holds the values of both without loss where the reader converts them; nullopt if none does.
std::optional<ValueType> common_type(const ValueType& a, const ValueType& b);

// Has the column's values read as `type`, a common type of its own and others. False where a stored column
// cannot be read so.
bool read_as(ColumnShape& shape, const Descriptor& descriptor, const ValueType& type);

}  // namespace colonnade::frame

#endif
