// Text that is not owned.
// EXPECT: std::string_view does not own its text; use std::string
#include "colonnade/field_types.h"

struct Hit {
  std::string_view name;
};
auto field = colonnade::make_field<Hit>("x");
