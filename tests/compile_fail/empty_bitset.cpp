// A bitset without bits.
// EXPECT: a std::bitset without bits cannot be stored
#include "colonnade/field_types.h"

auto field = colonnade::make_field<std::bitset<0>>("x");
