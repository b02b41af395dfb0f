// A reference.
// EXPECT: a reference cannot be stored
#include "colonnade/field_types.h"

auto field = colonnade::make_field<float&>("x");
