// An array of const values.
// EXPECT: a const value cannot be read into; drop const
#include "colonnade/field_types.h"

auto field = colonnade::make_field<const float[3]>("x");
