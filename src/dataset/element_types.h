// Numbers as elements in memory: their type names, and the common type of numbers in two files.
#ifndef COLONNADE_DATASET_ELEMENT_TYPES_H
#define COLONNADE_DATASET_ELEMENT_TYPES_H

#include <optional>
#include <string_view>

#include "colonnade/column_type.h"
#include "colonnade/descriptor.h"

namespace colonnade::dataset {

// The element type of "float", "std::int32_t", ...; empty for any other type name.
std::optional<ElementType> element_of_type(std::string_view type_name);
// That of a field's values. The `char` of an enumeration is a number with a sign: ROOT stores enumerations
// over std::int8_t so.
std::optional<ElementType> element_of_field(const Descriptor& descriptor, const FieldDescriptor& field);
// The inverse of element_of_type(); empty for types without values of their own (index, switch_).
std::string_view type_of_element(ElementType element);

// The type that holds the values of both: the wider one; for integers with and without sign the next larger
// signed one or, if none is large enough, std::int64_t, with the reader's checks of values. Empty for numbers
// of different kinds.
std::optional<ElementType> common_element(ElementType a, ElementType b);

}  // namespace colonnade::dataset

#endif
