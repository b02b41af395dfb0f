// Items that cannot be moved into a map.
// EXPECT: items of a stored set or map must be movable
#include "colonnade/field_types.h"

auto field = colonnade::make_field<std::map<int, std::atomic<int>>>("x");
