// Numbers as elements in memory: which type names them, and which type holds those of two files.
#ifndef COLONNADE_DATASET_ELEMENT_TYPES_H
#define COLONNADE_DATASET_ELEMENT_TYPES_H

#include <optional>
#include <string_view>

#include "colonnade/column_type.h"

namespace colonnade::dataset {

// Of "float", "std::int32_t", ...; none for any other type name.
std::optional<ElementType> element_of_type(std::string_view type_name);
// The other way round; empty for what is no value of its own (index, switch_).
std::string_view type_of_element(ElementType element);

// What holds the values of both: the wider one; of integers with and without sign the next larger one with
// sign, or std::int64_t, with the reader's checks on values where none is large enough. None for numbers of
// different kinds.
std::optional<ElementType> common_element(ElementType a, ElementType b);

}  // namespace colonnade::dataset

#endif
