// A described class whose base is not described.
// EXPECT: neither a plain aggregate nor described
#include "colonnade/field_types.h"

class Base {
 public:
  int id() const { return id_; }

 private:
  int id_ = 0;
};
class Derived : public Base {
  float x_ = 0;
  COLONNADE_DESCRIBE(Derived, (Base), x_)
};
auto field = colonnade::make_field<Derived>("x");
