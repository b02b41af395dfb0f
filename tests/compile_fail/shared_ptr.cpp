// Shared ownership.
// EXPECT: this type of the standard library cannot be stored; use .*std::unique_ptr
#include "colonnade/field_types.h"

auto field = colonnade::make_field<std::vector<std::shared_ptr<int>>>("x");
