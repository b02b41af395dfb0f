// An array without items.
// EXPECT: an array of size zero cannot be stored
#include "colonnade/field_types.h"

auto field = colonnade::make_field<std::array<int, 0>>("x");
