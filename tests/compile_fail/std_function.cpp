// A type of the standard library without stored form.
// EXPECT: this type of the standard library cannot be stored
#include <functional>

#include "colonnade/field_types.h"

struct Cut {
  std::function<bool(float)> passes;
};
auto field = colonnade::make_field<Cut>("x");
