// A function type.
// EXPECT: a function cannot be stored
#include "colonnade/field_types.h"

auto field = colonnade::make_field<int(float)>("x");
