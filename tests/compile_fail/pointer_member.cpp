// The error of a member comes from inside of a class in a container.
// EXPECT: a pointer cannot be stored
#include "colonnade/field_types.h"

struct Hit {
  float x = 0;
  const Hit* next = nullptr;
};
auto field = colonnade::make_field<std::vector<Hit>>("x");
