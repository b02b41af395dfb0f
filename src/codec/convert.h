// Conversion between the element type that a column family works in and the caller's type.
#ifndef COLONNADE_CODEC_CONVERT_H
#define COLONNADE_CODEC_CONVERT_H

#include <cstddef>

#include "colonnade/column_type.h"

namespace colonnade::codec {

// Converts `count` elements; `first` is the position of the first one in the page, for the error.
using Convert = void (*)(const void* from, std::size_t count, std::size_t first, void* to);

// For reading: checked, throws ErrorKind::conversion for a value that does not fit. Every integer, bool and
// char from every other; bool means "not zero". float32 from float64 rounds, but a finite value must not
// become infinite. nullptr if there is no such conversion.
Convert checked_conversion(ElementType from, ElementType to) noexcept;

// For writing: float32 <-> float64 with IEEE rounding, overflow to infinity included. nullptr for anything
// else.
Convert rounding_conversion(ElementType from, ElementType to) noexcept;

}  // namespace colonnade::codec

#endif
