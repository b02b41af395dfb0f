// A tuple without elements.
// EXPECT: a std::tuple without elements cannot be stored
#include "colonnade/field_types.h"

auto field = colonnade::make_field<std::tuple<>>("x");
