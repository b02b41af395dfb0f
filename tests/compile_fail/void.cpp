// Void.
// EXPECT: void has no values
#include "colonnade/field_types.h"

auto field = colonnade::make_field<void>("x");
