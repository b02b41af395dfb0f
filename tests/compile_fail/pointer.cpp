// A raw pointer as a value.
// EXPECT: a pointer cannot be stored; store the value itself
#include "colonnade/field_types.h"

auto field = colonnade::make_field<int*>("x");
