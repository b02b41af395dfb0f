// More precision than files have.
// EXPECT: only float, double and Double32 can be stored
#include "colonnade/field_types.h"

auto field = colonnade::make_field<std::array<long double, 2>>("x");
