// A class that is only declared.
// EXPECT: declared but not defined here
#include "colonnade/field_types.h"

struct Later;
auto field = colonnade::make_field<std::unique_ptr<Later>>("x");
