// A union.
// EXPECT: a union does not know which member it holds; use std::variant
#include "colonnade/field_types.h"

union Either {
  int i;
  float f;
};
auto field = colonnade::make_field<Either>("x");
