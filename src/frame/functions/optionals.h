// Several optionals in one call: its result is missing where any of them is, at every depth of lists. In a
// fill an optional may also stand beside lists: it is repeated for their items, which are left out where it
// is missing.
#ifndef COLONNADE_FRAME_FUNCTIONS_OPTIONALS_H
#define COLONNADE_FRAME_FUNCTIONS_OPTIONALS_H

#include <span>
#include <string>
#include <vector>

#include "frame/expression/function.h"

namespace colonnade::frame {

// Whether align_optionals() may change arguments of these types.
bool have_optionals_to_align(std::span<const ValueType> types);

// Why arguments of these types cannot be combined item by item: an optional beside the items of a list. Empty
// if they can be.
std::string why_not_combined(std::span<const ValueType> types);

// Removes the values of optionals where another argument is missing, so that all of them have equally many;
// an optional beside lists becomes a value beside lists. `rows` is the number of elements of each argument;
// lists have their own array elements (see spread()).
void align_optionals(std::vector<ValuesPtr>& arguments, std::size_t rows, BlockMemory& memory);

}  // namespace colonnade::frame

#endif
