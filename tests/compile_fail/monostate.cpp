// An empty alternative.
// EXPECT: std::monostate cannot be stored; leave it out
#include "colonnade/field_types.h"

auto field = colonnade::make_field<std::variant<std::monostate, int>>("x");
