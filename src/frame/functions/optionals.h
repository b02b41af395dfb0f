// Several optionals in one call: its result is missing where any of them is, at every depth of lists.
#ifndef COLONNADE_FRAME_FUNCTIONS_OPTIONALS_H
#define COLONNADE_FRAME_FUNCTIONS_OPTIONALS_H

#include <span>
#include <vector>

#include "frame/expression/function.h"

namespace colonnade::frame {

// Whether align_optionals() may change arguments of these types.
bool have_optionals_to_align(std::span<const ValueType> types);

// Removes the values of optionals where another argument is missing, so that all of them have equally many.
// `rows` is the number of elements of each argument; lists have their own array elements (see spread()).
void align_optionals(std::vector<ValuesPtr>& arguments, std::size_t rows, BlockMemory& memory);

}  // namespace colonnade::frame

#endif
