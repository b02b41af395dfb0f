// A virtual base.
// EXPECT: a base that is virtual, ambiguous or no base at all
#include "colonnade/field_types.h"

struct Base {
  int id = 0;
};
struct Derived : virtual Base {
  float x = 0;
};
COLONNADE_DESCRIBE_STRUCT(Derived, (Base), x)
auto field = colonnade::make_field<std::optional<Derived>>("x");
