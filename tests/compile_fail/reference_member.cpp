// A class with a reference.
// EXPECT: a member that cannot be default constructed, such as a reference
#include "colonnade/field_types.h"

struct Hit {
  float& x;
};
auto field = colonnade::make_field<Hit>("x");
