// An aggregate with a base.
// EXPECT: a class with a base class must be described: put COLONNADE_DESCRIBE
#include "colonnade/field_types.h"

struct Base {
  int id = 0;
};
struct Derived : Base {
  float x = 0;
};
auto field = colonnade::make_field<Derived>("x");
