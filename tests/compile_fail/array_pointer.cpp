// A pointer to an array.
// EXPECT: does not know its size; use std::vector
#include "colonnade/field_types.h"

auto field = colonnade::make_field<std::unique_ptr<float[]>>("x");
