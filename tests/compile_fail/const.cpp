// A const value inside of a pair.
// EXPECT: a const value cannot be read into; drop const
#include "colonnade/field_types.h"

auto field = colonnade::make_field<std::pair<const int, float>>("x");
