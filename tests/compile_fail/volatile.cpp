// A volatile value.
// EXPECT: a volatile value cannot be stored
#include "colonnade/field_types.h"

auto field = colonnade::make_field<volatile int>("x");
