// A container without stored form.
// EXPECT: this type of the standard library cannot be stored; use std::vector
#include <list>

#include "colonnade/field_types.h"

auto field = colonnade::make_field<std::list<int>>("x");
